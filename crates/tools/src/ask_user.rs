//! `ask_user`: the model asks the person something.
//!
//! Its confirmation is the question. The session always shows it, whatever the rules allow, and hands the
//! answers to the call through [`Invocation::answered`]; with nobody there the call is refused like every
//! other that needs a person.

use charla_proto::{
    BoxFuture, Display, Invocation, Part, Plan, Preview, Question, QuestionKind, RunContext, ToolContext,
    ToolError, ToolErrorKind, ToolOutput,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::args::invalid;
use crate::invocation::write_plan;
use crate::typed::{PreparedCall, TypedTool};

const MOST_QUESTIONS: usize = 4;
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=4;
/// The longest text of a question or an option, in characters: it is read by a person, in a box.
const LONGEST: usize = 2_000;

/// Asks the person.
pub struct AskUser;

/// What `ask_user` takes.
#[derive(Deserialize, JsonSchema)]
pub struct AskUserArgs {
    #[schemars(schema_with = "questions")]
    questions: Vec<Question>,
}

fn questions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "minItems": 1, "maxItems": MOST_QUESTIONS,
        "items": {
            "type": "object",
            "properties": {
                "question": { "type": "string", "description": "The whole question." },
                "header": { "type": "string", "description": "The question in a word or two." },
                "type": {
                    "type": "string", "enum": ["choice", "text", "yesno"],
                    "description": "choice: among the options; text: free words; yesno: yes or no. choice unless told."
                },
                "options": {
                    "type": "array", "minItems": OPTIONS.start(), "maxItems": OPTIONS.end(),
                    "description": "For choice: what can be chosen. The person can always say something else.",
                    "items": {
                        "type": "object",
                        "properties": {
                            "label": { "type": "string", "description": "The answer, in a few words." },
                            "description": { "type": "string", "description": "What choosing it means." }
                        },
                        "required": ["label"]
                    }
                },
                "multiSelect": { "type": "boolean", "description": "For choice: several may be chosen." },
                "placeholder": { "type": "string", "description": "For text: shown in the empty field." }
            },
            "required": ["question", "header"]
        }
    })
}

fn check(questions: Vec<Question>) -> Result<Vec<Question>, ToolError> {
    if questions.is_empty() || questions.len() > MOST_QUESTIONS {
        return Err(invalid(format_args!("`questions` must hold 1 to {MOST_QUESTIONS} questions")));
    }
    for (index, question) in questions.iter().enumerate() {
        if questions.iter().take(index).any(|other| other.question == question.question) {
            return Err(invalid(format_args!("`questions[{index}]` asks the same as one before it")));
        }
        check_one(question).map_err(|problem| invalid(format_args!("`questions[{index}]`: {problem}")))?;
    }
    Ok(questions)
}

fn check_one(question: &Question) -> Result<(), String> {
    let too_long = |text: &str| text.chars().nth(LONGEST).is_some();
    if question.question.trim().is_empty() || question.header.trim().is_empty() {
        return Err("`question` and `header` must say something".to_owned());
    }
    let options = question.options.iter().flat_map(|option| [&option.label, &option.description]);
    if [&question.question, &question.header].into_iter().chain(options).any(|text| too_long(text)) {
        return Err(format!("no text in it may be longer than {LONGEST} characters"));
    }
    if question.kind == QuestionKind::Choice {
        if !OPTIONS.contains(&question.options.len()) {
            return Err(format!("a choice needs {} to {} `options`", OPTIONS.start(), OPTIONS.end()));
        }
        if question.options.iter().any(|option| option.label.trim().is_empty()) {
            return Err("every option needs a `label`".to_owned());
        }
    }
    Ok(())
}

impl TypedTool for AskUser {
    type Args = AskUserArgs;
    const NAME: &'static str = "ask_user";
    const SCHEMA: &'static str = include_str!("schemas/ask_user.json");
    const DESCRIPTION: &'static str = "Asks the person one to four questions and waits for the answers. Use it \
when a decision is theirs and you cannot find it out yourself, not to ask whether you may go on.";

    async fn prepare(&self, args: AskUserArgs, _: &ToolContext) -> PreparedCall {
        let questions = check(args.questions)?;
        let headers: Vec<&str> = questions.iter().map(|question| question.header.as_str()).collect();
        let title = format!("Asking: {}", headers.join(", "));
        let preview = Preview::Questions { questions: questions.clone() };
        let plan = write_plan(Self::NAME, title, Vec::new(), preview);
        Ok(Box::new(Asking { plan, questions, answers: None }))
    }
}

struct Asking {
    plan: Plan,
    questions: Vec<Question>,
    answers: Option<Vec<String>>,
}

impl Invocation for Asking {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn answered(&mut self, answers: Vec<String>) {
        self.answers = Some(answers);
    }

    fn run(self: Box<Self>, _cx: RunContext) -> BoxFuture<'static, ToolOutput> {
        let Asking { questions, answers, .. } = *self;
        let output = match answers {
            None => {
                let message =
                    "The person did not answer. Go on with what you think best, or ask in your reply.";
                ToolOutput::failed(ToolError::new(ToolErrorKind::Unanswered, message))
            }
            Some(answers) => output(&questions, &answers),
        };
        Box::pin(async move { output })
    }
}

/// The answers beside their questions: JSON for the model, a table for the person.
fn output(questions: &[Question], answers: &[String]) -> ToolOutput {
    let answer = |index: usize| match answers.get(index).map(|answer| answer.trim()) {
        None | Some("") => "(left open)".to_owned(),
        Some(answer) => answer.to_owned(),
    };
    let questions = questions.iter().map(|question| question.question.clone()).enumerate();
    let rows: Vec<Vec<String>> = questions.map(|(index, question)| vec![question, answer(index)]).collect();
    let cells = rows.iter().filter_map(|row| Some((row.first()?.clone(), row.last()?.clone().into())));
    let answers: Map<String, Value> = cells.collect();
    let text = json!({ "answers": answers }).to_string();
    let columns = ["question", "answer"].map(str::to_owned).to_vec();
    ToolOutput {
        content: vec![Part::text(text)],
        display: Some(Display::Table { columns, rows }),
        ..ToolOutput::default()
    }
}

#[cfg(test)]
mod tests {
    use charla_proto::tool::Tool;

    use super::*;
    use crate::typed::Typed;

    async fn prepare(args: Value) -> Result<Box<dyn Invocation>, ToolError> {
        let args = args.as_object().cloned().unwrap_or_default();
        Typed::new(AskUser).prepare(args, &ToolContext::default()).await
    }

    fn quiet() -> RunContext {
        RunContext {
            cancelled: Box::pin(std::future::pending()),
            live: Box::new(|_| {}),
            confinement: charla_proto::Confinement::Open,
            only_git_reads: false,
            consent: charla_proto::Consent::Named,
            files: charla_proto::FileJudge::default(),
        }
    }

    fn color() -> Value {
        json!({ "question": "Which color?", "header": "Color", "options": [{ "label": "red" }, { "label": "blue" }] })
    }

    #[tokio::test]
    async fn the_questions_are_the_plan_and_the_answers_the_output() {
        let yes = json!({ "question": "Sure?", "header": "Sure", "type": "yesno" });
        let name = json!({ "question": "Name?", "header": "Name", "type": "text", "placeholder": "a word" });
        let mut asking = prepare(json!({ "questions": [color(), yes, name] })).await.ok().unwrap();
        let Preview::Questions { questions } = &asking.plan().preview else { panic!("no questions") };
        assert_eq!(questions.len(), 3);
        assert_eq!(questions[2].placeholder.as_deref(), Some("a word"));
        asking.answered(vec!["red".to_owned(), "yes".to_owned(), "  ".to_owned()]);
        let output = asking.run(quiet()).await;
        let text = output.content[0].as_text().unwrap();
        let answers: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            answers,
            json!({ "answers": { "Which color?": "red", "Sure?": "yes", "Name?": "(left open)" } })
        );
        let shown = output.display.unwrap().to_text();
        assert_eq!(shown, "question | answer\nWhich color? | red\nSure? | yes\nName? | (left open)");
    }

    #[tokio::test]
    async fn a_model_cannot_answer_its_own_question() {
        let args = json!({ "questions": [color()], "answers": ["red"] });
        assert_eq!(prepare(args).await.err().unwrap().kind, ToolErrorKind::InvalidArgs);
        let unanswered = prepare(json!({ "questions": [color()] })).await.ok().unwrap();
        assert_eq!(unanswered.run(quiet()).await.error.unwrap().kind, ToolErrorKind::Unanswered);
    }

    #[tokio::test]
    async fn questions_nobody_could_answer_are_refused() {
        let with = |key: &str, value: Value| {
            let mut question = color();
            question[key] = value;
            json!({ "questions": [question] })
        };
        let cases = [
            (json!({}), "the field `questions` is missing"),
            (json!({ "questions": [] }), "at least 1 item"),
            (json!({ "questions": vec![color(); 5] }), "at most 4 item"),
            (json!({ "questions": ["what?"] }), "must be an object"),
            (json!({ "questions": [color(), color()] }), "asks the same"),
            (with("question", json!(" ")), "must say something"),
            (with("options", json!([{ "label": "only" }])), "at least 2 item"),
            (with("options", json!([{ "label": "" }, { "label": "b" }])), "needs a `label`"),
            (with("type", json!("essay")), "must be one of"),
            (with("question", json!("x".repeat(1 << 20))), "longer than 2000"),
        ];
        for (args, said) in cases {
            let error = prepare(args).await.err().unwrap();
            assert!(
                error.kind == ToolErrorKind::InvalidArgs && error.message.contains(said),
                "{} / {said}",
                error.message
            );
        }
    }
}
