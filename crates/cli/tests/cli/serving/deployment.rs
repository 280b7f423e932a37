//! The compose file of the handbook: what it starts is what the program takes.

use std::process::Command;

use charla_testkit::{Postgres, Script};
use serde_json::Value;

use super::client::Served;
use super::place;
use crate::place::server;

/// The compose file as JSON.
fn compose() -> Value {
    let page = include_str!("../../../../../docs/server.md");
    let text = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let program = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))";
    let read = Command::new(python).args(["-c", program, text]).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    serde_json::from_slice(&read.stdout).unwrap()
}

#[test]
fn the_nodes_of_the_compose_file_start_with_its_arguments_on_one_database() {
    let compose = compose();
    let postgres = Postgres::start().unwrap();
    let model = server(Script::new(["unused"]));
    let place = place(&model).variable("CHARLA_DATABASE", &postgres.address());
    let mut nodes = Vec::new();
    for name in ["node1", "node2"] {
        let node = &compose["services"][name];
        assert!(
            node["environment"]["CHARLA_DATABASE"].as_str().unwrap().starts_with("postgres://"),
            "{node}"
        );
        let command: Vec<&str> =
            node["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let [program, "serve", arguments @ ..] = command.as_slice() else { panic!("{command:?}") };
        let mounted = node["volumes"].as_array().unwrap().iter();
        assert!(mounted.clone().any(|volume| volume.as_str().unwrap().contains(program)), "{node}");
        // The same at a port that is free here.
        let arguments: Vec<&str> =
            arguments.iter().map(|word| if *word == "0.0.0.0:4096" { "0.0.0.0:0" } else { word }).collect();
        nodes.push(Served::with(&place, &arguments));
    }
    for volume in ["database", "home"] {
        assert!(compose["volumes"].get(volume).is_some(), "{compose}");
    }
    let host = [("host", "charla.example.org")];
    for node in &nodes {
        let address = node.address.replace("0.0.0.0", "127.0.0.1");
        let ready = ready(&address, &host);
        assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    }
    assert_eq!(nodes[0].token, nodes[1].token);
}

/// What a node answers to who asks by the name that the proxy passes on.
fn ready(address: &str, headers: &[(&str, &str)]) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "GET /api/v1/ready HTTP/1.1\r\n{headers}connection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}
