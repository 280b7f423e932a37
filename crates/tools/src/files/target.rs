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
    /// What it held; nothing when it was not there, or must not be looked at before the call was judged.
    pub(super) then: Option<Current>,
    bench: Arc<Workbench>,
}

impl Target {
    fn plan(&self, tool: &str, verb: &str, preview: Preview, cx: &ToolContext) -> Plan {
        let write = Effect::Write { path: self.path.real.clone() };
        // What is changed is shown: it is read, too.
        let first = cx.files.first_name(&self.path.real);
        let read = first.iter().map(|path| Effect::Read { path: path.clone() }).collect::<Vec<_>>();
        let names = self.path.restricted_name(cx).into_iter().chain(first);
        let effects = std::iter::once(write)
            .chain(names.map(|path| Effect::Write { path }))
            .chain(read)
            .chain(part_of_repository(&self.path.real, &cx.roots, cx.home.as_deref()));
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
pub(super) trait FileEdit: Sized + Send + Sync + 'static {
    /// What the tool was called with.
    type Args: Serialize + Send;
    /// The tool's name.
    const TOOL: &'static str;
    /// What is done to a file that is there.
    const VERB: &'static str;

    /// This change of the file.
    fn new(target: Target, args: Self::Args) -> Self;

    /// The file that is changed.
    fn target(&self) -> &Target;

    /// What the file would hold, as text and as bytes.
    fn after(&self, current: Option<&Current>) -> Result<(String, Vec<u8>), ToolError>;

    /// Makes the change.
    fn run(&self) -> Result<ToolOutput, ToolError>;

    /// The arguments that would give the file this content.
    fn args_for_content(&self, content: &str) -> Self::Args;
}

/// Prepares the call of a tool that changes the file that a model names.
pub(super) async fn prepare<Edit: FileEdit>(
    given: String,
    args: Edit::Args,
    cx: &ToolContext,
    bench: Arc<Workbench>,
) -> PreparedCall {
    let cx = cx.clone();
    let call = check(move || {
        let path = ResolvedPath::resolve(&given, &cx)?;
        FileCall::<Edit>::begin(Target { path, then: None, bench }, args, &cx)
    });
    Ok(Box::new(call.await?))
}

struct FileCall<Edit> {
    plan: Plan,
    edit: Edit,
    changes: Vec<FileChange>,
}

impl<Edit: FileEdit> FileCall<Edit> {
    /// Finds out what would be done. A file that a rule denies is not looked at; why a change does not fit one that is not
    /// open to everybody would tell what it holds, and is told only after the call was judged.
    fn begin(target: Target, args: Edit::Args, cx: &ToolContext) -> Result<Self, ToolError> {
        if target.path.is_denied(cx) {
            return Ok(Self::unseen(Edit::new(target, args), cx));
        }
        let is_open = target.path.is_open(cx);
        let then = match target.bench.look(&target.path) {
            Ok(then) => then,
            Err(error) if is_open => return Err(error),
            Err(_) => return Ok(Self::unseen(Edit::new(target, args), cx)),
        };
        let edit = Edit::new(Target { then, ..target }, args);
        match edit.after(edit.target().then.as_ref()) {
            Ok((after, bytes)) => Ok(Self::seen(edit, &after, &bytes, cx)),
            Err(error) if is_open => Err(error),
            Err(_) => Ok(Self::unseen(edit, cx)),
        }
    }

    fn seen(edit: Edit, after: &str, bytes: &[u8], cx: &ToolContext) -> Self {
        let target = edit.target();
        let before = target.then.as_ref().map(|then| then.decoded.text.as_str());
        let verb = if before.is_some() { Edit::VERB } else { "Create" };
        let plan = target.plan(Edit::TOOL, verb, preview(&target.path, before, after), cx);
        Self { plan, changes: target.change_to(bytes), edit }
    }

    fn unseen(edit: Edit, cx: &ToolContext) -> Self {
        let plan = edit.target().plan(Edit::TOOL, Edit::VERB, Preview::None, cx);
        Self { plan, changes: Vec::new(), edit }
    }
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
        self.changes.clone()
    }

    fn run(self: Box<Self>, _: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(change(move || self.edit.run()))
    }
}
