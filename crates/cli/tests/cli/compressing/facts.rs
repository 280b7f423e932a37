//! What was said must survive being summarized.

use charla_proto::WireKind;
use charla_testkit::{Reply, Rule, Script, Server, Step, When};
use serde_json::json;

use super::{ASKS, WIRES, go_on, last_request, place, summaries};
use crate::place::{Place, server};

/// Facts in a file of instructions.
const RULES: [&str; 2] = ["FACT-01: never push to main", "FACT-02: indent with tabs"];
/// Facts in the user's words: rules and open tasks.
const WORDS: [&str; 6] = [
    "FACT-03: answer in English",
    "FACT-04: keep the public names",
    "FACT-05: no new dependencies",
    "FACT-06: open task, write the migration",
    "FACT-07: open task, ask Ana about the licence",
    "FACT-08: open task, rename the crate",
];
/// Facts in the model's words: decisions and open tasks.
const ANSWERS: [&str; 6] = [
    "FACT-09: decided to parse by hand",
    "FACT-10: decided for SQLite over files",
    "FACT-11: decided to drop the old format in 3.0",
    "FACT-12: decided that errors carry hints",
    "FACT-13: open task, port the tests of 2.x",
    "FACT-14: open task, measure the cold start",
];
/// Facts in files that a tool reads: names of files, at its beginning, in its middle and at its end.
const FILES: [&str; 6] = [
    "FACT-15: the lexer is src/lex/mod.rs",
    "FACT-16: the grammar is docs/grammar.ebnf",
    "FACT-17: fixtures lie in tests/data/v2",
    "FACT-18: the build runs by ci/build.sh",
    "FACT-19: the schema is db/schema_17.sql",
    "FACT-20: secrets come from ops/vault.hcl",
];

fn filler(lines: usize) -> String {
    "This line says nothing that anybody will need later on, it is only here to be long\n".repeat(lines)
}

/// Two facts, the first after so many lines of nothing.
fn file(facts: &[&str], depth: usize) -> String {
    format!("{}{}\n{}{}\n", filler(depth), facts[0], filler(30 - depth), facts[1])
}

/// A model that reads the file a prompt names, says its fact, and summarises honestly.
fn script() -> Script {
    let mut script =
        Script::always(filler(20)).rule(When::text(ASKS), Reply::new().step(Step::Snapshot("FACT-".into())));
    for (n, fact) in ANSWERS.iter().enumerate() {
        let when =
            |answers_tools| When { answers_tools: Some(answers_tools), ..When::text(format!("step-{n} ")) };
        let call = json!({"file_path": format!("notes-{n}.txt")});
        if n < 3 {
            let reply =
                Reply::new().thought("I should look").call_with_id(format!("call-{n}"), "read_file", call);
            script.rules.push(Rule { when: when(false), reply, times: None });
        }
        let reply = Reply::from(format!("Done. {fact}. {}", filler(10)));
        script.rules.push(Rule { when: When::text(format!("step-{n} ")), reply, times: None });
    }
    script
}

fn all_facts() -> impl Iterator<Item = &'static str> {
    [&RULES[..], &WORDS, &ANSWERS, &FILES].concat().into_iter()
}

fn planted(server: &Server, wire: WireKind, window: u32) -> Place {
    let mut place = place(server, wire, window)
        .file("CHARLA.md", &format!("# Rules\n\n{}.\n\n{}.\n", RULES[0], RULES[1]));
    for (n, facts) in FILES.chunks(2).enumerate() {
        place = place.file(&format!("notes-{n}.txt"), &file(facts, [0, 15, 28][n]));
    }
    for (n, fact) in WORDS.iter().enumerate() {
        let prompt = format!("step-{n} of the work. {fact}. Go on.");
        let mut arguments = vec!["-p", &prompt];
        arguments.extend((n > 0).then_some("--resume"));
        let run = place.run(&arguments);
        assert_eq!(run.code, Some(0), "{}", run.err);
    }
    place
}

fn check(server: &Server, wire: WireKind, when: &str) {
    let sent = last_request(server);
    let lost: Vec<&str> = all_facts().filter(|fact| !sent.contains(fact)).collect();
    assert!(lost.is_empty(), "{wire:?}, {when}: lost {lost:?}");
    assert!(server.problems().is_empty(), "{wire:?}: {:?}", server.problems());
}

#[test]
fn twenty_planted_facts_are_all_in_the_next_request() {
    assert_eq!(all_facts().count(), 20);
    for wire in WIRES {
        let server = server(script());
        let place = planted(&server, wire, 1_000_000);
        assert_eq!(go_on(&place, "/compress").out.matches("Chat history compressed").count(), 1);
        go_on(&place, "and now?");
        check(&server, wire, "asked for");
        // The older ones are in the snapshot, not only in what was kept.
        let sent = last_request(&server);
        let (_, told) = sent.split_once("The session so far, told in short").unwrap();
        let (snapshot, _) = told.split_once("</state_snapshot>").unwrap();
        for fact in [WORDS[0], ANSWERS[0], FILES[0], FILES[1]] {
            assert!(snapshot.contains(fact), "{wire:?}: {fact} is not in {snapshot}");
        }
        assert_eq!(summaries(&server), 1);
    }
}

#[test]
fn facts_survive_three_compressions_that_nobody_asked_for() {
    for wire in [WireKind::OpenaiChat, WireKind::Anthropic] {
        let server = server(script());
        let place = planted(&server, wire, 16_500);
        for n in 0..60 {
            if summaries(&server) == 3 {
                break;
            }
            go_on(&place, &format!("more of it, {n}"));
        }
        assert_eq!(summaries(&server), 3, "{wire:?}");
        go_on(&place, "and now?");
        check(&server, wire, "after three");
    }
}
