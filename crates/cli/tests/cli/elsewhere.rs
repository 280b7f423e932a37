//! Questions answered from another process, while the one that asks lives and after it was killed.

use std::io::{BufRead, BufReader};

use charla_testkit::{Reply, Script, Server};
use serde_json::json;

use crate::place::{Place, Run, server};
use crate::terminal::Terminal;

const GO: [&str; 4] = ["-m", "openai/gpt-test", "-p", "go"];

fn write(name: &str) -> Reply {
    Reply::new().call("write_file", json!({"file_path": name, "content": "Hello.\n"}))
}

pub fn place(server: &Server) -> Place {
    Place::with_server(server).variable("TERM", "dumb").variable("NO_COLOR", "1")
}

/// The binary at a terminal with its question open, and the question's id.
fn asking(place: &Place) -> (Terminal, String) {
    let mut terminal = Terminal::start(place, &GO);
    terminal.wait_for("n REASON no, go on? ");
    (terminal, question(place))
}

/// The id of the one question that waits.
pub fn question(place: &Place) -> String {
    let listed = place.run(&["approvals"]);
    assert_eq!((listed.code, listed.out.lines().count()), (Some(0), 1), "{}{}", listed.out, listed.err);
    listed.out.split_whitespace().next().unwrap().to_owned()
}

pub fn answer(place: &Place, id: &str, words: &[&str]) -> Run {
    place.run(&[&["approvals", "answer", id], words].concat())
}

fn last_request(server: &Server) -> String {
    server.requests().last().unwrap().body.to_string()
}

#[test]
fn an_answer_from_another_process_closes_the_card_and_says_whose_it_is() {
    let both = Reply::new()
        .call("run_shell_command", json!({"command": "touch a"}))
        .call("run_shell_command", json!({"command": "touch b"}));
    let server = server(Script::new([both, "Done.".into()]));
    let place = place(&server);
    let mut terminal = Terminal::start(&place, &GO);
    terminal.wait_for("command    │ touch a");
    terminal.wait_for("n REASON no, go on? ");
    let listed = place.run(&["approvals"]).out;
    let first = listed.lines().find(|line| line.contains("touch a")).unwrap();
    let run = answer(&place, first.split_whitespace().next().unwrap(), &["yes"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("touch a") && run.err.contains("its session goes on"), "{}", run.err);
    terminal.wait_for("answered by command line");
    // The next card is answered here as ever.
    terminal.wait_for("command    │ touch b");
    terminal.wait_for("n REASON no, go on? ");
    terminal.type_in("n not b\n");
    let (code, shown) = terminal.finish();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Done."), "{shown}");
    assert_eq!((place.read("a").is_some(), place.read("b").is_some()), (true, false));
}

#[test]
fn a_line_typed_after_a_card_was_answered_elsewhere_is_not_the_next_cards_answer() {
    let replies = [
        write("a.txt"),
        Reply::new()
            .text("Well")
            .delay(300)
            .call("write_file", json!({"file_path": "b.txt", "content": "x"})),
        "Done.".into(),
    ];
    let server = server(Script::new(replies));
    let place = place(&server);
    let (mut terminal, id) = asking(&place);
    assert_eq!(answer(&place, &id, &["yes"]).code, Some(0));
    terminal.wait_for("answered by command line");
    terminal.type_in("y\n");
    terminal.wait_for("n REASON no, go on? ");
    terminal.type_in("n not b\n");
    let (code, shown) = terminal.finish();
    assert_eq!((code, place.read("b.txt")), (Some(0), None), "{shown}");
    assert!(last_request(&server).contains("not b"), "{shown}");
}

#[test]
fn a_no_from_another_process_ends_the_turn_or_lets_it_go_on() {
    let server = server(Script::new([write("a.txt"), write("a.txt"), "Then not.".into()]));
    let place = place(&server);
    let (terminal, id) = asking(&place);
    let run = answer(&place, &id, &["no"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let (code, shown) = terminal.finish();
    assert_eq!((code, server.requests().len()), (Some(130), 1), "{shown}");
    let (terminal, id) = asking(&place);
    let run = answer(&place, &id, &["no", "call", "it", "b.txt"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let (code, shown) = terminal.finish();
    assert_eq!((code, place.read("a.txt")), (Some(0), None), "{shown}");
    assert!(last_request(&server).contains("call it b.txt"));
}

#[test]
fn a_question_survives_its_process_and_the_answer_runs_it_when_the_session_goes_on() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let (terminal, id) = asking(&place);
    terminal.kill();
    assert_eq!(question(&place), id, "it still waits");
    let run = answer(&place, &id, &["yes"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let (session, _) = place.journals().pop().unwrap();
    assert!(run.err.contains(&format!("charla --resume {session}")), "{}", run.err);
    assert_eq!(place.read("a.txt"), None, "nothing runs before the session goes on");
    // Nobody is there now: what was approved runs all the same, once.
    let run = place.run(&["--resume", &session]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "Written.\n"), "{}", run.err);
    assert_eq!(place.read("a.txt").as_deref(), Some("Hello.\n"));
    assert_eq!(server.requests().len(), 2);
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    let run = answer(&place, &id, &["no"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("command line has answered already: yes"), "{}", run.err);
}

#[test]
fn a_resumed_session_asks_again_at_a_terminal() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let (terminal, id) = asking(&place);
    terminal.kill();
    let mut terminal = Terminal::start(&place, &["--resume"]);
    terminal.wait_for("a.txt");
    terminal.wait_for("n REASON no, go on? ");
    assert_eq!(question(&place), id, "it is the same question");
    terminal.type_in("y\n");
    let (code, shown) = terminal.finish();
    assert_eq!((code, place.read("a.txt").as_deref()), (Some(0), Some("Hello.\n")), "{shown}");
}

#[test]
fn with_nobody_there_a_resumed_question_is_denied_as_ever() {
    let server = server(Script::new([write("a.txt"), "I could not.".into()]));
    let place = place(&server);
    let (terminal, id) = asking(&place);
    terminal.kill();
    let run = place.run(&["--resume"]);
    assert_eq!(
        (run.code, run.out.as_str(), place.read("a.txt")),
        (Some(0), "I could not.\n", None),
        "{}",
        run.err
    );
    assert!(last_request(&server).contains("nobody is there to give it"));
    let run = answer(&place, &id, &["yes"]);
    assert!(run.err.contains("nobody has answered already: no"), "{}", run.err);
}

#[test]
fn a_late_answer_is_told_who_won_while_the_process_lives() {
    let server = server(Script::new([write("a.txt"), Reply::new().text("begun").stall()]));
    let place = place(&server);
    let (mut terminal, id) = asking(&place);
    terminal.type_in("y\n");
    terminal.wait_for("begun");
    let run = answer(&place, &id, &["no"]);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("terminal has answered already: yes"), "{}", run.err);
    terminal.kill();
}

#[test]
fn of_three_processes_that_answer_at_once_one_wins_whether_the_asking_one_lives_or_not() {
    for (round, dies) in [false, true].into_iter().cycle().take(6).enumerate() {
        let server = server(Script::new([write("a.txt"), "Done.".into()]));
        let place = place(&server);
        let (terminal, id) = asking(&place);
        let living = match dies {
            true => {
                terminal.kill();
                None
            }
            false => Some(terminal),
        };
        let mut said = ["yes", "no", "no"];
        said.rotate_left(round / 2);
        let answering = said.map(|word| place.spawn(&["approvals", "answer", &id, word]));
        let ended = answering.map(|child| child.wait_with_output().unwrap());
        let told: Vec<String> =
            ended.iter().map(|end| String::from_utf8_lossy(&end.stderr).into_owned()).collect();
        let won: Vec<usize> = (0..3).filter(|n| ended[*n].status.success()).collect();
        let [winner] = won.as_slice() else { panic!("round {round}: {told:?}") };
        for (n, told) in told.iter().enumerate().filter(|(n, _)| n != winner) {
            let late = format!("command line has answered already: {}", said[*winner]);
            assert!(ended[n].status.code() == Some(1) && told.contains(&late), "round {round}: {told}");
        }
        match living {
            Some(terminal) => drop(terminal.finish()),
            None => drop(place.run(&["--resume"])),
        }
        assert_eq!(place.read("a.txt").is_some(), said[*winner] == "yes", "round {round}");
        let (_, journal) = place.journals().pop().unwrap();
        assert_eq!(journal.matches("\"approval_answered\"").count(), 1, "round {round}: {journal}");
    }
}

#[test]
fn an_answer_that_fits_no_question_or_not_this_one_is_refused_and_the_question_stays() {
    let server = server(Script::new([write("a.txt"), "Written.".into()]));
    let place = place(&server);
    let refused = |id: &str, words: &[&str], why: &str| {
        let run = answer(&place, id, words);
        assert_eq!(run.code, Some(42), "{words:?}: {}", run.err);
        assert!(run.err.contains(why), "{words:?}: {}", run.err);
    };
    let (terminal, id) = asking(&place);
    // First its owner refuses it, then whoever opens the session in its place.
    for lives in [true, false] {
        refused("nonsense", &["yes"], "nothing waits for an answer under `nonsense`");
        refused(&format!("{id}0"), &["yes"], "nothing waits for an answer under");
        refused(&id, &["say", "blue"], "this answer does not fit the question");
        refused(&id, &["server"], "this answer does not fit the question");
        refused(&id, &["yes", "please"], "does not belong to this answer");
        assert_eq!(question(&place), id);
        if lives {
            // Everything else that changes the session waits until its turn has ended.
            for command in [&["undo"][..], &["rewind", "0"], &["restore"]] {
                let run = place.run(command);
                assert_ne!(run.code, Some(0), "{command:?}: {}", run.out);
            }
            let run = place.run(&["rewind", "0"]);
            assert_eq!(run.code, Some(42));
            assert!(run.err.contains("is in use by another process"), "{}", run.err);
            let (_, journal) = place.journals().pop().unwrap();
            assert!(!journal.contains("rewound"), "{journal}");
        }
    }
    terminal.kill();
}

#[test]
fn a_session_without_an_open_turn_has_nothing_to_go_on_with() {
    let server = server(Script::always("Yes."));
    let place = Place::with_server(&server);
    place.run(&["-p", "first"]);
    let run = place.run(&["--resume"]);
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(run.err.contains("there is nothing to go on with") && run.err.contains("-p"), "{}", run.err);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn an_answer_that_was_cut_by_a_kill_is_asked_for_again() {
    let server = server(Script::new([Reply::new().text("begun").stall(), "All of it.".into()]));
    let place = Place::with_server(&server);
    let mut child = place.spawn(&["-o", "stream-json", "-p", "first"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("begun")));
    child.kill().unwrap();
    child.wait().unwrap();
    let run = place.run(&["--resume"]);
    assert_eq!((run.code, run.out.as_str()), (Some(0), "All of it.\n"), "{}", run.err);
    let told = last_request(&server);
    assert!(told.contains("first") && !told.contains("begun"), "{told}");
}
