//! When no summary can help: what is cut, and what is said.

use charla_proto::WireKind;
use charla_testkit::{Reply, Script, When};
use serde_json::json;

use super::{WIRES, last_request, place, summaries};
use crate::place::server;

#[test]
fn a_prompt_that_cannot_fit_is_refused_with_figures_and_nothing_is_sent() {
    let server = server(Script::always("Yes."));
    let place = place(&server, WireKind::OpenaiChat, 12_000);
    let run = place.run_with_input(&["-p", "summarise"], "words and more words ".repeat(5_000));
    assert_eq!((run.code, run.out.as_str()), (Some(42), ""), "{}", run.err);
    assert!(
        run.err.contains("the model's window has 12000; it is filled by: your messages 2"),
        "{}",
        run.err
    );
    assert!(run.err.contains("descriptions of tools") && run.err.contains("-m"), "{}", run.err);
    assert!(server.requests().is_empty());
}

#[test]
fn a_file_of_instructions_that_fills_the_window_is_named() {
    let server = server(Script::always("Yes."));
    let rules = "Every name is a noun of the domain and is written out.\n".repeat(900);
    let place = place(&server, WireKind::OpenaiChat, 12_000).file("AGENTS.md", &rules);
    let run = place.run(&["-p", "hello"]);
    assert_eq!(run.code, Some(42), "{}", run.err);
    assert!(run.err.contains("filled by: instructions and instruction files 1"), "{}", run.err);
    assert!(server.requests().is_empty());
}

#[test]
fn results_too_large_for_the_window_are_cut_and_the_model_is_told_where_they_are() {
    for wire in WIRES {
        let call = |reply: Reply, n: u32| {
            reply.call_with_id(format!("call-{n}"), "read_file", json!({"file_path": format!("{n}.txt")}))
        };
        let server = server(Script::new([call(call(Reply::new(), 1), 2), "It is long.".into()]));
        let long = "A line of a file that is much too long to be read as a whole.\n".repeat(700);
        let place = place(&server, wire, 12_000).file("1.txt", &long).file("2.txt", &long);
        let run = place.run(&["-p", "read both"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "It is long.\n"), "{wire:?}: {}", run.err);
        assert!(run.err.starts_with("Cut the largest outputs of tools: about "), "{wire:?}: {}", run.err);
        let body = last_request(&server);
        let (id, journal) = place.journals().pop().unwrap();
        assert!(body.contains("characters were cut to make room; the whole is in "), "{wire:?}");
        assert!(body.contains(&format!("{id}.jsonl")), "{wire:?}");
        // Nothing is lost: the journal has every line.
        assert!(journal.matches("much too long to be read").count() >= 1_400);
        assert_eq!(
            (summaries(&server), server.problems().len()),
            (0, 0),
            "{wire:?}: {:?}",
            server.problems()
        );
    }
}

#[test]
fn a_turn_of_many_steps_goes_on_on_every_wire() {
    for wire in WIRES {
        let snapshot = "<state_snapshot><overall_goal>Read all files</overall_goal>\
            <task_state>the first ones are read, more follow</task_state></state_snapshot>";
        let mut script = Script::new((0..14).map(|n| {
            Reply::new().thought("next").call("read_file", json!({"file_path": format!("{n}.txt")}))
        }));
        script.replies.push("All read.".into());
        let server = server(script.rule(When::text(super::ASKS), snapshot));
        let mut place = place(&server, wire, 12_000);
        for n in 0..14 {
            place = place.file(&format!("{n}.txt"), &format!("File {n} says this.\n").repeat(140));
        }
        let run = place.run(&["-p", "read all, and mind the gap"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "All read.\n"), "{wire:?}: {}", run.err);
        assert!(server.problems().is_empty(), "{wire:?}: {:?}", server.problems());
        assert_eq!(summaries(&server), 1, "{wire:?}: {}", run.err);
        let body = last_request(&server);
        assert!(
            body.contains("told in short") && body.contains("mind the gap") && body.contains("File 13 says")
        );
        assert!(!body.contains("File 1 says"), "{wire:?}");
        let replay = place.run(&["replay", "latest"]);
        assert_eq!(replay.code, Some(0), "{wire:?}: {}{}", replay.out, replay.err);
    }
}
