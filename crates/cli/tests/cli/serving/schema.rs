//! The interface tried by its own document: Schemathesis makes requests that fit it and requests that do not.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use charla_testkit::{Otherwise, Script};

use super::client::Served;
use super::{place, write};
use crate::place::{Place, server};

/// Streams do not end by themselves: these are tried through a proxy that ends them.
const STREAMS: [&str; 2] = ["session_events", "events"];
/// How long such a stream may be silent there.
const SILENCE: Duration = Duration::from_millis(200);

/// What may be answered to what the document describes: which folders, models and sessions there are, no document tells. It is never 400.
const POSSIBLE: [&str; 8] = ["2xx", "401", "402", "403", "404", "409", "422", "429"];

#[test]
fn what_the_document_says_holds_for_requests_that_nobody_thought_of() {
    let script = Script::new([write("a.txt"), "Hello.".into(), "Hello again.".into()]);
    let server = server(Script { otherwise: Otherwise::Repeat, ..script });
    let place = place(&server).settings(r#"{"model": {"name": "openai/gpt-4.1"}}"#);
    let served = Served::start(&place);
    // What is sent is sent to sessions that are there: one whose question waits, and one that rests.
    let asks = served.begin("write it");
    let question = served.questions(1).remove(0);
    let session = served.begin("hi");
    served.events(&session, 0).until("turn_ended");
    let gone = served.begin("hi again");
    served.events(&gone, 0).until("turn_ended");
    let approval = question["asked"]["approval"].as_str().unwrap();
    let known = format!(
        "[parameters]\n\"path.id\" = \"{session}\"\n\"path.turn\" = \"1\"\n\"path.approval\" = \"{approval}\"\n\n\
         [checks]\npositive_data_acceptance.expected-statuses = {POSSIBLE:?}\n\n\
         [[operations]]\ninclude-operation-id = \"delete_session\"\nparameters = {{ \"path.id\" = \"{gone}\" }}\n"
    );
    std::fs::write(place.path().join("schemathesis.toml"), known).unwrap();
    try_out(&served, &place, &served.address, "--exclude-operation-id");
    try_out(&served, &place, &ending_streams(&served.address), "--include-operation-id");
    assert_eq!(served.get("/me").status, 200, "it lives on");
    let records = |session: &str| served.get(&format!("/sessions/{session}/records")).text();
    assert!(records(&asks).contains("approval_answered"), "answers that fit the document are taken");
    assert_eq!(served.get(&format!("/sessions/{gone}")).status, 404, "so is what removes a session");
    let turns = records(&session).matches("turn_started").count();
    assert!(turns > 1, "so are commands: {turns} turns");
}

/// Has requests made to this address by the document, without the streams or only to them.
fn try_out(served: &Served, place: &Place, address: &str, which: &str) {
    let python = std::env::var("CHARLA_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let document = format!("http://{}/api/v1/openapi.json", served.address);
    let mut command = Command::new(python);
    command.args(["-m", "schemathesis.cli", "run", &document, "--url", &format!("http://{address}")]);
    command.args(["--header", &format!("Authorization: Bearer {}", served.token)]);
    command.args(["--header", &format!("Host: {}", served.address), "--no-color", "--seed", "1"]);
    command.args(["--max-examples", "10", "--request-timeout", "60", "--generation-database", "none"]);
    command.args(STREAMS.iter().flat_map(|name| [which, name]));
    let output = command.current_dir(place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("test cases") || said.contains("Test cases"), "{said}");
}

/// A proxy to this address in which streams of events end once they are silent.
fn ending_streams(address: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (own, address) = (listener.local_addr().unwrap().to_string(), address.to_owned());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(&address).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            std::thread::spawn(move || answers(server, client));
        }
    });
    own
}

fn answers(mut server: TcpStream, mut client: TcpStream) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        match server.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                let said = &bytes[..count];
                if said.windows(17).any(|text| text == b"text/event-stream") {
                    server.set_read_timeout(Some(SILENCE)).unwrap();
                }
                if client.write_all(said).is_err() {
                    break;
                }
            }
            // The last chunk: the stream has ended as far as the client can tell.
            Err(_) => {
                let _ = client.write_all(b"0\r\n\r\n");
                break;
            }
        }
    }
    let _ = (server.shutdown(Shutdown::Both), client.shutdown(Shutdown::Both));
}
