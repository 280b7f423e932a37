//! `/help`: commands and keys, with what they do.

use crate::commands;
use crate::text::{Line, Role};

/// Where help begins beside names that take at most so many columns, on terminals that have at least so many.
const BESIDE: usize = 23;
const NARROW: usize = 60;

/// Every command and the keys that are worth knowing.
pub fn lines(columns: usize) -> Vec<Line> {
    let mut lines = vec![Line::of(Role::Heading, "Commands")];
    lines.extend(commands::help().flat_map(|help| explained(&help.name, help.about, columns)));
    lines.push(Line::of(Role::Heading, "Keys"));
    lines.extend(KEYS.iter().flat_map(|(key, what)| explained(key, what, columns)));
    lines
}

/// A name and what it stands for, which begins below it where there is little room beside it.
pub fn explained(name: &str, what: &str, columns: usize) -> Vec<Line> {
    let first = Line::of(Role::Accent, &format!("  {name:<20} "));
    if columns < NARROW || first.width() > BESIDE {
        let indent = Line::plain("      ");
        let name = Line::of(Role::Accent, &format!("  {name}")).wrap(columns);
        return name.into_iter().chain(Line::plain(what).wrap_behind(columns, &indent, &indent)).collect();
    }
    Line::plain(what).wrap_behind(columns, &first, &Line::plain(&" ".repeat(first.width())))
}

/// The keys that are worth knowing.
const KEYS: [(&str, &str); 12] = [
    ("Enter", "send; while the model works it joins the next request"),
    ("Tab", "send, after the turn; completes @files and /commands"),
    ("Alt-Enter, Ctrl-J", "a new line"),
    ("@", "name a file"),
    ("!COMMAND", "run a command yourself"),
    ("Esc", "stop model and tools"),
    ("Shift-Tab", "the next approval mode"),
    ("Ctrl-R", "search what you sent before"),
    ("Ctrl-G", "write in your editor"),
    ("Ctrl-O", "thoughts in full, or no longer"),
    ("Ctrl-C twice", "leave"),
    ("Ctrl-D", "leave, on an empty line"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(name: &str, what: &str, columns: usize) -> Vec<String> {
        explained(name, what, columns).iter().map(Line::text).collect()
    }

    #[test]
    fn help_stands_beside_its_name_where_there_is_room_and_below_it_elsewhere() {
        let words = "say what the rules say to a command line, and list them";
        assert_eq!(
            rows("/policy", words, 60),
            [
                "  /policy              say what the rules say to a command",
                "                       line, and list them"
            ]
        );
        assert_eq!(rows("/policy", "list them", 40), ["  /policy", "      list them"]);
        let long = "/extensions [enable|disable NAME]";
        assert_eq!(rows(long, "list them", 80), ["  /extensions [enable|disable NAME]", "      list them"]);
        for columns in [20, 40, 59, 60, 80] {
            assert!(
                rows(long, words, columns).iter().all(|row| crate::text::width(row) <= columns),
                "{columns}"
            );
        }
    }
}
