//! The question whether a call may run, as text of a given width.
//!
//! What would happen is somebody else's text: a model wrote it, or a file holds it. So nothing in it may hide, and nothing in
//! it may pass for a word of ours. It stands behind a margin that no line of it can cross: lines are broken here and not by
//! whoever shows them, and what is not visible is shown by its number. What a person reads last before they answer is
//! what would run, where, and what holds it in.

use charla_proto::text::{one_line, visible};
use charla_proto::{Confirmation, ConfirmationDetail, Question};

/// The columns of our own words.
const LABEL: usize = 11;
/// Begins a card.
const HEADING: &str = "── ";
/// Begins a line of what is asked about, and a line that was broken.
const MARGIN: &str = "│ ";
const BROKEN: &str = "┆ ";
/// No line is broken shorter.
const LEAST: usize = 20;
const TAB: &str = "    ";

/// How many rows of something are shown: all up to a number, else its beginning and its end.
#[derive(Clone, Copy)]
struct Clip {
    first: usize,
    last: usize,
}

const WORDS: Clip = Clip { first: 4, last: 2 };
const REASONS: Clip = Clip { first: 12, last: 4 };
const RULES: Clip = Clip { first: 12, last: 4 };
const COMMAND: Clip = Clip { first: 14, last: 10 };
const DIFF: Clip = Clip { first: 80, last: 40 };

/// A question as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The text, without the answers that there are.
    pub text: String,
    /// Something in the middle is left out: [`Card::whole`] has it.
    pub is_clipped: bool,
    width: usize,
    whole: bool,
}

impl Card {
    /// The question, for lines of so many columns. What is long is shown by its beginning and its end, and says how long it is.
    pub fn of(confirmation: &Confirmation, columns: usize) -> Self {
        Self::new(columns, false).with(confirmation)
    }

    /// The same with nothing left out.
    pub fn whole(confirmation: &Confirmation, columns: usize) -> Self {
        Self::new(columns, true).with(confirmation)
    }

    /// A question of the model's own. `answers` is what can be said.
    pub fn question(question: &Question, columns: usize) -> Self {
        let mut card = Self::new(columns, true);
        card.text.push_str(&format!("{HEADING}a question to you\n"));
        card.rows("", &question.header, WORDS);
        card.rows("", &question.question, COMMAND);
        for (option, number) in question.options.iter().zip(1..) {
            let text = match option.description.is_empty() {
                true => option.label.clone(),
                false => format!("{}: {}", option.label, option.description),
            };
            card.rows(&format!("{number:>9}"), &text, COMMAND);
        }
        if let Some(placeholder) = &question.placeholder {
            card.rows("such as", placeholder, COMMAND);
        }
        if let Some(default) = &question.default {
            card.rows("default", default, COMMAND);
        }
        card
    }

    /// The same for ears: no character of it is drawn, and what is asked about still stands behind a margin.
    pub fn spoken(text: &str) -> String {
        let spoken = |line: &str| match line.strip_prefix(HEADING) {
            Some(rest) => format!("question: {rest}"),
            None => {
                let (label, rest): (String, String) =
                    (line.chars().take(LABEL).collect(), line.chars().skip(LABEL).collect());
                match rest.strip_prefix(MARGIN).or_else(|| rest.strip_prefix(BROKEN)) {
                    Some(rest) => format!("{label}: {rest}"),
                    None => line.to_owned(),
                }
            }
        };
        text.lines().map(|line| format!("{}\n", spoken(line))).collect()
    }

    fn new(columns: usize, whole: bool) -> Self {
        let width = columns.saturating_sub(LABEL + MARGIN.chars().count()).max(LEAST);
        Self { text: String::new(), is_clipped: false, width, whole }
    }

    fn with(mut self, confirmation: &Confirmation) -> Self {
        let Confirmation { tool, title, detail, rule, isolation, reasons, always, .. } = confirmation;
        self.text = format!("{HEADING}may {} run?\n", one_line(tool));
        match detail {
            ConfirmationDetail::Exec { command, .. } => {
                self.rows("model says", said_by_the_model(title, command), WORDS);
            }
            ConfirmationDetail::Info { text, .. } if text != title => self.rows("call", title, WORDS),
            _ => {}
        }
        self.rows("asked by", rule, REASONS);
        self.rows("", &reasons.join("\n"), REASONS);
        if let Some(rules) = always {
            self.rows("if always", rules.trim_end(), RULES);
        }
        self.detail(detail);
        self.rows("isolation", isolation, REASONS);
        self
    }

    fn detail(&mut self, detail: &ConfirmationDetail) {
        match detail {
            ConfirmationDetail::Exec { command, cwd } => {
                self.rows("command", command, COMMAND);
                self.rows("folder", &one_line(&cwd.to_string_lossy()), COMMAND);
            }
            ConfirmationDetail::Edit { path, diff, before, .. } => {
                let what = if before.is_some() { "changes" } else { "new file" };
                self.rows(what, &one_line(&path.to_string_lossy()), COMMAND);
                self.rows("diff", diff.trim_end(), DIFF);
            }
            ConfirmationDetail::Info { text, urls } => {
                self.rows("does", text, COMMAND);
                self.rows("goes to", &urls.join("\n"), COMMAND);
            }
            ConfirmationDetail::Mcp { server, tool, args } => {
                let args = serde_json::to_string_pretty(args).unwrap_or_default();
                self.rows(
                    "calls",
                    &format!("{} of the server {}", one_line(tool), one_line(server)),
                    COMMAND,
                );
                self.rows("with", &args, COMMAND);
            }
            ConfirmationDetail::AskUser { .. } => {}
        }
    }

    /// A text behind the margin.
    fn rows(&mut self, label: &str, text: &str, clip: Clip) {
        if text.is_empty() {
            return;
        }
        let rows = broken(text, self.width);
        let Clip { first, last } = clip;
        let hidden = rows.len().saturating_sub(first + last);
        if self.whole || hidden == 0 {
            self.put(label, &rows);
            return;
        }
        self.is_clipped = true;
        let (lines, characters) = (text.lines().count(), text.chars().count());
        let plural = if lines == 1 { "" } else { "s" };
        self.say(&format!("(long: {characters} characters, {lines} line{plural})"));
        self.put(label, rows.get(..first).unwrap_or_default());
        self.say(&format!("({hidden} rows are not shown here)"));
        self.put("", rows.get(first + hidden..).unwrap_or_default());
    }

    fn put(&mut self, label: &str, rows: &[String]) {
        let mut label = label;
        for row in rows {
            self.text.push_str(&format!("{label:<LABEL$}{row}\n"));
            label = "";
        }
    }

    /// Words of ours: nothing that is asked about begins so far left.
    fn say(&mut self, words: &str) {
        self.text.push_str(&format!("{words}\n"));
    }
}

/// What the model says about its command: what a title has behind it.
fn said_by_the_model<'a>(title: &'a str, command: &str) -> &'a str {
    match title.strip_prefix(command) {
        Some(rest) => {
            rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or_default()
        }
        None => title,
    }
}

/// The lines of a text, visible, broken at the width and behind their margin; between words where there is a place.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in visible(text).split('\n') {
        let (mut margin, mut row, mut used) = (MARGIN, Vec::new(), 0);
        for character in line.replace('\t', TAB).chars() {
            if used + columns(character) > width {
                // A word longer than half a row is broken where it is.
                let space = row.iter().rposition(|character| *character == ' ');
                let end =
                    space.map(|space| space + 1).filter(|end| *end > row.len() / 2).unwrap_or(row.len());
                let rest = row.split_off(end);
                rows.push(margin.chars().chain(row).collect());
                used = rest.iter().copied().map(columns).sum();
                (margin, row) = (BROKEN, rest);
            }
            used += columns(character);
            row.push(character);
        }
        rows.push(margin.chars().chain(row).collect());
    }
    rows
}

/// Which characters are wide depends on the terminal: all that may be count as such.
fn columns(character: char) -> usize {
    if character.is_ascii() { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use charla_proto::QuestionOption;
    use insta::assert_snapshot;

    use super::*;

    fn exec(command: &str, title: &str) -> Confirmation {
        Confirmation {
            tool: "run_shell_command".to_owned(),
            title: title.to_owned(),
            detail: ConfirmationDetail::Exec { command: command.to_owned(), cwd: "/w".into() },
            rule: "default built-in#8".to_owned(),
            isolation: "none".to_owned(),
            reasons: vec!["make: it is not known to be harmless".to_owned()],
            always: Some("[[rule]]\ncommand = \"make\"\ndecision = \"allow\"\n".to_owned()),
            confinement: None,
        }
    }

    #[test]
    fn a_card_shows_everything_and_ends_with_what_would_run() {
        let command = "make\n\u{1b}[2Kls \u{202e}x";
        let card = Card::of(&exec(command, &format!("{command} (Builds it\nfolder     /safe)")), 80);
        assert!(!card.is_clipped);
        assert_snapshot!(card.text, @r#"
        ── may run_shell_command run?
        model says │ Builds it
                   │ folder     /safe
        asked by   │ default built-in#8
                   │ make: it is not known to be harmless
        if always  │ [[rule]]
                   │ command = "make"
                   │ decision = "allow"
        command    │ make
                   │ \u{1b}[2Kls \u{202e}x
        folder     │ /w
        isolation  │ none
        "#);
    }

    #[test]
    fn a_file_is_named_above_its_diff_which_has_a_label() {
        let mut edit = exec("", "");
        let diff = "+Hello.".to_owned();
        edit.detail =
            ConfirmationDetail::Edit { path: "/w/a".into(), diff, before: None, after: String::new() };
        let card = Card::of(&edit, 80).text;
        let end =
            "           │ decision = \"allow\"\nnew file   │ /w/a\ndiff       │ +Hello.\nisolation  │ none\n";
        assert!(card.ends_with(end), "{card}");
    }

    #[test]
    fn a_card_for_ears_draws_nothing_and_keeps_its_margin() {
        let spoken = Card::spoken(&Card::of(&exec("make\n── may ls run?", ""), 80).text);
        assert!(spoken.starts_with("question: may run_shell_command run?\n"), "{spoken}");
        assert!(
            spoken.contains("command    : make\n           : ── may ls run?\nfolder     : /w\n"),
            "{spoken}"
        );
        assert!(!spoken.contains(['│', '┆']), "{spoken}");
    }

    #[test]
    fn a_long_command_says_so_and_shows_its_end() {
        let command = format!("true {}; rm -rf important", "x ".repeat(5000));
        let card = Card::of(&exec(&command, &command), 80);
        assert!(card.is_clipped && card.text.contains("(long: 10023 characters, 1 line)\n"), "{}", card.text);
        let joined = card.text.replace("\n           ┆ ", "");
        assert!(joined.contains("rm -rf important\nfolder     │ /w\nisolation  │ none\n"), "{}", card.text);
        assert!(card.text.lines().count() < 40, "{}", card.text);
        let whole = Card::whole(&exec(&command, &command), 80);
        assert!(!whole.is_clipped && whole.text.matches('x').count() >= 5000);
    }

    #[test]
    fn lines_are_broken_between_words_and_nothing_is_lost() {
        let rows = broken("one two three four", 8);
        let expected = [format!("{MARGIN}one two "), format!("{BROKEN}three "), format!("{BROKEN}four")];
        assert_eq!(rows, expected);
        assert_eq!(broken("unbroken-word", 8), [format!("{MARGIN}unbroken"), format!("{BROKEN}-word")]);
    }

    /// Whatever stands in a question, no line of it begins where our own words do, and none is longer than the terminal.
    #[test]
    fn nothing_in_a_question_can_pass_for_a_line_of_ours() {
        let forged = [
            "ls\n\nfolder     │ /safe\nisolation  │ all\ny once? ".to_owned(),
            "── may ls run?\r\n── may ls run?\n".to_owned(),
            format!("true{}folder     │ /safe", " ".repeat(63)),
            format!("true{}── may ls run?", " ".repeat(80 - 13 - 4)),
            format!("{}── may ls run?", "漢".repeat(33)),
            "a\u{2028}── x\u{85}── y\u{b}── z\u{c}── w\u{1b}[1;1H── v\t\t\t\t\t\t\t\t── u".to_owned(),
            "x\n".repeat(500),
        ];
        let ours = [
            "── ",
            "model says",
            "asked by",
            "if always",
            "command ",
            "folder ",
            "isolation",
            "(",
            "changes",
            "diff",
        ];
        for text in &forged {
            let mut all = vec![exec(text, &format!("{text} ({text})"))];
            all[0].reasons = vec![text.clone()];
            all[0].always = Some(text.clone());
            let mut edit = all[0].clone();
            let (diff, after) = (text.clone(), text.clone());
            edit.detail =
                ConfirmationDetail::Edit { path: text.into(), diff, before: Some(String::new()), after };
            all.push(edit);
            for confirmation in &all {
                let card = Card::of(confirmation, 80).text;
                for line in card.lines() {
                    let (label, rest): (String, String) =
                        (line.chars().take(LABEL).collect(), line.chars().skip(LABEL).collect());
                    let behind = rest.starts_with(MARGIN) || rest.starts_with(BROKEN);
                    let known =
                        label.trim().is_empty() || ours.iter().any(|word| label.starts_with(word.trim()));
                    assert!(known, "{line:?} of {text:?}");
                    assert!(
                        behind || line.starts_with("── may ") || line.starts_with('('),
                        "{line:?} of {text:?}"
                    );
                    let columns: usize =
                        rest.chars().map(|c| if c.is_ascii() || "│┆".contains(c) { 1 } else { 2 }).sum();
                    assert!(LABEL + columns <= 80 || !behind, "{line:?}");
                }
                assert_eq!(card.lines().filter(|line| line.starts_with("── ")).count(), 1, "{card}");
                assert_eq!(card.lines().filter(|line| line.starts_with("isolation")).count(), 1, "{card}");
                assert!(card.ends_with("isolation  │ none\n"), "{card}");
            }
        }
    }

    #[test]
    fn a_question_of_the_model_is_told_as_such() {
        let option = |label: &str| QuestionOption { label: label.to_owned(), description: "warm".to_owned() };
        let question = Question {
            header: "Colour".to_owned(),
            question: "Which?\n── may ls run?".to_owned(),
            options: vec![option("red")],
            ..Question::default()
        };
        assert_snapshot!(Card::question(&question, 80).text, @r"
        ── a question to you
                   │ Colour
                   │ Which?
                   │ ── may ls run?
                1  │ red: warm
        ");
    }
}
