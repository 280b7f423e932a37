//! Scripts inside words: `sh -c '…'`, `eval '…'`.

use charla_proto::Word;
use charla_proto::text::shell_quote;

use super::effects::Walk;

/// Whose rules a nested script follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// This shell itself: what it changes stays changed.
    Here,
    /// Another bash.
    Bash,
    /// Whatever `/bin/sh` is.
    Posix,
}

impl Walk {
    pub(super) fn nested_script(&mut self, text: &str, dialect: Dialect) {
        if dialect == Dialect::Posix
            && ["$'", "$\"", "&>", "<(", ">(", "{", "[[", "|&", "function", "<<<", "(("]
                .iter()
                .any(|only_bash| text.contains(only_bash))
        {
            self.unclear(text, "bash and other shells read this differently");
        }
        match super::parse(text, self.depth) {
            Ok((script, notes)) => {
                for note in notes {
                    self.unclear(&note.what, &note.reason);
                }
                self.nested(&script, dialect == Dialect::Here);
            }
            Err(trouble) => self.unclear(&trouble.what, &trouble.reason),
        }
    }
}

/// Words as a command line.
pub(super) fn join(words: &[Word]) -> String {
    let typed = |word: &Word| word.known().map_or_else(|| word.text.clone(), shell_quote);
    words.iter().map(typed).collect::<Vec<_>>().join(" ")
}
