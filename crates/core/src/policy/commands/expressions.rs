//! Commands that are given little programs: sed, awk, jq, tests.

use charla_proto::Word;

use super::options::{readable, sort};
use super::table::Options;
use super::{Call, Checked};

/// `sed` without `-i`, with a script that neither writes nor runs anything.
pub(super) fn sed(call: Call<'_>) -> Checked {
    let options = Options::Only {
        letters: "nErsuz",
        long: &["--quiet", "--silent", "--regexp-extended", "--separate", "--null-data", "--expression="],
    };
    let sorted = sort(call.words, options, "e")?;
    let mut operands = sorted.operands.as_slice();
    let mut scripts: Vec<&str> = sorted.values.clone();
    if sorted.has("-e") {
        scripts.extend(values_of(call.words, "-e")?);
    } else if sorted.has("--expression") && scripts.is_empty() {
        return Err("its script is not read".into());
    } else if !sorted.has("--expression") {
        let (script, files) = operands.split_first().ok_or("it has no script")?;
        scripts.push(script.known().ok_or("its script is only known to the shell")?);
        operands = files;
    }
    if scripts.is_empty() || !scripts.iter().all(|script| sed_script(script)) {
        return Err("its script may write or run something".into());
    }
    operands.iter().try_for_each(|word| readable(call, word))
}

/// The values of a short option, glued or apart.
fn values_of<'a>(words: &'a [Word], option: &str) -> Result<Vec<&'a str>, String> {
    let mut values = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { continue };
        if text == option {
            let value = rest.next().and_then(Word::known);
            values.push(value.ok_or("its script is only known to the shell")?);
        } else if let Some(cluster) = text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'))
            && cluster.contains('e')
        {
            // `-ne 'p'` and `-e'p'`: too many forms to tell apart safely, but for the common one.
            if !cluster.ends_with('e') || cluster.matches('e').count() > 1 {
                return Err("its script is not read".into());
            }
            let value = rest.next().and_then(Word::known);
            values.push(value.ok_or("its script is only known to the shell")?);
        }
    }
    Ok(values)
}

/// True for scripts made of addresses and commands that only touch what is printed.
fn sed_script(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        while rest.next_if(|c| " \t;\n{}!".contains(*c)).is_some() {}
        let Some(next) = rest.next() else { return true };
        match next {
            '0'..='9' | '$' | ',' | '+' | '~' => {}
            '/' => {
                if !skip_to('/', &mut rest) {
                    return false;
                }
                while rest.next_if(|c| *c == 'I').is_some() {}
            }
            'p' | 'd' | 'q' | '=' | 'n' | 'N' | 'D' | 'P' | 'h' | 'H' | 'g' | 'G' | 'x' | 'l' => {
                let end = |c: &char| " \t;\n}".contains(*c) || c.is_ascii_digit();
                if rest.peek().is_some_and(|c| !end(c)) {
                    return false;
                }
            }
            's' | 'y' => {
                let Some(mark) = rest.next().filter(|mark| "/|#,:@!%_".contains(*mark)) else { return false };
                if !(skip_to(mark, &mut rest) && skip_to(mark, &mut rest)) {
                    return false;
                }
                while rest.next_if(|c| "gpiI".contains(*c) || c.is_ascii_digit()).is_some() {}
                if rest.peek().is_some_and(|c| !" \t;\n}".contains(*c)) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

/// Steps past the next `mark` that is not escaped. Inside brackets some versions of sed see no mark, others
/// do: then nobody can tell where the expression ends.
fn skip_to(mark: char, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let mut bracket = false;
    while let Some(next) = rest.next() {
        match next {
            next if next == mark => return !bracket,
            '[' => bracket = true,
            ']' => bracket = false,
            '\\' => {
                rest.next();
            }
            '\n' => return false,
            _ => {}
        }
    }
    false
}

/// `awk` with a program that has no way to reach beyond its input.
pub(super) fn awk(call: Call<'_>) -> Checked {
    let sorted = sort(call.words, Options::Only { letters: "", long: &[] }, "F")?;
    let (program, files) = sorted.operands.split_first().ok_or("it has no program")?;
    let program = program.known().ok_or("its program is only known to the shell")?;
    let reaching =
        ["system", "getline", "|", ">", "close", "fflush", "@", "ENVIRON", "ARGV", "ARGC", "PROCINFO", "\\"];
    if let Some(found) = reaching.iter().find(|found| program.contains(**found)) {
        return Err(format!("its program uses {found}, which may write or run something"));
    }
    files.iter().try_for_each(|word| readable(call, word))
}

/// `jq` with a filter that does not look at the environment or at other files.
pub(super) fn jq(call: Call<'_>) -> Checked {
    let options = Options::Only {
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
    let sorted = sort(call.words, options, "")?;
    let (filter, files) = sorted.operands.split_first().ok_or("it has no filter")?;
    let filter = filter.known().ok_or("its filter is only known to the shell")?;
    let reaching = ["env", "ENV", "import", "include", "input_filename", "debug", "$__prog"];
    if let Some(found) = reaching.iter().find(|found| filter.contains(**found)) {
        return Err(format!("its filter uses {found}"));
    }
    files.iter().try_for_each(|word| readable(call, word))
}

/// `test`, `[` and `[[`: some operators evaluate their operands, and so run what is hidden in them.
pub(super) fn test(call: Call<'_>) -> Checked {
    let evaluates = |text: &str| matches!(text, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
    let number = |word: Option<&Word>| {
        word.and_then(Word::known)
            .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
    };
    for (index, word) in call.words.iter().enumerate() {
        match word.known() {
            Some("-v" | "-R") => return Err("it may run commands hidden in a variable's name".into()),
            Some(text) if evaluates(text) && call.name == "[[" => {
                let before = index.checked_sub(1).and_then(|index| call.words.get(index));
                if !number(before) || !number(call.words.get(index + 1)) {
                    return Err("it may run commands hidden in what it compares".into());
                }
            }
            Some(_) => {}
            None if call.name == "[[" || word.text.starts_with('"') => {}
            None => return Err(format!("{} may turn out to be an operator", word.text)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::sed_script;

    #[test]
    fn scripts_that_only_print_are_told_from_the_others() {
        for script in
            ["1,10p", "$p", "/foo/p", "s/a/b/g", "/a/,/b/d", "5q", "s|/a|/b|; p", "1!d", "s/a\\/b/c/"]
        {
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
        ] {
            assert!(!sed_script(script), "{script}");
        }
    }
}
