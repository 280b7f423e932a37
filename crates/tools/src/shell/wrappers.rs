//! Commands that start other commands.

use charla_proto::{Word, WordKind};

use super::scripts::Dialect;

/// What a command starts.
#[derive(Debug, Default)]
pub(super) struct Through {
    /// True when starting it is all the command does.
    pub carrier: bool,
    pub inner: Vec<Inner>,
}

#[derive(Debug)]
pub(super) enum Inner {
    Command(Vec<Word>),
    Script {
        text: String,
        dialect: Dialect,
    },
    Env(String, Word),
    /// Variables of the line are not there any more.
    TakesAway,
    Unclear(&'static str),
}

/// How the words before the inner command are to be read.
struct Wrapper {
    name: &'static str,
    /// Options without a value.
    flags: &'static [&'static str],
    /// Options with one.
    valued: &'static [&'static str],
    /// Words of its own before the command.
    operands: usize,
    carrier: bool,
}

const fn wrapper(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
) -> Wrapper {
    Wrapper { name, flags, valued, operands, carrier: true }
}

const fn privileged(
    name: &'static str,
    flags: &'static [&'static str],
    valued: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, flags, valued, operands: 0, carrier: false }
}

/// What only the shell itself can do; a file of that name is something else.
const BUILTINS: [&str; 4] = ["eval", "exec", "command", "builtin"];

const WRAPPERS: [Wrapper; 18] = [
    privileged("sudo", &["-n", "-E", "-H", "-S", "-k", "-b"], &["-u", "-g", "-p", "-C", "--user"]),
    privileged("doas", &["-n"], &["-u", "-C"]),
    privileged("pkexec", &[], &["--user"]),
    wrapper("env", &["-i", "-", "-v", "--ignore-environment"], &["-u", "--unset"], 0),
    wrapper("nohup", &[], &[], 0),
    wrapper("setsid", &["-w", "-f", "--wait", "--fork"], &[], 0),
    wrapper("time", &["-p", "-v"], &[], 0),
    wrapper(
        "timeout",
        &["-v", "--preserve-status", "--foreground"],
        &["-s", "-k", "--signal", "--kill-after"],
        1,
    ),
    wrapper("nice", &[], &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-t"], &["-c", "-n"], 0),
    wrapper("stdbuf", &[], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    wrapper("command", &["-p"], &[], 0),
    wrapper("builtin", &[], &[], 0),
    wrapper("exec", &["-c", "-l"], &["-a"], 0),
    wrapper("taskset", &[], &[], 1),
    privileged("busybox", &[], &[]),
    privileged("unbuffer", &[], &[]),
    wrapper(
        "xargs",
        &["-0", "-r", "-t", "-x", "--null", "--no-run-if-empty", "--verbose"],
        &["-n", "-P", "-L", "-I", "-d", "-E", "-s", "--max-args", "--max-procs", "--delimiter"],
        0,
    ),
];

/// The commands that `words`, the command `name`, would start. A program that is only named like a carrier, in
/// a folder anybody may write to, is none: it is judged itself, too.
pub(super) fn look_through(name: &str, words: &[Word]) -> Through {
    let (folder, base) = name.rsplit_once('/').map_or((None, name), |(folder, base)| (Some(folder), base));
    let trusted = match folder {
        None => true,
        Some("/bin" | "/usr/bin" | "/usr/local/bin") => !BUILTINS.contains(&base),
        Some(_) => false,
    };
    let through = started_by(base, words.get(1..).unwrap_or_default());
    Through { carrier: through.carrier && trusted, ..through }
}

fn started_by(name: &str, rest: &[Word]) -> Through {
    if name == "env"
        && let Some(text) = split_text(rest)
    {
        let unclear = Inner::Unclear("it takes a text apart by rules of its own");
        let inner = vec![unclear, Inner::Script { text, dialect: Dialect::Posix }];
        return Through { carrier: false, inner };
    }
    match name {
        "eval" => joined(rest, Dialect::Here, true),
        "sh" | "dash" => shell(rest, Dialect::Posix),
        "bash" => shell(rest, Dialect::Bash),
        "zsh" | "ksh" | "mksh" | "fish" | "csh" | "tcsh" if has_option(rest, "-c") => {
            unclear("another shell's scripts are not read")
        }
        "find" => find(rest),
        // What it is to run later is read as if it ran now.
        "trap" => {
            let at = usize::from(rest.first().and_then(Word::known) == Some("--"));
            match rest.get(at).and_then(Word::known) {
                Some(text) if at > 0 || !text.starts_with('-') => {
                    joined(rest.get(at..=at).unwrap_or_default(), Dialect::Here, false)
                }
                _ => Through::default(),
            }
        }
        "watch" => watch(rest),
        "ssh" => unclear("what runs on another machine is not judged"),
        "parallel" => unclear("what it runs is not read"),
        "command" if only_asks(rest) => Through::default(),
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => wrapped(wrapper, rest),
            None => Through::default(),
        },
    }
}

/// `command -v name`: the option counts before the first operand only.
fn only_asks(words: &[Word]) -> bool {
    let options = words.iter().map_while(|word| word.known()?.strip_prefix('-'));
    let mut options = options.take_while(|letters| letters.chars().all(|letter| "pvV".contains(letter)));
    options.any(|letters| letters.contains(['v', 'V']))
}

/// The text of `env -S`, read as a shell would read it, with the words behind it.
fn split_text(words: &[Word]) -> Option<String> {
    let mut at = 0;
    loop {
        let option = words.get(at)?.known()?;
        match option {
            "-u" | "--unset" | "-C" | "--chdir" => at += 2,
            _ if option.starts_with("-S") || option.starts_with("--s") => break,
            _ if option.starts_with('-') => at += 1,
            _ => return None,
        }
    }
    let option = words.get(at)?.known()?;
    let glued = option.split_once('=').map(|(_, text)| text).or(option.strip_prefix("-S"));
    let rest = words.get(at + 1..).unwrap_or_default().iter().map(|word| word.text.as_str());
    Some(glued.into_iter().chain(rest).collect::<Vec<_>>().join(" "))
}

fn unclear(reason: &'static str) -> Through {
    Through { carrier: false, inner: vec![Inner::Unclear(reason)] }
}

fn has_option(words: &[Word], option: &str) -> bool {
    words.iter().any(|word| word.known() == Some(option))
}

fn wrapped(wrapper: &Wrapper, words: &[Word]) -> Through {
    let Some(start) = skip_options(wrapper, words) else {
        return unclear("its options are not understood, so what it runs is not known");
    };
    let mut rest = words.get(start + wrapper.operands..).unwrap_or_default();
    if words
        .get(start..start + wrapper.operands)
        .is_none_or(|own| own.iter().any(|word| word.known().is_none()))
    {
        return unclear("which command runs is only known to the shell");
    }
    let mut inner = Vec::new();
    if drops_settings(wrapper.name, words.get(..start).unwrap_or_default()) && may_start_git(rest) {
        inner.push(Inner::Unclear("it takes away the variables that hold git in"));
    }
    if takes_away(wrapper.name, words.get(..start).unwrap_or_default()) {
        inner.push(Inner::TakesAway);
    }
    if matches!(wrapper.name, "env" | "sudo" | "doas") {
        while let Some((name, value)) = rest.first().and_then(assignment) {
            if rest.first().is_some_and(|word| matches!(word.kind, WordKind::Unknown | WordKind::Glob)) {
                return unclear("how many words this is, and so which command runs, only the shell knows");
            }
            inner.push(Inner::Env(name, value));
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    let mut command = rest.to_vec();
    if command.is_empty() {
        // `env` alone prints, `exec > file` redirects, `xargs` alone echoes: nothing is started.
        let carrier = matches!(wrapper.name, "exec" | "xargs" | "time" | "command" | "builtin");
        return Through { carrier, inner };
    }
    if wrapper.name == "xargs" {
        if groupings(words.get(..start).unwrap_or_default()) > 1 {
            return unclear("of -I, -L and -n one cancels the other");
        }
        command = fill_in(words.get(..start).unwrap_or_default(), &command);
    }
    inner.push(Inner::Command(command));
    Through { carrier: wrapper.carrier, inner }
}

/// True when a wrapper starts its command without variables that we set: all of them, or ones of git's.
fn drops_settings(wrapper: &str, options: &[Word]) -> bool {
    let mut known = options.iter().filter_map(Word::known);
    match wrapper {
        "env" => known.any(|word| {
            let all = word == "-" || word.starts_with("--ignore") || is_short(word, 'i');
            all || word.contains("GIT_")
        }),
        "exec" => known.any(|word| is_short(word, 'c')),
        _ => false,
    }
}

/// True when a wrapper starts its command without some variables.
fn takes_away(wrapper: &str, options: &[Word]) -> bool {
    match wrapper {
        "env" => {
            options.iter().any(|word| word.text.starts_with('-') && word.text != "-v" && word.text != "--")
        }
        "exec" => options.iter().filter_map(Word::known).any(|word| is_short(word, 'c')),
        _ => false,
    }
}

/// True for git itself and for what may start it.
fn may_start_git(command: &[Word]) -> bool {
    let name = command.iter().find(|word| assignment(word).is_none()).and_then(Word::known);
    let Some(base) = name.and_then(|name| name.rsplit('/').next()) else { return true };
    const SHELLS: [&str; 8] = ["git", "sh", "bash", "dash", "zsh", "find", "watch", "eval"];
    SHELLS.contains(&base) || WRAPPERS.iter().any(|wrapper| wrapper.name == base)
}

fn is_short(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}

/// How many of `words` are options of `wrapper`; absent when one is not known.
fn skip_options(wrapper: &Wrapper, words: &[Word]) -> Option<usize> {
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let Some(option) = word.known() else { return Some(index) };
        let takes_value = |long: &str| wrapper.valued.contains(&long);
        if option == "--" {
            return Some(index + 1);
        } else if wrapper.flags.contains(&option) {
            index += 1;
        } else if takes_value(option) {
            words.get(index + 1)?.known()?;
            index += 2;
        } else if !option.starts_with('-') || option == "-" {
            return Some(index);
        } else if option.split_once('=').is_some_and(|(long, _)| takes_value(long) && long.starts_with("--"))
            || glued(wrapper, option)
        {
            index += 1;
        } else {
            return None;
        }
    }
    Some(index)
}

/// `-n5`, `-5` (nice), `-0r`.
fn glued(wrapper: &Wrapper, option: &str) -> bool {
    let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else {
        return false;
    };
    let known = |letter: char| wrapper.flags.contains(&format!("-{letter}").as_str());
    let short: String = option.chars().take(2).collect();
    wrapper.valued.contains(&short.as_str())
        || (wrapper.name == "nice" && letters.bytes().all(|byte| byte.is_ascii_digit()))
        || letters.chars().all(known)
}

fn assignment(word: &Word) -> Option<(String, Word)> {
    let (name, value) = word.text.split_once('=')?;
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if name.is_empty() || !plain {
        return None;
    }
    Some((name.to_owned(), Word { text: value.to_owned(), kind: word.kind }))
}

/// How many options say how xargs groups its input.
fn groupings(options: &[Word]) -> usize {
    let groups = |option: &str| {
        ["-I", "-L", "-n", "-i", "-l", "--max-args", "--max-lines", "--replace"]
            .iter()
            .any(|known| option.starts_with(known))
    };
    options.iter().filter_map(Word::known).filter(|option| groups(option)).count()
}

/// The command xargs builds.
fn fill_in(options: &[Word], command: &[Word]) -> Vec<Word> {
    let replaced = options.iter().enumerate().find_map(|(index, word)| match word.known()? {
        "-I" => options.get(index + 1)?.known().map(str::to_owned),
        glued => glued.strip_prefix("-I").map(str::to_owned),
    });
    let Some(mark) = replaced.filter(|mark| !mark.is_empty()) else {
        let mut filled = command.to_vec();
        filled.push(Word::unknown("…"));
        return filled;
    };
    let fill = |word: &Word| match word.kind {
        WordKind::Literal if word.text.contains(&mark) => Word::single(&word.text),
        _ if word.text.contains(&mark) => Word::unknown(&word.text),
        _ => word.clone(),
    };
    command.iter().map(fill).collect()
}

/// The arguments of `eval` and `watch`, which are put together and read again.
fn joined(words: &[Word], dialect: Dialect, carrier: bool) -> Through {
    let texts: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    match texts {
        Some(texts) => Through { carrier, inner: vec![Inner::Script { text: texts.join(" "), dialect }] },
        None => unclear("what it runs is only known to the shell"),
    }
}

fn watch(words: &[Word]) -> Through {
    const WATCH: Wrapper = wrapper("watch", &["-d", "-t", "-g", "-e", "-c"], &["-n", "--interval"], 0);
    match skip_options(&WATCH, words) {
        Some(start) => joined(words.get(start..).unwrap_or_default(), Dialect::Posix, true),
        None => unclear("its options are not understood, so what it runs is not known"),
    }
}

/// `sh -c 'text' name args…`; without `-c` it runs a file or its input, which nobody has read.
fn shell(words: &[Word], dialect: Dialect) -> Through {
    let mut index = 0;
    while let Some(option) = words.get(index).and_then(Word::known) {
        match option.strip_prefix('-') {
            Some(letters) if !letters.is_empty() && letters.chars().all(|c| "ceuxl".contains(c)) => {
                if letters.contains('c') {
                    return match words.get(index + 1).and_then(Word::known) {
                        Some(text) if !text.starts_with('-') => Through {
                            carrier: true,
                            inner: vec![Inner::Script { text: text.to_owned(), dialect }],
                        },
                        _ => unclear("the script it runs is only known to the shell"),
                    };
                }
                index += 1;
            }
            Some("o") if words.get(index + 1).and_then(Word::known) == Some("pipefail") => index += 2,
            _ => break,
        }
    }
    if has_option(words, "-c") { unclear("its options are not understood") } else { Through::default() }
}

/// `-exec … ;` and its kin. What is not one of them is for whoever judges `find` itself.
fn find(words: &[Word]) -> Through {
    let mut through = Through::default();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        if !matches!(word.known(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            continue;
        }
        let rest = words.get(index..).unwrap_or_default();
        let ends = |(index, word): (usize, &Word)| match word.known() {
            Some(";") => true,
            Some("+") => index > 0 && rest.get(index - 1).and_then(Word::known) == Some("{}"),
            _ => false,
        };
        if matches!(word.known(), Some("-execdir" | "-okdir")) {
            through.inner.push(Inner::Unclear("it runs in every folder where something is found"));
        }
        let Some(length) = rest.iter().enumerate().position(ends) else {
            through.inner.push(Inner::Unclear("the command of -exec has no end"));
            break;
        };
        let found = found_path(words).filter(|_| word.known() == Some("-exec"));
        let command = rest.iter().take(length).map(|word| match (&found, word.known()) {
            (Some(found), Some("{}")) => found.clone(),
            _ if word.text.contains("{}") => Word::unknown(&word.text),
            _ => word.clone(),
        });
        through.inner.push(Inner::Command(command.collect()));
        index += length + 1;
    }
    through
}

/// What `{}` stands for: a path anywhere below the one folder that is searched, so never an option.
fn found_path(words: &[Word]) -> Option<Word> {
    let starts: Vec<&Word> =
        words.iter().take_while(|word| !word.text.starts_with(['-', '(', ')', '!', ','])).collect();
    let start = match starts.as_slice() {
        [] => ".",
        [start] => {
            start.known().filter(|start| !start.is_empty() && !start.contains(['*', '?', '[', '{', '\\']))?
        }
        _ => return None,
    };
    Some(Word { text: format!("{}/**", start.trim_end_matches('/')), kind: WordKind::Glob })
}
