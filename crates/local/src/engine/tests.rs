use std::os::unix::fs::PermissionsExt;

use charla_providers::{Client, NetworkOptions};
use secrecy::ExposeSecret;

use super::*;
use crate::packages::{File as KnownFile, PACKAGES, Packages};
use crate::store::Pip;

/// Serves `/props` for the key it was given, and writes down its process id and arguments.
const FAKE_SERVER: &str = r#"#!/usr/bin/env python3
import http.server, json, os, sys
key = os.environ["LLAMA_API_KEY"]
def option(name): return sys.argv[sys.argv.index(name) + 1]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.headers.get("Authorization") == "Bearer " + key
        body = json.dumps({"default_generation_settings": {"n_ctx": int(option("--ctx-size"))}}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer((option("--host"), int(option("--port"))), Handler)
with open(os.environ["PIDS"], "a") as pids: print(os.getpid(), file=pids)
with open(os.environ["PIDS"] + ".arguments", "w") as told: json.dump(sys.argv[1:], told)
server.serve_forever()
"#;

struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("own.gguf"), "GGUF and more").unwrap();
        let machine = Self { folder };
        machine.write_server(FAKE_SERVER);
        machine
    }

    /// A program writes it: a handle of ours could be open in a process that another test has just forked, and what is
    /// open for writing does not run.
    fn write_server(&self, script: &str) {
        std::fs::write(self.path("script"), script).unwrap();
        let mut install = std::process::Command::new("install");
        install.args(["-m", "700"]).arg(self.path("script")).arg(self.path("llama-server"));
        assert!(install.status().unwrap().success());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn options(&self) -> EngineOptions {
        let pip = Pip { python: "python3".into(), environment: Vec::new() };
        let forbidden = Some("a test".to_owned());
        EngineOptions {
            store: Store::new(self.path("store"), pip, forbidden),
            model: Model::File(self.path("own.gguf")),
            llama_server: Some(self.path("llama-server")),
            window: 4096,
            threads: 1,
            idle: Duration::from_secs(600),
            environment: vec![
                ("PATH".into(), std::env::var_os("PATH").unwrap()),
                ("PIDS".into(), self.path("pids").into()),
            ],
            http: Arc::new(Client::new(NetworkOptions::default()).unwrap()),
        }
    }

    fn engine(&self) -> Engine {
        Engine::new(self.options())
    }

    fn pids(&self) -> Vec<i32> {
        let text = std::fs::read_to_string(self.path("pids")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }
}

fn is_alive(pid: i32) -> bool {
    rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid).unwrap()).is_ok()
}

async fn ended(pid: i32) {
    let wait = async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("the engine goes on running");
}

async fn used(engine: &Engine) -> InUse {
    engine.ensure(&mut |_| {}).await.unwrap()
}

#[tokio::test]
async fn two_users_share_one_engine_and_it_ends_with_the_last() {
    let machine = Machine::new();
    let (first, second) = (machine.engine(), machine.engine());
    let (one, other) = tokio::join!(used(&first), used(&second));
    assert_eq!(one.base_url, other.base_url);
    assert_eq!(one.key.expose_secret(), other.key.expose_secret());
    assert_eq!((one.window, one.model.as_str()), (4096, "own"));
    let pids = machine.pids();
    assert_eq!(pids.len(), 1);
    drop((one, first));
    assert!(is_alive(pids[0]));
    drop((other, second));
    ended(pids[0]).await;
}

#[tokio::test]
async fn the_key_is_in_a_file_that_only_its_owner_can_read() {
    let machine = Machine::new();
    let engine = machine.engine();
    let place = used(&engine).await;
    let kind = std::fs::read_dir(machine.path("store/running")).unwrap().next().unwrap().unwrap().path();
    let state = kind.join("engine.json");
    assert!(std::fs::read_to_string(&state).unwrap().contains(place.key.expose_secret()));
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(&kind).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn a_dead_engine_is_noticed_and_replaced() {
    let machine = Machine::new();
    let engine = machine.engine();
    let before = used(&engine).await;
    let pid = machine.pids()[0];
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    ended(pid).await;
    let after = loop {
        let after = used(&engine).await;
        if after.base_url != before.base_url {
            break after;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_ne!(before.key.expose_secret(), after.key.expose_secret());
    assert_eq!(machine.pids().len(), 2);
}

#[tokio::test]
async fn an_idle_user_leaves_and_comes_back() {
    let machine = Machine::new();
    let engine = Engine::new(EngineOptions { idle: Duration::from_millis(20), ..machine.options() });
    let working = used(&engine).await;
    let pid = machine.pids()[0];
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(is_alive(pid), "it ended while it was in use");
    drop(working);
    ended(pid).await;
    let again = used(&engine).await;
    assert!(is_alive(machine.pids()[1]));
    drop(again);
}

#[tokio::test]
async fn what_a_killed_start_left_behind_is_in_nobodys_way() {
    let machine = Machine::new();
    let engine = machine.engine();
    drop(used(&engine).await);
    let pid = machine.pids()[0];
    drop(engine);
    ended(pid).await;
    let kind = std::fs::read_dir(machine.path("store/running")).unwrap().next().unwrap().unwrap().path();
    for rest in ["", "{\"port\": 1", "{\"port\": 1, \"key\": \"x\"}"] {
        std::fs::write(kind.join("engine.json"), rest).unwrap();
        used(&machine.engine()).await;
    }
}

#[tokio::test]
async fn an_engine_that_cannot_start_says_why() {
    let machine = Machine::new();
    machine.write_server("#!/bin/sh\necho unknown model architecture\nexit 1\n");
    let error = machine.engine().ensure(&mut |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("unknown model architecture"), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_model_is_refused_before_anything_starts() {
    let machine = Machine::new();
    for content in ["some text", "", "GG"] {
        std::fs::write(machine.path("own.gguf"), content).unwrap();
        let error = machine.engine().ensure(&mut |_| {}).await.unwrap_err();
        assert!(error.to_string().contains("it is no GGUF file"), "{error}");
    }
    std::fs::remove_file(machine.path("own.gguf")).unwrap();
    let error = machine.engine().ensure(&mut |_| {}).await.unwrap_err();
    assert!(matches!(error, LocalError::NotAModel { .. }), "{error}");
}

#[tokio::test]
async fn without_llama_server_a_model_file_runs_in_the_engine_of_the_store() {
    let machine = Machine::new();
    let options = EngineOptions { llama_server: None, ..machine.options() };
    let error = Engine::new(options).ensure(&mut |_| {}).await.unwrap_err();
    assert!(matches!(error, LocalError::Forbidden(_)), "{error}");
}

#[tokio::test]
async fn the_built_in_model_runs_on_llama_server_with_its_adapter() {
    let machine = Machine::new();
    let sha256 = format!("{:x}", Sha256::digest(b"GGUF weights")).leak();
    let weights = KnownFile { name: "weights.gguf", size: 12, sha256 };
    let packages = Packages { weights, ..PACKAGES };
    std::fs::create_dir_all(machine.path("store/models")).unwrap();
    std::fs::write(machine.path("store/models/smollm2-135m.gguf"), "GGUF weights").unwrap();
    let pip = Pip { python: "/nowhere/python3".into(), environment: Vec::new() };
    let mut store = Store::new(machine.path("store"), pip, Some("a test".to_owned()));
    store.packages = packages;
    let engine = Engine::new(EngineOptions { store, model: Model::BuiltIn, ..machine.options() });
    assert_eq!(used(&engine).await.model, WEIGHTS_NAME);
    let told: Vec<String> =
        serde_json::from_slice(&std::fs::read(machine.path("pids.arguments")).unwrap()).unwrap();
    let after = |name: &str| told.iter().skip_while(|word| *word != name).nth(1).unwrap();
    assert!(after("--model").ends_with("/store/models/smollm2-135m.gguf"), "{told:?}");
    assert!(std::fs::read(after("--lora")).unwrap() == include_bytes!("../../../../model/adapter.gguf"));
    drop(used(&machine.engine()).await);
    let told = std::fs::read_to_string(machine.path("pids.arguments")).unwrap();
    assert!(!told.contains("--lora"), "a file of the user's has no adapter: {told}");
}
