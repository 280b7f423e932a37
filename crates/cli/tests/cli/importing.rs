//! `charla import`: what other agents left is taken once, told, and never at the cost of what is there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use charla_testkit::{Reply, Script};

use crate::place::{Place, server};

const SECRET: &str = "sk-do-not-tell-0123456789";

/// Where the person lives; ours is a folder in it.
fn home_of(place: &Place) -> PathBuf {
    place.home().parent().unwrap().to_owned()
}

fn write(home: &Path, name: &str, text: &str) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A home in which five agents have lived.
fn lived_in() -> Place {
    let place = Place::new();
    let home = home_of(&place);
    let github =
        json!({"command": "npx", "args": ["-y", "gh"], "env": {"GITHUB_TOKEN": SECRET, "MODE": "x"}});
    let claude = json!({
        "mcpServers": {
            "github": github,
            "docs": {"type": "http", "url": "https://docs.example.com/mcp", "headers": {"Authorization": format!("Bearer {SECRET}")}},
            "broken": 7,
            "nothing": {},
        },
        "projects": {"/p": {"mcpServers": {"local": {"command": "x"}}}},
        "primaryApiKey": SECRET,
    });
    write(&home, ".claude.json", &claude.to_string());
    write(&home, ".claude/CLAUDE.md", "Be brief.");
    write(&home, ".claude/settings.json", "{\"model\": \"opus\"}");
    let review = "---\ndescription: \"Review it\"\nallowed-tools: Bash(git:*)\n---\nReview $ARGUMENTS with !`git diff` at hand, as @docs/rules.md, and ask @ben.\n";
    write(&home, ".claude/commands/git/review.md", review);
    write(&home, ".claude/commands/numbered.md", "Say $1.");
    let codex = "model = \"gpt-5\"\n[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\ntool_timeout_sec = 2.5\n";
    write(&home, ".codex/config.toml", codex);
    write(&home, ".codex/AGENTS.md", "Tests first.");
    write(&home, ".codex/auth.json", &json!({"OPENAI_API_KEY": SECRET}).to_string());
    let qwen = "// a comment\n{\"mcpServers\": {\"off\": {\"command\": \"x\", \"disabled\": true}, \"github\": {\"command\": \"y\"}}}";
    write(&home, ".qwen/settings.json", qwen);
    write(
        &home,
        ".qwen/.env",
        &format!("OPENAI_API_KEY={SECRET}\nOPENAI_BASE_URL=https://llm.example.com/v1\n"),
    );
    write(&home, ".qwen/commands/hello.toml", "prompt = \"Say hello\"\n");
    let opencode = json!({"mcp": {"far": {"type": "remote", "url": "https://far.example.com"}, "near": {"type": "local", "command": ["near", "-x"]}}});
    write(&home, ".config/opencode/opencode.json", &opencode.to_string());
    write(&home, ".gemini/settings.json", "{}");
    place
}

fn settings(place: &Place) -> String {
    fs::read_to_string(home_of(place).join(".charla/settings.json")).unwrap_or_default()
}

#[test]
fn what_others_left_is_taken_once_and_everything_is_told() {
    let place = lived_in();
    let would = place.run(&["import", "--dry-run"]);
    assert_eq!((would.code, settings(&place)), (Some(0), String::new()), "{}", would.err);
    assert!(would.out.contains("would take  claude: MCP server github"), "{}", would.out);
    let run = place.run(&["import"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.out.replace("took  ", "would take  "), would.out);
    for taken in [
        "took  claude: MCP server github → ~/.charla/settings.json",
        "took  claude: instructions in ~/.claude/CLAUDE.md",
        "took  claude: command git/review",
        "took  codex: MCP server time",
        "took  codex: instructions in ~/.codex/AGENTS.md",
        "took  qwen: command hello",
        "took  opencode: MCP server near → ~/.charla/settings.json; there is no program `near` yet",
        "left  claude: MCP server broken (it is no object)",
        "left  claude: MCP server local (it is for /p alone",
        "left  claude: command numbered (it takes numbered arguments",
        "left  claude: the value of GITHUB_TOKEN for the MCP server github (it looks like a secret",
        "left  claude: key for anthropic (keys are taken with --keys)",
        "left  claude: `allowed-tools` of the command git/review (",
        "left  claude: the value of Authorization for the MCP server docs (it looks like a secret: set the variable DOCS_AUTHORIZATION",
        "left  qwen: OPENAI_API_KEY in ~/.qwen/.env (it is for the server of OPENAI_BASE_URL",
        "left  codex: setting model (gpt-5) (there is no key for openai, which it would need)",
        "left  claude: setting model (it has no counterpart that means the same here)",
        "left  qwen: MCP server off (it is switched off)",
        "left  qwen: MCP server github (you have a server of this name already)",
        "left  gemini: ~/.gemini/settings.json (Charla reads it where it is)",
    ] {
        assert!(run.out.contains(taken), "{taken} is missing in\n{}", run.out);
    }
    let settings = settings(&place);
    for part in [
        "\"github\"",
        "\"$GITHUB_TOKEN\"",
        "\"MODE\"",
        "\"Bearer ${DOCS_AUTHORIZATION}\"",
        "\"httpUrl\"",
        "2500",
        "\"near\"",
    ] {
        assert!(settings.contains(part), "{part}: {settings}");
    }
    let all = format!("{}{}{}{settings}", would.out, run.out, run.err);
    assert!(!all.contains(SECRET), "{all}");
    let command = fs::read_to_string(home_of(&place).join(".charla/commands/git/review.toml")).unwrap();
    assert!(command.contains("{{args}}") && command.contains("!{git diff}"), "{command}");
    assert!(command.contains("@{docs/rules.md}, and ask @ben."), "{command}");
    let place = place.variable("OPENAI_API_KEY", "key-openai-1");
    let told = place.run(&["prompt", "show", "-m", "openai/gpt-test"]).out;
    assert!(told.contains("Be brief.") && told.contains("Tests first."), "{told}");

    // There is a key for the model by now.
    let again = place.run(&["import"]);
    assert!(again.out.contains("took  codex: setting model (gpt-5)"), "{}", again.out);
    assert_eq!(again.out.matches("took").count(), 1, "{}", again.out);
    let again = place.run(&["import"]);
    assert!(!again.out.contains("took") && again.err.contains("nothing was taken"), "{}", again.out);
}

#[test]
fn a_command_with_another_name_here_is_told_and_so_is_an_empty_home() {
    let place = Place::new();
    let run = place.run(&["import"]);
    assert!(
        run.err.contains("nothing was taken: your home folder has nothing of Gemini CLI, Claude Code"),
        "{}",
        run.err
    );
    write(&home_of(&place), ".claude/commands/help.md", "Help me.");
    let run = place.run(&["import"]);
    assert!(run.out.contains("commands/help.toml, which is /user.help\n"), "{}", run.out);
}

#[test]
fn keys_come_on_demand_and_are_told_to_nobody() {
    let place = lived_in();
    let run = place.run(&["import", "--keys"]);
    assert!(run.out.contains("took  codex: key for openai"), "{}", run.out);
    assert!(!format!("{}{}", run.out, run.err).contains(SECRET), "{}", run.out);
    let keys = fs::read_to_string(home_of(&place).join(".charla/keys.json")).unwrap();
    assert!(keys.contains("openai") && keys.contains("anthropic") && keys.contains(SECRET));
    assert!(settings(&place).contains(SECRET));
    let again = place.run(&["import", "--keys"]);
    assert!(!again.out.contains("took"), "{}", again.out);
    // What is there already is not told to be missing.
    let plain = place.run(&["import"]);
    assert!(!plain.out.contains("it looks like a secret"), "{}", plain.out);
}

#[test]
fn secrets_in_arguments_and_addresses_are_keys_too() {
    let place = Place::new();
    let servers = json!({
        "words": {"command": "npx", "args": ["-y", "x", "--api-key", SECRET]},
        "there": {"type": "http", "url": format!("https://me:{SECRET}@h.example.com/mcp?token={SECRET}")},
    });
    write(&home_of(&place), ".claude.json", &json!({ "mcpServers": servers }).to_string());
    let run = place.run(&["import"]);
    let all = format!("{}{}{}", run.out, run.err, settings(&place));
    assert!(!all.contains(SECRET), "{all}");
    for variable in ["WORDS_API_KEY", "THERE_PASSWORD", "THERE_TOKEN"] {
        assert!(run.out.contains(&format!("set the variable {variable}")), "{}", run.out);
        assert!(settings(&place).contains(&format!("${{{variable}}}")), "{}", settings(&place));
    }
    let run = place.run(&["import", "--keys"]);
    assert!(run.out.contains("took  claude: MCP server words"), "{}", run.out);
    assert!(
        settings(&place).contains(&format!("token={SECRET}")) && !run.out.contains(SECRET),
        "{}",
        run.out
    );
    assert!(!place.run(&["import"]).out.contains("it looks like a secret"));
}

#[test]
fn words_of_a_command_do_not_become_commands_or_files() {
    let place = Place::new();
    for (name, text) in [
        ("runs", "Explain !{touch made} to $ARGUMENTS."),
        ("reads", "What does @{/etc/passwd} mean?"),
        ("fills", "Write a template with {{args}} in it."),
        ("huge", &"long ".repeat(300_000)),
    ] {
        write(&home_of(&place), &format!(".claude/commands/{name}.md"), text);
    }
    let run = place.run(&["import"]);
    for name in ["runs", "reads", "fills"] {
        let told =
            format!("left  claude: command {name} (it has `!{{`, `@{{` or `{{{{args}}}}` among its words");
        assert!(run.out.contains(&told), "{}", run.out);
    }
    assert!(run.out.contains("left  claude: command huge (it is too long for a command)"), "{}", run.out);
    assert!(!home_of(&place).join(".charla/commands").exists());
}

#[test]
fn keys_that_come_later_are_put_where_references_stand_that_nobody_changed() {
    let place = lived_in();
    place.run(&["import"]);
    let mine = settings(&place).replace("\"npx\"", "\"bunx\"");
    write(&home_of(&place), ".charla/settings.json", &mine);
    let run = place.run(&["import", "--keys"]);
    assert!(run.out.contains("took  claude: MCP server docs"), "{}", run.out);
    assert!(run.out.contains("left  claude: MCP server github"), "{}", run.out);
    let settings = settings(&place);
    assert!(settings.contains(&format!("Bearer {SECRET}")), "{settings}");
    assert!(settings.contains("\"$GITHUB_TOKEN\"") && settings.contains("\"bunx\""), "{settings}");
}

/// A file, its text, whose it is, what is said of it, and the model and mode that hold then.
type Row =
    (&'static str, &'static str, &'static str, &'static [&'static str], Option<(&'static str, &'static str)>);

#[test]
fn the_model_and_the_mode_come_along_where_they_mean_the_same_and_can_answer() {
    let rows: [Row; 11] = [
        (
            ".codex/config.toml",
            "model = \"gpt-5\"\napproval_policy = \"untrusted\"\nmodel_reasoning_effort = \"high\"\n",
            "codex",
            &[
                "took  codex: setting model (gpt-5)",
                "took  codex: setting approval_policy (default)",
                "left  codex: setting model_reasoning_effort",
            ],
            Some(("openai/gpt-5", "default")),
        ),
        (
            ".codex/config.toml",
            "model = \"x\"\nmodel_provider = \"mine\"\napproval_policy = \"never\"\n",
            "codex",
            &[
                "left  codex: setting model (it has",
                "left  codex: setting model_provider",
                "left  codex: setting approval_policy (what asks nobody",
            ],
            None,
        ),
        (
            ".claude/settings.json",
            r#"{"model": "claude-opus-4-1", "permissions": {"defaultMode": "acceptEdits", "allow": ["Bash"]}}"#,
            "claude",
            &[
                "took  claude: setting model (claude-opus-4-1)",
                "took  claude: setting permissions.defaultMode (auto_edit)",
                "left  claude: setting permissions.allow",
            ],
            Some(("anthropic/claude-opus-4-1", "auto_edit")),
        ),
        (
            ".claude/settings.json",
            r#"{"permissions": {"defaultMode": "acceptEdits", "deny": ["Read(.env)"]}, "hooks": {"PreToolUse": []}}"#,
            "claude",
            &[
                "left  claude: setting permissions.defaultMode (auto_edit) (it asks less, and what guarded it",
                "left  claude: setting permissions.deny (rules are written in another form here",
                "left  claude: setting hooks (hooks are written in another form here",
                "warning: what guarded you there does not hold here: setting permissions.deny of claude, setting hooks of claude",
            ],
            None,
        ),
        (
            ".qwen/settings.json",
            r#"{"tools": {"approvalMode": "auto-edit", "exclude": ["run_shell_command"]}}"#,
            "qwen",
            &[
                "left  qwen: setting tools.approvalMode (auto_edit) (it asks less",
                "left  qwen: setting tools.exclude (rules are written in another form here",
            ],
            None,
        ),
        (
            ".claude/settings.json",
            r#"{"model": "opus", "permissions": {"defaultMode": "bypassPermissions"}}"#,
            "claude",
            &[
                "left  claude: setting model (it has",
                "left  claude: setting permissions.defaultMode (what asks nobody",
            ],
            None,
        ),
        (
            ".qwen/settings.json",
            r#"{"model": {"name": "qwen3-coder-plus", "skipLoopDetection": true}, "tools": {"approvalMode": "plan"}}"#,
            "qwen",
            &[
                "took  qwen: setting model.name (qwen3-coder-plus)",
                "took  qwen: setting tools.approvalMode (plan)",
                "left  qwen: setting model.skipLoopDetection",
            ],
            Some(("qwen/qwen3-coder-plus", "plan")),
        ),
        (
            ".qwen/settings.json",
            r#"{"model": {"name": "gpt-4o"}, "tools": {"approvalMode": "yolo"}}"#,
            "qwen",
            &[
                "left  qwen: setting model.name (it has",
                "left  qwen: setting tools.approvalMode (what asks nobody",
            ],
            None,
        ),
        (
            ".config/opencode/opencode.json",
            r#"{"model": "google/gemini-2.5-pro", "theme": "x"}"#,
            "opencode",
            &["took  opencode: setting model (gemini-2.5-pro)", "left  opencode: setting theme"],
            Some(("gemini/gemini-2.5-pro", "")),
        ),
        (
            ".config/opencode/opencode.json",
            r#"{"model": "elsewhere/model"}"#,
            "opencode",
            &["left  opencode: setting model (it has"],
            None,
        ),
        (
            ".config/opencode/opencode.json",
            r#"{"model": 7}"#,
            "opencode",
            &["left  opencode: setting model (it has"],
            None,
        ),
    ];
    for (file, text, program, told, set) in rows {
        let place = ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY"]
            .into_iter()
            .fold(Place::new(), |place, name| place.variable(name, "key-1"));
        write(&home_of(&place), file, text);
        let would = place.run(&["import", "--dry-run", "--from", program]);
        assert_eq!(settings(&place), "", "{text}");
        let run = place.run(&["import", "--from", program]);
        assert_eq!(run.out.replace("took  ", "would take  "), would.out, "{text}");
        for told in told {
            let all = format!("{}{}", run.out, run.err);
            assert!(all.contains(told), "{told} is missing in\n{all}");
        }
        let ours: Value = serde_json::from_str(&settings(&place)).unwrap_or_default();
        let (model, mode) = set.unwrap_or_default();
        assert_eq!(ours["model"]["name"].as_str().unwrap_or_default(), model, "{text}");
        assert_eq!(ours["tools"]["approvalMode"].as_str().unwrap_or_default(), mode, "{text}");
        assert!(!place.run(&["import", "--from", program]).out.contains("took"), "{text}");
    }
    // What is set stays, and a key that comes along opens its model.
    let place = Place::new();
    write(&home_of(&place), ".charla/settings.json", r#"{"tools": {"approvalMode": "plan"}}"#);
    write(&home_of(&place), ".codex/config.toml", "model = \"gpt-5\"\napproval_policy = \"untrusted\"\n");
    write(&home_of(&place), ".codex/auth.json", &json!({"OPENAI_API_KEY": SECRET}).to_string());
    assert!(place.run(&["import"]).out.contains("there is no key for openai"));
    let run = place.run(&["import", "--keys"]);
    assert!(run.out.contains("took  codex: setting model (gpt-5)"), "{}", run.out);
    assert!(run.out.contains("you have `tools.approvalMode` already"), "{}", run.out);
}

#[test]
fn what_is_there_stays_as_it_is() {
    let place = lived_in();
    let home = home_of(&place);
    let mine = "{\n  // mine\n  \"mcpServers\": {\"github\": {\"command\": \"mine\"}}\n}\n";
    write(&home, ".charla/settings.json", mine);
    write(&home, ".charla/CHARLA.md", "My own.");
    write(&home, ".charla/commands/hello.toml", "prompt = \"Mine\"\n");
    let run = place.run(&["import", "--from", "claude", "--from", "qwen"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(!run.out.contains("codex:"), "{}", run.out);
    let settings = settings(&place);
    assert!(settings.contains("// mine") && settings.contains("\"command\": \"mine\""), "{settings}");
    let memory = fs::read_to_string(home.join(".charla/CHARLA.md")).unwrap();
    assert_eq!(memory, "My own.\n@~/.claude/CLAUDE.md\n");
    assert_eq!(fs::read_to_string(home.join(".charla/commands/hello.toml")).unwrap(), "prompt = \"Mine\"\n");
    assert!(run.out.contains("you have another command of this name"), "{}", run.out);
}

#[test]
fn files_of_odd_shapes_are_told_of_and_hurt_nobody() {
    let shapes = [
        "",
        "{",
        "[]",
        "7",
        "null",
        "{\"mcpServers\": []}",
        "{\"mcpServers\": {\"a\": {\"command\": {}}}}",
        "\u{0}",
    ];
    let names = [
        ".claude.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".codex/auth.json",
        ".qwen/settings.json",
        ".qwen/commands/x.toml",
        ".claude/commands/x.md",
        ".config/opencode/opencode.json",
        ".local/share/opencode/auth.json",
    ];
    for shape in shapes {
        let place = Place::new();
        names.iter().for_each(|name| write(&home_of(&place), name, shape));
        fs::write(home_of(&place).join(".qwen/.env"), [0xff, 0xfe]).unwrap();
        fs::create_dir_all(home_of(&place).join(".codex/prompts/x.md")).unwrap();
        let run = place.run(&["import", "--keys"]);
        assert_eq!(run.code, Some(0), "{shape:?}: {}", run.err);
        assert!(!run.err.contains("panicked"), "{shape:?}: {}", run.err);
    }
}

#[test]
fn an_old_conversation_of_gemini_cli_is_gone_on_with() {
    let model = server(Script::always(Reply::new().text("Understood.")));
    let place = Place::with_server(&model);
    let called = json!({
        "id": "x", "name": "read_file", "args": {"file_path": "a.txt"}, "status": "success",
        "result": [{"functionResponse": {"id": "x", "name": "read_file", "response": {"output": "forty-two"}}}],
    });
    let id = "0b5bca2e-6f0c-4c2e-9d1a-4f4cf4b4a111";
    let conversation = json!({
        "sessionId": id, "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "lastUpdated": "2026-01-01T00:00:00Z",
        "messages": [
            {"id": "1", "type": "info", "content": "Welcome"},
            {"id": "2", "type": "user", "content": [{"text": "What is in a.txt?"}]},
            {"id": "3", "type": "gemini", "content": "", "toolCalls": [called], "model": "gemini-test"},
            {"id": "4", "type": "gemini", "content": "It says forty-two.", "model": "gemini-test"},
        ],
    });
    write(&home_of(&place), ".gemini/tmp/slug/.project_root", &place.work().to_string_lossy());
    write(&home_of(&place), ".gemini/tmp/slug/chats/session-1.json", &conversation.to_string());
    write(&home_of(&place), ".gemini/tmp/slug/chats/session-2.json", "{\"messages\": [7]}");
    let run = place.run(&["import", "--from", "gemini", "--sessions"]);
    assert!(
        run.out.contains(&format!("took  gemini: conversation session-1 → charla --resume {id}")),
        "{}{}",
        run.out,
        run.err
    );
    assert!(run.out.contains("left  gemini: conversation session-2"), "{}", run.out);
    let again = place.run(&["import", "--from", "gemini", "--sessions"]);
    assert!(!again.out.contains("took"), "{}", again.out);
    let run = place.run(&["--resume", id, "-m", "openai/gpt-test", "-p", "And then?"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Understood.\n"), "{}", run.err);
    let told = model.requests()[0].body.to_string();
    for said in ["What is in a.txt?", "forty-two", "read_file", "And then?"] {
        assert!(told.contains(said), "{said}: {told}");
    }
}

#[test]
fn a_conversation_that_newer_versions_of_gemini_cli_log_is_gone_on_with_as_it_stood() {
    let model = server(Script::always(Reply::new().text("Understood.")));
    let place = Place::with_server(&model);
    let id = "0b5bca2e-6f0c-4c2e-9d1a-4f4cf4b4a444";
    let about = |id: &str, kind: &str| json!({"sessionId": id, "projectHash": "h", "startTime": "2026-01-01T00:00:00Z", "kind": kind});
    let user = |id: &str, words: &str| json!({"id": id, "type": "user", "content": [{"text": words}]});
    let asks = json!([{"text": "a hidden thought", "thought": true}, {"functionCall": {"id": "x", "name": "read_file", "args": {"file_path": "a.txt"}}}]);
    let gave =
        json!([{"functionResponse": {"id": "x", "name": "read_file", "response": {"output": "forty-two"}}}]);
    let answer = |words: &str, calls: Value| json!({"id": "g", "type": "gemini", "content": words, "model": "gemini-test", "toolCalls": calls});
    let called = |status: &str| json!([{"id": "y", "name": "list_directory", "args": {}, "status": status, "result": [{"functionResponse": {"id": "y", "response": {"output": "b.txt"}}}]}]);
    let lines = [
        about(id, "main"),
        user("old", "a long story that was compressed"),
        json!({"$set": {"lastUpdated": "2026-01-01T00:00:01Z"}}),
        json!({"$set": {"messages": [
            user("s", "<session_context>\nlinux, a hidden folder\n</session_context>"),
            user("z", "the summary of it"),
            {"id": "c", "type": "gemini", "content": asks},
            {"id": "r", "type": "user", "content": gave},
        ]}}),
        user("q", "What else is there?"),
        answer("", called("executing")),
        answer("There is b.txt.", called("success")),
        user("w", "a prompt that was taken back"),
        json!({"id": "v", "type": "gemini", "content": "and its answer"}),
        json!({"$rewindTo": "w"}),
        user("l", "the last word"),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let torn = format!("{}\n{{\"id\": \"t\", \"type\": \"user\", \"content\": \"torn", lines.join("\n"));
    let chats = ".gemini/tmp/slug/chats";
    write(&home_of(&place), ".gemini/tmp/slug/.project_root", &place.work().to_string_lossy());
    write(&home_of(&place), &format!("{chats}/session-1.jsonl"), &torn);
    // What an older version wrote of it before, and what an agent of its did.
    write(&home_of(&place), &format!("{chats}/session-1.json"), "{\"sessionId\": \"x\", \"messages\": []}");
    let agent = [about("0b5bca2e-6f0c-4c2e-9d1a-4f4cf4b4a555", "subagent"), user("a", "for an agent")];
    let agent: Vec<String> = agent.iter().map(Value::to_string).collect();
    write(&home_of(&place), &format!("{chats}/{id}/agent.jsonl"), &agent.join("\n"));
    write(&home_of(&place), &format!("{chats}/session-2.jsonl"), "garbage\n7\n{}\n");
    let run = place.run(&["import", "--from", "gemini", "--sessions"]);
    let took = format!("took  gemini: conversation session-1 → charla --resume {id}");
    assert!(run.out.contains(&took) && run.out.matches("took").count() == 1, "{}{}", run.out, run.err);
    for left in ["left  gemini: 2 lines of conversation session-2", "left  gemini: conversation session-2"] {
        assert!(run.out.contains(left), "{}", run.out);
    }
    assert_eq!(run.out.matches("left  gemini: ").count(), 2, "{}", run.out);
    let run = place.run(&["--resume", id, "-m", "openai/gpt-test", "-p", "And then?"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Understood.\n"), "{}", run.err);
    let told = model.requests()[0].body.to_string();
    let all = [
        "the summary of it",
        "forty-two",
        "What else is there?",
        "There is b.txt.",
        "the last word",
        "And then?",
    ];
    for said in all {
        assert_eq!(told.matches(said).count(), 1, "{said}: {told}");
    }
    for gone in ["hidden", "compressed", "taken back", "and its answer", "torn", "for an agent"] {
        assert!(!told.contains(gone), "{gone}: {told}");
    }
    assert!(model.problems().is_empty(), "{:?}", model.problems());
}

#[test]
fn old_conversations_are_listed_by_their_age_and_gone_on_with_by_their_number() {
    let model = server(Script::always(Reply::new().text("Understood.")));
    let place = Place::with_server(&model);
    let run = place.run(&["-m", "openai/gpt-test", "-p", "one of ours"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    // The ids are in another order than the conversations.
    let held = [("fb5bca2e", "2025-03-01", "the oldest"), ("0b5bca2e", "2025-05-01", "the next")];
    for (id, day, words) in held {
        let conversation = json!({
            "sessionId": format!("{id}-6f0c-4c2e-9d1a-4f4cf4b4a111"), "startTime": format!("{day}T10:00:00.000Z"),
            "messages": [
                {"type": "user", "timestamp": format!("{day}T10:00:01.000Z"), "content": words},
                {"type": "gemini", "timestamp": format!("{day}T10:00:02.500Z"), "content": "Yes.", "model": "gemini-test"},
            ],
        });
        write(&home_of(&place), &format!(".gemini/tmp/slug/chats/{id}.json"), &conversation.to_string());
    }
    write(&home_of(&place), ".gemini/tmp/slug/.project_root", &place.work().to_string_lossy());
    assert_eq!(place.run(&["import", "--from", "gemini", "--sessions"]).code, Some(0));
    let listed = place.run(&["sessions", "list"]).out;
    let rows: Vec<&str> = listed.lines().collect();
    let is_row =
        |row: &str, number: &str, words: &str| row.contains(&format!(" *{number} ")) && row.ends_with(words);
    assert_eq!(rows.len(), 3, "{listed}");
    assert!(is_row(rows[0], "3", "one of ours") && rows[0].contains(" s "), "{listed}");
    assert!(is_row(rows[1], "2", "the next") && rows[1].contains(" d "), "{listed}");
    assert!(is_row(rows[2], "1", "the oldest") && rows[2].contains(" d "), "{listed}");
    for (number, words) in [("1", "the oldest"), ("2", "the next"), ("latest", "the next")] {
        let run = place.run(&["--resume", number, "-m", "openai/gpt-test", "-p", "And then?"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(model.requests().last().unwrap().body.to_string().contains(words), "{number}");
    }
}

#[test]
fn an_old_conversation_of_claude_code_is_gone_on_with() {
    let model = server(Script::always(Reply::new().text("Understood.")));
    let place = Place::with_server(&model);
    let id = "0b5bca2e-6f0c-4c2e-9d1a-4f4cf4b4a222";
    let cwd = place.work().to_string_lossy().into_owned();
    let line = |kind: &str, message: Value, more: Value| {
        let mut line = json!({"type": kind, "sessionId": id, "cwd": cwd, "message": message});
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let said = |message: &str, block: Value| {
        let message = json!({"id": message, "role": "assistant", "model": "claude-test", "content": [block]});
        line("assistant", message, json!({}))
    };
    let user = |content: Value| line("user", json!({"role": "user", "content": content}), json!({}));
    let call = |id: &str, file: &str| json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": file}});
    let result = |id: &str, text: &str, failed: bool| {
        user(
            json!([{"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}], "is_error": failed}]),
        )
    };
    let hidden = json!({"role": "user", "content": "hidden caveat"});
    let lines = [
        json!({"type": "summary", "summary": "s"}).to_string(),
        line("user", hidden.clone(), json!({"isMeta": true})),
        user(json!("<command-name>/model</command-name>")),
        user(json!("What is in a.txt and b.txt?")),
        said("m1", json!({"type": "thinking", "thinking": "hidden thought", "signature": "s"})),
        said("m1", json!({"type": "text", "text": "I look."})),
        said("m1", call("t1", "a.txt")),
        result("t1", "forty-two", false),
        said("m1", call("t2", "b.txt")),
        result("t2", "no such file", true),
        line("user", hidden, json!({"isSidechain": true})),
        "{ no json".to_owned(),
        said("m2", json!({"type": "text", "text": "It says forty-two."})),
        user(json!([{"type": "text", "text": "Thanks."}])),
        said("m3", call("t3", "c.txt")),
    ];
    let slug: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = format!(".claude/projects/{slug}");
    write(&home_of(&place), &format!("{folder}/{id}.jsonl"), &lines.join("\n"));
    let elsewhere = user(json!("secret of another folder")).replace(&cwd, "/elsewhere");
    write(&home_of(&place), &format!("{folder}/0b5bca2e-6f0c-4c2e-9d1a-4f4cf4b4a333.jsonl"), &elsewhere);
    write(&home_of(&place), &format!("{folder}/empty.jsonl"), "7\n[]\n");
    let run = place.run(&["import", "--from", "claude", "--sessions"]);
    let took = format!("took  claude: conversation {id} → charla --resume {id}");
    assert!(run.out.contains(&took), "{}{}", run.out, run.err);
    assert_eq!(run.out.matches("left  claude: conversation").count(), 2, "{}", run.out);
    assert!(!place.run(&["import", "--from", "claude", "--sessions"]).out.contains("took"));
    let run = place.run(&["--resume", id, "-m", "openai/gpt-test", "-p", "And then?"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Understood.\n"), "{}", run.err);
    let told = model.requests()[0].body.to_string();
    let all = [
        "What is in a.txt",
        "I look.",
        "forty-two",
        "no such file",
        "Thanks.",
        "(there is no result)",
        "And then?",
    ];
    for said in all {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(!told.contains("hidden") && !told.contains("command-name"), "{told}");
    assert!(model.problems().is_empty(), "{:?}", model.problems());
}
