//! Options and operands against a row of the table.

use charla_proto::text::join_path;
use charla_proto::{Word, WordKind};

use super::table::{Operands, Options, Spec};
use super::{Call, Checked};

/// Everything a call says, sorted by what it is.
#[derive(Debug, Default)]
pub(super) struct Sorted<'a> {
    /// Options that were given, long ones without their value.
    pub given: Vec<String>,
    /// Values of long options.
    pub values: Vec<&'a str>,
    pub operands: Vec<&'a Word>,
}

impl Sorted<'_> {
    pub(super) fn has(&self, option: &str) -> bool {
        self.given.iter().any(|given| given == option)
    }
}

/// Checks a call against its row.
pub(super) fn check(call: Call<'_>, spec: &Spec) -> Checked {
    let sorted = sort(call.words, spec.options, spec.valued)?;
    if sorted.operands.len() > spec.most || (spec.most < usize::MAX && any_unknown(&sorted.operands)) {
        return Err("one of its files is written to".into());
    }
    match spec.operands {
        Operands::Nothing | Operands::Names => Ok(()),
        Operands::Contents | Operands::Patterned => {
            sorted.operands.iter().try_for_each(|word| readable(call, word))
        }
    }
}

fn any_unknown(words: &[&Word]) -> bool {
    words.iter().any(|word| !word.kind.is_literal())
}

/// Tells options from operands; fails on an option that is not listed and on words that may be one.
pub(super) fn sort<'a>(words: &'a [Word], options: Options, valued: &str) -> Result<Sorted<'a>, String> {
    let mut sorted = Sorted::default();
    let mut rest = words.iter();
    let mut ended = false;
    while let Some(word) = rest.next() {
        let restricted = matches!(options, Options::Only { .. });
        match word.known() {
            Some("--") if !ended => ended = true,
            Some(text) if !ended && text.len() > 1 && text.starts_with('-') => {
                if takes_next(text, options, valued, &mut sorted)? {
                    match rest.next() {
                        // A quoted word is one word, whatever it says.
                        Some(value) if value.kind.is_literal() || value.text.starts_with('"') => {}
                        _ => return Err(format!("the value of {text} is not known")),
                    }
                }
            }
            Some(_) => sorted.operands.push(word),
            None if !ended && restricted && may_be_option(word) => {
                return Err(format!("{} may turn out to be an option", word.text));
            }
            None => sorted.operands.push(word),
        }
    }
    Ok(sorted)
}

fn may_be_option(word: &Word) -> bool {
    word.kind == WordKind::Unknown || word.text.starts_with(['*', '?', '[', '-'])
}

/// Checks one option and says whether the next word is its value.
fn takes_next<'a>(
    text: &'a str,
    options: Options,
    valued: &str,
    sorted: &mut Sorted<'a>,
) -> Result<bool, String> {
    let refused = || Err(format!("the option {text} is not known to be harmless"));
    if text.starts_with("--") {
        let Options::Only { long, .. } = options else { return Ok(false) };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        sorted.given.push(name.to_owned());
        sorted.values.extend(value);
        if long.contains(&name) {
            return Ok(false);
        }
        return if long.contains(&format!("{name}=").as_str()) { Ok(value.is_none()) } else { refused() };
    }
    let letters = text.strip_prefix('-').unwrap_or_default();
    if letters.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(false);
    }
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        sorted.given.push(format!("-{letter}"));
        if valued.contains(letter) {
            return Ok(rest.as_str().is_empty());
        }
        match options {
            Options::Only { letters, .. } if !letters.contains(letter) => return refused(),
            _ => {}
        }
    }
    Ok(false)
}

/// A file that is shown has to be one that may be read.
pub(super) fn readable(call: Call<'_>, word: &Word) -> Checked {
    let fixed = match word.kind {
        WordKind::Literal if word.text == "-" => return Ok(()),
        WordKind::Literal => word.text.as_str(),
        WordKind::Glob => {
            let before = word.text.split(['*', '?', '[']).next().unwrap_or_default();
            // A pattern with `..` behind its first wildcard could climb anywhere.
            if word.text.contains("..") && !before.contains("..") {
                return Err(format!("{} may match anything", word.text));
            }
            before.rsplit_once('/').map_or(".", |(folder, _)| if folder.is_empty() { "/" } else { folder })
        }
        WordKind::Unknown => return Err(format!("what it reads ({}) is only known to the shell", word.text)),
    };
    if call.scope.readable(&join_path(call.cwd, fixed)) {
        Ok(())
    } else {
        Err(format!("{} lies outside the workspace", word.text))
    }
}
