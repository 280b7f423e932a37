//! Things in the text that are too large to be shown: each is one character of it, shown by a name.

use std::path::PathBuf;

/// A pasted text with more lines is a chip.
const LINES: usize = 10;
/// So is one with more bytes.
const BYTES: usize = 1000;
/// The characters that stand for chips: the last plane, which is for private use.
const FIRST: u32 = 0x10_0000;
const LAST: u32 = 0x10_fffd;

/// What a chip stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Chip {
    Text(String),
    File(PathBuf),
}

/// The chips of a text, in the order they came.
#[derive(Clone, Debug, Default)]
pub struct Chips {
    chips: Vec<Chip>,
}

impl Chips {
    /// True for a text that is better not shown.
    pub fn is_large(text: &str) -> bool {
        text.len() > BYTES || text.lines().nth(LINES).is_some()
    }

    /// The character for a large text; none once there are too many.
    pub fn add_text(&mut self, text: &str) -> Option<char> {
        self.add(Chip::Text(text.to_owned()))
    }

    /// The character for a file that goes with the text.
    pub fn add_file(&mut self, path: PathBuf) -> Option<char> {
        self.add(Chip::File(path))
    }

    fn add(&mut self, chip: Chip) -> Option<char> {
        let number = FIRST.checked_add(u32::try_from(self.chips.len()).ok()?)?;
        let stand_in = char::from_u32(number).filter(|_| number <= LAST)?;
        self.chips.push(chip);
        Some(stand_in)
    }

    fn of(&self, c: char) -> Option<(usize, &Chip)> {
        let number = usize::try_from(u32::from(c).checked_sub(FIRST)?).ok()?;
        self.chips.get(number).map(|chip| (number + 1, chip))
    }

    /// What is shown for a character; none for one that is no chip.
    pub fn label(&self, c: char) -> Option<String> {
        let (number, chip) = self.of(c)?;
        Some(match chip {
            Chip::Text(text) => match text.lines().count() {
                0 | 1 => format!("[pasted text {number}: {} characters]", text.chars().count()),
                lines => format!("[pasted text {number}: {lines} lines]"),
            },
            Chip::File(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                format!("[file {number}: {}]", name.to_string_lossy())
            }
        })
    }

    /// The text with what its chips stand for; of files, nothing.
    pub fn expanded(&self, text: &str) -> String {
        self.replaced(text, |chip| match chip {
            Chip::Text(text) => text,
            Chip::File(_) => "",
        })
    }

    /// The text with its chips by their names.
    pub fn labelled(&self, text: &str) -> String {
        text.chars().map(|c| self.label(c).unwrap_or_else(|| c.to_string())).collect()
    }

    /// A text in which chips stand by their names, with the chips themselves.
    pub fn unlabelled(&self, text: &str) -> String {
        let stand_ins = (FIRST..=LAST).filter_map(char::from_u32).take(self.chips.len());
        stand_ins.fold(text.to_owned(), |text, stand_in| match self.label(stand_in) {
            Some(label) => text.replace(&label, &stand_in.to_string()),
            None => text,
        })
    }

    /// The text without what was pasted.
    pub fn without(&self, text: &str) -> String {
        self.replaced(text, |_| " ")
    }

    fn replaced<'a>(&'a self, text: &str, by: impl Fn(&'a Chip) -> &'a str) -> String {
        let mut whole = String::with_capacity(text.len());
        for c in text.chars() {
            match self.of(c) {
                Some((_, chip)) => whole.push_str(by(chip)),
                None => whole.push(c),
            }
        }
        whole
    }

    /// The files that a text names by its chips.
    pub fn files(&self, text: &str) -> Vec<PathBuf> {
        let chips = text.chars().filter_map(|c| self.of(c));
        chips
            .filter_map(|(_, chip)| if let Chip::File(path) = chip { Some(path.clone()) } else { None })
            .collect()
    }
}

/// A text as it may stand in the buffer: lines end with a line feed, and nothing passes for a chip.
pub fn cleaned(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let stands_in = |c: char| (FIRST..=LAST).contains(&u32::from(c));
    match text.contains(stands_in) {
        true => text.replace(stands_in, "\u{fffd}"),
        false => text,
    }
}
