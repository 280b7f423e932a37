//! Which git commands may show a merge beside all its parents at once.
//!
//! Such a comparison goes by the name that a file has in the result: where that was renamed, git would show what a secret file
//! of one parent held, as lines of a file that is none. So it is told to look for no renames there.

use charla_proto::Word;

use super::Repository;

/// Commands that show changes.
const COMPARING: [&str; 10] = [
    "show",
    "diff",
    "log",
    "whatchanged",
    "reflog",
    "stash",
    "status",
    "diff-tree",
    "diff-index",
    "diff-files",
];

/// Options of `git show` with which it shows names and figures alone, and those that change nothing about that.
const LISTING: [&str; 9] = [
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--no-patch",
    "-s",
    "--summary",
    "--dirstat",
];
const INDIFFERENT: [&str; 6] =
    ["--oneline", "--format", "--pretty", "--date", "--decorate", "--abbrev-commit"];

/// True when git with these words, the subcommand first, may show one. In doubt yes.
pub(crate) fn may_show_merge(words: &[Word], repository: Option<&Repository>) -> bool {
    let Some(name) = words.first().and_then(Word::known) else { return true };
    if !COMPARING.contains(&name) {
        return false;
    }
    let rest = words.get(1..).unwrap_or_default();
    let Some(said) = rest.iter().map(Word::known).collect::<Option<Vec<&str>>>() else { return true };
    let before_paths = said.iter().take_while(|word| **word != "--");
    let (options, operands): (Vec<&str>, Vec<&str>) =
        before_paths.copied().partition(|word| word.starts_with('-'));
    let asks_for_it = options.iter().any(|option| match option.strip_prefix("--") {
        Some(long) => ["cc", "combined", "diff-merges", "remerge"].iter().any(|name| long.starts_with(name)),
        None => option.contains('c'),
    });
    // An index that is not understood may be of a merge.
    let is_unmerged =
        || repository.is_some_and(|repository| repository.index().is_none_or(|index| index.is_unmerged()));
    asks_for_it
        || match name {
            "show" => !only_lists(&options),
            "diff" => {
                let several = operands.len() > 2 || operands.iter().any(|word| word.contains('^'));
                several || is_unmerged()
            }
            "status" | "diff-files" => is_unmerged(),
            _ => false,
        }
}

fn only_lists(options: &[&str]) -> bool {
    let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
    let names: Vec<String> = options.iter().map(|option| name(option)).collect();
    let lists = |name: &String| LISTING.contains(&name.as_str());
    names.iter().any(lists) && names.iter().all(|name| lists(name) || INDIFFERENT.contains(&name.as_str()))
}

/// True for words with which git looks for renames whatever its settings say.
pub(crate) fn looks_for_renames(words: &[Word]) -> bool {
    words
        .iter()
        .any(|word| ["--find", "--fol", "-M", "-C", "-B"].iter().any(|start| word.text.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(line: &str) -> bool {
        let words: Vec<Word> = line.split(' ').map(Word::literal).collect();
        may_show_merge(&words, None)
    }

    #[test]
    fn a_command_that_may_show_a_merge_is_told_from_one_that_does_not() {
        for line in [
            "show",
            "show HEAD",
            "show -p --stat",
            "show --stat --unified=3",
            "show --oneline",
            "log -p --cc",
            "log -pc",
            "log --diff-merges=combined",
            "diff a b c",
            "diff HEAD^!",
            "diff --cc",
            "diff-tree -c HEAD",
            "reflog -p --cc",
        ] {
            assert!(shows(line), "{line}");
        }
        for line in [
            "show --stat",
            "show --name-only --format=%h HEAD",
            "show -s",
            "log -p",
            "log --stat -3",
            "diff",
            "diff main..HEAD --stat",
            "diff a b -- c^d",
            "status",
            "blame f",
            "ls-files",
        ] {
            assert!(!shows(line), "{line}");
        }
    }
}
