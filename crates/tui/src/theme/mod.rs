//! How things look: a style for each role, and lines as bytes for a terminal.

mod builtin;
mod colour;
mod custom;
mod folder;
mod painter;

use std::collections::BTreeMap;

pub use builtin::Background;
pub use colour::{Colour, Depth};
pub use custom::ThemeError;
pub use folder::Themes;
pub use painter::Painter;

use crate::text::{Emphasis, Role};

#[cfg(test)]
mod tests;

/// The look of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The colour of the letters; absent, the terminal's own.
    pub foreground: Option<Colour>,
    /// The colour behind them; absent, the terminal's own.
    pub background: Option<Colour>,
    /// What makes it stand out.
    pub emphasis: Emphasis,
    /// Weaker than ordinary text, by the terminal's own means.
    pub dim: bool,
    /// The two colours change places.
    pub reverse: bool,
}

/// A style for each role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    name: String,
    styles: BTreeMap<Role, Style>,
}

impl Theme {
    /// The names of the built-in themes, the default first.
    pub const BUILT_IN: [&str; 7] = [
        "default",
        "default-dark",
        "default-light",
        "high-contrast",
        "high-contrast-dark",
        "high-contrast-light",
        "terminal",
    ];

    /// The built-in theme of a name, for what stands behind the text. A name may say itself what that is.
    pub fn built_in(name: &str, background: Background) -> Option<Self> {
        let (base, background) = match (name.strip_suffix("-dark"), name.strip_suffix("-light")) {
            (Some(base), _) => (base, Background::Dark),
            (_, Some(base)) => (base, Background::Light),
            _ => (name, background),
        };
        let styles = builtin::styles(base, background)?;
        Some(Self { name: name.to_owned(), styles })
    }

    /// A user's theme: the built-in one it names as `base`, with other styles for some roles.
    pub fn parse(name: &str, text: &str, background: Background) -> Result<Self, ThemeError> {
        custom::parse(name, text, background)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How a role looks.
    pub fn paint(&self, role: Role) -> Style {
        self.styles.get(&role).copied().unwrap_or_default()
    }
}

impl Default for Theme {
    fn default() -> Self {
        Self { name: Self::BUILT_IN[0].to_owned(), styles: builtin::default_styles(Background::Unknown) }
    }
}
