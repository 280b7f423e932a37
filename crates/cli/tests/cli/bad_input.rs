//! Input and surroundings that are not as they should be: a clear message, the right exit code, no panic.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use charla_proto::WireKind;
use charla_testkit::{Reply, Script};
use serde_json::json;

use crate::place::{Place, Run, server};

/// A run that failed as it should: nothing on standard output, what happened on standard error.
fn assert_refused(run: &Run, code: i32, what: &str) {
    assert_eq!((run.code, run.out.as_str()), (Some(code), ""), "{what}: {}", run.err);
    assert!(run.err.starts_with("error: ") && !run.err.contains("panicked"), "{what}: {}", run.err);
    assert!(run.err.len() < 2000, "{what}: {} bytes of message", run.err.len());
}

/// Runs a line of shell in which `$CHARLA` is the binary, in the place's surroundings.
fn shell(place: &Place, line: &str) -> (Option<i32>, String, String) {
    let prepared = place.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", line]).env_clear().env("CHARLA", prepared.get_program());
    command.envs(prepared.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(prepared.get_current_dir().unwrap()).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn settings_that_are_no_settings_are_refused() {
    let garbage: [&[u8]; 14] = [
        b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe",
        b"\xff\xfe{\0}\0",
        b"null",
        b"[]",
        b"\"model\"",
        b"{",
        b"{\"model\": 5}",
        b"{\"model\": {\"name\": [\"a\"]}}",
        b"{\"model\": {}, \"model\": {}}",
        b"{\"retry\": {\"maxAttempts\": -1}}",
        b"{\"retry\": {\"maxAttempts\": 1e99}}",
        b"{\"network\": {\"idleTimeoutSeconds\": \"long\"}}",
        b"{\"network\": {\"proxy\": \"::::\"}}",
        b"{\"unheard\": {\"of\": 1}}",
    ];
    let server = server(Script::always(Reply::new().text("never")));
    for bytes in garbage {
        let place = Place::with_server(&server);
        std::fs::write(place.home().join("settings.json"), bytes).unwrap();
        let shown = String::from_utf8_lossy(bytes);
        assert_refused(&place.run(&["-p", "hi"]), 52, &shown);
    }
    let place = Place::with_server(&server).settings(&"[".repeat(100_000));
    assert_refused(&place.run(&["-p", "hi"]), 52, "nested arrays");
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn settings_that_cannot_be_read_are_refused() {
    let place = Place::new();
    let path = place.home().join("settings.json");
    std::fs::create_dir(&path).unwrap();
    let run = place.run(&["-p", "hi"]);
    assert_refused(&run, 52, "a directory");
    assert!(run.err.contains("cannot read ~/home/.charla/settings.json"), "{}", run.err);

    std::fs::remove_dir(&path).unwrap();
    std::os::unix::fs::symlink("settings.json", &path).unwrap();
    assert_refused(&place.run(&["-p", "hi"]), 52, "a link to itself");

    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "{}").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Nothing is unreadable to root.
    if std::fs::read(&path).is_err() {
        assert_refused(&place.run(&["-p", "hi"]), 52, "an unreadable file");
    }
}

#[test]
fn a_name_that_no_model_has_is_refused_without_being_repeated_at_length() {
    let server = server(Script::always(Reply::new().text("never")));
    let place = Place::with_server(&server);
    let long = "a".repeat(100_000);
    let gemini = format!("gemini/{long}");
    for name in ["", " ", "/", "nowhere/x", "mystery", "gemini/a\nb", "gemini/\u{1b}[2J", &long, &gemini] {
        let shown: String = name.chars().take(20).collect();
        assert_refused(&place.run(&["-m", name, "-p", "hi"]), 42, &shown);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_prompt_that_is_no_text_is_refused() {
    let place = Place::new().variable("GEMINI_API_KEY", "key-gemini-1");
    for prompt in ["", " \t\n"] {
        assert_refused(&place.run(&["-p", prompt]), 42, "blank");
    }
    // A lone surrogate, as some programs write it, and bytes of another encoding.
    for bytes in [&b"\xed\xa0\x80"[..], b"gr\xfc\xdfe", b"\xff\xfe"] {
        assert_refused(&place.run_with_input(&["-p", "hi"], bytes), 42, "standard input");
        let output = place.command(&["-p"]).arg(OsStr::from_bytes(bytes)).output().unwrap();
        assert_eq!(output.status.code(), Some(42), "argument");
    }
    let run = place.run(&["-p", "hi", "-o", "xml"]);
    assert_refused(&run, 42, "-o xml");
    assert!(!run.err.contains("For more information"), "{}", run.err);
}

#[test]
fn odd_characters_and_long_arguments_arrive_as_they_were_given() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    let long = "wörter ".repeat(15_000);
    for prompt in ["\u{1}\u{1b}[2J\u{7f}\u{85}", "\u{fffd}\u{feff}\u{202e}\u{10ffff}", "\"}]}\\u0000", &long]
    {
        let run = place.run(&["-p", prompt]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let sent = server.requests().pop().unwrap();
        assert_eq!(sent.body["contents"][0]["parts"][0]["text"], prompt);
    }
}

#[test]
fn ten_megabytes_go_there_and_come_back_on_every_wire() {
    let server = server(Script::echo());
    let settings = json!({"providers": {"responses": {
        "wire": "openai-responses",
        "baseUrl": server.base_url(WireKind::OpenaiResponses),
        "apiKey": {"env": "OPENAI_API_KEY"},
    }}});
    let place = Place::with_server(&server).settings(&settings.to_string());
    let input = "0123456789".repeat(1_000_000);
    for model in ["gemini/g", "openai/g", "responses/g", "anthropic/g"] {
        let run = place.run_with_input(&["-m", model], input.clone());
        assert_eq!(run.code, Some(0), "{model}: {}", run.err);
        assert!(run.out == format!("You said: {input}\n"), "{model}: {} bytes came back", run.out.len());
    }
}

#[test]
fn without_a_home_or_a_directory_it_answers_all_the_same() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    std::fs::write(place.path().join("file"), "").unwrap();
    // Without the variable the system's own record of the home counts: nothing of a test belongs there.
    let (code, out, err) = shell(&place, "unset HOME; CHARLA_HOME=\"$PWD/kept\" \"$CHARLA\" -p hi");
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "ok\n", ""));
    let (code, _, err) = shell(&place, "CHARLA_HOME=kept \"$CHARLA\" -p hi");
    assert_eq!(code, Some(52), "each folder would have its own sessions");
    assert!(err.starts_with("error: CHARLA_HOME is kept, which is no absolute path"), "{err}");
    let (missing, file) = ("HOME=\"${PWD%/*}/nobody/home\"", "HOME=\"${PWD%/*}/file\"");
    for home in [missing, file, "CHARLA_HOME=/proc/self/x"] {
        let (code, out, err) = shell(&place, &format!("export {home}; \"$CHARLA\" -p hi"));
        assert_eq!((code, out.as_str()), (Some(0), "ok\n"), "{home}: {err}");
        assert!(err.starts_with("warning: this conversation is not kept: "), "{home}: {err}");
        assert_eq!(err.lines().count(), 1, "{home}: {err}");
        let (code, out, err) = shell(&place, &format!("export {home}; \"$CHARLA\" --resume -p hi"));
        assert_eq!(out, "", "{home}");
        assert!(matches!(code, Some(42 | 52 | 1)) && err.starts_with("error: "), "{home}: {err}");
    }
    let (code, out, err) = shell(&place, "mkdir gone && cd gone && rmdir ../gone && \"$CHARLA\" -p hi");
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "ok\n", ""));
}

#[test]
fn streams_that_are_closed_or_full_do_not_bring_it_down() {
    let server = server(Script::always(Reply::new().text("ok")));
    let place = Place::with_server(&server);
    let cases = [
        ("-p hi <&-", 0, "ok\n"),
        ("<&-", 42, ""),
        ("-p hi >&-", 0, ""),
        ("-p hi -o stream-json >&-", 0, ""),
        ("-p hi 2>&-", 0, "ok\n"),
        ("-m nowhere/x -p hi 2>&-", 42, ""),
        ("-p hi <&- >&- 2>&-", 0, ""),
        ("-p hi </", 42, ""),
    ];
    for (arguments, code, out) in cases {
        let (ended, said, err) = shell(&place, &format!("\"$CHARLA\" {arguments}"));
        assert_eq!((ended, said.as_str()), (Some(code), out), "{arguments}: {err}");
        assert!(!err.contains("panicked"), "{arguments}: {err}");
    }
    if std::path::Path::new("/dev/full").exists() {
        for arguments in ["-p hi", "-p hi -o json", "-p hi -o stream-json", "--help"] {
            let (code, _, err) = shell(&place, &format!("\"$CHARLA\" {arguments} >/dev/full"));
            assert_eq!(code, Some(1), "{arguments}: {err}");
            assert!(err.starts_with("error: cannot write to standard output: "), "{arguments}: {err}");
        }
    }
}
