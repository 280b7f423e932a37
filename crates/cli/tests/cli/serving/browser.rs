//! The page in a real browser: Chromium, driven by Playwright. `./test` installs both.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use charla_testkit::{Otherwise, Postgres, Reply, Script};
use serde_json::json;

use super::client::Served;
use super::team::Team;
use super::{place, write};
use crate::place::{Place, server};
use crate::terminal::Terminal;

/// Runs a scenario of `browser.py` against a server whose model follows this script; the workspace's files are seen after.
fn browse(scenario: &str, script: Script) -> crate::place::Place {
    let server = server(script);
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#);
    let mut served = Served::start(&place);
    drive(scenario, &place, &mut served);
    place
}

fn drive(scenario: &str, place: &Place, served: &mut Served) {
    drive_with(scenario, place, served, |_| {});
}

/// The same, with somebody who does what the scenario says beside `restart`.
fn drive_with(scenario: &str, place: &Place, served: &mut Served, mut act: impl FnMut(&str)) {
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let link = format!("http://{}/sign-in#{}", served.address, served.code);
    let mut child = Command::new(python)
        .args(["-c", include_str!("browser.py"), scenario, &link])
        .arg(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut asking = child.stdin.take().unwrap();
    let mut problems = child.stderr.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = problems.read_to_string(&mut text);
        text
    });
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        match line.unwrap().as_str() {
            "restart" => served.restart(place),
            line => act(line),
        }
        writeln!(asking, "done").unwrap();
    }
    let status = child.wait().unwrap();
    let problems = reading.join().unwrap();
    assert!(status.success(), "{problems}\n(./test installs what the browser needs)");
}

fn writes_once() -> Script {
    Script::new([write("a.txt"), "Written.".into()])
}

#[test]
fn a_prompt_is_answered_as_it_comes_and_is_there_after_a_reload() {
    let reply = Reply::new().thought("Let me see.").text("It **streams**.").chunk(2).delay(5);
    browse("asks_and_streams", Script::new([reply]));
}

#[test]
fn calls_are_allowed_edited_and_denied_with_a_reason() {
    let replies = [
        write("a.txt"),
        Reply::new().call("run_shell_command", json!({"command": "touch wrong"})),
        write("b.txt"),
        "All done.".into(),
    ];
    let place = browse("approves_edits_and_denies", Script::new(replies));
    let there = |name: &str| place.read(name).is_some();
    assert_eq!(["a.txt", "right", "wrong", "b.txt"].map(there), [true, true, false, false]);
}

#[test]
fn the_keyboard_is_enough() {
    browse("the_keyboard_is_enough", writes_once());
}

#[test]
fn of_two_tabs_that_answer_at_once_one_wins_and_both_show_it() {
    browse("two_tabs_agree", writes_once());
}

#[test]
fn of_two_tabs_and_an_attached_terminal_that_say_different_things_one_wins_and_all_agree() {
    // What is typed into a terminal whose question is gone may be said to the model.
    let script = Script::new([write("a.txt"), "Over.".into()]);
    let server = server(Script { otherwise: Otherwise::Repeat, ..script });
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#);
    let mut served = Served::start(&place);
    let laptop = Place::new().variable("TERM", "dumb").variable("NO_COLOR", "1");
    let laptop = laptop.variable("CHARLA_TOKEN", &served.token);
    let (address, mut terminal, mut won) = (format!("http://{}", served.address), None, String::new());
    drive_with("tabs_and_a_terminal_race", &place, &mut served, |line| match line.split_once(' ') {
        Some(("attach", session)) => {
            let mut attached = Terminal::start(&laptop, &["attach", &address, session]);
            attached.wait_for("n REASON no, go on? ");
            terminal = Some(attached);
        }
        Some(("won", outcome)) => won = outcome.to_owned(),
        _ => terminal.as_mut().unwrap().type_in("n said at the terminal\n"),
    });
    let mut terminal = terminal.unwrap();
    terminal.wait_for("Over.");
    terminal.wait_for("> ");
    terminal.type_in("/quit\n");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(place.read("a.txt").is_some(), won.starts_with("Allowed"), "{won}");
    assert!(
        won.contains("at the terminal") || shown.contains("by web"),
        "who was quicker is told: {won}\n{shown}"
    );
    let asked = server.requests()[1].body.to_string();
    assert!(
        won.starts_with("Allowed") || asked.contains(won.split(['·', ':']).nth(1).unwrap().trim()),
        "{won}"
    );
}

#[test]
fn a_tab_that_nobody_sees_rests_and_is_right_again_when_it_is_seen() {
    let script = Script::new(["First.".into(), write("a.txt"), "Written.".into()]);
    browse("a_hidden_tab_rests", script);
}

#[test]
fn a_denial_with_its_reason_and_an_edit_are_typed() {
    let replies = [
        write("a.txt"),
        Reply::new().call("run_shell_command", json!({"command": "touch wrong"})),
        "All done.".into(),
    ];
    let place = browse("denied_and_edited_by_keys", Script::new(replies));
    let there = |name: &str| place.read(name).is_some();
    assert_eq!(["a.txt", "right", "wrong"].map(there), [false, true, false]);
}

#[test]
fn a_database_that_is_away_is_told_until_it_is_back() {
    let mut postgres = Postgres::start().unwrap();
    let server = server(Script::new(["First.", "Second."]));
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#);
    let place = place.variable("CHARLA_DATABASE", &postgres.address());
    let mut served = Served::start(&place);
    drive_with("a_database_is_away", &place, &mut served, |line| match line {
        "stop" => postgres.stop().unwrap(),
        _ => postgres.start_again().unwrap(),
    });
}

#[test]
fn what_each_turn_changed_is_listed_and_taken_back() {
    let put =
        |name: &str, text: &str| Reply::new().call("write_file", json!({"file_path": name, "content": text}));
    let script = Script::new([
        put("old.txt", "Between.\n"),
        put("old.txt", "After.\n"),
        write("new.txt"),
        "Both written.".into(),
        "Nothing.".into(),
    ]);
    let server = server(script);
    let place =
        place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#).file("old.txt", "Before.\n");
    let mut served = Served::start(&place);
    drive("changes_of_turns_are_undone", &place, &mut served);
}

#[test]
fn a_session_that_a_terminal_has_open_is_asked_for_and_goes_on_here_once_it_is_left_there() {
    let server = server(writes_once());
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#);
    let mut terminal = Terminal::start(&place, &["-m", "openai/gpt-test", "-p", "go"]);
    terminal.wait_for("n REASON no, go on? ");
    let mut served = Served::start(&place);
    drive("a_session_of_a_terminal_is_asked_for", &place, &mut served);
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("web asks to go on with this session elsewhere"), "{shown}");
}

#[test]
fn what_is_said_at_a_terminal_to_who_asks_for_its_session_is_told_on_the_page() {
    let server = server(Script::new(["Hello."]));
    // A model whose window is known.
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-4.1"}}"#);
    let mut terminal = Terminal::start(&place, &["--screen-reader"]);
    terminal.wait_for("> ");
    terminal.type_in("hi\n");
    terminal.wait_for("Hello.");
    terminal.wait_for("> ");
    let mut served = Served::start(&place);
    drive_with("a_session_is_kept_and_handed_over", &place, &mut served, |said| {
        terminal.wait_for("/handover no keeps it here");
        terminal.type_in(&format!("{said}\n"));
    });
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
}

#[test]
fn what_the_built_in_model_hands_on_is_shown_to_the_letter() {
    let server = server(Script::new(["see __init__.py and *this*"]));
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#);
    let served = Served::start(&place);
    let session = served.begin("go");
    served.events(&session, 0).until("turn_ended");
    let address = served.kill();
    let path = place.home().join(format!("sessions/{session}.jsonl"));
    let journal = std::fs::read_to_string(&path).unwrap();
    let built_in = |line: &str| {
        let mut record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["kind"] == "model_content" {
            let origin = &mut record["content"]["origin"];
            (origin["provider"], origin["model"]) = (json!("local"), json!("smollm2-135m"));
        }
        format!("{record}\n")
    };
    std::fs::write(&path, journal.lines().map(built_in).collect::<String>()).unwrap();
    let mut served = Served::at(&place, &address);
    drive("an_answer_is_shown_to_the_letter", &place, &mut served);
}

#[test]
fn a_session_in_an_address_leads_to_that_session_alone() {
    browse("an_address_leads_nowhere_else", Script::new(["unused"]));
}

#[test]
fn text_that_was_lost_on_the_way_or_by_a_reload_is_told_again_while_it_streams() {
    // It goes on for longer than the page takes, however slow that is.
    let words = (0..200).map(|number| format!("word {number}, "));
    let reply = words.fold(Reply::new(), |reply, word| reply.text(word).delay(200)).stall();
    browse("lost_text_is_told_again", Script::new([reply]));
}

#[test]
fn a_question_is_told_once_to_who_wants_to_know_and_does_not_look() {
    let script = Script::new([write("a.txt"), "Written.".into(), write("b.txt"), "Again.".into()]);
    browse("a_hidden_tab_notifies_of_a_question_once", script);
}

#[test]
fn questions_of_all_sessions_are_answered_in_one_place() {
    let script = Script::new([write("a.txt"), write("b.txt"), "Done.".into(), "Done.".into()]);
    browse("the_inbox_answers_across_sessions", script);
}

#[test]
fn a_server_that_is_killed_while_a_question_waits_is_found_again() {
    let place = browse("a_restart_loses_nothing", writes_once());
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
}

#[test]
fn a_session_that_was_removed_in_one_tab_is_left_in_the_other() {
    browse("a_removed_session_is_left", Script::new(["Hello."]));
}

#[test]
fn nothing_that_a_model_or_a_tool_says_becomes_script() {
    let text = "<script>window.pwned = 1</script> <img src=x onerror=\"window.pwned = 1\"> [a](javascript:alert(1)) \
                ![b](http://evil.example/p.png) [c](data:text/html,<script>alert(1)</script>) <svg/onload=alert(1)>\n\n\
                | <b onclick=alert(1)>x</b> | y |\n|---|---|\n| <iframe src=//evil.example></iframe> | z |\n\n\
                ```html\"><script>window.pwned=1</script>\n</code></pre><script>window.pwned = 1</script>\n```\n\nthe end";
    let command = "echo '<img src=x onerror=window.pwned=1><script>window.pwned=1</script>'";
    let call = Reply::new().text(text).call("run_shell_command", json!({"command": command}));
    let name = "<img src=x onerror=window.pwned=1>.html";
    let file = Reply::new().call("write_file", json!({"file_path": name, "content": text}));
    browse("nothing_becomes_script", Script::new([call, file, text.into()]));
}

#[test]
fn mode_and_model_are_switched_and_a_conversation_is_undone_copied_and_rewound() {
    let script = Script::new([write("a.txt"), "Written.".into(), write("b.txt")]);
    let place = browse("the_conversation_goes_back", script);
    assert_eq!((place.read("a.txt"), place.read("b.txt")), (None, None));
}

#[test]
fn a_new_session_is_as_the_settings_have_it_until_its_form_says_otherwise() {
    let server =
        server(Script::new([write("a.txt"), "Written.".into(), write("b.txt"), "Written, too.".into()]));
    let settings = r#"{"model": {"name": "openai/gpt-test"}, "tools": {"approvalMode": "auto_edit"}}"#;
    let place = place(&server).settings(settings);
    std::fs::create_dir_all(place.work().join("below")).unwrap();
    let mut served = Served::start(&place);
    drive("a_form_and_its_defaults", &place, &mut served);
    assert_eq!(["a.txt", "below/b.txt"].map(|name| place.read(name).is_some()), [true, true]);
    let models: Vec<_> = server.requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models, ["gpt-test", "gpt-test", "gpt-4.1", "gpt-4.1"]);
}

#[test]
fn all_of_a_long_output_is_one_click_away() {
    let long = Reply::new().call("run_shell_command", json!({"command": "seq 1 60000"}));
    browse("a_long_output_is_linked", Script::new([long, "Much.".into()]));
}

#[test]
fn pictures_are_dropped_and_pasted_sessions_searched_and_running_output_is_there_after_a_reload() {
    let command = "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended";
    let waits = Reply::new().call("run_shell_command", json!({"command": command}));
    browse("drops_searches_and_live_output", Script::new(["Fruit.".into(), waits, "Done.".into()]));
}

#[test]
fn a_picture_goes_along_with_a_prompt() {
    browse("files_go_along", Script::new(["A dot."]));
}

#[test]
fn nothing_hides_in_a_question() {
    let command = format!("echo hi \u{202e}txt.exe\u{200b}{}; touch hidden", " ".repeat(2000));
    let call = Reply::new().call("run_shell_command", json!({"command": command}));
    browse("nothing_hides_in_a_question", Script::new([call]));
}

#[test]
fn an_answer_is_read_as_it_is_written_and_a_change_of_nothing_is_told() {
    let table = "run \u{202e}exe.txt\u{202c} now\n\n| name | size |\n|---|---:|\n| a | 1 |\n\n```rust\nlet a = env::var(b);\n```\n";
    let server = server(Script::new([table.into(), write("a.txt")]));
    let place =
        place(&server).settings(r#"{"model": {"name": "openai/gpt-test"}}"#).file("a.txt", "Hello.\n");
    let mut served = Served::start(&place);
    drive("an_answer_is_read_as_it_is_written", &place, &mut served);
}

#[test]
fn it_fits_a_phone() {
    browse("it_fits_a_phone", writes_once());
}

#[test]
fn users_sign_in_with_passwords_and_answer_in_sessions_that_are_shared_with_them() {
    let mut team = Team::new(writes_once());
    for name in ["anna", "ben"] {
        team.add(name, "member", json!({}));
    }
    drive("passwords_and_sharing", &team.place, &mut team.served);
    assert_eq!(std::fs::read_to_string(team.folder("anna").join("a.txt")).unwrap(), "Hello.\n");
}

#[test]
fn a_user_keeps_a_key_makes_a_token_and_changes_the_password_on_the_page() {
    let mut team = Team::new(writes_once());
    let anna = team.add("anna", "admin", json!({}));
    assert_eq!(anna.delete("/keys/openai").status, 204);
    drive("one_looks_after_an_account", &team.place, &mut team.served);
}

#[test]
fn the_machines_own_user_adds_and_removes_accounts_on_the_page() {
    let mut team = Team::new(writes_once());
    std::fs::create_dir_all(team.folder("ben").join("carl")).unwrap();
    drive("the_owner_adds_accounts", &team.place, &mut team.served);
}

#[test]
fn changes_are_shown_side_by_side_and_figures_as_charts() {
    browse("diffs_and_charts", writes_once());
}

#[test]
fn a_page_of_another_origin_does_nothing_in_a_browser_that_is_signed_in() {
    let place = browse("another_origin_does_nothing", Script::new(["unused"]));
    let log = std::fs::read_to_string(place.home().join("server/audit.jsonl")).unwrap();
    assert!(!log.contains("new_link") && !log.contains("create_session"), "{log}");
}

/// `scripts/pictures.sh` runs it; the others are to be looked at.
#[test]
#[ignore = "writes the picture in docs/"]
fn the_picture_of_the_handbook_is_of_a_real_run() {
    let server = server(Script::new([
        Reply::new()
            .text("Two of them, both in `app.toml`:\n\n- `name`, for the log\n- `port`, for the listener\n"),
        Reply::new().text("The port is in one place.").call(
            "write_file",
            json!({"file_path": "app.toml", "content": "name = \"demo\"\nport = 8080\n"}),
        ),
        "The port is **8080** now. Nothing else names it.".into(),
        Reply::new().call("run_shell_command", json!({"command": "cargo run -- --check app.toml"})),
    ]));
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-5.5"}}"#);
    std::fs::create_dir_all(place.work().join("app")).unwrap();
    let place = place.file("app/app.toml", "name = \"demo\"\nport = 80\n");
    let mut served = Served::start(&place);
    drive("pictures", &place, &mut served);
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/browser.png");
    std::fs::copy(place.path().join("light.png"), docs).unwrap();
}

#[test]
fn axe_finds_nothing_serious() {
    browse("axe_finds_nothing", writes_once());
}
