//! The compose file, the proxy's and the service's of the handbook: what they start is what the program takes.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use charla_testkit::{Postgres, Reply, Script};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;

use super::client::Served;
use super::place;
use crate::place::{PATIENCE, Place, server};

const PAGE: &str = include_str!("../../../../../docs/server.md");

fn python() -> Command {
    Command::new(std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into()))
}

/// The block of this language that holds these words.
fn block(language: &str, words: &str) -> &'static str {
    let fence = format!("```{language}\n");
    let mut blocks = PAGE.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains(words)).unwrap()
}

/// The compose file as JSON.
fn compose() -> Value {
    let program = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))";
    let read = python().args(["-c", program, block("yaml", "services:")]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    serde_json::from_slice(&read.stdout).unwrap()
}

/// A port that is free at this moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts the node of this name as the compose file has it, at an address of this machine.
fn node(compose: &Value, name: &str, place: &Place, address: &str) -> Served {
    let node = &compose["services"][name];
    let database = node["environment"]["CHARLA_DATABASE"].as_str().unwrap();
    assert!(database.starts_with("postgres://charla:") && database.contains("@database/"), "{node}");
    let words = node["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let proxy = compose["services"]["proxy"]["networks"]["default"]["ipv4_address"].as_str().unwrap();
    let command: Vec<&str> = words
        .map(|word| match word {
            "0.0.0.0:4096" => address,
            word if word == proxy => "127.0.0.1",
            word => word,
        })
        .collect();
    // The image's entry point is the program.
    assert!(include_str!("../../../../../packaging/Containerfile").contains(r#"ENTRYPOINT ["charla"]"#));
    let [serve, arguments @ ..] = command.as_slice() else { panic!("{node}") };
    assert_eq!((*serve, arguments.contains(&"127.0.0.1")), ("serve", true), "it trusts the proxy: {node}");
    Served::with(place, arguments)
}

/// The proxy of the handbook, at a port of this machine, with a certificate of its own.
struct Proxy {
    child: Child,
    port: u16,
}

impl Proxy {
    fn start(folder: &Path, nodes: [&str; 2]) -> Self {
        let names = vec!["charla.example.org".to_owned()];
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("cert.pem"), cert.pem()).unwrap();
        std::fs::write(folder.join("key.pem"), signing_key.serialize_pem()).unwrap();
        let port = free_port();
        let written = block("nginx", "upstream charla");
        for needed in ["node1:4096", "node2:4096", "/etc/certificates/", "listen 443"] {
            assert!(written.contains(needed), "{needed}");
        }
        let server = written
            .replace("node1:4096", nodes[0])
            .replace("node2:4096", nodes[1])
            .replace("/etc/certificates", folder.to_str().unwrap())
            .replace("listen 443", &format!("listen 127.0.0.1:{port}"));
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|name| format!("{name}_temp_path {}/{name};\n", folder.display()))
            .collect();
        let config = format!(
            "user root;\npid {0}/pid;\nevents {{}}\nhttp {{\nlog_format nodes '$upstream_addr $status';\n\
             access_log {0}/access nodes;\n{temporary}{server}}}\n",
            folder.display()
        );
        std::fs::write(folder.join("nginx.conf"), config).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let child = Command::new("nginx")
            .env("PATH", format!("{path}:/usr/sbin"))
            .args(["-e", "stderr", "-g", "daemon off;", "-c"])
            .arg(folder.join("nginx.conf"))
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap_or_else(|error| panic!("nginx, which ./test installs: {error}"));
        let begin = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begin.elapsed() < PATIENCE, "the proxy does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, port }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Its workers end with it when it is asked, not when it is killed.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

#[test]
fn the_nodes_and_the_proxy_of_the_handbook_work_together_on_one_database() {
    let compose = compose();
    let postgres = Postgres::start().unwrap();
    let model = server(Script::always(Reply::new().text("Half of it").stall()));
    let place = place(&model).variable("CHARLA_DATABASE", &postgres.address());
    let port = free_port();
    let addresses = ["127.0.0.1", "127.0.0.2"].map(|address| format!("{address}:{port}"));
    let nodes = ["node1", "node2"].map(|name| {
        let address = &addresses[usize::from(name == "node2")];
        node(&compose, name, &place, address)
    });
    assert_eq!(nodes[0].token, nodes[1].token);
    let folder = place.path().join("proxy");
    let proxy = Proxy::start(&folder, [&addresses[0], &addresses[1]]);
    // The second node's link: what is signed in there is so at the first.
    let tried = python()
        .args(["-c", include_str!("deployment.py"), &proxy.port.to_string()])
        .arg(folder.join("cert.pem"))
        .arg(&nodes[1].code)
        .output()
        .unwrap();
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&tried.stderr));
    let passed = std::fs::read_to_string(folder.join("access")).unwrap();
    for address in &addresses {
        assert!(passed.contains(&format!("{address} 200")), "both nodes are asked: {passed}");
    }
    // Who asked is told by the proxy's word, not by its address.
    let log = postgres.run("psql", &["-d", "postgres", "-Atc", "select line from charla.audit"]);
    let log = String::from_utf8(log.unwrap()).unwrap();
    assert!(log.contains("\"from\":\"127.0.0.9\"") && !log.contains("\"from\":\"127.0.0.1\""), "{log}");
}

#[test]
fn what_the_compose_file_names_is_there() {
    let compose = compose();
    for volume in ["database", "home"] {
        assert!(compose["volumes"].get(volume).is_some(), "{compose}");
    }
    let subnet = compose["networks"]["default"]["ipam"]["config"][0]["subnet"].as_str().unwrap();
    let proxy = compose["services"]["proxy"]["networks"]["default"]["ipv4_address"].as_str().unwrap();
    assert_eq!(subnet.rsplit_once('.').unwrap().0, proxy.rsplit_once('.').unwrap().0, "{compose}");
    // Both nodes are of the image that the handbook builds, which has certificates of authorities.
    let image = include_str!("../../../../../packaging/Containerfile");
    assert!(image.contains("ca-certificates") && image.contains("/usr/local/bin/charla"), "{image}");
    assert!(PAGE.contains("docker build -f packaging/Containerfile"));
    for name in ["node1", "node2"] {
        assert_eq!(compose["services"][name]["image"], "charla");
        assert!(compose["services"][name]["ulimits"]["nofile"].as_u64().is_some_and(|most| most >= 65536));
    }
    let unit = block("ini", "ExecStart");
    assert!(unit.contains("charla serve") && unit.contains("LimitNOFILE=65536"), "{unit}");
}
