//! Expansion of a word into the words a command gets, as far as that can be known.

use charla_proto::{Word, WordKind};

use super::syntax::{Atom, RawWord};

/// More words than this from one word are not listed.
const MAX_WORDS: usize = 256;

/// The words that `raw` becomes: braces, tildes, quotes and file name patterns.
pub(super) fn expand(raw: &RawWord, home: Option<&str>) -> Vec<Word> {
    let Some(alternatives) = braces(&raw.atoms, 0) else { return vec![Word::unknown(&raw.source)] };
    alternatives
        .iter()
        .filter(|atoms| !atoms.is_empty())
        .map(|atoms| resolve(atoms, &raw.source, home))
        .collect()
}

/// The one word that `raw` is where it is neither split nor expanded to file names.
pub(super) fn value(raw: &RawWord, home: Option<&str>) -> Word {
    let plain: Vec<Atom> = raw
        .atoms
        .iter()
        .map(|atom| match atom {
            Atom::Glob(c) => Atom::Quoted(*c),
            Atom::Unknown => Atom::One,
            other => *other,
        })
        .collect();
    let word = resolve(&plain, &raw.source, home);
    if word.kind == WordKind::Unknown { Word::single(word.text) } else { word }
}

fn resolve(atoms: &[Atom], source: &str, home: Option<&str>) -> Word {
    // In what looks like an assignment, bash expands tildes behind `=` and `:` too.
    let later_tilde = atoms.windows(2).any(|pair| matches!(pair, [Atom::Char('=' | ':'), Atom::Char('~')]));
    if later_tilde || atoms.contains(&Atom::Unknown) {
        return Word::unknown(source);
    }
    if atoms.contains(&Atom::One) {
        // A pattern behind it may name any number of files.
        let several = atoms.iter().any(|atom| matches!(atom, Atom::Glob(_)));
        return if several { Word::unknown(source) } else { Word::single(source) };
    }
    let mut text = String::new();
    let mut rest = atoms;
    if atoms.first() == Some(&Atom::Char('~')) {
        let bare = matches!(atoms.get(1), None | Some(Atom::Char('/')));
        match home.filter(|_| bare) {
            Some(home) => text.push_str(home),
            None => return Word::unknown(source),
        }
        rest = atoms.get(1..).unwrap_or_default();
    }
    if !is_pattern(rest) {
        text.extend(rest.iter().filter_map(character));
        return Word::literal(text);
    }
    for atom in rest {
        if let Atom::Quoted(c) = atom
            && "*?[]\\{}".contains(*c)
        {
            text.push('\\');
        }
        text.extend(character(atom));
    }
    Word { text, kind: WordKind::Glob }
}

fn character(atom: &Atom) -> Option<char> {
    match atom {
        Atom::Char(c) | Atom::Quoted(c) | Atom::Glob(c) => Some(*c),
        Atom::Unknown | Atom::One | Atom::Empty => None,
    }
}

fn is_pattern(atoms: &[Atom]) -> bool {
    let closes = |from: usize| {
        atoms.get(from..).is_some_and(|rest| rest.iter().any(|atom| character(atom) == Some(']')))
    };
    atoms.iter().enumerate().any(|(index, atom)| match atom {
        Atom::Glob('[') => closes(index + 1),
        Atom::Glob(_) => true,
        _ => false,
    })
}

/// The alternatives of a word with braces; absent when there are too many.
fn braces(atoms: &[Atom], depth: usize) -> Option<Vec<Vec<Atom>>> {
    if depth > 16 {
        return None;
    }
    for (open, atom) in atoms.iter().enumerate() {
        if *atom != Atom::Char('{') {
            continue;
        }
        let Some(close) = closing_brace(atoms, open) else { continue };
        let inside = atoms.get(open + 1..close)?;
        let before = atoms.get(..open)?;
        let alternatives = match split_at_commas(inside) {
            parts if parts.len() > 1 => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(braces(part, depth + 1)?);
                }
                all
            }
            _ => match sequence(inside)? {
                Some(words) => words,
                None => continue,
            },
        };
        let after = braces(atoms.get(close + 1..)?, depth + 1)?;
        if alternatives.len() * after.len() > MAX_WORDS {
            return None;
        }
        let join = |middle: &Vec<Atom>, end: &Vec<Atom>| [before, middle, end].concat();
        return Some(alternatives.iter().flat_map(|a| after.iter().map(move |b| join(a, b))).collect());
    }
    Some(vec![atoms.to_vec()])
}

fn closing_brace(atoms: &[Atom], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, atom) in atoms.iter().enumerate().skip(open) {
        match atom {
            Atom::Char('{') => depth += 1,
            Atom::Char('}') if depth == 1 => return Some(index),
            Atom::Char('}') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn split_at_commas(inside: &[Atom]) -> Vec<&[Atom]> {
    let mut depth = 0usize;
    inside
        .split(|atom| {
            match atom {
                Atom::Char('{') => depth += 1,
                Atom::Char('}') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && *atom == Atom::Char(',')
        })
        .collect()
}

/// The words of `1..5` or `a..e`; `Some(None)` when it is no sequence, absent when it is one that is not
/// worth working out.
#[expect(clippy::option_option, reason = "three answers: these words, no sequence, too much to list")]
fn sequence(inside: &[Atom]) -> Option<Option<Vec<Vec<Atom>>>> {
    let text: Option<String> = inside
        .iter()
        .map(|atom| match atom {
            Atom::Char(c) => Some(*c),
            _ => None,
        })
        .collect();
    let Some(text) = text.filter(|text| text.contains("..")) else { return Some(None) };
    let ends: Vec<&str> = text.split("..").collect();
    let [first, last] = ends.as_slice() else { return None };
    let word = |text: String| text.chars().map(Atom::Quoted).collect::<Vec<Atom>>();
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let padded = |end: &str| end.trim_start_matches('-').starts_with('0') && end.len() > 1;
        if from.abs_diff(to) >= MAX_WORDS as u64 || padded(first) || padded(last) {
            return None;
        }
        let up: Vec<i64> = (from.min(to)..=from.max(to)).collect();
        let ordered: Vec<i64> = if from <= to { up } else { up.into_iter().rev().collect() };
        return Some(Some(ordered.into_iter().map(|number| word(number.to_string())).collect()));
    }
    // Letters and everything else: the shell knows.
    None
}
