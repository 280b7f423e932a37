//! What work beside the screen tells the application.

use std::path::PathBuf;
use std::sync::Arc;

use charla::models::survey::Row;
use charla::session::BackgroundProcesses;
use charla::{Failure, Notice, Notices, OpenedSession, Progress};
use charla_core::session::Subscription;
use charla_proto::{Outcome, Record, Refusal, Reply, SessionSnapshot};
use tokio::sync::mpsc::UnboundedSender;

use crate::commands::Found;
use crate::composer::Message;
use crate::spent::Spent;

/// Something that came of work beside the screen.
pub enum News {
    /// A session is open, or cannot be.
    Opened(Result<Box<Opened>, Failure>),
    /// What is ready on this machine, for the first run.
    Surveyed(Result<Vec<Row>, Failure>),
    /// There is something to know.
    Told {
        /// What.
        notice: Notice,
        /// It may matter.
        is_warning: bool,
    },
    /// Something takes long; nothing when it no longer does.
    Progress(Option<String>),
    /// The session replied to something that was asked of it.
    Replied(Asked, Reply),
    /// What was spent in a session before it was opened here.
    Spent(String, Box<Spent>),
    /// More files can be named.
    FilesFound,
    /// What a command found out.
    Found(Result<Found, Failure>),
    /// A prompt with its places filled, or why it has none.
    Composed(Result<Message, Refusal>),
    /// The session is closed; this runs on, where it is gone on with.
    Closed(Option<BackgroundProcesses>),
}

/// A session that was just opened.
pub struct Opened {
    /// It.
    pub session: OpenedSession,
    /// As it was then.
    pub snapshot: SessionSnapshot,
    /// Everything since.
    pub events: Subscription,
    /// The records of the turns that are shown again.
    pub records: Vec<Arc<Record>>,
    /// It is an earlier one.
    pub goes_on: bool,
}

/// What was asked of a session, for its reply to be understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Something was said, and these files with it.
    Prompt(Vec<PathBuf>),
    /// A question was answered, and how.
    Answer(String, Outcome),
    /// To go back, and these words to be said anew.
    Rewind(Option<String>),
    /// Anything else, in the words of whoever asked.
    Other(String),
}

/// Sends what the library has to say to the application.
pub struct Teller(pub UnboundedSender<News>);

impl Teller {
    fn send(&self, news: News) {
        // Nobody listens any more only when the program ends.
        let _ = self.0.send(news);
    }
}

impl Notices for Teller {
    fn note(&mut self, notice: &Notice) {
        self.send(News::Told { notice: notice.clone(), is_warning: false });
    }

    fn warning(&mut self, notice: &Notice) {
        self.send(News::Told { notice: notice.clone(), is_warning: true });
    }

    fn progress(&mut self, progress: Progress<'_>) {
        self.send(News::Progress(Some(progress.state.to_owned())));
    }

    fn progress_done(&mut self) {
        self.send(News::Progress(None));
    }
}
