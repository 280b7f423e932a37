//! Decides what a request is answered with.

use charla_proto::WireKind;
use serde_json::Value;

use crate::fault::{Failure, FailureKind};
use crate::http::Request;
use crate::opaque::{self, Ledger};
use crate::other;
use crate::reading::{Reading, camel_case, characters};
use crate::reply::{Asked, Response, render, tokens};
use crate::route::{Form, Operation, Route};
use crate::script::{Call, Otherwise, Reply, Script, Step, When};
use crate::server::{Problem, Recorded};
use crate::validate;

/// The script, how far it has come, and what was seen.
pub(crate) struct State {
    script: Script,
    ledger: Ledger,
    next_reply: usize,
    rule_uses: Vec<usize>,
    answers: u64,
    pub recorded: Vec<Recorded>,
    pub problems: Vec<Problem>,
}

/// What kinds of local server are told apart by. Asking a server that is none of them is no mistake.
const LOCAL_QUESTIONS: [&str; 6] =
    ["/props", "/api/version", "/api/v0/models", "/api/ps", "/api/show", "/api/generate"];

/// Why a request gets no answer of the script.
enum Refusal {
    /// The script wants it so: a wrong key, an unknown model.
    Scripted(FailureKind),
    /// The client made a mistake, or the script is used up.
    Problem(String),
}

/// A request whose route, body and model are known.
struct Known<'a> {
    request: &'a Request,
    route: Route,
    body: Value,
    model: String,
}

impl Known<'_> {
    fn form(&self) -> Form {
        match self.route.operation {
            Operation::Generate(form) => form,
            _ => Form::Unary,
        }
    }
}

impl State {
    pub(crate) fn new(script: Script) -> Self {
        let rule_uses = vec![0; script.rules.len()];
        Self {
            script,
            ledger: Ledger::default(),
            next_reply: 0,
            rule_uses,
            answers: 0,
            recorded: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// The answer, what to remember of the request, and what is wrong with it.
    pub(crate) fn answer(&mut self, request: &Request) -> (Response, Option<Recorded>, Option<Problem>) {
        let parsed = serde_json::from_slice::<Value>(&request.body);
        if let Some(page) = self.script.pages.get(&request.path) {
            let response = Response::document(page.status, &page.content_type, page.body.as_str());
            return (response, None, None);
        }
        if LOCAL_QUESTIONS.contains(&request.path.as_str()) {
            return (Response::document(404, "text/plain", "not found"), None, None);
        }
        let streaming = parsed.as_ref().is_ok_and(|body| body["stream"] == true);
        let Some(route) = Route::of(request, streaming) else {
            let message = format!("no such path: {} {}", request.method, request.path);
            let response = Response::document(404, "text/plain", message.as_str());
            return (response, None, Some(Problem { wire: None, message }));
        };
        let wire = route.wire;
        let readable = parsed.is_ok() || route.operation == Operation::ListModels;
        let body = parsed.unwrap_or(Value::Null);
        let named = route.model.clone().or_else(|| body["model"].as_str().map(str::to_owned));
        let sent = body.clone();
        let body = if wire == WireKind::Gemini { camel_case(body) } else { body };
        let known = Known { request, route, body, model: named.unwrap_or_default() };
        let outcome = if readable {
            self.decide(&known)
        } else {
            Err(Refusal::Problem("The body of the request is not valid JSON.".to_owned()))
        };
        let refused = |failure: &Failure| Response::failure(failure, wire, &known.model, known.form());
        let (response, problem) = match outcome {
            Ok(response) => (response, None),
            Err(Refusal::Scripted(kind)) => (refused(&Failure::new(kind)), None),
            Err(Refusal::Problem(message)) => {
                let response = refused(&Failure::bad_request(message.as_str()));
                (response, Some(Problem { wire: Some(wire), message }))
            }
        };
        let recorded = self.record(known, sent, response.status);
        (response, Some(recorded), problem)
    }

    fn record(&self, known: Known, sent: Value, status: u16) -> Recorded {
        let (own_proofs, foreign_proofs) = opaque::count(&known.body, known.route.wire, &known.model);
        Recorded {
            order: self.recorded.len(),
            wire: known.route.wire,
            path: known.request.path.clone(),
            key: key(known.request, known.route.wire),
            headers: known.request.headers.clone(),
            streaming: matches!(known.route.operation, Operation::Generate(Form::Events | Form::Array)),
            model: known.model,
            body: sent,
            status,
            own_proofs,
            foreign_proofs,
        }
    }

    /// The answer, or why there is none.
    fn decide(&mut self, known: &Known) -> Result<Response, Refusal> {
        let wire = known.route.wire;
        let wanted = self.script.key.as_deref();
        if wanted.is_some() && key(known.request, wire).as_deref() != wanted {
            return Err(Refusal::Scripted(FailureKind::Auth));
        }
        if known.route.operation == Operation::ListModels {
            return Ok(other::models(wire, &self.script.models));
        }
        if !self.script.models.is_empty() && !self.script.models.contains(&known.model) {
            return Err(Refusal::Scripted(FailureKind::NotFound));
        }
        if self.script.strict {
            self.validate(known).map_err(Refusal::Problem)?;
        }
        match known.route.operation {
            Operation::Generate(form) => self.generate(known, form),
            Operation::CountTokens => Ok(other::count_tokens(wire, &known.body)),
            Operation::Embed | Operation::EmbedBatch => Ok(other::embed(wire, &known.model, &known.body)),
            Operation::ListModels => Ok(other::models(wire, &self.script.models)),
        }
    }

    fn validate(&self, known: &Known) -> validate::Verdict {
        let checks = validate::Checks {
            script: &self.script,
            ledger: &self.ledger,
            headers: &known.request.headers,
            model: &known.model,
            body: &known.body,
        };
        match known.route.operation {
            Operation::Generate(_) => validate::generate(known.route.wire, &checks),
            Operation::CountTokens => validate::count_tokens(known.route.wire, &checks),
            _ => Ok(()),
        }
    }

    fn generate(&mut self, known: &Known, form: Form) -> Result<Response, Refusal> {
        let wire = known.route.wire;
        let reading = Reading::of(wire, &known.body);
        let Some(reply) = self.choose(wire, &known.model, &reading) else {
            return Err(Refusal::Problem("The script has no more replies.".to_owned()));
        };
        self.answers += 1;
        let asked = Asked {
            wire,
            model: &known.model,
            form,
            number: self.answers,
            prompt_tokens: tokens(characters(&known.body)),
            body: &known.body,
            chat_thoughts: self.script.chat_thoughts,
        };
        Ok(render(&reply, &asked, &mut self.ledger))
    }

    fn choose(&mut self, wire: WireKind, model: &str, reading: &Reading) -> Option<Reply> {
        for (rule, uses) in self.script.rules.iter().zip(&mut self.rule_uses) {
            if rule.times.is_none_or(|times| *uses < times) && matches(&rule.when, wire, model, reading) {
                *uses += 1;
                return Some(rule.reply.clone());
            }
        }
        if let Some(reply) = self.script.replies.get(self.next_reply) {
            self.next_reply += 1;
            return Some(reply.clone());
        }
        match self.script.otherwise {
            Otherwise::Refuse => None,
            Otherwise::Repeat => self.script.replies.last().cloned(),
            Otherwise::Echo => Some(echo(reading, self.script.echo_pace)),
        }
    }
}

fn matches(when: &When, wire: WireKind, model: &str, reading: &Reading) -> bool {
    when.text.as_ref().is_none_or(|words| reading.text.contains(words))
        && when
            .tool_result
            .as_ref()
            .is_none_or(|words| reading.tool_results.iter().any(|result| result.contains(words)))
        && when.answers_tools.is_none_or(|wanted| wanted != reading.tool_results.is_empty())
        && when.wire.is_none_or(|wanted| wanted == wire)
        && when.model.as_deref().is_none_or(|wanted| wanted == model)
}

/// Characters in a piece of an echo, unless that makes too many pieces.
const ECHO_PIECE: usize = 4;
/// Most pieces of an echo: enough to see it stream, few enough that a long one ends in seconds.
const ECHO_PIECES: usize = 250;

/// Says back what was said. `call NAME {…}` makes the echo call that tool, so that people can see
/// Charla run one.
fn echo(reading: &Reading, pace: u64) -> Reply {
    let said = reading.text.chars().count() + reading.tool_results.iter().map(String::len).sum::<usize>();
    let piece = said.div_ceil(ECHO_PIECES).max(ECHO_PIECE);
    let reply = Reply::new().chunk(piece).step(Step::Pace(pace));
    if !reading.tool_results.is_empty() {
        return reply.text(format!("The tool said: {}", reading.tool_results.join("\n")));
    }
    if let Some(call) = asked_call(&reading.text) {
        return reply.step(Step::Call(call));
    }
    match reading.media {
        0 => reply.text(format!("You said: {}", reading.text)),
        count => reply.text(format!("You said: {} (and sent {count} attachment(s))", reading.text)),
    }
}

fn asked_call(text: &str) -> Option<Call> {
    let (name, args) = text.trim().strip_prefix("call ")?.split_once(' ')?;
    let args: Value = serde_json::from_str(args).ok()?;
    args.is_object().then(|| Call { name: name.to_owned(), args, ..Call::default() })
}

/// The key a request came with, where its wire puts it.
fn key(request: &Request, wire: WireKind) -> Option<String> {
    let bearer = || request.headers.get("authorization")?.strip_prefix("Bearer ");
    let key = match wire {
        WireKind::Gemini => request
            .headers
            .get("x-goog-api-key")
            .or_else(|| request.query.iter().find(|(name, _)| name == "key").map(|(_, key)| key.as_str()))
            .or_else(bearer),
        WireKind::Anthropic => request.headers.get("x-api-key").or_else(bearer),
        WireKind::OpenaiChat | WireKind::OpenaiResponses => bearer(),
    };
    key.map(str::to_owned)
}
