//! Commands in a prompt of the command line: those that users write, and prompts of MCP servers.

use serde_json::json;

use super::{Stage, say};
use crate::place::Run;

/// A place with this command in the user's folder for Gemini CLI.
fn with_command(name: &str, prompt: &str) -> Stage {
    let stage = Stage::plain().file("rules.md", "Be brief.");
    let folder = stage.place.path().join("gemini-home/.gemini/commands");
    let file = folder.join(format!("{name}.toml"));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, format!("description = \"d\"\nprompt = '''{prompt}'''\n")).unwrap();
    stage
}

/// What the model is told by a run that must succeed.
fn told(stage: &Stage, arguments: &[&str]) -> String {
    let run = stage.run(&[say("Done.")], arguments);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{}", run.err);
    stage.events("api_request").pop().unwrap()["request_text"].as_str().unwrap().to_owned()
}

/// A run that asks no model.
fn refused(stage: &Stage, arguments: &[&str]) -> Run {
    let before = stage.events("api_request").len();
    let run = stage.run(&[say("never")], arguments);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert_eq!(stage.events("api_request").len(), before);
    run
}

#[test]
fn a_command_is_filled_with_words_files_and_output() {
    let stage = with_command("git/review", "Review {{args}} by @{rules.md}: !{echo got {{args}}}");
    let request = told(&stage, &["-p", "/git:review the $HOME diff"]);
    assert!(request.contains("Review the $HOME diff by rules.md: got the $HOME diff"), "{request}");
    assert!(request.contains("Be brief.") && !request.contains("/git:review"), "{request}");
}

#[test]
fn words_behind_a_command_without_a_place_stand_at_its_end() {
    let stage = with_command("sum", "Sum up.");
    assert!(told(&stage, &["/sum", "all", "of", "it"]).contains(r"Sum up.\n\n/sum all of it"));
    // What is no command is words, as in Gemini CLI.
    assert!(told(&stage, &["-p", "/etc/hosts is a file"]).contains("/etc/hosts is a file"));
    assert!(told(&stage, &["-p", "/tools is a folder here"]).contains("/tools is a folder here"));
    for (words, instead) in [
        ("/undo", "`charla undo`"),
        ("/help", "`charla --help`"),
        ("/model gpt-5", "`-m PROVIDER/MODEL`"),
        ("/theme", "`charla` without a prompt"),
    ] {
        let run = refused(&stage, &["-p", words]);
        assert!(run.err.contains("is a command of the terminal") && run.err.contains(instead), "{}", run.err);
    }
    // What is piped stands before it.
    let run = stage.run_with_input(&[say("Done.")], &["-p", "/sum"], "1 2 3");
    assert_eq!(run.code, Some(0), "{}", run.err);
    let request = stage.events("api_request").pop().unwrap()["request_text"].to_string();
    assert!(request.contains("1 2 3") && request.find("1 2 3") < request.find("Sum up."), "{request}");
}

#[test]
fn output_stands_in_a_prompt_as_it_is() {
    let stage = with_command("echo", "Say: !{printf '%s' '!{touch made} @{rules.md}'}");
    let request = told(&stage, &["-p", "/echo"]);
    assert!(request.contains("!{touch made} @{rules.md}") && !request.contains("Be brief."), "{request}");
    assert_eq!(stage.place.read("made"), None);
}

#[test]
fn the_rules_decide_what_a_command_runs() {
    let stage = with_command("make", "Look: !{touch made && echo ok}");
    let run = refused(&stage, &["-p", "/make"]);
    assert!(run.err.contains("/make is not said: `touch made && echo ok` does not run"), "{}", run.err);
    refused(&stage, &["--approval-mode", "plan", "-p", "/make"]);
    refused(&stage, &["--allowed-tools", "run_shell_command(echo)", "-p", "/make"]);
    assert_eq!(stage.place.read("made"), None);
    let allowed = "run_shell_command(touch),run_shell_command(echo)";
    assert!(told(&stage, &["--allowed-tools", allowed, "-p", "/make"]).contains("Look: ok"));
    assert!(stage.place.read("made").is_some());
    std::fs::remove_file(stage.place.work().join("made")).unwrap();
    // What a rule denies stays denied, however much is allowed otherwise.
    let rules = "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'touch'\ndecision = 'deny'\n";
    std::fs::write(stage.place.work().join("rules.toml"), rules).unwrap();
    let run = refused(&stage, &["--yolo", "--policy", "rules.toml", "-p", "/make"]);
    assert!(run.err.contains("denied by policy"), "{}", run.err);
    assert_eq!(stage.place.read("made"), None);
    assert!(told(&stage, &["--yolo", "-p", "/make"]).contains("Look: ok"));
}

#[test]
fn what_is_typed_stays_in_the_quotes_of_its_place() {
    let stage = with_command("find", "Found: !{echo \"for {{args}}\" and '{{args}}'}");
    let request = told(&stage, &["-p", "/find \"; touch made; $(touch made) it's"]);
    assert!(request.contains("touch made; $(touch made) it's and"), "{request}");
    assert_eq!(stage.place.read("made"), None);
    let stage = with_command("here", "Found: !{cat <<EOF\n{{args}}\nEOF\n}");
    let run = refused(&stage, &["--yolo", "-p", "/here x"]);
    assert!(run.err.contains("/here has `{{args}}` in a place"), "{}", run.err);
}

#[test]
fn a_workspaces_command_needs_trust() {
    let stage = Stage::new(&json!({"security": {"folderTrust": {"enabled": true}}}));
    let folder = stage.place.work().join(".gemini/commands");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("evil.toml"), "prompt = 'Evil: !{echo ran > ran}'\n").unwrap();
    let run = refused(&stage, &["--yolo", "-p", "/evil"]);
    assert!(run.err.contains(".gemini/commands/evil.toml is left out"), "{}", run.err);
    assert_eq!(stage.place.read("ran"), None);
}

#[test]
fn a_command_that_cannot_be_used_is_no_prompt_and_its_file_is_named() {
    let stage = with_command("open", "Look: !{echo");
    let run = refused(&stage, &["-p", "/open x"]);
    assert!(run.err.contains("open.toml: the command /open has `!{echo`"), "{}", run.err);
    let broken = stage.place.path().join("gemini-home/.gemini/commands/bad.toml");
    std::fs::write(broken, "prompt = [").unwrap();
    let run = refused(&stage, &["-p", "/bad x"]);
    assert!(run.err.contains("bad.toml: the command /bad cannot be read"), "{}", run.err);
}

#[test]
fn prompts_of_servers_are_commands() {
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/servers/server.py");
    let notes = tempfile::tempdir().unwrap();
    let server = json!({"command": "python3", "args": [script, "plain", notes.path().join("notes")]});
    let stage = Stage::new(&json!({"mcpServers": {"s": server}}));
    for line in ["/greet Ann", "/s:greet --who=Ann"] {
        let request = told(&stage, &["-p", line]);
        assert!(request.contains("Greet Ann") && !request.contains("greet"), "{request}");
    }
    let run = refused(&stage, &["-p", "/greet"]);
    assert!(run.err.contains("`who` is missing: /greet --who=…"), "{}", run.err);
    assert!(!run.err.contains("--allowed-tools"), "{}", run.err);
    let run = refused(&stage, &["-p", "/greet --who=Ann --foo=y"]);
    assert!(run.err.contains("there is no `foo`: /greet takes --who=… --how=…"), "{}", run.err);
}
