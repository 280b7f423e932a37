//! Nodes with homes of their own, on one database: what users keep is the same at each, and readable at none without the key.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use charla_proto::WireKind;
use charla_testkit::{Postgres, Script};
use serde_json::json;

use super::client::Served;
use super::limits::bundle;
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
    let stranger = home().run(&["serve", "--listen", "127.0.0.1:0", "--key-file", &other]);
    assert!(stranger.code != Some(0) && stranger.err.contains("--key-file"), "{}", stranger.err);
    std::fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let open = home().run(&["serve", "--listen", "127.0.0.1:0", "--key-file", &key]);
    let told = [&key, "may use the file (its mode is 0640)", &format!("chmod 600 {key}")]
        .map(|words| open.err.contains(words));
    assert!(open.code != Some(0) && told == [true; 3], "{}", open.err);
}
