//! A server with accounts.

use charla_proto::WireKind;
use charla_testkit::{Script, Server};
use serde_json::{Value, json};

use super::client::{Answer, Client, Served};
use super::place;
use crate::place::{Place, server};

/// What everybody signs in with.
pub const PASSWORD: &str = "a long enough one";

/// A server whose users ask the scripted model.
pub struct Team {
    pub server: Server,
    pub place: Place,
    pub served: Served,
}

impl Team {
    pub fn new(script: Script) -> Self {
        Self::with(script, &[])
    }

    /// The same with further arguments for the server.
    pub fn with(script: Script, arguments: &[&str]) -> Self {
        let server = server(script);
        let place = place(&server);
        let folder = place.home().join("server");
        std::fs::create_dir_all(&folder).unwrap();
        let address = server.base_url(WireKind::OpenaiChat);
        let settings =
            json!({"model": {"name": "openai/gpt-4.1"}, "providers": {"openai": {"baseUrl": address}}});
        std::fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
        let served = Served::with(&place, &[&["--listen", "127.0.0.1:0"], arguments].concat());
        Self { server, place, served }
    }

    /// The machine's own user.
    pub fn owner(&self) -> Client<'_> {
        self.served.with_token(&self.served.token)
    }

    /// The folder of a user.
    pub fn folder(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join("given").join(name)
    }

    /// Adds a user with a folder, a password and a key of their own, and more of an account as given.
    pub fn add(&self, name: &str, role: &str, more: Value) -> Client<'_> {
        std::fs::create_dir_all(self.folder(name)).unwrap();
        let mut account = json!({
            "name": name, "role": role, "workspace": self.folder(name), "password": PASSWORD,
        });
        account.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let added = self.owner().post("/users", &account);
        assert_eq!(added.status, 201, "{}", added.text());
        let client = self.served.with_token(&self.token(name));
        if role != "viewer" {
            let kept = client.post("/keys", &json!({"provider": "openai", "key": format!("key-of-{name}")}));
            assert_eq!(kept.status, 204, "{}", kept.text());
        }
        client
    }

    /// Signs in with a name and a password.
    pub fn sign_in(&self, name: &str, password: &str) -> Answer {
        let body = json!({"name": name, "password": password}).to_string();
        let origin = format!("http://{}", self.served.address);
        self.served.request("POST", "/api/v1/sign-in", &[("origin", &origin)], body.as_bytes())
    }

    /// A new token of this user, made by a browser that is signed in.
    pub fn token(&self, name: &str) -> String {
        let signed = self.sign_in(name, PASSWORD);
        assert_eq!(signed.status, 200, "{}", signed.text());
        let cookie = signed.header("set-cookie").split(';').next().unwrap().to_owned();
        let origin = format!("http://{}", self.served.address);
        let headers = [("cookie", cookie.as_str()), ("origin", &origin)];
        let made = self.served.request("POST", "/api/v1/tokens", &headers, br#"{"label": "tests"}"#);
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["token"].as_str().unwrap().to_owned()
    }
}

/// Shares a session.
pub fn share(owner: &Client<'_>, session: &str, user: &str, right: &str) {
    let shared = owner.post(&format!("/sessions/{session}/shares"), &json!({"user": user, "right": right}));
    assert_eq!(shared.status, 204, "{}", shared.text());
}
