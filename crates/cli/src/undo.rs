//! `charla undo` and `charla redo`: a turn's file changes, taken back and brought back.

use std::path::{Path, PathBuf};

use charla_core::undo::{ChangeHistory, Direction, NetChange, TurnChanges};
use charla_proto::{ChangesReverted, Fact, Record};
use charla_store::{Blobs, FileJournal};
use charla_tools::revert::{CheckError, Conflict, Deed, Reversal, Step};
use clap::{Args, ValueHint};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::sessions::{Sessions, about_skipped, now};

/// How many sessions are looked at for one with changes, when the latest has none.
const MOST_SESSIONS: usize = 20;

/// Arguments of `charla undo` and `charla redo`.
#[derive(Args, Debug)]
pub struct UndoArgs {
    /// The turn; the last one that can be undone (or redone) when left out.
    turn: Option<u64>,
    /// The session: `latest` of this folder, an id, or the beginning of one.
    #[arg(long, value_name = "ID", default_value = "latest", hide_default_value = true)]
    session: String,
    /// Only these files, or the files in these folders.
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    only: Vec<PathBuf>,
    /// Show what would be done and do nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Runs `charla undo` or `charla redo`.
pub fn run(
    direction: Direction,
    args: &UndoArgs,
    environment: &Environment,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let sessions = Sessions::new(environment)?;
    let id = sessions.find(&args.session)?;
    let (records, journal) = if args.dry_run {
        (sessions.read(&id)?.1, None)
    } else {
        let opened = sessions.lock(&id, "end it first; `--dry-run` works meanwhile".into())?;
        about_skipped(&opened.read.skipped).iter().for_each(|notice| printer.warning(notice));
        (opened.read.records, Some(opened.journal))
    };
    let history = ChangeHistory::of(&records);
    let work = Work { direction, args, directory: &environment.directory, id: &id, history: &history };
    let turn = work.turn().map_err(|failure| work.with_other_session(failure, &sessions))?;
    let files = work.chosen(turn)?;
    let blobs = Blobs::new(sessions.blobs());
    let steps = files.iter().map(|file| Step { change: file.step(direction), mode: file.mode }).collect();
    let reversal = match Reversal::check(steps, &blobs) {
        Ok(reversal) => reversal,
        Err(CheckError::Failed(error)) => return Err(Failure::system(error.to_string())),
        Err(CheckError::Conflicts(conflicts)) => return work.refuse(turn, &files, &conflicts, printer),
    };
    if let Some(journal) = journal {
        let seq = records.last().map_or(0, |record| record.seq) + 1;
        work.perform(turn.turn, &reversal, seq, journal)?;
    }
    work.report(turn, &files, &reversal, printer)
}

/// One undo or redo.
struct Work<'a> {
    direction: Direction,
    args: &'a UndoArgs,
    directory: &'a Path,
    id: &'a str,
    history: &'a ChangeHistory,
}

impl Work<'_> {
    fn word(&self) -> &'static str {
        match self.direction {
            Direction::Undo => "undo",
            Direction::Redo => "redo",
        }
    }

    /// The turn that is meant.
    fn turn(&self) -> Result<&TurnChanges, Failure> {
        let Some(number) = self.args.turn else {
            let number = self.history.default_turn(self.direction);
            return number.and_then(|number| self.history.turn(number)).ok_or_else(|| {
                Failure::conflict(format!("there is nothing to {} in the session {}", self.word(), self.id))
            });
        };
        let turn = self
            .history
            .turn(number)
            .ok_or_else(|| Failure::input(format!("the session {} has no turn {number}", self.id)))?;
        if turn.files.is_empty() {
            return Err(Failure::conflict(format!("turn {number} changed no files")));
        }
        if turn.reversible(self.direction).next().is_none() {
            let failure = match self.direction {
                Direction::Undo => Failure::conflict(format!("turn {number} is undone already"))
                    .with_hint(format!("bring its changes back with `charla redo {number}`")),
                Direction::Redo => {
                    Failure::conflict(format!("turn {number} is not undone: there is nothing to redo"))
                }
            };
            return Err(failure);
        }
        Ok(turn)
    }

    /// When the session has nothing to offer, another of this folder may be meant.
    fn with_other_session(&self, failure: Failure, sessions: &Sessions) -> Failure {
        if failure.hint.is_some() || self.args.turn.is_some() {
            return failure;
        }
        let others = sessions.here().unwrap_or_default();
        let other = others.iter().filter(|other| *other != self.id).take(MOST_SESSIONS).find(|other| {
            let records = sessions.read(other).map(|(_, records)| records).unwrap_or_default();
            ChangeHistory::of(&records).default_turn(self.direction).is_some()
        });
        match other {
            Some(other) => {
                failure.with_hint(format!("an earlier session has: charla {} --session {other}", self.word()))
            }
            None => failure,
        }
    }

    /// The files of the turn that are asked for.
    fn chosen<'t>(&self, turn: &'t TurnChanges) -> Result<Vec<&'t NetChange>, Failure> {
        let all: Vec<&NetChange> = turn.reversible(self.direction).collect();
        if self.args.only.is_empty() {
            return Ok(all);
        }
        let wanted: Vec<(&PathBuf, [PathBuf; 2])> =
            self.args.only.iter().map(|path| (path, self.places(path))).collect();
        let meant = |file: &NetChange, places: &[PathBuf; 2]| {
            places.iter().any(|place| file.change.path.starts_with(place))
        };
        for (given, places) in &wanted {
            if !all.iter().any(|file| meant(file, places)) {
                let names: Vec<String> = all.iter().map(|file| self.name(&file.change.path)).collect();
                return Err(Failure::input(format!(
                    "{} is none of the files to {} in turn {}",
                    given.display(),
                    self.word(),
                    turn.turn
                ))
                .with_hint(format!("they are: {}", names.join(", "))));
            }
        }
        Ok(all.into_iter().filter(|file| wanted.iter().any(|(_, places)| meant(file, places))).collect())
    }

    /// What a path may be recorded as: as it is written, and without links in its folder.
    fn places(&self, path: &Path) -> [PathBuf; 2] {
        let mut written = PathBuf::new();
        for part in self.directory.join(path).components() {
            match part {
                std::path::Component::ParentDir => drop(written.pop()),
                std::path::Component::CurDir => {}
                part => written.push(part),
            }
        }
        let folder = written.parent().and_then(|folder| folder.canonicalize().ok());
        let real = folder.zip(written.file_name()).map(|(folder, name)| folder.join(name));
        [written.clone(), real.unwrap_or(written)]
    }

    /// Files first, then the record: if the process dies in between, the same command finishes the work.
    fn perform(
        &self,
        turn: u64,
        reversal: &Reversal,
        seq: u64,
        mut journal: FileJournal,
    ) -> Result<(), Failure> {
        reversal.apply().map_err(|error| Failure::system(error.to_string()))?;
        let body = ChangesReverted { turn, files: reversal.files() };
        let fact = match self.direction {
            Direction::Undo => Fact::ChangesUndone(body),
            Direction::Redo => Fact::ChangesRedone(body),
        };
        journal.write(&[Record { seq, at: now(), fact }]).map_err(|error| {
            let state = match reversal.withdraw() {
                Ok(()) => "nothing was changed".to_owned(),
                Err(error) => error.to_string(),
            };
            Failure::system(format!("the {} cannot be recorded: {error}; {state}", self.word()))
        })
    }

    fn report(
        &self,
        turn: &TurnChanges,
        files: &[&NetChange],
        reversal: &Reversal,
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        for (path, deed) in reversal.deeds() {
            let deed = match deed {
                Deed::Restored => "restored",
                Deed::Removed => "removed",
                Deed::BroughtBack => "brought back",
                Deed::Nothing => "already done",
            };
            printer.words(&format!("{deed:<12}  {}\n", self.name(path)))?;
        }
        printer.flush()?;
        for file in files.iter().filter(|file| file.mixed && self.direction == Direction::Undo) {
            let name = self.name(&file.change.path);
            printer.warning(&format!(
                "{name} was also changed by something else during the turn; that is taken back, too"
            ));
        }
        let did = match (self.args.dry_run, self.direction) {
            (true, _) => format!("would {}", self.word()),
            (false, Direction::Undo) => "undid".to_owned(),
            (false, Direction::Redo) => "redid".to_owned(),
        };
        let way_back = match (self.args.dry_run, self.direction) {
            (false, Direction::Undo) => "; `charla redo` brings it back",
            _ => "",
        };
        let prompt = one_line(&turn.prompt);
        printer.note(&format!("{did} turn {} of the session {}: {prompt}{way_back}", turn.turn, self.id));
        Ok(())
    }

    /// Shows what is in the way. Nothing has been changed.
    fn refuse(
        &self,
        turn: &TurnChanges,
        files: &[&NetChange],
        conflicts: &[Conflict],
        printer: &mut Printer,
    ) -> Result<(), Failure> {
        let mut lines = Vec::new();
        let mut later = None;
        for conflict in conflicts {
            printer.words(&conflict.diff)?;
            let name = self.name(&conflict.path);
            let by = match self.direction {
                Direction::Undo => {
                    self.history.later_turn(turn.turn, &conflict.path, conflict.now.as_deref())
                }
                Direction::Redo => None,
            };
            later = later.max(by);
            lines.push(match by {
                Some(number) => format!("{name} was changed again by turn {number}"),
                None => format!("{name} {}", conflict.obstacle),
            });
        }
        printer.flush()?;
        let message = format!("nothing was changed: {}", lines.join("; "));
        Err(Failure::conflict(message).with_hint(self.way_out(turn.turn, files, conflicts, later)))
    }

    fn way_out(&self, turn: u64, files: &[&NetChange], conflicts: &[Conflict], later: Option<u64>) -> String {
        let word = self.word();
        let mut hint = match later {
            Some(later) => format!("undo turn {later} first: charla undo {later} --session {}", self.id),
            None => {
                "the diff shows what changed since; save it, put the files back, and try again".to_owned()
            }
        };
        let free =
            files.iter().filter(|file| !conflicts.iter().any(|conflict| conflict.path == file.change.path));
        let free: Vec<String> = free.map(|file| quoted(&self.name(&file.change.path))).collect();
        if !free.is_empty() {
            let session =
                if self.args.session == "latest" { String::new() } else { format!(" --session {}", self.id) };
            hint.push_str(&format!(
                "\nthe other files only: charla {word} {turn}{session} --only {}",
                free.join(" ")
            ));
        }
        hint
    }

    /// A path as the user would write it.
    fn name(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.directory).unwrap_or(path);
        path.to_string_lossy().chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
    }
}

fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./+,:@%".contains(c);
    if name.chars().all(plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

fn one_line(prompt: &str) -> String {
    let words = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(60) {
        Some((end, _)) => format!("\u{201c}{}…\u{201d}", words.get(..end).unwrap_or_default()),
        None => format!("\u{201c}{words}\u{201d}"),
    }
}
