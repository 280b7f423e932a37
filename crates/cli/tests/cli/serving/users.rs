//! Users with accounts: what is theirs, and what stays out of their reach.

use charla_testkit::{Otherwise, Reply, Script, Usage};
use serde_json::{Value, json};

use super::client::{Client, Served};
use super::team::{PASSWORD, Team, share};
use super::{place, write};
use crate::place::server;

fn question(client: &Client<'_>) -> String {
    client.questions(1)[0]["asked"]["approval"].as_str().unwrap().to_owned()
}

fn answer(client: &Client<'_>, question: &str) -> u16 {
    client.post(&format!("/approvals/{question}"), &json!({"outcome": "proceed_once"})).status
}

fn run(command: &str) -> Reply {
    Reply::new().call("run_shell_command", json!({"command": command}))
}

/// What the tool of the last call was told.
fn told(team: &Team) -> String {
    team.server.requests().last().unwrap().body["messages"].as_array().unwrap().last().unwrap()["content"]
        .to_string()
}

#[test]
fn accounts_are_made_listed_changed_and_removed_at_the_command_line_while_the_server_runs() {
    let server = server(Script::new(["unused"]));
    let place = place(&server);
    let served = super::client::Served::start(&place);
    let folder = place.path().join("given");
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let with_password = |arguments: &[&str]| {
        let output = place.command(arguments).write_stdin(format!("{PASSWORD}\n")).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let added = with_password(&["users", "add", "anna", "--workspace", folder, "--tokens-per-day", "500"]);
    assert_eq!(added.0, Some(0), "{}", added.1);
    assert_ne!(with_password(&["users", "add", "anna", "--workspace", folder]).0, Some(0), "taken");
    for dollars in ["-1", "NaN", "much"] {
        let budget = format!("--usd-per-day={dollars}");
        let refused = with_password(&["users", "add", "ben", "--workspace", folder, &budget]);
        assert!(refused.0 != Some(0) && refused.1.contains("not less than 0"), "{}", refused.1);
    }
    let home = place.home();
    let refused = with_password(&["users", "add", "ben", "--workspace", home.to_str().unwrap()]);
    assert!(refused.0 != Some(0) && refused.1.contains("cannot be given"), "{}", refused.1);
    let weak =
        place.command(&["users", "add", "ben", "--workspace", folder]).write_stdin("short").output().unwrap();
    assert!(String::from_utf8_lossy(&weak.stderr).contains("at least 10"));
    let listed: Value = serde_json::from_str(&place.run(&["users", "list", "--json"]).out).unwrap();
    assert_eq!(listed["users"][0]["name"], "anna");
    let below = std::path::Path::new(folder).join("below");
    std::fs::create_dir_all(&below).unwrap();
    let nested = with_password(&["users", "add", "carl", "--workspace", below.to_str().unwrap()]);
    assert!(nested.0 == Some(0) && nested.1.contains("reach each other's files"), "{}", nested.1);
    assert!(!added.1.contains("reach each other's files"), "{}", added.1);
    assert_eq!(place.run(&["users", "remove", "carl"]).code, Some(0));
    assert_eq!(
        (&listed["users"][0]["role"], &listed["users"][0]["budget"]["tokens"]),
        (&json!("member"), &json!(500))
    );
    let sign_in = |password: &str| {
        let body = json!({"name": "anna", "password": password}).to_string();
        served.request("POST", "/api/v1/sign-in", &[], body.as_bytes())
    };
    let signed = sign_in(PASSWORD);
    assert_eq!((signed.status, &signed.json()["role"]), (200, &json!("member")), "{}", signed.text());
    let cookie = signed.header("set-cookie").split(';').next().unwrap().to_owned();
    let me = || served.request("GET", "/api/v1/me", &[("cookie", &cookie)], b"");
    assert_eq!(place.run(&["users", "role", "anna", "viewer"]).code, Some(0));
    assert_eq!(me().json()["role"], "viewer");
    assert_eq!(with_password(&["users", "passwd", "anna"]).0, Some(0));
    assert_eq!(me().status, 401, "another password signs out");
    assert_eq!((sign_in("wrong password").status, sign_in(PASSWORD).status), (401, 200));
    assert_eq!(place.run(&["users", "remove", "anna"]).code, Some(0));
    assert_eq!(sign_in(PASSWORD).status, 401);
    let kept = std::fs::read_to_string(home.join("server/accounts.json")).unwrap();
    assert!(!kept.contains(PASSWORD) && !kept.contains("anna"), "{kept}");
}

#[test]
fn a_user_works_in_their_own_folder_with_their_own_key_and_sees_nothing_of_others() {
    let team = Team::new(Script::new([write("a.txt"), "Written.".into()]));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let session = anna.begin("write it");
    assert_eq!(answer(&anna, &question(&anna)), 200);
    anna.events(&session, 0).until("turn_ended");
    assert_eq!(std::fs::read_to_string(team.folder("anna").join("a.txt")).unwrap(), "Hello.\n");
    let requests = team.server.requests();
    assert_eq!(requests.last().unwrap().key.as_deref(), Some("key-of-anna"));
    for other in [&ben, &team.owner()] {
        assert_eq!(other.get("/sessions").json()["sessions"], json!([]));
        assert_eq!(other.get(&format!("/sessions/{session}")).status, 404);
        assert_eq!(other.get("/usage").json()["sessions"], json!([]));
    }
    assert_eq!(anna.get("/keys").json(), json!({"keys": [{"provider": "openai"}]}));
    let elsewhere = anna.post("/sessions", &json!({"workspace": team.folder("ben")}));
    assert_eq!(elsewhere.status, 404, "{}", elsewhere.text());
    for path in ["/tools", "/settings"] {
        let asked = anna.get(&format!("{path}?workspace={}", team.folder("ben").display()));
        assert_eq!(asked.status, 404, "{path}: {}", asked.text());
    }
}

#[test]
fn nothing_beyond_the_folder_is_reached_whatever_its_user_agrees_to() {
    let replies = |path: &str, token: &str| {
        [
            Reply::new().call("read_file", json!({"file_path": path})),
            run(&format!("cat {path} {token}; ls {token}; echo done")),
            Reply::new()
                .call("run_shell_command", json!({"command": format!("cat {path}"), "unconfined": true})),
            run("echo inside > b.txt; cat b.txt"),
            "Done.".into(),
        ]
    };
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("secret.txt");
    std::fs::write(&outside, "the secret").unwrap();
    let script = Script::new(replies(outside.to_str().unwrap(), "$HOME/../../../token"));
    let team = Team::new(script);
    let anna = team.add("anna", "member", json!({}));
    let created = anna.post("/sessions", &json!({"mode": "yolo"})).json();
    let session = created["session"].as_str().unwrap();
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "go"}]}});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &prompt).status, 200);
    anna.events(session, 0).until("turn_ended");
    let requests = team.server.requests();
    let sent: String = requests.iter().map(|request| request.body.to_string()).collect();
    assert!(!sent.contains("the secret") && !sent.contains(&team.served.token), "{sent}");
    assert!(sent.contains("only the workspace can be reached here"), "{sent}");
    assert!(told(&team).contains("inside"), "{}", told(&team));
    assert_eq!(std::fs::read_to_string(team.folder("anna").join("b.txt")).unwrap(), "inside\n");
}

#[test]
fn rules_of_the_server_tighten_what_a_user_allows_themselves() {
    let team = Team::new(Script::new([run("touch forbidden"), run("touch asked"), "Done.".into()]));
    let policies = team.place.home().join("server/policies");
    std::fs::create_dir_all(&policies).unwrap();
    let rule = |command: &str, decision: &str| {
        format!("[[rule]]\ncommand = \"{command}\"\ndecision = \"{decision}\"\n")
    };
    let rules =
        [rule("touch forbidden", "deny"), rule("touch asked", "ask"), rule("rm -rf /", "allow")].concat();
    std::fs::write(policies.join("all.toml"), rules).unwrap();
    let anna = team.add("anna", "member", json!({}));
    let created = anna.post("/sessions", &json!({"mode": "yolo"})).json();
    assert!(created["notices"].to_string().contains("never allow"), "{created}");
    let session = created["session"].as_str().unwrap();
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "go"}]}});
    anna.post(&format!("/sessions/{session}/commands"), &prompt);
    assert_eq!(answer(&anna, &question(&anna)), 200, "even in yolo it is asked");
    anna.events(session, 0).until("turn_ended");
    let there = |name: &str| team.folder("anna").join(name).exists();
    assert_eq!((there("forbidden"), there("asked")), (false, true));
}

#[test]
fn nobody_who_may_only_look_is_let_in_to_approve() {
    let team = Team::new(Script::new(["unused"]));
    let anna = team.add("anna", "member", json!({}));
    let vera = team.add("vera", "viewer", json!({}));
    let session = super::matrix::new_session(&anna);
    let path = format!("/sessions/{session}/shares");
    let refused = anna.post(&path, &json!({"user": "vera", "right": "approve"}));
    let problem = refused.json();
    assert_eq!((refused.status, &problem["kind"]), (409, &json!("viewer")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("`vera` is a viewer"), "{problem}");
    assert_eq!(anna.get(&path).json()["shares"], json!([]));
    share(&anna, &session, "vera", "read");
    assert_eq!(vera.get(&format!("/sessions/{session}/records")).status, 200);
    // Once a member, they may be let in to approve, and who becomes a viewer later answers nothing.
    assert_eq!(team.owner().post("/users/vera", &json!({"role": "member"})).status, 200);
    share(&anna, &session, "vera", "approve");
}

#[test]
fn a_shared_session_is_read_or_approved_in_and_no_longer_once_that_is_taken_back() {
    let team = Team::new(Script::new([write("a.txt"), "Written.".into()]));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let session = anna.begin("write it");
    let asked = question(&anna);
    share(&anna, &session, "ben", "read");
    let mut events = ben.events(&session, 0);
    events.until("call_asked");
    let entry = ben.get("/sessions").json()["sessions"][0].clone();
    assert_eq!(
        (&entry["session"], &entry["shared"]),
        (&json!(session), &json!({"owner": "anna", "right": "read"}))
    );
    assert_eq!(ben.get("/approvals").json()["approvals"], json!([]), "reading is not answering");
    assert_eq!(answer(&ben, &asked), 403);
    share(&anna, &session, "ben", "approve");
    assert_eq!(question(&ben), asked);
    assert_eq!(answer(&ben, &asked), 200);
    let seen = events.until("turn_ended");
    let answered = seen.iter().find(|event| event.data["kind"] == "approval_answered").unwrap();
    assert_eq!(answered.data["by"], "ben");
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "mine"}]}});
    assert_eq!(ben.post(&format!("/sessions/{session}/commands"), &prompt).status, 403);
    assert_eq!(anna.delete(&format!("/sessions/{session}/shares/ben")).status, 204);
    share(&anna, &session, "ben", "read");
    assert_eq!(ben.delete(&format!("/sessions/{session}/shares/anna")).status, 404, "nobody but oneself");
    assert_eq!(
        ben.delete(&format!("/sessions/{session}/shares/ben")).status,
        204,
        "who was let in may leave"
    );
    assert_eq!(ben.get(&format!("/sessions/{session}/records")).status, 404);
    assert_eq!(
        anna.post(&format!("/sessions/{session}/commands"), &json!({"command": "set_mode", "mode": "plan"}))
            .status,
        200
    );
    assert!(events.next().is_none(), "who followed it follows no longer");
    let unknown =
        anna.post(&format!("/sessions/{session}/shares"), &json!({"user": "nobody", "right": "read"}));
    assert_eq!(unknown.status, 404);
    assert_eq!(
        anna.post(&format!("/sessions/{session}/shares"), &json!({"user": "ben", "right": "own"})).status,
        400
    );
}

#[test]
fn a_budget_is_nothing_or_more() {
    let team = Team::new(Script::new(["unused"]));
    team.add("anna", "member", json!({"budget": {"usd": 2.5}}));
    for budget in [json!({"usd": -1}), json!({"usd": -0.01}), json!({"tokens": -1}), json!({"tokens": 0.5})] {
        assert_eq!(team.owner().post("/users/anna", &json!({"budget": budget})).status, 400, "{budget}");
        let more =
            json!({"name": "ben", "role": "member", "workspace": team.folder("anna"), "budget": budget});
        assert_eq!(team.owner().post("/users", &more).status, 400, "{budget}");
    }
    assert_eq!(team.owner().get("/users").json()["users"][0]["budget"], json!({"usd": 2.5}));
    assert_eq!(team.owner().post("/users/anna", &json!({"budget": {"usd": 0}})).status, 200);
}

#[test]
fn a_reason_is_brief_and_so_is_what_somebody_says_in_the_owners_place() {
    let question = json!({"questions": [{"question": "Which?", "header": "Which", "type": "text"}]});
    let replies =
        [Reply::new().call("ask_user", question), "Asked.".into(), write("a.txt"), "All right.".into()];
    let team = Team::new(Script::new(replies));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let session = anna.begin("ask");
    share(&anna, &session, "ben", "approve");
    let long = "é".repeat(4097);
    let say = |client: &Client<'_>, asked: &str, outcome: &Value| {
        let answer = client.post(&format!("/approvals/{asked}"), outcome);
        let kind = answer.json()["kind"].as_str().map(str::to_owned);
        (answer.status, kind)
    };
    let too_long = (422, Some("too_long".to_owned()));
    let asked = self::question(&anna);
    assert_eq!(say(&ben, &asked, &json!({"outcome": "answers", "answers": [long]})), too_long);
    let own = json!({"outcome": "answers", "answers": [long]});
    assert_eq!(say(&anna, &asked, &own).0, 200, "it is the owner's own money");
    let mut events = anna.events(&session, 0);
    events.until("turn_ended");
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "write it"}]}});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &prompt).status, 200);
    events.until("call_asked");
    let asked = self::question(&ben);
    let no = |reason: &str| json!({"outcome": "cancel", "reason": reason});
    assert_eq!(say(&ben, &asked, &no(&long)), too_long);
    assert_eq!(say(&anna, &asked, &no(&long)), too_long);
    let command = json!({"command": "answer", "approval": asked, "outcome": "cancel", "reason": long});
    assert_eq!(anna.post(&format!("/sessions/{session}/commands"), &command).status, 422);
    assert_eq!(say(&ben, &asked, &no(&"é".repeat(4096))).0, 200);
}

#[test]
fn a_token_is_told_once_kept_as_a_hash_and_taken_back() {
    let team = Team::new(Script::new(["unused"]));
    let (anna, ben) = (team.add("anna", "member", json!({})), team.add("ben", "member", json!({})));
    let made = anna.post("/tokens", &json!({"label": "laptop"})).json();
    let (id, token) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    let program = team.served.with_token(token);
    assert_eq!(program.get("/me").json()["name"], "anna");
    let code =
        |made: Value| json!({"code": made["path"].as_str().unwrap().split('#').nth(1).unwrap()}).to_string();
    let enter = |code: &str| team.served.request("POST", "/api/v1/sign-in", &[], code.as_bytes());
    let signed = enter(&code(program.post("/links", &json!({})).json()));
    let cookie = signed.header("set-cookie").split(';').next().unwrap().to_owned();
    let as_browser = || team.served.request("GET", "/api/v1/me", &[("cookie", &cookie)], b"").status;
    assert_eq!(as_browser(), 200);
    let link = code(program.post("/links", &json!({})).json());
    let listed = anna.get("/tokens");
    assert!(listed.text().contains("laptop") && !listed.text().contains(token));
    let kept = std::fs::read_to_string(team.place.home().join("server/accounts.json")).unwrap();
    assert!(!kept.contains(token), "{kept}");
    assert_eq!(ben.delete(&format!("/tokens/{id}")).status, 404, "another's");
    assert_eq!(anna.delete(&format!("/tokens/{id}")).status, 204);
    assert_eq!(program.get("/me").status, 401);
    assert_eq!(as_browser(), 401, "with the token go the browsers that its links signed in");
    assert_eq!(enter(&link).status, 401, "with the token go the links that were made with it");
    assert_eq!(team.owner().delete("/users/ben").status, 204);
    assert_eq!(ben.get("/me").status, 401, "with the account goes its token");
}

#[test]
fn a_budget_stops_the_turn_that_spends_it_and_lets_no_other_begin() {
    let usage = |reply: Reply| reply.usage(Usage { prompt: 300, output: 100, thoughts: 0, cached: 0 });
    let replies = [usage(write("a.txt")), usage(write("b.txt")), usage(write("c.txt")), "never".into()];
    let team = Team::new(Script::new(replies));
    let anna = team.add("anna", "member", json!({"budget": {"tokens": 700}}));
    let created = anna.post("/sessions", &json!({"mode": "auto_edit"})).json();
    let session = created["session"].as_str().unwrap();
    let commands = format!("/sessions/{session}/commands");
    let prompt = json!({"command": "prompt", "content": {"role": "user", "parts": [{"text": "go"}]}});
    assert_eq!(anna.post(&commands, &prompt).status, 200);
    let ended = anna.events(session, 0).until("turn_ended");
    assert_eq!(ended.last().unwrap().data["by"], "budget", "{:?}", ended.last());
    let refused = anna.post(&commands, &prompt);
    assert_eq!((refused.status, &refused.json()["kind"]), (402, &json!("budget")), "{}", refused.text());
    let first = anna.post("/sessions", &json!({"prompt": {"role": "user", "parts": [{"text": "more"}]}}));
    assert_eq!(first.status, 402, "{}", first.text());
    let spent = anna.get("/me").json()["spent_today"]["tokens"].as_u64().unwrap();
    // A third answer may have been asked for before the turn was stopped: all that was sent is estimated, the instruction too.
    assert!((700..=2000).contains(&spent), "{spent}");
    assert_eq!(team.owner().get("/users").json()["users"][0]["spent_today"]["tokens"], spent);
    let metrics = team.owner().get("/metrics").text();
    assert!(metrics.contains("charla_tokens_total{user=\"anna\",model=\"openai/"), "{metrics}");
    assert_eq!(anna.delete(&format!("/sessions/{session}")).status, 204);
    assert_eq!(anna.get("/me").json()["spent_today"]["tokens"], spent, "what is spent stays spent");
    assert_eq!(team.owner().post("/users/anna", &json!({"budget": {"tokens": 100_000}})).status, 200);
    assert_eq!(anna.post("/sessions", &json!({})).status, 201);
}

#[test]
fn passwords_are_guessed_slowly_wherever_from_and_each_attempt_is_in_the_log() {
    let team = Team::new(Script::new(["unused"]));
    team.add("anna", "member", json!({}));
    let tried: Vec<u16> =
        (0..12).map(|number| team.sign_in("anna", &format!("guess number {number}")).status).collect();
    assert!(tried.contains(&429) && tried.iter().all(|status| matches!(status, 401 | 429)), "{tried:?}");
    let log = std::fs::read_to_string(team.place.home().join("server/audit.jsonl")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed = lines.iter().filter(|line| line["what"] == "sign_in" && line["about"]["status"] == 401);
    assert!(failed.clone().count() >= 5);
    assert!(failed.clone().all(|line| line["about"]["name"] == "anna"), "{log}");
    let made = lines.iter().find(|line| line["what"] == "create_user").unwrap();
    assert_eq!((&made["who"], &made["about"]["role"]), (&json!("web"), &json!("member")));
    assert!(
        !log.contains(PASSWORD) && !log.contains("guess number") && !log.contains("key-of-anna"),
        "{log}"
    );
}

#[test]
fn a_named_proxy_says_who_somebody_is_and_nobody_else_does() {
    let proxy = ["--forwarded-user", "X-User", "--trusted-proxy", "127.0.0.1"];
    let team = Team::with(Script::new(["unused"]), &proxy);
    team.add("anna", "member", json!({}));
    let as_user = |team: &Team, name: &str, more: &[(&str, &str)]| {
        let mut headers = vec![("x-user", name)];
        headers.extend_from_slice(more);
        team.served.request("GET", "/api/v1/me", &headers, b"")
    };
    let known = as_user(&team, "anna", &[]);
    assert_eq!((known.status, &known.json()["name"]), (200, &json!("anna")));
    assert_eq!(as_user(&team, "nobody", &[]).status, 401);
    assert_eq!(as_user(&team, "web", &[]).status, 401, "the machine's own user is nobody's to name");
    assert_eq!(as_user(&team, "anna", &[("x-user", "ben")]).status, 401);
    let foreign = [("x-user", "anna"), ("origin", "https://evil.example")];
    assert_eq!(team.served.request("POST", "/api/v1/links", &foreign, b"{}").status, 403);
    let elsewhere = ["--forwarded-user", "X-User", "--trusted-proxy", "10.9.8.7"];
    let team = Team::with(Script::new(["unused"]), &elsewhere);
    team.add("anna", "member", json!({}));
    assert_eq!(as_user(&team, "anna", &[]).status, 401);
}

#[test]
fn a_proxy_of_this_machine_is_not_believed_where_a_users_commands_could_speak_in_its_place() {
    let proxy = ["--forwarded-user", "X-User", "--trusted-proxy", "127.0.0.1"];
    let team = Team::with(Script::new(["unused"]), &proxy);
    team.add("anna", "member", json!({}));
    let as_anna = |team: &Team, more: &[(&str, &str)]| {
        let headers = [&[("x-user", "anna")][..], more].concat();
        team.served.request("GET", "/api/v1/me", &headers, b"").status
    };
    assert_eq!(as_anna(&team, &[]), 200);
    let refused = team.owner().post("/users/anna", &json!({"network": true}));
    assert_eq!((refused.status, &refused.json()["kind"]), (409, &json!("proxy")), "{}", refused.text());
    let folder = team.folder("anna");
    let ben = ["users", "add", "ben", "--no-password", "--network", "--workspace", folder.to_str().unwrap()];
    assert_eq!(team.place.run(&ben).code, Some(0));
    assert_eq!(as_anna(&team, &[]), 401, "ben's commands could say the same");
    let started = team.place.run(&[&["serve", "--listen", "127.0.0.1:0"], &proxy[..]].concat());
    assert!(started.code != Some(0) && started.err.contains("--proxy-secret"), "{}", started.err);
    let file = team.place.path().join("secret");
    std::fs::write(&file, "what only the proxy knows\n").unwrap();
    let secret = ["--listen", "127.0.0.1:0", "--proxy-secret", file.to_str().unwrap()];
    let served = Served::with(&team.place, &[&secret, &proxy[..]].concat());
    let team = Team { served, ..team };
    assert_eq!(as_anna(&team, &[]), 401);
    assert_eq!(as_anna(&team, &[("x-charla-proxy-secret", "a guess")]), 401);
    assert_eq!(as_anna(&team, &[("x-charla-proxy-secret", "what only the proxy knows")]), 200);
    assert_eq!(team.owner().post("/users/anna", &json!({"network": true})).status, 200);
}

#[test]
fn an_administrator_gives_folders_that_were_set_aside_and_no_others() {
    let team = Team::new(Script::new(["unused"]));
    let admin = team.add("anna", "admin", json!({}));
    let given = team.folder("given");
    std::fs::create_dir_all(given.join("ben")).unwrap();
    let add = |client: &Client<'_>, name: &str, folder: &std::path::Path| {
        let user = json!({"name": name, "role": "member", "workspace": folder, "password": PASSWORD});
        client.post("/users", &user).status
    };
    assert_eq!(add(&admin, "ben", &given.join("ben")), 403, "nothing was set aside");
    assert_eq!(add(&team.owner(), "ben", &given.join("ben")), 201, "this machine's own user may");
    assert_eq!(admin.post("/users/ben", &json!({"workspace": team.folder("anna")})).status, 403);
    assert_eq!(admin.post("/users/ben", &json!({"role": "viewer"})).status, 200);
    let arguments = ["--listen", "127.0.0.1:0", "--workspaces", given.to_str().unwrap()];
    let again = Served::with(&team.place, &arguments);
    let admin = again.with_token(&admin.token);
    assert_eq!(add(&admin, "carla", &given.join("ben")), 201);
    for elsewhere in [given.clone(), team.folder("anna"), given.join("ben/../../anna"), "/etc".into()] {
        assert_eq!(add(&admin, "dora", &elsewhere), 403, "{elsewhere:?}");
    }
    std::os::unix::fs::symlink(team.folder("anna"), given.join("link")).unwrap();
    assert_eq!(add(&admin, "dora", &given.join("link")), 403);
}

#[test]
fn a_folder_that_leads_elsewhere_since_it_was_given_is_nobodys_workspace() {
    let team = Team::new(Script::new(["unused"]));
    let anna = team.add("anna", "member", json!({}));
    assert_eq!(anna.post("/sessions", &json!({})).status, 201);
    let folder = team.folder("anna");
    std::fs::remove_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(team.place.home(), &folder).unwrap();
    let refused = anna.post("/sessions", &json!({"workspace": folder}));
    assert!((400..500).contains(&refused.status), "{}", refused.text());
    let refused = anna.post("/sessions", &json!({}));
    assert!((400..500).contains(&refused.status), "{}", refused.text());
}

#[test]
fn a_folder_that_is_exchanged_for_a_link_while_sessions_begin_in_it_opens_nothing() {
    let team = Team::new(Script { otherwise: Otherwise::Repeat, ..Script::new(["unused"]) });
    let anna = team.add("anna", "member", json!({}));
    let instruction = "what the server's own user wants";
    std::fs::write(team.place.home().join("CHARLA.md"), instruction).unwrap();
    let folder = team.folder("anna");
    let (sub, other, aside) = (folder.join("sub"), folder.join("other"), folder.join("aside"));
    std::fs::create_dir_all(&sub).unwrap();
    std::os::unix::fs::symlink(team.place.home(), &other).unwrap();
    let secret = std::fs::read_to_string(team.place.home().join("server/token")).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for (from, to) in [(&sub, &aside), (&other, &sub), (&sub, &other), (&aside, &sub)] {
                    std::fs::rename(from, to).unwrap();
                }
            }
        });
        for _ in 0..60 {
            let prompt = json!({"parts": [{"text": "hi"}]});
            let begun = anna.post("/sessions", &json!({"workspace": sub, "mode": "yolo", "prompt": prompt}));
            let Some(session) = begun.json()["session"].as_str().map(str::to_owned) else { continue };
            let line = format!("cat {}", team.place.home().join("server/token").display());
            let call = json!({"command": "run_tool", "name": "run_shell_command", "args": {"command": line}});
            let told = anna.post(&format!("/sessions/{session}/commands"), &call);
            assert!(!told.text().contains(secret.trim()), "{}", told.text());
            let records = anna.get(&format!("/sessions/{session}/records")).text();
            assert!(!records.contains(secret.trim()), "{records}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let told =
        team.server.requests().into_iter().filter(|request| request.body.to_string().contains(instruction));
    assert_eq!(told.count(), 0, "instructions of another folder were read");
}
