use charla_proto::{Assembler, ContentGenerator, LlmErrorKind, StreamEvent, Thinking};
use charla_testkit::{Attempt, Scripted};
use futures_util::StreamExt;

use super::super::Layered;
use super::*;

fn filtered(model: Arc<Scripted>, options: ThinkOptions) -> Layered<ThinkFilter> {
    Layered::over(model, ThinkFilter::new(options))
}

async fn ask(filter: &Layered<ThinkFilter>) -> Result<Content, LlmError> {
    let request = GenerateRequest::new("m", vec![Arc::new(Content::user("hi"))]);
    let mut stream = filter.stream(&request).await?;
    let mut whole = Assembler::new();
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Chunk(chunk) => whole.push(chunk),
            other => panic!("{other:?}"),
        }
    }
    Ok(whole.finish().content().cloned().unwrap_or_default())
}

/// What becomes of a text, cut in two at every place and into single characters.
fn split(text: &str, start: ThinkStart) -> (String, String) {
    let mut cuts: Vec<Vec<Part>> = vec![text.chars().map(|c| Part::text(c.to_string())).collect()];
    for (at, _) in text.char_indices() {
        let (one, other) = text.split_at(at);
        cuts.push(vec![Part::text(one), Part::text(other)]);
    }
    let mut results = Vec::new();
    for parts in cuts {
        let options = ThinkOptions { start, ..ThinkOptions::default() };
        let filter = filtered(Scripted::new([Attempt::parts(parts, FinishReason::Stop)]), options);
        let answer = futures_util::FutureExt::now_or_never(ask(&filter)).unwrap();
        let content = answer.unwrap_or_else(|error| Content::model(format!("ERROR {error}")));
        results.push((content.thoughts(), content.text()));
    }
    assert!(results.iter().all(|result| *result == results[0]), "{text:?} depends on the cut: {results:?}");
    results.remove(0)
}

#[track_caller]
fn check(text: &str, thought: &str, answer: &str) {
    assert_eq!(split(text, ThinkStart::Auto), (thought.to_owned(), answer.to_owned()), "{text:?}");
}

#[test]
fn thoughts_at_the_beginning_are_taken_out() {
    check("<think>\nhm\n</think>\n\nHello", "\nhm\n", "Hello");
    check("\n<thinking>a < b</thinking>Hello <b>", "a < b", "Hello <b>");
    check("◁think▷hm◁/think▷Hello", "hm", "Hello");
    check("[THINK]hm[/THINK]Hello", "hm", "Hello");
    check("<think></think>\n\nHello", "", "Hello");
    check("<think>one</think>\n<think>two</think>\nHello", "onetwo", "Hello");
    check(
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
        "hm",
        "Hi",
    );
    check("<|channel|>analysis<|message|>hm<|channel|>final<|message|>Hi", "hm", "Hi");
}

#[test]
fn text_without_thoughts_stays_as_it_is() {
    for text in
        ["Hello", " \n Hello\n", "a <b> c", "<thin", "<thinker>x</thinker>", "[THIN", "x < y\n<", "日本◁"]
    {
        check(text, "", text);
    }
}

#[test]
fn later_thoughts_count_alone_on_a_line_outside_code() {
    check("First.\n<think>\nhm\n</think>\nSecond.", "\nhm\n", "First.\nSecond.");
    for text in [
        "Use `<think>` and `</think>`.",
        "The <think> tag opens and the </think> tag closes.",
        "Like so:\n```xml\n<think>\nhm\n</think>\n```\nDone.",
        "~~~\n<think>\n~~~",
        "<pre>\n<think>\n</think>\n</pre>\nok",
        "In prose:\n<think> is a tag.",
        "Code:\n\n    <think>\n    x\n",
        "> <think>\n",
    ] {
        check(text, "", text);
    }
}

#[test]
fn a_closing_tag_alone_makes_what_came_before_a_thought() {
    check("Let me see.\nSo it is 4.\n</think>\n\nFour.", "Let me see.\nSo it is 4.\n", "Four.");
    check("It is 4.</think>\nFour.", "It is 4.", "Four.");
    let text = "It is 4.</think>\nFour.";
    assert_eq!(split(text, ThinkStart::Outside), (String::new(), text.to_owned()));
}

#[test]
fn an_answer_that_begins_inside_is_a_thought_until_the_tag() {
    let inside = |text| split(text, ThinkStart::Inside);
    assert_eq!(inside("hm `x`\n</think>\n\nHello"), ("hm `x`\n".to_owned(), "Hello".to_owned()));
    assert_eq!(inside("Hello"), ("Hello".to_owned(), "Hello".to_owned()), "the model did not think");
}

#[tokio::test]
async fn a_model_that_began_inside_once_is_expected_to_again() {
    let answers = ["a\n</think>\nA", "b\n</think>\nB", "C", "D"];
    let filter = filtered(Scripted::new(answers), ThinkOptions::default());
    let mut texts = Vec::new();
    for _ in 0..4 {
        let content = ask(&filter).await.unwrap();
        texts.push((content.thoughts(), content.text()));
    }
    let pair = |thought: &str, text: &str| (thought.to_owned(), text.to_owned());
    assert_eq!(texts, [pair("a\n", "A"), pair("b\n", "B"), pair("C", "C"), pair("", "D")]);
}

#[tokio::test]
async fn thoughts_alone_are_no_answer() {
    for (text, reason) in [
        ("<think>I wonder", FinishReason::Stop),
        ("<think>I wonder</think>\n", FinishReason::Stop),
        ("I wonder\n</think>\n", FinishReason::Stop),
        ("<think>I wonder", FinishReason::MaxTokens),
    ] {
        let parts = text.chars().map(|c| Part::text(c.to_string()));
        let filter = filtered(Scripted::new([Attempt::parts(parts, reason)]), ThinkOptions::default());
        let error = ask(&filter).await.unwrap_err();
        assert_eq!(error.kind, LlmErrorKind::InvalidStream, "{text}: {error}");
    }
}

#[tokio::test]
async fn a_signature_stays_on_its_words() {
    let signed = vec![Part::text("Hello").with_signature("s1"), Part::text("").with_signature("s2")];
    let answer = Attempt::parts(signed.clone(), FinishReason::Stop);
    let filter = filtered(Scripted::new([answer]), ThinkOptions::default());
    assert_eq!(ask(&filter).await.unwrap().parts, signed);
}

#[tokio::test]
async fn a_whole_answer_is_filtered_like_a_stream() {
    let filter = filtered(Scripted::new(["<think>hm</think>Hello"]), ThinkOptions::default());
    let request = GenerateRequest::new("m", vec![Arc::new(Content::user("hi"))]);
    let whole = filter.generate(&request).await.unwrap();
    assert_eq!(whole.content().unwrap().parts, [Part::thought("hm"), Part::text("Hello")]);
}

#[tokio::test]
async fn thinking_is_switched_off_in_words_where_the_setting_says_so() {
    let question = Arc::new(Content::user("Why?"));
    let mut request = GenerateRequest::new("m", vec![question.clone(), Arc::new(Content::model("So."))]);
    for (switch, expected) in [
        (ThinkSwitch::Wire, "Why?"),
        (ThinkSwitch::SlashSuffix, "Why? /no_think"),
        (ThinkSwitch::SlashPrefix, "/no_think Why?"),
        (ThinkSwitch::TagPrefix, "<no_think>\n\nWhy?"),
    ] {
        let model = Scripted::new(["x", "x", "x"]);
        let filter = filtered(model.clone(), ThinkOptions { switch, ..ThinkOptions::default() });
        request.thinking = None;
        filter.generate(&request).await.unwrap();
        request.thinking = Some(Thinking { thinking_budget: Some(0), ..Thinking::default() });
        filter.generate(&request).await.unwrap();
        let thinking_level = Some(charla_proto::ThinkingLevel::Minimal);
        request.thinking = Some(Thinking { thinking_level, ..Thinking::default() });
        filter.generate(&request).await.unwrap();
        let asked: Vec<GenerateRequest> = model.asked().into_iter().map(|asked| asked.request).collect();
        assert!(Arc::ptr_eq(&asked[0].contents[0], &question));
        assert_eq!(asked[1].contents[0].text(), expected);
        assert!(Arc::ptr_eq(&asked[1].contents[0], &asked[2].contents[0]), "rewritten once");
        assert!(Arc::ptr_eq(&asked[1].contents[1], &request.contents[1]));
    }
}

fn fragment() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::prelude::*;
    let marks = prop::sample::select(vec![
        "<think>",
        "</think>",
        "<thinking>",
        "</thinking>",
        "[THINK]",
        "[/THINK]",
        "◁think▷",
        "◁/think▷",
        "<|channel|>analysis<|message|>",
        "<|channel|>final<|message|>",
        "<|start|>assistant",
        "<|end|>",
        "<|return|>",
        "\n",
        " ",
        "word",
        ".",
        "```\n",
        "`",
        "<",
        "<th",
        "</",
        "日本",
    ]);
    prop_oneof![5 => marks.prop_map(str::to_owned), 1 => "\\PC{0,4}"]
}

proptest::proptest! {
    #[test]
    fn any_text_cut_anywhere_is_split_alike(fragments in proptest::collection::vec(fragment(), 0..10)) {
        let text = fragments.concat();
        for start in [ThinkStart::Auto, ThinkStart::Inside, ThinkStart::Outside] {
            split(&text, start);
        }
    }
}
