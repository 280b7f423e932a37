//! What the reader makes of a command line: a tree that keeps only what decides the effects.

/// Commands in a row.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub items: Vec<Item>,
}

/// One command of a row, and when it runs.
#[derive(Debug)]
pub(super) struct Item {
    pub node: Node,
    pub link: Link,
}

/// When a command runs, seen from the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    /// In any case.
    Always,
    /// After `&&`.
    Success,
    /// After `||`.
    Failure,
}

#[derive(Debug)]
pub(super) enum Node {
    Simple(Simple),
    /// Each script in a shell of its own: subshells, parts of a pipeline, background commands.
    Apart {
        scripts: Vec<Script>,
        redirects: Vec<Redirect>,
    },
    /// Groups, conditions, loops: scripts of this shell that may or may not run.
    Block {
        scripts: Vec<Script>,
        words: Vec<RawWord>,
        variable: Option<String>,
        redirects: Vec<Redirect>,
        /// True when it may run more than once.
        repeats: bool,
    },
    Function {
        name: String,
        body: Box<Node>,
    },
}

/// Assignments, words and redirects.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<RawWord>,
    pub redirects: Vec<Redirect>,
    pub source: String,
    /// True for `[[ … ]]`, whose words are not split or expanded to file names.
    pub test: bool,
}

#[derive(Debug)]
pub(super) struct Assignment {
    pub name: String,
    /// The value; an array has any number of them.
    pub values: Vec<RawWord>,
    pub source: String,
}

#[derive(Debug)]
pub(super) struct Redirect {
    pub kind: RedirectKind,
    pub target: RawWord,
    pub source: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectKind {
    Read,
    Write,
    ReadWrite,
    /// `>&` and `<&`: a descriptor, or for `>&` also a file.
    DuplicateOutput,
    DuplicateInput,
    /// Heredocs and here-strings: text, with whatever is substituted into it.
    Text,
}

/// A word as it was written, before expansion.
#[derive(Clone, Debug, Default)]
pub(super) struct RawWord {
    pub atoms: Vec<Atom>,
    pub source: String,
    /// Where it starts in the command line.
    pub start: usize,
    /// Substitutions inside it, which run before the command does.
    pub scripts: Vec<std::rc::Rc<Script>>,
    /// Variables it sets by being expanded (`${name:=value}`).
    pub assigned: Vec<String>,
    /// Variables it computes with (`$((name + 1))`).
    pub computed: Vec<String>,
}

/// The smallest piece of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Atom {
    /// A plain character; may still be part of a brace or tilde expansion.
    Char(char),
    /// A character that stands for itself.
    Quoted(char),
    /// An unquoted `*`, `?` or `[`.
    Glob(char),
    /// Something only the shell can know: any number of words.
    Unknown,
    /// Something only the shell can know, quoted, so that it is a part of one word.
    One,
    /// An empty pair of quotes, which keeps an empty word alive.
    Empty,
}

/// Why a command line could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub what: String,
    pub reason: String,
}

pub(super) type Read<T> = Result<T, Trouble>;
