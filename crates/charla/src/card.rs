//! The question whether a call may run, as text of a given width.
//!
//! What would happen is somebody else's text: a model wrote it, or a file holds it. So nothing in it may hide, and nothing in
//! it may pass for a word of ours. It stands behind a margin that no line of it can cross: lines are broken here and not by
//! whoever shows them, and what is not visible is shown by its number. What a person reads last before they answer is
//! what would run, where, and what holds it in.

use std::iter;

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

/// What a row of a card is about. Who shows cards decides by it what a person must have seen, never by the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardPart {
    /// What is asked: words of ours.
    Heading,
    /// How much of something is left out: words of ours.
    Note,
    /// What the model says about its call.
    Title,
    /// The rule that asked, and its reasons.
    Reason,
    /// What an "always" would allow from then on.
    Rule,
    /// The command that would run.
    Command,
    /// The file that would be written.
    File,
    /// How that file would change.
    Diff,
    /// What else would happen: what a tool does, which tool of a server is called and with what.
    Action,
    /// Where a call goes to.
    Address,
    /// The folder of a command.
    Folder,
    /// What holds the call in.
    Isolation,
    /// A question of the model's own.
    Question,
}

/// A row of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardRow {
    /// What it is about.
    pub part: CardPart,
    /// Our word before its margin, on the first row of a part.
    pub label: String,
    /// What stands behind the margin; of a heading or a note, all of it.
    pub text: String,
    /// It goes on with the line of the row before it.
    pub is_broken: bool,
}

impl CardRow {
    /// True for words of ours, which have no margin.
    pub fn is_ours(&self) -> bool {
        matches!(self.part, CardPart::Heading | CardPart::Note)
    }

    /// The row as text.
    fn line(&self) -> String {
        let Self { label, text, .. } = self;
        match self.is_ours() {
            true => text.clone(),
            false => format!("{label:<LABEL$}{}{text}", if self.is_broken { BROKEN } else { MARGIN }),
        }
    }
}

/// A question as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// The text, without the answers that there are.
    pub text: String,
    /// The same row by row.
    pub rows: Vec<CardRow>,
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

    /// A question of the model's own.
    pub fn question(question: &Question, columns: usize) -> Self {
        let mut card = Self::new(columns, true);
        card.say(CardPart::Heading, &format!("{HEADING}a question to you"));
        card.put_text(CardPart::Question, "", &question.header, WORDS);
        card.put_text(CardPart::Question, "", &question.question, COMMAND);
        for (option, number) in question.options.iter().zip(1..) {
            let text = match option.description.is_empty() {
                true => option.label.clone(),
                false => format!("{}: {}", option.label, option.description),
            };
            card.put_text(CardPart::Question, &format!("{number:>9}"), &text, COMMAND);
        }
        if let Some(placeholder) = &question.placeholder {
            card.put_text(CardPart::Question, "such as", placeholder, COMMAND);
        }
        if let Some(default) = &question.default {
            card.put_text(CardPart::Question, "default", default, COMMAND);
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
        Self { text: String::new(), rows: Vec::new(), is_clipped: false, width, whole }
    }

    fn with(mut self, confirmation: &Confirmation) -> Self {
        let Confirmation { tool, title, detail, rule, isolation, reasons, always, .. } = confirmation;
        self.say(CardPart::Heading, &format!("{HEADING}may {} run?", one_line(tool)));
        match detail {
            ConfirmationDetail::Exec { command, .. } => {
                self.put_text(CardPart::Title, "model says", said_by_the_model(title, command), WORDS);
            }
            ConfirmationDetail::Info { text, .. } if text != title => {
                self.put_text(CardPart::Title, "call", title, WORDS);
            }
            _ => {}
        }
        self.put_text(CardPart::Reason, "asked by", rule, REASONS);
        self.put_text(CardPart::Reason, "", &reasons.join("\n"), REASONS);
        if let Some(rules) = always {
            self.put_text(CardPart::Rule, "if always", rules.trim_end(), RULES);
        }
        self.detail(detail);
        self.put_text(CardPart::Isolation, "isolation", isolation, REASONS);
        self
    }

    fn detail(&mut self, detail: &ConfirmationDetail) {
        match detail {
            ConfirmationDetail::Exec { command, cwd } => {
                self.put_text(CardPart::Command, "command", command, COMMAND);
                self.put_text(CardPart::Folder, "folder", &one_line(&cwd.to_string_lossy()), COMMAND);
            }
            ConfirmationDetail::Edit { path, diff, before, .. } => {
                let what = if before.is_some() { "changes" } else { "new file" };
                self.put_text(CardPart::File, what, &one_line(&path.to_string_lossy()), COMMAND);
                self.put_text(CardPart::Diff, "diff", diff.trim_end(), DIFF);
            }
            ConfirmationDetail::Info { text, urls } => {
                self.put_text(CardPart::Action, "does", text, COMMAND);
                self.put_text(CardPart::Address, "goes to", &urls.join("\n"), COMMAND);
            }
            ConfirmationDetail::Mcp { server, tool, args } => {
                let args = serde_json::to_string_pretty(args).unwrap_or_default();
                let called = format!("{} of the server {}", one_line(tool), one_line(server));
                self.put_text(CardPart::Action, "calls", &called, COMMAND);
                self.put_text(CardPart::Action, "with", &args, COMMAND);
            }
            ConfirmationDetail::AskUser { .. } => {}
        }
    }

    /// A text behind the margin.
    fn put_text(&mut self, part: CardPart, label: &str, text: &str, clip: Clip) {
        if text.is_empty() {
            return;
        }
        let rows = broken(text, self.width);
        let Clip { first, last } = clip;
        let hidden = rows.len().saturating_sub(first + last);
        if self.whole || hidden == 0 {
            self.put_rows(part, label, &rows);
            return;
        }
        self.is_clipped = true;
        let (lines, characters) = (text.lines().count(), text.chars().count());
        let plural = if lines == 1 { "" } else { "s" };
        self.say(CardPart::Note, &format!("(long: {characters} characters, {lines} line{plural})"));
        self.put_rows(part, label, rows.get(..first).unwrap_or_default());
        self.say(CardPart::Note, &format!("({hidden} rows are not shown here)"));
        self.put_rows(part, "", rows.get(first + hidden..).unwrap_or_default());
    }

    fn put_rows(&mut self, part: CardPart, label: &str, rows: &[Broken]) {
        let labels = iter::once(label).chain(iter::repeat(""));
        for (Broken { text, is_broken }, label) in rows.iter().zip(labels) {
            let (label, text) = (label.to_owned(), text.clone());
            self.put(CardRow { part, label, text, is_broken: *is_broken });
        }
    }

    /// Words of ours: nothing that is asked about begins so far left.
    fn say(&mut self, part: CardPart, words: &str) {
        self.put(CardRow { part, label: String::new(), text: words.to_owned(), is_broken: false });
    }

    fn put(&mut self, row: CardRow) {
        self.text.push_str(&row.line());
        self.text.push('\n');
        self.rows.push(row);
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

/// A row of a text that was broken at the width.
#[derive(Debug, PartialEq, Eq)]
struct Broken {
    text: String,
    /// It goes on with a line.
    is_broken: bool,
}

/// The lines of a text, visible and broken at the width; between words where there is a place.
fn broken(text: &str, width: usize) -> Vec<Broken> {
    let mut rows = Vec::new();
    for line in visible(text).split('\n') {
        let (mut is_broken, mut row, mut used) = (false, Vec::new(), 0);
        for character in line.replace('\t', TAB).chars() {
            if used + columns(character) > width {
                // A word longer than half a row is broken where it is.
                let space = row.iter().rposition(|character| *character == ' ');
                let end =
                    space.map(|space| space + 1).filter(|end| *end > row.len() / 2).unwrap_or(row.len());
                let rest = row.split_off(end);
                rows.push(Broken { text: row.into_iter().collect(), is_broken });
                used = rest.iter().copied().map(columns).sum();
                (is_broken, row) = (true, rest);
            }
            used += columns(character);
            row.push(character);
        }
        rows.push(Broken { text: row.into_iter().collect(), is_broken });
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
        let row = |text: &str, is_broken| Broken { text: text.to_owned(), is_broken };
        let rows = broken("one two three four", 8);
        assert_eq!(rows, [row("one two ", false), row("three ", true), row("four", true)]);
        assert_eq!(broken("unbroken-word", 8), [row("unbroken", false), row("-word", true)]);
    }

    #[test]
    fn every_row_says_what_it_is_about_whatever_is_written_in_it() {
        use CardPart::*;
        let parts = |confirmation: &Confirmation| {
            let mut parts: Vec<CardPart> =
                Card::whole(confirmation, 40).rows.iter().map(|row| row.part).collect();
            parts.dedup();
            parts
        };
        let mut asked = exec("make\nif always  │ x\nfolder     │ /safe", "make (Builds it)");
        assert_eq!(parts(&asked), [Heading, Title, Reason, Rule, Command, Folder, Isolation]);
        let diff = "+isolation  │ all\n".to_owned();
        let (path, after) = ("/w/a".into(), String::new());
        asked.detail = ConfirmationDetail::Edit { path, diff, before: None, after };
        assert_eq!(parts(&asked), [Heading, Reason, Rule, File, Diff, Isolation]);
        let (text, urls) = ("looks".to_owned(), vec!["https://a.example".to_owned()]);
        asked.detail = ConfirmationDetail::Info { text, urls };
        asked.always = None;
        assert_eq!(parts(&asked), [Heading, Title, Reason, Action, Address, Isolation]);
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
