//! The themes that are always there.

use std::collections::BTreeMap;

use super::{Colour, Style};
use crate::text::{Emphasis, Role};

/// What stands behind the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// The terminal did not say: colours are chosen to be legible on both.
    #[default]
    Unknown,
    /// Nearer to black.
    Dark,
    /// Nearer to white.
    Light,
}

impl Background {
    /// The background of a colour that a terminal named.
    pub fn of(red: u8, green: u8, blue: u8) -> Self {
        let light = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
        if light < 128_000 { Self::Dark } else { Self::Light }
    }
}

type Styles = BTreeMap<Role, Style>;

/// The colours of a theme by what they are for.
struct Palette {
    accent: u32,
    dim: u32,
    code: u32,
    link: u32,
    good: u32,
    warning: u32,
    bad: u32,
    keyword: u32,
    kind: u32,
    number: u32,
    good_behind: u32,
    bad_behind: u32,
}

/// Soft colours on black.
const DARK: Palette = Palette {
    accent: 0x8a_b4_f8,
    dim: 0x8c_93_a1,
    code: 0xe0_af_68,
    link: 0x7d_cf_ff,
    good: 0x7e_c9_8f,
    warning: 0xe6_b4_50,
    bad: 0xf0_80_80,
    keyword: 0xc5_9b_f2,
    kind: 0x6c_c7_d9,
    number: 0xf2_a0_6a,
    good_behind: 0x1d_4a_2b,
    bad_behind: 0x5a_24_28,
};

/// Deep colours on white.
const LIGHT: Palette = Palette {
    accent: 0x1a_5f_c4,
    dim: 0x68_70_7d,
    code: 0x8a_50_00,
    link: 0x00_67_8c,
    good: 0x1c_6e_33,
    warning: 0x8a_5a_00,
    bad: 0xb4_23_2f,
    keyword: 0x7b_35_b8,
    kind: 0x00_68_7a,
    number: 0xa4_44_0c,
    good_behind: 0xbf_ea_c8,
    bad_behind: 0xfc_cf_cf,
};

/// Colours halfway: each stands out from black and from white.
const MIDDLE: Palette = Palette {
    accent: 0x3a_7d_e0,
    dim: 0x7a_7f_88,
    code: 0xa8_6f_1d,
    link: 0x00_86_b0,
    good: 0x2c_8c_4a,
    warning: 0xa8_70_00,
    bad: 0xd8_4a_50,
    keyword: 0x9a_62_d6,
    kind: 0x0f_87_98,
    number: 0xc0_60_28,
    good_behind: 0,
    bad_behind: 0,
};

/// The strongest colours there are on black.
const STRONG_DARK: Palette = Palette {
    accent: 0x66_d9_ff,
    dim: 0xc8_c8_c8,
    code: 0xff_d8_66,
    link: 0x7f_e0_ff,
    good: 0x5c_ff_8a,
    warning: 0xff_e0_4d,
    bad: 0xff_9a_9a,
    keyword: 0xe0_b3_ff,
    kind: 0x7d_f0_ff,
    number: 0xff_bf_80,
    good_behind: 0x00_3d_14,
    bad_behind: 0x5c_00_0a,
};

/// The strongest colours there are on white.
const STRONG_LIGHT: Palette = Palette {
    accent: 0x00_38_8f,
    dim: 0x3d_3d_3d,
    code: 0x5c_33_00,
    link: 0x00_44_66,
    good: 0x00_4d_14,
    warning: 0x5c_3a_00,
    bad: 0x8a_00_0f,
    keyword: 0x52_0f_8a,
    kind: 0x00_48_57,
    number: 0x75_2a_00,
    good_behind: 0xb8_f5_c6,
    bad_behind: 0xff_cc_cc,
};

pub fn styles(name: &str, background: Background) -> Option<Styles> {
    match name {
        "default" => Some(default_styles(background)),
        "high-contrast" => Some(strong_styles(background)),
        "terminal" => Some(terminal_styles()),
        _ => None,
    }
}

pub fn default_styles(background: Background) -> Styles {
    match background {
        Background::Dark => painted(&DARK),
        Background::Light => painted(&LIGHT),
        Background::Unknown => with_reversed_marks(painted(&MIDDLE)),
    }
}

/// Where the background is not known no colour is strong on it: then the terminal's own letters are, made bold.
fn strong_styles(background: Background) -> Styles {
    let mut styles = match background {
        Background::Dark => painted(&STRONG_DARK),
        Background::Light => painted(&STRONG_LIGHT),
        Background::Unknown => {
            let plain = painted(&MIDDLE).into_iter().map(|(role, style)| {
                (role, Style { foreground: None, background: None, dim: false, ..style })
            });
            with_reversed_marks(plain.collect())
        }
    };
    for role in [Role::Added, Role::Removed, Role::Warning, Role::Failure, Role::Keyword, Role::Accent] {
        styles.entry(role).or_default().emphasis.bold = true;
    }
    styles
}

fn rgb(value: u32) -> Option<Colour> {
    let [_, red, green, blue] = value.to_be_bytes();
    Some(Colour::Rgb(red, green, blue))
}

/// The styles that a palette gives.
fn painted(palette: &Palette) -> Styles {
    let plain = Style::default();
    let in_colour = |colour: u32| Style { foreground: rgb(colour), ..plain };
    let marked = |colour: u32, behind: u32| Style { background: rgb(behind), ..in_colour(colour) };
    let bold = |style: Style| Style { emphasis: Emphasis::BOLD, ..style };
    let italic = |style: Style| Style { emphasis: Emphasis::ITALIC, ..style };
    let underlined = Emphasis { underline: true, ..Emphasis::NONE };
    BTreeMap::from([
        (Role::Plain, plain),
        (Role::Dim, in_colour(palette.dim)),
        (Role::Accent, in_colour(palette.accent)),
        (Role::Heading, bold(in_colour(palette.accent))),
        (Role::Code, in_colour(palette.code)),
        (Role::Quote, italic(in_colour(palette.dim))),
        (Role::Link, Style { emphasis: underlined, ..in_colour(palette.link) }),
        (Role::Border, in_colour(palette.dim)),
        (Role::Chip, Style { reverse: true, ..in_colour(palette.dim) }),
        (Role::Selected, bold(in_colour(palette.accent))),
        (Role::Success, in_colour(palette.good)),
        (Role::Warning, in_colour(palette.warning)),
        (Role::Failure, in_colour(palette.bad)),
        (Role::Added, in_colour(palette.good)),
        (Role::Removed, in_colour(palette.bad)),
        (Role::AddedWord, marked(palette.good, palette.good_behind)),
        (Role::RemovedWord, marked(palette.bad, palette.bad_behind)),
        (Role::Keyword, in_colour(palette.keyword)),
        (Role::Type, in_colour(palette.kind)),
        (Role::Literal, in_colour(palette.good)),
        (Role::Number, in_colour(palette.number)),
        (Role::Comment, italic(in_colour(palette.dim))),
    ])
}

/// Changed words in reverse: a colour behind them would have to suit what is not known.
fn with_reversed_marks(mut styles: Styles) -> Styles {
    for role in [Role::AddedWord, Role::RemovedWord] {
        let style = styles.entry(role).or_default();
        (style.background, style.reverse) = (None, true);
    }
    styles
}

/// The sixteen colours that the terminal's user chose.
fn terminal_styles() -> Styles {
    let (red, green, yellow, blue, magenta, cyan) = (1, 2, 3, 4, 5, 6);
    let colours = [
        (Role::Accent, blue),
        (Role::Heading, blue),
        (Role::Code, yellow),
        (Role::Link, cyan),
        (Role::Selected, blue),
        (Role::Success, green),
        (Role::Warning, yellow),
        (Role::Failure, red),
        (Role::Added, green),
        (Role::Removed, red),
        (Role::AddedWord, green),
        (Role::RemovedWord, red),
        (Role::Keyword, magenta),
        (Role::Type, cyan),
        (Role::Literal, green),
        (Role::Number, yellow),
    ];
    let mut styles = with_reversed_marks(painted(&MIDDLE));
    for style in styles.values_mut().filter(|style| style.foreground.is_some()) {
        (style.foreground, style.dim) = (None, true);
    }
    for (role, colour) in colours {
        let style = styles.entry(role).or_default();
        (style.foreground, style.dim) = (Some(Colour::Ansi(colour)), false);
    }
    styles
}
