//! What is said about file changes that are taken back and brought back.

use std::path::Path;

use charla::session::{Conflicts, Deed, Direction, RevertError, RevertRequest, Reverted, SessionError};
use charla::{Failure, Hint};
use charla_proto::text::{printable, shell_quote};

use crate::printer::Printer;

/// What is said about one undo or redo.
pub struct UndoWords<'a> {
    /// What was asked for.
    pub request: &'a RevertRequest,
    /// Where paths are seen from.
    pub directory: &'a Path,
}

impl UndoWords<'_> {
    fn verb(&self) -> &'static str {
        match self.request.direction {
            Direction::Undo => "undo",
            Direction::Redo => "redo",
        }
    }

    /// Tells what was done.
    pub fn report(&self, reverted: &Reverted, printer: &mut Printer) -> Result<(), Failure> {
        for (path, deed) in &reverted.files {
            let deed = match deed {
                Deed::Restored => "restored",
                Deed::Removed => "removed",
                Deed::BroughtBack => "brought back",
                Deed::Nothing => "already done",
            };
            printer.words(&format!("{deed:<12}  {}\n", self.name(path)))?;
        }
        printer.flush()?;
        for path in &reverted.mixed {
            let name = self.name(path);
            printer.warning(&format!(
                "{name} was also changed by something else during the turn; that is taken back, too"
            ));
        }
        let (did, way_back) = match (self.request.dry_run, self.request.direction) {
            (true, _) => (format!("would {}", self.verb()), ""),
            (false, Direction::Undo) => ("undid".to_owned(), "; `charla redo` brings it back"),
            (false, Direction::Redo) => ("redid".to_owned(), ""),
        };
        let Reverted { turn, session, .. } = reverted;
        let prompt = one_line(&reverted.prompt);
        printer.note(&format!("{did} turn {turn} of the session {session}: {prompt}{way_back}"));
        Ok(())
    }

    /// Why nothing was done.
    pub fn failure(&self, error: RevertError) -> Failure {
        let message = error.to_string();
        match error {
            RevertError::Session(error @ SessionError::InUse(_)) => {
                Failure::from(error).with_hint("end it first; `--dry-run` works meanwhile")
            }
            RevertError::Session(error) => error.into(),
            RevertError::Nothing { session, elsewhere } => {
                let verb = self.verb();
                let failure =
                    Failure::conflict(format!("there is nothing to {verb} in the session {session}"));
                match elsewhere {
                    Some(other) => {
                        failure.with_hint(format!("an earlier session has: charla {verb} --session {other}"))
                    }
                    None => failure,
                }
            }
            RevertError::NoTurn { .. } => Failure::input(message).with_hint(Hint::ListTurns),
            RevertError::NoFiles(_) => Failure::conflict(message).with_hint(Hint::ListTurns),
            RevertError::AlreadyUndone(turn) => Failure::conflict(message)
                .with_hint(format!("bring its changes back with `charla redo {turn}`")),
            RevertError::OtherFile { path, turn, files } => {
                let names: Vec<String> = files.iter().map(|file| self.name(file)).collect();
                let (path, verb) = (path.display(), self.verb());
                Failure::input(format!("{path} is none of the files to {verb} in turn {turn}"))
                    .with_hint(format!("they are: {}", names.join(", ")))
            }
            RevertError::NotUndone(_) | RevertError::Conflicts(_) => Failure::conflict(message),
            RevertError::Failed(_) => Failure::system(message),
        }
    }

    /// Which files stand in the way, and how to go on.
    pub fn in_the_way(&self, conflicts: &Conflicts) -> Failure {
        let lines = conflicts.files.iter().map(|file| {
            let name = self.name(&file.path);
            match file.changed_by {
                Some(number) => format!("{name} was changed again by turn {number}"),
                None => format!("{name} {}", file.obstacle),
            }
        });
        let message = format!("nothing was changed: {}", lines.collect::<Vec<_>>().join("; "));
        Failure::conflict(message).with_hint(self.way_out(conflicts))
    }

    fn way_out(&self, conflicts: &Conflicts) -> String {
        let Conflicts { session, turn, .. } = conflicts;
        let later = conflicts.files.iter().filter_map(|file| file.changed_by).max();
        let mut hint = match later {
            Some(later) => format!("undo turn {later} first: charla undo {later} --session {session}"),
            None => {
                "the diff shows what changed since; save it, put the files back, and try again".to_owned()
            }
        };
        let free: Vec<String> = conflicts.free.iter().map(|path| shell_quote(&self.name(path))).collect();
        if !free.is_empty() {
            let named = match self.request.session.as_str() {
                "latest" => String::new(),
                _ => format!(" --session {session}"),
            };
            let (verb, free) = (self.verb(), free.join(" "));
            hint.push_str(&format!("\nthe other files only: charla {verb} {turn}{named} --only {free}"));
        }
        hint
    }

    /// A path as the user would write it.
    fn name(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.directory).unwrap_or(path);
        printable(path)
    }
}

fn one_line(prompt: &str) -> String {
    let words = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(60) {
        Some((end, _)) => format!("\u{201c}{}…\u{201d}", words.get(..end).unwrap_or_default()),
        None => format!("\u{201c}{words}\u{201d}"),
    }
}
