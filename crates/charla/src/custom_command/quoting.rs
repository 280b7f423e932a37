//! What is typed, put where a shell command has a place for it, so that it is one word (or a part of one) whatever stands in it.
//!
//! The author's text is read for the quotes that are open at each place. Where only a shell could tell how it would read the place (a
//! here-document, a comment, backquotes, arithmetic, `$(…)` in quotes), nothing is put there: such a command is not used.

use super::ARGUMENTS;

/// The command with what was typed in its places; absent where a place is not clear. That does not depend on what was typed.
pub(super) fn filled(command: &str, typed: &str) -> Option<String> {
    let mut reader = Reader { quotes: Quotes::None, before: ' ', subscripts: 0 };
    let mut filled = String::new();
    let mut rest = command;
    while !rest.is_empty() {
        rest = if let Some(behind) = rest.strip_prefix(ARGUMENTS) {
            filled.push_str(&reader.place(typed)?);
            behind
        } else {
            let (read, behind) = rest.split_at_checked(reader.step(rest)?)?;
            filled.push_str(read);
            behind
        };
    }
    (reader.quotes == Quotes::None).then_some(filled)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

/// What stands before a place, as a shell reads it.
struct Reader {
    quotes: Quotes,
    /// The character before, or a letter for one that has no meaning of its own.
    before: char,
    /// How many `name[…` are open, which a shell reads as arithmetic.
    subscripts: usize,
}

/// A character without a meaning of its own.
const PLAIN: char = 'x';

impl Reader {
    /// What was typed, for the quotes that are open here.
    fn place(&mut self, typed: &str) -> Option<String> {
        if self.subscripts > 0 {
            return None;
        }
        self.before = PLAIN;
        let single = || typed.replace('\'', r"'\''");
        Some(match self.quotes {
            Quotes::None if typed.is_empty() => String::new(),
            Quotes::None => format!("'{}'", single()),
            Quotes::Single => single(),
            Quotes::Double => escaped(typed),
        })
    }

    /// Reads on: how many bytes were read.
    fn step(&mut self, rest: &str) -> Option<usize> {
        let c = rest.chars().next()?;
        match (self.quotes, c) {
            (Quotes::Single, '\'') | (Quotes::Double, '"') => self.turn(Quotes::None),
            (Quotes::Single, _) => Some(c.len_utf8()),
            (_, '\\') => self.escape(rest),
            (_, '$') => self.dollar(rest),
            (_, '`') => None,
            (Quotes::Double, _) => self.read(c),
            (Quotes::None, '\'') => self.turn(Quotes::Single),
            (Quotes::None, '"') => self.turn(Quotes::Double),
            (Quotes::None, _) => self.bare(c, rest),
        }
    }

    fn turn(&mut self, quotes: Quotes) -> Option<usize> {
        self.quotes = quotes;
        self.before = PLAIN;
        Some(1)
    }

    fn read(&mut self, c: char) -> Option<usize> {
        self.before = c;
        Some(c.len_utf8())
    }

    /// A backslash and what it takes the meaning from. Before the end of a line both vanish, so that what stands around them is one:
    /// that is followed behind a blank only.
    fn escape(&mut self, rest: &str) -> Option<usize> {
        let behind = rest.strip_prefix('\\')?;
        let c = behind.chars().next()?;
        match c {
            '\n' if !self.before.is_whitespace() => return None,
            '\n' => {}
            _ if behind.starts_with(ARGUMENTS) => return None,
            _ => self.before = PLAIN,
        }
        Some(1 + c.len_utf8())
    }

    /// A variable, or the beginning of something that is read by other rules.
    fn dollar(&mut self, rest: &str) -> Option<usize> {
        let behind = rest.strip_prefix('$')?;
        let in_double = self.quotes == Quotes::Double;
        self.before = '$';
        match behind.chars().next() {
            Some('{') => {
                let (name, _) = behind.strip_prefix('{')?.split_once('}')?;
                self.before = PLAIN;
                (!name.is_empty() && name.chars().all(is_of_name)).then_some(name.len() + 3)
            }
            Some('[') => None,
            Some('(') if in_double => None,
            Some('\'' | '"') if !in_double => None,
            Some(c) if is_of_name(c) => {
                let end = behind.find(|c| !is_of_name(c)).unwrap_or(behind.len());
                let grows = in_double && behind.get(end..)?.starts_with(ARGUMENTS);
                self.before = PLAIN;
                (!grows).then_some(end + 1)
            }
            _ => Some(1),
        }
    }

    /// A character outside of quotes.
    fn bare(&mut self, c: char, rest: &str) -> Option<usize> {
        let is_word_start = self.before.is_whitespace() || ";&|()<>".contains(self.before);
        match c {
            '#' if is_word_start => return None,
            '(' if "(=".contains(self.before) => return None,
            '<' if rest.starts_with("<<<") => return self.read(c).map(|_| 3),
            '<' if rest.starts_with("<<") => return None,
            '[' if is_word_start && is_word(rest, "[[") => return None,
            '[' if is_word_start && is_word(rest, "[") => {}
            '[' => self.subscripts += 1,
            ']' => self.subscripts = self.subscripts.saturating_sub(1),
            _ => {}
        }
        self.read(c)
    }
}

/// True where the text begins with this word and a blank.
fn is_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|behind| behind.chars().next().is_none_or(char::is_whitespace))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The text as it stands in double quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "\"$`\\".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    const HOSTILE: [&str; 20] = [
        "plain",
        "two  words",
        "'; touch owned; '",
        "\"; touch owned; \"",
        "$(touch owned)",
        "`touch owned`",
        "\\",
        "\\'; touch owned #",
        "\\\"; touch owned #",
        "\\$(touch owned)",
        "a\ntouch owned\n",
        "\nEOF\ntouch owned\n",
        "a[$(touch owned)]",
        "\\\n'; touch owned",
        "}; touch owned; {",
        ")); touch owned; ((",
        "(touch owned)",
        "{HOME}",
        "* ~ & | < > !! % {a,b} é",
        "2",
    ];

    /// What a shell prints, in an empty folder, and whether the folder is still empty.
    fn run(command: &str) -> (String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let shell =
            Command::new("bash").args(["-c", command]).current_dir(&folder).stdin(Stdio::null()).output();
        let printed = String::from_utf8_lossy(&shell.unwrap().stdout).into_owned();
        (printed, std::fs::read_dir(&folder).unwrap().next().is_none())
    }

    #[test]
    fn what_is_typed_is_one_word_in_whatever_quotes_its_place_stands() {
        let templates = [
            ("printf '<%s>' {{args}}", ("<", ">")),
            ("printf '<%s>' a{{args}}b", ("<a", "b>")),
            ("printf '<%s>' 'a {{args}} b'", ("<a ", " b>")),
            ("printf '<%s>' \"a {{args}} b\"", ("<a ", " b>")),
            ("printf '<%s>' \"it's {{args}}\"", ("<it's ", ">")),
            ("printf '<%s>' 'say \"{{args}}\"'", ("<say \"", "\">")),
            ("printf '<%s>' it\\'s{{args}}", ("<it's", ">")),
            ("printf '<%s>' \"\\\"{{args}}\\\"\"", ("<\"", "\">")),
            ("printf '<%s>' \"\\${{args}}\"", ("<$", ">")),
            ("printf '<%s>' \\\n  {{args}}", ("<", ">")),
            ("x=y; printf '<%s>' $x{{args}}", ("<y", ">")),
            ("x=y; printf '<%s>' \"${x}{{args}}\"", ("<y", ">")),
            ("x={{args}}; printf '<%s>' \"$x\"", ("<", ">")),
            ("printf '<%s>' $# {{args}}", ("<0><", ">")),
            ("[ -n {{args}} ] && printf '<%s>' {{args}}", ("<", ">")),
            ("x=$(printf '<%s>.' {{args}}); printf %s \"$x\"", ("<", ">.")),
            ("(printf '<%s>' {{args}}) | cat", ("<", ">")),
            ("cat <<< \"{{args}}.\"", ("", ".\n")),
            ("printf '<%s>' 'é'\"ü{{args}}\"", ("<éü", ">")),
        ];
        for (template, (first, last)) in templates {
            for typed in HOSTILE {
                let line = filled(template, typed).unwrap_or_else(|| panic!("{template} is not clear"));
                assert_eq!(run(&line), (format!("{first}{typed}{last}"), true), "{line}");
            }
        }
    }

    #[test]
    fn a_place_that_only_a_shell_could_read_is_not_filled() {
        for template in [
            "cat <<EOF\n{{args}}\nEOF",
            "cat <<-'EOF'\n{{args}}\nEOF",
            "ls # {{args}}",
            "#{{args}}",
            "ls;# {{args}}",
            "echo `echo {{args}}`",
            "echo \"`echo {{args}}`\"",
            "echo \"$(echo {{args}})\"",
            "echo \"${x:-{{args}}}\"",
            "echo ${x:{{args}}}",
            "echo ${{args}}",
            "echo \"${{args}}\"",
            "echo \"$x{{args}}\"",
            "echo $'{{args}}'",
            "echo $\"{{args}}\"",
            "echo $(( {{args}} ))",
            "echo $[{{args}}]",
            "(({{args}}))",
            "[[ {{args}} -eq 1 ]]",
            "a[{{args}}]=1",
            "a[\"{{args}}\"]=1",
            "a=([{{args}}]=1)",
            "a[b[0]+{{args}}]=1",
            "a[b[c[0]]+{{args}}]=1",
            "echo \\{{args}}",
            "echo \"\\{{args}}\"",
            "echo $\\\n{{args}}",
            "echo \"{{args}}",
            "echo '{{args}}",
        ] {
            assert_eq!(filled(template, "x"), None, "{template}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn nothing_that_is_typed_runs(
            pieces in prop::collection::vec(prop::sample::select(vec![
                "{{args}}", "{{args}}", "echo ", "a", " ", "\n", "'", "\"", "\\", "$", "`", "#", "(", ")", "$(", "${a", "}", "[", "]", "<", "=", ";", "|",
            ]), 1..14),
            typed in prop::sample::select(HOSTILE.to_vec()),
        ) {
            let template = pieces.concat();
            if let Some(line) = filled(&template, typed) {
                prop_assert!(run(&line).1, "{template}: {line}");
            }
        }
    }
}
