//! Bad input: a clear message, the right exit code, never a panic.

use std::os::unix::fs::PermissionsExt;

use charla_testkit::{Reply, Script};
use insta::assert_snapshot;

use crate::place::{Place, server};

#[test]
fn with_nothing_configured_and_no_downloads_the_ways_out_are_named() {
    let run = Place::new().run(&["-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(41), ""));
    assert_snapshot!(run.err, @r#"
    error: no model is configured: there is no API key and no model was named
    hint: one of these is enough:
          1. export a key:  GEMINI_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, …
             (a free one: https://aistudio.google.com/apikey), or keep it: charla auth set gemini
          2. run a model here, such as Ollama:  ollama run qwen3, then charla -m ollama -p "…"
          3. name a server in ~/.charla/settings.json:
             {"model": {"name": "own/MODEL"}, "providers": {"own": {"baseUrl": "http://HOST:PORT/v1"}}}
          4. set the built-in small model up: charla models pull; now it is not installed, and downloads are forbidden (CHARLA_OFFLINE is set)
          `charla models` shows what was looked for and where
    "#);
}

#[test]
fn a_missing_prompt_exits_with_the_input_code() {
    let run = Place::new().run(&[]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""));
    assert!(
        run.err.starts_with("error: there is no prompt: No input provided via stdin.\nhint: "),
        "{}",
        run.err
    );
}

#[test]
fn garbage_in_the_settings_names_the_place_and_exits_with_the_config_code() {
    let run = Place::new().settings("{\n  \"model\": { \"nmae\": \"x\" }\n}").run(&["-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(52), ""));
    assert_snapshot!(run.err, @r"
    error: ~/home/.charla/settings.json:2:14: unknown key `model.nmae`; did you mean `name`?
    hint: `charla settings schema` prints every key with its meaning
    ");
}

#[test]
fn a_mistake_of_an_untrusted_workspace_stops_no_run_and_cannot_be_agreed_to() {
    let unknown = r#"{"model": {"temperature": 1}, "hoks": {}}"#;
    for mistake in ["\0\u{1}{{{", "{ broken", unknown] {
        let server = server(Script::always(Reply::new().text("Done.")));
        let place = Place::with_server(&server).workspace_settings(mistake);
        let run = place.run(&["-m", "openai/gpt-test", "-p", "hi"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{mistake}: {}", run.err);
        assert!(run.err.contains("warning: the settings of this workspace are left out: "), "{}", run.err);
        assert!(run.err.contains("work/.charla/settings.json:1:"), "{}", run.err);
        assert!(!run.err.contains("\\n"), "{}", run.err);
        // Nothing of it holds, not even what any workspace may set.
        assert_eq!(server.requests()[0].body.get("temperature"), None, "{mistake}");
        assert_eq!(place.run(&["hooks", "list"]).code, Some(0));
        let run = place.run(&["settings", "show"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
    let place = Place::new().workspace_settings(unknown);
    let trust = place.run(&["trust", "--yes"]);
    assert_eq!((trust.code, trust.err.contains("unknown key `hoks`")), (Some(52), true), "{}", trust.err);
}

#[test]
fn mistaken_rules_of_an_untrusted_workspace_stop_no_run_and_cannot_be_agreed_to() {
    let server = server(Script::always(Reply::new().text("Done.")));
    let place = Place::with_server(&server);
    let policies = place.work().join(".charla/policies");
    std::fs::create_dir_all(&policies).unwrap();
    std::fs::write(policies.join("a.toml"), "broken\u{1b}[2J").unwrap();
    let deny = "[[rule]]\ncommandPrefix = \"ls\"\ndecision = \"deny\"\n";
    std::fs::write(policies.join("b.toml"), deny).unwrap();
    let run = place.run(&["-m", "openai/gpt-test", "-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    assert!(run.err.contains("policies/a.toml: ") && run.err.contains("it is left out"), "{}", run.err);
    assert!(!run.err.contains('\u{1b}'), "{}", run.err);
    // What can be read holds.
    let explained = place.run(&["policy", "explain", "ls"]);
    assert!(explained.out.contains("verdict: deny"), "{}{}", explained.out, explained.err);
    let trust = place.run(&["trust", "--yes"]);
    assert_eq!((trust.code, trust.err.contains("a.toml")), (Some(52), true), "{}", trust.err);
    // What is changed after its user has agreed is a stranger's again.
    std::fs::remove_file(policies.join("a.toml")).unwrap();
    assert_eq!(place.run(&["trust", "--yes"]).code, Some(0));
    std::fs::write(policies.join("b.toml"), "broken").unwrap();
    let run = place.run(&["-m", "openai/gpt-test", "-p", "hi"]);
    assert_eq!((run.code, run.err.contains("it is left out")), (Some(0), true), "{}", run.err);
}

#[test]
fn a_file_of_a_workspace_that_cannot_be_read_is_left_out() {
    let server = server(Script::always(Reply::new().text("Done.")));
    let place = Place::with_server(&server);
    std::fs::create_dir(place.work().join(".charla/settings.json")).unwrap();
    let run = place.run(&["-m", "openai/gpt-test", "-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    assert!(run.err.contains("settings.json is left out: it cannot be read"), "{}", run.err);
}

#[test]
fn an_unknown_model_or_provider_exits_with_the_input_code() {
    let place = Place::new().variable("OPENAI_API_KEY", "key-openai-1");
    let run = place.run(&["-m", "opneai/gpt-5", "-p", "hi"]);
    assert_eq!(run.code, Some(42));
    assert_snapshot!(run.err, @r"
    error: there is no provider `opneai`
    hint: did you mean `openai`?
    ");
    let run = place.run(&["-m", "mystery", "-p", "hi"]);
    assert_eq!(run.code, Some(42));
    assert_snapshot!(run.err, @r"
    error: `mystery` does not say which provider serves it
    hint: write provider/model, such as ollama/mystery or openrouter/mystery
    ");
}

#[test]
fn a_wrong_argument_exits_with_the_input_code() {
    let run = Place::new().run(&["--modle", "x"]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""));
    assert_snapshot!(run.err, @r"
    error: unexpected argument '--modle' found
    hint: a similar argument exists: '--model'
          `charla --help` shows what can be given
    ");
}

#[test]
fn a_missing_argument_is_named_where_it_is_missed() {
    let run = Place::new().run(&["mcp", "add"]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""));
    assert_snapshot!(run.err, @r"
    error: the following required arguments were not provided: <NAME>, <COMMAND_OR_URL>
    hint: `charla mcp add --help` shows what can be given
    ");
}

#[test]
fn what_is_named_and_not_there_comes_with_advice() {
    let server = server(Script::always(Reply::new().text("Done.")));
    let place = Place::with_server(&server);
    let rows: [(&[&str], &str); 3] = [
        (&["approvals", "answer", "zzz", "yes"], "hint: `charla approvals` lists what waits"),
        (
            &["-m", "openai/gpt-test", "--policy", "nosuch.toml", "-p", "hi"],
            "hint: --policy takes a file of rules",
        ),
        (&["mcp", "test", "nosuch"], "`charla mcp add NAME COMMAND` adds one"),
    ];
    for (arguments, hint) in rows {
        let run = place.run(arguments);
        assert_ne!(run.code, Some(0), "{arguments:?}");
        assert!(run.err.contains(hint), "{arguments:?}: {}", run.err);
    }
}

#[test]
fn input_that_is_no_text_is_named_by_its_offset() {
    let run = Place::new().run_with_input(&["-p", "hi"], b"good \xf0\x28 bad".to_vec());
    assert_eq!(run.code, Some(42));
    assert!(run.err.contains("the byte at offset 5"), "{}", run.err);
}

#[test]
fn keys_that_others_can_read_are_refused() {
    let place = Place::new();
    let path = place.home().join("keys.json");
    std::fs::write(&path, r#"{"gemini": "key-secret-1"}"#).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let run = place.run(&["-m", "gemini", "-p", "hi"]);
    assert_eq!(run.code, Some(52));
    assert_snapshot!(run.err, @r"
    error: ~/home/.charla/keys.json holds keys but others can read it (mode 640)
    hint: chmod 600 '~/home/.charla/keys.json'
    ");
}

#[test]
fn a_key_command_that_fails_exits_with_the_auth_code() {
    let settings = r#"{"providers": {"openai": {"apiKey": {"command": "echo locked >&2; exit 7"}}}}"#;
    let run = Place::new().settings(settings).run(&["-m", "gpt-5", "-p", "hi"]);
    assert_eq!(run.code, Some(41));
    assert_snapshot!(run.err, @r"
    error: no key for openai: the key command failed (exit status: 7): locked
    hint: run by hand what `providers.openai.apiKey.command` says
    ");
}

#[test]
fn every_format_reports_a_failure_before_the_model_in_its_own_way() {
    let place = Place::new().settings("{ broken");
    let run = place.run(&["-o", "json", "-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(52), ""));
    let document: serde_json::Value = serde_json::from_str(&run.err).unwrap();
    assert_eq!(document["error"]["code"], 52);
    assert!(document["session_id"].as_str().is_some_and(|id| !id.is_empty()));

    let run = place.run(&["-o", "stream-json", "-p", "hi"]);
    assert_eq!(run.code, Some(52));
    assert_eq!(run.kinds(), ["error", "result"]);
    assert_eq!(run.lines()[1]["status"], "error");
}

#[test]
fn an_unreachable_host_fails_clearly() {
    let place = Place::new()
        .variable("OPENAI_API_KEY", "key-openai-1")
        .variable("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        .settings(r#"{"retry": {"maxAttempts": 1}}"#);
    let run = place.run(&["-m", "gpt-5", "-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains("error: openai/gpt-5: ") && run.err.contains("hint: "), "{}", run.err);
}
