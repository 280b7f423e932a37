//! What a piece of text is.

use serde::Deserialize;

/// What a piece of text is, which decides how a theme shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Ordinary text, in the terminal's own colour.
    #[default]
    Plain,
    /// What matters less: thoughts, hints, line numbers.
    Dim,
    /// What should catch the eye: the prompt's mark, a selected thing.
    Accent,
    /// The title of a section.
    Heading,
    /// Code among words.
    Code,
    /// Words of somebody else.
    Quote,
    /// What can be followed.
    Link,
    /// Lines and frames that hold things apart.
    Border,
    /// What stands for something else, such as a pasted text.
    Chip,
    /// The chosen row of a list.
    Selected,
    /// What went well.
    Success,
    /// What deserves attention.
    Warning,
    /// What failed.
    Failure,
    /// A line that a change adds.
    Added,
    /// A line that a change removes.
    Removed,
    /// The part of an added line that differs.
    AddedWord,
    /// The part of a removed line that differs.
    RemovedWord,
    /// A word of a programming language.
    Keyword,
    /// The name of a type, a key or a tag.
    Type,
    /// A string.
    Literal,
    /// A number or another constant.
    Number,
    /// A comment.
    Comment,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 22] = [
        Self::Plain,
        Self::Dim,
        Self::Accent,
        Self::Heading,
        Self::Code,
        Self::Quote,
        Self::Link,
        Self::Border,
        Self::Chip,
        Self::Selected,
        Self::Success,
        Self::Warning,
        Self::Failure,
        Self::Added,
        Self::Removed,
        Self::AddedWord,
        Self::RemovedWord,
        Self::Keyword,
        Self::Type,
        Self::Literal,
        Self::Number,
        Self::Comment,
    ];
}

/// How a text stands out beside its role.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Emphasis {
    /// Heavier.
    pub bold: bool,
    /// Slanted.
    pub italic: bool,
    /// With a line below.
    pub underline: bool,
    /// With a line through it.
    pub strike: bool,
}

impl Emphasis {
    /// No emphasis.
    pub const NONE: Self = Self { bold: false, italic: false, underline: false, strike: false };
    /// Bold alone.
    pub const BOLD: Self = Self { bold: true, ..Self::NONE };
    /// Italic alone.
    pub const ITALIC: Self = Self { italic: true, ..Self::NONE };

    /// What either of the two has.
    pub fn with(self, other: Self) -> Self {
        Self {
            bold: self.bold || other.bold,
            italic: self.italic || other.italic,
            underline: self.underline || other.underline,
            strike: self.strike || other.strike,
        }
    }
}
