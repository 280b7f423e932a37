//! The answer and nothing else.
//!
//! A pipe cannot take text back, so a pipe gets the answer when it is complete: what a failed attempt
//! said never reaches it. A person at a terminal sees it as it comes; text of an attempt that failed is
//! then marked as withdrawn.

use std::time::Instant;

use charla::Failure;
use charla_proto::text::one_line;
use charla_proto::{TurnEnd, TurnEvent};

use super::Renderer;
use super::live::Live;
use super::state::RunState;
use crate::call::about;
use crate::printer::Printer;

/// How many characters tell what a call is about.
const ABOUT: usize = 100;

pub(super) struct Text {
    thoughts: bool,
    /// Standard error stands in the middle of a line of thoughts.
    thinking: bool,
    /// Standard output stands in the middle of an answer.
    shown: bool,
    /// Line ends held back: an answer ends with exactly one.
    line_ends: usize,
    /// What a running command says.
    live: Live,
}

impl Text {
    pub fn new(thoughts: bool) -> Self {
        Self { thoughts, thinking: false, shown: false, line_ends: 0, live: Live::default() }
    }

    fn live(&mut self, text: &str, printer: &mut Printer) -> Result<(), Failure> {
        let body = text.trim_end_matches('\n');
        if !body.is_empty() {
            printer.words(&"\n".repeat(std::mem::take(&mut self.line_ends)))?;
            printer.words(body)?;
            self.shown = true;
        }
        self.line_ends += text.len() - body.len();
        Ok(())
    }

    fn end_thoughts(&mut self, printer: &mut Printer) {
        if std::mem::take(&mut self.thinking) {
            printer.aside("\n");
        }
    }

    fn end_line(&mut self, printer: &mut Printer) -> Result<(), Failure> {
        self.line_ends = 0;
        if std::mem::take(&mut self.shown) {
            printer.result("\n")?;
            printer.flush()?;
        }
        Ok(())
    }
}

impl Renderer for Text {
    fn goes_on(&mut self, id: &str, printer: &mut Printer) {
        if printer.err_terminal {
            printer.note(&format!("going on with session {id}"));
        }
    }

    fn event(&mut self, event: &TurnEvent, _: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        match event {
            TurnEvent::Content { content, delta: true, .. } if printer.out_terminal => {
                self.end_thoughts(printer);
                self.live(content, printer)?;
            }
            // The lost beginning cannot be put in front any more: the whole text follows on a new line.
            TurnEvent::Content { content, .. } if printer.out_terminal => {
                self.end_thoughts(printer);
                self.end_line(printer)?;
                self.live(content, printer)?;
            }
            TurnEvent::StepEnded { .. } => {
                self.end_thoughts(printer);
                self.end_line(printer)?;
            }
            TurnEvent::ToolCallRequest { name, parameters, .. } if printer.err_terminal => {
                let about: String = about(parameters).chars().take(ABOUT).collect();
                printer.note(format!("{} {about}", one_line(name)).trim_end());
            }
            TurnEvent::ToolCallLive { call, content, .. } if printer.err_terminal => {
                if let Some(lines) = self.live.push(call, content, Instant::now()) {
                    printer.fleeting(&lines);
                }
            }
            TurnEvent::ToolCallResponse(_) => printer.clear_fleeting(),
            TurnEvent::Thought { content, .. } if self.thoughts => {
                printer.aside(content);
                self.thinking = !content.ends_with('\n');
            }
            TurnEvent::Retry(notice) => {
                self.end_thoughts(printer);
                let withdrawn = self.shown;
                self.end_line(printer)?;
                if withdrawn && notice.withdraws {
                    printer.note("(the text above is withdrawn: its attempt failed)");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn make_way(&mut self, printer: &mut Printer) -> Result<(), Failure> {
        self.end_thoughts(printer);
        self.end_line(printer)
    }

    fn success(&mut self, state: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        self.end_thoughts(printer);
        if printer.out_terminal {
            self.end_line(printer)?;
            state.sources.tell(printer);
            return Ok(());
        }
        if state.stopped.is_some() && state.text.is_empty() {
            // A hook stopped the turn, and standard error says why: an empty line would pass for an answer.
            return Ok(());
        }
        printer.result(state.text.trim_end_matches('\n'))?;
        printer.result("\n")?;
        printer.flush()?;
        state.sources.tell(printer);
        Ok(())
    }

    fn failure(&mut self, failure: &Failure, state: &RunState, printer: &mut Printer) -> Result<(), Failure> {
        self.end_thoughts(printer);
        if printer.out_terminal {
            self.end_line(printer)?;
        } else if state.stopped.as_ref().is_some_and(|stopped| stopped.end == TurnEnd::Blocked)
            && !state.text.trim().is_empty()
        {
            printer.result(state.text.trim_end_matches('\n'))?;
            printer.result("\n")?;
            printer.flush()?;
        }
        printer.failure(failure);
        Ok(())
    }
}
