//! Models of every kind, on a real socket.

use charla_proto::WireKind;
use charla_testkit::{Cut, Failure, FailureKind, Reply, Script, Server};

use super::*;
use crate::endpoint::{AuthStyle, Endpoint, ModelRow, Quirks, Target};
use crate::{Client, Credential, Generator, NetworkOptions};

async fn probed(script: Script) -> (Result<Finding, LlmError>, Server) {
    let server = Server::start(script).unwrap();
    let endpoint = Endpoint {
        name: "own".to_owned(),
        wire: WireKind::OpenaiChat,
        base_url: server.base_url(WireKind::OpenaiChat),
        auth: AuthStyle::None,
        headers: Vec::new(),
        quirks: Quirks::default(),
    };
    let target = Target::new(Arc::new(endpoint), ModelRow { id: "m".to_owned(), ..ModelRow::default() });
    let client = Client::new(NetworkOptions::default()).unwrap();
    let generator = Arc::new(Generator::new(target, Credential::None, client));
    let template = GenerateRequest::new("m", Vec::new());
    let finding = probe(generator, &StackOptions::default(), &template, None).await;
    (finding, server)
}

async fn found(script: Script) -> (ToolMode, u32, bool) {
    let (finding, server) = probed(script).await;
    let finding = finding.unwrap();
    assert_eq!(server.requests().len() as u32, finding.exchanges);
    (finding.tools, finding.exchanges, finding.thoughts)
}

const WRITTEN: &str =
    "```json\n{\"tool_call\": {\"name\": \"look_up_word\", \"arguments\": {\"word\": \"harbour\"}}}\n```";

#[tokio::test]
async fn a_function_call_proves_native_tools_in_one_exchange() {
    let call = || Reply::new().call(TOOL, json!({"word": "harbour"}));
    assert_eq!(found(Script::new([call()])).await, (ToolMode::Native, 1, false));
    let thinking = Reply::new().thought("I should look it up").call(TOOL, json!({"word": "harbour"}));
    assert_eq!(found(Script::new([thinking])).await, (ToolMode::Native, 1, true));
    let tagged = Reply::new().text("<think>look it up</think>").call(TOOL, json!({"word": "harbour"}));
    assert_eq!(found(Script::new([tagged])).await, (ToolMode::Native, 1, true));
}

#[tokio::test]
async fn a_call_in_the_text_proves_text_tools_in_one_exchange() {
    let dialects = [
        "<tool_call>\n{\"name\": \"look_up_word\", \"arguments\": {\"word\": \"harbour\"}}\n</tool_call>",
        "[TOOL_CALLS][{\"name\": \"look_up_word\", \"arguments\": {\"word\": \"harbour\"}}]",
        "{\"name\": \"look_up_word\", \"parameters\": {\"word\": \"harbour\"}}",
        WRITTEN,
        &format!("Here is the tool call in the required format:\n\n{WRITTEN}"),
    ];
    for dialect in dialects {
        assert_eq!(found(Script::new([dialect])).await, (ToolMode::Text, 1, false), "{dialect}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_tools_by_name_is_asked_no_second_time() {
    let refusals = [
        Failure::bad_request("registry.ollama.ai/library/gemma3:latest does not support tools"),
        Failure::new(FailureKind::Server).message("tools param requires --jinja flag"),
        Failure::bad_request("\"auto\" tool choice requires --enable-auto-tool-choice"),
        Failure::new(FailureKind::NotFound).message("No endpoints found that support tool use."),
    ];
    for refusal in refusals {
        let mode = found(Script::new([Reply::from(refusal.clone())])).await;
        assert_eq!(mode, (ToolMode::Text, 1, false), "{refusal:?}");
    }
}

#[tokio::test]
async fn a_plain_answer_is_followed_by_questions_in_words() {
    let plain = || Reply::from("A harbour is a place where ships lie.");
    assert_eq!(found(Script::new([plain(), WRITTEN.into()])).await, (ToolMode::Text, 2, false));
    assert_eq!(found(Script::new([plain(), plain(), WRITTEN.into()])).await, (ToolMode::Text, 3, false));
    assert_eq!(found(Script::new([plain(), plain(), plain()])).await, (ToolMode::None, 3, false));
    let (_, server) = probed(Script::new([plain(), plain(), plain()])).await;
    let bodies: Vec<_> = server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(bodies[0]["tools"].as_array().unwrap().len(), 1);
    assert_eq!(bodies[0]["max_tokens"], 1024);
    assert!(bodies[1].get("tools").is_none(), "{}", bodies[1]);
    assert!(bodies[1]["messages"][0]["content"].as_str().unwrap().contains(TOOL));
}

#[tokio::test]
async fn an_unexplained_refusal_counts_only_when_the_server_answers_without_tools() {
    let refusal = || Reply::from(Failure::bad_request("unprocessable"));
    assert_eq!(found(Script::new([refusal(), WRITTEN.into()])).await, (ToolMode::Text, 2, false));
    assert_eq!(
        found(Script::new([refusal(), "A harbour.".into(), "A quay.".into()])).await,
        (ToolMode::None, 3, false)
    );
    let (finding, _) = probed(Script::new([refusal(), refusal()])).await;
    assert_eq!(finding.unwrap_err().kind, LlmErrorKind::InvalidRequest);
}

#[tokio::test]
async fn what_would_fail_without_tools_too_decides_nothing() {
    let failures = [
        (Reply::from(Failure::new(FailureKind::Auth)), LlmErrorKind::Auth),
        (Failure::new(FailureKind::Permission).into(), LlmErrorKind::Permission),
        (Failure::new(FailureKind::NotFound).into(), LlmErrorKind::NotFound),
        (Failure::rate_limit().into(), LlmErrorKind::RateLimit),
        (Failure::new(FailureKind::Overloaded).into(), LlmErrorKind::Overloaded),
        (Reply::new().cut(Cut::NoAnswer), LlmErrorKind::Network),
    ];
    for (reply, kind) in failures {
        let (finding, server) = probed(Script::new([reply])).await;
        assert_eq!(finding.unwrap_err().kind, kind);
        assert_eq!(server.requests().len(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn a_model_that_only_thinks_until_its_limit_proves_nothing() {
    let thinking = || Reply::new().thought("hm ".repeat(50)).finish(charla_testkit::Finish::Length);
    let (finding, _) = probed(Script::new([thinking(), thinking(), thinking()])).await;
    assert_eq!(finding.unwrap_err().kind, LlmErrorKind::InvalidStream);
}

#[tokio::test]
async fn a_model_that_talks_on_is_not_listened_to_for_ever() {
    let talk = || Reply::new().chunk(40).text("ships and quays ".repeat(200)).stall();
    assert_eq!(found(Script::new([talk(), talk(), talk()])).await, (ToolMode::None, 3, false));
}

#[tokio::test]
async fn a_model_that_thinks_on_is_not_listened_to_for_ever() {
    let think = || Reply::new().chunk(400).thought("hm, ships ".repeat(4_000)).stall();
    let (finding, server) = probed(Script::new([think(), think(), think()])).await;
    assert_eq!(finding.unwrap_err().kind, LlmErrorKind::InvalidStream);
    assert_eq!(server.requests().len(), 3);
}
