//! How the built-in model is spoken to.
//!
//! A model of this size understands a request by its likeness to others. So its tools have names of one plain
//! word, it is shown examples, among them those most like what the user asks now, and what it hands to a tool
//! must be words that it was given: the engine's grammar, made from the declarations, lets it write nothing
//! else. When a tool has run it answers with what that returned, and the turn ends there: plans of several
//! steps are beyond it.

mod earlier;
mod examples;
mod results;
mod spans;

use std::sync::Arc;

use charla_proto::{
    Content, FunctionCallingMode, FunctionDeclaration, GenerateRequest, GenerateResponse, Part, PartKind,
    Role, Tool,
};
use serde_json::json;

use examples::Example;

/// A tool in the model's words.
struct Word {
    tool: &'static str,
    name: &'static str,
    description: &'static str,
    /// The one argument that the model gives.
    argument: &'static str,
}

const WORDS: [Word; 4] = [
    Word {
        tool: "list_directory",
        name: "list",
        description: "Lists the files of a folder",
        argument: "dir_path",
    },
    Word { tool: "read_file", name: "read", description: "Reads a file", argument: "file_path" },
    Word {
        tool: "grep_search",
        name: "search",
        description: "Searches for a text in all files",
        argument: "pattern",
    },
    Word { tool: "run_shell_command", name: "run", description: "Runs a command", argument: "command" },
];

impl Word {
    /// A call as the model writes it.
    fn call(&self, argument: &str) -> String {
        let (name, key, argument) = (self.name, self.argument, json!(argument));
        format!(
            "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{\"{key}\": {argument}}}}}\n</tool_call>"
        )
    }
}

/// What the model is told when nothing but these results is new; `None` when they are something else.
pub fn about_results(contents: &[Arc<Content>]) -> Option<GenerateRequest> {
    let parts = || contents.iter().flat_map(|content| &content.parts);
    let results: Vec<_> = parts().filter_map(Part::as_function_response).collect();
    let only_results = !results.is_empty() && results.len() == parts().count();
    only_results.then(|| results::request(&GenerateRequest::default(), "", &results))?
}

/// The words that hold in one request, to be taken back in its answer.
pub struct Vocabulary {
    words: Vec<&'static Word>,
    /// The answer is lines of a result: a grammar ends it, and what stands there often is no fault.
    pub quotes: bool,
}

impl Vocabulary {
    /// The request as the model understands it best, and the words it was put in.
    pub fn of(request: &GenerateRequest) -> (GenerateRequest, Self) {
        // A request that forbids calls (for a summary) only needs the tools of earlier ones declared.
        let offered = request.function_declarations().filter(|_| !forbids_calls(request));
        let offered: Vec<&str> = offered.map(|tool| tool.name.as_str()).collect();
        let words = WORDS.iter().filter(|word| offered.contains(&word.tool) && !offered.contains(&word.name));
        let mut vocabulary = Self { words: words.collect(), quotes: false };
        let plain = if vocabulary.words.is_empty() { request.clone() } else { vocabulary.put(request) };
        (plain, vocabulary)
    }

    /// The answer with the tools under their own names.
    pub fn restore(&self, mut answer: GenerateResponse) -> GenerateResponse {
        let contents = answer.candidates.iter_mut().filter_map(|candidate| candidate.content.as_mut());
        for part in contents.flat_map(|content| &mut content.parts) {
            if let PartKind::FunctionCall(call) = &mut part.kind
                && let Some(word) = self.words.iter().find(|word| word.name == call.name)
            {
                call.name = word.tool.to_owned();
            }
        }
        answer
    }

    fn put(&mut self, request: &GenerateRequest) -> GenerateRequest {
        let asked = request.contents.iter().rposition(|content| is_asking(content));
        let since = asked.and_then(|at| request.contents.get(at..)).unwrap_or_default();
        let question = since.first().map(|content| question(content)).unwrap_or_default();
        let results: Vec<_> = match since.last() {
            Some(last) => last.function_responses().collect(),
            None => Vec::new(),
        };
        if let Some(told) = results::request(request, &question, &results) {
            self.quotes = true;
            return told;
        }
        let asked_now = Arc::new(Content::user(question.clone()));
        if !is_readable(&question) {
            return GenerateRequest { contents: vec![asked_now], tools: Vec::new(), ..request.clone() };
        }
        let given = spans::of(&question);
        let examples = examples::for_request(&question, |tool| self.word(tool).is_some());
        let examples = examples.iter().flat_map(|example| self.shown(example));
        let earlier =
            earlier::shown(self, asked.and_then(|at| request.contents.get(..at)).unwrap_or_default());
        let conversation = since.iter().skip(1).map(|content| self.reworded(content));
        let conversation = (!since.is_empty()).then_some(asked_now).into_iter().chain(conversation);
        let declarations = request.function_declarations().map(|tool| self.declared(tool, &given));
        GenerateRequest {
            contents: examples.chain(earlier).chain(conversation).collect(),
            tools: vec![Tool::functions(declarations.collect())],
            ..request.clone()
        }
    }

    fn word(&self, tool: &str) -> Option<&'static Word> {
        self.words.iter().find(|word| word.tool == tool).copied()
    }

    /// An example as a question and an answer. The call stands as text, which is all it is to the model: as
    /// a call of this conversation it would need a result.
    fn shown(&self, example: &Example) -> [Arc<Content>; 2] {
        let answer = match self.word(example.tool) {
            None => example.answer.to_owned(),
            Some(word) => word.call(example.answer),
        };
        [Arc::new(Content::user(example.request)), Arc::new(Content::model(answer))]
    }

    fn declared(&self, tool: &Arc<FunctionDeclaration>, given: &[String]) -> Arc<FunctionDeclaration> {
        let Some(word) = self.word(&tool.name) else { return tool.clone() };
        let mut argument = json!({"type": "string"});
        if !given.is_empty() {
            let here = (word.tool == "list_directory").then_some(".");
            let values: Vec<&str> = given.iter().map(String::as_str).chain(here).collect();
            argument["enum"] = json!(values);
        }
        Arc::new(FunctionDeclaration {
            name: word.name.to_owned(),
            description: word.description.to_owned(),
            parameters_json_schema: json!({
                "type": "object",
                "properties": {word.argument: argument},
                "required": [word.argument],
            }),
            ..FunctionDeclaration::default()
        })
    }

    /// The content with its calls and results under the model's words.
    fn reworded(&self, content: &Arc<Content>) -> Arc<Content> {
        if content.function_calls().next().is_none() && content.function_responses().next().is_none() {
            return content.clone();
        }
        let mut content = Content::clone(content);
        for part in &mut content.parts {
            let name = match &mut part.kind {
                PartKind::FunctionCall(call) => &mut call.name,
                PartKind::FunctionResponse(response) => &mut response.name,
                _ => continue,
            };
            if let Some(word) = self.word(name) {
                word.name.clone_into(name);
            }
        }
        Arc::new(content)
    }
}

fn forbids_calls(request: &GenerateRequest) -> bool {
    let config = request.tool_config.as_ref().map(|config| &config.function_calling_config);
    config.is_some_and(|config| config.mode == FunctionCallingMode::None)
}

/// What the user wants now. Parts before it are requests that got no answer, and notes.
fn question(content: &Content) -> String {
    let mut texts = content.parts.iter().rev().filter(|part| !part.thought).filter_map(Part::as_text);
    texts.find(|text| !text.trim().is_empty()).unwrap_or_default().to_owned()
}

/// False for a request in a script that the model has not learned: it would call a tool with whatever stands there.
fn is_readable(question: &str) -> bool {
    question.is_empty() || question.contains(|c: char| c.is_ascii_alphanumeric())
}

/// True for what the user said, as opposed to what a tool returned.
fn is_asking(content: &Content) -> bool {
    content.role == Role::User
        && content.function_responses().next().is_none()
        && content.parts.iter().any(|part| Part::as_text(part).is_some())
}

#[cfg(test)]
mod tests {
    use charla_proto::{Candidate, FunctionCall, FunctionCallingConfig, FunctionResponse, ToolConfig};
    use serde_json::{Map, Value};

    use super::*;

    fn declaration(name: &str) -> Arc<FunctionDeclaration> {
        Arc::new(FunctionDeclaration {
            name: name.to_owned(),
            parameters_json_schema: json!({"type": "object"}),
            ..FunctionDeclaration::default()
        })
    }

    fn request(tools: &[&str], contents: Vec<Content>) -> GenerateRequest {
        let tools = tools.iter().map(|name| declaration(name)).collect();
        GenerateRequest {
            contents: contents.into_iter().map(Arc::new).collect(),
            tools: vec![Tool::functions(tools)],
            ..GenerateRequest::default()
        }
    }

    fn called(name: &str) -> Content {
        Content::new(Role::Model, vec![Part::function_call(FunctionCall::new("1", name, Map::new()))])
    }

    #[test]
    fn tools_have_plain_names_on_the_way_out_and_their_own_on_the_way_back() {
        let result = Part::function_response(FunctionResponse::output("1", "list_directory", ""));
        let contents =
            vec![Content::user("List src"), called("list_directory"), Content::new(Role::User, vec![result])];
        let (plain, vocabulary) = Vocabulary::of(&request(&["list_directory", "web_fetch"], contents));
        let names: Vec<&str> = plain.function_declarations().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["list", "web_fetch"]);
        let tail = &plain.contents[plain.contents.len() - 2..];
        assert_eq!(tail[0].function_calls().next().unwrap().name, "list");
        assert_eq!(tail[1].function_responses().next().unwrap().name, "list");
        let candidate = Candidate { content: Some(called("list")), ..Candidate::default() };
        let answer = vocabulary
            .restore(GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() });
        let content = answer.candidates[0].content.as_ref().unwrap();
        assert_eq!(content.function_calls().next().unwrap().name, "list_directory");
    }

    #[test]
    fn after_a_tool_its_result_is_told_and_no_tool_is_offered() {
        let result = Part::function_response(FunctionResponse::output("1", "list_directory", "harbour.rs"));
        let contents =
            vec![Content::user("List src"), called("list_directory"), Content::new(Role::User, vec![result])];
        let (plain, _) = Vocabulary::of(&request(&["list_directory"], contents));
        assert!(plain.tools.is_empty() && plain.extra.get("grammar").is_some());
        assert_eq!(plain.contents.last().unwrap().text(), "List src\n\nResult:\nharbour.rs");
    }

    #[test]
    fn a_result_counts_as_much_as_is_told_of_it() {
        let result = |text: &str| {
            let part = Part::function_response(FunctionResponse::output("1", "list_directory", text));
            GenerateRequest::new("", vec![Arc::new(Content::new(Role::User, vec![part]))])
        };
        assert!(crate::engine::tokens(&result(&"harbour.rs (33 bytes)\n".repeat(5000))) < 2000);
        let mut with_words = result(&"harbour.rs (33 bytes)\n".repeat(5000));
        with_words.contents.push(Arc::new(Content::user("Sum it up")));
        assert!(crate::engine::tokens(&with_words) > 20_000);
    }

    #[test]
    fn arguments_are_words_that_were_given() {
        let (plain, _) = Vocabulary::of(&request(
            &["read_file", "list_directory"],
            vec![Content::user("Show src/main.rs")],
        ));
        let values = |name: &str, key: &str| -> Vec<Value> {
            let tool = plain.function_declarations().find(|tool| tool.name == name).unwrap();
            tool.parameters_json_schema["properties"][key]["enum"].as_array().unwrap().clone()
        };
        assert!(values("read", "file_path").contains(&json!("src/main.rs")));
        assert!(!values("read", "file_path").contains(&json!(".")));
        assert!(values("list", "dir_path").contains(&json!(".")));
    }

    #[test]
    fn the_examples_speak_only_of_tools_that_are_offered_and_the_likest_is_the_last() {
        let (plain, _) =
            Vocabulary::of(&request(&["grep_search"], vec![Content::user("Where is Token used?")]));
        let texts: Vec<String> = plain.contents.iter().map(|content| content.text()).collect();
        assert!(
            !texts.iter().any(|text| text.contains("\"list\"") || text.contains("\"run\"")),
            "{texts:#?}"
        );
        assert_eq!(texts[texts.len() - 3], "Where is Session used?");
        assert_eq!(texts[texts.len() - 1], "Where is Token used?");
    }

    #[test]
    fn a_request_that_got_no_answer_is_not_mixed_into_the_next() {
        let parts = vec![Part::text("A pasted text. ".repeat(100)), Part::text("Show README.md")];
        let (plain, _) = Vocabulary::of(&request(&["read_file"], vec![Content::new(Role::User, parts)]));
        assert_eq!(plain.contents.last().unwrap().text(), "Show README.md");
    }

    #[test]
    fn a_request_in_a_script_it_cannot_read_is_answered_without_tools() {
        let contents =
            vec![Content::user("Hello"), Content::model("Hello!"), Content::user("你好，你是谁？")];
        let (plain, _) = Vocabulary::of(&request(&["list_directory"], contents));
        assert!(plain.tools.is_empty());
        assert_eq!(plain.contents.len(), 1);
        let (plain, _) = Vocabulary::of(&request(&["list_directory"], vec![Content::user("列出 src")]));
        assert!(!plain.tools.is_empty());
    }

    #[test]
    fn without_tools_nothing_is_changed() {
        let plain = request(&[], vec![Content::user("Sum this up")]);
        assert_eq!(Vocabulary::of(&plain).0.contents, plain.contents);
    }

    #[test]
    fn a_request_that_forbids_calls_is_left_as_it_is() {
        let contents = vec![Content::user("List src"), called("list_directory"), Content::user("Sum it up")];
        let mut asked = request(&["list_directory"], contents);
        let mode = FunctionCallingMode::None;
        let function_calling_config = FunctionCallingConfig { mode, ..FunctionCallingConfig::default() };
        asked.tool_config = Some(ToolConfig { function_calling_config });
        assert_eq!(Vocabulary::of(&asked).0, asked);
    }

    #[test]
    fn a_tool_that_has_a_plain_name_already_keeps_it() {
        let asked = request(&["list", "list_directory"], vec![Content::user("List src")]);
        let (plain, _) = Vocabulary::of(&asked);
        let names: Vec<&str> = plain.function_declarations().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["list", "list_directory"]);
    }
}
