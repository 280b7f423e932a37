//! Shows a turn to whoever ran `charla -p`: as text, as one JSON document, or as JSON lines.
//!
//! The renderers decide nothing about the conversation. [`View`] folds the events into what they all
//! need (the text of the attempt that counts, the statistics, the ending) and hands it to one of them.
//! Whatever happens, a renderer is told of exactly one ending.

mod ending;
mod json;
mod live;
mod results;
mod sources;
mod state;
mod stream_json;
mod text;
mod waiting;

use std::future::Future;
use std::pin::pin;
use std::time::Instant;

use charla::engine;
use charla::models::Prices;
use charla::session::bare_json;
use charla::settings::OutputFormat;
use charla::{Failure, FailureKind, Notice, Notices, Progress};
use charla_proto::text::one_line;
use charla_proto::{
    ApprovalMode, CallStatus, CompressionTrigger, Confirmation, ConfirmationDetail, Display, FinishReason,
    LlmErrorKind, ModelSwitch, ToolErrorKind, ToolResult, TurnEnd, TurnEvent,
};

use self::ending::{formless, stopped};
use self::state::{RunState, Stopped};
use self::waiting::Waiting;
use crate::answer::Answer;
use crate::compression;
use crate::exit::{ABANDONED, OK, code};
use crate::hooks::hook_message;
use crate::printer::Printer;
use crate::wording;

/// The turn brought nothing that is an answer.
const NO_ANSWER: FailureKind = FailureKind::Model(LlmErrorKind::InvalidStream);

/// What is said of a turn that the person stopped.
const INTERRUPTED: &str = "interrupted: it stopped here";

/// Where a turn's events come from.
pub trait Events {
    /// The next event; `None` after the last one.
    fn next(&mut self) -> impl Future<Output = Option<TurnEvent>>;
}

impl Events for Answer {
    fn next(&mut self) -> impl Future<Output = Option<TurnEvent>> {
        Answer::next(self)
    }
}

/// One form of output.
trait Renderer: Send {
    /// The model is known and is about to be asked.
    fn begin(&mut self, _state: &RunState, _prompt: &str, _printer: &mut Printer) -> Result<(), Failure> {
        Ok(())
    }

    /// The run goes on with a session that nobody named.
    fn goes_on(&mut self, _id: &str, _printer: &mut Printer) {}

    /// Something happened that is not the end.
    fn event(&mut self, event: &TurnEvent, state: &RunState, printer: &mut Printer) -> Result<(), Failure>;

    /// Something else is about to be told: whatever stands in the middle of a line ends it.
    fn make_way(&mut self, _printer: &mut Printer) -> Result<(), Failure> {
        Ok(())
    }

    /// The answer is complete and good.
    fn success(&mut self, state: &RunState, printer: &mut Printer) -> Result<(), Failure>;

    /// The run failed. `state.text` holds what came of an answer that ended badly.
    fn failure(&mut self, failure: &Failure, state: &RunState, printer: &mut Printer) -> Result<(), Failure>;
}

/// The view of one headless run.
pub struct View {
    state: RunState,
    renderer: Box<dyn Renderer>,
    printer: Printer,
    /// A person is asked: what is refused then was refused by them.
    asks: bool,
    /// It is a part of a conversation line by line.
    in_conversation: bool,
    /// The built-in model's answer comes with advice how to get a better one.
    advises: bool,
    waiting: Waiting,
}

impl View {
    /// A view in this format.
    pub fn new(format: OutputFormat, thoughts: bool, session_id: String, printer: Printer) -> Self {
        let renderer: Box<dyn Renderer> = match format {
            OutputFormat::Text => Box::new(text::Text::new(thoughts)),
            OutputFormat::Json => Box::new(json::Json::new(thoughts)),
            OutputFormat::StreamJson => Box::new(stream_json::StreamJson),
        };
        let state = RunState::new(session_id);
        Self {
            state,
            renderer,
            printer,
            asks: false,
            in_conversation: false,
            advises: false,
            waiting: Waiting::new(),
        }
    }

    /// The same view in another format. Only before anything was shown.
    pub fn with_format(self, format: OutputFormat, thoughts: bool) -> Self {
        Self::new(format, thoughts, self.state.session_id, self.printer)
    }

    /// What answers cost.
    pub fn priced(&mut self, prices: Prices) {
        self.state.prices = prices;
    }

    /// The session the run belongs to, when it is an earlier one.
    pub fn in_session(&mut self, id: &str) {
        id.clone_into(&mut self.state.session_id);
    }

    /// The run goes on with a session that nobody named. Programs find its id in what they are given.
    pub fn goes_on(&mut self, id: &str) {
        self.renderer.goes_on(id, &mut self.printer);
    }

    /// Whether the answer was asked for as JSON.
    pub fn wants_json(&mut self, wants: bool) {
        self.state.wants_json = wants;
    }

    /// Whether an answer of the built-in model comes with advice how to get a better one.
    pub fn advises(&mut self, advises: bool) {
        self.advises = advises;
    }

    /// A person at the terminal is asked about calls.
    pub fn with_somebody_to_ask(&mut self) {
        self.asks = true;
    }

    /// Somebody talks line by line. What tools bring is told as well, which they see nowhere else, and a turn that they stop is no error.
    pub fn in_conversation(&mut self) {
        self.in_conversation = true;
    }

    /// The printer.
    pub fn printer(&self) -> &Printer {
        &self.printer
    }

    /// Ends a run that failed before or beside the model. Returns the exit code.
    pub fn fail(mut self, failure: &Failure) -> i32 {
        self.end(Err(failure.clone()))
    }

    /// Shows a turn to its end. Returns the exit code.
    pub async fn show(mut self, model: &str, prompt: &str, turn: &mut impl Events) -> i32 {
        let ending = self.follow(model, prompt, turn).await;
        self.end(ending)
    }

    async fn follow(&mut self, model: &str, prompt: &str, turn: &mut impl Events) -> Result<(), Failure> {
        self.begin(model, prompt)?;
        let mut reader_left = pin!(self.printer.reader_left());
        loop {
            let model = self.state.stats.current_model().unwrap_or(&self.state.model);
            let event = tokio::select! {
                event = self.waiting.next(turn, model, &mut self.printer) => event?,
                () = &mut reader_left => {
                    self.printer.abandon();
                    return Err(Failure::cancelled());
                }
            };
            let Some(event) = event else { break };
            if let Some(ending) = self.event(event)? {
                return ending;
            }
            if self.printer.is_abandoned() {
                return Err(Failure::cancelled());
            }
        }
        Err(Failure::new(NO_ANSWER, "the turn ended without an ending"))
    }

    fn begin(&mut self, model: &str, prompt: &str) -> Result<(), Failure> {
        self.state.model = model.to_owned();
        self.state.stats.attempt(model, Instant::now());
        self.waiting = Waiting::new();
        self.renderer.begin(&self.state, prompt, &mut self.printer)
    }

    /// Takes one event in; `Some` when it was the last.
    fn event(&mut self, event: TurnEvent) -> Result<Option<Result<(), Failure>>, Failure> {
        self.waiting.note(&event);
        if let Some(ending) = self.ending(&event)? {
            return Ok(Some(ending));
        }
        self.take(&event)?;
        self.renderer.event(&event, &self.state, &mut self.printer)?;
        if let TurnEvent::Retry(notice) = &event {
            self.waiting.announce(notice, &mut self.printer);
        }
        Ok(None)
    }

    /// What the turn came to, where this event is its last.
    fn ending(&mut self, event: &TurnEvent) -> Result<Option<Result<(), Failure>>, Failure> {
        let state = &mut self.state;
        let ending = match event {
            TurnEvent::Finished { reason, end, usage } => {
                if !state.is_about_compression() {
                    state.stats.answered(usage.as_ref());
                }
                state.finish_reason = Some(reason.clone());
                self.renderer.make_way(&mut self.printer)?;
                self.tell_how_to_allow();
                self.tell_how_it_ended(*end, reason);
                Ok(())
            }
            TurnEvent::Stopped { end, detail } => {
                state.stopped = Some(Stopped { end: *end, why: detail.clone() });
                self.renderer.make_way(&mut self.printer)?;
                match end {
                    // The user's own hooks did what they are for.
                    TurnEnd::HookStopped | TurnEnd::HookBlocked => self.stopped_by_hook(detail),
                    _ => {
                        self.tell_how_to_allow();
                        Err(stopped(*end, detail))
                    }
                }
            }
            TurnEvent::UserCancelled => {
                state.stats.failed();
                Err(Failure::cancelled())
            }
            TurnEvent::InvalidStream { error }
            | TurnEvent::ContextOverflow { error }
            | TurnEvent::Error { error } => {
                if !state.is_about_compression() {
                    state.stats.failed();
                }
                state.text.clear();
                self.tell_how_to_allow();
                Err(Failure::from(error))
            }
            _ => return Ok(None),
        };
        Ok(Some(ending))
    }

    fn stopped_by_hook(&mut self, detail: &str) -> Result<(), Failure> {
        if self.state.wants_json && !self.state.has_json() {
            self.state.text.clear();
            return Err(formless(detail));
        }
        self.printer.warning(detail);
        Ok(())
    }

    /// Keeps what an event in the middle of the turn says, and tells what is told in every format.
    fn take(&mut self, event: &TurnEvent) -> Result<(), Failure> {
        let state = &mut self.state;
        match event {
            TurnEvent::Content { content, delta: true, .. } => state.text.push_str(content),
            TurnEvent::Content { content, .. } => state.text.clone_from(content),
            TurnEvent::Citation(citation) => state.sources.add(citation),
            TurnEvent::PreCompress(coming) => {
                state.summary_begins();
                self.printer.fleeting(&format!("compressing {} messages", coming.older));
            }
            TurnEvent::ChatCompressed(report) => {
                self.printer.clear_fleeting();
                // What was asked for is the answer itself.
                if report.trigger == CompressionTrigger::Auto {
                    self.printer.note(&compression::in_passing(report));
                }
                state.summary_ended(report);
            }
            TurnEvent::StepEnded { usage } => {
                state.stats.answered(usage.as_ref());
                // Only the last step's text is the answer.
                state.text.clear();
                state.sources.keep();
            }
            TurnEvent::ToolCallConfirmation { confirmation, .. } if !self.asks => {
                self.tell_unapproved(confirmation);
            }
            TurnEvent::ToolCallResponse(result) => self.called(result),
            TurnEvent::HookRan(ran) => {
                if let Some(message) = &ran.system_message {
                    self.renderer.make_way(&mut self.printer)?;
                    self.printer.note(&hook_message(message));
                }
            }
            TurnEvent::Notice { message } => {
                self.renderer.make_way(&mut self.printer)?;
                self.printer.warning(message);
            }
            TurnEvent::HandOverAsked { by } => {
                self.renderer.make_way(&mut self.printer)?;
                self.printer.warning(&wording::hand_over_asked(by, self.in_conversation));
            }
            TurnEvent::PromptJoined { by, content, .. } if by != charla_core::session::SESSION => {
                self.renderer.make_way(&mut self.printer)?;
                self.printer.note(&format!("{by} says: {content}"));
            }
            TurnEvent::Retry(notice) => {
                state.text.clear();
                if notice.withdraws {
                    state.sources.withdraw();
                }
                state.stats.failed();
                let model = state.stats.current_model().unwrap_or_default().to_owned();
                state.stats.attempt(&model, Instant::now() + notice.delay);
            }
            TurnEvent::ModelSwitched(ModelSwitch { from, to, reason }) => {
                state.stats.attempt(to, Instant::now());
                self.renderer.make_way(&mut self.printer)?;
                self.printer.note(&format!("{from} gave up ({reason}); {to} goes on"));
            }
            _ => {}
        }
        Ok(())
    }

    /// A call is over.
    fn called(&mut self, result: &ToolResult) {
        let state = &mut self.state;
        state.stats.called(&result.name, result.status == CallStatus::Success);
        state.stats.spent(&result.spent);
        state.sources.keep();
        if let (CallStatus::Success, Some(Display::Diff { diff, .. })) = (result.status, &result.display) {
            state.stats.changed(diff);
        }
        // The model is asked again once all calls are done; the time until then is not its own.
        state.stats.restart(Instant::now());
        match self.in_conversation && result.status == CallStatus::Success {
            true => results::tell(result, &mut self.printer),
            false => self.tell_failed(result),
        }
    }

    /// Nobody is there to answer or to approve a call: says what was not done.
    fn tell_unapproved(&mut self, confirmation: &Confirmation) {
        let title = one_line(&confirmation.title);
        if matches!(confirmation.detail, ConfirmationDetail::AskUser { .. }) {
            return self.printer.note(&format!("not answered, nobody is there to be asked: {title}"));
        }
        let is_edit = matches!(confirmation.detail, ConfirmationDetail::Edit { .. });
        self.state.unapproved.push((confirmation.title.clone(), is_edit));
        self.printer.note(&format!("not allowed: {title} ({})", confirmation.rule));
    }

    /// Says that a call failed, unless somebody has just said no to it.
    fn tell_failed(&mut self, result: &ToolResult) {
        let refused = self.asks && result.status == CallStatus::Cancelled;
        // A person has just read that it was not allowed; scripts look for their words.
        let kind = result.error.as_ref().map(|error| error.kind);
        let is_told = self.printer.err_terminal && kind == Some(ToolErrorKind::NobodyToAsk);
        if result.status != CallStatus::Success && !refused && !is_told {
            let words = format!("{}{}", familiar(result), result.output);
            let words: String = words.chars().take(400).collect();
            self.printer.note(&format!("Error executing tool {}: {words}", one_line(&result.name)));
        }
    }

    fn tell_how_to_allow(&mut self) {
        if self.state.unapproved.is_empty() {
            return;
        }
        let edits = self.state.unapproved.iter().any(|(_, is_edit)| *is_edit);
        // A mode that does not hold for the model is no advice.
        let edits = edits && engine::at_most(&self.state.model) >= ApprovalMode::AutoEdit;
        let mode = if edits { "--approval-mode auto_edit (edits) or " } else { "" };
        self.printer.warning(&format!(
            "something was not allowed and nobody was there to ask; allow it with {mode}--allowed-tools TOOL, or see \
             `charla policy explain`"
        ));
    }

    /// An answer that may not be whole is told as such.
    fn tell_how_it_ended(&mut self, end: TurnEnd, reason: &FinishReason) {
        match (end, reason) {
            (TurnEnd::Truncated, _) => {
                self.printer.warning("the answer was cut at the output limit (`model.maxOutputTokens`)");
            }
            (_, FinishReason::Pause | FinishReason::Other(_)) => {
                let warning = format!("the answer may be incomplete: the provider ended it with {reason}");
                self.printer.warning(&warning);
            }
            _ => {}
        }
    }

    /// A person should know an answer of the smallest model from others.
    fn tell_who_answered(&mut self) {
        let model = self.state.stats.current_model().unwrap_or(&self.state.model);
        if self.printer.out_terminal && engine::is_built_in(model) {
            self.printer.note(&wording::small_answer(self.advises));
        }
    }

    fn end(&mut self, ending: Result<(), Failure>) -> i32 {
        self.printer.close_card();
        self.printer.clear_fleeting();
        if self.printer.is_abandoned() {
            // Nobody reads: there is nothing to tell but whether the turn had come to its end.
            return if ending.is_ok() { OK } else { ABANDONED };
        }
        let (ending, shown) = match &ending {
            Ok(()) => {
                if self.state.wants_json {
                    self.state.text = bare_json(&self.state.text).to_owned();
                }
                let shown = self.renderer.success(&self.state, &mut self.printer);
                self.tell_who_answered();
                (OK, shown)
            }
            Err(failure) if self.in_conversation && failure.kind == FailureKind::Cancelled => {
                let shown = self.renderer.make_way(&mut self.printer);
                self.printer.note(INTERRUPTED);
                (code(failure.kind), shown)
            }
            Err(failure) => {
                (code(failure.kind), self.renderer.failure(failure, &self.state, &mut self.printer))
            }
        };
        match shown.and_then(|()| self.printer.flush()) {
            Ok(()) => ending,
            Err(unwritable) => {
                self.printer.failure(&unwritable);
                code(unwritable.kind)
            }
        }
    }
}

impl Notices for View {
    fn note(&mut self, notice: &Notice) {
        Notices::note(&mut self.printer, notice);
    }

    fn warning(&mut self, notice: &Notice) {
        Notices::warning(&mut self.printer, notice);
    }

    fn progress(&mut self, progress: Progress<'_>) {
        self.printer.progress(progress);
    }

    fn progress_done(&mut self) {
        self.printer.progress_done();
    }
}

/// What scripts that were written for Gemini CLI look for where a call was not run, before our own words.
fn familiar(result: &ToolResult) -> String {
    let is_shell = result.name == "run_shell_command";
    match result.error.as_ref().map(|error| error.kind) {
        Some(ToolErrorKind::NobodyToAsk) if is_shell => "Tool execution denied by policy: ".to_owned(),
        Some(ToolErrorKind::NobodyToAsk) => not_found_among(result, "those that run unasked"),
        Some(ToolErrorKind::NotOffered) => not_found_among(result, "those of this mode"),
        _ => String::new(),
    }
}

/// The tool is there, but not where a script that asks nobody may use it.
fn not_found_among(result: &ToolResult, which: &str) -> String {
    format!("Tool \"{}\" not found among {which}: ", one_line(&result.name))
}

#[cfg(test)]
mod tests;
