use charla_proto::{
    Content, FunctionCall, FunctionDeclaration, FunctionResponse, Part, Role, Tool, ToolConfig,
};
use serde_json::{Map, json};

use super::*;

fn declaration() -> Arc<FunctionDeclaration> {
    Arc::new(FunctionDeclaration {
        name: "read_file".to_owned(),
        parameters_json_schema: json!({"type": "object",
            "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}}}),
        ..FunctionDeclaration::default()
    })
}

fn conversation() -> GenerateRequest {
    let args = Map::from_iter([("file_path".to_owned(), json!("a"))]);
    let mut call = Part::function_call(FunctionCall::new("1", "read_file", args));
    call.thought_signature = Some("proof".to_owned());
    let mut response = FunctionResponse::output("1", "read_file", "content");
    response.parts.push(Part::inline_data("image/png", "AA=="));
    let contents = vec![
        Arc::new(Content::user("Read a.")),
        Arc::new(Content::new(Role::Model, vec![Part::thought("hm"), Part::text("I read."), call])),
        Arc::new(Content::new(Role::User, vec![Part::function_response(response)])),
    ];
    GenerateRequest {
        system_instruction: Some(Arc::new(Content::user("Be brief."))),
        tools: vec![Tool::functions(vec![declaration()])],
        tool_config: Some(ToolConfig::default()),
        ..GenerateRequest::new("m", contents)
    }
}

#[test]
fn a_request_goes_out_without_tools_calls_and_proofs() {
    let request = conversation();
    let out = Outgoing::default().convert(&request, &TextToolsOptions::default());
    assert!(out.tools.is_empty() && out.tool_config.is_none());
    let call = "I read.\n\n```json\n{\"tool_call\":{\"name\":\"read_file\",\"arguments\":{\"file_path\":\"a\"}}}\n```";
    assert_eq!(out.contents[1].parts, [Part::text(call)]);
    let result = [Part::text("Result of tool read_file:\ncontent"), Part::inline_data("image/png", "AA==")];
    assert_eq!(out.contents[2].parts, result);
    let system = out.system_instruction.unwrap().text();
    assert!(system.starts_with("Be brief.") && system.contains("## read_file"), "{system}");
}

#[test]
fn what_did_not_change_keeps_its_identity() {
    let outgoing = Outgoing::default();
    for place in [GuidancePlace::System, GuidancePlace::FirstUser] {
        let options = TextToolsOptions { place, ..TextToolsOptions::default() };
        let mut request = conversation();
        let first = outgoing.convert(&request, &options);
        request.contents.push(Arc::new(Content::model("Done.")));
        let second = outgoing.convert(&request, &options);
        for (one, other) in first.contents.iter().zip(&second.contents) {
            assert!(Arc::ptr_eq(one, other), "{place:?}: {one:?}");
        }
        let system = |request: &GenerateRequest| request.system_instruction.clone().unwrap();
        assert!(Arc::ptr_eq(&system(&first), &system(&second)));
        assert!(Arc::ptr_eq(&second.contents[3], &request.contents[3]));
    }
}

#[test]
fn tools_that_may_not_be_called_are_not_offered() {
    let mut request = conversation();
    request.tool_config.as_mut().unwrap().function_calling_config.mode =
        charla_proto::FunctionCallingMode::None;
    let out = Outgoing::default().convert(&request, &TextToolsOptions::default());
    assert_eq!(out.system_instruction.unwrap().text(), "Be brief.");
    assert_eq!(out.contents[1].role, Role::Model);
}
