use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

fn composer(keys: Keys) -> Composer {
    Composer::new(keys, History::default(), Sources::default())
}

fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
    KeyEvent::new(code, modifiers)
}

/// Presses keys: letters as they are, `<C-a>`, `<A-b>`, `<S-Enter>`, `<Esc>`, `<lt>` for `<`.
fn keys(composer: &mut Composer, script: &str) -> Action {
    let mut action = Action::Unused;
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        let key = match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            Some((name, after)) => {
                rest = after;
                named(name)
            }
            None => {
                rest = rest.strip_prefix(c).unwrap();
                press(KeyCode::Char(c), KeyModifiers::NONE)
            }
        };
        action = composer.key(key);
    }
    action
}

fn named(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('-') {
        Some(("C", name)) => (KeyModifiers::CONTROL, name),
        Some(("A", name)) => (KeyModifiers::ALT, name),
        Some(("S", name)) => (KeyModifiers::SHIFT, name),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" => KeyCode::Tab,
        "BackTab" => KeyCode::BackTab,
        "BS" => KeyCode::Backspace,
        "Del" => KeyCode::Delete,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "lt" => KeyCode::Char('<'),
        letter => KeyCode::Char(letter.chars().next().unwrap()),
    };
    press(code, modifiers)
}

/// The text with the cursor as `|`.
fn state(composer: &Composer) -> String {
    let buffer = &composer.editing.buffer;
    format!("{}|{}", buffer.before(), buffer.slice(buffer.cursor()..buffer.text().len()))
}

fn rows(view: &View) -> Vec<String> {
    view.lines.iter().map(Line::text).collect()
}

#[test]
fn emacs_keys_edit() {
    for (script, expected) in [
        ("one two<C-a>x", "x|one two"),
        ("one two<A-b>x", "one x|two"),
        ("one two<C-w>", "one |"),
        ("one two<C-w><C-w><C-y>", "one two|"),
        ("one two<C-a><C-k><C-y><C-y>", "one twoone two|"),
        ("a b<C-w><Left><C-w><C-y><A-y>", "b| "),
        ("one<C-a><A-d>two<C-y>", "twoone|"),
        ("ab<C-t>", "ba|"),
        ("one<C-j>two<C-a><C-u>", "one|two"),
        ("one two<A-b><A-u>", "one TWO|"),
        ("one two<C-a><A-c><A-c>", "One Two|"),
        ("one\\<Enter>two", "one\ntwo|"),
        ("one<S-Enter>two<A-Enter>", "one\ntwo\n|"),
        ("e\u{301}x<Left><Left>", "|e\u{301}x"),
        ("👩\u{200d}🚀<BS>", "|"),
        ("one two<C-Left><C-Right><C-BS>", "one |"),
        ("one<C-7>", "|"),
        ("one two<C-7>", "one |"),
        ("one two<C-7><A-_>", "one two|"),
    ] {
        let mut composer = composer(Keys::Emacs);
        keys(&mut composer, script);
        assert_eq!(state(&composer), expected, "{script}");
    }
}

#[test]
fn vi_keys_edit() {
    for (script, expected) in [
        ("one two<Esc>bx", "one |wo"),
        ("one two three<Esc>0dw", "|two three"),
        ("one two three<Esc>02dw", "|three"),
        ("one two<Esc>0cwsix", "six| two"),
        ("one two<Esc>0d$", "|"),
        ("one two<Esc>0$x", "one t|w"),
        ("one two<Esc>D", "one t|w"),
        ("a b c<Esc>0cwx", "x| b c"),
        ("one two<Esc>0lcwx", "ox| two"),
        ("one two three<Esc>0c2wx", "x| three"),
        ("one  two<Esc>0ebbelcwx", "onex|two"),
        ("a b c d e f g<Esc>02d3w", "|g"),
        ("foo.bar(baz) x<Esc>0wx", "foo|bar(baz) x"),
        ("foo.bar(baz) x<Esc>0www", "foo.bar|(baz) x"),
        ("foo.bar(baz) x<Esc>$bbb", "foo.bar|(baz) x"),
        ("foo.bar(baz) x<Esc>0eee", "foo.ba|r(baz) x"),
        ("foo.bar x<Esc>0dw", "|.bar x"),
        ("foo.bar x<Esc>0dW", "|x"),
        ("one two three<Esc>0dw.", "|three"),
        ("one two three<Esc>0cwsix<Esc>w.", "six si|x three"),
        ("abcdef<Esc>0x3.", "|ef"),
        ("abcdef<Esc>02<Del>.", "|cdef"),
        ("abcdef<Esc>0d<Del>w.", "bcd|e"),
        ("abcdef<Esc>0x2<Del>..", "|ef"),
        ("abc<Esc>0xxp", "c|b"),
        ("one two three<Esc>0cwfor<Esc>wcwtea<Esc>u", "for |two three"),
        ("one two<Esc>A three four<Esc>u", "one tw|o"),
        ("one two three<Esc>0dwdwuu", "|one two three"),
        ("one two three<Esc>0dwu<C-r>", "|two three"),
        ("say \"it\" x<Esc>0fici\"no<Esc>0.", "|say \"no\" x"),
        ("one<C-j>two<C-j>three<Esc>ggdG", "|"),
        ("one<C-j>two<C-j>three<Esc>2GdG", "on|e"),
        ("one<C-j>two<C-j>three<Esc>1Gx", "|ne\ntwo\nthree"),
        ("one<C-j>two<Esc>ggccnew<Esc>jdd", "ne|w"),
        ("one two<Esc>0rX.", "|Xne two"),
        ("a(b c)d<Esc>0fbci(x", "a(x|)d"),
        ("say \"it now\" x<Esc>0fndi\"", "say \"|\" x"),
        ("one<C-j>two<C-j>three<Esc>kdd", "one\n|three"),
        ("one<C-j>two<Esc>dd", "on|e"),
        ("one<C-j>two<Esc>ggyyjp", "one\ntwo\n|one"),
        ("one<C-j>two<Esc>ggyyGP", "one\n|one\ntwo"),
        ("ab<Esc>xp", "a|b"),
        ("abc<Esc>0xp", "b|ac"),
        ("one two<Esc>0dwu", "|one two"),
        ("one two<Esc>0dwu<C-r>", "|two"),
        ("a,b,c<Esc>0df,", "|b,c"),
        ("a,b,c<Esc>0dt,", "|,b,c"),
        ("a,b,c<Esc>0f,;x", "a,b|c"),
        ("one<Esc>rx", "on|x"),
        ("one<Esc>0~~", "ON|e"),
        ("one<C-j>two<Esc>ggJ", "one| two"),
        ("one<Esc>oX", "one\nX|"),
        ("one<Esc>OX", "X|\none"),
        ("one two<Esc>bdiw", "one| "),
        ("one two<Esc>0daw", "|two"),
        ("one two<Esc>0ea!", "one!| two"),
        ("one<Esc>0d<Esc>x", "|ne"),
        ("one two<Esc>0c$x", "x|"),
    ] {
        let mut composer = composer(Keys::Vi);
        keys(&mut composer, script);
        assert_eq!(state(&composer), expected, "{script}");
    }
}

#[test]
fn vi_says_what_letters_mean_and_escapes_once() {
    let mut composer = composer(Keys::Vi);
    assert_eq!(composer.mode_name(), Some("INSERT"));
    assert_eq!(keys(&mut composer, "one<Esc>"), Action::Redraw);
    assert_eq!(composer.mode_name(), Some("NORMAL"));
    assert_eq!(keys(&mut composer, "<Esc>"), Action::Cancel);
    assert!(matches!(keys(&mut composer, "<Enter>"), Action::Send(message) if message.text == "one"));
    assert_eq!(composer.mode_name(), Some("INSERT"));
}

#[test]
fn keys_that_are_not_for_the_text_are_handed_on() {
    let mut composer = composer(Keys::Emacs);
    for (script, action) in [
        ("<Esc>", Action::Cancel),
        ("<C-c>", Action::Interrupt),
        ("<C-d>", Action::Leave),
        ("<C-x><C-e>", Action::EditExternally),
        ("<C-g>", Action::EditExternally),
        ("<BackTab>", Action::CycleMode),
        ("<C-l>", Action::ClearScreen),
        ("<C-z>", Action::Suspend),
        ("<C-o>", Action::Unused),
        ("<Tab>", Action::Unused),
        ("<Enter>", Action::Redraw),
    ] {
        assert_eq!(keys(&mut composer, script), action, "{script}");
    }
    let mut released = named("Enter");
    released.kind = KeyEventKind::Release;
    assert_eq!(composer.key(released), Action::Unused);
}

#[test]
fn a_message_is_sent_now_or_later() {
    let mut composer = composer(Keys::Emacs);
    let Action::Send(now) = keys(&mut composer, "one<Enter>") else { panic!("not sent") };
    assert_eq!((now.text.as_str(), now.when), ("one", When::Now));
    assert!(composer.is_empty());
    let Action::Send(later) = keys(&mut composer, "two<Tab>") else { panic!("not sent") };
    assert_eq!((later.text.as_str(), later.when), ("two", When::Later));
}

#[test]
fn a_large_paste_is_a_chip_that_is_sent_whole() {
    let mut composer = composer(Keys::Emacs);
    let bomb = "line @secret\r\n".repeat(80_000);
    keys(&mut composer, "see ");
    composer.paste(&bomb);
    keys(&mut composer, " now");
    let view = composer.view(60, 10);
    assert_eq!(rows(&view), ["› see [pasted text 1: 80000 lines] now"]);
    assert_eq!(view.cursor, (0, 38));
    keys(&mut composer, "<Left><Left><Left><Left><BS>");
    assert_eq!(rows(&composer.view(60, 10)), ["› see  now"]);
    keys(&mut composer, "<C-7>");
    let Action::Send(message) = keys(&mut composer, "<Enter>") else { panic!("not sent") };
    assert_eq!(message.text, format!("see {} now", bomb.replace("\r\n", "\n")));
    assert_eq!(message.typed, "see   now");
}

#[test]
fn a_small_paste_is_typed_and_never_sends() {
    let mut composer = composer(Keys::Emacs);
    composer.paste("one\r\ntwo\rthree\u{100000}");
    assert_eq!(state(&composer), "one\ntwo\nthree\u{fffd}|");
}

#[test]
fn files_go_along() {
    let mut composer = composer(Keys::Emacs);
    keys(&mut composer, "what is ");
    composer.attach("/tmp/a shot.png".into());
    assert_eq!(rows(&composer.view(60, 10)), ["› what is [file 1: a shot.png] "]);
    let Action::Send(message) = keys(&mut composer, "<Enter>") else { panic!("not sent") };
    assert_eq!(message.files, [PathBuf::from("/tmp/a shot.png")]);
    assert_eq!(message.text, "what is  ");
}

#[test]
fn what_was_pasted_and_dragged_goes_through_an_editor_by_its_name() {
    let mut composer = composer(Keys::Emacs);
    composer.attach("/tmp/a shot.png".into());
    composer.paste(&"row\n".repeat(20));
    keys(&mut composer, " is wrong");
    let before = composer.labelled();
    assert_eq!(before, "[file 1: a shot.png] [pasted text 2: 20 lines] is wrong");
    composer.set_labelled(&before.replace("wrong", "right\u{100001}"));
    let expected = "› [file 1: a shot.png] [pasted text 2: 20 lines] is right\u{fffd}";
    assert_eq!(rows(&composer.view(80, 10)), [expected]);
    composer.set_labelled(&composer.labelled().replace("[file 1: a shot.png] ", ""));
    let Action::Send(message) = keys(&mut composer, "<Enter>") else { panic!("not sent") };
    assert_eq!(message.text, format!("{} is right\u{fffd}", "row\n".repeat(20)));
    assert!(message.files.is_empty());
}

#[test]
fn what_was_not_sent_comes_back_with_its_files() {
    let mut composer = composer(Keys::Emacs);
    keys(&mut composer, "first");
    composer.bring_back("what is it?", vec!["/tmp/dot.png".into()]);
    assert_eq!(rows(&composer.view(60, 10)), ["› first", "  [file 1: dot.png] what is it?"]);
    let Action::Send(message) = keys(&mut composer, "<Enter>") else { panic!("not sent") };
    assert_eq!(message.files, [PathBuf::from("/tmp/dot.png")]);
}

#[test]
fn dropped_files_are_known_by_their_paths() {
    let paths = |text| {
        dropped_paths(text).map(|paths| paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>())
    };
    assert_eq!(paths("'/a b.png' /c\\ d.jpg\n").unwrap(), ["/a b.png", "/c d.jpg"]);
    assert_eq!(paths("file:///a%20b.png").unwrap(), ["/a b.png"]);
    for text in ["look at /a.png", "a.png", "", "'/open", "file://%zz", "file://host.example/a"] {
        assert_eq!(paths(text), None, "{text}");
    }
}

#[test]
fn history_is_walked_and_searched() {
    let history = History::new(["first one", "second", "second", "third one"].map(str::to_owned).to_vec());
    let mut composer = Composer::new(Keys::Emacs, history, Sources::default());
    keys(&mut composer, "draft<Up><Up>");
    assert_eq!(state(&composer), "second|");
    keys(&mut composer, "<Up><Up>");
    assert_eq!(state(&composer), "first one|");
    keys(&mut composer, "<Down><Down><Down><Down>");
    assert_eq!(state(&composer), "draft|");
    keys(&mut composer, "<C-r>ONE");
    assert_eq!(rows(&composer.view(40, 5)), ["search: ONE", "  third one"]);
    keys(&mut composer, "<C-r>");
    assert_eq!(rows(&composer.view(40, 5)), ["search: ONE", "  first one"]);
    keys(&mut composer, "<Enter>");
    assert_eq!(state(&composer), "first one|");
    keys(&mut composer, "<C-r>zzz<Esc>");
    assert_eq!(state(&composer), "first one|");
    keys(&mut composer, "!<Enter><Up>");
    assert_eq!(state(&composer), "first one!|");
}

#[test]
fn rows_are_walked_before_history() {
    let mut composer = Composer::new(Keys::Emacs, History::new(vec!["old".to_owned()]), Sources::default());
    keys(&mut composer, "a long line<C-j>x<C-j>another");
    composer.view(80, 10);
    keys(&mut composer, "<Up><Up>");
    assert_eq!(state(&composer), "a long |line\nx\nanother");
    keys(&mut composer, "<Up>");
    assert_eq!(state(&composer), "old|");
}

#[test]
fn the_view_wraps_and_shows_the_cursor() {
    let mut composer = composer(Keys::Emacs);
    keys(&mut composer, "the quick brown fox");
    let view = composer.view(12, 10);
    assert_eq!(rows(&view), ["› the ", "  quick ", "  brown fox"].map(str::to_owned));
    assert_eq!(view.cursor, (2, 11));
    keys(&mut composer, "<C-a>");
    let view = composer.view(12, 2);
    assert_eq!(rows(&view), ["› the ", "  quick "]);
    assert_eq!(view.cursor, (0, 2));
    keys(&mut composer, "<C-e>漢");
    assert_eq!(composer.view(12, 10).cursor, (3, 7));
}

#[test]
fn an_empty_composer_says_what_it_is_for() {
    let mut composer = composer(Keys::Emacs);
    composer.set_placeholder("Ask anything");
    let view = composer.view(10, 3);
    assert_eq!((rows(&view), view.cursor), (vec!["› Ask any…".to_owned()], (0, 2)));
}

/// Commands as a front end would have them.
struct Commands;

impl WordSource for Commands {
    fn candidates(&self, typed: &str) -> Vec<Candidate> {
        let candidate = |text: &str, help: &str, is_whole| Candidate {
            text: text.to_owned(),
            help: help.to_owned(),
            is_whole,
        };
        let all = match typed.strip_prefix("model ") {
            Some(_) => vec![candidate("gemini", "", true), candidate("gpt", "", true)],
            None => {
                vec![candidate("/help", "what there is", true), candidate("/model", "choose a model", false)]
            }
        };
        let begun = typed.rsplit(' ').next().unwrap_or_default();
        all.into_iter().filter(|one| one.text.trim_start_matches('/').starts_with(begun)).collect()
    }
}

fn with_commands() -> Composer {
    let sources = Sources { commands: Box::new(Commands), ..Sources::default() };
    Composer::new(Keys::Emacs, History::default(), sources)
}

#[test]
fn commands_are_completed_with_their_help() {
    let mut composer = with_commands();
    keys(&mut composer, "/");
    assert_eq!(
        rows(&composer.view(60, 10)),
        ["› /", "▸ /help                 what there is", "  /model                choose a model"]
    );
    keys(&mut composer, "m<Tab>");
    assert_eq!(rows(&composer.view(60, 10)), ["› /model ", "▸ gemini", "  gpt"]);
    assert!(
        matches!(keys(&mut composer, "<Down><Enter>"), Action::Send(message) if message.text == "/model gpt")
    );
    assert!(matches!(keys(&mut composer, "/h<Enter>"), Action::Send(message) if message.text == "/help"));
    keys(&mut composer, "/<Esc>");
    assert_eq!(rows(&composer.view(60, 10)), ["› /"]);
    assert!(matches!(keys(&mut composer, "x/<Enter>"), Action::Send(message) if message.text == "/x/"));
}

/// A composer over a folder, once all its files are known.
fn over(folder: &std::path::Path) -> Composer {
    let (found, more) = mpsc::channel();
    let sources = Sources {
        folder: Some(folder.to_owned()),
        found_more: std::sync::Arc::new(move || {
            let _ = found.send(());
        }),
        ..Sources::default()
    };
    let mut composer = Composer::new(Keys::Emacs, History::default(), sources);
    keys(&mut composer, "@");
    while !composer.completion.knows_all_files() {
        more.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    composer.refresh();
    keys(&mut composer, "<BS>");
    composer
}

#[test]
fn files_are_completed_by_a_few_letters_and_ignored_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        (".gitignore", "built\n"),
        ("src/main.rs", ""),
        ("src/composer/files.rs", ""),
        ("built/main.rs", ""),
        ("docs/my notes.md", ""),
        (".git/config", ""),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut composer = over(folder.path());
    keys(&mut composer, "see @mainrs");
    assert_eq!(rows(&composer.view(60, 10)), ["› see @mainrs", "▸ @src/main.rs"]);
    keys(&mut composer, "<Tab>");
    assert_eq!(state(&composer), "see @src/main.rs |");
    keys(&mut composer, "@notes<Enter>");
    assert_eq!(state(&composer), "see @src/main.rs @\"docs/my notes.md\" |");
    keys(&mut composer, "@src/c<Tab>");
    assert_eq!(state(&composer), "see @src/main.rs @\"docs/my notes.md\" @src/composer/|");
    assert_eq!(rows(&composer.view(60, 10)).last().unwrap(), "  @src/composer/files.rs");
    keys(&mut composer, "<Esc><C-u>me@main");
    assert_eq!(rows(&composer.view(60, 10)), ["› me@main"]);
}

#[test]
fn an_ignore_file_that_would_fill_the_memory_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("built.rs"), "").unwrap();
    std::fs::write(folder.path().join(".gitignore"), "built.rs\n".repeat(20_000)).unwrap();
    let mut composer = over(folder.path());
    keys(&mut composer, "@built");
    assert_eq!(rows(&composer.view(60, 10)), ["› @built", "▸ @built.rs"]);
}

fn score(typed: &str, path: &str) -> Option<i32> {
    score::Query::new(typed).score(path)
}

#[test]
fn the_likeliest_file_comes_first() {
    for (typed, better, worse) in [
        ("main", "src/main.rs", "src/domain.rs"),
        ("comp", "crates/tui/composer.rs", "crates/tui/decompose.rs"),
        ("fi", "src/files.rs", "files/src/other.rs"),
        ("tsc", "src/tests/session_case.rs", "src/artistic.rs"),
        ("", "README.md", "src/main.rs"),
    ] {
        assert!(score(typed, better) > score(typed, worse), "{typed}: {better} {worse}");
    }
    assert_eq!(score("Main", "src/main.rs"), None);
    assert_eq!(score("xyz", "src/main.rs"), None);
}

/// A buffer that is a list of characters and nothing clever.
#[derive(Default)]
struct Model {
    before: Vec<String>,
    after: Vec<String>,
}

impl Model {
    fn type_in(&mut self, text: &str) {
        self.before.push(text.to_owned());
        // What was typed may join its neighbours.
        let (before, after) = (self.before.concat(), self.after.concat());
        self.set(&before, &after);
    }

    fn set(&mut self, before: &str, after: &str) {
        let whole = format!("{before}{after}");
        let (mut at, mut split) = (0, Vec::new());
        let mut rest = Vec::new();
        for grapheme in whole.graphemes(true) {
            if at < before.len() {
                split.push(grapheme.to_owned())
            } else {
                rest.push(grapheme.to_owned())
            }
            at += grapheme.len();
        }
        (self.before, self.after) = (split, rest);
    }

    fn key(&mut self, name: &str) {
        match name {
            "Left" => self.after.splice(0..0, self.before.pop()).for_each(drop),
            "Right" if !self.after.is_empty() => {
                let next = self.after.remove(0);
                self.before.push(next);
            }
            "BS" => {
                self.before.pop();
                self.rejoin();
            }
            "Del" if !self.after.is_empty() => {
                self.after.remove(0);
                self.rejoin();
            }
            "Home" => {
                while self.before.last().is_some_and(|last| last != "\n") {
                    self.key("Left");
                }
            }
            "End" => {
                while self.after.first().is_some_and(|first| first != "\n") {
                    self.key("Right");
                }
            }
            _ => {}
        }
    }

    fn rejoin(&mut self) {
        let (before, after) = (self.before.concat(), self.after.concat());
        self.set(&before, &after);
    }
}

fn any_step() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]|\n|e|\u{301}|漢|👩|\u{200d}|🚀|🇵|🇹".prop_filter("one character", |text| !text.is_empty()),
        4 => prop_oneof![Just("Left"), Just("Right"), Just("BS"), Just("Del"), Just("Home"), Just("End")]
            .prop_map(|name| format!("<{name}>")),
    ]
}

proptest! {
    #[test]
    fn the_buffer_is_a_list_of_characters(steps in proptest::collection::vec(any_step(), 0..60)) {
        let (mut composer, mut model) = (composer(Keys::Emacs), Model::default());
        for step in &steps {
            match step.strip_prefix('<').and_then(|step| step.strip_suffix('>')) {
                Some(name) => {
                    model.key(name);
                    composer.key(named(name));
                }
                None => {
                    model.type_in(step);
                    let c = step.chars().next().unwrap();
                    composer.key(if c == '\n' { named("C-j") } else { press(KeyCode::Char(c), KeyModifiers::NONE) });
                }
            }
            let expected = format!("{}|{}", model.before.concat(), model.after.concat());
            prop_assert_eq!(state(&composer), expected, "after {:?} of {:?}", step, steps);
        }
    }

    #[test]
    fn no_keys_break_it_and_no_row_is_too_wide(
        script in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<char>()), 0..80),
        vi: bool,
        columns in 8usize..40,
        max_rows in 1usize..6,
    ) {
        let mut composer = with_commands();
        composer.set_keys(if vi { Keys::Vi } else { Keys::Emacs });
        for (kind, modifier, c) in script {
            let modifiers = match modifier % 6 {
                0 => KeyModifiers::CONTROL,
                1 => KeyModifiers::ALT,
                2 => KeyModifiers::SHIFT,
                _ => KeyModifiers::NONE,
            };
            let ascii = char::from(32 + (u32::from(c) % 95) as u8);
            let code = match kind % 20 {
                0 => KeyCode::Enter, 1 => KeyCode::Esc, 2 => KeyCode::Tab, 3 => KeyCode::Backspace,
                4 => KeyCode::Left, 5 => KeyCode::Up, 6 => KeyCode::Down, 7 => KeyCode::Delete,
                8 => KeyCode::Home, 9 => KeyCode::Char(c),
                _ => KeyCode::Char(ascii),
            };
            composer.key(press(code, modifiers));
            if kind == 255 { composer.paste(&"漢 ".repeat(usize::from(modifier) * 4)); }
            let view = composer.view(columns, max_rows);
            prop_assert!(view.lines.len() <= max_rows.max(2) && view.cursor.0 < view.lines.len());
            prop_assert!(view.cursor.1 < columns);
            prop_assert!(view.lines.iter().all(|line| line.width() <= columns));
            let buffer = &composer.editing.buffer;
            prop_assert!(buffer.text().is_char_boundary(buffer.cursor()));
        }
    }
}
