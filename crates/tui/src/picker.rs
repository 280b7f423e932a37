//! A list to choose from, narrowed by typing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::entry::{Entry, Typed};
use crate::screen::Place;
use crate::text::{Line, Role, width};

/// Something that can be chosen.
#[derive(Clone, Debug)]
pub struct Item<C> {
    /// What it is called.
    pub label: String,
    /// More about it.
    pub detail: String,
    /// What choosing it means.
    pub choice: C,
}

/// What a key did.
#[derive(Debug, PartialEq, Eq)]
pub enum Picked<C> {
    /// The choice goes on.
    More,
    /// Nothing is chosen.
    Left,
    /// This is chosen.
    Chosen(C),
}

/// A list to choose from.
#[derive(Debug)]
pub struct Picker<C> {
    title: String,
    items: Vec<Item<C>>,
    filter: Entry,
    at: usize,
    /// Keys that choose the items at once, in their order.
    keys: Vec<char>,
}

impl<C: Clone> Picker<C> {
    /// A list under a title.
    pub fn new(title: &str, items: Vec<Item<C>>) -> Self {
        Self { title: title.to_owned(), items, filter: Entry::default(), at: 0, keys: Vec::new() }
    }

    /// The same, where a key each chooses an item at once.
    pub fn with_keys(mut self, keys: &[char]) -> Self {
        self.keys = keys.to_vec();
        self
    }

    /// The same, standing at the first item that fits this.
    pub fn standing_at(mut self, is_it: impl Fn(&C) -> bool) -> Self {
        self.at = self.items.iter().position(|item| is_it(&item.choice)).unwrap_or(0);
        self
    }

    /// What a key of its own chooses.
    fn keyed(&self, key: KeyEvent) -> Option<C> {
        let KeyCode::Char(pressed) = key.code else { return None };
        let at = self.keys.iter().position(|key| *key == pressed.to_ascii_lowercase())?;
        let is_plain =
            self.filter.text().is_empty() && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        self.items.get(at).filter(|_| is_plain).map(|item| item.choice.clone())
    }

    fn fitting(&self) -> Vec<&Item<C>> {
        let wanted = self.filter.text().to_lowercase();
        let fits = |item: &&Item<C>| {
            let text = format!("{} {}", item.label, item.detail).to_lowercase();
            wanted.split_whitespace().all(|word| text.contains(word))
        };
        self.items.iter().filter(fits).collect()
    }

    /// What can be chosen, a line each.
    pub fn words(&self) -> Vec<String> {
        self.items
            .iter()
            .map(|item| format!("{}  {}", item.label, item.detail).trim_end().to_owned())
            .collect()
    }

    /// What is to be chosen.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What a word chooses where there is no screen: a key, the number of a line of [`Self::words`], or what an item is called.
    pub fn chosen_by(&self, word: &str) -> Option<C> {
        let word = word.trim().to_lowercase();
        let is_number = |at: usize| word.parse() == Ok(at + 1);
        let is_key = |at: usize| self.keys.get(at).is_some_and(|key| key.to_string() == word);
        let is_it =
            |at: usize, item: &Item<C>| item.label.to_lowercase() == word || is_key(at) || is_number(at);
        let mut items = self.items.iter().enumerate();
        items.find(|(at, item)| is_it(*at, item)).map(|(_, item)| item.choice.clone())
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Picked<C> {
        if let Some(choice) = self.keyed(key) {
            return Picked::Chosen(choice);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = self.fitting().len().saturating_sub(1);
        match key.code {
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::Char('p') if control => self.at = self.at.saturating_sub(1),
            KeyCode::Char('n') if control => self.at = (self.at + 1).min(last),
            KeyCode::PageUp => self.at = self.at.saturating_sub(10),
            KeyCode::PageDown => self.at = (self.at + 10).min(last),
            _ => match self.filter.key(key) {
                Typed::Left => return Picked::Left,
                Typed::Done => {
                    return match self.fitting().get(self.at) {
                        Some(item) => Picked::Chosen(item.choice.clone()),
                        None => Picked::More,
                    };
                }
                Typed::More => self.at = 0,
                Typed::Other => {}
            },
        }
        Picked::More
    }

    /// Takes pasted text.
    pub fn paste(&mut self, text: &str) {
        self.filter.paste(text);
        self.at = 0;
    }

    /// It in at most so many rows, and where its cursor is.
    pub fn view(&self, columns: usize, rows: usize) -> (Vec<Line>, Place) {
        let mark = if self.title.ends_with('?') { "" } else { ":" };
        let (head, column) = self.filter.view(&format!("{}{mark} ", self.title), columns);
        let fitting = self.fitting();
        let room = rows.saturating_sub(2).max(1);
        let first = self.at.saturating_sub(room - 1);
        let labels = fitting.iter().map(|item| width(&item.label)).max().unwrap_or(0).min(columns / 2);
        let mut lines = vec![head];
        for (index, item) in fitting.iter().enumerate().skip(first).take(room) {
            let (mark, role) = if index == self.at { ("▸ ", Role::Selected) } else { ("  ", Role::Plain) };
            let label = Line::of(role, &item.label).truncate(labels.max(8));
            let gap = " ".repeat((labels + 2).saturating_sub(label.width()));
            let mut line = Line::of(Role::Accent, mark).then(label);
            line.push(Role::Dim, &format!("{gap}{}", item.detail));
            lines.push(line.truncate(columns));
        }
        let words = match fitting.len() {
            0 => "nothing fits; Esc leaves".to_owned(),
            _ if !self.keys.is_empty() => {
                let keys: Vec<String> = self.keys.iter().map(char::to_string).collect();
                format!("{}, or ↑ ↓ Enter; Esc leaves", keys.join(" or "))
            }
            count => format!("{} of {count} · ↑ ↓ Enter, Esc leaves, typing narrows", self.at + 1),
        };
        lines.push(Line::of(Role::Dim, &words).truncate(columns));
        (lines, Place { row: 0, column })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(picker: &mut Picker<u8>, code: KeyCode) -> Picked<u8> {
        picker.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn typing_narrows_and_enter_chooses() {
        let item = |label: &str, choice| Item { label: label.to_owned(), detail: "x".to_owned(), choice };
        let mut picker = Picker::new("model", vec![item("alpha", 1), item("beta", 2), item("bet", 3)]);
        press(&mut picker, KeyCode::Char('b'));
        press(&mut picker, KeyCode::Down);
        press(&mut picker, KeyCode::Down);
        let (lines, _) = picker.view(40, 10);
        assert_eq!(lines.len(), 4);
        assert!(lines[2].text().starts_with("▸ bet "), "{:?}", lines[2].text());
        assert_eq!(press(&mut picker, KeyCode::Enter), Picked::Chosen(3));
        press(&mut picker, KeyCode::Char('z'));
        assert_eq!(picker.view(40, 10).0.last().map(Line::text).as_deref(), Some("nothing fits; Esc leaves"));
        assert_eq!(press(&mut picker, KeyCode::Enter), Picked::More);
        assert_eq!(press(&mut picker, KeyCode::Esc), Picked::Left);
    }

    #[test]
    fn a_word_chooses_where_there_is_no_screen() {
        let item = |label: &str, choice| Item { label: label.to_owned(), detail: String::new(), choice };
        let picker = Picker::new("sure?", vec![item("yes", 1), item("no", 2)]).with_keys(&['y', 'n']);
        for (word, choice) in
            [("y", Some(1)), (" YES\n", Some(1)), ("no", Some(2)), ("2", Some(2)), ("", None), ("yeah", None)]
        {
            assert_eq!(picker.chosen_by(word), choice, "{word:?}");
        }
    }
}
