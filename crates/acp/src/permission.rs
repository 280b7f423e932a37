//! A question of a session in the protocol's words, and the answer in ours. Only a plain yes is a yes.

use std::sync::Arc;

use charla::json_rpc::{Connection, NoAnswer};
use charla_proto::text::one_line;
use charla_proto::{Confirmation, ConfirmationDetail, Outcome, Question, QuestionKind};
use serde_json::{Map, Value, json};

use crate::client::Client;

/// What the model is told where nothing else is said.
const NO: &str = "the user did not allow it";
/// What the model is told where the editor has no way to ask.
const MUTE: &str =
    "this editor has no way to put such a question to its user: ask it in your answer, and end your turn";
const CHOICE: &str = "choice ";
const SKIPPED: &str = "skip";

/// Puts questions of one session to the editor's user.
pub(crate) struct Asking {
    pub(crate) connection: Arc<Connection>,
    pub(crate) client: Client,
    pub(crate) session: String,
}

/// An answer that can be chosen.
struct Choice {
    id: String,
    name: String,
    kind: &'static str,
}

impl Choice {
    fn new(id: &str, name: impl Into<String>, kind: &'static str) -> Self {
        Self { id: id.to_owned(), name: name.into(), kind }
    }
}

impl Asking {
    /// The answer of the editor's user; nothing where the editor is gone: then the question waits for somebody else.
    pub(crate) async fn ask(&self, confirmation: &Confirmation, shown: Value) -> Option<Outcome> {
        let answer = match &confirmation.detail {
            ConfirmationDetail::AskUser { questions } if self.client.forms => {
                self.form(confirmation, questions, &shown).await
            }
            ConfirmationDetail::AskUser { questions } => self.choices(questions, shown).await,
            _ => self.permission(confirmation, shown).await,
        };
        match answer {
            Ok(outcome) => Some(outcome),
            Err(NoAnswer::Gone) => None,
            Err(NoAnswer::Refused(_)) => Some(Outcome::Cancel { reason: Some(MUTE.to_owned()) }),
        }
    }

    async fn permission(&self, confirmation: &Confirmation, shown: Value) -> Result<Outcome, NoAnswer> {
        let call = shown.get("toolCallId").cloned().unwrap_or_default();
        let chosen = self.choose(shown, &self.outcomes(confirmation)).await?;
        let Some(chosen) = chosen else { return Ok(Outcome::Cancel { reason: None }) };
        Ok(match chosen.as_str() {
            "proceed_once" => Outcome::ProceedOnce,
            "proceed_always" => Outcome::ProceedAlways,
            "proceed_always_tool" => Outcome::ProceedAlwaysTool,
            "proceed_always_server" => Outcome::ProceedAlwaysServer,
            "proceed_always_and_save" => Outcome::ProceedAlwaysAndSave,
            "stop" => Outcome::Cancel { reason: None },
            "reject_with_reason" => Outcome::Cancel { reason: Some(self.reason(&call).await?) },
            _ => no(),
        })
    }

    /// The answers that fit. Changed arguments have no place in the protocol.
    fn outcomes(&self, confirmation: &Confirmation) -> Vec<Choice> {
        let tool = one_line(&confirmation.tool);
        let mut choices = vec![Choice::new("proceed_once", "Allow", "allow_once")];
        if confirmation.always.is_some() {
            choices.push(Choice::new("proceed_always", "Allow the like in this session", "allow_always"));
        }
        let words = format!("Allow {tool} in this session");
        choices.push(Choice::new("proceed_always_tool", words, "allow_always"));
        if let ConfirmationDetail::Mcp { server, .. } = &confirmation.detail {
            let words = format!("Allow all of {} in this session", one_line(server));
            choices.push(Choice::new("proceed_always_server", words, "allow_always"));
        }
        if confirmation.always.is_some() {
            let words = "Allow the like in every session";
            choices.push(Choice::new("proceed_always_and_save", words, "allow_always"));
        }
        choices.push(Choice::new("reject", "Do not allow", "reject_once"));
        if self.client.forms {
            choices.push(Choice::new("reject_with_reason", "Do not allow, and say why", "reject_once"));
        }
        choices.push(Choice::new("stop", "Do not allow, and stop", "reject_once"));
        choices
    }

    /// Why the user does not allow it, in their words.
    async fn reason(&self, call: &Value) -> Result<String, NoAnswer> {
        let properties = json!({"reason": {"type": "string", "title": "What should be done instead?"}});
        let said = self.elicit("Not allowed", properties, call).await?;
        let reason = said.as_ref().and_then(|said| said.get("reason")).and_then(Value::as_str);
        let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
        Ok(reason.unwrap_or(NO).to_owned())
    }

    /// True when the user says yes to what is shown.
    pub(crate) async fn yes(&self, shown: Value) -> bool {
        let choices =
            [Choice::new("yes", "Run", "allow_once"), Choice::new("no", "Do not run", "reject_once")];
        matches!(self.choose(shown, &choices).await, Ok(Some(chosen)) if chosen == "yes")
    }

    /// What is chosen; nothing where the editor took the question back.
    async fn choose(&self, shown: Value, choices: &[Choice]) -> Result<Option<String>, NoAnswer> {
        let options = choices
            .iter()
            .map(|choice| json!({"optionId": choice.id, "name": choice.name, "kind": choice.kind}));
        let options: Vec<Value> = options.collect();
        let params = json!({"sessionId": self.session, "toolCall": shown, "options": options});
        let answer = self.connection.request("session/request_permission", &params).await?;
        let outcome = answer.get("outcome").unwrap_or(&Value::Null);
        let chosen = outcome.get("optionId").and_then(Value::as_str);
        match outcome.get("outcome").and_then(Value::as_str) {
            Some("selected") => Ok(Some(chosen.unwrap_or_default().to_owned())),
            Some("cancelled") => Ok(None),
            _ => Err(NoAnswer::Refused("that is no answer".to_owned())),
        }
    }

    /// The model's own questions, as a form.
    async fn form(
        &self,
        confirmation: &Confirmation,
        questions: &[Question],
        shown: &Value,
    ) -> Result<Outcome, NoAnswer> {
        let names: Vec<String> = (1..=questions.len()).map(|number| format!("answer{number}")).collect();
        let fields = names.iter().zip(questions).map(|(name, question)| (name.clone(), field(question)));
        let properties: Map<String, Value> = fields.collect();
        let call = shown.get("toolCallId").unwrap_or(&Value::Null);
        let Some(said) = self.elicit(&confirmation.title, properties.into(), call).await? else {
            return Ok(no());
        };
        Ok(Outcome::Answers { answers: names.iter().map(|name| words(said.get(name))).collect() })
    }

    /// The same one after the other, for editors that show no forms: what can be chosen stands in a question of ours.
    async fn choices(&self, questions: &[Question], shown: Value) -> Result<Outcome, NoAnswer> {
        let mut answers = Vec::new();
        for question in questions {
            let mut choices: Vec<Choice> = match question.kind {
                QuestionKind::Yesno => ["yes", "no"].map(|word| pick(word, word)).into(),
                QuestionKind::Text => Vec::new(),
                QuestionKind::Choice => {
                    let options = question.options.iter();
                    options.map(|option| pick(&option.label, &option.label)).collect()
                }
            };
            if choices.is_empty() {
                return Err(NoAnswer::Refused("it shows no forms".to_owned()));
            }
            choices.push(Choice::new(SKIPPED, "No answer", "reject_once"));
            let mut shown = shown.clone();
            if let Some(shown) = shown.as_object_mut() {
                shown.insert("title".to_owned(), json!(one_line(&question.question)));
            }
            match self.choose(shown, &choices).await? {
                None => return Ok(Outcome::Cancel { reason: None }),
                Some(chosen) => answers.push(chosen.strip_prefix(CHOICE).unwrap_or_default().to_owned()),
            }
        }
        Ok(Outcome::Answers { answers })
    }

    /// What the user filled in; nothing where they did not want to.
    async fn elicit(
        &self,
        message: &str,
        properties: Value,
        call: &Value,
    ) -> Result<Option<Value>, NoAnswer> {
        let params = json!({
            "mode": "form",
            "sessionId": self.session,
            "toolCallId": call,
            "message": message,
            "requestedSchema": {"type": "object", "properties": properties},
        });
        let mut answer = self.connection.request("elicitation/create", &params).await?;
        let is_accepted = answer.get("action").and_then(Value::as_str) == Some("accept");
        Ok(answer.get_mut("content").map(Value::take).filter(|_| is_accepted))
    }
}

fn pick(id: &str, name: &str) -> Choice {
    Choice::new(&format!("{CHOICE}{id}"), one_line(name), "allow_once")
}

fn no() -> Outcome {
    Outcome::Cancel { reason: Some(NO.to_owned()) }
}

fn field(question: &Question) -> Value {
    let option = |label: &str, about: &str| json!({"const": label, "title": label, "description": about});
    let options: Vec<Value> =
        question.options.iter().map(|one| option(&one.label, &one.description)).collect();
    let (title, about) = (&question.header, &question.question);
    match question.kind {
        QuestionKind::Yesno => json!({"type": "boolean", "title": title, "description": about}),
        QuestionKind::Choice if question.multi_select => {
            json!({"type": "array", "title": title, "description": about, "items": {"anyOf": options}})
        }
        QuestionKind::Choice if !options.is_empty() => {
            json!({"type": "string", "title": title, "description": about, "oneOf": options})
        }
        _ => json!({"type": "string", "title": title, "description": about}),
    }
}

fn words(said: Option<&Value>) -> String {
    match said {
        Some(Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
        Some(Value::String(words)) => words.clone(),
        Some(Value::Array(chosen)) => chosen.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => String::new(),
    }
}
