//! The file that a call changes, from the question put to a person to the deed.

use std::sync::Arc;

use charla_proto::{Args, BoxFuture, Effect, Invocation, Plan, ToolContext, ToolError, ToolOutput};
use serde::de::DeserializeOwned;

use super::change::{Current, Workbench, diff, look, preview};
use crate::args::Schema;
use crate::invocation::{Prepared, change, changing, check, said};
use crate::paths::Place;

/// A file as it was when its change was prepared.
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) then: Option<Current>,
    bench: Arc<Workbench>,
}

impl Target {
    /// The file that a model names. Anything that is no writable text file is refused.
    pub(super) fn find(given: &str, cx: &ToolContext, bench: Arc<Workbench>) -> Result<Self, ToolError> {
        let place = Place::resolve(given, cx)?;
        Ok(Self { then: look(&place)?, place, bench })
    }

    /// What a person is asked: to create the file, or to `verb` it.
    pub(super) fn plan(&self, tool: &str, verb: &str, after: &str, cx: &ToolContext) -> Plan {
        let verb = if self.then.is_some() { verb } else { "Create" };
        let before = self.then.as_ref().map(|then| then.decoded.text.as_str());
        changing(
            tool,
            format!("{verb} {}", self.place.title(cx)),
            vec![Effect::Write { path: self.place.real.clone() }],
            preview(&self.place, before, after),
        )
    }

    /// The file as it is now. The path must still lead where it led.
    pub(super) fn now(&self) -> Result<Option<Current>, ToolError> {
        self.place.again()?;
        look(&self.place)
    }

    /// True when nobody else has changed the file since.
    pub(super) fn is_expected(&self, now: Option<&Current>) -> bool {
        self.bench.is_expected(&self.place, self.then.as_ref(), now)
    }

    /// Writes `after`, which is `bytes` in the file's encoding. `told` makes the words for the model of the
    /// diff that the person is shown.
    pub(super) fn write(
        &self,
        now: Option<&Current>,
        (after, bytes): (&str, &[u8]),
        told: impl FnOnce(&str) -> String,
    ) -> Result<ToolOutput, ToolError> {
        let changed = self.bench.write(&self.place, now.map(|now| now.bytes.as_slice()), bytes)?;
        let diff = diff(&self.place.path, now.map(|now| now.decoded.text.as_str()), after);
        let mut output = said(told(&diff), diff);
        output.changes.push(changed);
        Ok(output)
    }
}

/// What would be done, for a person and for the one who does it.
pub(super) type Begun<Work> = Result<(Plan, Work), ToolError>;

/// Texts by the names of the arguments they belong to.
pub(super) type Texts = Vec<(&'static str, String)>;

/// Prepares the call of a tool that changes a file: `begin` finds out what would be done, `run` does it; both
/// block. `texts` are the arguments that would give the file another content.
pub(super) fn prepare<'a, Wanted, Work>(
    (schema, bench): (&'a Schema, &'a Arc<Workbench>),
    args: Args,
    cx: &'a ToolContext,
    begin: fn(Wanted, &ToolContext, Arc<Workbench>) -> Begun<Work>,
    run: fn(&Work) -> Result<ToolOutput, ToolError>,
    texts: fn(&Work, &str) -> Texts,
) -> BoxFuture<'a, Result<Box<dyn Invocation>, ToolError>>
where
    Wanted: DeserializeOwned + Send + 'static,
    Work: Send + Sync + 'static,
{
    Box::pin(async move {
        let wanted = schema.read(args.clone())?;
        let (context, bench) = (cx.clone(), bench.clone());
        let (plan, work) = check(move || begin(wanted, &context, bench)).await?;
        let work = Arc::new(work);
        let then = work.clone();
        let prepared = Prepared::new(plan, move |_| change(move || run(&work)));
        let prepared = prepared.with_args_for_content(move |content| {
            let mut args = args.clone();
            let texts = texts(&then, content).into_iter();
            args.extend(texts.map(|(name, text)| (name.to_owned(), text.into())));
            args
        });
        Ok(Box::new(prepared) as Box<dyn Invocation>)
    })
}
