//! Where a person writes: keys in, actions out, and how it looks.
//!
//! Nothing here touches a terminal. Whoever has one hands over keys and pasted text, does what an [`Action`] says, and draws
//! the [`View`].

mod action;
mod buffer;
mod chips;
mod completion;
mod dropped;
mod edit;
mod editing;
mod emacs;
mod files;
mod history;
mod layout;
mod ring;
mod score;
mod undo;
mod vi;
mod vi_motion;

use std::path::PathBuf;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

pub use action::{Action, Message, When};
pub use completion::{Candidate, Sources, WordSource};
pub use dropped::dropped_paths;
pub use files::FileIndex;
pub use history::History;

use self::chips::{Chips, cleaned};
use self::completion::Completion;
use self::edit::Edit;
use self::editing::Editing;
use self::emacs::Emacs;
use self::history::Search;
use self::layout::Rows;
use self::vi::{Mode, Vi};
use crate::text::{Line, Role};

#[cfg(test)]
mod tests;

/// The word for vi's keys where letters are commands.
const NORMAL: &str = "NORMAL";

/// Stands before the text.
const MARK: &str = "› ";
const INDENT: &str = "  ";

/// Which keys there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// Those of Emacs and of shells.
    #[default]
    Emacs,
    /// Those of vi.
    Vi,
}

#[derive(Clone, Debug)]
enum Keymap {
    Emacs(Emacs),
    Vi(Vi),
}

/// How the composer looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Its rows, what is offered for completion below the text.
    pub lines: Vec<Line>,
    /// The row and the column where the terminal's cursor belongs.
    pub cursor: (usize, usize),
}

/// Where a person writes.
pub struct Composer {
    editing: Editing,
    keymap: Keymap,
    history: History,
    search: Option<Search>,
    completion: Completion,
    /// Vi's last change is being done once more.
    is_repeating: bool,
    placeholder: String,
    /// The columns it was drawn in last, for moving by rows.
    columns: usize,
}

impl Composer {
    /// An empty one.
    pub fn new(keys: Keys, history: History, sources: Sources) -> Self {
        let mut composer = Self {
            editing: Editing::default(),
            keymap: Keymap::Emacs(Emacs::default()),
            history,
            search: None,
            completion: Completion::new(sources),
            is_repeating: false,
            placeholder: String::new(),
            columns: 80,
        };
        composer.set_keys(keys);
        composer
    }

    /// Offers completions from elsewhere from now on.
    pub fn set_sources(&mut self, sources: Sources) {
        self.completion = Completion::new(sources);
    }

    /// Uses other keys from now on.
    pub fn set_keys(&mut self, keys: Keys) {
        self.keymap = match keys {
            Keys::Emacs => Keymap::Emacs(Emacs::default()),
            Keys::Vi => Keymap::Vi(Vi::default()),
        };
        self.editing.apply(Edit::Group(keys == Keys::Vi));
    }

    /// What an empty composer says.
    pub fn set_placeholder(&mut self, text: &str) {
        text.clone_into(&mut self.placeholder);
    }

    /// The word for the state of vi's keys; none for other keys.
    pub fn mode_name(&self) -> Option<&'static str> {
        match &self.keymap {
            Keymap::Emacs(_) => None,
            Keymap::Vi(vi) if vi.mode() == Mode::Normal => Some(NORMAL),
            Keymap::Vi(_) => Some("INSERT"),
        }
    }

    /// True when nothing is written.
    pub fn is_empty(&self) -> bool {
        self.editing.buffer.is_empty()
    }

    /// The text, with what was pasted.
    pub fn expanded(&self) -> String {
        self.editing.chips.expanded(self.editing.buffer.text())
    }

    /// Puts a text in the place of what is written. It can be taken back.
    pub fn set_text(&mut self, text: &str) {
        self.editing.set(&cleaned(text));
        self.after_edit();
    }

    /// The text for an editor: what was pasted and dragged here stands in it by its name.
    pub fn labelled(&self) -> String {
        self.editing.chips.labelled(self.editing.buffer.text())
    }

    /// Puts what came of such a text in the place of what is written. Names that are still there stand for what they did.
    pub fn set_labelled(&mut self, text: &str) {
        let text = self.editing.chips.unlabelled(&cleaned(text));
        self.editing.set(&text);
        self.after_edit();
    }

    /// Empties it. It can be taken back.
    pub fn clear(&mut self) {
        self.search = None;
        self.set_text("");
    }

    /// A text that the terminal says was pasted. One that is large is shown by a name.
    pub fn paste(&mut self, text: &str) -> Action {
        self.search = None;
        let text = cleaned(text);
        let chip = Chips::is_large(&text).then(|| self.editing.chips.add_text(&text)).flatten();
        match chip {
            Some(chip) => self.editing.paste(&chip.to_string()),
            None => self.editing.paste(&text),
        }
        self.after_edit();
        Action::Redraw
    }

    /// A message comes back that was not sent after all: it stands behind what is written, with the files that went with it.
    pub fn bring_back(&mut self, text: &str, files: Vec<PathBuf>) {
        self.editing.apply(Edit::Go(self.editing.buffer.text().len()));
        if !self.is_empty() {
            self.editing.paste("\n");
        }
        files.into_iter().for_each(|file| self.attach(file));
        self.paste(text);
    }

    /// Adds a file that goes with the message.
    pub fn attach(&mut self, path: PathBuf) {
        if let Some(chip) = self.editing.chips.add_file(path) {
            self.editing.paste(&format!("{chip} "));
            self.after_edit();
        }
    }

    /// More files were found: what is offered may be better now.
    pub fn refresh(&mut self) {
        if self.search.is_none() {
            self.completion.update(&self.editing.buffer);
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Unused;
        }
        if self.search.is_some() {
            return self.search_key(key);
        }
        if self.completion.is_open()
            && let Some(action) = self.completion_key(key)
        {
            return action;
        }
        self.typed(key)
    }

    /// What the key does by the keymap.
    fn typed(&mut self, key: KeyEvent) -> Action {
        let edits = match &mut self.keymap {
            Keymap::Emacs(emacs) => emacs.key(key, &self.editing.buffer).map(|edit| vec![edit]),
            Keymap::Vi(vi) => vi.key(key, &self.editing.buffer),
        };
        let action = match edits {
            None => Action::Unused,
            Some(edits) => edits.into_iter().map(|edit| self.edit(edit)).last().unwrap_or(Action::Unused),
        };
        if self.mode_name() == Some(NORMAL) {
            self.editing.buffer.stand_on_letter();
        }
        action
    }

    /// Does vi's last change once more. What it inserted is inserted only where the command does begin to.
    fn repeat(&mut self, times: usize) {
        let Keymap::Vi(vi) = &self.keymap else { return };
        // Whatever its keys mean now, it does not begin again within itself.
        if std::mem::replace(&mut self.is_repeating, true) {
            return;
        }
        let change = vi.last_change().clone();
        for _ in 0..times {
            change.command.iter().for_each(|key| drop(self.typed(*key)));
            if self.mode_name() == Some(NORMAL) {
                continue;
            }
            change.inserted.iter().for_each(|key| drop(self.typed(*key)));
        }
        self.is_repeating = false;
    }

    fn edit(&mut self, edit: Edit) -> Action {
        match edit {
            Edit::Act(action) => return action,
            Edit::Wait => return Action::Redraw,
            Edit::Up => return self.vertical(false),
            Edit::Down => return self.vertical(true),
            Edit::Send(when) => return self.send(when),
            Edit::Tab => return self.tab(),
            Edit::Repeat(times) => self.repeat(times),
            Edit::Search => self.search = Some(Search::default()),
            edit => {
                if self.editing.apply(edit) {
                    self.history.leave();
                }
            }
        }
        self.after_edit();
        Action::Redraw
    }

    fn after_edit(&mut self) {
        match self.search {
            Some(_) => self.completion.close(),
            None => self.completion.update(&self.editing.buffer),
        }
    }

    /// Opens completions, or sends the text for later.
    fn tab(&mut self) -> Action {
        match self.editing.buffer.text().trim().is_empty() {
            true => Action::Unused,
            false => self.send(When::Later),
        }
    }

    fn send(&mut self, when: When) -> Action {
        let text = self.expanded();
        let files = self.editing.chips.files(self.editing.buffer.text());
        if text.trim().is_empty() && files.is_empty() {
            return Action::Redraw;
        }
        let typed = self.editing.chips.without(self.editing.buffer.text());
        self.history.add(text.clone());
        self.editing.start_anew();
        if let Keymap::Vi(vi) = &mut self.keymap {
            vi.reset();
            self.editing.apply(Edit::Group(true));
        }
        self.after_edit();
        Action::Send(Box::new(Message { text, typed, files, when }))
    }

    /// A row up or down; from the first or the last one, to another message.
    fn vertical(&mut self, down: bool) -> Action {
        let text_columns = self.text_columns();
        let rows = Rows::new(&self.editing.buffer, &self.editing.chips, text_columns);
        let (row, column) = rows.cursor();
        let column = self.editing.goal.unwrap_or(column);
        let target = if down { Some(row + 1) } else { row.checked_sub(1) };
        match target.and_then(|target| rows.place(target, column)) {
            Some(place) => {
                self.editing.apply(Edit::Go(place));
                self.editing.goal = Some(column);
                self.completion.update(&self.editing.buffer);
            }
            None => self.recall(down),
        }
        Action::Redraw
    }

    /// Shows another message of the history.
    fn recall(&mut self, newer: bool) {
        let entry = match newer {
            true => self.history.newer(),
            false => {
                let written = self.editing.buffer.text().to_owned();
                self.history.older(&written).map(str::to_owned)
            }
        };
        if let Some(entry) = entry {
            self.editing.set_folded(&entry);
            // A message that was sent needs no help.
            self.completion.update(&self.editing.buffer);
            self.completion.close();
        }
    }

    /// Keys while something is offered; none for those that go on writing.
    fn completion_key(&mut self, key: KeyEvent) -> Option<Action> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, control) {
            (KeyCode::Down, false) | (KeyCode::Char('n'), true) => self.completion.choose(true),
            (KeyCode::Up, false) | (KeyCode::Char('p'), true) => self.completion.choose(false),
            (KeyCode::Esc, _) => self.completion.close(),
            (KeyCode::Tab, _) => {
                self.complete();
            }
            (KeyCode::Enter, _) if key.modifiers.is_empty() => {
                if self.completion.is_typed(&self.editing.buffer) || self.complete() {
                    return Some(self.send(When::Now));
                }
            }
            _ => return None,
        }
        Some(Action::Redraw)
    }

    /// Puts what is chosen; true where nothing has to follow.
    fn complete(&mut self) -> bool {
        let Some((word, candidate)) = self.completion.take() else { return false };
        let is_begun = candidate.text.ends_with(['/', ':', '=']);
        let gap = if candidate.is_whole || is_begun { "" } else { " " };
        self.editing.apply(Edit::Replace(word, format!("{}{gap}", candidate.text)));
        if is_begun || !gap.is_empty() {
            // A folder or a server can be gone on in, and a command may have words of its own.
            self.completion.reopen();
            self.completion.update(&self.editing.buffer);
        }
        candidate.is_whole
    }

    /// Keys while the history is searched.
    fn search_key(&mut self, key: KeyEvent) -> Action {
        let Some(search) = &mut self.search else { return Action::Unused };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, control) {
            (KeyCode::Char('r'), true) | (KeyCode::Up, _) => search.older(&self.history),
            (KeyCode::Esc, _) | (KeyCode::Char('g' | 'c'), true) => self.search = None,
            (KeyCode::Backspace, _) => search.pop(&self.history),
            (KeyCode::Char(c), false) => search.push(c, &self.history),
            _ => {
                let found = search.found(&self.history).map(str::to_owned);
                self.search = None;
                if let Some(found) = found {
                    self.editing.set_folded(&found);
                }
                // Enter takes what was found; other keys also do what they do.
                if key.code != KeyCode::Enter {
                    return self.key(key);
                }
            }
        }
        Action::Redraw
    }

    fn text_columns(&self) -> usize {
        self.columns.saturating_sub(crate::text::width(MARK)).max(4)
    }

    /// How it looks in so many columns and at most so many rows, of which the cursor's is always one.
    pub fn view(&mut self, columns: usize, max_rows: usize) -> View {
        self.columns = columns;
        match &self.search {
            Some(search) => search.view(&self.history, columns),
            None if self.is_empty() => self.empty(columns),
            None => self.writing(columns, max_rows),
        }
    }

    fn empty(&self, columns: usize) -> View {
        let line = Line::of(Role::Accent, MARK).then(Line::of(Role::Dim, &self.placeholder));
        View { lines: vec![line.truncate(columns)], cursor: (0, crate::text::width(MARK)) }
    }

    fn writing(&self, columns: usize, max_rows: usize) -> View {
        let rows = Rows::new(&self.editing.buffer, &self.editing.chips, self.text_columns());
        let offered = self.completion.rows(columns);
        let room = max_rows.saturating_sub(offered.len()).max(1);
        let (row, column) = rows.cursor();
        // The window holds the cursor's row, and the end of the text where it can.
        let first = rows.len().saturating_sub(room).min(row);
        let shown = first..(first + room).min(rows.len());
        let mark = |row: usize| if row == 0 { Line::of(Role::Accent, MARK) } else { Line::plain(INDENT) };
        let mut lines: Vec<Line> =
            shown.map(|row| mark(row).then(rows.line(row)).truncate(columns)).collect();
        lines.extend(offered.into_iter().take(max_rows.saturating_sub(lines.len())));
        let column = (column + crate::text::width(MARK)).min(columns.saturating_sub(1));
        View { lines, cursor: (row - first, column) }
    }
}
