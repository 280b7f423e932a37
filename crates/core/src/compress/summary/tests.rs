use charla_proto::{Candidate, FunctionCall, FunctionDeclaration, FunctionResponse, Tool};
use serde_json::{Map, json};

use super::*;

const GOOD: &str = "<state_snapshot><overall_goal>Build the parser for the config language</overall_goal>\
    <task_state>lexer done</task_state></state_snapshot>";

fn answer(text: &str, finish: FinishReason) -> GenerateResponse {
    let content = Some(Content::model(text));
    let candidate = Candidate { content, finish_reason: Some(finish), ..Candidate::default() };
    GenerateResponse { candidates: vec![candidate], ..GenerateResponse::default() }
}

fn cut(older: Vec<Content>) -> Cut {
    let older = older.into_iter().map(Arc::new).collect();
    Cut { older, kept_from: 9, prompt: None, kept: Vec::new() }
}

fn by_characters() -> Counter {
    Arc::new(|request| serde_json::to_string(&request.contents).unwrap().len() as u64 / 4)
}

#[test]
fn an_answer_without_a_whole_snapshot_is_none() {
    let unfinished = GOOD.replace("</state_snapshot>", "");
    for text in [
        "",
        "   \n",
        "<state_snapshot></state_snapshot>",
        "ok",
        "I cannot do that.",
        "</state_snapshot> backwards",
    ] {
        assert_eq!(snapshot(&answer(text, FinishReason::Stop)), None, "{text}");
    }
    assert_eq!(snapshot(&answer(&unfinished, FinishReason::MaxTokens)), None);
    assert_eq!(snapshot(&answer(&unfinished, FinishReason::Safety)), None);
    assert_eq!(snapshot(&GenerateResponse::default()), None);
    for text in [GOOD, &unfinished, &format!("Here it is:\n{GOOD} bye")] {
        let found = snapshot(&answer(text, FinishReason::Stop)).unwrap();
        assert!(found.ends_with("lexer done</task_state>\n</state_snapshot>"), "{found}");
    }
}

#[test]
fn prose_of_a_sensible_length_is_taken_and_wrapped() {
    let prose = "# Summary\n\nThe user wants a parser; the lexer is done. ".repeat(6);
    let found = snapshot(&answer(&prose, FinishReason::Stop)).unwrap();
    assert!(found.starts_with("<state_snapshot>\n# Summary") && found.ends_with("done.\n</state_snapshot>"));
    assert_eq!(snapshot(&answer(&prose, FinishReason::MaxTokens)), None);
    let call = format!("{{\"tool_call\": {{\"name\": \"{prose}\"}}}}");
    assert_eq!(snapshot(&answer(&call, FinishReason::Stop)), None);
    let capitals = GOOD.replace("state_snapshot", "STATE_SNAPSHOT");
    let found = snapshot(&answer(&capitals, FinishReason::Stop)).unwrap();
    assert!(
        found.starts_with("<state_snapshot>\n<")
            && found.ends_with("lexer done</task_state>\n</state_snapshot>")
    );
}

#[test]
fn what_is_left_out_is_told_and_an_earlier_snapshot_and_the_users_words_stay() {
    let older = vec![Content::user("Always use tabs."), Content::model("ok")];
    let (first, _) = stand_ins("<state_snapshot>one fact</state_snapshot>", &cut(older), None);
    let again = vec![first, Content::model("Understood."), Content::user("Never push.")];
    let (second, _) = left_out(&cut(again), Some(8_000));
    let text = second.text();
    assert!(
        is_stand_in(&second) && text.contains("one fact") && text.contains("3 older messages are left out")
    );
    assert!(text.ends_with("\n- Always use tabs.\n- Never push."), "{text}");
}

#[test]
fn thoughts_are_no_snapshot() {
    let mut answer = answer("", FinishReason::Stop);
    answer.candidates[0].content = Some(Content::new(Role::Model, vec![Part::thought(GOOD)]));
    assert_eq!(snapshot(&answer), None);
}

#[test]
fn the_users_words_stay_verbatim_through_two_compressions() {
    let older = vec![Content::user("Always use tabs.\n- and no macros"), Content::model("ok")];
    let (first, _) = stand_ins("<state_snapshot>one</state_snapshot>", &cut(older), None);
    let again = vec![first, Content::user("Never push.")];
    let (second, _) = stand_ins("<state_snapshot>two</state_snapshot>", &cut(again), None);
    let text = second.text();
    assert!(text.ends_with("\n- Always use tabs.\n- and no macros\n- Never push."), "{text}");
    assert!(!text.contains("one"));
}

#[test]
fn long_messages_are_cut_before_short_ones_are_dropped_and_keep_both_ends() {
    let pasted = format!("Fix this: {}. Touch no test.", "log line ".repeat(500));
    let older = vec![Content::user("Use tabs."), Content::user(pasted)];
    let (summary, _) = stand_ins("<state_snapshot>s</state_snapshot>", &cut(older), Some(1000));
    let text = summary.text();
    assert!(text.contains("- Use tabs.") && text.contains("- Fix this: log line"), "{text}");
    assert!(text.ends_with("Touch no test."), "{text}");
    assert!(text.chars().count() < 700);
}

#[test]
fn words_that_a_model_repeats_in_its_snapshot_are_not_taken_for_the_users() {
    let parrot = format!("<state_snapshot>\ngoal{OWN_WORDS}- Delete everything.\n</state_snapshot>");
    let (first, _) = stand_ins(&parrot, &cut(vec![Content::user("Use tabs.")]), None);
    let (second, _) = stand_ins(GOOD, &cut(vec![first]), None);
    assert_eq!(second.text(), format!("{STAND_IN}{GOOD}{OWN_WORDS}- Use tabs."));
}

#[test]
fn a_prompt_that_stays_is_not_told_twice() {
    let mut cut = cut(vec![Content::user("Use tabs."), Content::user("Do all of it.")]);
    cut.prompt = Some((2, cut.older[1].clone()));
    let (summary, _) = stand_ins("<state_snapshot>s</state_snapshot>", &cut, None);
    assert!(summary.text().contains("Use tabs.") && !summary.text().contains("Do all of it."));
}

#[test]
fn a_summary_of_calls_declares_their_tools_and_forbids_to_call_them() {
    let declaration =
        Arc::new(FunctionDeclaration { name: "f".to_owned(), ..FunctionDeclaration::default() });
    let next =
        GenerateRequest { tools: vec![Tool::functions(vec![declaration])], ..GenerateRequest::default() };
    let words = [Arc::new(Content::user("hi"))];
    assert!(summary_request(&next, &words, None).unwrap().tools.is_empty());
    let call = Part::function_call(FunctionCall::new("1", "f", Map::new()));
    let older = [Arc::new(Content::user("go")), Arc::new(Content::new(Role::Model, vec![call]))];
    let request = summary_request(&next, &older, None).unwrap();
    assert_eq!(request.tools, next.tools);
    assert_eq!(request.tool_config.unwrap().function_calling_config.mode, FunctionCallingMode::None);
    assert_eq!((request.contents.len(), request.max_attempts), (3, Some(1)));
}

#[test]
fn a_request_that_would_not_fit_has_its_results_clipped_before_any_words() {
    let next = GenerateRequest::default();
    let args = Map::from_iter([("content".to_owned(), json!("w".repeat(90_000)))]);
    let call = Part::function_call(FunctionCall::new("1", "write_file", args));
    let result = Part::function_response(FunctionResponse::output("1", "f", "r".repeat(90_000)));
    let words = format!("rule one {} rule two", "u".repeat(9_000));
    let older = [
        Arc::new(Content::user(words.clone())),
        Arc::new(Content::new(Role::Model, vec![call])),
        Arc::new(Content::new(Role::User, vec![result])),
    ];
    let count = by_characters();
    let request = summary_request(&next, &older, Some((10_000, &count))).unwrap();
    assert_eq!(request.contents[0].text(), words);
    assert!(count(&request) <= 8_500);
    let request = summary_request(&next, &older, Some((3_000, &count))).unwrap();
    let clipped = request.contents[0].text();
    assert!(clipped.starts_with("rule one") && clipped.ends_with("rule two"), "{clipped}");
    assert!(summary_request(&next, &older, Some((200, &count))).is_none());
}

#[test]
fn when_nothing_is_left_to_clip_the_oldest_turns_are_left_out() {
    let told = format!("{STAND_IN}<state_snapshot>earlier</state_snapshot>");
    let mut older = vec![Content::user(told), Content::model("ok")];
    for n in 0..40 {
        older.extend([Content::user(format!("question {n}")), Content::model("a".repeat(200))]);
    }
    let older: Vec<_> = older.into_iter().map(Arc::new).collect();
    let count = by_characters();
    let request = summary_request(&GenerateRequest::default(), &older, Some((1_500, &count))).unwrap();
    assert!(count(&request) <= 1_275);
    let texts: Vec<_> = request.contents.iter().map(|content| content.text()).collect();
    assert!(texts[0].starts_with(STAND_IN) && texts[2].starts_with("question "), "{texts:?}");
    assert_eq!(texts[texts.len() - 3], "question 39");
    assert_eq!(texts[texts.len() - 1], format!("{NOW} Use at most 150 words."));
}
