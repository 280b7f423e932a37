//! A model that takes no media: told once by its server, known from then on.

use std::sync::Arc;

use charla_proto::{Content, FunctionCall, FunctionResponse, GenerateRequest, Part, Role, WireKind};
use charla_providers::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use charla_providers::{Client, Credential, Generator, NetworkOptions, Proxy};
use serde_json::{Map, json};
use tokio::net::TcpListener;

use crate::conversation::streamed;
use crate::endings::{events, read_request, reply};

const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// Refuses, with this status, requests that hold the picture; answers all others. Gives what it was asked.
async fn serve(listener: &TcpListener, wire: WireKind, status: &str, requests: usize) -> Vec<String> {
    let mut seen = Vec::new();
    for _ in 0..requests {
        let (mut socket, _) = listener.accept().await.unwrap();
        let request = read_request(&mut socket).await;
        let error = json!({"error": {"message": "image input is not supported by this model"}}).to_string();
        let (status, body) = match request.contains(PIXEL) {
            true => (status, error),
            false => ("200 OK", events(wire).whole()),
        };
        seen.push(request);
        reply(&mut socket, status, &body).await;
    }
    seen
}

#[tokio::test]
async fn media_that_a_model_refuses_is_left_out_and_the_turn_goes_on() {
    for wire in WireKind::ALL {
        for status in ["400 Bad Request", "404 Not Found", "500 Internal Server Error"] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
            let (name, auth) = ("blind".to_owned(), AuthStyle::None);
            let quirks = Quirks::default();
            let endpoint = Endpoint { name, wire, base_url, auth, headers: Vec::new(), quirks };
            let model = ModelRow { id: "m".to_owned(), images: true, ..ModelRow::default() };
            let options = NetworkOptions { proxy: Proxy::None, ..NetworkOptions::default() };
            let target = Target::new(Arc::new(endpoint), model);
            let generator = Generator::new(target, Credential::None, Client::new(options).unwrap());
            let mut shot = FunctionResponse::output("call_1", "read_file", "a picture");
            shot.parts.push(Part::inline_data("image/png", PIXEL));
            let call = FunctionCall::new("call_1", "read_file", Map::new());
            let contents = vec![
                Arc::new(Content::user("Look.")),
                Arc::new(Content::new(Role::Model, vec![Part::function_call(call)])),
                Arc::new(Content::new(Role::User, vec![Part::function_response(shot)])),
            ];
            let request = GenerateRequest::new("m", contents);
            let asking = async {
                for _ in 0..2 {
                    let answer = streamed(&generator, &request).await;
                    let (answer, _) = answer.unwrap_or_else(|error| panic!("{wire:?}, {status}: {error}"));
                    assert_eq!(answer.text(), "Hello");
                }
            };
            // The picture goes out once; the second turn knows.
            let ((), seen) = tokio::join!(asking, serve(&listener, wire, status, 3));
            let shown: Vec<bool> = seen.iter().map(|request| request.contains(PIXEL)).collect();
            assert_eq!(shown, [true, false, false], "{wire:?}, {status}");
            assert!(seen[1].contains("not shown: this model takes no"), "{wire:?}: {}", seen[1]);
        }
    }
}
