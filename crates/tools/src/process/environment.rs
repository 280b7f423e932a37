//! The environment variables of child processes.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::OnceLock;

use charla_proto::Confinement;
use charla_sandbox::Cell;
use tokio::process::Command;

use super::plain_git;
use super::withheld::{Reach, Withheld};
use crate::git::GitUse;

/// The variable that marks every process of a session, inherited by whatever it starts.
pub(crate) const MARK: &str = "CHARLA_RUN";

/// Set for every child: nobody is there to scroll, to type a password, or to write and leave an editor. Without one git goes on
/// with the words that there are, or says that there are none.
const UNATTENDED: [(&str, &str); 4] =
    [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true")];

/// The variables children get. Nothing is inherited that is not in here.
#[derive(Clone, Default)]
pub struct Environment {
    given: Vec<(OsString, OsString)>,
    withheld: Withheld,
    /// Judged at the first child: a session that starts none does not pay for it.
    judged: OnceLock<Judged>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // Not what is withheld.
        self.judged().fmt(f)
    }
}

/// Who gets which variables.
#[derive(Clone, Debug, Default)]
struct Judged {
    /// For what was approved.
    approved: Vec<(OsString, OsString)>,
    /// For what runs without anybody having been asked.
    unasked: Vec<(OsString, OsString)>,
}

impl Environment {
    /// These variables without those that are withheld.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>, withheld: &Withheld) -> Self {
        let given = variables.into_iter().collect();
        Self { given, withheld: withheld.clone(), judged: OnceLock::new() }
    }

    fn judged(&self) -> &Judged {
        self.judged.get_or_init(|| {
            let readable =
                self.given.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
            let withheld = self.withheld.with_values(readable);
            let mut judged = Judged::default();
            for (name, value) in &self.given {
                // Odd bytes in a name or a value are judged by what is readable around them.
                let reach = withheld.reach(&name.to_string_lossy(), &value.to_string_lossy());
                let value = without_relative_folders(name, value);
                if reach == Reach::Every {
                    judged.unasked.push((name.clone(), value.clone()));
                }
                if reach != Reach::Nobody {
                    judged.approved.push((name.clone(), value));
                }
            }
            judged
        })
    }

    /// The value of a variable, for what was approved.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.judged()
            .approved
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_os_str())
    }

    /// The variables of a child that reaches this far.
    fn of(&self, confinement: Confinement) -> &[(OsString, OsString)] {
        match confinement {
            Confinement::Reading | Confinement::Editing => &self.judged().unasked,
            Confinement::Asked | Confinement::Open => &self.judged().approved,
        }
    }

    /// Gives a command its variables. The cell is the one it will run in; `git` is what it does with git, where that is known.
    pub(crate) fn apply(
        &self,
        command: &mut Command,
        mark: &str,
        confinement: Confinement,
        cell: &Cell,
        git: Option<&GitUse>,
    ) {
        command.env_clear().envs(self.of(confinement).iter().map(|(name, value)| (name, value)));
        command.envs(UNATTENDED).env(MARK, mark);
        if confinement < Confinement::Asked {
            let held = self.judged().unasked.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT");
            let held = held.and_then(|(_, count)| count.to_str()?.parse().ok()).unwrap_or(0);
            command.envs(plain_git::variables(
                held,
                cell.attributes(),
                git.is_none_or(GitUse::may_show_merge),
            ));
        }
    }

    /// Gives a command what anything gets, and these. No secret is among the former.
    pub(crate) fn apply_bare(&self, command: &mut Command, mark: &str, given: &[(String, String)]) {
        command.env_clear().envs(self.of(Confinement::Reading).iter().map(|(name, value)| (name, value)));
        command.envs(UNATTENDED).envs(given.iter().map(|(name, value)| (name, value))).env(MARK, mark);
    }
}

/// A search path without entries that depend on the working folder: `ls` must not mean a file that came with a workspace.
fn without_relative_folders(name: &OsStr, value: &OsStr) -> OsString {
    let Some(folders) = value.to_str().filter(|_| name == "PATH") else { return value.to_owned() };
    match folders.split(':').filter(|folder| folder.starts_with('/')).collect::<Vec<_>>().join(":") {
        // An empty one would stand for the working folder.
        none if none.is_empty() => "/usr/bin:/bin".into(),
        folders => folders.into(),
    }
}

#[cfg(test)]
mod tests {
    use charla_sandbox::Extra;

    use super::*;

    #[test]
    fn git_runs_no_program_of_a_repository_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let git = |environment: Option<Confinement>, words: &[&str]| {
            let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
            let set = Environment::new([path, ("HOME".into(), folder.path().into())], &Withheld::new([], []));
            let mut command = Command::new("git");
            command.args(words).current_dir(folder.path());
            let open = crate::process::sandbox(folder.path()).prepare(
                Confinement::Open,
                folder.path(),
                &Extra::default(),
            );
            set.apply(&mut command, "x", environment.unwrap_or(Confinement::Open), &open.unwrap(), None);
            command.as_std_mut().output().unwrap().status.success()
        };
        assert!(git(None, &["init", "-q", "."]));
        std::fs::write(folder.path().join("f"), "x").unwrap();
        assert!(git(None, &["add", "f"]));
        assert!(git(None, &["config", "core.fsmonitor", "touch ran; false"]));
        let ran = || std::fs::remove_file(folder.path().join("ran")).is_ok();
        for confinement in [Confinement::Reading, Confinement::Editing] {
            assert!(git(Some(confinement), &["status"]));
            assert!(!ran(), "{confinement}");
        }
        git(Some(Confinement::Asked), &["status"]);
        assert!(ran());
    }

    #[test]
    fn what_runs_unasked_gets_less_than_what_was_approved() {
        let variables = [
            ("OPENAI_API_KEY", "k"),
            ("PATH", ".:/usr/bin::bin:/bin"),
            ("HOME", "/h"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("GITHUB_TOKEN", "t"),
            ("PLAIN", "mine-12345"),
            ("COPY", "mine-12345"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let withheld = Withheld::new(["PLAIN".to_owned()], ["GITHUB_TOKEN".to_owned()]);
        let environment = Environment::new(variables, &withheld);
        let names = |confinement| {
            let names = environment.of(confinement).iter().map(|(name, _)| name.to_str().unwrap());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(Confinement::Reading), "PATH HOME");
        assert_eq!(names(Confinement::Editing), "PATH HOME");
        assert_eq!(names(Confinement::Asked), "PATH HOME SSH_AUTH_SOCK GITHUB_TOKEN");
        assert_eq!(names(Confinement::Open), "PATH HOME SSH_AUTH_SOCK GITHUB_TOKEN");
        assert_eq!(environment.judged().unasked[0].1, "/usr/bin:/bin");
        assert_eq!(environment.get("PATH"), Some(OsStr::new("/usr/bin:/bin")));
    }
}
