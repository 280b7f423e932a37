//! What comes of keys: messages, and what is not the composer's to do.

use std::path::PathBuf;

/// When a message should reach a model that is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// With its next request.
    Now,
    /// After its turn.
    Later,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The whole text, with what was pasted.
    pub text: String,
    /// The text without what was pasted: an `@` in it names a file, one in a pasted text is an `@`.
    pub typed: String,
    /// Files that go with it.
    pub files: Vec<PathBuf>,
    /// When.
    pub when: When,
}

/// What a key wants that is not the composer's to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The key means nothing here.
    Unused,
    /// Nothing but to draw the composer again.
    Redraw,
    /// Send a message. The composer is empty again.
    Send(Box<Message>),
    /// Stop what is going on (Esc).
    Cancel,
    /// Stop, or leave (Ctrl-C).
    Interrupt,
    /// Leave (Ctrl-D on an empty line).
    Leave,
    /// Open the text in an editor: [`super::Composer::labelled`] gives it, [`super::Composer::set_labelled`] takes it back.
    EditExternally,
    /// The next approval mode (shift-tab).
    CycleMode,
    /// Clear the screen (Ctrl-L).
    ClearScreen,
    /// Go to the background (Ctrl-Z).
    Suspend,
}
