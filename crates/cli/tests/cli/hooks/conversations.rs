//! What a hook gives back of a conversation with calls in it, and hooks of sessions at a server.

use super::*;
use crate::serving::client::Served;

#[test]
fn words_that_a_hook_changes_leave_calls_and_results() {
    // Whatever was said before is said in capitals; the call and its result are none of the hook's.
    let program = "import json, sys\n\
        request = json.load(sys.stdin)['llm_request']\n\
        messages = [dict(m, content=m['content'].upper()) for m in request['messages']]\n\
        print(json.dumps({'hookSpecificOutput': {'llm_request': {'messages': messages}}}))";
    let hook = format!("python3 -c {}", shell_quote(program));
    for model in ["openai/gpt-test", "anthropic/claude-test", "gemini/gemini-test"] {
        let called = Reply::new().text("i list").call("list_directory", json!({"dir_path": "."}));
        let server = server(Script::new([called, "Done.".into()]));
        let place = place(&server, &at("BeforeModel", &hook)).file("seen-by-ls.txt", "");
        let run = place.run(&["-m", model, "--approval-mode", "yolo", "-p", "list it"]);
        assert_eq!((run.code, run.out.as_str()), (Some(0), "Done.\n"), "{model}: {}", run.err);
        let asked = asked(&server, 1);
        assert!(asked.contains("LIST IT") && asked.contains("I LIST"), "{model}: {asked}");
        assert!(asked.contains("list_directory") && asked.contains("seen-by-ls.txt"), "{model}: {asked}");
        assert!(server.problems().is_empty(), "{model}: {:?}", server.problems());
    }
}

#[test]
fn hooks_run_in_sessions_of_a_server() {
    let deny = keeps(
        "if grep -q write_file seen; then echo '{\"decision\":\"deny\",\"reason\":\"not at a server\"}'; fi",
    );
    let mut hooks = at("BeforeTool", &deny);
    for event in ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"] {
        hooks[event] = at(event, &keeps(""))[event].clone();
    }
    let server = server(Script::new([writes("x"), "I could not.".into()]));
    let settings = json!({"hooks": hooks, "model": {"name": MODEL}, "tools": {"approvalMode": "yolo"}});
    let place = Place::with_server(&server).settings(&settings.to_string());
    let served = Served::start(&place);
    let session = served.begin("write it");
    served.events(&session, 0).until("turn_ended");
    assert_eq!(place.read("a.txt"), None);
    assert!(asked(&server, 1).contains("Tool execution blocked: not at a server"), "{}", asked(&server, 1));
    assert_eq!(served.end(), Some(0));
    let seen = seen(&place);
    let names: Vec<&str> = seen.iter().map(|input| input["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["SessionStart", "BeforeAgent", "BeforeTool", "AfterAgent", "SessionEnd"]);
    let of = |at: usize, key: &str| seen[at][key].clone();
    assert_eq!((of(0, "source"), of(4, "reason")), (json!("startup"), json!("exit")));
    assert!(seen.iter().all(|input| input["session_id"] == session.as_str()), "{seen:?}");
}
