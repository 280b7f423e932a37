//! What a person writes: in their editor, by vi's keys, from the history, with files that are dragged here.

use charla_testkit::{Reply, Script};

use crate::place::{Place, server};
use crate::replies::last_request;
use crate::terminal::{Terminal, start};

const EDITOR: &str = "\u{7}";
const ESCAPE: &str = "\u{1b}";
/// A picture of one pixel, and how its data begins in a request.
const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\xdac\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82";
const SENT: &str = "data:image/png;base64,iVBORw0KGgo";

/// A place with a picture and an editor that changes a word.
fn place_for(server: &charla_testkit::Server) -> Place {
    let place = Place::with_server(server).file("edit.sh", "sed -i s/wrong/right/ \"$1\"\n");
    std::fs::write(place.work().join("dot.png"), PIXEL).unwrap();
    let editor = format!("sh {}", place.work().join("edit.sh").display());
    place.variable("EDITOR", &editor)
}

/// Drags the picture onto the terminal.
fn drag(terminal: &mut Terminal, place: &Place) {
    terminal.press(&format!("\u{1b}[200~{}\u{1b}[201~", place.work().join("dot.png").display()));
    terminal.wait_for("dot.png]");
}

#[test]
fn a_dragged_picture_is_a_chip_and_is_sent() {
    let server = server(Script::new(["A dot."]));
    let place = place_for(&server);
    let mut terminal = start(&place);
    drag(&mut terminal, &place);
    terminal.press("what is it?");
    terminal.wait_for("› [file 1: dot.png] what is it?");
    terminal.press("\r");
    terminal.wait_for("A dot.");
    let sent = last_request(&server);
    assert!(sent.contains(SENT) && sent.contains("what is it?"), "{sent}");
}

#[test]
fn an_editor_changes_the_words_and_leaves_what_was_pasted_and_dragged() {
    let server = server(Script::new(["Seen."]));
    let place = place_for(&server);
    let mut terminal = start(&place);
    drag(&mut terminal, &place);
    let pasted: String = (0..30).map(|n| format!("wrong row {n}\n")).collect();
    terminal.press(&format!("\u{1b}[200~{pasted}\u{1b}[201~"));
    terminal.wait_for("[pasted text 2: 30 lines]");
    terminal.press(" is wrong");
    terminal.wait_for("lines] is wrong");
    terminal.press(EDITOR);
    terminal.wait_for("[file 1: dot.png] [pasted text 2: 30 lines] is right");
    terminal.press("\r");
    terminal.wait_for("Seen.");
    let sent = last_request(&server);
    assert!(sent.contains(SENT) && sent.contains("is right"), "{sent}");
    assert_eq!(sent.matches("wrong row").count(), 30, "{sent}");
}

#[test]
fn an_editor_that_fails_is_told_and_the_status_line_stays() {
    let server = server(Script::echo());
    let place = Place::with_server(&server).variable("EDITOR", "false");
    let mut terminal = start(&place);
    terminal.press("some words");
    terminal.wait_for("› some words");
    terminal.press(EDITOR);
    terminal.wait_for("the editor `false` failed");
    terminal.wait_for("› some words");
    terminal.wait_until("the status line", |screen| {
        screen.trim_end().lines().last().is_some_and(|row| row.contains("openai/gpt-test"))
    });
}

#[test]
fn a_prompt_that_waited_comes_back_with_its_files() {
    let server = server(Script::new([Reply::new().text("Half of it. ").stall(), "A dot.".into()]));
    let place = place_for(&server);
    let mut terminal = start(&place);
    terminal.say("begin");
    terminal.wait_for("Half of it.");
    drag(&mut terminal, &place);
    terminal.press("and this?");
    terminal.wait_for("] and this?");
    terminal.press("\r");
    terminal.wait_for("joins the next request:");
    terminal.press(ESCAPE);
    terminal.wait_for("⊘ interrupted");
    terminal.wait_for("› [file 1: dot.png] ");
    terminal.wait_for("and this?");
    terminal.press("\r");
    terminal.wait_for("A dot.");
    let sent = last_request(&server);
    assert!(sent.contains(SENT) && sent.contains("and this?"), "{sent}");
}

#[test]
fn what_was_said_before_is_found_by_a_few_of_its_letters() {
    let server = server(Script::new(["One.", "Two.", "Three."]));
    let place = Place::with_server(&server);
    let mut terminal = start(&place);
    terminal.say("weigh the anchor");
    terminal.wait_for("One.");
    terminal.say("set the sails");
    terminal.wait_for("Two.");
    terminal.wait_without("Esc stops");
    terminal.press("\u{12}anch");
    terminal.wait_until("what was found", |screen| screen.matches("weigh the anchor").count() == 2);
    terminal.press("\r");
    terminal.wait_for("› weigh the anchor\n");
    terminal.press(" again\r");
    terminal.wait_for("Three.");
    assert!(last_request(&server).contains("weigh the anchor again"));
}

#[test]
fn the_keys_of_vi_change_the_line_and_say_what_letters_mean() {
    let server = server(Script::new(["Heard."]));
    let place = Place::with_server(&server).settings(r#"{"terminal": {"keys": "vi"}}"#);
    let mut terminal = start(&place);
    terminal.wait_for("INSERT");
    terminal.press("one two three");
    terminal.wait_for("› one two three");
    terminal.press(ESCAPE);
    terminal.wait_for("NORMAL");
    terminal.press("0dw");
    terminal.wait_for("› two three");
    terminal.press("u");
    terminal.wait_for("› one two three");
    terminal.press("$a four");
    terminal.wait_for("INSERT");
    terminal.wait_for("› one two three four");
    terminal.press("\r");
    terminal.wait_for("Heard.");
    assert!(last_request(&server).contains("one two three four"));
}
