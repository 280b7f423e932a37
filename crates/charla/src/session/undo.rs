//! A turn's file changes, taken back and brought back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_core::session::RevertProblem;
use charla_core::undo::{ChangeHistory, NetChange, TurnChanges};
use charla_proto::text::join_path;
use charla_proto::{self as proto, Command, Refusal, Reply, RevertSelection, Snapshots};
use charla_tools::revert::{Reversal, Step};

use super::elsewhere::Elsewhere;
use super::error::SessionError;
use super::revert::problem;
use super::store::Sessions;

pub use charla_core::undo::Direction;
pub use charla_tools::revert::Deed;

/// How many sessions are looked at for one with changes, when the latest has none.
const MOST_SESSIONS: usize = 20;

/// What is to be taken back, or brought back.
#[derive(Clone, Debug)]
pub struct RevertRequest {
    /// Undo or redo.
    pub direction: Direction,
    /// The session: `latest` of the workspace, an id, or the beginning of one.
    pub session: String,
    /// The turn; the last one that can be reverted when left out.
    pub turn: Option<u64>,
    /// Only these files, or the files in these folders; all when empty.
    pub only: Vec<PathBuf>,
    /// Look what would be done and do nothing.
    pub dry_run: bool,
}

/// What was done, or would be.
#[derive(Clone, Debug)]
pub struct Reverted {
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: u64,
    /// The prompt it began with.
    pub prompt: String,
    /// What became of each file.
    pub files: Vec<(PathBuf, Deed)>,
    /// Files that something else changed during the turn, too: that is taken back with it.
    pub mixed: Vec<PathBuf>,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    /// There is no such session, or it cannot be had.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session has nothing that could be reverted.
    #[error("there is nothing to revert in the session {session}")]
    Nothing {
        /// The session.
        session: String,
        /// Another one of the workspace that has.
        elsewhere: Option<String>,
    },
    /// The session has no such turn.
    #[error("the session {session} has no turn {turn}")]
    NoTurn {
        /// The session.
        session: String,
        /// What was asked for.
        turn: u64,
    },
    /// The turn changed no files.
    #[error("turn {0} changed no files")]
    NoFiles(u64),
    /// An undo of what is undone already.
    #[error("turn {0} is undone already")]
    AlreadyUndone(u64),
    /// A redo of what is not undone.
    #[error("turn {0} is not undone: there is nothing to redo")]
    NotUndone(u64),
    /// A file was named that the turn did not change.
    #[error("{} is none of the files of turn {turn}", path.display())]
    OtherFile {
        /// The file, as it was named.
        path: PathBuf,
        /// The turn.
        turn: u64,
        /// The files it could have been.
        files: Vec<PathBuf>,
    },
    /// Files are not as the turn left them. Nothing was changed.
    #[error("files are in the way")]
    Conflicts(Conflicts),
    /// A file or the journal cannot be written.
    #[error("{0}")]
    Failed(String),
}

/// What is in the way.
#[derive(Clone, Debug)]
pub struct Conflicts {
    /// The session.
    pub session: String,
    /// The turn.
    pub turn: u64,
    /// Files that are not as the turn left them.
    pub files: Vec<FileConflict>,
    /// Files that could be reverted without these.
    pub free: Vec<PathBuf>,
}

/// A file that is not as the turn left it.
#[derive(Clone, Debug)]
pub struct FileConflict {
    /// The file.
    pub path: PathBuf,
    /// What changed since.
    pub diff: String,
    /// What is wrong with it, in words that follow its name.
    pub obstacle: String,
    /// The later turn that changed it.
    pub changed_by: Option<u64>,
}

/// Reverts a turn's file changes. What is done is recorded by the session itself.
pub(crate) async fn revert(
    request: &RevertRequest,
    mut elsewhere: Elsewhere<'_>,
) -> Result<Reverted, RevertError> {
    let (id, records) = elsewhere.sessions.read(&request.session).await?;
    let history = ChangeHistory::of(&records);
    let directory = &elsewhere.environment.directory;
    let work = Work { request, directory, id: &id, history: &history };
    let turn = work.turn(&elsewhere.sessions).await?;
    let files = work.chosen(turn)?;
    let reversal = match work.check(&files, elsewhere.sessions.snapshots()).await {
        Ok(reversal) => reversal,
        Err(RevertProblem::Failed(error)) => return Err(RevertError::Failed(error)),
        Err(RevertProblem::Conflicts(conflicts)) => return Err(work.conflicts(turn, &files, conflicts)),
    };
    if !request.dry_run {
        work.perform(turn, &files, &mut elsewhere).await?;
    }
    Ok(work.done(turn, &files, &reversal))
}

/// One undo or redo.
struct Work<'a> {
    request: &'a RevertRequest,
    directory: &'a Path,
    id: &'a str,
    history: &'a ChangeHistory,
}

impl Work<'_> {
    /// The turn that is meant.
    async fn turn(&self, sessions: &Sessions) -> Result<&TurnChanges, RevertError> {
        let (direction, session) = (self.request.direction, self.id.to_owned());
        let Some(number) = self.request.turn else {
            let number = self.history.default_turn(direction);
            return match number.and_then(|number| self.history.turn(number)) {
                Some(turn) => Ok(turn),
                None => Err(RevertError::Nothing { session, elsewhere: self.other_session(sessions).await }),
            };
        };
        let turn = self.history.turn(number).ok_or(RevertError::NoTurn { session, turn: number })?;
        if turn.files.is_empty() {
            return Err(RevertError::NoFiles(number));
        }
        if turn.reversible(direction).next().is_none() {
            return Err(match direction {
                Direction::Undo => RevertError::AlreadyUndone(number),
                Direction::Redo => RevertError::NotUndone(number),
            });
        }
        Ok(turn)
    }

    /// When the session has nothing to offer, another of this workspace may be meant.
    async fn other_session(&self, sessions: &Sessions) -> Option<String> {
        let here = sessions.here().await.unwrap_or_default();
        for other in here.into_iter().filter(|other| other != self.id).take(MOST_SESSIONS) {
            let records = sessions.records(&other).await.unwrap_or_default();
            if ChangeHistory::of(&records).default_turn(self.request.direction).is_some() {
                return Some(other);
            }
        }
        None
    }

    /// The files of the turn that are asked for.
    fn chosen<'t>(&self, turn: &'t TurnChanges) -> Result<Vec<&'t NetChange>, RevertError> {
        let all: Vec<&NetChange> = turn.reversible(self.request.direction).collect();
        if self.request.only.is_empty() {
            return Ok(all);
        }
        let wanted: Vec<(&PathBuf, [PathBuf; 2])> =
            self.request.only.iter().map(|path| (path, self.places(path))).collect();
        let meant = |file: &NetChange, places: &[PathBuf; 2]| {
            places.iter().any(|place| file.change.path.starts_with(place))
        };
        for (given, places) in &wanted {
            if !all.iter().any(|file| meant(file, places)) {
                let files = all.iter().map(|file| file.change.path.clone()).collect();
                return Err(RevertError::OtherFile { path: (*given).clone(), turn: turn.turn, files });
            }
        }
        Ok(all.into_iter().filter(|file| wanted.iter().any(|(_, places)| meant(file, places))).collect())
    }

    /// What a path may be recorded as: as it is written, and without links in its folder.
    fn places(&self, path: &Path) -> [PathBuf; 2] {
        let written = join_path(self.directory, path);
        let folder = written.parent().and_then(|folder| folder.canonicalize().ok());
        let real = folder.zip(written.file_name()).map(|(folder, name)| folder.join(name));
        [written.clone(), real.unwrap_or(written)]
    }

    /// Looks whether it can be done, off the runtime's threads.
    async fn check(
        &self,
        files: &[&NetChange],
        snapshots: Arc<dyn Snapshots>,
    ) -> Result<Reversal, RevertProblem> {
        let direction = self.request.direction;
        let steps = files.iter().map(|file| Step { change: file.step(direction), mode: file.mode }).collect();
        let work = tokio::task::spawn_blocking(move || Reversal::check(steps, snapshots.as_ref()));
        let checked = work.await.map_err(|error| RevertProblem::Failed(error.to_string()))?;
        checked.map_err(problem)
    }

    async fn perform(
        &self,
        turn: &TurnChanges,
        files: &[&NetChange],
        elsewhere: &mut Elsewhere<'_>,
    ) -> Result<(), RevertError> {
        let only = files.iter().map(|file| file.change.path.clone()).collect();
        let selection = RevertSelection { turn: Some(turn.turn), only };
        let (word, command) = match self.request.direction {
            Direction::Undo => ("undo", Command::Undo(selection)),
            Direction::Redo => ("redo", Command::Redo(selection)),
        };
        match elsewhere.request(self.id, command, "user").await?.0 {
            Reply::Refused(Refusal::Ended) => {
                Err(RevertError::Failed(format!("the {word} cannot be recorded; nothing was changed")))
            }
            Reply::Refused(Refusal::Conflict { conflicts, .. }) => {
                Err(self.conflicts(turn, files, conflicts))
            }
            Reply::Refused(refusal) => Err(RevertError::Failed(refusal.to_string())),
            _ => Ok(()),
        }
    }

    fn done(&self, turn: &TurnChanges, files: &[&NetChange], reversal: &Reversal) -> Reverted {
        let undone = self.request.direction == Direction::Undo;
        let mixed = files.iter().filter(|file| file.mixed && undone);
        Reverted {
            session: self.id.to_owned(),
            turn: turn.turn,
            prompt: turn.prompt.clone(),
            files: reversal.deeds().map(|(path, deed)| (path.clone(), deed)).collect(),
            mixed: mixed.map(|file| file.change.path.clone()).collect(),
        }
    }

    /// What is in the way. Nothing has been changed.
    fn conflicts(
        &self,
        turn: &TurnChanges,
        files: &[&NetChange],
        conflicts: Vec<proto::FileConflict>,
    ) -> RevertError {
        let paths = files.iter().map(|file| &file.change.path);
        let free = paths.filter(|path| !conflicts.iter().any(|conflict| conflict.path == **path));
        let free = free.cloned().collect();
        let conflict = |conflict: proto::FileConflict| FileConflict {
            changed_by: match self.request.direction {
                Direction::Undo => {
                    self.history.later_turn(turn.turn, &conflict.path, conflict.now.as_deref())
                }
                Direction::Redo => None,
            },
            obstacle: conflict.obstacle,
            path: conflict.path,
            diff: conflict.diff,
        };
        RevertError::Conflicts(Conflicts {
            session: self.id.to_owned(),
            turn: turn.turn,
            files: conflicts.into_iter().map(conflict).collect(),
            free,
        })
    }
}
