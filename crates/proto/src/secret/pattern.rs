//! Whether a file name pattern may match a secret: the pattern is intersected with every entry of the list.

use super::list::{FILES, FOLDERS, STEMS, VARIANTS};
use super::{is_open_in_git, is_writing, names_secret, parts};

/// Longer patterns are no patterns anybody means; they may match anything.
const LONGEST: usize = 1000;
/// As many alternatives in braces may match anything, too.
const MOST_ALTERNATIVES: usize = 100;

/// Whether a wildcard at the beginning of a name matches a leading dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternDots {
    /// It does not, as in a shell.
    Written,
    /// It does, as for `grep --include`, `rg -g` and `find -name`.
    Matched,
}

/// Something a pattern matches one after the other.
#[derive(Clone, Debug)]
enum Token {
    /// This character, in lower case.
    Char(char),
    /// One of these, ranges included, as they were written.
    Class(Vec<char>),
    AnyChar,
    AnyText,
}

pub(super) fn may_match(pattern: &str, dots: PatternDots) -> bool {
    if pattern.len() > LONGEST {
        return true;
    }
    let mut all = Vec::new();
    alternatives(pattern, &mut all);
    all.len() >= MOST_ALTERNATIVES || all.iter().any(|pattern| one_may_match(pattern, dots))
}

fn one_may_match(pattern: &str, dots: PatternDots) -> bool {
    if !pattern.contains(['*', '?', '[', '{', '(', '\\']) {
        return names_secret(&pattern.to_lowercase());
    }
    let parts: Vec<Part> = parts(pattern).map(|part| Part::new(part, dots)).collect();
    // A pattern through any number of folders may begin in any of them.
    let deep = parts.iter().any(|part| part.text == "**");
    let parts: Vec<Part> = parts.into_iter().filter(|part| part.text != "**").collect();
    let beneath = |folder: &&str| {
        let wanted: Vec<Vec<Token>> = folder.split('/').map(tokens).collect();
        parts.windows(wanted.len()).any(|some| all_meet(some, &wanted))
    };
    let ends_in = |file: &&str| {
        let mut wanted: Vec<Vec<Token>> = file.split('/').map(tokens).collect();
        if deep {
            wanted.drain(..wanted.len().saturating_sub(parts.len()));
        }
        let from = parts.len().checked_sub(wanted.len());
        from.and_then(|from| parts.get(from..)).is_some_and(|end| all_meet(end, &wanted))
    };
    let last = parts.last().map(|last| last.text.to_lowercase()).unwrap_or_default();
    let public = is_writing(&last) || STEMS.iter().any(|stem| last.starts_with(stem));
    let kind = is_kind(&last);
    let mut files = FILES.iter().filter(|file| !(public || kind && file.ends_with('*')));
    parts.is_empty()
        || files.any(ends_in)
        || FOLDERS.iter().any(beneath)
        || parts.windows(2).any(reaches_into_git)
}

/// True for two parts of a pattern that is meant for dotted folders and may match what git keeps in its own.
fn reaches_into_git(two: &[Part<'_>]) -> bool {
    match two {
        [folder, name] => {
            folder.text.starts_with('.') && folder.meets(&tokens(".git")) && !is_open_in_git(name.text)
        }
        _ => false,
    }
}

/// True for a pattern of all files of one kind (`*.txt`). It is about no name that is only begun on the list,
/// such as `id_rsa*`.
fn is_kind(pattern: &str) -> bool {
    let ending = pattern.strip_prefix('*').and_then(|rest| rest.rsplit_once('.')).map(|(_, ending)| ending);
    ending.is_some_and(|ending| !ending.contains(['*', '?', '[', '(']) && !VARIANTS.contains(&ending))
}

/// Writes out `{a,b}`. What is not a plain list stands for any text.
fn alternatives(pattern: &str, found: &mut Vec<String>) {
    if found.len() >= MOST_ALTERNATIVES {
        return;
    }
    let list = pattern.split_once('{').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once('}')?;
        (!inside.contains(['{', '\\', '['])).then_some((before, inside, after))
    });
    match list {
        Some((before, inside, after)) if inside.contains(',') => {
            for one in inside.split(',') {
                alternatives(&format!("{before}{one}{after}"), found);
            }
        }
        Some((before, _, after)) => alternatives(&format!("{before}*{after}"), found),
        None => found.push(pattern.to_owned()),
    }
}

/// A part of a pattern between slashes.
struct Part<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// It matches no name with a leading dot.
    no_dot: bool,
}

impl<'a> Part<'a> {
    fn new(text: &'a str, dots: PatternDots) -> Self {
        let wild = text.starts_with(['*', '?', '[']);
        Self { text, tokens: tokens(text), no_dot: wild && dots == PatternDots::Written }
    }

    fn meets(&self, wanted: &[Token]) -> bool {
        let dotted = matches!(wanted.first(), Some(Token::Char('.')));
        !(self.no_dot && dotted) && meet(&self.tokens, wanted)
    }
}

fn all_meet(parts: &[Part<'_>], wanted: &[Vec<Token>]) -> bool {
    parts.iter().zip(wanted).all(|(part, wanted)| part.meets(wanted))
}

/// Reads a pattern. From a parenthesis or anything else that is not understood on, it stands for any text.
fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        tokens.push(match next {
            '*' => Token::AnyText,
            '?' => Token::AnyChar,
            '[' => match class(&mut rest) {
                Some(class) => class,
                None => return with_any_text(tokens),
            },
            '{' | '(' => return with_any_text(tokens),
            '\\' => Token::Char(lower(rest.next().unwrap_or('\\'))),
            other => Token::Char(lower(other)),
        });
    }
    tokens
}

fn with_any_text(mut tokens: Vec<Token>) -> Vec<Token> {
    // The sign before a parenthesis belongs to it.
    if matches!(tokens.last(), Some(Token::Char('+' | '@' | '!') | Token::AnyChar)) {
        tokens.pop();
    }
    tokens.push(Token::AnyText);
    tokens
}

/// The class after a `[`; `None` when it is not a plain one.
fn class(rest: &mut std::str::Chars<'_>) -> Option<Token> {
    let text = rest.as_str();
    let negated = text.starts_with(['!', '^']);
    let body = if negated { text.get(1..)? } else { text };
    // A bracket that comes first stands for itself.
    let skip = body.chars().next()?.len_utf8();
    let end = skip + body.get(skip..)?.find(']')?;
    let inside = body.get(..end)?;
    if inside.contains(['[', '\\']) {
        return None;
    }
    *rest = body.get(end + 1..)?.chars();
    Some(if negated { Token::AnyChar } else { Token::Class(inside.chars().collect()) })
}

/// True when some text is matched by both.
fn meet(left: &[Token], right: &[Token]) -> bool {
    // For each place on the right: whether what follows there and what follows here on the left can match
    // the same text. Made from the end of the left to its beginning.
    let mut below: Vec<bool> = Vec::new();
    for i in (0..=left.len()).rev() {
        let mut row = vec![false; right.len() + 1];
        for j in (0..=right.len()).rev() {
            let at = |row: &[bool], j: usize| row.get(j).copied().unwrap_or(false);
            let found = match (left.get(i), right.get(j)) {
                (None, None) => true,
                (Some(Token::AnyText), _) | (_, Some(Token::AnyText)) => at(&below, j) || at(&row, j + 1),
                (Some(one), Some(other)) => overlap(one, other) && at(&below, j + 1),
                (Some(_), None) | (None, Some(_)) => false,
            };
            if let Some(place) = row.get_mut(j) {
                *place = found;
            }
        }
        below = row;
    }
    below.first().copied().unwrap_or(true)
}

fn overlap(one: &Token, other: &Token) -> bool {
    match (one, other) {
        (Token::Char(one), Token::Char(other)) => one == other,
        (Token::Char(c), Token::Class(chars)) | (Token::Class(chars), Token::Char(c)) => {
            contains(chars, *c) || c.to_uppercase().any(|c| contains(chars, c))
        }
        _ => true,
    }
}

/// Whether a class lists a character, by itself or in a range.
fn contains(chars: &[char], wanted: char) -> bool {
    let range = |three: &[char]| match three {
        [from, '-', to] => (*from..=*to).contains(&wanted),
        _ => false,
    };
    chars.contains(&wanted) || chars.windows(3).any(range)
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}
