//! What git's own commands do beside reading: which options run a program, and how work gets lost.
//!
//! One row for each command, for whoever asks. That a form of a command only reads is [`super::git`]'s affair.

use charla_proto::Word;

use super::git::subcommand_at;
use super::given::{Arguments, Named};

/// How a command of git gets rid of something.
#[derive(Clone, Copy, Debug)]
enum Loses {
    Never,
    Always,
    /// With one of these options.
    With(Named),
    /// Unless one of these options is given.
    Unless(Named),
    /// With one of these as its first word.
    By(&'static [&'static str]),
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct GitCommand {
    pub names: &'static [&'static str],
    /// Options with a value.
    pub valued: Named,
    /// Options with which it runs a program of one's choice.
    pub runs: Named,
    /// The word with which it runs what follows.
    runs_by: &'static str,
    /// What was committed or stashed, or what nobody else has: it does not come back.
    good: Loses,
    /// Changes that were not committed.
    changes: Loses,
    /// It neither runs programs by itself nor shows what git keeps.
    pub ordinary: bool,
}

const NONE: Named = Named::NONE;

const fn row(names: &'static [&'static str], valued: Named) -> GitCommand {
    GitCommand {
        names,
        valued,
        runs: NONE,
        runs_by: "",
        good: Loses::Never,
        changes: Loses::Never,
        ordinary: true,
    }
}

impl GitCommand {
    const fn running(self, letters: &'static str, long: &'static [&'static str]) -> Self {
        GitCommand { runs: Named::new(letters, long), ..self }
    }

    const fn losing(self, good: Loses) -> Self {
        GitCommand { good, ..self }
    }

    const fn dropping(self, changes: Loses) -> Self {
        GitCommand { changes, ..self }
    }

    /// It runs programs by itself, or shows what git keeps.
    const fn apart(self) -> Self {
        GitCommand { ordinary: false, ..self }
    }
}

const fn with(letters: &'static str, long: &'static [&'static str]) -> Loses {
    Loses::With(Named::new(letters, long))
}

const FETCHING: Named =
    Named::new("ojsX", &["--depth", "--deepen", "--jobs", "--server-option", "--strategy", "--refmap"]);

const COMMANDS: &[GitCommand] = &[
    row(
        &[
            "add",
            "am",
            "annotate",
            "apply",
            "config",
            "fsck",
            "help",
            "notes",
            "range-diff",
            "remote",
            "repack",
            "show-branch",
            "sparse-checkout",
            "update-index",
            "write-tree",
            "commit-tree",
            "version",
        ],
        NONE,
    ),
    GitCommand { runs_by: "run", ..row(&["bisect"], NONE) },
    GitCommand { runs_by: "run", ..row(&["hook"], NONE) }.apart(),
    GitCommand {
        runs_by: "foreach",
        ..row(&["submodule"], Named::new("b", &["--branch", "--reference", "--depth"]))
    }
    .losing(with("f", &["--force"])),
    row(&["branch"], Named::new("u", &["--set-upstream-to", "--sort", "--format", "--points-at"]))
        .losing(with("DfMC", &["--force"])),
    row(&["checkout"], Named::new("b", &["--orphan", "--conflict", "--pathspec-from-file"]))
        .losing(with("fB", &["--force"]))
        .dropping(Loses::Unless(Named::new("bt", &["--track", "--orphan"]))),
    row(&["switch"], Named::new("c", &["--create", "--orphan", "--conflict"]))
        .losing(with("fC", &["--force", "--discard-changes", "--force-create"])),
    row(&["restore"], Named::new("s", &["--source", "--conflict", "--pathspec-from-file"]))
        .dropping(Loses::Unless(Named::new("S", &["--staged"]))),
    row(&["cherry-pick", "revert"], Named::new("mXS", &["--mainline", "--strategy", "--strategy-option"])),
    row(&["clean"], NONE).losing(Loses::Always),
    row(
        &["clone"],
        Named::new("bojuc", &["--branch", "--origin", "--jobs", "--depth", "--filter", "--reference"]),
    )
    .running("uc", &["--upload-pack", "--config", "--template"]),
    row(
        &["commit"],
        Named::new(
            "mFcCt",
            &[
                "--message",
                "--file",
                "--author",
                "--date",
                "--template",
                "--reuse-message",
                "--reedit-message",
                "--fixup",
                "--squash",
                "--trailer",
                "--cleanup",
                "--pathspec-from-file",
            ],
        ),
    ),
    row(&["fetch", "ls-remote"], FETCHING).running("", &["--upload-pack", "--exec"]),
    row(&["fetch-pack"], FETCHING).running("", &["--upload-pack", "--exec"]).apart(),
    row(&["pull"], FETCHING).running("", &["--upload-pack", "--exec"]).losing(with("f", &["--force"])),
    row(&["push"], Named::new("o", &["--push-option", "--repo"]))
        .running("", &["--receive-pack", "--exec"])
        .losing(with(
            "fd",
            &["--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune"],
        )),
    row(&["gc"], NONE).losing(with("", &["--prune"])),
    row(&["prune"], NONE).losing(Loses::Always),
    row(&["grep"], Named::new("eABCmf", &["--max-depth", "--max-count", "--threads"]))
        .running("O", &["--open-files-in-pager"]),
    row(&["init"], Named::new("b", &["--initial-branch", "--separate-git-dir", "--object-format"]))
        .running("", &["--template"]),
    row(
        &["merge"],
        Named::new("mXsF", &["--message", "--file", "--strategy", "--strategy-option", "--into-name"]),
    ),
    row(&["mv"], NONE).losing(with("f", &["--force"])),
    row(&["rebase"], Named::new("sXCS", &["--onto", "--strategy", "--strategy-option", "--whitespace"]))
        .running("x", &["--exec"]),
    row(&["reflog"], NONE)
        .running("", &["--ext-diff", "--textconv"])
        .losing(Loses::By(&["expire", "delete", "drop"])),
    row(&["reset"], Named::new("U", &["--pathspec-from-file"])).losing(with("", &["--hard", "--merge"])),
    row(&["rm"], Named::new("", &["--pathspec-from-file"]))
        .losing(with("f", &["--force"]))
        .dropping(Loses::Unless(Named::new("n", &["--cached", "--dry-run"]))),
    row(&["stash"], Named::new("m", &["--message", "--pathspec-from-file"]))
        .running("", &["--ext-diff", "--textconv"])
        .losing(Loses::By(&["drop", "clear"])),
    row(
        &["tag"],
        Named::new("mFu", &["--message", "--file", "--local-user", "--sort", "--format", "--cleanup"]),
    )
    .losing(with("df", &["--delete", "--force"])),
    row(&["update-ref"], Named::new("m", &[])).dropping(Loses::Always),
    row(&["worktree"], Named::new("bB", &["--reason", "--expire"])).losing(with("fB", &["--force"])),
    row(&["log", "show", "diff", "whatchanged", "format-patch"], Named::new("nSGULOlo", &[]))
        .running("", &["--ext-diff", "--textconv"])
        .apart(),
    row(&["archive"], Named::new("o", &["--format", "--prefix", "--output"]))
        .running("", &["--exec", "--remote"])
        .apart(),
    row(&["difftool"], Named::new("t", &["--tool"])).running("x", &["--extcmd"]).apart(),
    row(
        &[
            "bundle",
            "checkout-index",
            "check-attr",
            "check-mailmap",
            "check-ref-format",
            "column",
            "credential",
            "fast-export",
            "fast-import",
            "filter-branch",
            "fmt-merge-msg",
            "hash-object",
            "index-pack",
            "interpret-trailers",
            "ls-files",
            "mailinfo",
            "maintenance",
            "merge-file",
            "merge-tree",
            "mergetool",
            "mktag",
            "mktree",
            "multi-pack-index",
            "pack-objects",
            "pack-refs",
            "patch-id",
            "read-tree",
            "replace",
            "request-pull",
            "rerere",
            "send-pack",
            "stripspace",
            "unpack-file",
            "unpack-objects",
            "var",
            "verify-commit",
            "verify-pack",
            "verify-tag",
        ],
        NONE,
    )
    .apart(),
];

/// What is known of a command by this name; one that is not known may be an alias, or a program of its own.
pub(super) fn find(name: &str) -> Option<&'static GitCommand> {
    COMMANDS.iter().find(|command| command.names.contains(&name))
}

/// True for git that may run any command, of git's or not: an alias or a program of its own, settings of the line, an option that
/// runs a program.
pub(in crate::policy) fn may_run_any(words: &[Word]) -> bool {
    let Some(at) = subcommand_at(words) else { return words.iter().any(|word| word.known().is_none()) };
    let sets = |word: &Word| {
        ["-c", "--config-env", "--exec-path"].iter().any(|option| word.text.starts_with(option))
    };
    let name = words.get(at).and_then(Word::known).unwrap_or_default();
    if words.get(1..at).is_some_and(|before| before.iter().any(sets)) || RUNNING.contains(&name) {
        return true;
    }
    match find(name) {
        Some(command) => command.runs_by(words, at) || command.arguments(words, at).has(command.runs),
        None => !super::git::reads(name),
    }
}

/// Commands that run programs by themselves, or do what another does.
const RUNNING: [&str; 6] = ["filter-branch", "mergetool", "difftool", "hook", "send-pack", "http-push"];

impl GitCommand {
    /// What it is given behind its name, which stands at `at`.
    fn arguments<'a>(&self, words: &'a [Word], at: usize) -> Arguments<'a> {
        Arguments::of(words, at + 1, &[self.valued])
    }

    /// True for a word behind its name with which it runs what follows.
    pub(super) fn runs_by(&self, words: &[Word], at: usize) -> bool {
        !self.runs_by.is_empty() && self.arguments(words, at).operand(0) == Some(self.runs_by)
    }
}

impl Loses {
    fn something(self, given: &Arguments<'_>) -> bool {
        match self {
            Loses::Never => false,
            Loses::Always => true,
            Loses::With(options) => given.may_have(options),
            Loses::Unless(options) => !given.has(options),
            Loses::By(words) => given
                .operands
                .first()
                .is_some_and(|first| first.word.known().is_none_or(|word| words.contains(&word))),
        }
    }
}

/// What git with these words gets rid of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy) enum Lost {
    Nothing,
    /// Changes that nobody committed.
    Changes,
    /// What does not come back.
    ForGood,
}

/// What git with these words may get rid of.
pub(in crate::policy) fn lost(words: &[Word]) -> Lost {
    let Some(at) = subcommand_at(words) else {
        let known = words.iter().all(|word| word.known().is_some());
        return if known { Lost::Nothing } else { Lost::ForGood };
    };
    let name = words.get(at).and_then(Word::known).unwrap_or_default();
    let Some(command) = find(name) else {
        let forced = Named::new("f", &["--force", "--hard"]);
        let plain = super::git::reads(name) || !Arguments::of(words, at + 1, &[]).may_have(forced);
        return if plain { Lost::Nothing } else { Lost::ForGood };
    };
    let given = command.arguments(words, at);
    // `+main` forces, `:main` removes.
    let refspec = |text: &str| text.starts_with(['+', ':']);
    let pushes_over =
        name == "push" && given.operands.iter().any(|place| place.word.known().is_none_or(refspec));
    if pushes_over || command.good.something(&given) {
        return Lost::ForGood;
    }
    let worktree = name == "restore" && given.has(Named::new("W", &["--worktree"]));
    if worktree || command.changes.something(&given) { Lost::Changes } else { Lost::Nothing }
}
