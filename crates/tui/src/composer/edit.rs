//! What keys do to the text, whichever keys these are.

use std::ops::Range;

use super::ring::{Cut, Side};

/// One thing that is done to the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Puts the cursor somewhere.
    Go(usize),
    /// To the row above, or the message before.
    Up,
    /// To the row below, or the message after.
    Down,
    /// Types a text.
    Type(String),
    /// Takes a part out.
    Remove(Range<usize>),
    /// Takes a part out and keeps it; one side of it is the cursor.
    Kill(Range<usize>, Side),
    /// Takes a part out and keeps it as a cut of its own.
    Take(Range<usize>, Cut),
    /// Keeps a part.
    Copy(Cut),
    /// Puts a text in the place of a part.
    Replace(Range<usize>, String),
    /// Puts the latest cut.
    Yank,
    /// Puts an older cut in the place of the one that was just put.
    YankOlder,
    /// Puts the latest cut behind the character or line at the cursor, or before it.
    Put(Side),
    /// Takes the last change back.
    Undo,
    /// Does it again.
    Redo,
    /// What follows is one change, for taking it back; or no longer.
    Group(bool),
    /// Does the last change once more, so many times.
    Repeat(usize),
    /// Begins to search the history.
    Search,
    /// What does not change the text.
    Act(super::Action),
    /// Sends the text.
    Send(super::When),
    /// Goes through completions where there are some, else sends the text for later.
    Tab,
    /// Nothing: the key is part of something longer.
    Wait,
}

impl Edit {
    /// True for what puts other text, or takes some out.
    pub fn changes(&self) -> bool {
        matches!(
            self,
            Edit::Type(_)
                | Edit::Remove(_)
                | Edit::Kill(..)
                | Edit::Take(..)
                | Edit::Replace(..)
                | Edit::Put(_)
        )
    }
}
