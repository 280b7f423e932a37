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

/// What comes of an answer with this text, given in these pieces: what is shown, and each call's name and what is
/// wrong with its arguments.
fn answered<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, Vec<(String, String)>) {
    let mut reader = TextTools::new(TextToolsOptions::default()).incoming(&conversation()).unwrap();
    let chunk = |content: Option<Content>, finish_reason| {
        let candidate = charla_proto::Candidate { content, finish_reason, ..Default::default() };
        charla_proto::GenerateResponse { candidates: vec![candidate], ..Default::default() }
    };
    let mut whole = charla_proto::Assembler::new();
    for piece in pieces {
        whole.push(reader.read(chunk(Some(Content::model(piece)), None)));
    }
    whole.push(reader.read(chunk(None, Some(charla_proto::FinishReason::Stop))));
    let answer = whole.finish();
    let wrong =
        |call: &FunctionCall| call.invalid.as_ref().map(|invalid| invalid.reason.clone()).unwrap_or_default();
    let calls = answer.content().unwrap().function_calls().map(|call| (call.name.clone(), wrong(call)));
    let calls = calls.collect();
    (answer.text(), calls)
}

#[test]
fn an_answer_that_is_a_call_nobody_can_take_is_told_to_the_model() {
    let rows = [
        (r#"{"tool_call": {"name": "read_files", "arguments": {"path": "a"}}}"#, "read_files", ""),
        ("```json\n{\"tool_call\": {\"name\": \"look\", \"arguments\": {}}}\n```", "look", ""),
        ("<tool_call>\n{\"name\": \"look\", \"arguments\": {}}\n</tool_call>", "look", ""),
        ("[TOOL_CALLS][{\"name\": \"look\", \"arguments\": {}}]", "look", ""),
        (r#"{"tool_call": {"name": "read_file", "arguments": {path: a}}}"#, "read_file", "could not be read"),
        (r#"{"tool_call": "read_file"}"#, "tool_call", "could not be read"),
        (
            "```json\n{\"tool_call\": {\"name\": \"read_file\", \"arguments\": {a}}}\n```",
            "read_file",
            "not valid JSON",
        ),
    ];
    for (text, name, wrong) in rows {
        let (shown, calls) = answered([text]);
        assert_eq!(shown, "", "{text}");
        let [(called, reason)] = &calls[..] else { panic!("{text}: {calls:?}") };
        assert_eq!(called, name, "{text}");
        assert!(reason.contains(wrong) && reason.is_empty() == wrong.is_empty(), "{text}: {reason}");
        let characters: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(
            answered(characters.iter().map(String::as_str)),
            (shown, calls),
            "in single characters: {text}"
        );
    }
}

#[test]
fn an_answer_that_only_looks_like_a_call_stays_an_answer() {
    for text in [
        r#"{"name": "my-package", "parameters": {"x": 1}}"#,
        r#"{"files": ["a"]}"#,
        r#"{"tool_call": {"name": "NAME", "arguments": {...}}}"#,
        "<tool_call> is the tag that a call begins with.",
        "The tools are read_file and write_file.",
    ] {
        assert_eq!(answered([text]), (text.to_owned(), vec![]), "{text}");
    }
}
