//! What holds the processes of a session's tools in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_core::policy::{RuleBook, Wall};
use charla_core::session::Isolation;
use charla_proto::{ApprovalMode, Confinement, Effect, FileJudge, Withheld};
use charla_sandbox::{Bounds, Places, Sandbox, Treatment, isolation};

use crate::bounded;
use crate::environment::Environment;
use crate::settings::McpServerSettings;

const SHELL: &str = "run_shell_command";

/// What the kernel offers here, as far as rules need to know.
pub(super) fn wall() -> Wall {
    let wall = charla_sandbox::Wall::look();
    Wall { reading: wall.reading, editing: wall.editing }
}

/// What it was seen to enforce of that: a container may refuse what the kernel offers. Takes some milliseconds once.
pub(super) fn proof() -> Wall {
    let wall = charla_sandbox::Wall::proven();
    Wall { reading: wall.reading, editing: wall.editing }
}

/// The sandbox of a session whose commands may read what lies in `readable`, too.
pub(super) fn sandbox(
    environment: &Environment,
    roots: &[PathBuf],
    rules: Arc<RuleBook>,
    readable: Vec<PathBuf>,
) -> Sandbox {
    let judges = Judges {
        unasked: FileJudge::new(rules.clone(), SHELL, ApprovalMode::Default),
        in_yolo: FileJudge::new(rules.clone(), SHELL, ApprovalMode::Yolo),
    };
    let denied = rules.denied_places();
    let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    // A guest's folder was resolved when it was looked at whether it is theirs. What leads elsewhere by now is not followed.
    let root = |path: &PathBuf| if environment.guest.is_some() { path.clone() } else { real(path) };
    let sandbox = Sandbox::new(Places {
        roots: roots.iter().map(root).collect(),
        home: environment.home.as_ref().map(real),
        temporary: environment.temporary.clone(),
        programs: environment.variable("PATH").unwrap_or_default().split(':').map(PathBuf::from).collect(),
        readable,
        history: roots.iter().flat_map(|root| history_of(&real(root), environment)).collect(),
        secrets: secrets(environment).iter().map(real).collect(),
        denied: denied.iter().map(real).collect(),
        treatment: Arc::new(move |path: &Path| treatment(path, &judges, &rules)),
    });
    match &environment.guest {
        Some(guest) => sandbox.within(Bounds { network: guest.network }),
        None => sandbox,
    }
}

/// What is secret where the surroundings say that it lies: our own folders, and those with keys of other agents.
fn secrets(environment: &Environment) -> Vec<PathBuf> {
    let named = ["XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| environment.variable(name));
    let of_others = named.into_iter().flatten().map(|folder| Path::new(folder).join("opencode"));
    let own = [environment.charla_home(), environment.cache()];
    own.into_iter().flatten().chain(of_others).collect()
}

/// A guest's workspace is all there is, whatever it is a part of.
fn history_of(root: &Path, environment: &Environment) -> Option<PathBuf> {
    history(root, environment.home.as_deref()).filter(|_| environment.guest.is_none())
}

/// Git's folder of a workspace that is a part of a repository, or one of several working trees of it.
fn history(root: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = root.ancestors().find(|folder| folder.join(".git").exists())?;
    // Who keeps a whole home in a repository keeps more in it than this workspace.
    if home.is_some_and(|home| home.starts_with(folder)) {
        return None;
    }
    let git = folder.join(".git");
    if git.is_dir() {
        return (folder != root).then_some(git);
    }
    // A file of the workspace must not open another folder: the repository has to know this working tree.
    let read = |path: &Path| String::from_utf8(bounded::read_up_to(path, 4096).ok()?).ok();
    let line = |path: &Path| read(path).map(|text| text.trim_end().to_owned());
    let tree = folder.join(line(&git)?.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let known = Path::new(&line(&tree.join("gitdir"))?).canonicalize().ok()?;
    let common = tree.parent().filter(|parent| parent.ends_with("worktrees"))?.parent()?;
    (known == git.canonicalize().ok()? && common.join("HEAD").is_file()).then(|| common.to_owned())
}

/// Which files commands may read.
struct Judges {
    /// In the mode in which what runs unasked reads least.
    unasked: FileJudge,
    /// In the one that asks about nothing: what is denied there and in the other is denied in all.
    in_yolo: FileJudge,
}

/// What becomes of a file or folder of the workspace.
fn treatment(path: &Path, judges: &Judges, rules: &RuleBook) -> Treatment {
    let files = &judges.unasked;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let protected = rules.protects(path);
    match protected {
        _ if files.hidden(path) && !is_named_like_file(path, files) => {
            let denied = files.denies(path) && judges.in_yolo.denies(path);
            Treatment::Hidden { guarded: protected, denied }
        }
        // What is in there is the history, which is read with git.
        true => Treatment::Protected { closed: matches!(name, ".git" | ".hg" | ".svn" | ".jj") },
        false => Treatment::Plain,
    }
}

/// True for a folder that has the name of a secret file, and holds others: `src/credentials/`.
fn is_named_like_file(path: &Path, files: &FileJudge) -> bool {
    let by_name = files.withheld(path) == Some(Withheld::Secret);
    by_name
        && path.symlink_metadata().is_ok_and(|found| found.is_dir())
        && files.withheld(&path.join("any")).is_none()
}

/// The words for the person who is asked about a call. What MCP servers do, they do where these settings put them.
pub(super) fn words(sandbox: Arc<Sandbox>, servers: BTreeMap<String, McpServerSettings>) -> Isolation {
    Arc::new(move |plan, confinement| {
        let held = |confinement| isolation(confinement, sandbox.proven(), sandbox.bounds());
        let server = plan.effects.iter().find_map(|effect| match effect {
            Effect::Mcp { server, .. } => servers.get(server),
            _ => None,
        });
        match server {
            _ if plan.starts_processes() => held(confinement).to_owned(),
            Some(McpServerSettings { command: Some(_), trust: Some(true), .. }) => {
                "none: you trust the server, and it runs with your own rights".to_owned()
            }
            Some(McpServerSettings { command: Some(_), .. }) => {
                format!("the server {}", held(Confinement::Asked))
            }
            Some(server) => {
                let address = server.http_url.as_ref().or(server.url.as_ref());
                let place = address.map(|address| format!(" at {address}")).unwrap_or_default();
                format!("none: the server runs elsewhere{place}")
            }
            None => "none: it runs with your own rights".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use charla_proto::{Args, Lane, Plan, Preview};

    use super::*;
    use crate::session::rules::{RulePlaces, rule_book};

    #[test]
    fn a_card_says_what_holds_an_mcp_server_in() {
        let program =
            McpServerSettings { command: Some("python3".to_owned()), ..McpServerSettings::default() };
        let trusted = McpServerSettings { trust: Some(true), ..program.clone() };
        let address = Some("http://localhost:1/mcp".to_owned());
        let remote = McpServerSettings { url: address, ..McpServerSettings::default() };
        let servers = [("held", program), ("trusted", trusted), ("remote", remote)];
        let servers = servers.map(|(name, server)| (name.to_owned(), server)).into_iter().collect();
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::of([("CHARLA_HOME", folder.path())]);
        let rules = Arc::new(rule_book(&RulePlaces::of(&environment), &[], &[]).unwrap());
        let sandbox = Arc::new(sandbox(&environment, &[], rules, Vec::new()));
        let held = isolation(Confinement::Asked, sandbox.proven(), sandbox.bounds());
        let words = words(sandbox, servers);
        let told = |server: &str| {
            let effects = vec![Effect::Mcp { server: server.to_owned(), tool: "t".to_owned() }];
            let plan = Plan {
                tool: "t".to_owned(),
                args: Args::new(),
                title: "t".to_owned(),
                effects,
                preview: Preview::None,
                lane: Lane::Shared,
            };
            words(&plan, Confinement::Asked)
        };
        assert_eq!(told("held"), format!("the server {held}"));
        assert!(told("trusted").starts_with("none: you trust the server"));
        assert_eq!(told("remote"), "none: the server runs elsewhere at http://localhost:1/mcp");
        assert_eq!(told("unknown"), "none: it runs with your own rights");
    }

    #[test]
    fn a_part_of_a_repository_and_a_working_tree_know_their_history() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["repo/.git/worktrees/tree", "repo/part", "tree", "liar", "home/.ssh/worktrees/x"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("repo/.git/HEAD"), "ref").unwrap();
        fs::write(at("repo/.git/worktrees/tree/gitdir"), format!("{}\n", at("tree/.git").display())).unwrap();
        fs::write(at("tree/.git"), format!("gitdir: {}\n", at("repo/.git/worktrees/tree").display()))
            .unwrap();
        fs::write(at("liar/.git"), format!("gitdir: {}\n", at("repo/.git/worktrees/tree").display()))
            .unwrap();
        let of = |name: &str| history(&at(name), Some(&at("home")));
        assert_eq!(of("repo/part"), Some(at("repo/.git")));
        assert_eq!(of("tree"), Some(at("repo/.git")));
        assert_eq!(of("repo"), None);
        assert_eq!(of("liar"), None);
        fs::write(at("liar/.git"), format!("gitdir: {}\n", at("home/.ssh/worktrees/x").display())).unwrap();
        assert_eq!(of("liar"), None);
        assert_eq!(history(&at("repo/part"), Some(&at("repo/part/home"))), None);
    }
}
