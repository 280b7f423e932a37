//! Themes that users write.
//!
//! ```toml
//! base = "default"
//!
//! [heading]
//! color = "#ff8800"
//! bold = true
//! ```

use std::collections::BTreeMap;

use charla_proto::text::nearest;
use serde::Deserialize;

use super::{Background, Colour, Style, Theme};
use crate::text::{Emphasis, Role};

/// Why a theme cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    /// It is no TOML, or has keys that no style has.
    #[error("the theme `{theme}` cannot be read: {reason}")]
    Unreadable {
        /// Its name.
        theme: String,
        /// What is wrong, with the line.
        reason: String,
    },
    /// It builds on a theme that is not built in.
    #[error("the theme `{theme}` is based on `{base}`, which is not built in; there are: {}", Theme::BUILT_IN.join(", "))]
    UnknownBase {
        /// Its name.
        theme: String,
        /// What it names.
        base: String,
    },
    /// It has a style for something that nothing is.
    #[error("the theme `{theme}` has a style for `{role}`, which nothing is{}", hint.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    UnknownRole {
        /// Its name.
        theme: String,
        /// What it names.
        role: String,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// A colour is none.
    #[error(
        "the theme `{theme}` has the color `{color}` for `{role}`; a color is `#rrggbb`, `default`, or a name such as `red` or `bright-blue`"
    )]
    UnknownColor {
        /// Its name.
        theme: String,
        /// The role whose style it is.
        role: String,
        /// What is written.
        color: String,
    },
}

/// A theme as it is written.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    base: Option<String>,
    #[serde(flatten)]
    styles: BTreeMap<String, WrittenStyle>,
}

/// A style as it is written: what is not said stays as it is in the base.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStyle {
    color: Option<String>,
    background: Option<String>,
    bold: Option<bool>,
    italic: Option<bool>,
    underline: Option<bool>,
    dim: Option<bool>,
    reverse: Option<bool>,
}

pub fn parse(name: &str, text: &str, background: Background) -> Result<Theme, ThemeError> {
    let written: Written = toml::from_str(text).map_err(|error| ThemeError::Unreadable {
        theme: name.to_owned(),
        reason: error.to_string().trim_end().to_owned(),
    })?;
    let base = written.base.as_deref().unwrap_or(Theme::BUILT_IN[0]);
    let mut theme = Theme::built_in(base, background)
        .ok_or_else(|| ThemeError::UnknownBase { theme: name.to_owned(), base: base.to_owned() })?;
    name.clone_into(&mut theme.name);
    for (word, style) in &written.styles {
        let role = role(word).ok_or_else(|| unknown_role(name, word))?;
        let changed = style.over(theme.paint(role)).map_err(|color| ThemeError::UnknownColor {
            theme: name.to_owned(),
            role: word.clone(),
            color,
        })?;
        theme.styles.insert(role, changed);
    }
    Ok(theme)
}

/// A role by its name in kebab case.
fn role(name: &str) -> Option<Role> {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};
    let name: StrDeserializer<'_, Error> = name.into_deserializer();
    Role::deserialize(name).ok()
}

fn unknown_role(theme: &str, word: &str) -> ThemeError {
    let names: Vec<String> = Role::ALL.iter().map(|role| kebab(&format!("{role:?}"))).collect();
    let hint = nearest(word, names.iter().map(String::as_str)).map(str::to_owned);
    ThemeError::UnknownRole { theme: theme.to_owned(), role: word.to_owned(), hint }
}

/// `AddedWord` as `added-word`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

impl WrittenStyle {
    /// This style over another one, or the colour that is none.
    fn over(&self, base: Style) -> Result<Style, String> {
        let colour = |written: &Option<String>, base: Option<Colour>| match written.as_deref() {
            None => Ok(base),
            Some("default") => Ok(None),
            Some(text) => Colour::parse(text).map(Some).ok_or_else(|| text.to_owned()),
        };
        Ok(Style {
            foreground: colour(&self.color, base.foreground)?,
            background: colour(&self.background, base.background)?,
            emphasis: Emphasis {
                bold: self.bold.unwrap_or(base.emphasis.bold),
                italic: self.italic.unwrap_or(base.emphasis.italic),
                underline: self.underline.unwrap_or(base.emphasis.underline),
                strike: base.emphasis.strike,
            },
            dim: self.dim.unwrap_or(base.dim),
            reverse: self.reverse.unwrap_or(base.reverse),
        })
    }
}
