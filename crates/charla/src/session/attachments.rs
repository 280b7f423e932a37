//! Files in a prompt: those a person names with `@` in it, and those given beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_mcp::{Servers, Withhold};
use charla_proto::text::join_path;
use charla_proto::{Content, FileJudge, Part, Role, Withheld};
use charla_tools::attach;

use super::rules::judge_of_files;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::{Notice, Notices};

/// What a person says, and the files that go with it.
#[derive(Clone, Debug, Default)]
pub struct PromptDraft {
    /// The words a person typed: a file is named in them by `@path` or `@"path with blanks"`.
    pub words: String,
    /// The part of the words that was typed, where some were pasted: an `@` elsewhere is an `@`.
    pub typed: Option<String>,
    /// Text that came another way, such as from a pipe: an `@` in it is an `@`.
    pub piped: String,
    /// Files given beside the words, wherever they are.
    pub files: Vec<PathBuf>,
    /// Rules of this run beside those of the user: a file that they deny is not sent.
    pub rule_files: Vec<PathBuf>,
    /// It is said in a conversation, where there are no flags any more.
    pub in_conversation: bool,
}

impl PromptDraft {
    /// The prompt, with what its files hold. A file that is given must be there; of one that is only named in the
    /// words and cannot be had, the words stay as they are. Blocks on the disk.
    pub fn content(self, environment: &Environment, notices: &mut dyn Notices) -> Result<Content, Failure> {
        let mut parts = Vec::new();
        let names = named(self.typed.as_ref().unwrap_or(&self.words));
        let judge = match self.files.is_empty() && names.is_empty() {
            true => FileJudge::default(),
            false => judge_of_files(environment, &self.rule_files),
        };
        for file in &self.files {
            parts.extend(given(file, environment, &judge)?);
        }
        for name in names {
            match beneath(&name, &environment.directory, &judge) {
                Named::Nothing => {}
                Named::Outside(folder) => {
                    let text = format!("@{name} is not attached: it is outside {}", folder.display());
                    notices.warning(&match self.in_conversation {
                        true => format!("{text}; a copy in there could be attached").into(),
                        false => Notice::with_hint(text, Hint::GiveFile),
                    });
                }
                Named::Refused(why) => {
                    let text = format!("@{name} is not attached: it {why}");
                    notices.warning(&text.into());
                }
                Named::File(path, name) => match attach(&path, &name) {
                    Ok(attached) => parts.extend(attached),
                    Err(why) => notices.warning(&format!("@{name} is not attached: it {why}").into()),
                },
            }
        }
        parts.insert(0, Part::text(together(&self.piped, &self.words)));
        Ok(Content::new(Role::User, parts))
    }
}

/// What was piped goes before the words.
fn together(piped: &str, words: &str) -> String {
    match (piped.trim().is_empty(), words.trim().is_empty()) {
        (true, _) => words.to_owned(),
        (false, true) => piped.to_owned(),
        (false, false) => format!("{}\n\n{words}", piped.trim_end_matches('\n')),
    }
}

/// A file that was given by name and nothing else.
fn given(file: &Path, environment: &Environment, judge: &FileJudge) -> Result<Vec<Part>, Failure> {
    let path = environment.directory.join(file);
    let refused = |why: String| Failure::input(format!("{} {why}", file.display()));
    let real = path.canonicalize().map_err(|error| {
        let hint = "a path is taken from the current folder on";
        refused(format!("cannot be attached: {error}")).with_hint(hint)
    })?;
    if let Some(why) = kept_back(&real, judge) {
        return Err(refused(format!("{why}: it is not sent to a model")).with_hint(Hint::PipeSecret));
    }
    attach(&real, &file.display().to_string()).map_err(refused)
}

enum Named {
    /// No file was meant.
    Nothing,
    /// Why it is not taken, in words that follow its name.
    Refused(String),
    /// It is not in this folder.
    Outside(PathBuf),
    /// The file, and the name it was given by.
    File(PathBuf, String),
}

/// The file that a word of the prompt names, if it is in the workspace.
fn beneath(word: &str, folder: &Path, judge: &FileJudge) -> Named {
    // A sentence may go on right behind the name.
    let bare = word.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '\'', '"', '’']);
    let candidates = [word, bare].into_iter().filter(|name| !name.is_empty());
    let found = candidates.map(|name| (name, folder.join(name))).find(|(_, path)| path.exists());
    let Some((name, path)) = found else {
        // People and handles begin with an `@`, too, and so do resources of MCP servers.
        let is_path = bare.contains(['/', '.']) && !bare.starts_with('.') && resource(word).is_none();
        return if is_path { Named::Refused("is not there".to_owned()) } else { Named::Nothing };
    };
    let (Ok(real), Ok(folder)) = (path.canonicalize(), folder.canonicalize()) else {
        return Named::Refused("cannot be read".to_owned());
    };
    if !real.starts_with(&folder) {
        return Named::Outside(folder);
    }
    match kept_back(&real, judge) {
        Some(why) => Named::Refused(why),
        None => Named::File(real, name.to_owned()),
    }
}

/// Why a file is not sent although a person named it, in words that follow its name. What a rule only asks about has been
/// answered by naming it.
fn kept_back(real: &Path, judge: &FileJudge) -> Option<String> {
    match judge.withheld(real)? {
        Withheld::Secret => Some("looks like a secret".to_owned()),
        Withheld::Rule { rule, denies } => denies.then(|| format!("is denied by the rule {rule}")),
    }
}

/// Keeps files from being had by way of MCP servers that would not be sent if they were named.
pub(super) fn withhold(judge: FileJudge, environment: &Environment) -> Withhold {
    let directory = environment.directory.clone();
    Arc::new(move |path| {
        let real = directory.join(path).canonicalize().ok();
        let names = [real, Some(join_path(&directory, path))];
        names.iter().flatten().find_map(|name| kept_back(name, &judge))
    })
}

/// The server and the address of what must be a resource: `server:scheme:rest`.
fn resource(word: &str) -> Option<(&str, &str)> {
    addressed(word).filter(|(_, uri)| uri.contains(':'))
}

/// The server and the address of what is a resource, if there is such a server: `server:rest`.
fn addressed(word: &str) -> Option<(&str, &str)> {
    // A sentence may go on right behind the name.
    let word = word.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '\'', '"', '’']);
    let (server, uri) = word.split_once(':')?;
    let is_name = !server.is_empty() && !server.contains(['/', '.']);
    (is_name && !uri.is_empty()).then_some((server, uri))
}

/// Puts the resources of MCP servers that a person names in these words (`@server:uri`) behind the content. One that cannot be
/// had is told; of a server that is not there, the words stay words.
pub async fn attach_resources(
    servers: Option<&Servers>,
    words: &str,
    content: &mut Content,
    notices: &mut dyn Notices,
) {
    let Some(servers) = servers else { return };
    for name in named(words) {
        let Some((server, uri)) = addressed(&name) else { continue };
        match servers.resource(server, uri).await {
            Some(Ok(parts)) => content.parts.extend(parts),
            Some(Err(why)) => notices.warning(&format!("@{name} is not attached: {why}").into()),
            None => {}
        }
    }
}

/// What stands behind an `@` that begins a word, each once.
fn named(words: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut before = None;
    for (at, c) in words.char_indices() {
        let begins = before.is_none_or(|before: char| before.is_whitespace() || "([\"'".contains(before));
        before = Some(c);
        if c != '@' || !begins {
            continue;
        }
        let rest = words.get(at + 1..).unwrap_or_default();
        let name = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split(char::is_whitespace).next(),
        };
        let name = name.unwrap_or_default();
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notices::Notice;

    fn environment(folder: &Path) -> Environment {
        Environment::default().in_workspace(folder)
    }

    fn draft(words: &str) -> PromptDraft {
        PromptDraft { words: words.to_owned(), ..PromptDraft::default() }
    }

    #[test]
    fn an_at_that_begins_a_word_names_a_file() {
        assert_eq!(named("what is @a.png, and @\"b c.txt\"? mail me@d.e (@f)"), ["a.png,", "b c.txt", "f)"]);
        assert!(named("nobody@example.org @ @\"\"").is_empty());
        assert_eq!(resource("notes:note:one"), Some(("notes", "note:one")));
        assert_eq!(resource("docs:https://h/a.md"), Some(("docs", "https://h/a.md")));
        assert_eq!(addressed("docs:two,"), Some(("docs", "two")));
        assert!(["src/a.rs:1", "alice", "alice:", ":a"].iter().all(|word| addressed(word).is_none()));
        for other in ["src/a.rs:1:2", "a.rs:1:2", "alice", "alice:", ":a:b"] {
            assert_eq!(resource(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_named_comes_along_and_the_words_stay() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "alpha").unwrap();
        let mut notices: Vec<Notice> = Vec::new();
        let content = draft("look at @a.txt.").content(&environment(folder.path()), &mut notices).unwrap();
        assert_eq!(content.text(), "look at @a.txt.\n\n--- a.txt ---\nalpha\n--- end of a.txt ---");
        assert!(notices.is_empty());
    }

    #[test]
    fn what_cannot_be_had_is_told_and_what_is_piped_names_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(folder.path().join("outside.txt"), "secret words").unwrap();
        std::fs::write(work.join(".env"), "KEY=1").unwrap();
        std::fs::write(work.join("in.txt"), "inside").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../outside.txt", work.join("link.txt")).unwrap();
        let mut notices: Vec<Notice> = Vec::new();
        let draft = PromptDraft {
            piped: "a diff with @in.txt".to_owned(),
            ..draft("@../outside.txt @link.txt @.env @gone.png @alice")
        };
        let content = draft.content(&environment(&work), &mut notices).unwrap();
        assert_eq!(content.parts.len(), 1, "{content:?}");
        assert_eq!(notices.len(), 4, "{notices:?}");
    }

    #[test]
    fn a_file_that_is_given_must_be_there_and_be_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "KEY=1").unwrap();
        for file in ["gone.txt", ".env"] {
            let draft = PromptDraft { files: vec![file.into()], ..draft("x") };
            let mut notices: Vec<Notice> = Vec::new();
            assert!(draft.content(&environment(folder.path()), &mut notices).is_err(), "{file}");
        }
    }
}
