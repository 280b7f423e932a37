//! A server asks the person: fields of a form, or to open an address.

use charla_proto::text::{one_line, readable};
use charla_proto::{Aside, AsideAnswer, Effect, Lane, Plan, Preview, Question, QuestionKind};
use serde_json::{Map, Value, json};

use crate::attendance::refusal;
use crate::call::plan;
use crate::form::{Field, cut};
use crate::message::RpcError;
use crate::naming::server_prefix;

/// What it is called in rules and questions.
const ELICITATION: &str = "elicitation/create";
/// So many fields a form may have: a person has to fill them in.
const MOST_FIELDS: usize = 20;
/// So often a person is asked again for what does not fit.
const TRIES: usize = 3;

/// What the server is answered.
pub(crate) async fn answer(server: &str, params: &Value, aside: &dyn Aside) -> Result<Value, RpcError> {
    match params.get("mode").and_then(Value::as_str) {
        Some("url") => open_address(server, params, aside).await,
        None | Some("form") => fill_in(server, params, aside).await,
        Some(other) => Err(refusal(format!("the mode `{}` is not known", one_line(&cut(other, 80))))),
    }
}

/// A form: every field is a question, and what does not fit is asked again.
async fn fill_in(server: &str, params: &Value, aside: &dyn Aside) -> Result<Value, RpcError> {
    let fields = fields(params.get("requestedSchema").unwrap_or(&Value::Null)).map_err(refusal)?;
    let message = message(server, params);
    if fields.is_empty() {
        return confirm(server, &message, aside).await;
    }
    let mut problem = String::new();
    for _ in 0..TRIES {
        let opening = format!("{problem}{message}");
        let mut questions: Vec<Question> = fields.iter().map(Field::question).collect();
        number(&mut questions);
        let marks = std::iter::once(format!("{opening}\n\n"));
        let marks = marks.chain(std::iter::repeat(format!("The MCP server {} asks: ", one_line(server))));
        for (question, mark) in questions.iter_mut().zip(marks) {
            question.question.insert_str(0, &mark);
        }
        let answers = match aside.ask(question(server, questions)).await {
            AsideAnswer::Answers(answers) => answers,
            other => return Ok(refused(&other)),
        };
        match values(&fields, &answers) {
            Ok(content) => return Ok(json!({"action": "accept", "content": content})),
            Err(why) => problem = format!("{why}\n\n"),
        }
    }
    Ok(json!({"action": "cancel"}))
}

/// Says of each of several questions which it is.
fn number(questions: &mut [Question]) {
    let all = questions.len();
    if all > 1 {
        for (question, at) in questions.iter_mut().zip(1..) {
            question.header = format!("{at} of {all}: {}", question.header);
        }
    }
}

/// An address to open: the person does that, and says so.
async fn open_address(server: &str, params: &Value, aside: &dyn Aside) -> Result<Value, RpcError> {
    let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
    let is_web = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    if !is_web || url.chars().any(|c| c.is_whitespace() || c.is_control()) || url.len() > 2000 {
        return Err(refusal("the address is none that a browser opens"));
    }
    let words = format!(
        "{}\n\nIt wants you to open this address in a browser:\n{}\n\nDo you agree?",
        message(server, params),
        readable(url)
    );
    confirm(server, &words, aside).await
}

async fn confirm(server: &str, words: &str, aside: &dyn Aside) -> Result<Value, RpcError> {
    let agree = Question {
        question: words.to_owned(),
        header: "agree".to_owned(),
        kind: QuestionKind::Yesno,
        ..Question::default()
    };
    Ok(match aside.ask(question(server, vec![agree])).await {
        AsideAnswer::Answers(answers) => match answers.first().map(|answer| answer.trim()) {
            Some("yes") => json!({"action": "accept", "content": {}}),
            _ => json!({"action": "decline"}),
        },
        other => refused(&other),
    })
}

/// A no of somebody is a no; with nobody there, nothing is said.
fn refused(answer: &AsideAnswer) -> Value {
    match answer {
        AsideAnswer::Refused(_) => json!({"action": "decline"}),
        _ => json!({"action": "cancel"}),
    }
}

fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(Vec::new()) };
    if properties.len() > MOST_FIELDS {
        return Err(format!("a form may have {MOST_FIELDS} fields"));
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|wanted| wanted == name));
    properties.iter().map(|(name, schema)| Field::read(name, schema, is_required(name))).collect()
}

fn values(fields: &[Field], answers: &[String]) -> Result<Map<String, Value>, String> {
    let mut values = Map::new();
    for (index, field) in fields.iter().enumerate() {
        let answer = answers.get(index).map(|answer| answer.trim()).unwrap_or_default();
        if let Some(value) = field.value(answer)? {
            values.insert(field.name.clone(), value);
        }
    }
    Ok(values)
}

/// The server's words, marked as such.
fn message(server: &str, params: &Value) -> String {
    let words = params.get("message").and_then(Value::as_str).unwrap_or_default();
    format!("The MCP server {} asks: {}", one_line(server), readable(&cut(words, 4000)))
}

fn question(server: &str, questions: Vec<Question>) -> Plan {
    let effects = vec![Effect::Mcp { server: server.to_owned(), tool: ELICITATION.to_owned() }];
    let title = format!("The MCP server {} asks you", one_line(server));
    let tool = format!("{}{ELICITATION}", server_prefix(server));
    Plan { preview: Preview::Questions { questions }, ..plan(&tool, title, effects, Lane::Exclusive) }
}
