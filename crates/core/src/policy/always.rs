//! The rule that an "always" adds: it allows this, here, and nothing else.
//!
//! Bound are the command's words, the folder it runs in, the workspace, the value of a variable, the host. What
//! can be something else the next time with the same words has no such rule: a script from standard input, a word
//! only the shell knows.

use std::path::Path;

use charla_proto::text::shell_quote;
use charla_proto::{Confinement, Effect, Plan, Word};

use super::commands::{is_plainly_far, reads_input, runs_file, subcommand_at, trusted_name, writes_beyond};
use super::guards::{delicate, discloses};
use super::matching::SHELL;
use super::{Scope, environment};

/// Commands that a sandbox would only break: they act elsewhere, or as somebody else.
const REACHING: [&str; 56] = [
    "sudo",
    "doas",
    "su",
    "pkexec",
    "run0",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "docker",
    "podman",
    "kubectl",
    "gpg",
    "gpg2",
    "systemctl",
    "loginctl",
    "apt",
    "apt-get",
    "dpkg",
    "dnf",
    "yum",
    "pacman",
    "zypper",
    "brew",
    "snap",
    "flatpak",
    "mount",
    "umount",
    "ssh-add",
    "ssh-keygen",
    "gh",
    "at",
    "aws",
    "gcloud",
    "gsutil",
    "az",
    "terraform",
    "tofu",
    "pulumi",
    "helm",
    "ansible",
    "ansible-playbook",
    "glab",
    "heroku",
    "fly",
    "flyctl",
    "vercel",
    "netlify",
    "wrangler",
    "doctl",
    "twine",
    "rclone",
    "s3cmd",
    "vault",
    "op",
    "pass",
];

/// Commands of programs that talk to another machine with a credential.
const REACHING_WITH: [(&str, &[&str]); 5] = [
    ("git", &["push", "pull", "fetch", "clone", "ls-remote", "submodule"]),
    ("npm", &["publish", "login", "adduser", "whoami", "owner", "unpublish"]),
    ("pnpm", &["publish", "login"]),
    ("yarn", &["publish", "login"]),
    ("cargo", &["publish", "login", "owner", "yank"]),
];

/// How far a command reaches that a person approved: not everywhere, unless it plainly has to.
pub(super) fn reach(effect: Option<&Effect>) -> Confinement {
    let words = match effect {
        Some(Effect::Unconfined) => return Confinement::Open,
        Some(Effect::Exec { words, .. }) => words,
        _ => return Confinement::Asked,
    };
    // A program of the workspace may have any name.
    let name = trusted_name(words).unwrap_or_default();
    let command = match name {
        "git" => subcommand_at(words).and_then(|at| words.get(at)),
        _ => words.get(1),
    };
    let command = command.and_then(Word::known).unwrap_or_default();
    let with =
        REACHING_WITH.iter().any(|(program, commands)| *program == name && commands.contains(&command));
    if with || REACHING.contains(&name) { Confinement::Open } else { Confinement::Asked }
}

/// The same for a command that a rule names: nobody has looked at its options, and some of git's run programs.
pub(super) fn reach_by_name(effect: Option<&Effect>) -> Confinement {
    let Some(Effect::Exec { words, .. }) = effect else { return Confinement::Asked };
    match trusted_name(words) {
        Some("git") if !is_plainly_far(words) => Confinement::Asked,
        // What the shell makes of a word nobody has seen.
        _ if words.iter().any(|word| word.known().is_none()) => Confinement::Asked,
        _ => reach(effect),
    }
}

/// What the person should know before allowing a command for good.
pub(super) fn caveat(effect: &Effect) -> Option<&'static str> {
    match effect {
        Effect::Exec { words, .. } if runs_file(words) => {
            Some("it runs a file, which may say something else the next time")
        }
        _ => None,
    }
}

/// The rule, as TOML, that would allow `effect` of `plan` and no other.
pub(super) fn rule(plan: &Plan, effect: Option<&Effect>, scope: &Scope) -> Option<String> {
    let lines = match effect {
        // Nobody gives this away with one key; who means it writes the rule.
        Some(Effect::Exec { words, cwd, .. })
            if delicate(words).is_some() || discloses(words, cwd, scope, true).is_some() =>
        {
            return None;
        }
        Some(Effect::Exec { words, fed, .. }) if reads_input(words, *fed) => return None,
        // What runs or instructs later, and what lies elsewhere, may be something else the next time.
        Some(Effect::Exec { words, cwd, .. }) if writes_beyond(words, cwd, scope, 0).is_some() => {
            return None;
        }
        Some(Effect::Exec { words, cwd, .. }) => {
            let known: Option<Vec<String>> = words.iter().map(|word| word.known().map(shell_quote)).collect();
            let given = effect.and_then(environment::given)?;
            line("command", &known?.join(" ")) + &line("cwd", &folder(cwd, scope)) + &together_with(&given)
        }
        Some(Effect::Read { path }) if scope.secret(path).is_some() => return None,
        Some(Effect::Write { path }) if scope.secret(path).or_else(|| scope.protected(path)).is_some() => {
            return None;
        }
        Some(Effect::Read { path } | Effect::Write { path }) => {
            line("path", &globset::escape(&path.to_string_lossy()))
        }
        // A variable is bound to the command that it was set for.
        Some(Effect::Env { name, .. }) => {
            let users = environment::users(plan, scope, name);
            let [only] = users.as_slice() else { return None };
            return rule(plan, Some(only), scope);
        }
        Some(Effect::Net { host }) if !host.contains('*') => line("host", host),
        Some(Effect::Net { .. } | Effect::Unclear { .. } | Effect::Unconfined) => return None,
        Some(Effect::Mcp { server, .. }) if !server.contains('*') => line("mcpName", server),
        Some(Effect::Mcp { .. }) => return None,
        None => String::new(),
    };
    let workspace = scope.roots.first().map(|root| line("workspace", &root.to_string_lossy()));
    let confinement = plan.starts_processes().then(|| line("confinement", &reach(effect).to_string()));
    // A rule about commands is about the tool that runs them.
    let is_of_shell = plan.tool == SHELL && matches!(effect, Some(Effect::Exec { .. }));
    let tool = if is_of_shell { String::new() } else { line("tool", &plan.tool) };
    Some(format!(
        "[[rule]]\n{tool}{lines}{}{}decision = \"allow\"\n",
        workspace.unwrap_or_default(),
        confinement.unwrap_or_default(),
    ))
}

/// The variables that a rule about a command is bound to; none of them, too, is said.
fn together_with(given: &[(String, String)]) -> String {
    let texts: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("environment = {}\n", toml::Value::from(texts))
}

fn line(key: &str, value: &str) -> String {
    format!("{key} = {}\n", toml::Value::from(value))
}

/// A folder from the workspace.
fn folder(cwd: &Path, scope: &Scope) -> String {
    let below = scope.roots.first().and_then(|root| cwd.strip_prefix(root).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => below.to_string_lossy().into_owned(),
        None => cwd.to_string_lossy().into_owned(),
    }
}
