//! `enter_plan_mode` and `exit_plan_mode`: the model asks to plan first, and shows its plan.
//!
//! Both are asked about, so where nobody is there they are offered only to who is allowed them by name. Leaving leads back to what
//! the session was opened with, and never beyond.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_core::session::SessionHandle;
use charla_proto::tool::Tool;
use charla_proto::{ApprovalMode, Args, Command};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::bounded;
use crate::function_tool::FunctionTool;

/// What they are called.
pub(super) const NAMES: [&str; 2] = [ENTER, EXIT];
const ENTER: &str = "enter_plan_mode";
const EXIT: &str = "exit_plan_mode";
/// Who changes the mode.
const MODEL: &str = "model";

type Change = (ApprovalMode, oneshot::Sender<()>);

/// Changes of mode that the tools want. They are followed once the session runs.
pub(super) struct ModeChanges(mpsc::Receiver<Change>);

impl ModeChanges {
    /// Makes the changes, as long as anybody can want one.
    pub(super) async fn follow(mut self, session: SessionHandle) {
        while let Some((mode, done)) = self.0.recv().await {
            session.send(Command::SetMode { mode }, MODEL).await;
            let _ = done.send(());
        }
    }
}

/// The tools of a session that was opened in `mode` and has its plans in this folder.
pub(super) fn tools(mode: ApprovalMode, plans: PathBuf) -> (Vec<Arc<dyn Tool>>, ModeChanges) {
    let (changes, wanted) = mpsc::channel(1);
    let back = if mode == ApprovalMode::Plan { ApprovalMode::Default } else { mode };
    let (entering, folder) = (changes.clone(), plans.clone());
    let enter = FunctionTool::new(
        ENTER,
        "Changes to plan mode, for work that is worth a plan first: until it is left, you can read, and write plans.",
        json!({"type": "object", "properties": {"reason": text("Why, in a few words.")}}),
        move |_| {
            let (changes, folder) = (entering.clone(), folder.clone());
            async move {
                change(&changes, ApprovalMode::Plan).await?;
                Ok(format!("This is plan mode. Write plans as .md files in {}.", folder.display()))
            }
        },
    );
    let exit = FunctionTool::new(
        EXIT,
        "Shows the user your plan and leaves plan mode, so that the plan can be carried out.",
        json!({
            "type": "object",
            "properties": {"plan_filename": text("The plan's file, in the folder of plans.")},
            "required": ["plan_filename"],
        }),
        move |args| {
            let (changes, plans) = (changes.clone(), plans.clone());
            async move {
                let plan = written_plan(&args, &plans)?;
                change(&changes, back).await?;
                Ok(format!("The plan {} is agreed to: carry it out. This is {back} mode.", plan.display()))
            }
        },
    );
    (vec![Arc::new(enter), Arc::new(exit)], ModeChanges(wanted))
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

async fn change(changes: &mpsc::Sender<Change>, mode: ApprovalMode) -> Result<(), String> {
    let (done, is_done) = oneshot::channel();
    let ended = |_| "the session has ended".to_owned();
    changes.send((mode, done)).await.map_err(|_| "the session has ended".to_owned())?;
    is_done.await.map_err(ended)
}

/// The plan that is named, if it is one.
fn written_plan(args: &Args, plans: &Path) -> Result<PathBuf, String> {
    let name = args.get("plan_filename").and_then(Value::as_str).unwrap_or_default();
    let path = plans.join(name);
    let (real, folder) = (path.canonicalize(), plans.canonicalize());
    let is_plan =
        matches!((&real, &folder), (Ok(real), Ok(folder)) if real.starts_with(folder) && real.is_file());
    match is_plan && bounded::text(&path).is_ok_and(|text| !text.trim().is_empty()) {
        true => Ok(path),
        false => Err(format!("there is no plan {name} in {}: write it first", plans.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_a_file_with_words_in_the_folder_of_plans() {
        let folder = tempfile::tempdir().unwrap();
        let plans = folder.path().join("plans");
        std::fs::create_dir(&plans).unwrap();
        for (name, text) in [("plans/a.md", "1. do"), ("plans/empty.md", " \n"), ("b.md", "outside")] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let is_plan = |name: &str| {
            let args = Args::from_iter([("plan_filename".to_owned(), name.into())]);
            written_plan(&args, &plans).is_ok()
        };
        let found = ["a.md", "empty.md", "../b.md", "none.md", ""].map(is_plan);
        assert_eq!(found, [true, false, false, false, false]);
    }
}
