//! Colours, and the nearest ones a terminal has.

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// None: emphasis alone.
    None,
    /// The sixteen that its user chose.
    Sixteen,
    /// Those and a cube of fixed ones.
    Indexed,
    /// All.
    True,
}

impl Depth {
    /// What a terminal says of itself in `NO_COLOR`, `COLORTERM` and `TERM`. A `NO_COLOR` that is empty says nothing.
    pub fn of(no_color: Option<&str>, colorterm: Option<&str>, term: Option<&str>) -> Self {
        let term = term.unwrap_or_default();
        match colorterm {
            _ if no_color.is_some_and(|value| !value.is_empty()) || term == "dumb" => Self::None,
            Some("truecolor" | "24bit") => Self::True,
            _ if term.ends_with("-direct") => Self::True,
            _ if term.contains("256color") => Self::Indexed,
            _ => Self::Sixteen,
        }
    }
}

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// One of the terminal's sixteen.
    Ansi(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// The steps of each part in the cube of 256 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The sixteen as most terminals show them.
const SIXTEEN: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 49, 49),
    (13, 188, 121),
    (229, 229, 16),
    (36, 114, 200),
    (188, 63, 188),
    (17, 168, 205),
    (229, 229, 229),
    (102, 102, 102),
    (241, 76, 76),
    (35, 209, 139),
    (245, 245, 67),
    (59, 142, 234),
    (214, 112, 214),
    (41, 184, 219),
    (255, 255, 255),
];

/// The names of the sixteen.
const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

impl Colour {
    /// A colour as people write it: `#rrggbb`, or the name of one of the sixteen.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(at) = NAMES.iter().position(|name| *name == text) {
            return u8::try_from(at).ok().map(Self::Ansi);
        }
        let digits = text.strip_prefix('#')?;
        let is_hexadecimal = digits.len() == 6 && digits.chars().all(|c| c.is_ascii_hexdigit());
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
        let [_, red, green, blue] = value.to_be_bytes();
        Some(Self::Rgb(red, green, blue))
    }

    /// The parameters of the escape sequence for it, as letters or behind them; nothing where there are no colours.
    pub(super) fn parameters(self, depth: Depth, behind: bool) -> Option<String> {
        let base: u8 = if behind { 40 } else { 30 };
        match (self, depth) {
            (_, Depth::None) => None,
            (Self::Ansi(index @ 0..8), _) => Some(format!("{}", base + index)),
            (Self::Ansi(index), _) => Some(format!("{}", base + 60 + index.min(15) - 8)),
            (Self::Rgb(red, green, blue), Depth::True) => {
                Some(format!("{};2;{red};{green};{blue}", base + 8))
            }
            (Self::Rgb(red, green, blue), Depth::Indexed) => {
                Some(format!("{};5;{}", base + 8, indexed(red, green, blue)))
            }
            (Self::Rgb(red, green, blue), Depth::Sixteen) => {
                Self::Ansi(nearest_of_sixteen(red, green, blue)).parameters(depth, behind)
            }
        }
    }
}

/// The nearest colour of the cube or of the greys beside it.
fn indexed(red: u8, green: u8, blue: u8) -> u8 {
    let step = |part: u8| (0u8..6).min_by_key(|i| CUBE[usize::from(*i)].abs_diff(part)).unwrap_or_default();
    let (r, g, b) = (step(red), step(green), step(blue));
    let cube = (CUBE[usize::from(r)], CUBE[usize::from(g)], CUBE[usize::from(b)]);
    let mean = (u16::from(red) + u16::from(green) + u16::from(blue)) / 3;
    let grey = u8::try_from(mean.saturating_sub(3) / 10).unwrap_or(23).min(23);
    let level = 8 + 10 * grey;
    let wanted = (red, green, blue);
    match distance(wanted, cube) <= distance(wanted, (level, level, level)) {
        true => 16 + 36 * r + 6 * g + b,
        false => 232 + grey,
    }
}

fn nearest_of_sixteen(red: u8, green: u8, blue: u8) -> u8 {
    let nearest = (0u8..16).min_by_key(|i| distance((red, green, blue), SIXTEEN[usize::from(*i)]));
    nearest.unwrap_or_default()
}

fn distance(one: (u8, u8, u8), other: (u8, u8, u8)) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    // The eye is keenest for green.
    2 * square(one.0, other.0) + 4 * square(one.1, other.1) + 3 * square(one.2, other.2)
}
