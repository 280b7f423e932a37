//! What goes to a model beside the words: files in a prompt, an own system prompt, the flags of a run.

use std::fs;

use charla_testkit::{Failure, Reply, Script, Server, Usage};
use serde_json::{Value, json};

use crate::place::{Place, Run, server};
use crate::terminal::Terminal;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn ok(place: &Place, arguments: &[&str]) -> Run {
    let run = place.run(arguments);
    assert_eq!(run.code, Some(0), "{arguments:?}: {}{}", run.out, run.err);
    run
}

fn answering() -> Server {
    server(Script::always(Reply::new().text("ok")))
}

fn last(server: &Server) -> Value {
    server.requests().last().unwrap().body.clone()
}

#[test]
fn files_named_in_a_prompt_go_along_on_every_wire() {
    for model in ["gemini/gemini-2.5-flash", "openai/gpt-5", "anthropic/claude-sonnet-5"] {
        let server = answering();
        let place = Place::with_server(&server).file("notes.txt", "alpha beta\n");
        fs::write(place.work().join("shot.png"), PNG).unwrap();
        let run = ok(&place, &["-m", model, "-p", "what is this? @shot.png, see @notes.txt."]);
        assert_eq!(run.err, "", "{model}");
        let sent = last(&server).to_string();
        for expected in ["what is this? @shot.png, see @notes.txt.", "iVBORw0KGgo", "image/png", "alpha beta"]
        {
            assert!(sent.contains(expected), "{model}: {expected} is missing: {sent}");
        }
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

#[test]
fn an_image_that_the_provider_refuses_stands_in_the_way_of_nothing_said_later() {
    for model in ["gemini/gemini-2.5-flash", "openai/gpt-5", "anthropic/claude-sonnet-5"] {
        let refused = Failure::bad_request("Image dimensions exceed 8000 pixels");
        let server =
            server(Script::new([Reply::from(refused), Reply::new().text("ok"), Reply::new().text("ok")]));
        let place = Place::with_server(&server);
        fs::write(place.work().join("shot.png"), PNG).unwrap();
        let run = place.run(&["-m", model, "-p", "what is this? @shot.png"]);
        assert_ne!(run.code, Some(0), "{model}: {}{}", run.out, run.err);
        assert!(
            run.err.contains("8000 pixels") && run.err.contains("not sent again"),
            "{model}: {}",
            run.err
        );
        let (id, _) = place.journals().pop().unwrap();
        for said in ["what else?", "and then?"] {
            ok(&place, &["-m", model, "--resume", &id, "-p", said]);
            let sent = last(&server).to_string();
            assert!(!sent.contains("iVBORw0KGgo"), "{model}: {sent}");
            assert!(sent.contains("image/png was left out") && sent.contains(said), "{model}: {sent}");
        }
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

#[test]
fn secrets_and_strangers_stay_and_what_is_piped_names_no_file() {
    let server = answering();
    let place = Place::with_server(&server).file(".env", "KEY=hush").file("in.txt", "inside");
    fs::write(place.path().join("outside.txt"), "outside").unwrap();
    let run = ok(&place, &["-p", "read @.env and @../outside.txt and @gone.txt, @alice"]);
    for expected in [
        "@.env is not attached: it looks like a secret",
        "@../outside.txt is not attached: it is outside ~/work",
        "@gone.txt, is not attached: it is not there",
    ] {
        assert!(run.err.contains(expected), "{expected} is missing:\n{}", run.err);
    }
    assert!(!run.err.contains("alice"), "{}", run.err);
    let sent = last(&server).to_string();
    assert!(!sent.contains("hush") && !sent.contains("\\noutside"), "{sent}");
    place.run_with_input(&["-p", "explain"], "a diff with @in.txt");
    assert!(!last(&server).to_string().contains("end of in.txt"));
}

#[test]
fn a_file_given_by_flag_may_be_anywhere_and_must_be_there() {
    let server = answering();
    let place = Place::with_server(&server).file(".env", "KEY=hush");
    fs::write(place.path().join("outside.txt"), "from outside").unwrap();
    ok(&place, &["--attach", "../outside.txt", "-p", "read this"]);
    assert!(last(&server).to_string().contains("from outside"));
    for listed in [place.run(&["sessions"]).out, place.run(&["sessions", "show", "latest"]).out] {
        let title = listed.lines().find(|line| line.contains("read this")).unwrap();
        assert!(!title.contains("outside"), "{listed}");
    }
    let count = server.requests().len();
    for file in ["gone.txt", ".env", "."] {
        let run = place.run(&["--attach", file, "-p", "read this"]);
        assert_eq!(run.code, Some(42), "{file}: {}", run.err);
    }
    assert_eq!(server.requests().len(), count);
    assert_eq!(place.journals().len(), 1);
}

#[test]
fn the_flags_of_a_run_reach_the_request() {
    let server = answering();
    let place = Place::with_server(&server).file("rules.md", "Speak like a pirate.");
    fs::write(place.work().join("more.md"), "Mind the parrot.").unwrap();
    let flags = ["--temperature", "0.5", "--thinking", "0", "--exclude-tools", "web_fetch"];
    let run = ok(&place, &[&["-m", "gemini-2.5-flash", "-p", "hi"], &flags[..]].concat());
    assert_eq!(run.err, "");
    let sent = last(&server);
    assert_eq!(sent["generationConfig"]["temperature"], 0.5);
    assert_eq!(sent["generationConfig"]["thinkingConfig"]["thinkingBudget"], 0);
    let tools = sent["tools"].to_string();
    assert!(tools.contains("read_file") && !tools.contains("web_fetch"), "{tools}");
    ok(&place, &["--system-prompt", "rules.md", "--append-system-prompt", "Be brief.", "-p", "hi"]);
    let system = last(&server)["systemInstruction"].to_string();
    assert!(
        system.contains("Speak like a pirate.\\n\\nBe brief.") && !system.contains("You are Charla"),
        "{system}"
    );
    ok(&place, &["--append-system-prompt", "@more.md", "-p", "hi"]);
    let system = last(&server)["systemInstruction"].to_string();
    assert!(system.contains("You are Charla") && system.contains("Mind the parrot."), "{system}");
    let run = ok(&place, &["--allowed-tools", "write_flie", "-p", "hi"]);
    assert!(
        run.err.contains("`write_flie` is allowed, but there is no such tool; did you mean `write_file`?"),
        "{}",
        run.err
    );
}

#[test]
fn limits_by_flag_end_the_turn() {
    let usage = Usage { prompt: 1_000_000, output: 10, ..Usage::default() };
    let call = || Reply::new().call("list_directory", json!({"dir_path": "."})).usage(usage);
    for flag in [["--max-cost", "0.01"], ["--max-tokens", "100"]] {
        let server = server(Script::new([call(), call()]));
        let place = Place::with_server(&server);
        let run = place.run(&[&["-m", "gemini-2.5-flash", "-p", "go"], &flag[..]].concat());
        assert_eq!(run.code, Some(53), "{flag:?}: {}", run.err);
        assert!(run.err.contains(flag[0]), "{flag:?}: {}", run.err);
        assert_eq!(server.requests().len(), 1, "{flag:?}");
    }
}

#[test]
fn a_limit_of_nothing_asks_no_model_and_an_answer_over_the_limit_says_so() {
    let usage = Usage { prompt: 1_000_000, output: 10, ..Usage::default() };
    let server = server(Script::always(Reply::new().text("ok").usage(usage)));
    let place = Place::with_server(&server);
    let run = place.run(&["-m", "gemini-2.5-flash", "--max-cost", "0", "-p", "go"]);
    assert_eq!((run.code, run.out.as_str(), server.requests().len()), (Some(53), "", 0), "{}", run.err);
    let run = place.run(&["-m", "gemini-2.5-flash", "--max-tokens", "1", "-p", "go"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "ok\n"), "{}", run.err);
    assert!(run.err.contains("used 1000010 tokens, more than its limit of 1"), "{}", run.err);
}

#[test]
fn dollars_are_told_where_prices_are_known() {
    let usage = Usage { prompt: 1_000_000, output: 1_000_000, ..Usage::default() };
    let server = server(Script::always(Reply::new().text("ok").usage(usage)));
    let place = Place::with_server(&server);
    let stats = |arguments: &[&str]| -> Value {
        let run = ok(&place, arguments);
        let last = run.out.lines().last().unwrap();
        let document = serde_json::from_str(&run.out).or_else(|_| serde_json::from_str(last));
        document.map(|document: Value| document["stats"].clone()).unwrap()
    };
    for format in ["json", "stream-json"] {
        let known = stats(&["-m", "gemini-2.5-flash", "-o", format, "-p", "hi"]);
        assert_eq!(known["costUsd"], 2.8, "{known}");
        assert_eq!(known["models"]["gemini/gemini-2.5-flash"]["costUsd"], 2.8);
        let unknown = stats(&["-m", "openai/nobody-knows-it", "-o", format, "-p", "hi"]);
        assert!(unknown.get("costUsd").is_none(), "{unknown}");
    }
}

#[test]
fn the_prompt_can_be_looked_at_without_asking_a_model() {
    let server = answering();
    let place = Place::with_server(&server).file("CHARLA.md", "Use tabs, always.");
    let run = ok(&place, &["prompt", "show", "-m", "gemini-2.5-flash"]);
    for expected in ["You are Charla", "Use tabs, always.", "--- tools ---", "read_file"] {
        assert!(run.out.contains(expected), "{expected} is missing:\n{}", run.out);
    }
    assert!(run.err.contains("tokens of system prompt"), "{}", run.err);
    let json: Value = serde_json::from_str(&ok(&place, &["prompt", "show", "--json"]).out).unwrap();
    assert!(json["systemTokens"].as_u64().unwrap() > 100 && json["toolTokens"].as_u64().unwrap() > 100);
    assert!(server.requests().is_empty());
    assert!(place.journals().is_empty());
}

/// The words of a system prompt and the tools of a request, as its wire has them.
fn sent(body: &Value) -> (String, Vec<(String, String)>) {
    let texts = |parts: &Value| {
        let parts = parts.as_array().into_iter().flatten();
        parts.map(|part| part["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n\n")
    };
    let system = match (&body["messages"][0]["content"], &body["system"], &body["systemInstruction"]["parts"])
    {
        (Value::String(text), ..) if body["messages"][0]["role"] == "system" => text.clone(),
        (_, Value::Null, parts) => texts(parts),
        (_, blocks, _) => texts(blocks),
    };
    let tools = body["tools"].as_array().unwrap().iter();
    let tools = tools.flat_map(|tool| match &tool["functionDeclarations"] {
        Value::Array(declared) => declared.clone(),
        _ => vec![tool.get("function").unwrap_or(tool).clone()],
    });
    let told = |tool: Value| {
        let text = |key: &str| tool[key].as_str().unwrap_or_default().to_owned();
        (text("name"), text("description"))
    };
    (system, tools.map(told).collect())
}

#[test]
fn the_prompt_that_is_shown_is_the_one_that_is_sent() {
    let server = server(Script::always(Reply::new().text("Done.")));
    let settings = json!({
        "mcpServers": {"unseen": {"command": "/bin/cat"}}, "tools": {"exclude": ["web_fetch"]},
    });
    let place =
        Place::with_server(&server).settings(&settings.to_string()).file("CHARLA.md", "Use tabs, always.");
    let write = |name: &str, text: &str| {
        let path = place.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("agents/reviewer.md", "---\nname: reviewer\ndescription: It reviews\n---\nReview.\n");
    write("skills/deploy/SKILL.md", "---\nname: deploy\ndescription: How to deploy\n---\nDeploy.\n");
    for model in ["openai/gpt-test", "anthropic/claude-test", "gemini/gemini-test"] {
        for mode in ["default", "plan", "yolo"] {
            choose_mode(&place, mode);
            ok(&place, &["-m", model, "-p", "hi"]);
            let body = server.requests().last().unwrap().body.to_string();
            // As output is shown by tests.
            let body = body.replace(place.path().to_str().unwrap(), "~");
            let (system, tools) = sent(&serde_json::from_str(&body).unwrap());
            let shown: Value =
                serde_json::from_str(&ok(&place, &["prompt", "show", "-m", model, "--json"]).out).unwrap();
            assert_eq!(shown["system"], system.as_str(), "{model} {mode}");
            let declared = shown["tools"].as_array().unwrap().iter().map(|tool| {
                (tool["name"].as_str().unwrap().to_owned(), tool["description"].as_str().unwrap().to_owned())
            });
            assert_eq!(declared.collect::<Vec<_>>(), tools, "{model} {mode}");
            for name in ["invoke_agent", "activate_skill"] {
                assert!(tools.iter().any(|(tool, _)| tool == name), "{model} {mode}: {name}");
            }
            assert!(
                !tools.iter().any(|(tool, _)| tool == "web_fetch" || tool == "ask_user"),
                "{model} {mode}"
            );
        }
    }
    let asked = place.run_on_terminal(&["prompt", "show", "-m", "openai/gpt-test"], &[]);
    assert!(asked.out.contains("ask_user"), "somebody is there: {}", asked.out);
}

#[test]
fn the_prompt_that_is_shown_moves_no_cursor_behind_a_pipe() {
    let place =
        Place::with_server(&answering()).file("AGENTS.md", "Be kind.\u{1b}[2J\u{7}\nTwo\u{202e} lines.\n");
    let run = ok(&place, &["prompt", "show", "-m", "openai/gpt-test"]);
    assert!(run.out.contains("Be kind.\\u{1b}[2J\\u{7}\nTwo\\u{202e} lines."), "{}", run.out);
    assert!(!run.out.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{:?}", run.out);
}

/// The user chooses this mode.
fn choose_mode(place: &Place, mode: &str) {
    let path = place.home().join("settings.json");
    let mut settings: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    settings["tools"]["approvalMode"] = mode.into();
    std::fs::write(path, settings.to_string()).unwrap();
}

#[test]
fn a_group_of_commands_and_help_print_help_and_ask_nobody() {
    let server = answering();
    let place = Place::with_server(&server);
    for (arguments, expected) in [
        (&["help"][..], "Commands:"),
        (&["help", "undo"], "--dry-run"),
        (&["settings"], "schema"),
        (&["auth"], "login"),
    ] {
        let run = ok(&place, arguments);
        assert!(run.out.contains(expected), "{arguments:?}: {}", run.out);
    }
    assert!(server.requests().is_empty());
}

/// The terminal itself tells whether it shows what is typed.
#[test]
fn a_signal_while_a_key_is_typed_leaves_the_terminal_as_it_was() {
    const SCRIPT: &str = "trap : INT; sh -c 'echo pid $$ .; exec \"$CHARLA\" auth set openai'; echo code $? .; \
                          stty -a | tr ' ' '\\n' | grep -x -e echo -e -echo; echo end";
    for signal in ["-INT", "-TERM", "-HUP"] {
        let place = Place::new();
        let mut terminal = Terminal::shell(&place, SCRIPT);
        terminal.wait_for("key of openai (not shown): ");
        let shown = terminal.shown();
        let pid = shown.split_whitespace().skip_while(|word| *word != "pid").nth(1).unwrap();
        assert!(std::process::Command::new("kill").args([signal, pid]).status().unwrap().success());
        terminal.wait_for("code 130 .");
        terminal.wait_for("end");
        let shown = terminal.shown();
        assert!(shown.lines().any(|line| line.trim() == "echo"), "{signal}: {shown}");
    }
}
