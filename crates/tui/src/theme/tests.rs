use super::*;
use crate::text::{Line, Span};

fn painter(depth: Depth) -> Painter {
    Painter::new(Theme::built_in("default", Background::Dark).unwrap(), depth, true)
}

#[test]
fn a_look_is_written_for_what_the_terminal_shows() {
    let line = Line::of(Role::Failure, "no").then(Line::plain(" way"));
    assert_eq!(painter(Depth::True).paint(&line), "\x1b[38;2;240;128;128mno\x1b[0m way");
    assert_eq!(painter(Depth::Indexed).paint(&line), "\x1b[38;5;210mno\x1b[0m way");
    assert_eq!(painter(Depth::Sixteen).paint(&line), "\x1b[35mno\x1b[0m way".replace("35", "91"));
    assert_eq!(painter(Depth::None).paint(&line), "no way");
}

#[test]
fn without_colours_emphasis_remains() {
    let mut line = Line::of(Role::Heading, "Title");
    line.push_span(Span::new(Role::Plain, " it").with_emphasis(Emphasis::ITALIC));
    assert_eq!(painter(Depth::None).paint(&line), "\x1b[1mTitle\x1b[0m\x1b[3m it\x1b[0m");
}

#[test]
fn links_lead_somewhere_where_the_terminal_can_follow() {
    let mut line = Line::new();
    line.push_span(Span::new(Role::Plain, "here").with_link("https://a.example"));
    assert_eq!(painter(Depth::None).paint(&line), "\x1b]8;;https://a.example\x1b\\here\x1b]8;;\x1b\\");
    assert_eq!(Painter::new(Theme::default(), Depth::None, false).paint(&line), "here");
}

#[test]
fn the_environment_says_how_many_colours_there_are() {
    for (no_color, colorterm, term, depth) in [
        (Some("1"), Some("truecolor"), Some("xterm-256color"), Depth::None),
        (Some(""), Some("truecolor"), Some("xterm"), Depth::True),
        (None, None, Some("tmux-256color"), Depth::Indexed),
        (None, None, Some("linux"), Depth::Sixteen),
        (None, Some("truecolor"), Some("dumb"), Depth::None),
        (None, None, None, Depth::Sixteen),
    ] {
        assert_eq!(Depth::of(no_color, colorterm, term), depth, "{term:?}");
    }
}

/// The contrast of two colours as the web's accessibility guidelines count it.
fn contrast(one: (u8, u8, u8), other: (u8, u8, u8)) -> f64 {
    let part = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    let light = |(r, g, b): (u8, u8, u8)| 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    let (one, other) = (light(one), light(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The least contrast of a theme's roles with what is behind them.
fn least_contrast(theme: &Theme, behind: (u8, u8, u8)) -> (f64, Role) {
    let of = |role: Role| {
        let style = theme.paint(role);
        let Some(Colour::Rgb(r, g, b)) = style.foreground else { return (21.0, role) };
        let behind = match style.background {
            Some(Colour::Rgb(r, g, b)) => (r, g, b),
            _ => behind,
        };
        (contrast((r, g, b), behind), role)
    };
    Role::ALL.into_iter().map(of).min_by(|one, other| one.0.total_cmp(&other.0)).unwrap()
}

#[test]
fn every_role_is_legible_on_dark_and_light() {
    let (black, grey, white, paper) = ((0, 0, 0), (30, 30, 30), (255, 255, 255), (253, 246, 227));
    for (name, background, behind, least) in [
        ("default", Background::Dark, black, 4.5),
        ("default", Background::Dark, grey, 4.5),
        ("default", Background::Light, white, 4.5),
        ("default", Background::Light, paper, 4.5),
        ("default", Background::Unknown, black, 4.0),
        ("default", Background::Unknown, white, 4.0),
        ("default", Background::Unknown, grey, 3.0),
        ("default", Background::Unknown, paper, 3.0),
        ("high-contrast", Background::Dark, grey, 7.0),
        ("high-contrast", Background::Light, paper, 7.0),
    ] {
        let theme = Theme::built_in(name, background).unwrap();
        let (contrast, role) = least_contrast(&theme, behind);
        assert!(contrast >= least, "{name} {background:?} on {behind:?}: {role:?} has {contrast:.2}");
    }
}

#[test]
fn a_theme_of_the_terminal_uses_its_sixteen_colours_alone() {
    let theme = Theme::built_in("terminal", Background::Unknown).unwrap();
    for role in Role::ALL {
        let style = theme.paint(role);
        for colour in [style.foreground, style.background].into_iter().flatten() {
            assert!(matches!(colour, Colour::Ansi(0..8)), "{role:?}");
        }
    }
}

#[test]
fn users_write_themes() {
    let text =
        "base = \"terminal\"\n[added-word]\ncolor = \"#102030\"\nbold = true\n[dim]\ncolor = \"default\"\n";
    let theme = Theme::parse("mine", text, Background::Dark).unwrap();
    assert_eq!(theme.name(), "mine");
    let style = theme.paint(Role::AddedWord);
    assert!(style.foreground == Some(Colour::Rgb(16, 32, 48)) && style.emphasis.bold && style.reverse);
    assert_eq!(theme.paint(Role::Dim).foreground, None);
    assert_eq!(theme.paint(Role::Failure).foreground, Some(Colour::Ansi(1)));
}

#[test]
fn a_theme_that_is_wrong_says_why() {
    let error = |text| Theme::parse("mine", text, Background::Dark).unwrap_err().to_string();
    assert_eq!(
        error("base = \"nord\""),
        format!(
            "the theme `mine` is based on `nord`, which is not built in; there are: {}",
            Theme::BUILT_IN.join(", ")
        )
    );
    assert_eq!(
        error("[headings]\nbold = true"),
        "the theme `mine` has a style for `headings`, which nothing is; did you mean `heading`?"
    );
    assert_eq!(
        error("[dim]\ncolor = \"#12\""),
        "the theme `mine` has the color `#12` for `dim`; a color is `#rrggbb`, `default`, or a name such as `red` or `bright-blue`"
    );
    assert!(
        error("[dim]\ncolour = \"red\"").contains("unknown field `colour`"),
        "{}",
        error("[dim]\ncolour = \"red\"")
    );
    assert!(error("[dim").starts_with("the theme `mine` cannot be read: "));
}

#[test]
fn themes_are_found_by_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.toml"), "[dim]\ncolor = 'red'").unwrap();
    std::fs::write(folder.path().join("default.toml"), "[dim]\ncolor = 'red'").unwrap();
    std::fs::write(folder.path().join("note.txt"), "").unwrap();
    let themes = Themes::new(Some(folder.path().to_owned()));
    let names = [&Theme::BUILT_IN[..], &["mine"]].concat();
    assert_eq!(themes.names(), names);
    let colour = |name| themes.get(name, Background::Dark).unwrap().paint(Role::Dim).foreground;
    assert_eq!(colour("mine"), Some(Colour::Ansi(1)));
    assert_eq!(
        colour("default"),
        Theme::built_in("default", Background::Dark).unwrap().paint(Role::Dim).foreground
    );
    let error = |name| themes.get(name, Background::Dark).unwrap_err().to_string();
    assert_eq!(error("mien"), format!("there is no theme `mien`; there are: {}", names.join(", ")));
    assert!(error("../mine").starts_with("there is no theme `../mine`"));
}

#[test]
fn a_name_may_say_what_stands_behind_the_text() {
    for (name, base, background) in [
        ("default-dark", "default", Background::Dark),
        ("high-contrast-light", "high-contrast", Background::Light),
    ] {
        let named = Theme::built_in(name, Background::Unknown).unwrap();
        let told = Theme::built_in(base, background).unwrap();
        assert_eq!(named.name(), name);
        assert!(Role::ALL.iter().all(|role| named.paint(*role) == told.paint(*role)), "{name}");
    }
    assert!(Theme::built_in("nord-dark", Background::Dark).is_none());
}
