//! Several servers on one database: any of them takes any request, and what one leaves the others go on with.

use std::time::{Duration, Instant};

use charla_testkit::{Postgres, Reply, Script, Server};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::{Event, Served};
use super::{place, write};
use crate::place::{PATIENCE, Place, server};

/// Short, so that the tests are; long enough for a busy machine.
const LEASE: &str = "3";

/// Three nodes of one user, one database and one model.
struct Nodes {
    nodes: Vec<Served>,
    place: Place,
    model: Server,
    postgres: Postgres,
}

impl Nodes {
    fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let (postgres, model) = (Postgres::start().unwrap(), server(Script::new(replies)));
        let place = place(&model).variable("CHARLA_DATABASE", &postgres.address());
        let nodes = (0..3).map(|_| node(&place)).collect();
        Self { nodes, place, model, postgres }
    }

    /// Kills the node of this number, as a power cut would.
    fn kill(&mut self, number: usize) {
        self.nodes.remove(number).kill();
    }

    /// A session whose calls need no yes; its id.
    fn begin_allowed(&self, number: usize, prompt: &str) -> String {
        let content = json!({"role": "user", "parts": [{"text": prompt}]});
        let wanted = json!({"model": "openai/gpt-test", "mode": "yolo", "prompt": content});
        let created = self.nodes[number].post("/sessions", &wanted);
        assert_eq!(created.status, 201, "{}", created.text());
        created.json()["session"].as_str().unwrap().to_owned()
    }

    /// Adds a member who works in a folder of the place and asks the nodes' model; a token of theirs.
    fn member(&self, name: &str) -> String {
        let (given, folder) = (self.place.path().join("given"), self.place.home().join("server"));
        for needed in [&given, &folder] {
            std::fs::create_dir_all(needed).unwrap();
        }
        let address = self.model.base_url(charla_proto::WireKind::OpenaiChat);
        let settings =
            json!({"model": {"name": "openai/gpt-4.1"}, "providers": {"openai": {"baseUrl": address}}});
        std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        let password = "a long enough one";
        let account = json!({"name": name, "role": "member", "workspace": given, "password": password});
        assert_eq!(self.nodes[0].post("/users", &account).status, 201);
        let body = json!({"name": name, "password": password}).to_string();
        let signed = self.nodes[1].request("POST", "/api/v1/sign-in", &[], body.as_bytes());
        let cookie = signed.header("set-cookie").split(';').next().unwrap().to_owned();
        let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
        let made = self.nodes[1].request("POST", "/api/v1/tokens", &headers, br#"{"label": "x"}"#).json();
        let token = made["token"].as_str().unwrap().to_owned();
        let key = json!({"provider": "openai", "key": "k"});
        let kept = self.nodes[0].with_token(&token).post("/keys", &key);
        assert_eq!(kept.status, 204, "at once at any node: {}", kept.text());
        token
    }

    /// How many records of this kind the session has now.
    fn count_now(&self, session: &str, kind: &str) -> usize {
        let read = self.nodes[0].get(&format!("/sessions/{session}/records")).json();
        count(read["records"].as_array().unwrap(), kind)
    }

    /// Every record of a session at rest, each once and without a gap, read from every node.
    fn records(&self, session: &str) -> Vec<Value> {
        let read =
            |node: &Served| node.get(&format!("/sessions/{session}/records")).json()["records"].clone();
        let records = read(&self.nodes[0]).as_array().unwrap().clone();
        let numbers: Vec<u64> = records.iter().map(|record| record["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<_>>());
        assert!(self.nodes.iter().all(|node| read(node) == json!(records)));
        records
    }
}

fn node(place: &Place) -> Served {
    Served::with(place, &["--listen", "127.0.0.1:0", "--lease", LEASE])
}

fn count(records: &[Value], kind: &str) -> usize {
    records.iter().filter(|record| record["kind"] == kind).count()
}

fn id(question: &Value) -> String {
    question["asked"]["approval"].as_str().unwrap().to_owned()
}

/// Looks until it is so.
pub(super) fn until(what: &str, mut look: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !look() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn ended(events: &[Event]) -> &Value {
    &events.last().unwrap().data["end"]
}

#[test]
fn any_node_takes_any_request() {
    let nodes = Nodes::start([write("a.txt"), "Written.".into(), "Again.".into()]);
    let [a, b, c] = &nodes.nodes[..] else { panic!() };
    let session = a.begin("write it");
    let question = b.questions(1).remove(0);
    assert_eq!(question["state"], "in_use");
    let mut events = b.events(&session, 0);
    events.until("call_asked");
    let path = format!("/approvals/{}", id(&question));
    let key = [("idempotency-key", "k1")];
    let answered = c.post_with(&path, &json!({"outcome": "proceed_once"}), &key);
    assert_eq!((answered.status, &answered.json()["reply"]), (200, &json!("done")), "{}", answered.text());
    assert_eq!(ended(&events.until("turn_ended")), "finished");
    assert_eq!(nodes.place.read("a.txt").as_deref(), Some("Hello.\n"));
    // The key is known to every node, with its answer; with another request it is refused.
    let again = b.post_with(&path, &json!({"outcome": "proceed_once"}), &key);
    assert_eq!((again.status, again.body), (200, answered.body));
    let other = a.post_with(&path, &json!({"outcome": "cancel"}), &key);
    assert_eq!((other.status, &other.json()["kind"]), (409, &json!("key_reused")));
    let late = a.post(&path, &json!({"outcome": "cancel"}));
    assert_eq!((late.status, &late.json()["kind"]), (409, &json!("late")));
    // A prompt with a picture is longer than what goes between processes of one machine.
    let long = "x".repeat(3 * 1024 * 1024);
    let content = json!({"role": "user", "parts": [{"text": long}]});
    let prompted =
        c.post(&format!("/sessions/{session}/commands"), &json!({"command": "prompt", "content": content}));
    assert_eq!(prompted.status, 200, "{}", prompted.text());
    events.until("turn_ended");
    assert_eq!(count(&nodes.records(&session), "turn_started"), 2);
    assert!(b.get("/metrics").text().contains("charla_database_up 1"));
    let checked = nodes.place.run(&["audit", "verify"]);
    assert!(checked.out.contains("the chain is whole"), "{checked:?}");
}

#[test]
fn a_command_whose_answer_is_lost_is_not_done_again_with_its_key() {
    let nodes = Nodes::start(["Hello.".into(), "Once.".into(), "Twice.".into()]);
    let [a, b, c] = &nodes.nodes[..] else { panic!() };
    let session = a.begin("hello");
    a.events(&session, 0).until("turn_ended");
    // Replies from node to node are lost on their way.
    let lose = "create function charla.lose() returns trigger language plpgsql as
        'begin delete from charla.commands where id = new.id; return null; end';
        create trigger lose before update on charla.commands for each row
        when (new.outcome is not null) execute function charla.lose()";
    nodes.postgres.run("psql", &["-d", "postgres", "-c", lose]).unwrap();
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "again"}]}});
    let send = |node: &Served, key: &str| {
        let sent =
            node.post_with(&format!("/sessions/{session}/commands"), &prompt, &[("idempotency-key", key)]);
        (sent.status, sent.json()["kind"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(send(b, "k1"), (502, "no_reply".to_owned()));
    let interrupted = (409, "interrupted".to_owned());
    assert_eq!(send(b, "k1"), interrupted);
    until("another node does not know of it", || send(c, "k1") == interrupted);
    assert_eq!(send(a, "k1"), interrupted);
    until("the prompt is not answered", || nodes.count_now(&session, "turn_ended") == 2);
    assert_eq!(count(&nodes.records(&session), "turn_started"), 2, "the prompt was taken once");
}

#[test]
fn a_key_that_was_claimed_and_not_used_is_free_again_at_every_node() {
    let nodes = Nodes::start(["unused".into()]);
    let psql = |text: &str| drop(nodes.postgres.run("psql", &["-d", "postgres", "-c", text]).unwrap());
    let send = |node: &Served| node.post_with("/sessions", &json!({}), &[("idempotency-key", "k1")]).status;
    // The claim is written, and whose it is cannot be read.
    psql("alter table charla.nodes rename to hidden");
    assert_eq!(send(&nodes.nodes[0]), 503);
    psql("alter table charla.hidden rename to nodes");
    let begin = Instant::now();
    assert_eq!(send(&nodes.nodes[1]), 201);
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
}

#[test]
fn a_session_that_is_being_opened_while_its_user_is_given_something_else_does_not_run() {
    let mut nodes = Nodes::start(["Hello.".into(), "Again.".into()]);
    let token = nodes.member("anna");
    let session = nodes.nodes[2].with_token(&token).begin("hello");
    nodes.nodes[2].with_token(&token).events(&session, 0).until("turn_ended");
    assert_eq!(nodes.nodes.remove(2).end(), Some(0), "nobody has it open");
    let (owner, anna) = (&nodes.nodes[0], nodes.nodes[0].with_token(&token));
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "again"}]}});
    let send = || anna.post(&format!("/sessions/{session}/commands"), &prompt);
    let postgres = &nodes.postgres;
    let psql = |arguments: &[&str]| postgres.run("psql", &[&["-d", "postgres", "-At"], arguments].concat());
    // Whoever opens a session looks for its outputs.
    let locks = |granted: &str| {
        let query = format!(
            "select count(*) from pg_locks where relation = 'charla.outputs'::regclass and {granted} granted
            and (not granted or mode = 'AccessExclusiveLock')"
        );
        String::from_utf8(psql(&["-c", &query]).unwrap()).unwrap().trim() != "0"
    };
    std::thread::scope(|scope| {
        let lock = "lock table charla.outputs in access exclusive mode";
        scope.spawn(|| psql(&["-c", "begin", "-c", lock, "-c", "select pg_sleep(60)"]));
        until("nobody holds the outputs", || locks(""));
        let opening = scope.spawn(send);
        until("no session is being opened", || locks("not"));
        let changed = owner.post("/users/anna", &json!({"network": true}));
        let free = "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(%' and pid <> pg_backend_pid()";
        psql(&["-c", free]).unwrap();
        assert_eq!(changed.status, 200, "{}", changed.text());
        let opened = opening.join().unwrap();
        assert_eq!((opened.status, &opened.json()["kind"]), (409, &json!("conflict")), "{}", opened.text());
    });
    let again = send();
    assert_eq!(again.status, 200, "{}", again.text());
}

#[test]
fn a_session_that_rests_at_one_node_is_taken_away_and_deleted_at_another_and_one_at_work_is_not() {
    let nodes = Nodes::start(["Hello.".into(), write("a.txt")]);
    let [a, b, c] = &nodes.nodes[..] else { panic!() };
    let session = a.begin("hello");
    a.events(&session, 0).until("turn_ended");
    let path = format!("/sessions/{session}");
    assert_eq!(b.get(&path).json()["state"], "in_use");
    let bundle = b.get(&format!("{path}/bundle"));
    assert_eq!(bundle.status, 200, "{}", bundle.text());
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "write it"}]}});
    assert_eq!(a.post(&format!("{path}/commands"), &prompt).status, 200);
    let question = id(&b.questions(1)[0]);
    let refused = c.delete(&path);
    assert_eq!((refused.status, &refused.json()["kind"]), (409, &json!("in_use")), "{}", refused.text());
    assert_eq!(b.post(&format!("/approvals/{question}"), &json!({"outcome": "cancel"})).status, 200);
    until("the turn goes on", || nodes.count_now(&session, "turn_ended") == 2);
    assert_eq!(c.delete(&path).status, 204, "it rests now");
    assert_eq!(a.get(&path).status, 404);
}

#[test]
fn a_question_of_a_node_that_is_killed_waits_and_its_turn_goes_on_with_the_answer() {
    let mut nodes = Nodes::start([write("a.txt"), "Written.".into()]);
    let session = nodes.nodes[0].begin("write it");
    let question = id(&nodes.nodes[1].questions(1)[0]);
    nodes.kill(0);
    let [b, c] = &nodes.nodes[..] else { panic!() };
    // It can be answered at once, and again once another node has gone on with the session.
    let mut events = b.events(&session, 0);
    until("nobody goes on with the session", || {
        let state = |node: &Served| node.get(&format!("/sessions/{session}")).json()["state"].clone();
        [state(b), state(c)].contains(&json!("running"))
    });
    assert_eq!(id(&b.questions(1)[0]), question);
    let answered = c.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(ended(&events.until("turn_ended")), "finished");
    let records = nodes.records(&session);
    let counts =
        ["call_asked", "approval_answered", "call_started", "call_ended"].map(|kind| count(&records, kind));
    assert_eq!(counts, [1, 1, 1, 1], "{records:?}");
    assert_eq!(nodes.model.requests().len(), 2);
}

#[test]
fn a_tool_of_a_node_that_is_killed_is_reported_as_interrupted_and_not_run_again() {
    let command = json!({"command": "echo once >> ran; sleep 60"});
    let mut nodes = Nodes::start([Reply::new().call("run_shell_command", command), "I see.".into()]);
    let session = nodes.begin_allowed(0, "run it");
    until("the tool does not run", || nodes.place.read("ran").is_some());
    nodes.kill(0);
    let mut events = nodes.nodes[0].events(&session, 0);
    let events = events.until("turn_ended");
    assert_eq!(ended(&events), "finished");
    assert_eq!(nodes.place.read("ran").as_deref(), Some("once\n"));
    let told = nodes.model.requests().last().unwrap().body.to_string();
    assert!(told.contains("This call was running when the program ended"), "{told}");
    let records = nodes.records(&session);
    let counts = ["call_started", "call_ended", "turn_resumed"].map(|kind| count(&records, kind));
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn a_turn_of_a_node_that_is_killed_while_it_streams_goes_on() {
    let mut nodes = Nodes::start([Reply::new().text("Half of").stall(), "All of it.".into()]);
    let session = nodes.begin_allowed(0, "tell me");
    until("the model is not asked", || nodes.model.requests().len() == 1);
    nodes.kill(0);
    let events = nodes.nodes[1].events(&session, 0).until("turn_ended");
    assert_eq!(ended(&events), "finished");
    let said: Vec<&Event> = events.iter().filter(|event| event.data["kind"] == "model_content").collect();
    assert_eq!(said.len(), 1);
    assert!(said[0].data.to_string().contains("All of it."));
    assert_eq!(nodes.model.requests().len(), 2);
}

#[test]
fn a_node_that_was_paused_longer_than_its_lease_writes_nothing_more() {
    let nodes = Nodes::start([write("a.txt"), "Written.".into(), "Here.".into()]);
    let [a, b, c] = &nodes.nodes[..] else { panic!() };
    let session = a.begin("write it");
    let question = id(&b.questions(1)[0]);
    a.signal(Signal::STOP);
    until("nobody goes on with the session", || {
        let state = |node: &Served| node.get(&format!("/sessions/{session}")).json()["state"].clone();
        [state(b), state(c)].contains(&json!("running"))
    });
    a.signal(Signal::CONT);
    // It still believes that the question is its own to be answered: what it writes is refused, and nothing is run.
    let path = format!("/approvals/{question}");
    let first = a.post(&path, &json!({"outcome": "proceed_once"}));
    let answered = match first.status {
        200 => first,
        _ => {
            until("it does not learn that the session is another's", || {
                a.get(&format!("/sessions/{session}")).json()["state"] == "in_use"
            });
            a.post(&path, &json!({"outcome": "proceed_once"}))
        }
    };
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(ended(&b.events(&session, 0).until("turn_ended")), "finished");
    let records = nodes.records(&session);
    let counts =
        ["call_asked", "approval_answered", "call_started", "call_ended"].map(|kind| count(&records, kind));
    assert_eq!(counts, [1, 1, 1, 1], "{records:?}");
    assert_eq!(nodes.place.read("a.txt").as_deref(), Some("Hello.\n"));
    // And what it is asked from now on it passes on.
    let content = json!({"role": "user", "parts": [{"text": "still there?"}]});
    let prompted =
        a.post(&format!("/sessions/{session}/commands"), &json!({"command": "prompt", "content": content}));
    assert_eq!(prompted.status, 200, "{}", prompted.text());
    until("the prompt is not answered", || nodes.count_now(&session, "turn_ended") == 2);
}

#[test]
fn a_database_that_is_started_anew_stalls_turns_and_loses_nothing() {
    const SESSIONS: usize = 6;
    const STEPS: usize = 8;
    let step = |n| {
        let command = format!("echo {n} >> ran; sleep 0.1");
        Reply::new().call("run_shell_command", json!({"command": command}))
    };
    let replies = (0..SESSIONS * STEPS).map(step);
    let done = std::iter::repeat_with(|| "Done.".into()).take(SESSIONS);
    let mut nodes = Nodes::start(replies.chain(done));
    let sessions: Vec<String> = (0..SESSIONS).map(|n| nodes.begin_allowed(n % 3, "go")).collect();
    until("nothing runs", || nodes.place.read("ran").is_some_and(|ran| ran.lines().count() > SESSIONS));
    let mut overview = nodes.nodes[2].overview();
    nodes.postgres.stop().unwrap();
    assert_eq!(overview.until_named("database").data, json!({"up": false}));
    until("the stall is not seen", || nodes.nodes.iter().all(|node| node.get("/ready").status == 503));
    assert_eq!(nodes.nodes[0].get("/health").status, 200);
    assert_eq!(nodes.nodes[0].post("/sessions", &json!({})).status, 503);
    let counts = nodes.nodes[0].get("/metrics");
    assert!(counts.status == 200 && counts.text().contains("charla_database_up 0"), "{}", counts.text());
    assert!(!counts.text().contains("charla_approvals_waiting"), "nobody can tell now");
    let guess = json!({"name": "anna", "password": "a long enough one"}).to_string();
    let signing_in = nodes.nodes[0].request("POST", "/api/v1/sign-in", &[], guess.as_bytes());
    assert_eq!(signing_in.status, 503, "{}", signing_in.text());
    assert_ne!(signing_in.json()["kind"], "audit", "nobody waits for a log that is away, too");
    nodes.postgres.start_again().unwrap();
    until("the database is not found again", || {
        nodes.nodes.iter().all(|node| node.get("/ready").status == 200)
    });
    for session in &sessions {
        until("a turn does not end", || nodes.count_now(session, "turn_ended") == 1);
        let records = nodes.records(session);
        let ended = records.iter().find(|record| record["kind"] == "turn_ended").unwrap();
        assert_eq!(ended["end"], "finished", "{ended}");
        assert_eq!(count(&records, "call_started"), count(&records, "call_ended"));
        assert_eq!(count(&records, "turn_resumed"), 0, "every node kept its sessions");
    }
    assert_eq!(nodes.place.read("ran").unwrap().lines().count(), SESSIONS * STEPS);
}

#[test]
fn a_node_that_is_asked_to_end_hands_its_sessions_on() {
    let mut nodes = Nodes::start([write("a.txt"), "Written.".into()]);
    let session = nodes.nodes[0].begin("write it");
    let question = id(&nodes.nodes[1].questions(1)[0]);
    assert_eq!(nodes.nodes.remove(0).end(), Some(0));
    let b = &nodes.nodes[0];
    assert_eq!(b.get(&format!("/sessions/{session}")).json()["state"], "stored");
    let answered = b.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(ended(&nodes.nodes[1].events(&session, 0).until("turn_ended")), "finished");
}

#[test]
fn accounts_are_known_to_every_node_and_a_users_turn_outlives_the_node_it_ran_on() {
    let mut nodes = Nodes::start([write("a.txt"), "Written.".into()]);
    let given = nodes.place.path().join("given");
    let token = nodes.member("anna");
    let listed = nodes.place.run(&["users", "list", "--json"]);
    assert!(listed.out.contains("anna"), "{}{}", listed.out, listed.err);
    let client = |nodes: &Nodes, number: usize, path: &str, body: &Value| {
        nodes.nodes[number].with_token(&token).post(path, body).status
    };
    let session = nodes.nodes[2].with_token(&token).begin("write it");
    let question = id(&nodes.nodes[2].with_token(&token).questions(1)[0]);
    nodes.kill(2);
    until("another node has gone on with it", || {
        let entry = nodes.nodes[0].with_token(&token).get(&format!("/sessions/{session}")).json();
        entry["state"] != "stored"
    });
    assert_eq!(nodes.nodes[1].get(&format!("/sessions/{session}")).status, 404, "it is nobody else's");
    let answer = json!({"outcome": "proceed_once"});
    assert_eq!(client(&nodes, 0, &format!("/approvals/{question}"), &answer), 200);
    nodes.nodes[1].with_token(&token).events(&session, 0).until("turn_ended");
    assert_eq!(std::fs::read_to_string(given.join("a.txt")).unwrap(), "Hello.\n");
}

#[test]
fn what_users_spend_is_counted_for_all_nodes_without_a_word_in_the_accounts() {
    use charla_testkit::Usage;
    let said = |text: &str| {
        Reply::new().text(text).usage(Usage { prompt: 300, output: 100, thoughts: 0, cached: 0 })
    };
    let nodes = Nodes::start([said("One."), said("Two.")]);
    let token = nodes.member("anna");
    assert_eq!(nodes.nodes[0].post("/users/anna", &json!({"budget": {"tokens": 700}})).status, 200);
    let ask = |text: &str| {
        let said = nodes.postgres.run("psql", &["-d", "postgres", "-Atc", text]).unwrap();
        String::from_utf8(said).unwrap().trim().to_owned()
    };
    let anna = |number: usize| nodes.nodes[number].with_token(&token);
    let before = ask("select md5(book) from charla.accounts");
    for (number, spent) in [(1, 400), (2, 800)] {
        until("the budget is not known", || {
            let content = json!({"role": "user", "parts": [{"text": "go"}]});
            anna(number).post("/sessions", &json!({"prompt": content})).status == 201
        });
        until("it is not counted everywhere", || {
            (0..3).all(|node| anna(node).get("/me").json()["spent_today"]["tokens"] == spent)
        });
    }
    let content = json!({"role": "user", "parts": [{"text": "more"}]});
    assert_eq!(anna(0).post("/sessions", &json!({"prompt": content})).status, 402);
    assert_eq!(ask("select md5(book) from charla.accounts"), before, "nobody else waited for it");
    assert_eq!(ask("select person like 'anna~%', model <> '', tokens from charla.spending"), "t|t|800");
}

/// How long who was removed may go on at another node.
const SOON: Duration = Duration::from_secs(10);

/// The turn of a member that runs a long command at the second node: their token and the session.
fn at_work(nodes: &Nodes) -> (String, String) {
    let token = nodes.member("anna");
    let b = nodes.nodes[1].with_token(&token);
    let content = json!({"role": "user", "parts": [{"text": "go"}]});
    let created = b.post("/sessions", &json!({"mode": "yolo", "prompt": content}));
    assert_eq!(created.status, 201, "{}", created.text());
    let session = created.json()["session"].as_str().unwrap().to_owned();
    b.events(&session, 0).until("call_started");
    (token, session)
}

/// What the journal of somebody's session says, whoever may ask for it.
fn written(nodes: &Nodes, kind: &str) -> usize {
    let query = format!("select count(*) from charla.records where body like '%\"kind\":\"{kind}\"%'");
    let counted = nodes.postgres.run("psql", &["-d", "postgres", "-Atc", &query]).unwrap();
    String::from_utf8_lossy(&counted).trim().parse().unwrap()
}

fn sleeps() -> Reply {
    Reply::new().call("run_shell_command", json!({"command": "sleep 120"}))
}

#[test]
fn who_is_removed_at_one_node_has_nothing_run_followed_or_believed_at_another() {
    let nodes = Nodes::start([sleeps(), "Never.".into()]);
    let (token, session) = at_work(&nodes);
    let [a, b, c] = [0, 1, 2].map(|number| nodes.nodes[number].with_token(&token));
    // One that follows the session, and one that hears nothing but what concerns all of them.
    let (mut session_events, mut overview) = (b.events(&session, 0), c.overview());
    overview.next().unwrap();
    let begin = Instant::now();
    assert_eq!(nodes.nodes[0].delete("/users/anna").status, 204);
    assert_eq!(a.get("/me").status, 401, "at once where it was done");
    until("the token counts elsewhere", || [&b, &c].iter().all(|node| node.get("/me").status == 401));
    while session_events.next().is_some() {}
    while overview.next().is_some() {}
    until("the turn goes on", || written(&nodes, "turn_ended") == 1);
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    assert_eq!(nodes.model.requests().len(), 1, "nothing more was asked");
}

#[test]
fn who_may_only_look_from_now_on_has_nothing_run_at_another_node_and_follows_still() {
    let nodes = Nodes::start([sleeps(), "Never.".into()]);
    let (token, session) = at_work(&nodes);
    let b = nodes.nodes[1].with_token(&token);
    let mut events = b.events(&session, 0);
    let begin = Instant::now();
    assert_eq!(nodes.nodes[0].post("/users/anna", &json!({"role": "viewer"})).status, 200);
    let end = events.until("turn_ended").pop().unwrap();
    assert_eq!(end.data["end"], "cancelled", "{end:?}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "more"}]}});
    assert_eq!(b.post(&format!("/sessions/{session}/commands"), &prompt).status, 403);
    assert_eq!(b.get(&format!("/sessions/{session}")).status, 200);
    assert_eq!(nodes.model.requests().len(), 1, "nothing more was asked");
}

#[test]
fn a_backup_is_restored_and_its_sessions_go_on() {
    let mut nodes = Nodes::start([write("a.txt"), "Written.".into()]);
    let session = nodes.nodes[0].begin("write it");
    let question = id(&nodes.nodes[1].questions(1)[0]);
    let file = nodes.postgres.folder().join("charla.dump").display().to_string();
    let run =
        |nodes: &Nodes, program, arguments: &[&str]| drop(nodes.postgres.run(program, arguments).unwrap());
    run(&nodes, "pg_dump", &["--format=custom", "--schema=charla", "--file", &file, "--dbname=postgres"]);
    nodes.nodes.clear();
    run(&nodes, "psql", &["--quiet", "--dbname=postgres", "--command=drop schema charla cascade"]);
    run(&nodes, "pg_restore", &["--clean", "--if-exists", "--dbname=postgres", &file]);
    let node = node(&nodes.place);
    assert_eq!(id(&node.questions(1)[0]), question);
    let answered = node.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"}));
    assert_eq!(answered.status, 200, "{}", answered.text());
    assert_eq!(ended(&node.events(&session, 0).until("turn_ended")), "finished");
    assert_eq!(nodes.place.read("a.txt").as_deref(), Some("Hello.\n"));
}

#[test]
fn text_streams_to_clients_of_other_nodes_while_it_comes() {
    let nodes = Nodes::start([Reply::new().text("Half of ").text("what is said").stall()]);
    let [a, b, _] = &nodes.nodes[..] else { panic!() };
    let session = nodes.begin_allowed(0, "tell me");
    let mut events = b.events(&session, 0);
    let mut words = String::new();
    // Nothing of it is in a record yet.
    while !words.contains("what is said") {
        let event = events.until_named("turn");
        if event.data["type"] == "message" {
            words.push_str(event.data["content"].as_str().unwrap());
        }
    }
    assert!(words.contains("Half of what is said"), "{words}");
    assert_eq!(nodes.count_now(&session, "model_content"), 0);
    let entry = b.get(&format!("/sessions/{session}")).json();
    assert_eq!((&entry["state"], entry["node"].as_str().map(str::len)), (&json!("in_use"), Some(32)));
    assert_eq!(a.get(&format!("/sessions/{session}")).json()["node"], Value::Null);
}

#[test]
fn who_signs_in_at_one_node_is_signed_in_at_all() {
    let nodes = Nodes::start(["unused".into()]);
    let [a, b, c] = &nodes.nodes[..] else { panic!() };
    // The link that one node printed, used at another.
    let sign_in = |node: &Served| {
        let origin = format!("http://{}", node.address);
        let body = json!({"code": a.code}).to_string();
        node.request("POST", "/api/v1/sign-in", &[("origin", &origin)], body.as_bytes())
    };
    let signed = sign_in(b);
    assert_eq!(signed.status, 200, "{}", signed.text());
    assert_eq!([sign_in(a).status, sign_in(c).status], [401, 401], "it signs in once");
    let cookie = signed.header("set-cookie").split(';').next().unwrap();
    // Each port has a cookie of its own name; behind one address there is one.
    let (_, secret) = cookie.split_once('=').unwrap();
    let (_, port) = c.address.rsplit_once(':').unwrap();
    let cookie = format!("charla-{port}={secret}");
    assert_eq!(c.request("GET", "/api/v1/me", &[("cookie", &cookie)], b"").status, 200);
}
