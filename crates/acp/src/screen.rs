//! A command as an editor's terminal shows it.
//!
//! The terminal runs nothing. A command that the editor started would be outside of what confines commands, and nobody but
//! the editor could end what it leaves behind, so the command is a process of ours and the editor gets what it prints. The
//! protocol's own terminals are ones that the editor starts; these come by an extension that editors announce.

use std::path::Path;

use charla_proto::{CallEnded, Display, FunctionCall};
use serde_json::{Value, json};

/// So many bytes are remembered of what was shown.
const MOST_REMEMBERED: usize = 64 * 1024;

/// The terminal of one call, known to the editor by the call's id.
pub(crate) struct Screen {
    id: String,
    /// What it has shown; nothing once that is too much to remember.
    shown: Option<String>,
}

impl Screen {
    /// For a command that is waited for; other calls have none.
    pub(crate) fn of(call: &FunctionCall) -> Option<Self> {
        let is_left_running = call.args.get("is_background") == Some(&Value::Bool(true));
        let has_one = call.name == "run_shell_command" && !is_left_running;
        has_one.then(|| Self { id: call.id.clone().unwrap_or_default(), shown: Some(String::new()) })
    }

    /// What makes it known to the editor.
    pub(crate) fn opened(&self, cwd: &Path) -> Value {
        json!({"terminal_info": {"terminal_id": self.id, "cwd": cwd}})
    }

    /// Its place in the call.
    pub(crate) fn content(&self) -> Value {
        json!({"type": "terminal", "terminalId": self.id})
    }

    /// It shows more.
    pub(crate) fn showed(&mut self, more: &str) -> Value {
        self.shown = self.shown.take().map(|shown| shown + more).filter(|all| all.len() <= MOST_REMEMBERED);
        self.output(more)
    }

    /// Shows these words without remembering them.
    pub(crate) fn output(&self, words: &str) -> Value {
        json!({"terminal_output": {"terminal_id": self.id, "data": words}})
    }

    /// What it has not shown yet of all that the command printed; nothing where what it showed is not how that begins, as
    /// when pieces were lost.
    pub(crate) fn missing<'a>(&self, ended: &'a CallEnded) -> Option<&'a str> {
        let (Some(Display::Command { output, .. }), Some(shown)) = (&ended.display, &self.shown) else {
            return None;
        };
        // The last line end is no part of the result.
        if shown.trim_end() == output { Some("") } else { output.strip_prefix(shown.as_str()) }
    }

    /// The command is over.
    pub(crate) fn closed(&self, ended: &CallEnded) -> Value {
        let (code, signal) = match &ended.display {
            Some(Display::Command { code, signal, .. }) => (*code, *signal),
            _ => (None, None),
        };
        let signal = signal.map(|signal| signal.to_string());
        json!({"terminal_exit": {"terminal_id": self.id, "exit_code": code, "signal": signal}})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        Screen { id: "call".to_owned(), shown: Some(String::new()) }
    }

    fn printed(output: &str) -> CallEnded {
        let display = json!({"type": "command", "output": output, "code": 0});
        let ended =
            json!({"turn": 1, "call": "call", "status": "success", "response": {}, "display": display});
        serde_json::from_value(ended).unwrap()
    }

    #[test]
    fn a_terminal_is_shown_what_it_lacks_and_given_up_where_pieces_were_lost() {
        let mut screen = screen();
        assert_eq!(screen.missing(&printed("one\ntwo")), Some("one\ntwo"));
        screen.showed("one\n");
        assert_eq!(screen.missing(&printed("one\ntwo")), Some("two"));
        assert_eq!(screen.missing(&printed("one")), Some(""));
        assert_eq!(screen.missing(&printed("zero\none")), None);
        screen.showed(&"x".repeat(MOST_REMEMBERED));
        assert_eq!(screen.missing(&printed("one\ntwo")), None);
    }
}
