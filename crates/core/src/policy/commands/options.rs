//! Options and operands against a row of the table.

use charla_proto::text::join_path;
use charla_proto::{Word, WordKind};

use super::given::{Name, Takes, may_be_option, options_in};
use super::table::{Operands, Options, Spec};
use super::{Call, Checked};

/// Everything a call says, sorted by what it is.
#[derive(Debug, Default)]
pub(super) struct Sorted<'a> {
    /// Options that were given, long ones without their value.
    pub given: Vec<String>,
    /// Values of options, with the option they belong to; absent where only the shell knows them.
    pub values: Vec<(String, Option<&'a str>)>,
    pub operands: Vec<&'a Word>,
}

impl<'a> Sorted<'a> {
    pub(super) fn has(&self, option: &str) -> bool {
        self.given.iter().any(|given| given == option)
    }

    /// Every value of these options, however it was given.
    pub(super) fn values_of(&self, options: &[&str]) -> impl Iterator<Item = Option<&'a str>> {
        self.values.iter().filter(|(option, _)| options.contains(&option.as_str())).map(|(_, value)| *value)
    }
}

/// What a word counts as that only the shell knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// An option that nobody has looked at.
    Option,
    /// Whatever it turns out to be: none of the command's options runs a program, and what they would write or read is
    /// the kernel's affair.
    Operand,
}

impl Doubt {
    /// For a command whose options run no program.
    pub(super) fn behind(call: Call<'_>) -> Self {
        if call.walled { Self::Operand } else { Self::Option }
    }
}

/// Checks a call against its row.
pub(super) fn check(call: Call<'_>, spec: &Spec) -> Checked {
    // Its words may come out of a file: `strings @list`.
    let takes_list = ["strings", "nm", "objdump", "readelf", "size"].contains(&call.name);
    if takes_list && call.words.iter().any(|word| word.text.starts_with('@')) {
        return Err("it takes its options from a file".into());
    }
    // Those that can be told to run a program, or code of a file.
    let runs = ["sort", "nm", "objdump", "readelf", "size", "xmllint"].contains(&call.name);
    let doubt = if runs { Doubt::Option } else { Doubt::behind(call) };
    let sorted = sort(call.words, spec.options, spec.valued, doubt)?;
    let several = spec.most < usize::MAX && !call.walled && any_unknown(&sorted.operands);
    if sorted.operands.len() > spec.most || several {
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
pub(super) fn sort<'a>(
    words: &'a [Word],
    options: Options,
    valued: &str,
    doubt: Doubt,
) -> Result<Sorted<'a>, String> {
    let mut sorted = Sorted::default();
    let mut rest = words.iter();
    let mut ended = false;
    let mild = matches!(options, Options::Mild { .. });
    while let Some(word) = rest.next() {
        let restricted = !matches!(options, Options::Any);
        match word.known() {
            Some("--") if !ended => ended = true,
            Some(text) if !ended && text.len() > 1 && text.starts_with('-') => {
                if let Some(option) = takes_next(text, options, valued, &mut sorted)? {
                    match rest.next() {
                        Some(value) if matches!(value.kind, WordKind::Literal | WordKind::Single) => {
                            sorted.values.push((option, value.known()));
                        }
                        _ => return Err(format!("the value of {text} is not known")),
                    }
                }
            }
            Some(_) => sorted.operands.push(word),
            None if doubt == Doubt::Operand && !word.text.starts_with('-') => sorted.operands.push(word),
            None if !ended && let Some(name) = option_before_pattern(word) => {
                if restricted && takes_next(name, options, valued, &mut sorted)?.is_none() {
                    return Err(format!("{} may turn out to be an option", word.text));
                }
                sorted.values.push((name.to_owned(), None));
            }
            None if !ended && restricted && may_be_option(word) && !(mild && word.kind == WordKind::Glob) => {
                return Err(format!("{} may turn out to be an option", word.text));
            }
            None => sorted.operands.push(word),
        }
    }
    Ok(sorted)
}

/// The option of a word such as `--include=*.rs`: whatever file names it becomes, they begin with it.
fn option_before_pattern(word: &Word) -> Option<&str> {
    let (name, value) = word.text.split_once('=').filter(|_| word.kind == WordKind::Glob)?;
    let is_plain = name.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphanumeric());
    // A pattern of everything means hidden files, too.
    (is_plain && name.starts_with("--") && value != "*").then_some(name)
}

/// Checks one word of options and names the one whose value is the next word.
fn takes_next<'a>(
    text: &'a str,
    options: Options,
    valued: &str,
    sorted: &mut Sorted<'a>,
) -> Result<Option<String>, String> {
    let (letters, long): (Option<&str>, &[&str]) = match options {
        Options::Any => (None, &[]),
        Options::Only { letters, long } | Options::Mild { letters, long } => (Some(letters), long),
    };
    let refused = || Err(format!("the option {text} is not known to be harmless"));
    let digits = text.strip_prefix('-').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if digits.is_some_and(|digits| !digits.starts_with(|first| valued.contains(first))) {
        return Ok(None);
    }
    let takes = |letter| if valued.contains(letter) { Takes::Value } else { Takes::Nothing };
    // Spelled out: what is shortened is not on the list.
    let is_valued = |name: &str| long.contains(&format!("{name}=").as_str());
    let (given, takes_next) = options_in(text, takes, is_valued);
    let mut last = None;
    for (name, value) in given {
        let (option, known) = match name {
            Name::Letter(letter) => {
                let listed = letters.is_none_or(|letters| letters.contains(letter));
                (format!("-{letter}"), listed || valued.contains(letter))
            }
            Name::Long(name) => {
                (name.to_owned(), letters.is_none() || long.contains(&name) || is_valued(name))
            }
        };
        if !known {
            return refused();
        }
        sorted.given.push(option.clone());
        if value.is_some() {
            sorted.values.push((option.clone(), value));
        }
        last = Some(option);
    }
    Ok(last.filter(|_| takes_next))
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
        WordKind::Single | WordKind::Unknown if call.walled => return Ok(()),
        WordKind::Single | WordKind::Unknown => {
            return Err(format!("what it reads ({}) is only known to the shell", word.text));
        }
    };
    if call.scope.readable(&join_path(call.cwd, fixed)) {
        Ok(())
    } else {
        Err(format!("{} lies outside the workspace", word.text))
    }
}
