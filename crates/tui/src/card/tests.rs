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

fn ready(asked: Arc<CallAsked>) -> (Card, Instant) {
    let mut card = Card::new(asked);
    let now = Instant::now();
    card.drawn(now);
    (card, now + QUIET)
}

#[test]
fn keys_typed_before_the_card_was_seen_never_answer_it() {
    let mut card = Card::new(exec("rm -rf x"));
    let now = Instant::now();
    assert_eq!(press(&mut card, KeyCode::Char('y'), now), Deed::NotMine);
    card.drawn(now);
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
fn a_long_command_is_scrolled_and_its_end_is_seen_first() {
    let command = (0..60).map(|n| format!("echo {n}")).collect::<Vec<_>>().join("\n");
    let (mut card, now) = ready(exec(&command));
    let text = |card: &mut Card| {
        let (lines, _) = card.view(60, 14, (0, false), now);
        assert!(lines.len() <= 14, "{}", lines.len());
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    };
    let first = text(&mut card);
    assert!(
        first.contains("isolation") && first.contains("echo 59") && !first.contains("echo 0\n"),
        "{first}"
    );
    press(&mut card, KeyCode::Home, now);
    assert!(text(&mut card).contains("may run_shell_command run?"));
    press(&mut card, KeyCode::PageDown, now);
    press(&mut card, KeyCode::Down, now);
    assert!(text(&mut card).contains("echo 9\n"));
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
    card.drawn(now);
    assert_eq!(press(&mut card, KeyCode::Enter, now + QUIET / 2), Deed::NotMine);
    let now = now + QUIET * 2;
    let answers = vec!["red".to_owned(), String::new()];
    assert_eq!(press(&mut card, KeyCode::Enter, now), Deed::Answer(Outcome::Answers { answers }));
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
    fresh.drawn(now);
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
