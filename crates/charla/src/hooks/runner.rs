//! Runs hooks for one session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use charla_core::hooks::{HookAnswer, HookDecision, HookPoint, Hooks};
use charla_proto::text::middle;
use charla_proto::{BoxFuture, HookEvent, HookRan};
use charla_tools::process::{Processes, ProgramEnd, ProgramOutput, UserProgram};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use super::input::{self, Surroundings};
use super::output::{self, Answer};
use super::{Hook, HookSet, merge, places};
use crate::clock::timestamp;

/// How much of a hook's output is read as its answer.
const OUTPUT: usize = 1024 * 1024;
/// How many characters of an input or output front ends are told.
const TOLD: usize = 32 * 1024;

/// Runs the hooks of a session as processes of its user.
#[derive(Clone)]
pub(crate) struct HookRunner {
    set: Arc<HookSet>,
    processes: Processes,
    cwd: PathBuf,
    around: Surroundings,
}

impl HookRunner {
    /// A runner for a session; nothing when no hook would ever run.
    pub(crate) fn of(
        set: HookSet,
        processes: &Processes,
        session: &str,
        transcript: String,
        cwd: PathBuf,
    ) -> Option<Arc<dyn Hooks>> {
        let around =
            Surroundings { session: session.to_owned(), transcript, cwd: cwd.to_string_lossy().into_owned() };
        let runner = Self { set: Arc::new(set), processes: processes.clone(), cwd, around };
        (!runner.set.is_idle()).then(|| Arc::new(runner) as Arc<dyn Hooks>)
    }

    async fn all(self, point: HookPoint) -> HookAnswer {
        let hooks = self.set.of_occasion(point.event(), &point.subjects());
        let input = input::of(&point, &self.around, timestamp());
        match hooks.iter().any(|hook| hook.sequential) {
            true => self.in_turn(&hooks, point.event(), input).await,
            false => self.at_once(&hooks, &input).await,
        }
    }

    async fn at_once(&self, hooks: &[Hook], input: &Map<String, Value>) -> HookAnswer {
        let mut merged = HookAnswer::default();
        for (ran, answer) in join_all(hooks.iter().map(|hook| self.one(hook, input))).await {
            merge::add(&mut merged, ran, answer);
        }
        merged
    }

    /// Each sees what those before it changed; after one that does not let it go on, none is asked.
    async fn in_turn(&self, hooks: &[Hook], event: HookEvent, mut input: Map<String, Value>) -> HookAnswer {
        let mut merged = HookAnswer::default();
        for hook in hooks {
            let (ran, answer) = self.one(hook, &input).await;
            hand_on(&mut input, event, &answer);
            merge::add(&mut merged, ran, answer);
            if merged.stop.is_some() || merged.decision == HookDecision::Deny {
                break;
            }
        }
        merged
    }

    async fn one(&self, hook: &Hook, input: &Map<String, Value>) -> (HookRan, Answer) {
        let text = serde_json::to_string(input).unwrap_or_default();
        let begun = Instant::now();
        let (output, answer) = match self.processes.user_program(self.program(hook, &text)).await {
            Ok(output) => {
                let answer = output::understand(&output, hook);
                (output, answer)
            }
            Err(error) => {
                let stderr = format!("it could not be started: {error}");
                let answer = output::failed(&stderr);
                let end = ProgramEnd::Signal;
                (ProgramOutput { stdout: Vec::new(), stderr: stderr.into_bytes(), end }, answer)
            }
        };
        let exit_code = match output.end {
            ProgramEnd::Code(code) => Some(code),
            ProgramEnd::Signal | ProgramEnd::Late => None,
        };
        let ran = HookRan {
            hook_event_name: hook.event,
            hook_name: hook.name.clone(),
            hook_input: told(shown(hook.event, input).unwrap_or(text)),
            hook_output: told(answer.json.as_ref().map(Value::to_string).unwrap_or_default()),
            exit_code,
            stdout: told(String::from_utf8_lossy(&output.stdout).into_owned()),
            stderr: told(String::from_utf8_lossy(&output.stderr).into_owned()),
            duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            success: exit_code == Some(0),
            system_message: answer.system_message.clone(),
        };
        (ran, answer)
    }

    fn program(&self, hook: &Hook, input: &str) -> UserProgram {
        let names = ["GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "CHARLA_PROJECT_DIR"];
        let cwd = &self.around.cwd;
        let mut variables: Vec<(String, String)> =
            names.iter().map(|name| ((*name).to_owned(), cwd.clone())).collect();
        variables.push(("CHARLA_SESSION_ID".to_owned(), self.around.session.clone()));
        let mut line = hook.command.clone();
        if let Some(extension) = &hook.extension {
            variables.extend(places::variables(extension, cwd));
            line = places::line(&line);
        }
        UserProgram {
            line,
            cwd: self.cwd.clone(),
            variables,
            input: format!("{input}\n").into_bytes(),
            time: hook.timeout,
            bytes: OUTPUT,
        }
    }
}

impl Hooks for HookRunner {
    fn wants(&self, event: HookEvent, subjects: &[&str]) -> bool {
        self.set.wants(event, subjects)
    }

    fn run(&self, point: HookPoint) -> BoxFuture<'static, HookAnswer> {
        Box::pin(self.clone().all(point))
    }
}

/// What is told of what a hook was given, where that is less: an answer is not seen before its hooks have had their say.
fn shown(event: HookEvent, input: &Map<String, Value>) -> Option<String> {
    let mut shown = input.clone();
    (event == HookEvent::AfterModel).then(|| shown.remove("llm_response"))?;
    serde_json::to_string(&shown).ok()
}

/// The text without its middle where it is long.
fn told(text: String) -> String {
    middle(&text, TOLD).unwrap_or(text)
}

/// What the next hook is given of what this one changed.
fn hand_on(input: &mut Map<String, Value>, event: HookEvent, answer: &Answer) {
    match event {
        HookEvent::BeforeTool => {
            if let Some(args) = &answer.changes.args {
                input.insert("tool_input".to_owned(), Value::Object(args.clone()));
            }
        }
        HookEvent::BeforeAgent => {
            if let (Some(context), Some(Value::String(prompt))) = (&answer.context, input.get_mut("prompt")) {
                prompt.push_str("\n\n");
                prompt.push_str(context);
            }
        }
        HookEvent::BeforeModel => {
            if let (Some(messages), Some(request)) = (&answer.changes.messages, input.get_mut("llm_request"))
            {
                let messages =
                    messages.iter().map(|said| json!({ "role": said.role, "content": said.text() }));
                request["messages"] = messages.collect();
            }
        }
        _ => {}
    }
}
