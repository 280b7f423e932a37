//! Faults of the server: what it answers with, and how its answer goes wrong.

use charla_proto::WireKind::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
use charla_testkit::{
    Call, Cut, Document, Failure, FailureKind, Finish, LineEnds, Reply, Script, Step, When,
};
use serde_json::json;

use super::Row;

/// Events of an answer that was begun, withdrawn and given anew.
const WITHDRAWN: &str = "init message retry message result";

/// The four attempts at an answer that never gets whole: only three of them are made.
const NEVER_WHOLE: &str = "init message retry message retry message error result";

/// A model that makes the same useless call until it is stopped.
const SEVEN_CALLS: &str = "init message step_ended tool_use tool_result step_ended tool_use tool_result \
                           step_ended tool_use tool_result step_ended tool_use tool_result \
                           step_ended tool_use tool_result step_ended tool_use tool_result \
                           step_ended tool_use tool_result error result";

pub fn all() -> Vec<Row> {
    [
        refusals(),
        limits(),
        server_faults(),
        no_answers(),
        broken_streams(),
        odd_streams(),
        endings(),
        fallbacks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn failure(kind: FailureKind) -> Failure {
    Failure::new(kind)
}

/// Statuses that say no: asking again would not help.
fn refusals() -> Vec<Row> {
    let bad = || Failure::bad_request("temperature must be below 2");
    vec![
        Row::fatal("400 with a reason", 1, "invalid_request", bad())
            .says("temperature must be below 2 (HTTP 400"),
        Row::fatal(
            "400 with a dump for a reason",
            1,
            "invalid_request",
            bad().message("dump ".repeat(50_000)),
        )
        .says("dump dump"),
        Row::fatal("400 without a body", 1, "invalid_request", bad().body(""))
            .says("status 400 and no explanation"),
        Row::fatal(
            "400 context overflow in the vendor's words",
            42,
            "context_overflow",
            failure(FailureKind::ContextOverflow),
        )
        .says("hint: shorten the input")
        .says_on(Gemini, "exceeds the maximum number of tokens")
        .says_on(OpenaiChat, "maximum context length")
        .says_on(OpenaiResponses, "exceeds the context window")
        .says_on(Anthropic, "prompt is too long"),
        Row::fatal("401 wrong key (Gemini: 400 API_KEY_INVALID)", 41, "auth", failure(FailureKind::Auth))
            .says("hint: check the API key")
            .says_on(Gemini, "HTTP 400")
            .says_on(Anthropic, "HTTP 401"),
        Row::fatal("401 without a body", 41, "auth", failure(FailureKind::Auth).status(401).body("")),
        Row::fatal("402 payment required", 1, "quota", bad().status(402))
            .says("hint: check the account's quota"),
        Row::fatal("403 no permission", 41, "permission", failure(FailureKind::Permission))
            .says("no right to this model"),
        Row::fatal("404 unknown model (Responses: 400)", 42, "not_found", failure(FailureKind::NotFound))
            .says("hint: check the model's name"),
        Row::fatal(
            "404 web page",
            42,
            "not_found",
            bad().status(404).body("<html><title>Not Found</title><body>x</html>"),
        )
        .says("Not Found")
        .says("hint: check the base URL"),
        Row::fatal("413 too large", 42, "context_overflow", failure(FailureKind::TooLarge))
            .says("hint: shorten the input"),
        Row::fatal("422 unprocessable", 1, "invalid_request", bad().status(422)).says("HTTP 422"),
        Row::fatal(
            "redirect",
            52,
            "config",
            Reply::new().step(Step::Redirect("https://elsewhere.example/v1".into())),
        )
        .says("redirect to https://elsewhere.example/v1; it is not followed"),
    ]
}

/// Limits on requests.
fn limits() -> Vec<Row> {
    let limit = Failure::rate_limit;
    vec![
        Row::once("429 once, no wait named", limit()).says("HTTP 429").waits(0, 0),
        Row::once("429 with retry-after", limit().retry_after("1")).waits(1000, 1200),
        Row::once("429 with retry-after-ms", limit().retry_after_ms(250)).waits(250, 300),
        Row::once(
            "429 with retry-after as a date",
            limit()
                .header("date", "Wed, 21 Oct 2015 07:28:00 GMT")
                .retry_after("Wed, 21 Oct 2015 07:28:01 GMT"),
        )
        .waits(1000, 1200),
        Row::once("429 with a retry-after nobody understands", limit().retry_after("soon")).waits(0, 0),
        Row::once("429 with RetryInfo", limit().retry_info("0.25s")).on(&[Gemini]).waits(250, 300),
        Row::once("429 naming the wait in words", limit().retry_words("250ms")).waits(250, 300),
        Row::fatal("429 with retry-after over 5 minutes", 1, "rate_limit", limit().retry_after("301"))
            .says("the server asks to wait 6 minutes"),
        Row::fatal(
            "429 with retry-after without measure",
            1,
            "rate_limit",
            limit().retry_after("99999999999999999999"),
        )
        .says("hint: the server asks to wait"),
        Row::fatal("429 naming over 5 minutes in words", 1, "rate_limit", limit().retry_words("1h2m3s"))
            .says("the server asks to wait 63 minutes"),
        Row::fatal("429 with RetryInfo over 5 minutes", 1, "rate_limit", limit().retry_info("3600s"))
            .on(&[Gemini])
            .says("the server asks to wait 60 minutes"),
        Row::fatal("429 daily quota or no credit", 1, "quota", failure(FailureKind::Quota))
            .says("hint: check the account's quota"),
        Row::fatal(
            "429 daily quota that names a short wait",
            1,
            "quota",
            failure(FailureKind::Quota).retry_after("1"),
        )
        .says("hint: check the account's quota"),
        Row::stays("429 for ever", 4, "rate_limit", limit())
            .says("after 4 attempts")
            .says("hint: wait and try again"),
    ]
}

/// The server's own failures.
fn server_faults() -> Vec<Row> {
    let server = || failure(FailureKind::Server);
    let page = "<html><head><title>502 Bad Gateway</title></head><body><h1>nginx</h1></body></html>";
    vec![
        Row::once("408 once", server().status(408)).says("HTTP 408"),
        Row::once("499 once", server().status(499)).says("HTTP 499"),
        Row::once("500 once", server()).says("HTTP 500"),
        Row::stays("500 for ever", 4, "server", server())
            .says("after 4 attempts")
            .says("the provider has a problem"),
        Row::once("502 web page once", failure(FailureKind::BadGateway)).says("502 Bad Gateway"),
        Row::stays("502 web page for ever", 4, "server", failure(FailureKind::BadGateway).body(page))
            .says("a web page")
            .never_says("nginx"),
        Row::once("503 once", failure(FailureKind::Unavailable)).says("HTTP 503"),
        Row::once("504 once", server().status(504).body("upstream timed out")).says("upstream timed out"),
        Row::once("529 overloaded once", failure(FailureKind::Overloaded).status(529)).says("HTTP 529"),
        Row::stays("529 overloaded for ever", 4, "overloaded", failure(FailureKind::Overloaded).status(529))
            .says("hint: wait and try again"),
    ]
}

/// Success by its status, and no answer.
fn no_answers() -> Vec<Row> {
    let document = |content_type: &str, body: &str| {
        let (content_type, body) = (content_type.to_owned(), body.to_owned());
        Reply::new().step(Step::Document(Document { status: 200, content_type, body }))
    };
    let error =
        json!({"error": {"code": 503, "message": "The model is overloaded", "type": "overloaded_error"}});
    vec![
        Row::fatal(
            "200 with a web page",
            1,
            "protocol",
            document("text/html; charset=utf-8", "<html><body>Log in</body></html>"),
        )
        .says("a web page instead of a model's answer")
        .says("hint: check the base URL"),
        Row::stays("200 with an empty body", 3, "invalid_stream", document("application/json", "")),
        Row::stays("200 with an empty stream", 3, "invalid_stream", Reply::new().step(Step::Empty))
            .says("without having said anything"),
        Row::stays(
            "200 with words that are no JSON",
            3,
            "protocol",
            document("text/plain", "Bad gateway, sorry"),
        ),
        Row::once("200 with an error document", document("application/json", &error.to_string()))
            .says("The model is overloaded"),
    ]
}

/// Streams that break.
fn broken_streams() -> Vec<Row> {
    let begun = || Reply::new().text("Hel");
    let call = |raw: &str| Call { name: "read".into(), raw_args: Some(raw.into()), ..Call::default() };
    vec![
        Row::once("stream ends after some text", begun().cut(Cut::Eof)).events(WITHDRAWN),
        Row::once("stream ends properly without a finish reason", begun().finish(Finish::Missing))
            .on(&[Gemini])
            .events(WITHDRAWN)
            .says("without a finish reason"),
        Row::new(
            "words and the wire's own end, without a finish reason",
            Script::new([begun().finish(Finish::Missing)]),
        )
        .on(&[OpenaiChat])
        .out("Hel\n")
        .never_says("attempt"),
        Row::stays("stream always ends after some text", 3, "invalid_stream", begun().cut(Cut::Eof))
            .events(NEVER_WHOLE),
        Row::once("stream ends inside an event", begun().step(Step::Raw("data: {\"te".into())).cut(Cut::Eof))
            .events(WITHDRAWN),
        Row::once("connection closed inside a transfer chunk", begun().cut(Cut::Abort))
            .events(WITHDRAWN)
            .says("broke off"),
        Row::once("connection reset after some text", begun().cut(Cut::Reset)).events(WITHDRAWN),
        Row::once("connection closed before the first byte", Reply::new().cut(Cut::NoAnswer)),
        Row::stays(
            "connection always closed before the first byte",
            4,
            "network",
            Reply::new().cut(Cut::NoAnswer),
        )
        .says("hint: check the network"),
        Row::once("event with malformed JSON", begun().step(Step::Malformed)).events(WITHDRAWN),
        Row::once("event larger than 16 MiB", Reply::new().step(Step::Giant(17 * 1024 * 1024)))
            .says("larger than 16384 KiB"),
        Row::once("overloaded inside a stream", begun().stream_error(failure(FailureKind::Overloaded)))
            .events(WITHDRAWN),
        Row::once("server error inside a stream", begun().stream_error(failure(FailureKind::Server)))
            .events(WITHDRAWN),
        Row::once("rate limit inside a stream", begun().stream_error(Failure::rate_limit()))
            .events(WITHDRAWN),
        Row::fatal("quota inside a stream", 1, "quota", begun().stream_error(failure(FailureKind::Quota)))
            .says("hint: check the account's quota"),
        Row::fatal(
            "refusal inside a stream",
            1,
            "invalid_request",
            begun().stream_error(Failure::bad_request("no such field")),
        )
        .says("no such field"),
        Row::new(
            "call with cut arguments",
            Script::new([Reply::new().step(Step::Call(call("{\"path\": \"a"))), Reply::from("Hello.")]),
        )
        .on(&[OpenaiChat, OpenaiResponses, Anthropic])
        .attempts(2)
        .steps(2)
        .events("init message step_ended tool_use tool_result message result")
        .never_says("attempt"),
    ]
}

/// Streams that look odd and are good.
fn odd_streams() -> Vec<Row> {
    let hello = || Reply::new().chunk(2).text("Hello.");
    let row = |name, reply: Reply| Row::new(name, Script::new([reply])).never_says("attempt");
    let words = "Grüße, 世界 🎉 e\u{301}";
    vec![
        row("byte order mark", hello().step(Step::Bom)),
        row("lines that end with CR", hello().step(Step::LineEnds(LineEnds::Cr))),
        row("lines that end with CRLF", hello().step(Step::LineEnds(LineEnds::Crlf))),
        row("lines that end with LF", hello().step(Step::LineEnds(LineEnds::Lf))),
        row(
            "comments between events",
            Reply::new().text("Hel").step(Step::Comment("ping".into())).text("lo."),
        ),
        row(
            "characters split between two writes",
            Reply::new().step(Step::SplitCharacters).chunk(3).text(words),
        )
        .out(format!("{words}\n")),
        row("one byte at a time", Reply::new().step(Step::Drip { bytes: 1, delay: 0 }).text("Hello.")),
        row("event of one MiB", Reply::new().step(Step::Giant(1024 * 1024)))
            .out(format!("{}\n", "x".repeat(1024 * 1024))),
        row("control characters in the answer", Reply::new().text("a\u{1b}[2J\u{0}b"))
            .out("a\u{1b}[2J\u{0}b\n"),
    ]
}

/// Answers that end, but not well.
fn endings() -> Vec<Row> {
    let call = || Call { name: "rm".into(), args: json!({"path": "/"}), ..Call::default() };
    vec![
        Row::stays("thoughts only", 3, "invalid_stream", Reply::new().thought("hm"))
            .events("init message thought retry thought retry thought error result")
            .says("only thoughts"),
        Row::once("thoughts only, once", Reply::new().thought("hm"))
            .events("init message thought retry message result"),
        Row::stays("empty answer", 3, "invalid_stream", Reply::new()).says("the answer is empty"),
        Row::stays("blank answer", 3, "invalid_stream", Reply::new().text(" \n"))
            .says("the answer is empty")
            .events(NEVER_WHOLE),
        Row::new(
            "output limit after some text",
            Script::always(Reply::new().text("Hello.").finish(Finish::Length)),
        )
        .says("warning: the answer was cut at the output limit"),
        Row::fatal(
            "output limit used up by thoughts",
            1,
            "invalid_stream",
            Reply::new().thought("hm").finish(Finish::Length),
        )
        .events("init message thought error result")
        .says("for thinking")
        .says("hint: raise"),
        Row::fatal("stopped by a filter before any text", 1, "blocked", Reply::new().finish(Finish::Safety))
            .says("hint: rephrase"),
        Row::fatal(
            "stopped by a filter after some text",
            1,
            "blocked",
            Reply::new().text("Hel").finish(Finish::Safety),
        )
        .out("Hel\n")
        .says("the provider stopped the answer")
        .says("hint: rephrase"),
        Row::fatal("prompt refused by a filter", 1, "blocked", Reply::new().finish(Finish::Blocked))
            .on(&[Gemini])
            .says("the provider refused the prompt: PROHIBITED_CONTENT"),
        Row::stays(
            "call the provider could not read",
            3,
            "invalid_stream",
            Reply::new().finish(Finish::MalformedCall),
        )
        .on(&[Gemini])
        .says("a call the provider could not read"),
        Row::new("call of a tool nobody has", Script::always(Reply::new().step(Step::Call(call()))))
            .fails(53, "limit", 7)
            .steps(7)
            .events(SEVEN_CALLS)
            .says("Tool \"rm\" not found")
            .says("was called 7 times with the same result"),
        Row::new(
            "finish reason nobody knows",
            Script::always(Reply::new().text("Hello.").finish(Finish::Other("NEW".into()))),
        )
        .on(&[Gemini])
        .says("warning: the answer may be incomplete: the provider ended it with NEW"),
    ]
}

/// A second model stands behind the first.
fn fallbacks() -> Vec<Row> {
    let settings = json!({
        "model": {"fallback": ["anthropic/claude-two"]},
        "retry": {"initialDelaySeconds": 0, "maxDelaySeconds": 0, "maxAttempts": 6},
    });
    let row = |name, first: Reply, second: Reply| {
        let script = Script::always(first).rule(When::model("claude-two"), second);
        Row::new(name, script).settings(settings.clone())
    };
    let hello = || Reply::from("Hello.");
    let limit = || Reply::from(Failure::rate_limit());
    vec![
        row("first model rate-limited, second answers", limit(), hello())
            .attempts(4)
            .events("init message retry model_switched message result")
            .says("anthropic/claude-two goes on"),
        row("first model out of quota, second answers at once", failure(FailureKind::Quota).into(), hello())
            .attempts(2)
            .events("init message retry model_switched message result")
            .says("anthropic/claude-two goes on"),
        row(
            "first model names a wait without measure, second answers",
            Failure::rate_limit().retry_info("10000000000000000000s").into(),
            hello(),
        )
        .on(&[Gemini])
        .attempts(2)
        .events("init message retry model_switched message result"),
        row("first model breaks off, second answers", Reply::new().text("Hel").cut(Cut::Eof), hello())
            .attempts(4)
            .events("init message retry message retry message retry model_switched message result"),
        row("first model refuses the request, no fallback", Failure::bad_request("no").into(), hello())
            .fails(1, "invalid_request", 1)
            .events("init message error result")
            .never_says("claude-two"),
        row("first model refused by a filter, no fallback", Reply::new().finish(Finish::Safety), hello())
            .fails(1, "blocked", 1)
            .events("init message error result")
            .never_says("claude-two"),
        row("both models fail, attempts bounded over both", limit(), failure(FailureKind::Overloaded).into())
            .fails(1, "overloaded", 6)
            .events("init message retry model_switched retry error result")
            .says("error: anthropic/claude-two: ")
            .says("after 6 attempts"),
    ]
}
