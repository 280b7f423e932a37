//! What a command takes in that its name does not say: a script from its standard input, a file of this machine by an address or
//! an option.
//!
//! Whoever names a program has not read what a line writes for it to do, nor chosen what it shows.

use charla_proto::text::join_path;
use charla_proto::{Word, WordKind};

use super::given::{Arguments, Named};
use super::{Call, git, programs};

/// Why a command takes in more than the first `named` of its words say.
pub(super) fn taken_in(call: Call<'_>, named: usize) -> Option<String> {
    match call.name {
        "make" | "gmake" => makefile(call, named),
        "git" => patch(call, named),
        "curl" => fetched(call, named),
        _ => None,
    }
}

/// True for a file that is the standard input, or another descriptor.
fn is_input(text: &str) -> bool {
    text == "-" || text == "/dev/stdin" || text.starts_with("/dev/fd/") || text.starts_with("/proc/")
}

fn makefile(call: Call<'_>, named: usize) -> Option<String> {
    let given = Arguments::of(call.words, named.max(1), &programs::find(call.name)?.with_values());
    let files = given.options.iter().filter(|option| option.is(Named::new("f", &["--file", "--makefile"])));
    let mut files = files.filter_map(|option| option.value.as_ref());
    files.any(|file| is_input(&file.word.text)).then(|| "what it makes is read from its input".to_owned())
}

/// A patch may write any file.
fn patch(call: Call<'_>, named: usize) -> Option<String> {
    const GOES_ON: Named = Named::new(
        "r",
        &["--continue", "--resolved", "--abort", "--skip", "--quit", "--retry", "--show-current-patch"],
    );
    let at = git::subcommand_at(call.words).filter(|at| named <= *at)?;
    let name = call.words.get(at).and_then(Word::known).filter(|name| matches!(*name, "apply" | "am"))?;
    let valued = Named::new("pC", &["--directory", "--exclude", "--include", "--whitespace"]);
    let given = Arguments::of(call.words, at + 1, &[valued]);
    let from_input =
        given.operands.is_empty() || given.operands.iter().any(|place| is_input(&place.word.text));
    let goes_on = name == "am" && given.has(GOES_ON);
    (from_input && !goes_on).then(|| format!("git {name} takes its patch from its input"))
}

fn fetched(call: Call<'_>, named: usize) -> Option<String> {
    const READS_AT: Named = Named::new("Hw", &["--header", "--proxy-header", "--write-out"]);
    const COOKIES: Named = Named::new("b", &["--cookie"]);
    const OUTPUT: Named = Named::new("oO", &["--output", "--remote-name", "--remote-name-all"]);
    let given = Arguments::of(call.words, named.max(1), &programs::find(call.name)?.with_values());
    let value = |option: &super::given::Given<'_>| option.value.as_ref().map(|place| place.word.text.clone());
    for option in &given.options {
        let text = value(option).unwrap_or_default();
        let reads = option.is(READS_AT) && text.starts_with('@') || option.is(COOKIES) && !text.contains('=');
        if reads && !text.is_empty() {
            return Some(format!("the option {} sends or shows a file, and was not named", option.text));
        }
        let numbered = text.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if option.is(OUTPUT) && numbered {
            return Some("where it writes is put together from the address".to_owned());
        }
    }
    let urls = given.options.iter().filter(|option| option.is(Named::new("", &["--url"]))).filter_map(value);
    let plain = given.has(Named::new("g", &["--globoff"]));
    let operands = given.operands.iter().filter(|place| place.word.kind != WordKind::Single);
    let addresses: Vec<String> = operands.map(|place| place.word.text.clone()).chain(urls).collect();
    let expands = |address: &String| !plain && address.contains(['{', '[']);
    if given.has(OUTPUT) && addresses.iter().any(expands) {
        return Some("where it writes is put together from the address".to_owned());
    }
    let by_default = given.has(Named::new("", &["--proto-default"]));
    let local = addresses.iter().find(|address| by_default || !is_plain(call, address));
    local.map(|address| format!("{address} may be a file of this machine"))
}

/// True for an address of elsewhere, and for that of a file that the workspace shows anyway.
fn is_plain(call: Call<'_>, address: &str) -> bool {
    let address = address.trim();
    let scheme = address.split(':').next().filter(|scheme| scheme.len() < address.len()).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("file") {
        // `{file,http}://…` is one, too.
        return !scheme.contains(['{', '[']);
    }
    let path = address.get(scheme.len() + 1..).unwrap_or_default();
    let path = path.strip_prefix("//").filter(|path| path.starts_with('/'));
    let Some(path) = path.filter(|path| !path.contains(['%', '{', '[', '~', '?', '#', '\\'])) else {
        return false;
    };
    let climbs = path.split('/').any(|part| part == "..");
    let path = join_path(call.cwd, path);
    !climbs && call.scope.contains(&path) && call.scope.secret(&path).is_none()
}
