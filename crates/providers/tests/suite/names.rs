//! Names that models make up go back to every wire in a form its server takes.

use std::sync::Arc;

use charla_proto::{
    Content, FunctionCall, FunctionDeclaration, FunctionResponse, GenerateRequest, Part, Role, Tool, WireKind,
};
use charla_providers::endpoint::{ModelRow, Quirks};
use charla_testkit::{Reply, Script, Server};
use serde_json::{Map, json};

use crate::conversation::{self, streamed};

#[tokio::test]
async fn one_odd_name_never_bricks_a_conversation() {
    let long = "read_file_".repeat(7);
    let names = [
        "multi_tool_use.parallel",
        "functions.read_file",
        "default_api:read_file",
        "read_file<|channel|>commentary",
        "read file",
        "",
        "9lives",
        "파일_읽기",
        "read_file\n",
        &long,
    ];
    let tool = FunctionDeclaration {
        name: "read_file".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters_json_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        ..FunctionDeclaration::default()
    };
    let tools = vec![Tool::functions(vec![Arc::new(tool)])];
    for wire in WireKind::ALL {
        let server = Server::start(Script::new(names.map(|_| Reply::new().text("ok")))).expect("a server");
        let model = ModelRow { id: "m".to_owned(), max_output: Some(1024), ..ModelRow::default() };
        let generator = conversation::generator(&server, "home", wire, Quirks::default(), model);
        for name in names {
            let call = Part::function_call(FunctionCall::new("call_1", name, Map::new()));
            let response = FunctionResponse::error("call_1", name, "there is no such tool");
            let contents = vec![
                Arc::new(Content::user("Look.")),
                Arc::new(Content::new(Role::Model, vec![call])),
                Arc::new(Content::new(Role::User, vec![Part::function_response(response)])),
            ];
            let request = GenerateRequest { tools: tools.clone(), ..GenerateRequest::new("m", contents) };
            let answer = streamed(&generator, &request).await;
            let (answer, _) = answer.unwrap_or_else(|error| panic!("{name:?} on {wire:?}: {error}"));
            assert_eq!(answer.text(), "ok", "{name:?} on {wire:?}");
        }
        assert_eq!(server.problems(), [], "{wire:?}");
    }
}
