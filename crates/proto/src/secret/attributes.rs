//! The list in the words of git.

use super::list::{FILES, FOLDERS, PUBLIC, WRITINGS};

/// The list as a `gitattributes` text under which git shows no content of what the list names: it takes such files
/// for binary ones. Later lines win, as in [`super::looks_secret`].
pub fn secret_attributes() -> String {
    let mut lines = String::new();
    let mut say = |pattern: String, attribute: &str| {
        lines.push_str(&any_case(&pattern));
        lines.push(' ');
        lines.push_str(attribute);
        lines.push('\n');
    };
    for file in FILES {
        say(anywhere(file), "-diff");
    }
    for pattern in templates().chain(["*.pub".to_owned()]).chain(WRITINGS.iter().map(|end| format!("*{end}")))
    {
        say(pattern, "!diff");
    }
    for name in ["process.env", "import.meta.env", "meta.env"] {
        say(name.to_owned(), "!diff");
    }
    for folder in FOLDERS {
        say(format!("**/{folder}"), "-diff");
        say(format!("**/{folder}/**"), "-diff");
    }
    lines
}

/// A pattern with a slash is otherwise meant from the top.
fn anywhere(file: &str) -> String {
    if file.contains('/') { format!("**/{file}") } else { file.to_owned() }
}

/// Environments with the word of a template among the parts of their name.
fn templates() -> impl Iterator<Item = String> {
    PUBLIC.iter().flat_map(|word| {
        [
            format!(".env[._-]{word}"),
            format!(".env*[._-]{word}"),
            format!(".env[._-]{word}[._-]*"),
            format!(".env*[._-]{word}[._-]*"),
            format!("{word}.env"),
            format!("{word}[._-]*.env"),
            format!("*[._-]{word}.env"),
            format!("*[._-]{word}[._-]*.env"),
        ]
    })
}

/// Git tells upper from lower case, and ends a pattern at a space.
fn any_case(pattern: &str) -> String {
    let mut text = String::new();
    for c in pattern.chars() {
        match c {
            'a'..='z' => text.extend(['[', c, c.to_ascii_uppercase(), ']']),
            ' ' => text.push('?'),
            other => text.push(other),
        }
    }
    text
}
