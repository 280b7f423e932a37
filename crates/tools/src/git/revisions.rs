//! Which revisions a command names, and whether each of them is a commit.
//!
//! Git knows a secret file by its name from the top of a commit's tree. A content or a tree that is named by itself, by its
//! number or by a reference that points at it, has no such name.

use super::objects::{Kind, kinds};
use super::{Repository, read, read_up_to};

/// How many digits of a number git takes for one.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=64;
/// How many references lead to another, one after the other.
const MOST_STEPS: usize = 5;
/// Where git looks for a name.
const PLACES: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];
const MOST_PACKED: u64 = 64 << 20;

/// True when a word names something else than commits, or may: by a number or a reference. What is no revision is a path,
/// which is judged by its name.
pub(crate) fn may_be_no_commit(repository: &Repository, word: &str) -> bool {
    word.split("..").any(|part| {
        let part = part.trim_start_matches(['^', '.']);
        let base = part.split(['^', '~', ':']).next().unwrap_or_default();
        let base = base.split_once("@{").map_or(base, |(base, _)| base);
        // `name-12-g0123abc` is a number too.
        let described = base.rsplit_once("-g").map(|(_, number)| number);
        let mut numbers = [Some(base), described].into_iter().flatten();
        numbers.any(|number| is_other_number(repository, number)) || References { repository }.is_other(base)
    })
}

fn is_other_number(repository: &Repository, word: &str) -> bool {
    let is_number = DIGITS.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number
        && kinds(repository, &word.to_lowercase()).is_none_or(|kinds| !kinds.into_iter().all(Kind::is_commit))
}

/// The references of a repository.
struct References<'a> {
    repository: &'a Repository,
}

impl References<'_> {
    /// True when one of this name points at something else than a commit, or may.
    fn is_other(&self, name: &str) -> bool {
        let name = if name == "@" { "HEAD" } else { name };
        if name.is_empty() || name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return false;
        }
        // References in another form are not understood.
        if self.repository.common.join("reftable").exists() {
            return !self.repository.work.join(name).exists();
        }
        let packed = read_up_to(&self.repository.common.join("packed-refs"), MOST_PACKED);
        let packed = packed.unwrap_or_default();
        let mut names = PLACES.iter().map(|(before, after)| format!("{before}{name}{after}"));
        names.any(|name| self.leads_elsewhere(&name, &packed, MOST_STEPS))
    }

    fn leads_elsewhere(&self, name: &str, packed: &str, steps: usize) -> bool {
        let folders = [&self.repository.folder, &self.repository.common];
        let loose = folders.iter().filter_map(|folder| read(&folder.join(name)));
        let mut texts: Vec<String> = loose.collect();
        let peeled = packed_reference(packed, name);
        texts.extend(peeled.map(|(number, _)| number.to_owned()));
        texts.iter().any(|text| match text.trim().strip_prefix("ref:") {
            Some(_) if steps == 0 => true,
            Some(target) => self.leads_elsewhere(target.trim(), packed, steps - 1),
            None => {
                // A file of git's that is no reference names nothing; `FETCH_HEAD` begins with a number.
                let number = text.split_whitespace().next().unwrap_or_default();
                let is_number = number.len() >= 40 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
                let known = peeled.filter(|(packed, _)| *packed == number).and_then(|(_, peeled)| peeled);
                is_number && is_other_number(self.repository, known.unwrap_or(number))
            }
        })
    }
}

/// The number of a packed reference, and that of what a tag leads to.
fn packed_reference<'a>(packed: &'a str, name: &str) -> Option<(&'a str, Option<&'a str>)> {
    let mut lines = packed.lines();
    let number = lines.find_map(|line| line.split_once(' ').filter(|(_, known)| *known == name))?.0;
    Some((number, lines.next().and_then(|line| line.strip_prefix('^'))))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn commits_are_told_from_contents_and_trees_however_they_are_named_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(words);
            let done = command.current_dir(folder.path()).output().unwrap();
            assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "-q", "-b", "main", "."]);
        let mut named = Vec::new();
        for number in 0..12 {
            let text = format!("{number}\n") + &"the same long line, again and again\n".repeat(50);
            std::fs::write(folder.path().join("f"), text).unwrap();
            git(&["add", "."]);
            git(&["commit", "-qm", "one more"]);
            named.push((
                git(&["rev-parse", "HEAD"]),
                git(&["rev-parse", "HEAD:f"]),
                git(&["rev-parse", "HEAD^{tree}"]),
            ));
        }
        for (tag, target) in [("content", "HEAD:f"), ("tree", "HEAD^{tree}"), ("light", "HEAD~2")] {
            git(&["tag", tag, target]);
            git(&["tag", "-a", "-m", "words", &format!("marked/{tag}"), target]);
        }
        git(&["update-ref", "refs/odd/content", "HEAD:f"]);
        git(&["symbolic-ref", "refs/heads/led", "refs/tags/content"]);
        let repository = Repository::of(folder.path()).unwrap();
        let other = |word: &str| may_be_no_commit(&repository, word);
        let check = || {
            for (commit, content, tree) in &named {
                for object in [content, tree] {
                    assert!(other(object));
                    assert!(other(&format!("{object:.10}").to_uppercase()));
                    assert!(other(&format!("v1-3-g{object:.12}")));
                    assert!(other(&format!("{commit}..{object}")));
                    assert!(other(&format!("{object}^{{}}")) && other(&format!("{object}:x")));
                }
                assert!(!other(commit) && !other(&format!("{commit:.12}~1")));
            }
            for word in [
                "HEAD",
                "@",
                "main",
                "refs/heads/main",
                "light",
                "marked/light",
                "f",
                "deadbeefdeadbeef",
                "v1.0",
                "HEAD~2..HEAD",
                "main@{0}",
                "@{-1}",
                "@{u}",
                "",
                ":f",
                ":/one",
                "main:f",
                "main...light",
                "^main",
                "config",
                "src/main.rs",
                "..",
                "HEAD^{tree}",
                "index",
            ] {
                assert!(!other(word), "{word}");
            }
            for word in [
                "content",
                "tree",
                "marked/content",
                "marked/tree",
                "tags/content",
                "refs/tags/tree",
                "odd/content",
                "refs/odd/content",
                "led",
                "heads/led",
                "content^{}",
                "main..content",
                "^content",
                "tree:f",
                "content@{0}",
            ] {
                assert!(other(word), "{word}");
            }
        };
        check();
        git(&["pack-refs", "--all"]);
        check();
        git(&["repack", "-adfq", "--depth=50"]);
        check();
    }
}
