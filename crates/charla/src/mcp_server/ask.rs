//! Questions of a session, put to the client's user. Only a plain yes is a yes.

use charla_proto::{Confirmation, ConfirmationDetail, Outcome, Question, QuestionKind};
use serde_json::{Map, Value, json};

use crate::card::Card;
use crate::json_rpc::Connection;

/// The columns of a question.
const COLUMNS: usize = 100;
/// What the model is told where nothing else is said.
const NO: &str = "the user of the MCP client did not allow it";

/// The answer of the client's user.
pub(super) async fn ask(connection: &Connection, confirmation: &Confirmation) -> Outcome {
    match &confirmation.detail {
        ConfirmationDetail::AskUser { questions } => words(connection, confirmation, questions).await,
        _ => permission(connection, confirmation).await,
    }
}

async fn permission(connection: &Connection, confirmation: &Confirmation) -> Outcome {
    let properties = json!({
        "decision": {"type": "string", "title": "Decision", "enum": ["allow", "deny"]},
        "reason": {"type": "string", "title": "Reason", "description": "Told to the model where it is denied."},
    });
    let message = Card::whole(confirmation, COLUMNS).text;
    let said = elicit(connection, &message, properties, &["decision"]).await;
    let decision = said.as_ref().and_then(|said| said.get("decision")).and_then(Value::as_str);
    if decision == Some("allow") {
        return Outcome::ProceedOnce;
    }
    let reason = said.as_ref().and_then(|said| said.get("reason")).and_then(Value::as_str);
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty()).unwrap_or(NO);
    Outcome::Cancel { reason: Some(reason.to_owned()) }
}

async fn words(connection: &Connection, confirmation: &Confirmation, questions: &[Question]) -> Outcome {
    let names: Vec<String> = (1..=questions.len()).map(|number| format!("answer{number}")).collect();
    let fields = names.iter().zip(questions).map(|(name, question)| (name.clone(), field(question)));
    let properties: Map<String, Value> = fields.collect();
    match elicit(connection, &confirmation.title, properties.into(), &[]).await {
        Some(said) => {
            let answer = |name: &String| match said.get(name) {
                Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
                Some(Value::String(words)) => words.clone(),
                _ => String::new(),
            };
            Outcome::Answers { answers: names.iter().map(answer).collect() }
        }
        None => Outcome::Cancel { reason: Some(NO.to_owned()) },
    }
}

fn field(question: &Question) -> Value {
    let labels: Vec<&str> = question.options.iter().map(|option| option.label.as_str()).collect();
    let choices =
        if labels.is_empty() { String::new() } else { format!(" (such as: {})", labels.join(", ")) };
    let about = format!("{}{choices}", question.question);
    let kind = if question.kind == QuestionKind::Yesno { "boolean" } else { "string" };
    json!({"type": kind, "title": question.header, "description": about})
}

/// What the user filled in; nothing for every other answer.
async fn elicit(
    connection: &Connection,
    message: &str,
    properties: Value,
    required: &[&str],
) -> Option<Value> {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let params = json!({"message": message, "requestedSchema": schema});
    let mut answer = connection.request("elicitation/create", &params).await.ok()?;
    let is_accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
    answer.get_mut("content").map(Value::take).filter(|_| is_accepted)
}
