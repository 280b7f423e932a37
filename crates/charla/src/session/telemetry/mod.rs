//! What is told of a session beside its journal: to a file in Gemini CLI's form, and to a collector of OpenTelemetry.
//!
//! Both are subscribers of the session's records and readers of what models are asked. Neither is woven through the session, and one
//! that wants neither has nothing of this.

mod events;
mod file;
mod otlp;
mod outfile;

use std::sync::Arc;

use charla_core::session::SessionHandle;
use charla_proto::AgentLink;
use charla_providers::layers::{LogEntry, LogSink};

use self::file::FileTelemetry;
pub(super) use self::otlp::Caller;
use self::otlp::Otlp;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::notices::Notices;
use crate::settings::Settings;

/// The telemetry of one session.
#[derive(Clone)]
pub(super) struct Telemetry {
    file: Option<FileTelemetry>,
    otlp: Option<Arc<Otlp>>,
}

/// The session that is told of.
pub(super) struct Subject<'a> {
    /// Its id.
    pub id: &'a str,
    /// The call of another session that it works for.
    pub agent: Option<&'a AgentLink>,
    /// That session.
    pub caller: Option<Caller>,
}

impl Telemetry {
    /// What the settings want, for this session; nothing unless they name a file or a collector.
    pub(super) fn of(
        settings: &Settings,
        environment: &Environment,
        subject: Subject<'_>,
        notices: &mut dyn Notices,
    ) -> Result<Option<Self>, Failure> {
        let file = FileTelemetry::of(settings, environment, subject.id)?;
        let otlp = Otlp::of(settings, environment, subject, notices).map(Arc::new);
        Ok((file.is_some() || otlp.is_some()).then_some(Self { file, otlp }))
    }

    /// Tells what happens in the session, until it is over and all of it is told, or cannot be.
    pub(super) fn follow(self, session: &SessionHandle) -> impl Future<Output = ()> + Send + 'static {
        let file = self.file.map(|file| file.follow(session.subscribe()));
        let otlp = self.otlp.map(|otlp| otlp.follow(session.subscribe()));
        async move {
            let file = async { futures_util::future::OptionFuture::from(file).await };
            let otlp = async { futures_util::future::OptionFuture::from(otlp).await };
            tokio::join!(file, otlp);
        }
    }

    /// What sessions need to know that work for calls of this one.
    pub(super) fn caller(&self) -> Option<Caller> {
        self.otlp.as_ref().map(|otlp| otlp.caller())
    }

    /// Who takes what models are asked.
    pub(super) fn sinks(&self) -> Vec<Arc<dyn LogSink>> {
        let file = self.file.clone().map(|file| Arc::new(file) as Arc<dyn LogSink>);
        let otlp = self.otlp.clone().map(|otlp| otlp as Arc<dyn LogSink>);
        file.into_iter().chain(otlp).collect()
    }
}

/// Several takers of what models are asked, as one.
pub(super) struct LogSinks(Vec<Arc<dyn LogSink>>);

impl LogSinks {
    /// One of them; nothing of none.
    pub(super) fn of(mut sinks: Vec<Arc<dyn LogSink>>) -> Option<Arc<dyn LogSink>> {
        match sinks.len() {
            0 | 1 => sinks.pop(),
            _ => Some(Arc::new(Self(sinks))),
        }
    }
}

impl LogSink for LogSinks {
    fn record(&self, entry: LogEntry) {
        self.0.iter().for_each(|sink| sink.record(entry.clone()));
    }
}
