use charla_proto::{Confirmation, Question, QuestionOption};
use crossterm::event::{KeyCode, KeyModifiers};

use super::held::HOLD;
use super::*;

fn exec(command: &str) -> Arc<CallAsked> {
    asked(ConfirmationDetail::Exec { command: command.to_owned(), cwd: "/w".into() })
}

fn asked(detail: ConfirmationDetail) -> Arc<CallAsked> {
    Arc::new(CallAsked {
        turn: 1,
        call: "c1".to_owned(),
        stands_for: None,
        approval: "s:7".to_owned(),
        confirmation: Confirmation {
            tool: "run_shell_command".to_owned(),
            title: "x".to_owned(),
            detail,
            rule: "default built-in#8".to_owned(),
            isolation: "none".to_owned(),
            reasons: Vec::new(),
            always: Some("[[rule]]\n".to_owned()),
            confinement: None,
        },
    })
}

fn press(card: &mut Card, code: KeyCode, now: Instant) -> Deed {
    card.key(KeyEvent::new(code, KeyModifiers::NONE), false, now)
}

/// What a key says once nothing follows it.
fn alone(card: &mut Card, key: char, now: Instant) -> Deed {
    assert_eq!(press(card, KeyCode::Char(key), now), Deed::Taken, "{key}");
    assert_eq!(card.settle(now + HOLD / 2).0, Deed::Taken, "{key}");
    card.settle(now + HOLD).0
}

/// What these keys write into the line, typed this far apart; an answer fails.
fn written(card: &mut Card, keys: &str, pause: Duration, mut now: Instant) -> String {
    let mut line = String::new();
    for c in keys.chars() {
        let deeds = [card.settle(now).0, press(card, KeyCode::Char(c), now)];
        for deed in deeds {
            match deed {
                Deed::Write(keys) => line.extend(keys.into_iter().filter_map(letter)),
                Deed::NotMine => line.push(c),
                Deed::Taken => {}
                other => panic!("{other:?} at {c:?} behind {line:?}"),
            }
        }
        now += pause;
    }
    line
}

/// It has stood on the screen, with nothing of it in sight.
fn arm(card: &mut Card, now: Instant) {
    card.is_drawn = true;
    card.written(now);
}

fn ready(asked: Arc<CallAsked>) -> (Card, Instant) {
    let mut card = Card::new(asked);
    let now = Instant::now();
    card.view(80, 40, (0, false), now);
    card.written(now);
    (card, now + QUIET)
}

fn text_of(card: &mut Card, columns: usize, rows: usize, now: Instant) -> String {
    let (lines, _) = card.view(columns, rows, (0, false), now);
    card.written(now);
    assert!(lines.len() <= rows.max(1), "{} rows of {rows}", lines.len());
    lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
}

#[test]
fn keys_typed_before_the_card_was_seen_never_answer_it() {
    let mut card = Card::new(exec("rm -rf x"));
    let now = Instant::now();
    assert_eq!(press(&mut card, KeyCode::Char('y'), now), Deed::NotMine);
    card.view(80, 24, (0, false), now);
    assert_eq!(press(&mut card, KeyCode::Char('y'), now + QUIET * 9), Deed::NotMine);
    assert_eq!(press(&mut card, KeyCode::Esc, now + QUIET * 9), Deed::Taken);
    card.written(now);
    assert_eq!(press(&mut card, KeyCode::Char('y'), now + QUIET / 2), Deed::NotMine);
    // Somebody who goes on typing has not read it yet.
    assert_eq!(press(&mut card, KeyCode::Char('y'), now + QUIET), Deed::NotMine);
    // What they write goes on in the line, however slowly, until they come back.
    let later = now + QUIET + QUIET;
    assert_eq!(press(&mut card, KeyCode::Char('y'), later), Deed::NotMine);
    assert_eq!(press(&mut card, KeyCode::Esc, later), Deed::Taken);
    assert_eq!(alone(&mut card, 'y', later), Deed::Answer(Outcome::ProceedOnce));
}

#[test]
fn every_key_has_its_answer() {
    for (key, outcome) in [
        ('y', Outcome::ProceedOnce),
        ('a', Outcome::ProceedAlways),
        ('s', Outcome::ProceedAlwaysAndSave),
        ('t', Outcome::ProceedAlwaysTool),
        ('n', Outcome::Cancel { reason: None }),
    ] {
        let (mut card, now) = ready(exec("make"));
        assert_eq!(alone(&mut card, key, now), Deed::Answer(outcome), "{key}");
    }
    let (mut card, now) = ready(exec("make"));
    assert_eq!(alone(&mut card, 'e', now), Deed::Edit);
    assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::Taken);
    assert_eq!(alone(&mut card, 'r', now), Deed::Taken);
    for c in "too slow".chars() {
        assert_eq!(press(&mut card, KeyCode::Char(c), now), Deed::Taken);
    }
    let reason = Some("too slow".to_owned());
    assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::Answer(Outcome::Cancel { reason }));
}

#[test]
fn a_word_is_no_answer_however_it_begins() {
    let (burst, slow) = (Duration::from_millis(5), Duration::from_secs(2));
    for (words, pause) in [
        ("stop it", burst),
        ("a", Duration::ZERO),
        ("/tools", slow),
        ("xstop", slow),
        ("yesterday", burst),
        ("not that", burst),
        ("ty", burst),
        ("yt", burst),
    ] {
        let (mut card, now) = ready(exec("make"));
        let line = written(&mut card, words, pause, now);
        let expected = if words == "a" { "" } else { words };
        assert_eq!(line, expected);
        assert_eq!(card.is_beside(), words != "a", "{words}");
    }
    // What was pasted behind a letter belongs to it.
    let (mut card, now) = ready(exec("make"));
    press(&mut card, KeyCode::Char('t'), now);
    assert!(matches!(card.paste("ools", now), Deed::Write(keys) if keys.len() == 1));
    assert!(card.is_beside());
}

#[test]
fn keys_come_back_from_the_line_by_escape_and_when_it_is_empty() {
    let (mut card, now) = ready(exec("make"));
    written(&mut card, "x", Duration::ZERO, now);
    let shown = |card: &mut Card, now| {
        let (lines, place) = card.view(80, 20, (0, false), now);
        (lines.last().unwrap().text(), place.is_some())
    };
    assert!(matches!(shown(&mut card, now), (words, false) if words.contains("Esc, or an empty line")));
    assert_eq!(press(&mut card, KeyCode::Esc, now), Deed::Taken);
    assert!(matches!(shown(&mut card, now), (words, true) if words.contains("r no, with a reason")));
    written(&mut card, "x", Duration::ZERO, now);
    card.line_is_empty(now);
    assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::NotMine);
    assert_eq!(alone(&mut card, 'n', now + QUIET), Deed::Answer(Outcome::Cancel { reason: None }));
}

#[test]
fn whole_words_and_enter_answer_and_one_answer_is_all() {
    for (words, outcome) in [
        ("yes", Outcome::ProceedOnce),
        ("no", Outcome::Cancel { reason: None }),
        ("t", Outcome::ProceedAlwaysTool),
    ] {
        let (mut card, now) = ready(exec("make"));
        assert_eq!(written(&mut card, words, Duration::from_millis(9), now), "");
        assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::Answer(outcome));
        card.answered();
        assert_eq!(written(&mut card, "tsy", Duration::from_secs(1), now), "tsy");
        card.complain("refused");
        assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
    }
}

#[test]
fn of_a_long_command_the_beginning_and_the_end_are_seen_first() {
    let command = (0..60).map(|n| format!("echo {n}")).collect::<Vec<_>>().join("\n");
    let (mut card, now) = ready(exec(&command));
    let first = text_of(&mut card, 60, 18, now);
    for part in ["may run_shell_command run?", "asked by", "│ echo 0\n", "hidden ·", "echo 59", "isolation"]
    {
        assert!(first.contains(part), "{part}: {first}");
    }
    press(&mut card, KeyCode::Home, now);
    assert!(text_of(&mut card, 60, 14, now).contains("may run_shell_command run?"));
    press(&mut card, KeyCode::PageDown, now);
    press(&mut card, KeyCode::Down, now);
    assert!(text_of(&mut card, 60, 14, now).contains("echo 9\n"));
    press(&mut card, KeyCode::End, now);
    assert!(text_of(&mut card, 60, 14, now).contains("isolation"));
}

/// A change of one line in the middle of a file.
fn edit() -> Arc<CallAsked> {
    let context = |from: usize| (from..from + 3).map(|n| format!(" line {n}\n")).collect::<String>();
    asked(ConfirmationDetail::Edit {
        path: "/w/a.txt".into(),
        diff: format!("--- a.txt\n+++ a.txt\n@@ -7,7 +7,7 @@\n{}-old\n+new\n{}", context(7), context(11)),
        before: Some("old\n".to_owned()),
        after: "new\n".to_owned(),
    })
}

fn shown_once(asked: &Arc<CallAsked>, (columns, rows): (usize, usize)) -> (Card, String, Instant) {
    let mut card = Card::new(asked.clone());
    let now = Instant::now();
    arm(&mut card, now);
    let shown = text_of(&mut card, columns, rows, now + QUIET);
    let widest = shown.lines().map(crate::text::width).max();
    assert!(widest <= Some(columns), "{columns}x{rows}:\n{shown}");
    (card, shown, now + QUIET)
}

#[test]
fn what_would_happen_is_in_sight_however_small_the_window_is() {
    let sizes = [(20, 2), (20, 4), (40, 2), (40, 3), (40, 4), (60, 5), (80, 7), (80, 12)];
    for size in sizes {
        let (mut card, shown, now) = shown_once(&exec("rm -rf precious"), size);
        assert!(shown.contains("rm -rf precious") && shown.contains("Allow? y once"), "{size:?}:\n{shown}");
        assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
    }
    for size in [(40, 7), (60, 8), (80, 8), (80, 12), (80, 20)] {
        let (mut card, shown, now) = shown_once(&edit(), size);
        for part in ["/w/a.txt", "│ -old", "│ +new", "Allow? y once"] {
            assert!(shown.contains(part), "{part} in {size:?}:\n{shown}");
        }
        assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
    }
}

#[test]
fn a_long_change_is_allowed_by_its_ends_and_what_is_hidden_of_it() {
    let lines: String = (0..60).map(|n| format!("+line {n}\n")).collect();
    let asked = asked(ConfirmationDetail::Edit {
        path: "/w/new.txt".into(),
        diff: format!("--- new.txt\n+++ new.txt\n@@ -0,0 +1,60 @@\n{lines}"),
        before: None,
        after: lines.replace('+', ""),
    });
    let (mut card, shown, now) = shown_once(&asked, (80, 20));
    for part in ["/w/new.txt", "│ +line 0\n", "hidden ·", "│ +line 59\n", "y once"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
}

#[test]
fn a_long_change_is_read_page_by_page() {
    let lines: String = (0..60).map(|n| format!("+line {n}\n")).collect();
    let asked = asked(ConfirmationDetail::Edit {
        path: "/w/new.txt".into(),
        diff: format!("--- new.txt\n+++ new.txt\n@@ -0,0 +1,60 @@\n{lines}"),
        before: None,
        after: lines.replace('+', ""),
    });
    let (mut card, mut shown, now) = shown_once(&asked, (80, 12));
    for _ in 0..20 {
        press(&mut card, KeyCode::PageDown, now);
        shown.push_str(&text_of(&mut card, 80, 12, now));
    }
    let missing: Vec<usize> = (0..60).filter(|n| !shown.contains(&format!("│ +line {n}\n"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn nobody_allows_what_they_have_not_gone_through() {
    let long = (0..60).map(|n| format!("echo {n}")).collect::<Vec<_>>().join("\n");
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    for (asked, size) in
        [(exec(&long), (80, 16)), (exec(&long), (20, 5)), (edit(), (20, 4)), (edit(), (80, 4))]
    {
        let (mut card, mut shown, now) = shown_once(&asked, size);
        let mut pages = 0;
        while shown.contains("PgDn first") {
            for key in ['y', 'a', 's', 't'] {
                assert_eq!(alone(&mut card, key, now), Deed::Taken, "{key} in {size:?}:\n{shown}");
            }
            assert_eq!(card.key(enter, true, now), Deed::Taken);
            // What follows before it is shown passes nothing by.
            press(&mut card, KeyCode::PageDown, now);
            press(&mut card, KeyCode::PageDown, now);
            shown = text_of(&mut card, size.0, size.1, now);
            pages += 1;
        }
        assert!((1..60).contains(&pages), "{pages} in {size:?}");
        assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce), "{size:?}");
    }
    let (mut card, _, now) = shown_once(&exec(&long), (80, 16));
    press(&mut card, KeyCode::End, now);
    assert!(text_of(&mut card, 80, 16, now).contains("PgDn first"));
    assert_eq!(alone(&mut card, 'y', now), Deed::Taken);
    assert_eq!(alone(&mut card, 'n', now), Deed::Answer(Outcome::Cancel { reason: None }));
}

#[test]
fn what_was_moved_to_is_seen_once_it_is_written() {
    let long = (0..60).map(|n| format!("echo {n}")).collect::<Vec<_>>().join("\n");
    let (mut card, _, now) = shown_once(&exec(&long), (80, 60));
    assert!(card.text(80).0.lines.len() > 60);
    press(&mut card, KeyCode::PageDown, now);
    let (lines, _) = card.view(80, 60, (0, false), now);
    let shown = lines.last().unwrap().text();
    assert!(shown.contains("n no"), "{shown}");
    assert_eq!(alone(&mut card, 'y', now), Deed::Taken);
    card.written(now);
    assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
}

#[test]
fn a_window_that_is_too_small_to_read_it_is_to_be_made_larger() {
    for (asked, size) in [(edit(), (20, 2)), (edit(), (80, 3)), (exec("touch precious; rm -rf it"), (20, 2))]
    {
        let (mut card, shown, now) = shown_once(&asked, size);
        assert!(shown.contains("Allow? Enlarge the"), "{size:?}:\n{shown}");
        press(&mut card, KeyCode::PageDown, now);
        text_of(&mut card, size.0, size.1, now);
        assert_eq!(alone(&mut card, 'y', now), Deed::Taken, "{size:?}:\n{shown}");
        text_of(&mut card, 80, 30, now);
        assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
    }
}

#[test]
fn a_line_that_stays_is_not_shown_as_one_that_comes() {
    let diff = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n +stays\n--- goes\n+comes\n".to_owned();
    let detail = ConfirmationDetail::Edit { path: "/w/a".into(), diff, before: None, after: String::new() };
    let text = CardText::whole(&asked(detail).confirmation, 80);
    let painted = paint::lines(&text.rows, 80);
    let deed: Vec<String> = painted.deed.iter().map(|row| painted.lines[*row].text()).collect();
    let ends: Vec<&str> = deed.iter().filter_map(|row| row.split('│').nth(1)).collect();
    assert_eq!(ends, [" /w/a", " --- goes", " +comes"]);
}

#[test]
fn a_command_that_is_broken_into_rows_is_in_sight_before_all_keys_are() {
    let mut card = Card::new(exec("touch precious; rm -rf /somewhere/else --no-preserve-root"));
    let now = Instant::now();
    arm(&mut card, now);
    let shown = text_of(&mut card, 40, 6, now + QUIET);
    for part in ["touch precious; rm -rf", "/somewhere/else", "--no-preserve-root", "Allow? y once"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
    let long = (0..60).map(|n| format!("echo {n}")).collect::<Vec<_>>().join("\n");
    let mut card = Card::new(exec(&long));
    arm(&mut card, now);
    let shown = text_of(&mut card, 60, 10, now + QUIET);
    for part in ["│ echo 0\n", "hidden ·", "│ echo 59\n", "PgDn first: 54 rows unseen; n no, e edit"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
}

#[test]
fn nobody_allows_what_was_never_in_sight() {
    let mut card = Card::new(exec("rm -rf precious"));
    let now = Instant::now();
    arm(&mut card, now);
    let now = now + QUIET;
    assert!(text_of(&mut card, 80, 1, now).contains("Enlarge the window"));
    for key in ['y', 'a', 's', 't'] {
        assert_eq!(alone(&mut card, key, now), Deed::Taken, "{key}");
    }
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    assert_eq!(card.key(enter, true, now), Deed::Taken);
    text_of(&mut card, 80, 2, now);
    assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
}

/// Pages through a card until nothing asks for it any more.
fn paged(card: &mut Card, (columns, rows): (usize, usize), now: Instant) -> usize {
    let mut pages = 0;
    while text_of(card, columns, rows, now).contains("PgDn first") {
        press(card, KeyCode::PageDown, now);
        pages += 1;
        assert!(pages < 60);
    }
    pages
}

#[test]
fn nobody_allows_always_what_they_have_not_seen_the_rule_of() {
    let with_rule = |detail| {
        let mut asked = CallAsked::clone(&asked(detail));
        asked.confirmation.always = Some("[[rule]]\ncommand = \"rm\"\ndecision = \"allow\"\n".to_owned());
        Arc::new(asked)
    };
    let command = ConfirmationDetail::Exec { command: "rm -rf precious".to_owned(), cwd: "/w".into() };
    let edit = edit().confirmation.detail.clone();
    for (detail, size) in [(command.clone(), (40, 4)), (command, (80, 5)), (edit, (80, 10))] {
        let asked = with_rule(detail);
        for key in ['a', 's', 't'] {
            let (mut card, shown, now) = shown_once(&asked, size);
            assert!(!shown.contains("[[rule]]"), "{size:?}:\n{shown}");
            assert_eq!(alone(&mut card, key, now), Deed::Taken, "{key} in {size:?}:\n{shown}");
            let told = text_of(&mut card, size.0, size.1, now);
            assert!(told.contains("always? PgDn first: "), "{size:?}:\n{told}");
            assert!(paged(&mut card, size, now) > 0);
            assert!(matches!(alone(&mut card, key, now), Deed::Answer(_)), "{key} in {size:?}");
        }
        // Once needs no rule.
        let (mut card, _, now) = shown_once(&asked, size);
        assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
    }
    let asked = exec("rm");
    let (mut card, _, now) = shown_once(&asked, (40, 2));
    assert_eq!(alone(&mut card, 's', now), Deed::Taken);
    assert!(text_of(&mut card, 40, 2, now).contains("Enlarge the window first"));
}

#[test]
fn a_card_that_tells_nothing_of_what_would_happen_is_to_be_seen_whole() {
    for detail in [
        ConfirmationDetail::Exec { command: String::new(), cwd: "/w".into() },
        ConfirmationDetail::Info { text: String::new(), urls: Vec::new() },
    ] {
        let asked = asked(detail);
        let (mut card, shown, now) = shown_once(&asked, (80, 4));
        assert!(shown.contains("PgDn first"), "{shown}");
        assert_eq!(alone(&mut card, 'y', now), Deed::Taken);
        assert!(paged(&mut card, (80, 4), now) > 0);
        assert_eq!(alone(&mut card, 'y', now), Deed::Answer(Outcome::ProceedOnce));
    }
}

#[test]
fn the_model_s_questions_are_asked_one_after_another() {
    let question = |text: &str| Question { question: text.to_owned(), ..Question::default() };
    let questions = vec![question("Which?"), question("Why?")];
    let (mut card, now) = ready(asked(ConfirmationDetail::AskUser { questions }));
    for c in "red".chars() {
        press(&mut card, KeyCode::Char(c), now);
    }
    assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::Taken);
    let (lines, _) = card.view(60, 20, (0, false), now);
    assert!(lines.iter().any(|line| line.text().contains("Why?")));
    // Nobody has seen the second one yet.
    assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::NotMine);
    arm(&mut card, now);
    assert_eq!(press(&mut card, KeyCode::Enter, now + QUIET / 2), Deed::NotMine);
    let now = now + QUIET * 2;
    let answers = vec!["red".to_owned(), String::new()];
    assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::Answer(Outcome::Answers { answers }));
}

#[test]
fn ctrl_d_and_shift_tab_mean_at_a_card_what_they_mean_elsewhere() {
    let keys = [
        KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL),
        KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT),
    ];
    let question = Question { question: "Which?".to_owned(), ..Question::default() };
    for asked in [exec("make"), asked(ConfirmationDetail::AskUser { questions: vec![question] })] {
        for key in keys {
            let (mut card, now) = ready(asked.clone());
            assert_eq!(card.key(key, true, now), Deed::NotMine, "{key:?}");
        }
    }
    let (mut card, now) = ready(exec("make"));
    let other = KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL);
    assert_eq!(card.key(other, true, now), Deed::Taken);
}

#[test]
fn enter_allows_once_only_where_nothing_else_waits_to_be_sent() {
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    let (mut card, now) = ready(exec("make"));
    assert_eq!(card.key(enter, false, now), Deed::Taken);
    assert_eq!(card.key(enter, true, now), Deed::Answer(Outcome::ProceedOnce));
    // One that was pressed as the card came up says nothing.
    let mut fresh = Card::new(exec("make"));
    assert_eq!(fresh.key(enter, true, now), Deed::NotMine);
    arm(&mut fresh, now);
    assert_eq!(fresh.key(enter, true, now + QUIET / 2), Deed::NotMine);
}

fn choice(multi_select: bool) -> (Card, Instant) {
    let option =
        |label: &str| QuestionOption { label: label.to_owned(), description: format!("very {label}") };
    let options = ["red", "green", "blue"].map(option).to_vec();
    let question = Question { question: "Which?".to_owned(), options, multi_select, ..Question::default() };
    ready(asked(ConfirmationDetail::AskUser { questions: vec![question] }))
}

fn answers(words: &[&str]) -> Deed {
    Deed::Answer(Outcome::Answers { answers: words.iter().map(|word| (*word).to_owned()).collect() })
}

#[test]
fn answers_to_the_model_are_chosen_from_a_list_or_typed() {
    let (mut card, now) = choice(false);
    press(&mut card, KeyCode::Down, now);
    let (lines, _) = card.view(60, 20, (0, false), now);
    let shown: Vec<String> = lines.iter().map(Line::text).collect();
    assert!(shown.iter().any(|row| row.contains("▸  2 │ green  very green")), "{shown:#?}");
    assert_eq!(press(&mut card, KeyCode::Enter, now), answers(&["green"]));
    let (mut card, now) = choice(false);
    press(&mut card, KeyCode::Char('3'), now);
    assert_eq!(press(&mut card, KeyCode::Enter, now), answers(&["blue"]));
    let (mut card, now) = choice(false);
    "mauve".chars().for_each(|c| drop(press(&mut card, KeyCode::Char(c), now)));
    assert_eq!(press(&mut card, KeyCode::Enter, now), answers(&["mauve"]));
    let (mut card, now) = choice(true);
    for code in [KeyCode::Char(' '), KeyCode::Down, KeyCode::Down, KeyCode::Char(' ')] {
        press(&mut card, code, now);
    }
    assert_eq!(press(&mut card, KeyCode::Enter, now), answers(&["red, blue"]));
}

#[test]
fn a_letter_answers_the_model_when_nothing_follows_it() {
    let ask = || {
        let kind = charla_proto::QuestionKind::Yesno;
        let question = Question { question: "Sure?".to_owned(), kind, ..Question::default() };
        ready(asked(ConfirmationDetail::AskUser { questions: vec![question] }))
    };
    let (mut card, now) = ask();
    assert_eq!(alone(&mut card, 'y', now), answers(&["yes"]));
    let (mut card, now) = ask();
    assert_eq!(alone(&mut card, 'n', now), answers(&["no"]));
    // A word that answers does, with Enter or once nothing follows it.
    let typed = |card: &mut Card, keys: &str, now| {
        keys.chars().for_each(|c| assert_eq!(press(card, KeyCode::Char(c), now), Deed::Taken, "{keys}"));
    };
    let (mut card, now) = ask();
    typed(&mut card, "yes", now);
    assert_eq!(press(&mut card, KeyCode::Enter, now), answers(&["yes"]));
    let (mut card, now) = ask();
    typed(&mut card, "no", now);
    assert_eq!(card.settle(now + HOLD).0, answers(&["no"]));
    // Any other is an answer in one's own words, and none before Enter.
    for words in ["not today", "yesterday", "ye", "never"] {
        let (mut card, now) = ask();
        typed(&mut card, words, now);
        assert_eq!(card.settle(now + HOLD).0, Deed::Taken, "{words}");
        assert_eq!(press(&mut card, KeyCode::Enter, now + HOLD), answers(&[words]));
    }
    let (mut card, now) = ask();
    typed(&mut card, "n", now);
    assert_eq!(card.paste("ext week", now), Deed::Taken);
    assert_eq!(card.settle(now + HOLD).0, Deed::Taken);
    assert_eq!(press(&mut card, KeyCode::Enter, now + HOLD), answers(&["next week"]));
}

#[test]
fn what_may_be_left_open_is_left_open_by_enter() {
    let ask = |optional| {
        let kind = charla_proto::QuestionKind::Yesno;
        let question = Question { question: "Sure?".to_owned(), kind, optional, ..Question::default() };
        ready(asked(ConfirmationDetail::AskUser { questions: vec![question] }))
    };
    let answered = |answer: &str| Deed::Answer(Outcome::Answers { answers: vec![answer.to_owned()] });
    let (mut card, now) = ask(true);
    let rows: Vec<String> = card.view(80, 30, (0, false), now).0.iter().map(Line::text).collect();
    let shown = rows.join("\n");
    assert!(!shown.contains('▸') && shown.contains("Enter alone leaves it open"), "{shown}");
    assert_eq!(press(&mut card, KeyCode::Enter, now), answered(""));
    let (mut card, now) = ask(true);
    press(&mut card, KeyCode::Down, now);
    assert_eq!(press(&mut card, KeyCode::Enter, now), answered("yes"));
    let (mut card, now) = ask(false);
    assert_eq!(press(&mut card, KeyCode::Enter, now), answered("yes"));
}
