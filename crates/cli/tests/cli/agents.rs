//! Agents in whole runs: called, held to what their caller may, asked about where their caller is, killed with it.

use std::time::{Duration, Instant};

use charla_testkit::{Otherwise, Reply, Rule, Script, Server, Usage, When};
use serde_json::{Value, json};

use crate::elsewhere::{answer, place, question};
use crate::place::{PATIENCE, Place, Run, server};
use crate::terminal::Terminal;

const ASKS: &str = "n REASON no, go on? ";
const MODEL: [&str; 4] = ["-m", "openai/gpt-test", "-p", "go"];

/// Puts an agent into the user's home.
fn agent(place: &Place, name: &str, fields: &str) {
    let text =
        format!("---\nname: {name}\ndescription: The agent {name}\n{fields}---\nYou are {name}, alone.\n");
    std::fs::create_dir_all(place.home().join("agents")).unwrap();
    std::fs::write(place.home().join(format!("agents/{name}.md")), text).unwrap();
}

fn invoke(names: &[&str]) -> Reply {
    names.iter().fold(Reply::new(), |reply, name| {
        reply.call("invoke_agent", json!({"agent_name": name, "prompt": format!("task for {name}")}))
    })
}

fn shell(command: &str) -> Reply {
    Reply::new().call("run_shell_command", json!({"command": command}))
}

/// A rule for an agent's requests: what it says to its task, or to a result with these words.
fn says(agent: &str, result: Option<&str>, reply: impl Into<Reply>) -> Rule {
    let text = Some(format!("task for {agent}"));
    let tool_result = result.map(str::to_owned);
    let answers_tools = Some(result.is_some());
    Rule {
        when: When { text, tool_result, answers_tools, ..When::default() },
        reply: reply.into(),
        times: None,
    }
}

/// A server whose caller says `replies`, and whose agents say what the rules say.
fn scripted(replies: Vec<Reply>, rules: Vec<Rule>) -> Server {
    server(Script { replies, rules, otherwise: Otherwise::default(), ..Script::default() })
}

fn ran(place: &Place) -> Vec<String> {
    place.read("ran").unwrap_or_default().lines().map(str::to_owned).collect()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}: not after a long time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ok(run: &Run, out: &str) {
    assert_eq!((run.code, run.out.as_str()), (Some(0), out), "{}", run.err);
}

/// The requests that say this in their last user text.
fn requests_with(server: &Server, words: &str) -> Vec<Value> {
    let all = server.requests().into_iter().map(|request| request.body);
    all.filter(|body| body["messages"].to_string().contains(words)).collect()
}

/// The journals: of the caller, and of those that worked for it, as records.
fn journals(place: &Place) -> (Vec<Value>, Vec<Vec<Value>>) {
    let read =
        |text: &str| text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
    let all: Vec<Vec<Value>> = place.journals().iter().map(|(_, text)| read(text)).collect();
    let (mut callers, children): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|records| records[0]["agent"].is_null());
    assert_eq!(callers.len(), 1);
    (callers.pop().unwrap(), children)
}

/// How often something happened to calls of the caller.
fn count(records: &[Value], kind: &str) -> usize {
    records.iter().filter(|record| record["kind"] == kind).count()
}

#[test]
fn an_agent_works_in_a_session_of_its_own_that_is_linked_to_the_call() {
    let server = scripted(
        vec![invoke(&["tester"]), "All tested.".into()],
        vec![
            says("tester", None, Reply::new().call("read_file", json!({"file_path": "note"}))),
            says("tester", Some("the note"), "It says: fine."),
        ],
    );
    let place = place(&server).file("note", "the note");
    agent(&place, "tester", "tools: [read_file, no_such_tool]\nmodel: openai/gpt-other\n");
    ok(&place.run(&MODEL), "All tested.\n");
    let child = &requests_with(&server, "task for tester")[0];
    assert_eq!(child["model"], "gpt-other");
    let system = child["messages"][0]["content"].to_string();
    assert!(system.contains("You are tester, alone.") && !system.contains("You are Charla"), "{system}");
    let tools: Vec<&Value> =
        child["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["read_file"], "at most its caller's, and of these its own");
    let last = server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("It says: fine."), "{last}");

    let (caller, children) = journals(&place);
    let call = caller.iter().find(|record| record["kind"] == "call_started").unwrap();
    let link = &children[0][0]["agent"];
    assert_eq!((&link["name"], &link["session"]), (&json!("tester"), &caller[0]["session"]));
    assert_eq!(link["call"], call["call"]);
    let listed = place.run(&["sessions", "list"]).out;
    assert!(listed.contains("(agent tester of "), "{listed}");
    // It is nobody's latest.
    ok(
        &place.run(&["--resume", "latest", "-m", "openai/gpt-test", "-p", "task for tester"]),
        "It says: fine.\n",
    );
    assert_eq!(journals(&place).1.len(), 1);
}

#[test]
fn an_agent_has_no_more_than_its_caller_and_calls_no_agents() {
    let server = scripted(
        vec![invoke(&["a"]), "Done.".into()],
        vec![
            says("a", None, invoke(&["a"])),
            Rule { times: Some(1), ..says("a", Some("not found"), shell("touch made")) },
            says("a", Some("not"), "I could not."),
        ],
    );
    let place = place(&server);
    agent(&place, "a", "tools: ['*']\n");
    ok(&place.run(&[&MODEL[..], &["--exclude-tools", "run_shell_command"]].concat()), "Done.\n");
    let child = &requests_with(&server, "task for a")[0];
    let tools = child["tools"].to_string();
    assert!(!tools.contains("invoke_agent") && !tools.contains("run_shell_command"), "{tools}");
    assert!(!place.work().join("made").exists());
    assert!(server.requests().pop().unwrap().body.to_string().contains("I could not."));
    // Its caller's mode holds: nobody is there to be asked.
    let server = scripted(
        vec![invoke(&["a"]), "Done.".into()],
        vec![says("a", None, shell("touch made")), says("a", Some("nobody is there"), "Refused.")],
    );
    let place = place.with_addresses(&server);
    ok(&place.run(&MODEL), "Done.\n");
    assert!(!place.work().join("made").exists());
}

#[test]
fn several_work_at_once_and_each_call_gets_its_answer() {
    let names = ["a1", "a2", "a3", "a4", "a5", "a6"];
    // Each of the first four waits until all of them have begun.
    let meet = |name: &str| {
        shell(&format!(
            "touch begun-{name} runs-{name}; until [ $(ls begun-* | wc -l) -ge 4 ]; do sleep 0.05; done; \
             sleep 0.2; ls runs-* | wc -l >> counts; rm runs-{name}; echo met"
        ))
    };
    let rules = names.iter().flat_map(|name| {
        [says(name, None, meet(name)), says(name, Some("met"), format!("{name} is back").as_str())]
    });
    let server = scripted(vec![invoke(&names), "Together.".into()], rules.collect());
    let place = place(&server);
    names.iter().for_each(|name| agent(&place, name, ""));
    ok(&place.run(&[&MODEL[..], &["--approval-mode", "yolo"]].concat()), "Together.\n");
    let counts = place.read("counts").unwrap();
    let counts: Vec<usize> = counts.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert!(counts.len() == names.len() && counts.iter().all(|count| *count <= 4), "{counts:?}");
    let last = server.requests().pop().unwrap().body;
    let results: Vec<String> = last["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].to_string())
        .collect();
    let expected: Vec<String> = names.iter().map(|name| format!("\"{name} is back\"")).collect();
    assert_eq!(results, expected);
}

#[test]
fn limits_hold_and_their_callers_are_told() {
    let server = scripted(
        vec![invoke(&["few", "late", "gone"]), "I see.".into()],
        vec![
            says("few", None, shell("echo one")),
            says("few", Some("one"), shell("echo one two")),
            says("late", None, shell("sleep 600")),
        ],
    );
    let place = place(&server);
    agent(&place, "few", "max_turns: 1\n");
    agent(&place, "late", "timeout: 1\n");
    ok(&place.run(&[&MODEL[..], &["--approval-mode", "yolo"]].concat()), "I see.\n");
    let last = server.requests().pop().unwrap().body.to_string();
    for told in [
        "did not finish: the limit of 1 steps is reached",
        "was stopped after 1 seconds",
        "There is no agent `gone`",
    ] {
        assert!(last.contains(told), "{told}: {last}");
    }
}

#[test]
fn a_workspaces_agents_are_nothing_until_it_is_trusted() {
    let server = scripted(
        vec![invoke(&["evil"]), "No.".into(), invoke(&["evil"]), "Yes.".into()],
        vec![says("evil", None, "Evil done.")],
    );
    let place = place(&server);
    std::fs::create_dir_all(place.work().join(".claude/agents")).unwrap();
    std::fs::write(
        place.work().join(".claude/agents/evil.md"),
        "---\nname: evil\ndescription: Does evil\n---\nBe evil.",
    )
    .unwrap();
    let run = place.run(&MODEL);
    assert!(run.err.contains("1 agent of this workspace is left out"), "{}", run.err);
    assert!(!server.requests()[0].body.to_string().contains("Does evil"));
    assert!(requests_with(&server, "Be evil.").is_empty());
    place.run(&["trust", "--yes"]);
    ok(&place.run(&MODEL), "Yes.\n");
    assert_eq!(requests_with(&server, "Be evil.").len(), 1);
}

/// A caller whose agent runs one command and then says that it is done.
fn with_command(command: &str, result: &str) -> (Server, Place) {
    let rules =
        vec![says("worker", None, shell(command)), says("worker", Some(result), "The worker is done.")];
    let server = scripted(vec![invoke(&["worker"]), "All done.".into()], rules);
    let place = place(&server);
    agent(&place, "worker", "");
    (server, place)
}

/// The call has one response, and the agent's session is one.
fn answered_once(place: &Place) {
    let (caller, children) = journals(place);
    assert_eq!((count(&caller, "call_ended"), children.len()), (1, 1), "{caller:#?}");
    assert_eq!(count(&children[0], "turn_started"), 1, "{children:#?}");
}

#[test]
fn killed_with_a_command_of_its_agent_running_it_goes_on_and_nothing_runs_twice() {
    let (server, place) = with_command("echo once >> ran; sleep 600", "was running when the program ended");
    let mut child = place.spawn(&[&MODEL[..], &["--approval-mode", "yolo"]].concat());
    wait_until("the agent's command runs", || ran(&place) == ["once"]);
    child.kill().unwrap();
    child.wait().unwrap();
    ok(&place.run(&["--resume", "--approval-mode", "yolo"]), "All done.\n");
    assert_eq!(ran(&place), ["once"]);
    assert!(server.requests().pop().unwrap().body.to_string().contains("The worker is done."));
    answered_once(&place);
}

#[test]
fn a_question_of_an_agent_is_asked_where_its_caller_is() {
    let (_server, place) = with_command("echo once >> ran; echo it-ran", "it-ran");
    let mut terminal = Terminal::start(&place, &MODEL);
    terminal.wait_for("echo once");
    terminal.wait_for(ASKS);
    question(&place);
    terminal.type_in("y\n");
    let (code, shown) = terminal.finish();
    assert_eq!((code, ran(&place)), (Some(0), vec!["once".to_owned()]), "{shown}");
    answered_once(&place);
}

#[test]
fn a_question_of_an_agent_is_answered_by_another_process() {
    let (_server, place) = with_command("echo once >> ran; echo it-ran", "it-ran");
    let mut terminal = Terminal::start(&place, &MODEL);
    terminal.wait_for(ASKS);
    assert_eq!(answer(&place, &question(&place), &["yes"]).code, Some(0));
    let (code, shown) = terminal.finish();
    assert_eq!((code, ran(&place)), (Some(0), vec!["once".to_owned()]), "{shown}");
    answered_once(&place);
}

#[test]
fn killed_with_a_question_of_its_agent_open_the_question_is_asked_again() {
    let (server, place) = with_command("echo once >> ran; echo it-ran", "it-ran");
    for round in 0..2 {
        let arguments: &[&str] = if round == 0 { &MODEL } else { &["--resume"] };
        let mut terminal = Terminal::start(&place, arguments);
        terminal.wait_for("echo once");
        terminal.wait_for(ASKS);
        question(&place);
        terminal.kill();
    }
    assert!(ran(&place).is_empty());
    let mut terminal = Terminal::start(&place, &["--resume"]);
    terminal.wait_for(ASKS);
    terminal.type_in("y\n");
    let (code, shown) = terminal.finish();
    assert_eq!((code, ran(&place)), (Some(0), vec!["once".to_owned()]), "{shown}");
    assert!(server.requests().pop().unwrap().body.to_string().contains("The worker is done."));
    answered_once(&place);
    assert_eq!(place.run(&["approvals"]).out, "");
}

#[test]
fn an_answer_that_came_after_the_kill_is_not_lost() {
    let (_server, place) = with_command("echo once >> ran; echo it-ran", "it-ran");
    let mut terminal = Terminal::start(&place, &MODEL);
    terminal.wait_for(ASKS);
    terminal.kill();
    assert_eq!(answer(&place, &question(&place), &["yes"]).code, Some(0));
    assert!(ran(&place).is_empty());
    ok(&place.run(&["--resume"]), "All done.\n");
    assert_eq!(ran(&place), ["once"]);
    answered_once(&place);
}

/// A caller that was killed while its agent's command waited for a yes: the question as it is asked, and as the agent asks it.
fn killed_asking() -> (Server, Place, String, String) {
    let (server, place) = with_command("echo once >> ran; echo it-ran", "it-ran");
    let mut terminal = Terminal::start(&place, &MODEL);
    terminal.wait_for(ASKS);
    terminal.kill();
    let asked = question(&place);
    let (_, children) = journals(&place);
    let own = children[0].iter().find(|record| record["kind"] == "call_asked").unwrap();
    let own = own["approval"].as_str().unwrap().to_owned();
    assert_ne!(asked, own);
    (server, place, asked, own)
}

/// The first answer was no: nothing waits, a yes is too late, and nothing runs when the caller goes on, whose turn ends.
fn was_refused(place: &Place, ids: [&str; 2]) {
    assert_eq!(place.run(&["approvals"]).out, "");
    for id in ids {
        let late = answer(place, id, &["yes"]);
        assert_eq!(late.code, Some(1), "{id}: {}{}", late.out, late.err);
        assert!(late.err.contains("has answered already: no"), "{}", late.err);
    }
    let resumed = place.run(&["--resume"]);
    assert_eq!((resumed.code, ran(place)), (Some(130), Vec::new()), "{}{}", resumed.out, resumed.err);
    answered_once(place);
    assert_eq!(place.run(&["approvals"]).out, "");
}

#[test]
fn a_no_to_a_killed_callers_question_is_the_answer_to_its_agents() {
    let (server, place, asked, own) = killed_asking();
    assert_eq!(answer(&place, &asked, &["no"]).code, Some(0));
    let asked_before = server.requests().len();
    was_refused(&place, [&asked, &own]);
    assert_eq!(server.requests().len(), asked_before, "a plain no ends the turn: no model is asked");
}

#[test]
fn a_no_to_a_killed_agents_own_question_is_the_answer_to_its_callers() {
    let (_server, place, asked, own) = killed_asking();
    assert_eq!(answer(&place, &own, &["no"]).code, Some(0));
    was_refused(&place, [&asked, &own]);
}

#[test]
fn a_yes_to_a_killed_agents_own_question_runs_once() {
    let (_server, place, asked, own) = killed_asking();
    assert_eq!(answer(&place, &own, &["yes"]).code, Some(0));
    assert_eq!(answer(&place, &asked, &["no"]).code, Some(1));
    ok(&place.run(&["--resume"]), "All done.\n");
    assert_eq!(ran(&place), ["once"]);
    answered_once(&place);
}

#[test]
fn arguments_that_do_not_fit_are_refused_while_nobody_runs_and_the_question_stays() {
    let (_server, place, asked, own) = killed_asking();
    for id in [&asked, &own] {
        for wrong in [r#"{"command": 5}"#, "{}"] {
            let refused = answer(&place, id, &["edit", wrong]);
            assert_eq!(refused.code, Some(42), "{wrong}: {}{}", refused.out, refused.err);
            assert!(refused.err.contains("`command`"), "{}", refused.err);
            assert_eq!(question(&place), asked);
        }
    }
    assert_eq!(
        answer(&place, &asked, &["edit", r#"{"command": "echo other >> ran; echo it-ran"}"#]).code,
        Some(0)
    );
    ok(&place.run(&["--resume"]), "All done.\n");
    assert_eq!(ran(&place), ["other"]);
}

#[test]
fn an_agents_session_that_goes_on_alone_knows_what_its_caller_was_told() {
    let (_server, place, asked, own) = killed_asking();
    assert_eq!(answer(&place, &asked, &["no"]).code, Some(0));
    let (session, _) = own.split_once(':').unwrap();
    let (code, shown) = Terminal::start(&place, &["--resume", session]).finish();
    assert_eq!((code, ran(&place)), (Some(130), Vec::new()), "{shown}");
}

/// An agent's journal that was answered by a program that did not ask where the caller stands.
#[test]
fn what_a_caller_was_told_counts_over_a_later_answer_in_its_agents_journal() {
    let (_server, place, asked, own) = killed_asking();
    assert_eq!(answer(&place, &asked, &["no", "not", "now"]).code, Some(0));
    let (session, _) = own.split_once(':').unwrap();
    let path = place.home().join(format!("sessions/{session}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let yes = json!({
        "seq": last["seq"].as_u64().unwrap() + 1, "at": last["at"], "kind": "approval_answered",
        "approval": own, "outcome": {"outcome": "proceed_once"}, "by": "somebody else",
    });
    std::fs::write(&path, format!("{text}{yes}\n")).unwrap();
    let resumed = place.run(&["--resume"]);
    assert_eq!((resumed.code, ran(&place)), (Some(0), Vec::new()), "{}{}", resumed.out, resumed.err);
    answered_once(&place);
}

#[test]
fn cancelling_a_caller_cancels_its_agent() {
    let (_server, place) = with_command("echo once >> ran; sleep 600", "x");
    let mut child = place.spawn(&[&MODEL[..], &["--approval-mode", "yolo"]].concat());
    wait_until("the agent's command runs", || ran(&place) == ["once"]);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let (caller, children) = journals(&place);
    let ended = |records: &[Value]| {
        records.iter().find(|record| record["kind"] == "turn_ended").map(|record| record["end"].clone())
    };
    assert_eq!((ended(&caller), ended(&children[0])), (Some(json!("cancelled")), Some(json!("cancelled"))));
}

#[test]
fn agents_that_work_at_once_spend_what_their_caller_has_left_together() {
    let step = |letter: char| {
        let usage = Usage { prompt: 100, output: 50, ..Usage::default() };
        shell(&format!("echo step-{letter}")).usage(usage)
    };
    let mut rules = Vec::new();
    for name in ["one", "two"] {
        rules.push(says(name, None, step('a')));
        rules.extend(('a'..='y').map(|last| {
            let next = char::from_u32(u32::from(last) + 1).unwrap();
            says(name, Some(&format!("step-{last}")), step(next))
        }));
    }
    let little = Usage { prompt: 10, output: 10, ..Usage::default() };
    let server = scripted(vec![invoke(&["one", "two"]).usage(little), "Never said.".into()], rules);
    let place = place(&server);
    agent(&place, "one", "");
    agent(&place, "two", "");
    let run = place.run(&[&MODEL[..], &["--approval-mode", "yolo", "--max-tokens", "1200"]].concat());
    assert_eq!(run.code, Some(53), "{}", run.err);
    // Each alone could ask eight times before it has spent 1200.
    let asked = requests_with(&server, "task for").len();
    assert!((7..=11).contains(&asked), "{asked}: {}", run.err);
    let (caller, _) = journals(&place);
    let told = caller.iter().filter(|record| record["kind"] == "call_ended");
    let told: Vec<String> = told.map(|record| record["response"].to_string()).collect();
    assert!(
        told.iter().any(|told| told.contains("its caller's limit of 1200 tokens is reached")),
        "{told:?}"
    );
}
