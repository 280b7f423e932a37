use std::path::Path;
use std::sync::Arc;

use charla_proto::{
    Candidate, Content, FinishReason, FunctionCall, FunctionCallingConfig, FunctionDeclaration,
    FunctionResponse, GenerateResponse, LlmError, LlmErrorKind, Part, Role, Tool, ToolConfig,
};
use serde_json::{Map, Value};

use super::*;

const EXAMPLES: &str = include_str!("../../../../../model/examples.json");

fn call(name: &str, args: &[(&str, &str)]) -> FunctionCall {
    let args = args.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
    FunctionCall { name: name.to_owned(), args: args.collect::<Map<_, _>>(), ..FunctionCall::default() }
}

fn called(name: &str, args: &[(&str, &str)]) -> Content {
    Content::new(Role::Model, vec![Part::function_call(call(name, args))])
}

fn returned(text: &str) -> Content {
    Content::new(Role::User, vec![Part::function_response(FunctionResponse::output("1", "tool", text))])
}

fn failed(text: &str) -> Content {
    Content::new(Role::User, vec![Part::function_response(FunctionResponse::error("1", "tool", text))])
}

fn request(contents: Vec<Content>) -> GenerateRequest {
    let tool = FunctionDeclaration { name: "read_file".to_owned(), ..FunctionDeclaration::default() };
    GenerateRequest {
        tools: vec![Tool::functions(vec![Arc::new(tool)])],
        ..GenerateRequest::new("", contents.into_iter().map(Arc::new).collect())
    }
}

/// The text that the engine makes of a request.
fn rendered(request: &GenerateRequest) -> String {
    let turn = |role: &str, text: &str| format!("<|im_start|>{role}\n{text}<|im_end|>\n");
    let system = request.system_instruction.as_ref().map(|content| turn("system", &content.text()));
    let turns = request.contents.iter().map(|content| match content.role {
        Role::User => turn("user", &content.text()),
        Role::Model => turn("assistant", &content.text()),
    });
    system.into_iter().chain(turns).collect::<String>() + "<|im_start|>assistant\n"
}

fn texts(request: &GenerateRequest) -> Vec<String> {
    sent(request).contents.iter().map(|content| content.text()).collect()
}

/// What a person sees of an answer that comes in these pieces, the calls in it, or why it is none.
fn read<'a>(
    contents: Vec<Content>,
    folder: &Path,
    pieces: impl IntoIterator<Item = &'a str>,
) -> Result<(String, Vec<FunctionCall>), LlmError> {
    let layer = SmallModel::new(folder.to_owned());
    let mut reader = layer.incoming(&request(contents)).unwrap();
    let (mut text, mut calls) = (String::new(), Vec::new());
    let mut take = |chunk: GenerateResponse| {
        text.push_str(&chunk.text());
        calls.extend(chunk.function_calls().cloned());
    };
    for piece in pieces {
        let candidate = Candidate { content: Some(Content::model(piece)), ..Candidate::default() };
        take(reader.read(GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }));
    }
    let end = Candidate { finish_reason: Some(FinishReason::Stop), ..Candidate::default() };
    take(reader.read(GenerateResponse { candidates: vec![end], ..GenerateResponse::default() }));
    reader.finish().into_iter().for_each(&mut take);
    reader.verdict().map(|()| (text, calls))
}

fn answer(contents: Vec<Content>, text: &str) -> String {
    read(contents, Path::new("/nowhere"), [text]).unwrap().0
}

fn about(said: &str, name: &str, args: &[(&str, &str)], result: &str) -> Vec<Content> {
    vec![Content::user(said), called(name, args), returned(result)]
}

#[test]
fn the_prompt_is_the_trained_one_byte_for_byte() {
    let examples: Vec<Value> = serde_json::from_str(EXAMPLES).unwrap();
    assert!(examples.len() >= 4);
    for example in &examples {
        let files: Vec<String> = serde_json::from_value(example["files"].clone()).unwrap();
        let contents = example["turns"].as_array().unwrap().iter().map(|turn| {
            let text = turn[1].as_str().unwrap();
            match (turn[0].as_str().unwrap(), text.strip_prefix("<tool_call>\n")) {
                ("user", _) => Content::user(text),
                ("tool", _) => returned(text),
                (_, None) => Content::model(text),
                (_, Some(call)) => {
                    let mut call: Value =
                        serde_json::from_str(call.strip_suffix("\n</tool_call>").unwrap()).unwrap();
                    let args = call["arguments"].as_object_mut().map(std::mem::take).unwrap();
                    let name = call["name"].as_str().unwrap().to_owned();
                    let call = FunctionCall { name, args, ..FunctionCall::default() };
                    Content::new(Role::Model, vec![Part::function_call(call)])
                }
            }
        });
        let mut request = request(contents.collect());
        let system = prompt::system_of(example["folder"].as_str().unwrap(), &files);
        request.system_instruction = Some(Arc::new(Content::user(system)));
        assert_eq!(rendered(&sent(&request)), example["prompt"].as_str().unwrap());
    }
}

#[test]
fn the_system_prompt_names_what_is_in_the_folder_folders_first() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b.txt", "a.txt", "bad\nname"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    for name in ["src", ".git", "docs"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let told = system(folder.path());
    assert!(
        told.contains(". It has: docs/, src/, a.txt, b.txt.\nTools: list_directory(dir_path), read_file("),
        "{told}"
    );
}

#[test]
fn arguments_stand_in_the_order_that_was_trained() {
    let args = [("content", "x"), ("file_path", "a.txt")];
    let told = texts(&request(about("Write x", "write_file", &args, "Created a.txt.")));
    assert!(told[1].contains(r#"{"file_path": "a.txt", "content": "x"}"#), "{}", told[1]);
}

#[test]
fn nothing_in_a_text_passes_for_the_end_of_a_message() {
    let told =
        texts(&request(about("<|im_end|>", "read_file", &[("file_path", "<|im_start|>")], "<|im_end|>")));
    assert!(!told.concat().contains("<|im_"), "{told:?}");
}

#[test]
fn the_mark_of_a_result_is_never_shown_wherever_the_answer_is_cut() {
    let listed = || about("List src", "list_directory", &[("dir_path", "src")], "harbour.rs (13 bytes)\n");
    for (contents, written, shown) in [
        (listed(), "<result/>", "harbour.rs (13 bytes)"),
        (listed(), "That did not work:\n<result/>", "That did not work:\nharbour.rs (13 bytes)"),
        (vec![Content::user("Hello")], "a <result/> b < c", "a  b < c"),
        (vec![Content::user("Hello")], "Hello <res", "Hello <res"),
    ] {
        for cut in 0..=written.len() {
            let (one, other) = written.split_at(cut);
            let (text, calls) = read(contents.clone(), Path::new("/nowhere"), [one, other]).unwrap();
            assert_eq!((text.as_str(), calls.len()), (shown, 0), "cut at {cut}");
        }
    }
}

#[test]
fn words_come_as_they_are_written_and_a_call_when_it_is_whole() {
    let written = "<tool_call>\n{\"name\": \"glob\", \"arguments\": {\"pattern\": \"*.rs\"}}\n</tool_call>";
    for cut in 0..=written.len() {
        let (one, other) = written.split_at(cut);
        let (text, calls) =
            read(vec![Content::user("find rs")], Path::new("/nowhere"), [one, other]).unwrap();
        assert_eq!((text.as_str(), calls), ("", vec![call("glob", &[("pattern", "*.rs")])]), "cut at {cut}");
    }
    let layer = SmallModel::new("/nowhere".into());
    let mut reader = layer.incoming(&request(vec![Content::user("hi")])).unwrap();
    let candidate = Candidate { content: Some(Content::model("Hello")), ..Candidate::default() };
    let first = reader.read(GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() });
    assert_eq!(first.text(), "Hello");
}

#[test]
fn a_call_that_was_cut_is_no_call() {
    let cut = "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"file_path\": \"a";
    let error = read(vec![Content::user("Write a")], Path::new("/nowhere"), [cut]).unwrap_err();
    assert!(error.message.contains("did not finish"), "{error}");
}

#[test]
fn what_a_tool_failed_with_is_no_answer_whatever_the_model_says() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "x").unwrap();
    let contents = vec![
        Content::user("Show notes.txt"),
        called("read_file", &[("file_path", "notes.txt")]),
        failed("/x/notes.txt: no permission. The user would have to grant it."),
    ];
    let error = read(contents, folder.path(), ["I read notes.txt."]).unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (LlmErrorKind::NotSupported, "/x/notes.txt: no permission.")
    );
}

#[test]
fn that_a_file_is_not_there_is_an_answer() {
    for (name, argument, told) in [
        ("read_file", "file_path", "There is no file notes.txt."),
        ("list_directory", "dir_path", "There is no folder notes.txt."),
    ] {
        let error = told.replace("notes", "/nowhere/notes") + " Look what is there.";
        let contents =
            vec![Content::user("Show it"), called(name, &[(argument, "notes.txt")]), failed(&error)];
        assert_eq!(answer(contents, "I read notes.txt."), told);
    }
}

/// Reads the file, then changes it as told: the call, or why it is none.
fn changed(said: &str, text: &str, old: &str, new: &str) -> Result<FunctionCall, LlmError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.ini"), text).unwrap();
    let contents = about(said, "read_file", &[("file_path", "a.ini")], text);
    let args = json!({"file_path": "a.ini", "old_string": old, "new_string": new});
    let written = format!("<tool_call>\n{}\n</tool_call>", json!({"name": "replace", "arguments": args}));
    read(contents, folder.path(), [written.as_str()]).map(|(_, mut calls)| calls.pop().unwrap())
}

#[test]
fn a_change_is_made_only_where_the_request_points() {
    let text = "[pump]\npressure = 45\nspeed = 80\n\n[video]\nwidth = 640\n";
    assert!(changed("set the pressure to 60 in a.ini", text, "pressure = 45", "pressure = 60").is_ok());
    assert!(changed("turn light off in a.ini", "light = on\n", "light = on", "light = off").is_ok());
    let ports = "[cache]\nport = 70\n\n[site]\nport = 60\n\n[backup]\nport = 80\n";
    assert!(changed("change the backup port to 90 in a.ini", ports, "port = 80", "port = 90").is_ok());
    for (old, new) in
        [("speed = 80", "speed = 60"), ("pressure = 45", "pressure = 61"), ("pressure = 45", "force = 60")]
    {
        let error = changed("set the pressure to 60 in a.ini", text, old, new).unwrap_err();
        assert!(error.message.contains("changed nothing"), "{new}: {error}");
    }
}

#[test]
fn a_word_is_replaced_by_the_one_that_the_user_wrote_or_by_none() {
    let change =
        |new: &str| changed("replace cobbler with baker in a.ini", "The cobbler came.\n", "cobbler", new);
    assert_eq!(change("baker").unwrap().args["new_string"], "baker");
    assert!(change("bread").is_err());
}

#[test]
fn a_search_looks_in_the_file_that_the_request_names_and_else_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.log"), "x").unwrap();
    let search = |said: &str| {
        let written =
            "<tool_call>\n{\"name\": \"grep_search\", \"arguments\": {\"pattern\": \"warn\"}}\n</tool_call>";
        read(vec![Content::user(said)], folder.path(), [written]).unwrap().1.pop().unwrap()
    };
    let named = search("any warnings in run.log?");
    assert_eq!((&named.args["dir_path"], &named.args["context"]), (&json!("run.log"), &json!(0)));
    assert_eq!(search("find warn").args.get("dir_path"), None);
    let called = Content::new(Role::Model, vec![Part::function_call(named)]);
    let told = texts(&request(vec![Content::user("any warnings in run.log?"), called, returned("none")]));
    assert!(told[1].contains(r#"{"pattern": "warn"}"#), "{told:?}");
}

#[test]
fn a_word_that_nobody_gave_it_is_not_passed_on() {
    let read =
        |result: &str| about("Which port is in a.yaml?", "read_file", &[("file_path", "a.yaml")], result);
    assert_eq!(answer(read("port: 8080"), "port: 8080"), "port: 8080");
    assert_eq!(answer(read("port: 8080"), "a.yaml does not say that."), "a.yaml does not say that.");
    let doubted = answer(read("port: 8080"), "port: 9090");
    assert_eq!(doubted, "I am not sure of an answer. This is what I found:\nport: 8080");
}

#[test]
fn a_file_that_the_request_did_not_name_is_named_in_the_answer() {
    let read = |said: &str| about(said, "read_file", &[("file_path", "src/a.yaml")], "port: 8080");
    assert_eq!(answer(read("Which port?"), "port: 8080"), "port: 8080 (src/a.yaml)");
    assert_eq!(answer(read("Show a.yaml"), "<result/>"), "src/a.yaml:\nport: 8080");
    assert_eq!(answer(read("Show src/a.yaml"), "<result/>"), "port: 8080");
}

#[test]
fn an_earlier_answer_is_told_as_it_was_written() {
    let mut contents = about("Show a.yaml", "read_file", &[("file_path", "src/a.yaml")], "port: 8080");
    contents.push(Content::model(answer(contents.clone(), "<result/>")));
    contents.push(Content::user("and the host?"));
    let told = texts(&request(contents));
    assert_eq!(told.last().map(String::as_str), Some("and the host?"));
    assert_eq!(told[told.len() - 2], "<result/>");
}

#[test]
fn a_turn_that_brought_no_answer_is_not_told() {
    let mut contents = vec![Content::user("Show a"), called("read_file", &[("file_path", "a")])];
    let missing = FunctionResponse::error("1", "read_file", "There is no file a.");
    contents.push(Content::new(
        Role::User,
        vec![
            Part::function_response(missing),
            Part::text("\n\nlost"),
            Part::text("Show b"),
            Part::text("\n\n--- c ---"),
        ],
    ));
    assert_eq!(texts(&request(contents)), ["Show b\n\n--- c ---"]);
}

#[test]
fn of_a_long_conversation_little_is_sent() {
    let mut contents = Vec::new();
    for number in 0..100 {
        contents.extend(about(
            &format!("Show {number}"),
            "read_file",
            &[("file_path", "a")],
            &"word ".repeat(5000),
        ));
        contents.push(Content::model("<result/>"));
    }
    contents.push(Content::user("And now?"));
    let told = request(contents);
    assert!(SmallModel::new("/nowhere".into()).tokens(&told) < 1000);
    assert_eq!(texts(&told).len(), 9);
}

#[test]
fn of_a_long_result_it_reads_the_lines_about_the_request_and_a_person_sees_the_beginning() {
    let mut lines: Vec<String> = (0..3000).map(|number| format!("entry {number} of the book")).collect();
    lines[2000] = "The vent stays open until 540 degrees.".to_owned();
    let contents = about(
        "How long does the vent stay open? manual.md",
        "read_file",
        &[("file_path", "manual.md")],
        &lines.join("\n"),
    );
    let told = texts(&request(contents.clone()));
    assert!(told[2].contains("540 degrees") && told[2].len() < 3500, "{}", told[2]);
    let shown = answer(contents, "<result/>");
    assert!(shown.starts_with("entry 0 of") && shown.ends_with("\n[2800 more lines]"), "{shown}");
}

#[test]
fn of_a_line_without_end_the_beginning_is_read_and_shown() {
    let contents = about("Show a.json", "read_file", &[("file_path", "a.json")], &"[1, 2] ".repeat(50_000));
    assert!(texts(&request(contents.clone()))[2].contains("[1, 2] [1, 2]"));
    let shown = answer(contents, "<result/>");
    assert!(shown.starts_with("[1, 2] [1, 2]") && shown.len() < 20_000, "{shown}");
}

#[test]
fn three_calls_are_enough_and_none_is_made_twice() {
    let mut contents = about("Show it", "list_directory", &[("dir_path", ".")], "a.txt");
    let again =
        "<tool_call>\n{\"name\": \"list_directory\", \"arguments\": {\"dir_path\": \".\"}}\n</tool_call>";
    assert_eq!(answer(contents.clone(), again), "a.txt");
    for file in ["a.txt", "b.txt"] {
        contents.extend([called("read_file", &[("file_path", file)]), returned("some text")]);
    }
    let other = "<tool_call>\n{\"name\": \"glob\", \"arguments\": {\"pattern\": \"*\"}}\n</tool_call>";
    assert_eq!(answer(contents, other), "b.txt:\nsome text");
}

#[test]
fn without_tools_a_call_is_refused() {
    let request = GenerateRequest { tools: Vec::new(), ..request(vec![Content::user("List src")]) };
    let mut reader = SmallModel::new("/nowhere".into()).incoming(&request).unwrap();
    let text = "<tool_call>\n{\"name\": \"glob\", \"arguments\": {\"pattern\": \"*\"}}\n</tool_call>";
    let candidate = Candidate { content: Some(Content::model(text)), ..Candidate::default() };
    reader.read(GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() });
    assert!(reader.finish().is_none());
    assert!(reader.verdict().unwrap_err().message.contains("no tools"));
}

#[test]
fn a_summary_is_asked_of_the_model_as_it_was_before_training() {
    let mut request = request(vec![Content::user("Sum it up")]);
    let function_calling_config =
        FunctionCallingConfig { mode: FunctionCallingMode::None, ..FunctionCallingConfig::default() };
    request.tool_config = Some(ToolConfig { function_calling_config });
    let sent = sent(&request);
    assert_eq!(sent.contents, request.contents);
    assert_eq!(sent.extra.get("lora"), Some(&json!([{"id": 0, "scale": 0.0}])));
    assert!(SmallModel::new("/nowhere".into()).incoming(&request).is_none());
}

/// The call that is run in a folder with these files.
fn run_in(files: &[(&str, &str)], said: &str, name: &str, args: &[(&str, &str)]) -> FunctionCall {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let args: Vec<String> = args.iter().map(|(key, value)| format!("\"{key}\": {}", json!(value))).collect();
    let written = format!(
        "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {{{}}}}}\n</tool_call>",
        args.join(", ")
    );
    let (_, mut calls) = read(vec![Content::user(said)], folder.path(), [written.as_str()]).unwrap();
    calls.pop().unwrap()
}

#[test]
fn a_read_that_would_miss_takes_the_only_file_of_that_name() {
    let files =
        [("README.md", ""), ("src/math.rs", ""), ("a/x.txt", ""), ("b/x.txt", ""), ("lib/deep/y.c", "")];
    for (given, found) in [
        ("README", "README.md"),
        ("readme.md", "README.md"),
        ("math.rs", "src/math.rs"),
        ("other/math.rs", "src/math.rs"),
        ("x.txt", "x.txt"),
        ("absent.txt", "absent.txt"),
        ("", ""),
        ("/", "/"),
    ] {
        let call = run_in(&files, "Show it", "read_file", &[("file_path", given)]);
        assert_eq!(call.args["file_path"], found);
    }
    let call = run_in(&files, "List deep", "list_directory", &[("dir_path", "deep")]);
    assert_eq!(call.args["dir_path"], "lib/deep");
}

#[test]
fn a_search_is_for_the_name_that_the_user_wrote() {
    for (said, pattern, searched) in [
        ("where is nights_since_invoice called", "night_since_invoice", "nights_since_invoice"),
        ("Find all mentions of OAuth", "OAX", "OAuth"),
        ("Find all mentions of OAuth", "OAU", "OAuth"),
        ("find oauth", "OAuth", "OAuth"),
        ("are there TODOs?", "TODO", "TODO"),
        ("which failures are there?", "error", "error"),
        ("where are MAX_SIZE and MIN_SIZE used?", "M_SIZE", "M_SIZE"),
    ] {
        let call = run_in(&[], said, "grep_search", &[("pattern", pattern)]);
        assert_eq!(call.args["pattern"], searched, "{said}");
    }
}

#[test]
fn a_command_that_was_written_out_stays_as_it_is() {
    for (said, command, run) in [
        ("git log", "git log --oneline -10", "git log"),
        ("run git log.", "git log --oneline -10", "git log"),
        ("git status -s", "git status", "git status -s"),
        ("run git status please", "git status", "git status"),
        ("Please run `ls -la src` here", "ls -la", "ls -la src"),
        ("run cargo test for the parser", "cargo test parser", "cargo test parser"),
        ("how large is README.md?", "du -h README.md", "du -h README.md"),
        ("catalog", "cat log", "cat log"),
    ] {
        let call = run_in(&[], said, "run_shell_command", &[("command", command)]);
        assert_eq!(call.args["command"], run, "{said}");
    }
}

#[test]
fn adding_to_a_file_keeps_what_it_holds() {
    let files = [("a.txt", "one\n")];
    for (said, content, written) in [
        ("Add two to a.txt", "two", "one\ntwo\n"),
        ("add two to a.txt", "one\ntwo\n", "one\ntwo\n"),
        ("Put two at the end of a.txt", "two", "one\ntwo\n"),
        ("write two at the bottom of a.txt", "two", "one\ntwo\n"),
        ("Add nothing to a.txt", "", "one\n"),
        ("Overwrite a.txt with two", "two", "two\n"),
        ("Append two to b.txt", "two", "one\ntwo\n"),
    ] {
        let call = run_in(&files, said, "write_file", &[("file_path", "a.txt"), ("content", content)]);
        assert_eq!(call.args["content"], written, "{said}");
    }
    let call =
        run_in(&files, "Add a file new.txt", "write_file", &[("file_path", "new.txt"), ("content", "x")]);
    assert_eq!(call.args["content"], "x\n", "the next line that is added begins on its own");
}

#[test]
fn what_cannot_be_kept_is_not_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let written = "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"file_path\": \"a.log\", \
                   \"content\": \"two\"}}\n</tool_call>";
    let call = |said: &str| read(vec![Content::user(said)], folder.path(), [written]);
    for kept in [vec![b'x'; 2 << 20], b"caf\xe9\n".to_vec()] {
        std::fs::write(folder.path().join("a.log"), kept).unwrap();
        let error = call("Put two at the end of a.log").unwrap_err();
        assert!(error.message.contains("changed nothing"), "{error}");
        assert!(call("Overwrite a.log with two").is_ok());
    }
    std::fs::remove_file(folder.path().join("a.log")).unwrap();
    assert_eq!(call("Add two to a.log").unwrap().1[0].args["content"], "two\n");
}
