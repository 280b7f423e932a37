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

#[test]
fn parameters_are_mapped_only_where_that_is_safe() {
    let declared = Declared::new(&[declaration()]);
    let map = ParameterMap::new()
        .with("*", "path", "file_path")
        .with("read_file", "lines", "limit")
        .with("*", "limit", "file_path")
        .with("*", "name", "title");
    let apply = |args: serde_json::Value| {
        let mut call = FunctionCall::new("1", "read_file", args.as_object().unwrap().clone());
        map.apply(&mut call, &declared);
        (serde_json::Value::Object(call.args), call.extra.get("mapped").cloned())
    };
    let (args, mapped) = apply(json!({"path": "a", "lines": 3}));
    assert_eq!(args, json!({"file_path": "a", "limit": 3}));
    assert_eq!(mapped, Some(json!({"lines": "limit", "path": "file_path"})));
    let usual = ParameterMap::new().with("*", "file", "limit").with_usual();
    let mut call = FunctionCall::new("1", "read_file", Map::from_iter([("path".to_owned(), json!("a"))]));
    usual.apply(&mut call, &declared);
    assert_eq!(serde_json::Value::Object(call.args), json!({"file_path": "a"}));
    for untouched in [json!({"path": "a", "file_path": "b"}), json!({"limit": 3}), json!({"name": "x"})] {
        assert_eq!(apply(untouched.clone()), (untouched, None));
    }
}
