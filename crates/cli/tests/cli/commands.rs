//! Help, version, settings, models, keys.

use std::os::unix::fs::PermissionsExt;

use charla_testkit::{Reply, Script};
use insta::assert_snapshot;

use crate::place::{Place, server};

#[test]
fn help_shows_usage_examples_and_exit_codes() {
    let run = Place::new().run(&["--help"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    for expected in ["Usage:", "Examples:", "Exit codes:", "git diff | charla", "130  cancelled"] {
        assert!(run.out.contains(expected), "{expected} is missing:\n{}", run.out);
    }
    assert!(run.out.lines().all(|line| line.chars().count() <= 100), "{}", run.out);
    assert_eq!(Place::new().run(&["-h"]).out, run.out);
}

#[test]
fn the_version_needs_neither_settings_nor_home() {
    let run = Place::new().settings("{ broken").run(&["--version"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.out, format!("charla {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_manual_are_generated() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = place.run(&["completions", shell]);
        assert_eq!(run.code, Some(0));
        assert!(run.out.contains("output-format"), "{shell}");
    }
    let run = place.run(&["man"]);
    for expected in [".TH charla 1", ".SH COMMANDS", "charla settings show", ".SH EXAMPLES", ".SH EXIT CODES"]
    {
        assert!(run.out.contains(expected), "{expected} is missing:\n{}", run.out);
    }
}

#[test]
fn the_schema_is_json_and_needs_no_settings() {
    let run = Place::new().settings("{ broken").run(&["settings", "schema"]);
    assert_eq!(run.code, Some(0));
    let schema: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(schema["title"], "Charla settings");
}

#[test]
fn shown_settings_name_who_set_them() {
    let place = Place::new()
        .settings(r#"{"retry": {"maxAttempts": 2}}"#)
        .workspace_settings(r#"{"model": {"temperature": 0.5}}"#)
        .variable("CHARLA_MODEL", "gemini-2.5-pro");
    let run = place.run(&["settings", "show", "--json"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&run.out).unwrap();
    let source = |key: &str| rows.iter().find(|row| row["key"] == key).unwrap()["source"].clone();
    assert_eq!(source("retry.maxAttempts"), "~/home/.charla/settings.json:1:12");
    assert_eq!(source("model.temperature"), "~/work/.charla/settings.json:1:12");
    assert_eq!(source("model.name"), "$CHARLA_MODEL");
    assert_eq!(source("output.format"), "built in");
    let run = place.run(&["settings", "path"]);
    assert_eq!(run.out, "~/home/.charla/settings.json\n~/work/.charla/settings.json\n");
}

#[test]
fn models_tell_what_was_found_and_why_not() {
    let local = server(Script::always(Reply::new().text("x")).with_models(["qwen3:4b"]));
    let place = Place::new()
        .variable("ANTHROPIC_API_KEY", "key-secret-1")
        .variable("OLLAMA_HOST", &local.address().to_string())
        .settings(r#"{"providers": {"broken": {}, "own": {"baseUrl": "http://127.0.0.1:9/v1"}}}"#);
    let run = place.run(&["models"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let lines: Vec<&str> = run.out.lines().filter(|line| line.starts_with(['+', '-'])).collect();
    assert_snapshot!(lines.join("\n"), @r"
    - gemini      Google Gemini API: no key in $GEMINI_API_KEY, $GOOGLE_API_KEY, kept keys
    + anthropic   Anthropic: key from $ANTHROPIC_API_KEY
    - openai      OpenAI: no key in $OPENAI_API_KEY, kept keys
    - vertex      Google Vertex AI: the provider `vertex` has no address: export GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION
    - openrouter  OpenRouter: no key in $OPENROUTER_API_KEY, kept keys
    - deepseek    DeepSeek: no key in $DEEPSEEK_API_KEY, kept keys
    - qwen        Qwen (DashScope): no key in $DASHSCOPE_API_KEY, $QWEN_API_KEY, kept keys
    - groq        Groq: no key in $GROQ_API_KEY, kept keys
    - mistral     Mistral: no key in $MISTRAL_API_KEY, kept keys
    + ollama      Ollama: runs
    - lmstudio    LM Studio: nothing answers there
    - llamacpp    llama.cpp server: nothing answers there
    - vllm        vLLM: nothing answers there
    - local       Built-in engine (llama.cpp): not installed, and downloads are forbidden (CHARLA_OFFLINE is set)
    - broken      broken: the provider `broken` has no address: set `providers.broken.baseUrl`
    + own         own: needs no key
    + ready, - not. Use one with -m provider/model; any other model of a provider works, too.
    ");
    assert!(run.out.contains("qwen3:4b"), "{}", run.out);
    assert!(!run.out.contains("key-secret-1"));

    let run = place.run(&["models", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let ollama = document["providers"].as_array().unwrap().iter().find(|row| row["provider"] == "ollama");
    assert_eq!(ollama.unwrap()["models"][0], "qwen3:4b");
}

#[test]
fn a_key_is_kept_used_and_removed() {
    let server = server(Script::always(Reply::new().text("yes")).with_key("key-kept-1"));
    let place = Place::new().variable("GOOGLE_GEMINI_BASE_URL", &server.url());
    let run = place.run_with_input(&["auth", "set", "gemini"], "key-kept-1\n");
    assert_eq!((run.code, run.out.as_str()), (Some(0), ""), "{}", run.err);
    assert_eq!(run.err, "kept the key of gemini in ~/home/.charla/keys.json\n");
    let run = place.run(&["-p", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "yes\n"), "{}", run.err);
    assert_eq!(place.run(&["auth", "remove", "gemini"]).code, Some(0));
    assert_eq!(place.run(&["-p", "hi"]).code, Some(41));
    let run = place.run_with_input(&["auth", "set", "gemni"], "x");
    assert_eq!(run.code, Some(42));
    assert!(run.err.contains("did you mean `gemini`?"), "{}", run.err);
}

#[test]
fn a_key_typed_at_a_terminal_is_kept_and_not_shown() {
    let place = Place::new();
    let run = place.run_on_terminal(&["auth", "set", "gemini"], &[("(not shown): ", "key-typed-1\n")]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(!run.out.contains("key-typed-1"), "{}", run.out);
    let kept = std::fs::read_to_string(place.path().join("home/.charla/keys.json")).unwrap();
    assert!(kept.contains("key-typed-1"), "{kept}");
}

#[test]
fn an_engine_of_ones_own_takes_the_place_of_ours() {
    let place = Place::new();
    assert!(place.run(&["models", "list"]).out.contains("  not installed\n"));
    let own = place.path().join("bin/llama-server");
    std::fs::create_dir(own.parent().unwrap()).unwrap();
    std::fs::write(&own, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", own.parent().unwrap().display());
    let listed = place.variable("PATH", &path).run(&["models", "list"]).out;
    let rows: Vec<&str> = listed.lines().collect();
    assert!(rows[0].ends_with("not installed") && rows[1].ends_with("not installed, nor needed"), "{listed}");
    assert!(rows[2].starts_with("llama-server  "), "{listed}");
}

#[test]
fn the_built_in_model_is_not_downloaded_when_that_is_forbidden() {
    let place = Place::new();
    let run = place.run(&["models", "list"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.starts_with("local/smollm2-135m  not installed\n"), "{}", run.out);
    for arguments in [&["models", "pull"] as &[&str], &["-m", "local", "-p", "hi"]] {
        let run = place.run(arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(41), ""), "{}", run.err);
        let first = run.err.lines().next().unwrap();
        assert_eq!(
            first,
            "error: the built-in model is not installed, and downloads are forbidden (CHARLA_OFFLINE is set)"
        );
        assert!(run.err.contains("export a key"), "{}", run.err);
    }
    let run = place.run(&["models", "rm"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), "nothing is installed, so nothing was removed\n"));
    let place = Place::new().variable("CHARLA_OFFLINE", "0").settings(r#"{"local": {"download": false}}"#);
    let run = place.run(&["models", "pull"]);
    assert!(run.err.contains("`local.download` is false"), "{}", run.err);
}

#[test]
fn a_local_model_is_the_built_in_one_or_a_model_file() {
    let place = Place::new();
    let run = place.run(&["-m", "local/qwen3", "-p", "hi"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("-m local/PATH.gguf"), "{}", run.err);
    std::fs::write(place.path().join("work/notes.gguf"), "no model").unwrap();
    for (name, reason) in [("local/notes.gguf", "it is no GGUF file"), ("local/none.gguf", "No such file")] {
        let run = place.run(&["-m", name, "-p", "hi"]);
        assert_eq!(run.code, Some(42), "{}", run.err);
        assert!(run.err.contains(reason), "{}", run.err);
    }
}

#[test]
fn what_is_given_wrongly_is_refused_with_advice() {
    let place = Place::new().variable("OPENAI_API_KEY", "key-openai-1");
    std::fs::write(place.path().join("work/cut.json"), "{").unwrap();
    let rows: [(&[&str], &str); 10] = [
        (&["--max-cost", "abc", "-p", "x"], "it is an amount of US dollars"),
        (&["--output-schema", "cut.json", "-p", "x"], "hint: a schema is an object such as"),
        (&["extensions", "instal"], "hint: did you mean `install`?"),
        (&["--temperature", "9", "-p", "x"], "it must be from 0 to 2"),
        (&["--temperature", "nan", "-p", "x"], "it must be from 0 to 2"),
        (&["-m", "openai/no-such", "--max-cost", "1", "-p", "x"], "--max-tokens N"),
        (&["--output-schema", "none.json", "-p", "x"], "hint: it is the path of a JSON Schema"),
        (&["--attach", "none.png", "-p", "x"], "hint: a path is taken from the current folder on"),
        (&["mcp", "remove", "none"], "hint: `charla mcp list`"),
        (&["mcp", "test", "none"], "hint: `charla mcp list`"),
    ];
    for (arguments, said) in rows {
        let run = place.run(arguments);
        assert!(matches!(run.code, Some(42 | 52)), "{arguments:?}: {:?} {}", run.code, run.err);
        assert!(run.err.contains(said) && run.out.is_empty(), "{arguments:?}: {}", run.err);
    }
}
