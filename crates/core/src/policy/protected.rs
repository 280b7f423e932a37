//! Files that run something or instruct somebody later, without a person starting it.
//!
//! What a person builds or tests on purpose (`Makefile`, `package.json`, `build.rs`) is ordinary source.

use std::path::Path;

/// Names in any folder, in lower case, and why writing them is more than an edit.
const NAMES: [(&[&str], &str); 6] = [
    (
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".kshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".inputrc",
            ".xinitrc",
            ".xprofile",
            ".xsessionrc",
            ".gitconfig",
            ".gitmodules",
            ".vimrc",
            ".gvimrc",
            ".exrc",
            ".nvimrc",
            ".nvim.lua",
            ".emacs",
            ".dir-locals.el",
            ".dir-locals-2.el",
            ".gdbinit",
            ".lldbinit",
            ".screenrc",
            ".tmux.conf",
            ".curlrc",
            ".wgetrc",
            ".psqlrc",
            ".pythonrc",
            ".irbrc",
            ".pryrc",
            ".rprofile",
            ".pdbrc",
            ".ripgreprc",
            ".autoenv",
            ".autoenv.zsh",
            ".direnvrc",
            ".lvimrc",
            ".local.vimrc",
            ".vimrc.local",
            "_vimrc",
            ".xsession",
            ".pam_environment",
            ".renviron",
            ".ghci",
            ".rvmrc",
        ],
        "it is read when a shell or a tool starts",
    ),
    (
        &[
            "agents.md",
            "agents.override.md",
            "claude.md",
            "claude.local.md",
            "gemini.md",
            "qwen.md",
            "warp.md",
            ".rules",
            ".goosehints",
            ".roomodes",
            "opencode.json",
            "opencode.jsonc",
            ".opencode.json",
            ".opencode.jsonc",
            "crush.json",
            ".crush.json",
            "crush.md",
            "charla.md",
            ".cursorrules",
            ".windsurfrules",
            ".aider.conf.yml",
            ".aider.model.settings.yml",
            "agent.md",
            "jules.md",
            ".mcp.json",
            "mcp.json",
            "copilot-instructions.md",
        ],
        "it instructs agents in later sessions",
    ),
    (
        &[
            ".gitlab-ci.yml",
            ".build.yml",
            ".travis.yml",
            ".drone.yml",
            ".woodpecker.yml",
            ".gitpod.yml",
            ".appveyor.yml",
            "appveyor.yml",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
            "jenkinsfile",
            "buildspec.yml",
            "cloudbuild.yaml",
        ],
        "other machines run what it says by themselves",
    ),
    (
        &[
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook-local.yml",
            "lefthook.toml",
            ".lefthook.yml",
            ".pre-commit-config.yaml",
            ".pre-commit-hooks.yaml",
            ".huskyrc",
            ".overcommit.yml",
            ".devcontainer.json",
            ".bazelrc",
            ".sbtopts",
            ".jvmopts",
            ".lintstagedrc",
            ".pylintrc",
            "conftest.py",
            "sitecustomize.py",
            "usercustomize.py",
        ],
        "tools run what it says by themselves",
    ),
    (
        &[
            ".gitattributes",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".pnpmfile.cjs",
            "rust-toolchain",
            "rust-toolchain.toml",
            ".tool-versions",
            ".mise.toml",
            "mise.toml",
            "mise.local.toml",
            ".lfsconfig",
            ".python-version",
            ".ruby-version",
            ".node-version",
            ".java-version",
            ".nvmrc",
            ".bazelversion",
            ".sdkmanrc",
            ".rtx.toml",
            "bunfig.toml",
        ],
        "it chooses the programs that tools start",
    ),
    (&["authorized_keys", "crontab"], "it makes the machine run commands by itself"),
];

/// Folders whose whole content counts.
const FOLDERS: [(&[&str], &str); 5] = [
    (&[".git", ".hg", ".svn", ".jj"], "it belongs to version control, whose hooks and settings run commands"),
    (&[".charla", ".gemini"], "it decides what Charla may do"),
    (
        &[
            ".agent",
            ".agents",
            ".aider",
            ".amazonq",
            ".amp",
            ".augment",
            ".claude",
            ".clinerules",
            ".codex",
            ".continue",
            ".crush",
            ".cursor",
            ".factory",
            ".junie",
            ".kiro",
            ".opencode",
            ".qwen",
            ".roo",
            ".tabnine",
            ".trae",
            ".windsurf",
        ],
        "it instructs agents in later sessions",
    ),
    (
        &[
            ".husky",
            ".githooks",
            ".mvn",
            ".mise",
            ".helix",
            ".ipython",
            ".jupyter",
            ".woodpecker",
            ".vscode",
            ".idea",
            ".devcontainer",
            ".zed",
            ".fleet",
            ".circleci",
            ".buildkite",
            ".builds",
            ".forgejo",
        ],
        "tools run what it says by themselves",
    ),
    (&["systemd", "cron.d", "autostart"], "it makes the machine run commands by itself"),
];

/// Folders that count in one other.
const PAIRS: [(&str, &[&str], &str); 7] = [
    (".github", &["workflows", "actions"], "other machines run what it says by themselves"),
    (
        ".github",
        &["instructions", "prompts", "agents", "chatmodes", "hooks"],
        "it instructs agents in later sessions",
    ),
    (".gitea", &["workflows"], "other machines run what it says by themselves"),
    (".gitlab", &["ci"], "other machines run what it says by themselves"),
    (".config", &["fish", "nvim", "autostart"], "it is read when a shell or a tool starts"),
    (".yarn", &["releases", "plugins"], "tools run what it says by themselves"),
    (".cargo", &["config", "config.toml"], "it chooses the programs that tools start"),
];

/// Why writing a path is more than an edit. Upper and lower case are not told apart, as some disks do not,
/// nor are names with characters that nobody sees.
pub(super) fn protected(path: &Path) -> Option<&'static str> {
    let parts: Vec<String> = path.iter().map(|part| visible(&part.to_string_lossy())).collect();
    let last = parts.last().map(String::as_str).unwrap_or_default();
    let has = |names: &[&str]| parts.iter().any(|part| names.contains(&part.as_str()));
    let paired = |first: &str, second: &[&str]| {
        let mut pairs = parts.iter().zip(parts.iter().skip(1));
        pairs.any(|(one, two)| one == first && second.contains(&two.as_str()))
    };
    if let Some((_, reason)) = FOLDERS.iter().find(|(names, _)| has(names)) {
        return Some(reason);
    }
    // A folder with such a file may pass for a repository, with settings of its own.
    if path.file_name().is_some_and(|name| name == "HEAD") {
        return Some("it belongs to version control, whose hooks and settings run commands");
    }
    if let Some((_, reason)) = NAMES.iter().find(|(names, _)| names.contains(&last)) {
        return Some(reason);
    }
    // The outer folder, too: who makes it or moves it has what is in it.
    if let Some((.., reason)) =
        PAIRS.iter().find(|(first, second, _)| *first == last || paired(first, second))
    {
        return Some(reason);
    }
    if last.starts_with(".envrc") {
        return Some("it is read when a shell or a tool starts");
    }
    let runs = [".pth", ".code-workspace", ".sublime-project"].iter().any(|ending| last.ends_with(ending));
    runs.then_some("tools run what it says by themselves")
}

/// A name in lower case, without what is not seen of it.
fn visible(name: &str) -> String {
    name.replace(is_unseen, "").to_lowercase()
}

/// Characters that take no place where a name is shown; some file systems take none of them into account either.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_or_instructs_later_is_known_in_any_folder_and_case() {
        for path in [
            "/w/AGENTS.md",
            "/w/sub/agents.md",
            "/w/CLAUDE.md",
            "/w/Charla.MD",
            "/w/.claude/settings.json",
            "/w/.CURSOR/rules/x",
            "/w/.codex/config.toml",
            "/w/.mcp.json",
            "/w/mcp.json",
            "/w/.qwen/settings.json",
            "/w/opencode.jsonc",
            "/w/.opencode/agent/x.md",
            "/w/.crush.json",
            "/w/crush.json",
            "/w/CRUSH.md",
            "/w/.github/hooks/x.json",
            "/w/.factory/x",
            "/w/.amp/x",
            "/w/.augment/x",
            "/w/.agent/x.md",
            "/w/.agents/skills/x/SKILL.md",
            "/w/.junie/guidelines.md",
            "/w/.cargo/config.toml",
            "/w/a/.cargo/config",
            "/w/.bash_aliases",
            "/w/.gdbinit",
            "/w/.lldbinit",
            "/w/.exrc",
            "/w/.nvim.lua",
            "/w/.dir-locals.el",
            "/w/.envrc.local",
            "/w/lefthook.yml",
            "/w/.github/workflows/ci.yml",
            "/w/.github/copilot-instructions.md",
            "/w/.yarnrc.yml",
            "/w/tests/conftest.py",
            "/w/.GIT/hooks/pre-commit",
            "/w/.husky/pre-commit",
            "/w/.vscode/tasks.json",
            "/w/rust-toolchain.toml",
            "/w/x/evil.pth",
            "/w/.gitlab-ci.yml",
            "/w/sub/.gitattributes",
            "/w/vendor/x/HEAD",
            "/w/.clinerules/x.md",
            "/w/.mvn/extensions.xml",
            "/w/a.code-workspace",
            "/w/.yarn/releases/yarn.cjs",
            "/w/.gitlab/ci/x.yml",
            "/w/.Githooks/pre-commit",
            "/w/.opencode.json",
            "/w/.bazelversion",
            "/w/.local.vimrc",
            "/w/.vimrc.local",
            "/w/a.sublime-project",
            "/w/.pylintrc",
            "/w/AGENTS\u{200b}.md",
            "/w/AG\u{ad}ENTS.md",
            "/w/AGENTS\u{200e}.md",
            "/w/\u{200f}AGENTS.md",
            "/w/CLA\u{2061}UDE.md",
            "/w/CLA\u{2064}UDE.md",
            "/w/.git\u{fe0f}/config",
            "/w/AGENTS\u{e0041}.md",
            "/w/AGENTS\u{e0100}.md",
            "/w/.g\u{2060}it/hooks/x",
            "/w/\u{feff}CLAUDE.md",
        ] {
            assert!(protected(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "/w/Makefile",
            "/w/package.json",
            "/w/build.rs",
            "/w/src/main.rs",
            "/w/docs/agents.txt",
            "/w/.github/ISSUE_TEMPLATE/bug.md",
            "/w/.yarn/cache/x.zip",
            "/w/.gitlab/issue_templates/a.md",
            "/w/.gitignore",
            "/w/.cargo/readme.md",
            "/w/head",
            "/w/tests/test_conftest.py",
        ] {
            assert_eq!(protected(Path::new(path)), None, "{path}");
        }
    }
}
