//! The file that a call changes, from the question put to a person to the deed.

use std::sync::Arc;

use charla_proto::{
    Args, BoxFuture, Display, Effect, FileChange, Invocation, Part, Plan, Preview, RunContext, ToolContext,
    ToolError, ToolOutput, content_hash,
};
use serde::Serialize;
use serde_json::Value;

use super::change::{Current, Workbench, diff, preview};
use crate::git::part_of_repository;
use crate::invocation::{change, check, write_plan};
use crate::paths::ResolvedPath;
use crate::typed::PreparedCall;

/// A file as it was when its change was prepared.
pub(super) struct Target {
    pub(super) path: ResolvedPath,
    pub(super) then: Option<Current>,
    bench: Arc<Workbench>,
}

impl Target {
    /// The file that a model names. Anything that is no writable text file is refused.
    pub(super) fn find(given: &str, cx: &ToolContext, bench: Arc<Workbench>) -> Result<Self, ToolError> {
        let path = ResolvedPath::resolve(given, cx)?;
        Ok(Self { then: bench.look(&path)?, path, bench })
    }

    /// What a person is asked: to create the file, or to `verb` it.
    pub(super) fn plan(&self, tool: &str, verb: &str, after: &str, cx: &ToolContext) -> Plan {
        let before = self.then.as_ref().map(|then| then.decoded.text.as_str());
        self.plan_with(tool, verb, preview(&self.path, before, after), cx)
    }

    /// The same where the change cannot be shown before somebody agreed that the file is looked at.
    pub(super) fn plan_unseen(&self, tool: &str, verb: &str, cx: &ToolContext) -> Plan {
        self.plan_with(tool, verb, Preview::None, cx)
    }

    fn plan_with(&self, tool: &str, verb: &str, preview: Preview, cx: &ToolContext) -> Plan {
        let verb = if self.then.is_some() { verb } else { "Create" };
        let write = Effect::Write { path: self.path.real.clone() };
        let effects = std::iter::once(write).chain(part_of_repository(&self.path.real, &cx.roots));
        write_plan(tool, format!("{verb} {}", self.path.title(cx)), effects.collect(), preview)
    }

    /// What writing `bytes` would change.
    pub(super) fn change_to(&self, bytes: &[u8]) -> Vec<FileChange> {
        let then = self.then.as_ref().map(|then| then.bytes.as_slice());
        if then == Some(bytes) {
            return Vec::new();
        }
        vec![FileChange {
            path: self.path.real.clone(),
            before: then.map(content_hash),
            after: Some(content_hash(bytes)),
        }]
    }

    /// The file as it is now. The path must still lead where it led.
    pub(super) fn now(&self) -> Result<Option<Current>, ToolError> {
        self.path.recheck()?;
        self.bench.look(&self.path)
    }

    /// True when nobody else has changed the file since.
    pub(super) fn is_expected(&self, now: Option<&Current>) -> bool {
        self.bench.is_expected(&self.path, self.then.as_ref(), now)
    }

    /// Writes `after`, which is `bytes` in the file's encoding. `for_model` makes the words for the model of
    /// the diff that the person is shown.
    pub(super) fn write(
        &self,
        now: Option<&Current>,
        (after, bytes): (&str, &[u8]),
        for_model: impl FnOnce(&str) -> String,
    ) -> Result<ToolOutput, ToolError> {
        let changed =
            self.bench.write_text(&self.path, now.map(|now| now.bytes.as_slice()), (after, bytes))?;
        let diff = diff(&self.path.path, now.map(|now| now.decoded.text.as_str()), after);
        Ok(ToolOutput {
            content: vec![Part::text(for_model(&diff))],
            display: Some(Display::Diff { path: self.path.real.clone(), diff }),
            changes: vec![changed],
            ..ToolOutput::default()
        })
    }
}

/// A change of one file that is known before it is made. Blocks.
pub(super) trait FileEdit: Send + Sync + 'static {
    /// What the tool was called with.
    type Args: Serialize;

    /// The change that is about to be made.
    fn changes(&self) -> Vec<FileChange>;

    /// Makes the change.
    fn run(&self) -> Result<ToolOutput, ToolError>;

    /// The arguments that would give the file this content.
    fn args_for_content(&self, content: &str) -> Self::Args;
}

/// Prepares the call of a tool that changes a file. `begin` finds out what would be done; it may block.
pub(super) async fn prepare<Edit: FileEdit>(
    begin: impl FnOnce() -> Result<(Plan, Edit), ToolError> + Send + 'static,
) -> PreparedCall {
    let (plan, edit) = check(begin).await?;
    Ok(Box::new(FileCall { plan, edit }))
}

struct FileCall<Edit> {
    plan: Plan,
    edit: Edit,
}

impl<Edit: FileEdit> Invocation for FileCall<Edit> {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn args_for_content(&self, content: &str) -> Option<Args> {
        match serde_json::to_value(self.edit.args_for_content(content)) {
            Ok(Value::Object(args)) => Some(args),
            _ => None,
        }
    }

    fn changes(&self) -> Vec<FileChange> {
        self.edit.changes()
    }

    fn run(self: Box<Self>, _: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(change(move || self.edit.run()))
    }
}
