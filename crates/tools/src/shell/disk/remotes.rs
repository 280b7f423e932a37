//! Which repository git would talk to: one on this machine has hooks, which run with git's own rights.

use std::path::Path;

use charla_proto::Word;

use crate::git::Repository;

const UNKNOWN: &str =
    "this is no remote of the repository, so that git takes it for a folder, whose hooks would run";
const NEAR: &str = "the remote is a folder of this machine, whose hooks would run";

/// Why git with these words would not talk to another machine from `cwd`, a real path.
pub(super) fn doubt(words: &[Word], cwd: &Path) -> Option<&'static str> {
    let (command, rest) = words.split_first()?;
    if !matches!(command.known(), Some("push" | "fetch" | "pull" | "ls-remote")) {
        return None;
    }
    let settings = Repository::of(cwd).and_then(|repository| repository.settings()).unwrap_or_default();
    let remotes = Remotes::of(&settings);
    let named = rest.iter().find_map(|word| word.known().filter(|text| !text.starts_with('-')));
    match named {
        Some(name) if is_far(name) => None,
        Some(name) if !remotes.has(name) => Some(UNKNOWN),
        Some(name) => remotes.is_near(Some(name)).then_some(NEAR),
        None => remotes.is_near(None).then_some(NEAR),
    }
}

/// The addresses of a repository's remotes, by their names.
#[derive(Debug, Default)]
struct Remotes {
    addresses: Vec<(String, String)>,
    /// An address is not what it says.
    rewritten: bool,
}

impl Remotes {
    fn of(settings: &str) -> Self {
        let mut remotes = Self::default();
        let mut section = String::new();
        for line in settings.lines().map(str::trim) {
            // A key may follow its section on the same line.
            let line = match line.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
                Some((title, rest)) => {
                    section = title.to_owned();
                    rest.trim()
                }
                None => line,
            };
            let Some((key, value)) = line.split_once('=') else { continue };
            let (key, value) = (key.trim().to_lowercase(), value.trim().trim_matches('"'));
            remotes.rewritten |= matches!(key.as_str(), "insteadof" | "pushinsteadof" | "vcs");
            let name = section.split_once('"').filter(|(kind, _)| kind.trim().eq_ignore_ascii_case("remote"));
            let name = name.and_then(|(_, name)| name.strip_suffix('"'));
            if let Some(name) = name.filter(|_| matches!(key.as_str(), "url" | "pushurl")) {
                remotes.addresses.push((name.to_owned(), value.to_owned()));
            }
        }
        remotes
    }

    fn has(&self, name: &str) -> bool {
        self.addresses.iter().any(|(known, _)| known == name)
    }

    /// True when this remote, or one of them, may be on this machine.
    fn is_near(&self, name: Option<&str>) -> bool {
        let mut meant = self.addresses.iter().filter(|(known, _)| name.is_none_or(|name| known == name));
        self.rewritten || meant.any(|(_, address)| !is_far(address))
    }
}

/// True for an address of another machine: by its scheme, or `user@host:path`, `host:path`.
fn is_far(address: &str) -> bool {
    if let Some((scheme, _)) = address.split_once("://") {
        return ["https", "http", "ssh", "git", "git+ssh"].contains(&scheme);
    }
    let host = address.split_once(':').map(|(host, _)| host);
    host.is_some_and(|host| !host.is_empty() && !host.contains('/')) && !address.contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_far_when_the_settings_say_so_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join(".git")).unwrap();
        let told = |settings: &str, line: &str| {
            std::fs::write(place.path().join(".git/config"), settings).unwrap();
            doubt(&line.split(' ').map(Word::literal).collect::<Vec<_>>(), place.path())
        };
        let far = "[remote \"origin\"]\n\turl = git@example.org:a/b.git\n\tfetch = +x\n[branch \"m\"]\n\tremote = origin\n";
        for line in
            ["push", "push origin main", "fetch origin", "pull --rebase", "push https://a/b", "log origin"]
        {
            assert_eq!(told(far, line), None, "{line}");
        }
        for line in
            ["push evil", "push ./x", "fetch ext::x", "push file:///x", "ls-remote sub/x", "push a@b::x"]
        {
            assert_eq!(told(far, line), Some(UNKNOWN), "{line}");
        }
        assert_eq!(told("", "push origin"), Some(UNKNOWN));
        assert_eq!(told("", "push"), None, "git knows nowhere to go");
        for near in [
            "[remote \"origin\"]\nurl = ../evil.git\n",
            "[remote \"origin\"]\nurl = /w/evil.git\n",
            "[remote \"origin\"] url = file:///w/evil.git\n",
            "[remote \"origin\"]\nurl = https://a/b\npushurl = evil\n",
            "[Remote \"origin\"]\nURL = \"ext::./x\"\n",
            "[remote \"origin\"]\nurl = https://a/b\n[url \"./evil/\"]\ninsteadOf = https://a/\n",
        ] {
            assert_eq!(told(near, "push origin main"), Some(NEAR), "{near}");
            assert_eq!(told(near, "fetch"), Some(NEAR), "{near}");
        }
    }
}
