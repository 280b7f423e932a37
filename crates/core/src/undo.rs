//! Which file changes of a session can be taken back, and what the model is told about it.
//!
//! Nothing here touches a file: from the records comes what each turn changed in all, and what of it holds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use charla_proto::{
    CallEnded, ChangesReverted, Conversation, Fact, FileChange, Record, RevertedFile, Rewound, ToolErrorKind,
    own_text,
};

/// How many files the model is told by name.
const MOST_NAMES: usize = 20;

/// The way a turn's changes are gone: back, or forth again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Files become as they were before the turn.
    Undo,
    /// Files become as the turn left them.
    Redo,
}

/// What a turn changed, file by file.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnChanges {
    /// The turn's number.
    pub turn: u64,
    /// What the user had said.
    pub prompt: String,
    /// Every file the turn changed in all, in the order of the first changes.
    pub files: Vec<NetChange>,
}

/// What a turn made of one file: from the first content before to the last one after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetChange {
    /// The file and its contents.
    pub change: FileChange,
    /// The user has taken it back.
    pub undone: bool,
    /// Permissions of the file when it last went away by an undo or redo.
    pub mode: Option<u32>,
    /// Somebody else changed the file while the turn ran; going back takes that along.
    pub mixed: bool,
}

/// All file changes of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChangeHistory {
    turns: Vec<TurnChanges>,
    /// Every single change, with its record and turn.
    single: Vec<(u64, u64, FileChange)>,
    /// Turns of the undos that still hold, oldest first.
    undone: Vec<u64>,
    /// Calls that have begun to change files and have not told what came of it.
    begun: Vec<Begun>,
    /// Records up to this number were written elsewhere.
    imported_up_to: Option<u64>,
}

/// A call that has begun to change files.
#[derive(Clone, Debug, PartialEq)]
struct Begun {
    seq: u64,
    turn: u64,
    call: String,
    changes: Vec<FileChange>,
}

impl ChangeHistory {
    /// The changes these records tell of.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut history = Self::default();
        for record in records {
            history.apply(record);
        }
        history.settled()
    }

    /// Takes in one more record; [`Self::settled`] after the last.
    pub fn apply(&mut self, record: &Record) {
        match &record.fact {
            Fact::TurnStarted(started) => self.turns.push(TurnChanges {
                turn: started.turn,
                prompt: own_text(&started.prompt),
                files: Vec::new(),
            }),
            Fact::CallStarted(started) if !started.changes.is_empty() => self.begun.push(Begun {
                seq: record.seq,
                turn: started.turn,
                call: started.call.clone(),
                changes: started.changes.clone(),
            }),
            Fact::CallEnded(ended) => {
                let begun = self.begun.iter().position(|begun| begun.call == ended.call);
                let begun = begun.map(|at| self.begun.remove(at));
                match begun.filter(|_| may_have_happened(ended)) {
                    Some(begun) => self.changed(record.seq, ended.turn, &begun.changes),
                    None => self.changed(record.seq, ended.turn, &ended.changes),
                }
            }
            Fact::ChangesUndone(reverted) => self.with_begun().revert(reverted, true),
            Fact::ChangesRedone(reverted) => self.with_begun().revert(reverted, false),
            Fact::Rewound(rewound) => self.with_begun().rewound(rewound),
            Fact::Imported(_) => self.forget(),
            Fact::SessionStarted(started) => self.imported_up_to = started.imported_up_to,
            _ => {}
        }
        if self.imported_up_to >= Some(record.seq) {
            self.forget();
        }
    }

    /// Files here are not those that were changed elsewhere: nothing until now can be taken back.
    fn forget(&mut self) {
        self.turns.iter_mut().for_each(|turn| turn.files.clear());
        self.single.clear();
        self.undone.clear();
        self.begun.clear();
    }

    /// What a call had begun when its process ended counts as done: where it was not, its file is as it was and
    /// nothing is left to take back.
    fn with_begun(&mut self) -> &mut Self {
        for Begun { seq, turn, changes, .. } in std::mem::take(&mut self.begun) {
            self.changed(seq, turn, &changes);
        }
        self
    }

    fn changed(&mut self, seq: u64, turn: u64, changes: &[FileChange]) {
        self.single.extend(changes.iter().map(|change| (seq, turn, change.clone())));
        if let Some(turn) = self.turn_mut(turn) {
            changes.iter().for_each(|change| turn.add(change));
        }
    }

    /// The history once all records are in.
    pub fn settled(mut self) -> Self {
        self.with_begun();
        for turn in &mut self.turns {
            // Changed and changed back: nothing is left to undo.
            turn.files.retain(|file| file.change.before != file.change.after);
        }
        self
    }

    /// What was changed after record `seq` and still holds, each file once, from its first content before to its
    /// last one after.
    pub fn changes_after(&self, seq: u64) -> Vec<NetChange> {
        let mut net = TurnChanges { turn: 0, prompt: String::new(), files: Vec::new() };
        for (at, turn, change) in &self.single {
            let holds = |file: &&NetChange| file.change.path == change.path && !file.undone;
            if *at > seq && self.turn(*turn).is_some_and(|turn| turn.files.iter().find(holds).is_some()) {
                net.add(change);
            }
        }
        net.files.retain(|file| file.change.before != file.change.after);
        net.files
    }

    /// Files that were put back with a rewind hold no change of any turn any more.
    fn rewound(&mut self, rewound: &Rewound) {
        let is_back = |path: &Path| rewound.files.iter().any(|file| file.change.path == path);
        self.single.retain(|(seq, _, change)| *seq <= rewound.to || !is_back(&change.path));
        let single = std::mem::take(&mut self.single);
        for turn in &mut self.turns {
            if turn.files.iter().any(|file| is_back(&file.change.path)) {
                turn.files.retain(|file| !is_back(&file.change.path));
                let number = turn.turn;
                let kept = single.iter().filter(|(_, of, change)| *of == number && is_back(&change.path));
                kept.for_each(|(_, _, change)| turn.add(change));
            }
        }
        self.single = single;
    }

    /// The turn of this number. After a rewind numbers come again: then it is the later one.
    pub fn turn(&self, turn: u64) -> Option<&TurnChanges> {
        self.turns.iter().rev().find(|changes| changes.turn == turn)
    }

    fn turn_mut(&mut self, turn: u64) -> Option<&mut TurnChanges> {
        self.turns.iter_mut().rev().find(|changes| changes.turn == turn)
    }

    /// The turn that is meant when none is named: the last one with changes that hold, or, for a redo, the
    /// one that was undone last.
    pub fn default_turn(&self, direction: Direction) -> Option<u64> {
        match direction {
            Direction::Undo => self.turns.iter().rev().find(|turn| turn.has(direction)).map(|turn| turn.turn),
            Direction::Redo => {
                let mut latest = self.undone.iter().rev();
                latest.find(|turn| self.turn(**turn).is_some_and(|turn| turn.has(direction))).copied()
            }
        }
    }

    /// A later turn that left this file with this content, if that is why it is not as `turn` left it.
    pub fn later_turn(&self, turn: u64, path: &Path, content: Option<&str>) -> Option<u64> {
        let later = self.turns.iter().rev().filter(|later| later.turn > turn);
        let left_it = |later: &&TurnChanges| {
            let mut files = later.files.iter();
            files.any(|file| {
                !file.undone && file.change.path == path && file.change.after.as_deref() == content
            })
        };
        later.into_iter().find(left_it).map(|later| later.turn)
    }

    fn revert(&mut self, reverted: &ChangesReverted, undone: bool) {
        if undone {
            self.undone.push(reverted.turn);
        }
        let Some(turn) = self.turn_mut(reverted.turn) else { return };
        for file in &reverted.files {
            if let Some(known) = turn.files.iter_mut().find(|known| known.change.path == file.change.path) {
                known.undone = undone;
                known.mode = file.mode;
            }
        }
    }
}

/// A call that did not come to its own end may have changed what it had begun to change.
fn may_have_happened(ended: &CallEnded) -> bool {
    let cut_off = [ToolErrorKind::Interrupted, ToolErrorKind::Cancelled];
    ended.changes.is_empty() && ended.error.is_some_and(|error| cut_off.contains(&error))
}

impl TurnChanges {
    fn add(&mut self, change: &FileChange) {
        match self.files.iter_mut().find(|file| file.change.path == change.path) {
            Some(file) => {
                file.mixed |= file.change.after != change.before;
                file.change.after.clone_from(&change.after);
            }
            None => {
                let change = change.clone();
                self.files.push(NetChange { change, undone: false, mode: None, mixed: false });
            }
        }
    }

    fn has(&self, direction: Direction) -> bool {
        self.reversible(direction).next().is_some()
    }

    /// The files that can go this way.
    pub fn reversible(&self, direction: Direction) -> impl Iterator<Item = &NetChange> {
        self.files.iter().filter(move |file| file.undone == (direction == Direction::Redo))
    }
}

impl NetChange {
    /// What going this way does to the file.
    pub fn step(&self, direction: Direction) -> FileChange {
        let FileChange { path, before, after } = self.change.clone();
        match direction {
            Direction::Undo => FileChange { path, before: after, after: before },
            Direction::Redo => FileChange { path, before, after },
        }
    }
}

/// What the model is told with the next prompt about files that are no longer as it left them; empty when all is
/// as it was at the last prompt.
pub(crate) fn note(conversation: &Conversation) -> String {
    let cwd = conversation.started.as_ref().map(|started| started.cwd.clone()).unwrap_or_default();
    let mut lasting: Vec<(bool, u64, Vec<&RevertedFile>)> = Vec::new();
    for (undo, reverted) in &conversation.untold.reverted {
        let mut files: Vec<&RevertedFile> = reverted.files.iter().collect();
        // An undo and its redo cancel each other out, file by file.
        for (earlier_undo, turn, earlier) in &mut lasting {
            if *turn == reverted.turn && *earlier_undo != *undo {
                let both = |file: &RevertedFile, others: &[&RevertedFile]| {
                    others.iter().any(|other| other.change.path == file.change.path)
                };
                let again = files.clone();
                files.retain(|file| !both(file, earlier));
                earlier.retain(|file| !both(file, &again));
            }
        }
        lasting.push((*undo, reverted.turn, files));
    }
    let mut note = String::new();
    for (undo, turn, files) in lasting.iter().filter(|(_, _, files)| !files.is_empty()) {
        let names = names(files, &cwd);
        let _ = match undo {
            true => write!(
                note,
                "The user has undone the file changes of turn {turn}: {names}. They are again as before it. "
            ),
            false => write!(
                note,
                "The user has brought back the file changes of turn {turn}: {names}. They are again as that turn left them. "
            ),
        };
    }
    note.trim_end().to_owned()
}

fn names(files: &[&RevertedFile], cwd: &Path) -> String {
    let name = |file: &&RevertedFile| {
        let path: PathBuf = file.change.path.strip_prefix(cwd).unwrap_or(&file.change.path).to_owned();
        // Names must not break out of the note.
        path.to_string_lossy().escape_debug().to_string()
    };
    let mut names: Vec<String> = files.iter().take(MOST_NAMES).map(name).collect();
    if files.len() > MOST_NAMES {
        names.push(format!("and {} more", files.len() - MOST_NAMES));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests;
