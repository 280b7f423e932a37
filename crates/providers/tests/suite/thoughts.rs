//! Thoughts go back to models that require them, never to models that refuse them, and never as words.
//!
//! Every row is the same conversation: the model thinks and calls, is told the result, thinks and answers,
//! and is asked something else. The server refuses what the real one would.

use std::sync::Arc;

use charla_proto::{Content, ContentGenerator, FunctionDeclaration, GenerateRequest, Tool, WireKind};
use charla_providers::endpoint::{ModelRow, ModelThinking, Quirks, ReasoningReplay};
use charla_providers::layers::{StackOptions, ToolMode, stack};
use charla_testkit::{ChatReplay, ChatThoughts, Recorded, Reply, Script, Server};
use serde_json::{Value, json};

use crate::conversation;

/// What the model thinks before its call and before its answer.
const FIRST: &str = "The folder comes first.";
const SECOND: &str = "Now it is clear.";

/// A kind of server and model.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    wire: WireKind,
    replay: ReasoningReplay,
    thinking: ModelThinking,
    script: (ChatThoughts, ChatReplay),
    mode: ToolMode,
    /// Thoughts stand between tags in the text.
    tags: bool,
}

const CHAT: Kind = Kind {
    name: "plain",
    wire: WireKind::OpenaiChat,
    replay: ReasoningReplay::Never,
    thinking: ModelThinking::None,
    script: (ChatThoughts::ReasoningContent, ChatReplay::Refused),
    mode: ToolMode::Native,
    tags: false,
};
const INSISTENT: Kind = Kind {
    name: "insistent",
    replay: ReasoningReplay::ToolCalls,
    script: (ChatThoughts::ReasoningContent, ChatReplay::Required),
    ..CHAT
};
const ALLOWING: Kind = Kind { script: (ChatThoughts::ReasoningContent, ChatReplay::Allowed), ..CHAT };
const GEMINI: Kind = Kind { wire: WireKind::Gemini, thinking: ModelThinking::Levels, ..CHAT };
const ANTHROPIC: Kind = Kind { wire: WireKind::Anthropic, thinking: ModelThinking::Budget, ..CHAT };
const RESPONSES: Kind = Kind { wire: WireKind::OpenaiResponses, thinking: ModelThinking::Levels, ..CHAT };

impl Kind {
    fn model(self) -> &'static str {
        match self.wire {
            WireKind::Gemini => "gemini-3-flash-preview",
            WireKind::OpenaiChat => "chat",
            WireKind::OpenaiResponses => "gpt-5",
            WireKind::Anthropic => "claude-sonnet-4-5",
        }
    }

    fn generator(self, server: &Server) -> Arc<dyn ContentGenerator> {
        let row = ModelRow {
            id: self.model().to_owned(),
            max_output: Some(8192),
            thinking: self.thinking,
            ..ModelRow::default()
        };
        let quirks = Quirks { reasoning_replay: self.replay, ..Quirks::default() };
        let generator = conversation::generator(server, self.name, self.wire, quirks, row);
        stack(Arc::new(generator), StackOptions { tools: self.mode, ..StackOptions::default() })
    }

    /// A reply that thinks and then says or calls something.
    fn reply(self, thought: &str, text: &str, call: bool) -> Reply {
        let mut words = text.to_owned();
        if call && self.mode == ToolMode::Text {
            let call = json!({"tool_call": {"name": "list_directory", "arguments": {"path": "src"}}});
            words = format!("```json\n{call}\n```");
        }
        let mut reply = match self.tags {
            true => Reply::new().text(format!("<think>\n{thought}\n</think>\n\n{words}")),
            false => Reply::new().thought(thought).text(words),
        };
        if call && self.mode == ToolMode::Native {
            reply = reply.call("list_directory", json!({"path": "src"}));
        }
        reply
    }

    fn script(self, replies: Vec<Reply>) -> Script {
        let (chat_thoughts, chat_replay) = self.script;
        Script { chat_thoughts, chat_replay, ..Script::new(replies) }
    }
}

async fn ask(kind: Kind, generator: &dyn ContentGenerator, history: &mut Vec<Arc<Content>>) {
    let tool = FunctionDeclaration {
        name: "list_directory".to_owned(),
        description: "Lists a folder.".to_owned(),
        parameters_json_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        ..FunctionDeclaration::default()
    };
    let request = GenerateRequest {
        tools: vec![Tool::functions(vec![Arc::new(tool)])],
        thinking: Some(conversation::thinking()),
        ..GenerateRequest::new(kind.model(), history.clone())
    };
    conversation::ask(generator, request, history).await;
}

fn answer_call(history: &mut Vec<Arc<Content>>) {
    assert_eq!(conversation::answer_calls(history, "main.rs"), 1);
}

/// The whole conversation; gives the requests after the call and after the answer.
async fn converse(kind: Kind) -> [Recorded; 2] {
    let replies = vec![
        kind.reply(FIRST, "I look.", true),
        kind.reply(SECOND, "There is main.rs.", false),
        kind.reply("Bye.", "You are welcome.", false),
    ];
    let server = Server::start(kind.script(replies)).expect("a server");
    let generator = kind.generator(&server);
    let mut history = vec![Arc::new(Content::user("What is in src?"))];
    ask(kind, &*generator, &mut history).await;
    assert!(history[1].thoughts().contains(FIRST), "thoughts are kept for the person");
    answer_call(&mut history);
    ask(kind, &*generator, &mut history).await;
    history.push(Arc::new(Content::user("Thanks.")));
    ask(kind, &*generator, &mut history).await;
    assert_eq!(server.problems(), [], "{:?} {:?}", kind.wire, kind.replay);
    let mut requests = server.requests();
    let last = requests.pop().expect("three requests");
    [requests.pop().expect("three requests"), last]
}

/// Which of the thoughts are in a request's body, in whatever form they can be read.
fn told(request: &Recorded) -> (bool, bool) {
    let body = request.body.to_string();
    (body.contains(FIRST), body.contains(SECOND))
}

const NEITHER: (bool, bool) = (false, false);

/// Where the thoughts of a chat model go, by the server's peculiarity.
#[tokio::test]
async fn a_chat_server_gets_the_thoughts_it_wants() {
    let replay = |replay: ReasoningReplay| Kind { replay, ..ALLOWING };
    let rows = [
        ("never", CHAT, NEITHER, NEITHER),
        ("in the tool loop", replay(ReasoningReplay::ToolLoop), (true, false), NEITHER),
        ("with every call", INSISTENT, (true, false), (true, false)),
        ("always", replay(ReasoningReplay::Always), (true, false), (true, true)),
    ];
    for (name, kind, in_loop, later) in rows {
        let [second, third] = converse(kind).await;
        assert_eq!((told(&second), told(&third)), (in_loop, later), "{name}");
    }
}

/// Tags in a text are read, kept for the person, and not sent back as text, whatever the server wants of
/// `reasoning_content`.
#[tokio::test]
async fn thoughts_between_tags_are_never_replayed_as_text() {
    for mode in [ToolMode::Native, ToolMode::Text] {
        for wire in WireKind::ALL {
            let kind = match wire {
                WireKind::OpenaiChat => CHAT,
                WireKind::Gemini => GEMINI,
                WireKind::Anthropic => Kind { thinking: ModelThinking::None, ..ANTHROPIC },
                WireKind::OpenaiResponses => RESPONSES,
            };
            let [second, third] = converse(Kind { tags: true, mode, ..kind }).await;
            for request in [second, third] {
                let words = visible(&request.body);
                assert!(!words.contains(FIRST) && !words.contains("think>"), "{wire:?} {mode:?}: {words}");
            }
        }
    }
    let [second, third] = converse(Kind { tags: true, ..INSISTENT }).await;
    for request in [second, third] {
        let call = &request.body["messages"][1];
        assert_eq!(call["content"], "I look.");
        assert!(call["reasoning_content"].as_str().expect("thoughts").contains(FIRST));
    }
}

/// A request's body without the parts that are marked as thoughts.
fn visible(body: &Value) -> String {
    match body {
        Value::Object(fields) if fields.get("thought") == Some(&json!(true)) => String::new(),
        Value::Object(fields) => fields.values().map(visible).collect(),
        Value::Array(items) => items.iter().map(visible).collect(),
        other => other.to_string(),
    }
}

/// Proofs of thinking come back with the call they belong to, and to no other model.
#[tokio::test]
async fn proofs_of_thinking_come_back_where_they_were_given() {
    let details = Kind { script: (ChatThoughts::ReasoningDetails, ChatReplay::Allowed), ..CHAT };
    for (name, kind) in
        [("details", details), ("gemini", GEMINI), ("anthropic", ANTHROPIC), ("responses", RESPONSES)]
    {
        let [second, third] = converse(kind).await;
        assert_eq!((second.own_proofs, second.foreign_proofs), (1, 0), "{name}");
        assert!(third.own_proofs >= 1 && third.foreign_proofs == 0, "{name}");
    }
}

/// Nothing is known of the model: its first thoughts are lost to it, the next are kept.
#[tokio::test]
async fn a_responses_model_that_turns_out_to_think_is_asked_for_its_thoughts() {
    let [second, third] = converse(Kind { thinking: ModelThinking::None, ..RESPONSES }).await;
    assert_eq!((second.own_proofs, third.own_proofs), (0, 1));
    assert_eq!(second.body["include"], json!(["reasoning.encrypted_content"]));
}

/// In text mode a conversation's calls are words, and what was thought before them stays here.
#[tokio::test]
async fn in_text_mode_the_thoughts_before_a_call_stay_here() {
    for kind in [CHAT, INSISTENT, GEMINI, ANTHROPIC, RESPONSES] {
        let [second, third] = converse(Kind { mode: ToolMode::Text, ..kind }).await;
        for request in [second, third] {
            assert!(!request.body.to_string().contains(FIRST), "{:?}: {}", kind.wire, request.body);
            assert_eq!(request.foreign_proofs, 0);
        }
    }
}

/// A model that insists on thoughts takes over calls that another one made: it gets neither a foreign thought
/// nor none at all.
#[tokio::test]
async fn a_server_that_insists_on_thoughts_takes_over_anybodys_calls() {
    let textual = Kind { mode: ToolMode::Text, ..CHAT };
    for from in [GEMINI, ANTHROPIC, RESPONSES, textual, Kind { tags: true, ..CHAT }] {
        let before = Server::start(from.script(vec![from.reply(FIRST, "I look.", true)])).expect("a server");
        let mut history = vec![Arc::new(Content::user("What is in src?"))];
        ask(from, &*from.generator(&before), &mut history).await;
        answer_call(&mut history);
        let replies = vec![INSISTENT.reply(SECOND, "", true), INSISTENT.reply("Hm.", "Done.", false)];
        let server = Server::start(INSISTENT.script(replies)).expect("a server");
        let generator = INSISTENT.generator(&server);
        ask(INSISTENT, &*generator, &mut history).await;
        answer_call(&mut history);
        ask(INSISTENT, &*generator, &mut history).await;
        assert_eq!(server.problems(), [], "{:?}", from.wire);
        let last = server.requests().pop().expect("requests");
        assert_eq!(told(&last), (false, true), "{:?}: {}", from.wire, last.body);
        let stand_in = last.body["messages"][1]["reasoning_content"].as_str().expect("words");
        assert!(stand_in.starts_with("The next step is list_directory"), "{stand_in}");
    }
}

/// Nothing is known of the server: it says by refusing that it insists, once.
#[tokio::test]
async fn a_server_teaches_that_it_insists_on_thoughts() {
    let unknown = Kind { replay: ReasoningReplay::Never, ..INSISTENT };
    let replies = vec![
        unknown.reply(FIRST, "", true),
        unknown.reply(SECOND, "", true),
        unknown.reply("Hm.", "Done.", false),
    ];
    let server = Server::start(unknown.script(replies)).expect("a server");
    let generator = unknown.generator(&server);
    let mut history = vec![Arc::new(Content::user("What is in src?"))];
    for _ in 0..2 {
        ask(unknown, &*generator, &mut history).await;
        answer_call(&mut history);
    }
    ask(unknown, &*generator, &mut history).await;
    let problems = server.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].message.contains("reasoning_content"), "{problems:?}");
    let statuses: Vec<u16> = server.requests().iter().map(|request| request.status).collect();
    assert_eq!(statuses, [200, 400, 200, 200]);
    assert_eq!(told(server.requests().last().expect("requests")), (true, true));
}

/// The rows above are only as good as the server's strictness.
#[tokio::test]
async fn the_server_refuses_unwanted_thoughts() {
    let server = Server::start(CHAT.script(vec![CHAT.reply(FIRST, "I look.", true)])).expect("a server");
    let generator = Kind { replay: ReasoningReplay::Always, ..CHAT }.generator(&server);
    let mut history = vec![Arc::new(Content::user("What is in src?"))];
    ask(CHAT, &*generator, &mut history).await;
    answer_call(&mut history);
    let request = GenerateRequest::new(CHAT.model(), history);
    assert!(generator.stream(&request).await.is_err());
    let problem = server.problems().pop().expect("a problem");
    assert!(problem.message.contains("reasoning_content"), "{}", problem.message);
}
