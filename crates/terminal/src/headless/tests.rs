use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use charla_proto::{LlmError, LlmErrorKind, RetryNotice, UsageMetadata};
use insta::assert_snapshot;
use serde_json::Value;

use super::*;

/// A stream that keeps what was written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What a run wrote and how it ended.
struct Shown {
    out: String,
    err: String,
    code: i32,
}

impl Shown {
    /// The lines of JSON on standard output, without what differs from run to run.
    fn lines(&self) -> Vec<Value> {
        let lines = self.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|mut line| {
                line["timestamp"] = Value::Null;
                still(&mut line);
                line
            })
            .collect()
    }
}

/// Sets measured times to zero.
fn still(value: &mut Value) {
    if let Some(models) = value.pointer_mut("/stats/models").and_then(Value::as_object_mut) {
        models.values_mut().for_each(|model| model["api"]["totalLatencyMs"] = 0.into());
    }
}

struct Stage {
    format: OutputFormat,
    thoughts: bool,
    terminal: bool,
}

const PIPE: Stage = Stage { format: OutputFormat::Text, thoughts: false, terminal: false };
const TERMINAL: Stage = Stage { terminal: true, ..PIPE };
const JSON: Stage = Stage { format: OutputFormat::Json, ..PIPE };
const LINES: Stage = Stage { format: OutputFormat::StreamJson, ..PIPE };

fn play(stage: Stage, events: Vec<TurnEvent>) -> Shown {
    let (out, err) = (Kept::default(), Kept::default());
    let printer = Printer::of(Box::new(out.clone()), Box::new(err.clone()), stage.terminal);
    let mut view = View::new(stage.format, stage.thoughts, "s1".into(), printer);
    view.begin("mock/one", "hi").unwrap();
    let ending = events.into_iter().find_map(|event| view.event(event).unwrap());
    let code = view.end(ending.expect("events must end"));
    Shown { out: out.text(), err: err.text(), code }
}

/// What a person at a terminal sees, line by line: answer and notes on one screen.
fn screen(events: Vec<TurnEvent>) -> Vec<String> {
    let screen = Kept::default();
    let printer = Printer::of(Box::new(screen.clone()), Box::new(screen.clone()), true);
    let mut view = View::new(OutputFormat::Text, false, "s1".into(), printer);
    view.begin("mock/one", "hi").unwrap();
    let shown = |event| {
        let ending = view.event(event).unwrap();
        view.printer.flush().unwrap();
        ending
    };
    let ending = events.into_iter().find_map(shown);
    view.end(ending.expect("events must end"));
    screen.text().lines().map(str::to_owned).collect()
}

fn say(text: &str) -> TurnEvent {
    TurnEvent::content(text)
}

fn finish(reason: FinishReason) -> TurnEvent {
    let usage = UsageMetadata {
        prompt_token_count: Some(7),
        candidates_token_count: Some(3),
        thoughts_token_count: Some(2),
        ..UsageMetadata::default()
    };
    let end = if reason == FinishReason::MaxTokens { TurnEnd::Truncated } else { TurnEnd::Finished };
    TurnEvent::Finished { reason, end, usage: Some(usage) }
}

fn thought(text: &str) -> TurnEvent {
    TurnEvent::Thought { content: text.into(), subject: None, delta: true }
}

fn stop() -> TurnEvent {
    finish(FinishReason::Stop)
}

fn retry(withdraws: bool) -> TurnEvent {
    let error = LlmError::new(LlmErrorKind::Network, "the connection broke");
    TurnEvent::Retry(RetryNotice {
        attempt: 1,
        max_attempts: 3,
        delay: Duration::from_millis(500),
        error,
        withdraws,
    })
}

fn switch() -> TurnEvent {
    let (from, to) = ("mock/one".into(), "mock/two".into());
    TurnEvent::ModelSwitched(ModelSwitch { from, to, reason: "overloaded".into() })
}

fn broken() -> TurnEvent {
    TurnEvent::failure(LlmError::new(LlmErrorKind::Server, "it burns"))
}

#[test]
fn an_answer_ends_with_exactly_one_newline() {
    for stage in [PIPE, TERMINAL] {
        let shown = play(stage, vec![say("Hello\n"), say("\n"), say("world\n\n\n"), stop()]);
        assert_eq!((shown.out.as_str(), shown.err.as_str(), shown.code), ("Hello\n\nworld\n", "", 0));
    }
    assert_eq!(play(PIPE, vec![say("x"), stop()]).out, "x\n");
}

#[test]
fn a_pipe_never_gets_the_text_of_a_failed_attempt() {
    let shown = play(PIPE, vec![say("Hel"), retry(true), say("Hello"), stop()]);
    assert_eq!(shown.out, "Hello\n");
    assert_snapshot!(shown.err, @"attempt 1 of 3 failed: the connection broke; trying again in 0.5 s");
    let shown = play(PIPE, vec![say("Hel"), broken()]);
    assert_eq!((shown.out.as_str(), shown.code), ("", 1));
}

#[test]
fn a_terminal_marks_withdrawn_text() {
    let shown = play(TERMINAL, vec![say("Hel"), retry(true), say("Hello"), stop()]);
    assert_eq!(shown.out, "Hel\nHello\n");
    assert!(shown.err.contains("(the text above is withdrawn: its attempt failed)"), "{}", shown.err);
}

#[test]
fn what_is_told_beside_an_answer_begins_a_line_of_its_own() {
    let lines = screen(vec![say("half"), retry(true), say("whole"), finish(FinishReason::MaxTokens)]);
    assert_eq!(lines[0], "half");
    assert!(lines[1].contains("withdrawn") && lines[2].contains("attempt 1 of 3 failed"), "{lines:?}");
    assert_eq!(lines[3], "whole");
    assert!(lines[4].contains("warning:") && lines.len() == 5, "{lines:?}");
    let notice = TurnEvent::Notice { message: "careful".to_owned() };
    let lines = screen(vec![say("be"), notice, switch(), say("gin"), stop()]);
    assert_eq!((lines[0].as_str(), lines[3].as_str(), lines.len()), ("be", "gin", 4), "{lines:?}");
}

#[test]
fn a_failure_says_what_happened_and_what_to_do() {
    let shown = play(PIPE, vec![broken()]);
    assert_snapshot!(shown.err, @r"
    error: it burns
    hint: the provider has a problem; try again later or use another model with -m
    ");
}

#[test]
fn thoughts_are_shown_on_standard_error_and_only_when_wanted() {
    let events = || vec![thought("hm"), say("yes"), stop()];
    let shown = play(PIPE, events());
    assert_eq!((shown.out.as_str(), shown.err.as_str()), ("yes\n", ""));
    let shown = play(Stage { thoughts: true, ..PIPE }, events());
    assert_eq!((shown.out.as_str(), shown.err.as_str()), ("yes\n", "hm\n"));
}

#[test]
fn an_empty_answer_is_no_success() {
    let empty = |message: &str, hint: charla_proto::Hint| {
        let error = LlmError::new(LlmErrorKind::InvalidStream, message);
        TurnEvent::failure(error.with_hint(hint))
    };
    let ending = empty("the model gave an empty answer", charla_proto::Hint::Retry);
    let shown = play(PIPE, vec![say(" \n"), ending]);
    assert_eq!((shown.out.as_str(), shown.code), ("", 1));
    assert!(shown.err.starts_with("error: the model gave an empty answer"), "{}", shown.err);
    let ending = empty("the model used up its output limit", charla_proto::Hint::RaiseOutputLimit);
    let shown = play(JSON, vec![ending]);
    assert_eq!((shown.out.as_str(), shown.code), ("", 1));
    assert!(shown.err.contains("model.maxOutputTokens"), "{}", shown.err);
}

#[test]
fn a_cut_answer_is_a_success_with_a_warning() {
    let shown = play(PIPE, vec![say("Once"), finish(FinishReason::MaxTokens)]);
    assert_eq!((shown.out.as_str(), shown.code), ("Once\n", 0));
    assert!(shown.err.starts_with("warning: the answer was cut"), "{}", shown.err);
}

#[test]
fn an_answer_the_provider_stopped_is_shown_but_fails() {
    let detail = "the provider stopped the answer (SAFETY)".to_owned();
    let shown = play(PIPE, vec![say("Once"), TurnEvent::Stopped { end: TurnEnd::Blocked, detail }]);
    assert_eq!((shown.out.as_str(), shown.code), ("Once\n", 1));
    assert!(shown.err.starts_with("error: the provider stopped the answer (SAFETY)"), "{}", shown.err);
}

#[test]
fn a_model_that_goes_in_circles_ends_with_the_limit_code() {
    let call = TurnEvent::ToolCallRequest {
        name: "rm".to_owned(),
        call: "c1".to_owned(),
        parameters: Default::default(),
    };
    let detail = "`rm` was called 7 times with the same result".to_owned();
    let events = vec![call, TurnEvent::Stopped { end: TurnEnd::Loop, detail }];
    let shown = play(LINES, events);
    assert_eq!(shown.code, 53);
    let last = shown.lines().pop().unwrap();
    assert_eq!(last["error"]["type"], "limit");
}

#[test]
fn json_is_one_document() {
    let shown = play(JSON, vec![say("Hel"), retry(true), switch(), say("Hi\n"), stop()]);
    let mut document: Value = serde_json::from_str(&shown.out).unwrap();
    still(&mut document);
    assert_snapshot!(format!("{document:#}"), @r#"
    {
      "session_id": "s1",
      "model": "mock/two",
      "response": "Hi\n",
      "finish_reason": "STOP",
      "stats": {
        "models": {
          "mock/one": {
            "api": {
              "totalRequests": 1,
              "totalErrors": 1,
              "totalLatencyMs": 0
            },
            "tokens": {
              "prompt": 0,
              "candidates": 0,
              "total": 0,
              "cached": 0,
              "thoughts": 0
            }
          },
          "mock/two": {
            "api": {
              "totalRequests": 1,
              "totalErrors": 0,
              "totalLatencyMs": 0
            },
            "tokens": {
              "prompt": 7,
              "candidates": 3,
              "total": 12,
              "cached": 0,
              "thoughts": 2
            }
          }
        },
        "files": {
          "totalLinesAdded": 0,
          "totalLinesRemoved": 0
        },
        "tools": {
          "totalCalls": 0,
          "totalSuccess": 0,
          "totalFail": 0,
          "byName": {}
        }
      }
    }
    "#);
}

#[test]
fn json_errors_go_to_standard_error() {
    let shown = play(JSON, vec![say("Hel"), broken()]);
    assert_eq!((shown.out.as_str(), shown.code), ("", 1));
    assert_snapshot!(shown.err, @r#"
    {
      "session_id": "s1",
      "error": {
        "type": "server",
        "code": 1,
        "message": "it burns",
        "hint": "the provider has a problem; try again later or use another model with -m"
      }
    }
    "#);
}

#[test]
fn json_lines_tell_everything_in_order_and_end_once() {
    let shown = play(LINES, vec![thought("hm"), say("Hel"), retry(true), switch(), say("Hi"), stop()]);
    let lines = shown.lines();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["init", "message", "thought", "message", "retry", "model_switched", "message", "result"]
    );
    assert_snapshot!(lines[0], @r#"{"type":"init","timestamp":null,"session_id":"s1","model":"mock/one"}"#);
    assert_snapshot!(lines[3], @r#"{"type":"message","timestamp":null,"role":"assistant","content":"Hel","delta":true}"#);
    assert_snapshot!(lines[4], @r#"{"type":"retry","timestamp":null,"attempt":1,"max_attempts":3,"delay_ms":500,"error":{"type":"network","code":1,"message":"the connection broke","hint":"check the network, the base URL and proxy settings"},"withdraws":true}"#);
    assert_eq!(lines[7]["status"], "success");
    assert_eq!(lines[7]["stats"]["models"]["mock/one"]["api"]["totalErrors"], 1);
}

#[test]
fn cancelling_exits_with_130_and_still_ends_once() {
    let shown = play(LINES, vec![say("Hel"), TurnEvent::UserCancelled]);
    assert_eq!(shown.code, 130);
    let lines = shown.lines();
    let results: Vec<&Value> = lines.iter().filter(|line| line["type"] == "result").collect();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["status"], "cancelled");
    assert_eq!(lines.last(), Some(results[0]));
}

#[test]
fn a_call_that_nobody_could_allow_is_told_a_person_once_and_scripts_in_their_words() {
    let refused = || {
        let message = "Not run: it needs approval".to_owned();
        let result = ToolResult {
            call: "c1".to_owned(),
            name: "write_file".to_owned(),
            status: CallStatus::Error,
            output: message.clone(),
            error: Some(charla_proto::ToolFailure { kind: ToolErrorKind::NobodyToAsk, message }),
            display: None,
            whole_output: None,
            spent: Box::default(),
        };
        vec![TurnEvent::ToolCallResponse(result), say("No."), finish(FinishReason::Stop)]
    };
    let person = play(TERMINAL, refused()).err;
    assert!(!person.contains("Error executing tool"), "{person}");
    let script = play(PIPE, refused()).err;
    assert!(script.contains("Error executing tool write_file: Tool \"write_file\" not found"), "{script}");
}
