//! Commands that search.

use charla_proto::text::join_path;
use charla_proto::{Word, WordKind};

use super::given::{Arguments, Named};
use super::options::{Doubt, readable, sort};
use super::table::Options;
use super::{Call, Checked};
use crate::policy::paths::{aimed_at_secret, secret_include};

const GREP: Options = Options::Only {
    letters: "EFGPivwxyclLnqshHorzabZTUI",
    long: &[
        "--include=",
        "--exclude=",
        "--exclude-dir=",
        "--color",
        "--colour",
        "--line-number",
        "--ignore-case",
        "--recursive",
        "--word-regexp",
        "--count",
        "--files-with-matches",
        "--files-without-match",
        "--only-matching",
        "--no-filename",
        "--with-filename",
        "--quiet",
        "--max-count=",
        "--context=",
        "--after-context=",
        "--before-context=",
        "--extended-regexp",
        "--fixed-strings",
        "--perl-regexp",
        "--invert-match",
        "--text",
        "--null",
        "--no-messages",
        "--binary-files=",
        "--line-regexp",
        "--regexp=",
    ],
};

/// The first operand of `grep` is a pattern, unless an option gave one.
pub(super) fn grep(call: Call<'_>) -> Checked {
    let words: Vec<Word> = call.words.iter().map(plain_pattern).collect();
    let sorted = sort(&words, GREP, "emABC", Doubt::behind(call))?;
    let patterns = usize::from(!sorted.has("-e") && !sorted.has("--regexp"));
    let recursive = sorted.has("-r") || sorted.has("--recursive");
    let files = sorted.operands.get(patterns..).unwrap_or_default();
    let included = sorted.has("--include")
        && sorted
            .values_of(&["--include"])
            .all(|value| value.is_some_and(|value| secret_include(value).is_none()));
    let everywhere = |word: &&&Word| call.scope.roots.contains(&join_path(call.cwd, &word.text));
    let aimed = sorted.values_of(&["--include"]).flatten().find_map(aimed_at_secret);
    if let Some(reason) = aimed {
        return Err(reason.into());
    }
    // Behind the wall, the kernel hides those that are secret.
    if recursive
        && !call.walled
        && !included
        && (files.is_empty() || files.iter().any(|word| everywhere(&word)))
    {
        return Err("it would read every file, secrets included; name a folder or --include".into());
    }
    if recursive && files.is_empty() {
        return readable(call, &Word::literal("."));
    }
    files.iter().try_for_each(|word| readable(call, word))
}

/// Options of `grep` that have a value.
const GREP_VALUED: Named = Named::new(
    "efmABCdD",
    &[
        "--regexp",
        "--file",
        "--max-count",
        "--context",
        "--after-context",
        "--before-context",
        "--directories",
    ],
);

/// The same of `rg`.
const RIPGREP_VALUED: Named = Named::new(
    "efgtTABCmMjrdE",
    &[
        "--regexp",
        "--file",
        "--glob",
        "--iglob",
        "--type",
        "--type-not",
        "--type-add",
        "--context",
        "--after-context",
        "--before-context",
        "--max-count",
        "--max-depth",
        "--max-columns",
        "--max-filesize",
        "--threads",
        "--replace",
        "--sort",
        "--sortr",
        "--color",
        "--colors",
        "--encoding",
        "--ignore-file",
        "--pre",
        "--pre-glob",
    ],
);

/// True for a command that goes through all that is below the folders it is given, or the working folder where it is given none.
pub(in crate::policy) fn goes_through_folders(words: &[Word]) -> bool {
    match super::base_name(words) {
        Some("grep" | "egrep" | "fgrep" | "zgrep" | "bzgrep" | "xzgrep" | "zstdgrep") => {
            Arguments::of(words, 1, &[GREP_VALUED])
                .has(Named::new("rRd", &["--recursive", "--dereference-recursive", "--directories"]))
        }
        Some("diff") => Arguments::of(words, 1, &[]).has(Named::new("r", &["--recursive"])),
        // These do so unasked.
        Some("rg" | "rga" | "ag" | "ack" | "ugrep" | "pt") => true,
        _ => false,
    }
}

/// True for such a command that is given no folder.
pub(in crate::policy) fn goes_through_here(words: &[Word]) -> bool {
    const GIVEN: Named = Named::new("ef", &["--regexp", "--file", "--files"]);
    let valued = match super::base_name(words) {
        Some("rg") => RIPGREP_VALUED,
        Some("ag" | "ack" | "ugrep" | "pt" | "rga") => return true,
        _ => GREP_VALUED,
    };
    let given = Arguments::of(words, 1, &[valued]);
    goes_through_folders(words) && given.operands.len() <= usize::from(!given.has(GIVEN))
}

/// The words of a command that say what is looked for, or what is done, and name no file.
pub(in crate::policy) fn sought(words: &[Word]) -> Vec<&Word> {
    let Some((name, rest)) = super::base_name(words).zip(words.get(1..)) else { return Vec::new() };
    let read = |options: Options, valued: &str, given: &[&str]| {
        let Ok(sorted) = sort(rest, options, valued, Doubt::Operand) else { return Vec::new() };
        match given.iter().any(|option| sorted.has(option)) {
            true => Vec::new(),
            false => sorted.operands.first().copied().into_iter().collect(),
        }
    };
    match name {
        "grep" | "egrep" | "fgrep" => read(GREP, "emABC", &["-e", "--regexp"]),
        "rg" => read(RIPGREP, "eABCmgtTrjEMd", &["-e", "--regexp", "--files", "--type-list"]),
        "jq" => read(super::expressions::JQ, "", &[]),
        "sed" => read(super::expressions::SED, "e", &["-e", "--expression"]),
        "awk" => read(Options::Only { letters: "", long: &[] }, "Fv", &[]),
        _ => Vec::new(),
    }
}

/// A pattern that starts with a wildcard cannot be an option that does harm here: `grep` has none.
fn plain_pattern(word: &Word) -> Word {
    let pattern = word.kind == WordKind::Glob && word.text.starts_with(['*', '?', '[']);
    if pattern { Word { text: format!("./{}", word.text), ..word.clone() } } else { word.clone() }
}

const RIPGREP: Options = Options::Only {
    letters: "incvwlFsSoNHpxPUa0qIb",
    long: &[
        "--files",
        "--files-with-matches",
        "--files-without-match",
        "--glob=",
        "--iglob=",
        "--type=",
        "--type-not=",
        "--ignore-case",
        "--smart-case",
        "--case-sensitive",
        "--fixed-strings",
        "--line-number",
        "--no-line-number",
        "--no-heading",
        "--heading",
        "--count",
        "--count-matches",
        "--context=",
        "--after-context=",
        "--before-context=",
        "--max-count=",
        "--max-depth=",
        "--word-regexp",
        "--multiline",
        "--only-matching",
        "--color=",
        "--json",
        "--sort=",
        "--stats",
        "--with-filename",
        "--no-filename",
        "--type-list",
        "--regexp=",
        "--invert-match",
        "--pcre2",
        "--column",
        "--vimgrep",
        "--trim",
        "--replace=",
        "--threads=",
        "--max-columns=",
    ],
};

pub(super) fn ripgrep(call: Call<'_>) -> Checked {
    // Behind the wall, the kernel hides what is secret of the files that are otherwise passed over.
    let everything = |word: &Word| {
        matches!(
            word.known(),
            Some("-u" | "-uu" | "-uuu" | "-." | "--hidden" | "--no-ignore" | "--no-ignore-vcs")
        )
    };
    let words: Vec<Word> =
        call.words.iter().filter(|word| !(call.walled && everything(word))).cloned().collect();
    let sorted = sort(&words, RIPGREP, "eABCmgtTrjEMd", Doubt::Option)?;
    let given =
        sorted.has("-e") || sorted.has("--regexp") || sorted.has("--files") || sorted.has("--type-list");
    let files = sorted.operands.get(usize::from(!given)..).unwrap_or_default();
    if files.is_empty() {
        return readable(call, &Word::literal("."));
    }
    files.iter().try_for_each(|word| readable(call, word))
}

const FD: Options = Options::Only {
    letters: "HIsigap0l",
    long: &[
        "--hidden",
        "--no-ignore",
        "--type=",
        "--extension=",
        "--exclude=",
        "--max-depth=",
        "--glob",
        "--absolute-path",
        "--full-path",
        "--ignore-case",
        "--case-sensitive",
        "--color=",
        "--max-results=",
        "--list-details",
    ],
};

pub(super) fn fd(call: Call<'_>) -> Checked {
    sort(call.words, FD, "tedEcS", Doubt::Option).map(|_| ())
}

const FIND_TESTS: [&str; 34] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-type",
    "-xtype",
    "-maxdepth",
    "-mindepth",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-regex",
    "-iregex",
    "-regextype",
    "-perm",
    "-user",
    "-group",
    "-links",
    "-inum",
    "-samefile",
    "-printf",
    "-uid",
    "-gid",
    "-lname",
    "-ilname",
    "-fstype",
    "-anewer",
    "-newermt",
];
const FIND_SWITCHES: [&str; 28] = [
    "-not",
    "!",
    "-o",
    "-or",
    "-a",
    "-and",
    "(",
    ")",
    ",",
    "-print",
    "-print0",
    "-prune",
    "-empty",
    "-L",
    "-H",
    "-P",
    "-ls",
    "-quit",
    "-executable",
    "-readable",
    "-writable",
    "-follow",
    "-xdev",
    "-mount",
    "-depth",
    "-true",
    "-false",
    "-daystart",
];

/// `find`: names are told, nothing is shown. What `-exec` starts is judged by itself.
pub(super) fn find(call: Call<'_>) -> Checked {
    let mut words = call.words.iter().enumerate();
    let mut expressions = false;
    while let Some((index, word)) = words.next() {
        // What begins with a letter is a place to look in, whatever it matches.
        let named = word.text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '/');
        if call.walled && word.kind == WordKind::Glob && named && !expressions {
            continue;
        }
        let Some(text) = word.known() else {
            return Err(format!("{} may turn out to be an action", word.text));
        };
        if FIND_SWITCHES.contains(&text) {
            expressions = true;
        } else if FIND_TESTS.contains(&text) {
            expressions = true;
            match words.next() {
                Some((_, value)) if matches!(value.kind, WordKind::Literal | WordKind::Single) => {}
                _ => return Err(format!("the value of {text} is not known")),
            }
        } else if matches!(text, "-exec" | "-execdir" | "-ok" | "-okdir") {
            let command = call.words.get(index + 1..).unwrap_or_default();
            let end = command.iter().enumerate().position(|(at, word)| match word.known() {
                Some(";") => true,
                Some("+") => at > 0 && command.get(at - 1).and_then(Word::known) == Some("{}"),
                _ => false,
            });
            let Some(end) = end else { return Err("the command of -exec has no end".into()) };
            words.nth(end);
        } else if text.starts_with('-') || expressions {
            return Err(format!("{text} is not known to be harmless"));
        }
    }
    Ok(())
}
