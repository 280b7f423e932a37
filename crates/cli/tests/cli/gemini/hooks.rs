//! Hooks as scripts made for Gemini CLI set them up and look at them: in its settings, and in the telemetry file.

use charla_proto::text::shell_quote;
use serde_json::{Value, json};

use super::{Stage, call, say, shell};
use crate::place::Run;

/// A place with these hooks, by event.
fn with_hooks(hooks: Value) -> Stage {
    Stage::new(&json!({"hooksConfig": {"enabled": true}, "hooks": hooks}))
}

/// One hook at one event.
fn at(event: &str, command: &str) -> Value {
    json!({ event: [{"hooks": [{"type": "command", "command": command, "timeout": 60000}]}] })
}

fn says(answer: &Value) -> String {
    format!("cat > /dev/null; echo {}", shell_quote(&answer.to_string()))
}

fn run(stage: &Stage, answers: &[Value]) -> Run {
    let run = stage.run(answers, &["--approval-mode=yolo", "-p", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    run
}

fn write(content: &str) -> Value {
    call("write_file", json!({"file_path": "a.txt", "content": content}))
}

fn asked(stage: &Stage) -> Vec<String> {
    let asked = stage.events("api_request").into_iter();
    asked.map(|asked| asked["request_text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_hook_is_logged_with_all_that_went_in_and_out() {
    let answer = json!({"decision": "allow", "systemMessage": "looked at"});
    let command = format!("{}; echo aside >&2", says(&answer));
    let hook = json!({"type": "command", "command": command, "name": "guard"});
    let stage = with_hooks(json!({"BeforeTool": [{"matcher": "write_.*", "hooks": [hook]}]}));
    let run = run(&stage, &[write("x"), call("list_directory", json!({"dir_path": "."})), say("Done.")]);
    assert!(run.err.contains("Hook system message: looked at"), "{}", run.err);
    let hooks = stage.events("hook_call");
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    let hook = &hooks[0];
    let parsed = |key: &str| serde_json::from_str::<Value>(hook[key].as_str().unwrap()).unwrap();
    assert_eq!((&hook["hook_event_name"], &hook["hook_name"]), (&json!("BeforeTool"), &json!("guard")));
    assert_eq!((&hook["exit_code"], &hook["success"]), (&json!(0), &json!(true)));
    assert_eq!(parsed("hook_input")["tool_input"]["file_path"], "a.txt");
    assert_eq!(parsed("hook_output")["systemMessage"], "looked at");
    assert!(hook["stdout"].as_str().unwrap().contains("looked at") && hook["duration_ms"].is_u64());
    assert_eq!(hook["stderr"].as_str().map(str::trim), Some("aside"));
}

#[test]
fn changed_arguments_are_those_that_are_logged_and_nothing_happens_twice() {
    let args = json!({"file_path": "a.txt", "content": "theirs"});
    let stage = with_hooks(at("BeforeTool", &says(&json!({"hookSpecificOutput": {"tool_input": args}}))));
    run(&stage, &[write("mine"), say("Done.")]);
    assert_eq!(stage.place.read("a.txt").as_deref(), Some("theirs"));
    assert_eq!(stage.calls(), [("write_file".to_owned(), args, true)]);
    assert_eq!(stage.events("hook_call").len(), 1);
}

#[test]
fn of_a_tail_call_the_second_alone_is_logged() {
    let tail = json!({"name": "read_file", "args": {"file_path": "b.txt"}});
    let answer = json!({"hookSpecificOutput": {"tailToolCallRequest": tail}});
    let hook = json!({"type": "command", "command": says(&answer)});
    let stage = with_hooks(json!({"AfterTool": [{"matcher": "write_file", "hooks": [hook]}]}));
    let stage = stage.file("b.txt", "of the other");
    run(&stage, &[write("x"), say("Done.")]);
    assert_eq!(stage.calls(), [("read_file".to_owned(), json!({"file_path": "b.txt"}), true)]);
    assert!(asked(&stage)[1].contains("of the other"));
}

#[test]
fn what_a_hook_blocks_is_logged_as_such_or_not_at_all() {
    for decision in ["block", "deny"] {
        let no = says(&json!({"decision": decision, "reason": "not here"}));
        let stage = with_hooks(at("BeforeTool", &no));
        let blocked = run(&stage, &[write("x"), say("Done.")]);
        assert!(blocked.err.contains("Tool execution blocked: not here"), "{}", blocked.err);
        assert_eq!((stage.calls()[0].2, stage.place.read("a.txt")), (false, None));
        for event in ["BeforeModel", "BeforeAgent"] {
            let stage = with_hooks(at(event, &no));
            let blocked = run(&stage, &[say("never")]);
            assert!(
                blocked.err.contains("not here") && !blocked.out.contains("never"),
                "{event}: {}",
                blocked.err
            );
            assert!(asked(&stage).is_empty(), "{event}");
        }
    }
    let stop = says(&json!({"continue": false, "reason": "that is enough"}));
    let stage = with_hooks(at("BeforeTool", &stop));
    let stopped = run(&stage, &[write("x"), say("never")]);
    assert!(stopped.err.contains("Agent execution stopped by hook: that is enough"), "{}", stopped.err);
    assert_eq!((stage.place.read("a.txt"), asked(&stage).len()), (None, 1));
}

#[test]
fn what_a_hook_adds_or_changes_is_in_the_request_that_is_logged() {
    let context = |words: &str| says(&json!({"hookSpecificOutput": {"additionalContext": words}}));
    let mut hooks = at("BeforeAgent", &context("it is noon"));
    super::merge(&mut hooks, &at("SessionStart", &context("it is Monday")));
    let stage = with_hooks(hooks);
    run(&stage, &[say("Done.")]);
    assert!(asked(&stage)[0].contains("it is noon") && asked(&stage)[0].contains("it is Monday"));
    let messages = json!([{"role": "user", "content": "say something else"}]);
    let stage = with_hooks(at(
        "BeforeModel",
        &says(&json!({"hookSpecificOutput": {"llm_request": {"messages": messages}}})),
    ));
    run(&stage, &[say("Done.")]);
    assert!(asked(&stage)[0].contains("say something else"), "{}", asked(&stage)[0]);
    let content = json!({"role": "model", "parts": ["[covered]"]});
    let response = json!({"candidates": [{"content": content, "finishReason": "STOP"}]});
    let stage =
        with_hooks(at("AfterModel", &says(&json!({"hookSpecificOutput": {"llm_response": response}}))));
    assert_eq!(run(&stage, &[say("secret")]).out, "[covered]\n");
}

#[test]
fn bare_text_and_exit_codes_mean_what_they_mean_elsewhere() {
    // What it prints and how it ends, whether the call runs, and what is told.
    let rows = [
        ("echo all is well", true, "all is well"),
        ("echo oh dear >&2; exit 1", true, "oh dear"),
        ("echo not this >&2; exit 2", false, "Tool execution blocked: not this"),
        ("echo nor that >&2; exit 3", false, "Tool execution blocked: nor that"),
        ("echo '{\"decision\": \"deny\", \"reason\": \"aside\"}' >&2", false, "aside"),
    ];
    for (command, runs, told) in rows {
        let stage = with_hooks(at("BeforeTool", &format!("cat > /dev/null; {command}")));
        let run = run(&stage, &[write("x"), say("Done.")]);
        assert_eq!(stage.place.read("a.txt").is_some(), runs, "{command}: {}", run.err);
        assert!(run.err.contains(told), "{command}: {}", run.err);
    }
}

#[test]
fn a_matcher_is_a_pattern_for_tools_and_a_word_elsewhere() {
    let hook =
        |file: &str| json!({"type": "command", "command": format!("cat > /dev/null; echo x >> {file}")});
    let rows = [
        ("BeforeTool", Some("write_file|read_file"), 1),
        ("BeforeTool", Some("^write_"), 1),
        ("BeforeTool", Some("*"), 2),
        ("BeforeTool", Some(""), 2),
        ("BeforeTool", None, 2),
        ("BeforeTool", Some("replace"), 0),
        ("SessionStart", Some("startup"), 1),
        ("SessionStart", Some("resume"), 0),
        ("SessionEnd", Some("exit"), 1),
        ("PreCompress", Some("manual"), 0),
    ];
    for (event, matcher, times) in rows {
        let mut group = json!({"hooks": [hook("ran")]});
        if let Some(matcher) = matcher {
            group["matcher"] = matcher.into();
        }
        let stage = with_hooks(json!({ event: [group] }));
        run(&stage, &[write("x"), shell("echo hi"), say("Done.")]);
        let ran = stage.place.read("ran").unwrap_or_default().lines().count();
        assert_eq!((ran, stage.events("hook_call").len()), (times, times), "{event} {matcher:?}");
    }
}

#[test]
fn hooks_of_a_prompt_run_once_however_many_calls_it_takes() {
    let keeps = "cat > /dev/null";
    let mut hooks = at("BeforeAgent", keeps);
    for event in ["AfterAgent", "PreCompress", "BeforeModel"] {
        super::merge(&mut hooks, &at(event, keeps));
    }
    let stage = with_hooks(hooks);
    run(&stage, &[shell("echo one"), shell("echo two"), say("Done.")]);
    let count = |event: &str| {
        stage.events("hook_call").iter().filter(|hook| hook["hook_event_name"] == event).count()
    };
    assert_eq!((count("BeforeAgent"), count("AfterAgent"), count("BeforeModel")), (1, 1, 3));
    assert!(count("PreCompress") >= 1);
}

#[test]
fn a_turn_goes_on_for_a_hook_and_forgets_where_it_wants() {
    let first = "case $(cat) in *'\"stop_hook_active\":true'*) ;; *)";
    for forgets in [false, true] {
        let output = json!({"hookEventName": "AfterAgent", "clearContext": forgets});
        let answer = json!({"decision": "block", "reason": "say more", "hookSpecificOutput": output});
        let hook = format!("{first} echo {};; esac", shell_quote(&answer.to_string()));
        let stage = with_hooks(at("AfterAgent", &hook));
        assert!(run(&stage, &[say("One."), say("Two.")]).out.contains("Two."));
        let asked = asked(&stage);
        assert!(asked.len() == 2 && asked[1].contains("say more"), "{asked:?}");
        assert_eq!(asked[1].contains("One."), !forgets, "{asked:?}");
        assert_eq!(stage.events("hook_call").len(), 2);
    }
}
