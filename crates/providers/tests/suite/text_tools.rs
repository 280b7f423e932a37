//! A model without function calls uses tools, over a real socket, against a server that refuses what real
//! ones do.

use std::sync::Arc;

use charla_proto::{
    Content, ContentGenerator, FinishReason, FunctionDeclaration, GenerateRequest, GenerateResponse, Tool,
    WireKind,
};
use charla_providers::endpoint::{ModelRow, ModelThinking, Quirks};
use charla_providers::layers::{
    GuidancePlace, ParameterMap, StackOptions, TextToolsOptions, ToolMode, stack,
};
use charla_testkit::{Finish, Reply, Script, Server};
use serde_json::{Value, json};

use crate::conversation::{self, answer_calls, ask};

fn model(wire: WireKind) -> &'static str {
    match wire {
        WireKind::Gemini => "gemini-3-flash-preview",
        WireKind::OpenaiChat => "chat",
        WireKind::OpenaiResponses => "gpt-5",
        WireKind::Anthropic => "claude-sonnet-4-5",
    }
}

fn generator(server: &Server, wire: WireKind, options: StackOptions) -> Arc<dyn ContentGenerator> {
    let thinking = match wire {
        WireKind::Gemini | WireKind::OpenaiResponses => ModelThinking::Levels,
        WireKind::Anthropic => ModelThinking::Budget,
        WireKind::OpenaiChat => ModelThinking::None,
    };
    let row =
        ModelRow { id: model(wire).to_owned(), max_output: Some(4096), thinking, ..ModelRow::default() };
    stack(Arc::new(conversation::generator(server, "local", wire, Quirks::default(), row)), options)
}

fn text_mode() -> StackOptions {
    let parameters = ParameterMap::new().with("*", "dir", "path").with_usual();
    StackOptions { tools: ToolMode::Text, parameters, ..StackOptions::default() }
}

fn native() -> StackOptions {
    StackOptions { tools: ToolMode::Native, ..StackOptions::default() }
}

fn request(history: &[Arc<Content>], wire: WireKind) -> GenerateRequest {
    let tool = |name: &str, parameter: &str| {
        Arc::new(FunctionDeclaration {
            name: name.to_owned(),
            description: format!("Does {name}."),
            parameters_json_schema: json!({"type": "object", "properties": {parameter: {"type": "string"}},
                "required": [parameter]}),
            ..FunctionDeclaration::default()
        })
    };
    GenerateRequest {
        system_instruction: Some(Arc::new(Content::user("Be brief."))),
        tools: vec![Tool::functions(vec![tool("list_directory", "path"), tool("read_file", "file_path")])],
        ..GenerateRequest::new(model(wire), history.to_vec())
    }
}

fn call(name: &str, arguments: Value) -> String {
    format!("```json\n{}\n```", json!({"tool_call": {"name": name, "arguments": arguments}}))
}

fn names(answer: &GenerateResponse) -> Vec<&str> {
    answer.function_calls().map(|call| call.name.as_str()).collect()
}

#[tokio::test]
async fn a_model_without_function_calls_works_through_a_task_on_every_wire() {
    for wire in WireKind::ALL {
        let script = Script::new([
            Reply::new().chunk(3).text(format!(
                "<think>\nA folder first.\n</think>\n\nI look.\n\n{}",
                call("list_directory", json!({"path": "src"}))
            )),
            Reply::new().chunk(1).text(format!(
                "<tool_call>\n{}\n</tool_call>",
                json!({"name": "read_file", "arguments": {"path": "src/main.rs"}})
            )),
            Reply::new().chunk(2).text("It prints hello."),
        ]);
        let server = Server::start(script).expect("a server");
        let generator = generator(&server, wire, text_mode());
        let mut history = vec![Arc::new(Content::user("What does src do?"))];

        let first = ask(&*generator, request(&history, wire), &mut history).await;
        assert_eq!(first.text(), "I look.");
        assert_eq!(first.content().expect("a content").thoughts(), "\nA folder first.\n");
        assert_eq!(names(&first), ["list_directory"]);
        assert_eq!(first.finish_reason(), Some(&FinishReason::Stop));
        answer_calls(&mut history, "main.rs");

        let second = ask(&*generator, request(&history, wire), &mut history).await;
        let read = second.function_calls().next().expect("a call").clone();
        assert_eq!(Value::Object(read.args), json!({"file_path": "src/main.rs"}));
        assert_eq!(read.extra.get("mapped"), Some(&json!({"path": "file_path"})));
        assert_eq!(second.text(), "");
        answer_calls(&mut history, "fn main() { println!(\"hello\") }");

        let third = ask(&*generator, request(&history, wire), &mut history).await;
        assert_eq!((third.text().as_str(), third.function_calls().count()), ("It prints hello.", 0));
        assert_eq!(server.problems(), [], "{wire:?}");

        let last = server.requests().pop().expect("a request").body;
        let sent = last.to_string();
        assert!(!sent.contains("A folder first."), "thoughts stay here: {sent}");
        assert!(sent.contains("Result of tool list_directory:"), "{sent}");
        assert!(sent.contains("file_path (string, required)"), "{sent}");
        assert!(last.get("tools").is_none(), "{sent}");
    }
}

#[tokio::test]
async fn a_conversation_changes_between_native_and_text_in_the_middle_of_a_task() {
    for wire in WireKind::ALL {
        for native_first in [true, false] {
            let natively =
                |path: &str| Reply::new().text("Hm.").call("list_directory", json!({"path": path}));
            let in_words =
                |path: &str| Reply::new().thought("Hm.").text(call("list_directory", json!({"dir": path})));
            let replies = if native_first {
                [natively("a"), in_words("b"), natively("c"), "Done.".into()]
            } else {
                [in_words("a"), natively("b"), in_words("c"), "Done.".into()]
            };
            let server = Server::start(Script::new(replies)).expect("a server");
            let generators = [generator(&server, wire, native()), generator(&server, wire, text_mode())];
            let mut history = vec![Arc::new(Content::user("Look around."))];
            for step in 0..3 {
                let mode = (step + usize::from(!native_first)) % 2;
                let answer = ask(&*generators[mode], request(&history, wire), &mut history).await;
                assert_eq!(names(&answer), ["list_directory"], "{wire:?} step {step}");
                answer_calls(&mut history, "nothing there");
            }
            let last =
                ask(&*generators[usize::from(native_first)], request(&history, wire), &mut history).await;
            assert_eq!(last.text(), "Done.");
            assert_eq!(server.problems(), [], "{wire:?}, native first: {native_first}");
        }
    }
}

#[tokio::test]
async fn a_call_cut_by_the_output_limit_is_told_and_never_run() {
    let whole = call("read_file", json!({"file_path": "src/main.rs"}));
    let cut: String = whole.chars().take(whole.len() - 12).collect();
    let server =
        Server::start(Script::new([Reply::new().text(cut).finish(Finish::Length)])).expect("a server");
    let wire = WireKind::OpenaiChat;
    let generator = generator(&server, wire, text_mode());
    let mut history = vec![Arc::new(Content::user("Read it."))];
    let answer = ask(&*generator, request(&history, wire), &mut history).await;
    let call = answer.function_calls().next().expect("a call");
    assert!(call.invalid.as_ref().expect("invalid").reason.contains("cut off"));
    assert!(call.args.is_empty());
    assert_eq!(answer.finish_reason(), Some(&FinishReason::MaxTokens));
}

#[tokio::test]
async fn words_beside_a_call_can_be_dropped_and_guidance_can_stand_in_the_first_message() {
    let wire = WireKind::OpenaiChat;
    let said = format!("I look.\n\n{}", call("list_directory", json!({"path": "src"})));
    let server = Server::start(Script::new([said.as_str(), "Only words."])).expect("a server");
    let text = TextToolsOptions {
        preserve_context: false,
        place: GuidancePlace::FirstUser,
        ..TextToolsOptions::default()
    };
    let generator = generator(&server, wire, StackOptions { text, ..text_mode() });
    let mut history = vec![Arc::new(Content::user("Look."))];
    let first = ask(&*generator, request(&history, wire), &mut history).await;
    assert_eq!((first.text().as_str(), first.function_calls().count()), ("", 1));
    answer_calls(&mut history, "main.rs");
    assert_eq!(ask(&*generator, request(&history, wire), &mut history).await.text(), "Only words.");
    let sent = server.requests().pop().expect("a request").body;
    assert_eq!(sent["messages"][0]["content"], "Be brief.");
    let first = sent["messages"][1]["content"].to_string();
    assert!(first.contains("# Tools") && first.contains("Look."), "{first}");
}
