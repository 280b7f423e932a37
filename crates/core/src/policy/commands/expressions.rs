//! Commands that are given little programs: sed, awk, jq, tests.

use charla_proto::{Word, WordKind};

use super::given::{Arguments, Named, Place};
use super::options::{Doubt, readable, sort};
use super::table::Options;
use super::{Call, Checked};

pub(super) const SED: Options = Options::Only {
    letters: "nErsuz",
    long: &["--quiet", "--silent", "--regexp-extended", "--separate", "--null-data", "--expression="],
};

pub(super) const JQ: Options = Options::Only {
    letters: "rcsneSMCaj",
    long: &[
        "--raw-output",
        "--compact-output",
        "--slurp",
        "--null-input",
        "--exit-status",
        "--sort-keys",
        "--tab",
    ],
};

/// True for `sed -i`.
pub(super) fn edits_in_place(words: &[Word]) -> bool {
    words.iter().any(|word| {
        let letters = word.text.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        let shortened =
            word.text.len() > 2 && "--in-place".starts_with(word.text.split('=').next().unwrap_or_default());
        shortened || letters.is_some_and(|letters| letters.contains('i'))
    })
}

/// `sed -i` with such a script, on files that `file` lets pass.
pub(super) fn sed_in_place(call: Call<'_>, file: impl Fn(&Word) -> Checked) -> Checked {
    // Written plainly: glued to others, what follows the letter would be the ending of a copy.
    let (marks, words): (Vec<Word>, Vec<Word>) =
        call.words.iter().cloned().partition(|word| matches!(word.known(), Some("-i" | "--in-place")));
    if marks.is_empty() || edits_in_place(&words) {
        return Err("where it keeps the old content is not known".into());
    }
    let files = sed_files(&words, Doubt::Option)?;
    if files.is_empty() {
        return Err("it names no file".into());
    }
    files.iter().try_for_each(file)
}

/// `sed` without `-i`, with a script that neither writes nor runs anything.
pub(super) fn sed(call: Call<'_>) -> Checked {
    // A file that is named like an option writes nothing and runs nothing that the kernel would not hold.
    let files = sed_files(call.words, Doubt::behind(call))?;
    files.iter().try_for_each(|word| readable(call, word))
}

/// The files of a `sed` whose scripts neither write nor run anything.
fn sed_files(words: &[Word], doubt: Doubt) -> Result<Vec<Word>, String> {
    let sorted = sort(words, SED, "e", doubt)?;
    let mut operands = sorted.operands.as_slice();
    let mut scripts: Vec<Option<&str>> = sorted.values_of(&["-e", "--expression"]).collect();
    if scripts.is_empty() {
        let (script, files) = operands.split_first().ok_or("it has no script")?;
        scripts.push(script.known());
        operands = files;
    }
    for script in &scripts {
        let script = script.ok_or("its script is only known to the shell")?;
        if !sed_script(script) {
            return Err("its script may write or run something".into());
        }
    }
    Ok(operands.iter().map(|word| (*word).clone()).collect())
}

/// Why `sed` or `awk` may run a program: their little programs can. The first `named` words are what an allowance says. Here the
/// words of the call begin with its name.
pub(super) fn runs_program(call: Call<'_>, named: usize) -> Option<String> {
    let runs = "its script may run a program".to_owned();
    let (given, from_file, script, can_run): (_, _, _, fn(&str) -> bool) = match call.name {
        "sed" => {
            let given = sed_arguments(call.words);
            let from_file = given.has(Named::new("f", &["--file"]));
            (given, from_file, Named::new("e", &["--expression"]), |script| !sed_script(script))
        }
        _ => {
            let valued = Named::new(
                "FvfilEe",
                &["--field-separator", "--assign", "--file", "--include", "--load", "--exec", "--source"],
            );
            let given = Arguments::of(call.words, 1, &[valued]);
            let from_file = given.has(Named::new("filE", &["--file", "--include", "--load", "--exec"]));
            (given, from_file, Named::new("e", &["--source"]), awk_may_run)
        }
    };
    if from_file {
        return Some(runs);
    }
    let mut scripts: Vec<&Place> = given
        .options
        .iter()
        .filter(|option| option.is(script))
        .filter_map(|option| option.value.as_ref())
        .collect();
    if scripts.is_empty() {
        scripts.extend(given.operands.first());
    }
    let may_run = |place: &&Place| place.at >= named && place.word.known().is_none_or(can_run);
    scripts.iter().any(may_run).then_some(runs)
}

/// What `sed` is given; its name is the first of the words.
pub(super) fn sed_arguments(words: &[Word]) -> Arguments<'_> {
    const VALUED: Named =
        Named { letters: "efl", long: &["--expression", "--file", "--line-length"], glued: "i" };
    Arguments::of(words, 1, &[VALUED])
}

fn awk_may_run(program: &str) -> bool {
    let program = program.replace("||", "");
    ["system", "|", "@"].iter().any(|found| program.contains(found))
}

/// True for scripts made of addresses and commands that only touch what is printed. Whether a mark inside brackets ends the
/// expression is read differently by different versions of sed: both readings must be fine, or one of them no script at all.
fn sed_script(script: &str) -> bool {
    let plainly = read_sed(script, Brackets::Skipped);
    plainly.is_ok() && read_sed(script, Brackets::Ignored) != Err(Unfit::Doubtful)
}

/// The files that a script of sed may write: what stands behind a `w`.
pub(super) fn files_of_sed(script: &str) -> Vec<&str> {
    if sed_script(script) {
        return Vec::new();
    }
    let behind = script.split(['w', 'W']).skip(1).filter(|behind| !behind.starts_with('/'));
    behind.map(|behind| behind.trim_start().lines().next().unwrap_or_default()).collect()
}

/// What is made of a bracket in an expression of sed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    /// A mark in it is one of its characters.
    Skipped,
    /// It is a character like others.
    Ignored,
}

/// Why a script of sed does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unfit {
    /// It may write or run something.
    Doubtful,
    /// Sed does not run it.
    Broken,
}

fn read_sed(script: &str, brackets: Brackets) -> Result<(), Unfit> {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| " \t;\n{}!".contains(*c)).is_some() {}
        let Some(next) = rest.next() else { return Ok(()) };
        match next {
            '0'..='9' | '$' | ',' | '+' | '~' => {}
            '/' => {
                skip_expression('/', &mut rest, brackets)?;
                while rest.next_if(|c| *c == 'I').is_some() {}
            }
            'p' | 'd' | 'q' | '=' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'l' => {
                let end = |c: &char| " \t;\n}".contains(*c) || c.is_ascii_digit();
                if rest.peek().is_some_and(|c| !end(c)) {
                    return Err(Unfit::Doubtful);
                }
            }
            // Text up to the end of the line; jumps and their marks.
            'a' | 'i' | 'c' => skip_text(&mut rest)?,
            ':' | 'b' | 't' | 'T' => while rest.next_if(|c| !";\n}".contains(*c)).is_some() {},
            '#' => while rest.next_if(|c| *c != '\n').is_some() {},
            's' | 'y' => {
                let mark = rest.next().filter(|mark| "/|#,:@!%_;~=-".contains(*mark));
                let mark = mark.ok_or(Unfit::Doubtful)?;
                skip_expression(mark, &mut rest, if next == 's' { brackets } else { Brackets::Ignored })?;
                skip_expression(mark, &mut rest, Brackets::Ignored)?;
                flags(&mut rest)?;
            }
            _ => return Err(Unfit::Doubtful),
        }
    }
}

/// Steps past the text that `a`, `i` and `c` add: all up to a line that does not end in a backslash. Some versions of sed take the
/// text from the next line only, so that what stands here is the same to all of them where it is one line.
fn skip_text(rest: &mut Script<'_>) -> Result<(), Unfit> {
    while let Some(next) = rest.next() {
        match next {
            '\n' => return Err(Unfit::Doubtful),
            '\\' if rest.peek().is_none_or(|c| *c == '\n') => return Err(Unfit::Doubtful),
            _ => {}
        }
    }
    Ok(())
}

/// Steps past the flags of `s`.
fn flags(rest: &mut Script<'_>) -> Result<(), Unfit> {
    while rest.next_if(|c| "gpiI".contains(*c) || c.is_ascii_digit()).is_some() {}
    match rest.peek() {
        None => Ok(()),
        Some(end) if " \t;\n}".contains(*end) => Ok(()),
        // Of the letters, these write a file, run a program, or are not looked at.
        Some(flag) if "wemM#\r".contains(*flag) => Err(Unfit::Doubtful),
        Some(_) => Err(Unfit::Broken),
    }
}

type Script<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Steps past the next `mark` that is not escaped.
fn skip_expression(mark: char, rest: &mut Script<'_>, brackets: Brackets) -> Result<(), Unfit> {
    while let Some(next) = rest.next() {
        match next {
            next if next == mark => return Ok(()),
            '[' if brackets == Brackets::Skipped && !skip_bracket(rest) => return Err(Unfit::Doubtful),
            // `\c` makes something else of the character behind it.
            '\\' if rest.next().is_none_or(|escaped| matches!(escaped, '\n' | 'c')) => {
                return Err(Unfit::Doubtful);
            }
            '\n' => return Err(Unfit::Doubtful),
            _ => {}
        }
    }
    Err(Unfit::Broken)
}

/// Steps past a bracket expression: `[]abc]`, `[^]a]`, `[[:alpha:]_]`, `[[.x.]]`.
fn skip_bracket(rest: &mut Script<'_>) -> bool {
    rest.next_if_eq(&'^');
    let mut first = true;
    while let Some(next) = rest.next() {
        match next {
            ']' if !first => return true,
            '\n' => return false,
            '[' if matches!(rest.peek(), Some(':' | '.' | '=')) => {
                let Some(kind) = rest.next() else { return false };
                loop {
                    match rest.next() {
                        Some(end) if end == kind && rest.next_if_eq(&']').is_some() => break,
                        Some(inside) if inside != '\n' => {}
                        _ => return false,
                    }
                }
            }
            _ => {}
        }
        first = false;
    }
    false
}

/// `awk` with a program that has no way to reach beyond its input.
pub(super) fn awk(call: Call<'_>) -> Checked {
    let sorted = sort(call.words, Options::Only { letters: "", long: &[] }, "Fv", Doubt::Option)?;
    let values = sorted.values_of(&["-v"]).collect::<Option<Vec<&str>>>();
    if values.is_none_or(|values| values.iter().any(|value| value.contains('\\'))) {
        return Err("what -v sets is not known".into());
    }
    let (program, files) = sorted.operands.split_first().ok_or("it has no program")?;
    let program = program.known().ok_or("its program is only known to the shell")?;
    let reaching = [
        "system", "getline", "|", "close", "fflush", "@", "ENVIRON", "ARGV", "ARGC", "PROCINFO", "SYMTAB",
        "FUNCTAB", "\\\n",
    ];
    // What the kernel keeps it from behind the wall: files it would write.
    let writing: &[&str] = if call.walled { &[] } else { &[">", "\\"] };
    let program = program.replace("||", "");
    if let Some(found) = reaching.iter().chain(writing).find(|found| program.contains(**found)) {
        return Err(format!("its program uses {found}, which may write or run something"));
    }
    files.iter().try_for_each(|word| readable(call, word))
}

/// `jq` with a filter that does not look at the environment or at other files.
pub(super) fn jq(call: Call<'_>) -> Checked {
    let words = without_named(call.words);
    let sorted = sort(&words, JQ, "", Doubt::behind(call))?;
    let (filter, files) = sorted.operands.split_first().ok_or("it has no filter")?;
    let filter = filter.known().ok_or("its filter is only known to the shell")?;
    // Secrets were taken out of the variables of what runs unasked.
    let variables: &[&str] = if call.walled { &[] } else { &["env", "ENV"] };
    let reaching =
        ["import", "include", "input_filename", "debug", "$__prog", "modulemeta", "get_search_list"];
    if let Some(found) = variables.iter().chain(&reaching).find(|found| filter.contains(**found)) {
        return Err(format!("its filter uses {found}"));
    }
    files.iter().try_for_each(|word| readable(call, word))
}

/// The words of `jq` without `--arg NAME VALUE`, which is no file.
fn without_named(words: &[Word]) -> Vec<Word> {
    let mut kept = Vec::new();
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        rest = match (word.known(), behind) {
            // From here on, nothing is an option.
            (Some("--"), _) => {
                kept.extend_from_slice(rest);
                &[]
            }
            (Some("--arg" | "--argjson"), [name, value, behind @ ..])
                if [name, value]
                    .iter()
                    .all(|word| matches!(word.kind, WordKind::Literal | WordKind::Single)) =>
            {
                behind
            }
            _ => {
                kept.push(word.clone());
                behind
            }
        };
    }
    kept
}

/// `python3 -m json.tool [FILE]`, which shows a file. That nothing in the working folder takes the place of its modules, the disk
/// tells; should something do so all the same, the kernel holds it.
pub(super) fn json_tool(call: Call<'_>) -> Checked {
    const LONG: &[&str] = &[
        "--sort-keys",
        "--no-ensure-ascii",
        "--json-lines",
        "--indent=",
        "--tab",
        "--no-indent",
        "--compact",
    ];
    let rest = match call.words {
        [module, tool, rest @ ..]
            if call.walled && module.known() == Some("-m") && tool.known() == Some("json.tool") =>
        {
            rest
        }
        _ => return Err("it is not known to be harmless".into()),
    };
    let sorted = sort(rest, Options::Only { letters: "", long: LONG }, "", Doubt::Option)?;
    match sorted.operands.as_slice() {
        [] => Ok(()),
        [file] => readable(call, file),
        _ => Err("one of its files is written to".into()),
    }
}

/// `[[`: its operators are written out, but some evaluate their operands, and so run what is hidden in them.
pub(super) fn condition(call: Call<'_>) -> Checked {
    let evaluates = |text: &str| matches!(text, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
    let number = |word: Option<&Word>| {
        word.and_then(Word::known)
            .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
    };
    for (index, word) in call.words.iter().enumerate() {
        match word.known() {
            Some("-v" | "-R") => return Err(HIDDEN_NAME.into()),
            Some(text) if evaluates(text) => {
                let before = index.checked_sub(1).and_then(|index| call.words.get(index));
                if !number(before) || !number(call.words.get(index + 1)) {
                    return Err("it may run commands hidden in what it compares".into());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

const HIDDEN_NAME: &str = "it may run commands hidden in a variable's name";

/// `test` and `[`: a word only the shell knows may turn out to be an operator, unless one that is known says what
/// it is.
pub(super) fn test(call: Call<'_>) -> Checked {
    let mut words = call.words;
    if call.name == "[" {
        words = match words.split_last() {
            Some((last, words)) if last.known() == Some("]") => words,
            _ => return Err("its end is not known".into()),
        };
    }
    if words.iter().any(|word| matches!(word.known(), Some("-v" | "-R"))) {
        return Err(HIDDEN_NAME.into());
    }
    let Some(doubtful) = words.iter().find(|word| !word.kind.is_literal()) else { return Ok(()) };
    let refused = Err(format!("{} may turn out to be an operator", doubtful.text));
    if words.iter().any(|word| matches!(word.kind, WordKind::Glob | WordKind::Unknown)) {
        return refused;
    }
    let asked = match words.split_first() {
        Some((first, rest)) if first.known() == Some("!") => rest,
        _ => words,
    };
    match asked {
        [_] => Ok(()),
        [operator, _] if operator.known().is_some_and(is_unary) => Ok(()),
        [_, operator, _] if operator.known().is_some_and(is_binary) => Ok(()),
        _ => refused,
    }
}

fn is_unary(operator: &str) -> bool {
    let letter = operator.strip_prefix('-').filter(|letter| letter.len() == 1);
    letter.is_some_and(|letter| "abcdefghknoprstuwxzGLNOS".contains(letter))
}

fn is_binary(operator: &str) -> bool {
    const OPERATORS: [&str; 14] =
        ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];
    OPERATORS.contains(&operator)
}

#[cfg(test)]
mod tests {
    use super::sed_script;

    #[test]
    fn scripts_that_only_print_are_told_from_the_others() {
        for script in [
            "1,10p",
            "$p",
            "/foo/p",
            "s/a/b/g",
            "/a/,/b/d",
            "5q",
            "s|/a|/b|; p",
            "1!d",
            "s/a\\/b/c/",
            "s/[0-9]/x/g",
            "s/[]a]/b/",
            "/[[:alpha:]_]/p",
            "s/a/[b]/",
            "s;a;b;g",
            "s/[^/]*/x/",
            "s/[^/]*$//",
            "s/[^\\/]*/x/",
            "s/\\(.*\\)/[\\1]/",
            "s|[^|]*|x|2",
        ] {
            assert!(sed_script(script), "{script}");
        }
        for script in [
            "w out",
            "1w out",
            "s/a/b/w out",
            "s/a/b/e",
            "e",
            "1e ls",
            "r /etc/passwd",
            "s/a/b",
            "W x",
            "p;w x",
            "/a/w x",
            "$!w x",
            "s/[[:alpha:]/]/g;s/e #/x/",
            "s/[]/]/g;s/w x/",
            "s/[^]/]/x/e",
            "s/[[.a.]/]/e",
            "s/[[=a=]/]/w x",
            "s/[a\\]/e",
            "s/[/]/w x/",
            "s/a\\c/b/e/",
            "s/[^/]*/w x/",
            "s/[/]*/]/e",
            "s/[^/]/e;1e ls",
            "s/[/]/;1e x/",
            "s;[;];w x;",
            "y/[/]/w x/",
        ] {
            assert!(!sed_script(script), "{script}");
        }
    }
}
