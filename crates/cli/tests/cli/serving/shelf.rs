//! Nodes with homes of their own, on one database: what users keep is the same at each, and readable at none without the key.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use charla_proto::WireKind;
use charla_testkit::{Postgres, Reply, Script};
use serde_json::{Value, json};

use super::client::Served;
use super::limits::bundle;
use super::nodes::until;
use super::place;
use crate::place::{Place, server};

#[test]
fn keys_settings_and_the_token_are_known_at_every_node_and_encrypted_in_the_database() {
    let (postgres, model) = (Postgres::start().unwrap(), server(Script::new(["Hello.", "Hello again."])));
    let common = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = common.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let key = file("key", "b64b64b64b64b64b64b64b64b64b64b64b64b64b64s=\n");
    let other = file("other", "c64b64b64b64b64b64b64b64b64b64b64b64b64b64s=\n");
    let home = || place(&model).variable("CHARLA_DATABASE", &postgres.address());
    let start = |place: &Place| Served::with(place, &["--listen", "127.0.0.1:0", "--key-file", &key]);
    let (first, second) = (home(), home());
    let settings = json!({"model": {"name": "openai/gpt-4.1"},
        "providers": {"openai": {"baseUrl": model.base_url(WireKind::OpenaiChat)}}});
    std::fs::create_dir_all(first.home().join("server")).unwrap();
    std::fs::write(first.home().join("server/settings.json"), settings.to_string()).unwrap();
    let nodes = [start(&first), start(&second)];
    assert_eq!(nodes[0].token, nodes[1].token, "programs have one token for all nodes");
    let given = common.path().join("given");
    std::fs::create_dir_all(&given).unwrap();
    let password = "a long enough one";
    let account = json!({"name": "anna", "role": "member", "workspace": given, "password": password});
    assert_eq!(nodes[0].post("/users", &account).status, 201);
    let body = json!({"name": "anna", "password": password}).to_string();
    let signed = nodes[0].request("POST", "/api/v1/sign-in", &[], body.as_bytes());
    let cookie = signed.header("set-cookie").split(';').next().unwrap().to_owned();
    let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let made = nodes[0].request("POST", "/api/v1/tokens", &headers, br#"{"label": "x"}"#).json();
    let token = made["token"].as_str().unwrap().to_owned();
    let [anna, elsewhere] = nodes.each_ref().map(|node| node.with_token(&token));
    let kept = anna.post("/keys", &json!({"provider": "openai", "key": "the-key-of-anna"}));
    assert_eq!(kept.status, 204, "{}", kept.text());
    assert_eq!(elsewhere.get("/keys").json()["keys"], json!([{"provider": "openai"}]));
    let session = elsewhere.begin("hello");
    elsewhere.events(&session, 0).until("turn_ended");
    let asked = model.requests().pop().unwrap();
    assert_eq!(asked.key.as_deref(), Some("the-key-of-anna"));
    // What is changed in a file of one node is told to the others.
    let users = |place: &Place| {
        let folder = std::fs::read_dir(place.home().join("server/users")).unwrap().next().unwrap();
        folder.unwrap().path()
    };
    std::fs::write(users(&second).join("settings.json"), r#"{"model": {"name": "openai/gpt-4o"}}"#).unwrap();
    assert_eq!(elsewhere.get("/settings").status, 200);
    assert!(anna.get("/settings").text().contains("openai/gpt-4o"));
    assert_eq!(elsewhere.delete("/keys/openai").status, 204);
    assert_eq!(anna.get("/keys").json()["keys"], json!([]));
    // What came from elsewhere with characters that no database text holds is kept, too.
    let odd = bundle("with-nul", "a \u{0} b");
    assert_eq!(anna.post("/sessions/import", &odd).status, 201);
    let records = elsewhere.get("/sessions/with-nul/records").json();
    assert_eq!(records["records"][2]["content"], odd["records"][2]["content"]);
    let dump =
        postgres.run("psql", &["-d", "postgres", "-Atc", "select encode(body, 'escape') from charla.files"]);
    let dump = String::from_utf8_lossy(&dump.unwrap()).into_owned();
    assert!(
        !dump.is_empty() && !dump.contains("the-key-of-anna") && !dump.contains(&nodes[0].token),
        "{dump}"
    );
    // What the database keeps of a request that may be sent again tells no password to who tries some.
    let change = json!({"password": "quite another one"});
    let changed = nodes[0].post_with("/users/anna", &change, &[("idempotency-key", "k")]);
    assert_eq!(changed.status, 200, "{}", changed.text());
    let again = nodes[1].post_with("/users/anna", &change, &[("idempotency-key", "k")]);
    assert_eq!(again.body, changed.body, "every node knows it");
    let plain = format!("select count(*), count(*) filter (where request = translate(encode(sha256(convert_to(E'POST /api/v1/users/anna\\n{change}',
        'UTF8')), 'base64'), '+/=', '-_')) from charla.repeats");
    let counted = postgres.run("psql", &["-d", "postgres", "-Atc", &plain]).unwrap();
    assert_eq!(String::from_utf8_lossy(&counted).trim(), "1|0");
    // A request that is refused does not keep its key, here or elsewhere.
    let refused = |body: &Value| nodes[0].post_with("/users/anna", body, &[("idempotency-key", "l")]).status;
    assert_eq!([refused(&json!({"password": "short"})), refused(&change)], [400, 200]);
    let stranger = home().run(&["serve", "--listen", "127.0.0.1:0", "--key-file", &other]);
    assert!(stranger.code != Some(0) && stranger.err.contains("--key-file"), "{}", stranger.err);
    std::fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let open = home().run(&["serve", "--listen", "127.0.0.1:0", "--key-file", &key]);
    let told = [&key, "may use the file (its mode is 0640)", &format!("chmod 600 {key}")]
        .map(|words| open.err.contains(words));
    assert!(open.code != Some(0) && told == [true; 3], "{}", open.err);
}

#[test]
fn what_a_node_has_of_a_session_goes_when_that_is_deleted_at_another() {
    let command = json!({"command": "seq 1 60000"});
    let replies = [Reply::new().call("run_shell_command", command), "Much.".into()];
    let (postgres, model) = (Postgres::start().unwrap(), server(Script::new(replies)));
    let home = || place(&model).variable("CHARLA_DATABASE", &postgres.address());
    let (first, second) = (home(), home());
    let start = |place: &Place| Served::start(place);
    let first_node = start(&first);
    std::fs::create_dir_all(second.home().join("server")).unwrap();
    std::fs::copy(first.home().join("server/key"), second.home().join("server/key")).unwrap();
    let mut second_node = start(&second);
    let prompt = json!({"role": "user", "parts": [{"text": "go"}]});
    let wanted = json!({"model": "openai/gpt-test", "mode": "yolo", "prompt": prompt});
    let session = first_node.post("/sessions", &wanted).json()["session"].as_str().unwrap().to_owned();
    let seen = first_node.events(&session, 0).until("turn_ended");
    let ended = seen.into_iter().find(|event| event.data["kind"] == "call_ended").unwrap();
    let whole = format!("/sessions/{session}/outputs/{}", ended.data["call"].as_str().unwrap());
    assert_eq!(second_node.get(&whole).status, 200);
    let [here, there] = [&first, &second].map(|place| place.home().join("sessions/outputs").join(&session));
    assert!(here.exists() && there.exists());
    assert_eq!(first_node.delete(&format!("/sessions/{session}")).status, 204);
    assert!(!here.exists() && there.exists());
    second_node.restart(&second);
    until("the copy stays", || !there.exists());
}
