//! A workspace, a home and a neighbour's folder, with things that nobody may touch or see.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::listeners::Listeners;
use crate::snapshot::Snapshot;

/// Everything that must not come out begins with this.
pub const CANARY: &str = "canary-";
/// What the listening sockets answer.
pub const NETWORK_CANARY: &str = "canary-of-the-network";
/// A token in the settings of repositories. Git must read them, so only the reading of a line can keep it.
pub const TOKEN_CANARY: &str = "canary-token";
/// What the workspace's own programs print when they run.
pub const RAN_CANARY: &str = "canary-ran";

/// Variables of the user's environment that hold secrets.
pub const SECRET_VARIABLES: [&str; 15] = [
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GOOGLE_VERTEX_ACCESS_TOKEN",
    "WORK_KEY",
    "GITHUB_TOKEN",
    "GITHUB_PAT",
    "NPM_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "DATABASE_URL",
    "DB_PASS",
    "PGPASSWORD",
    "SLACK_WEBHOOK_SECRET",
    "MY_PRIVATE_KEY",
];

/// Files of the workspace that hold secrets, by their names alone.
const SECRET_FILES: [&str; 30] = [
    ".env",
    ".env.local",
    ".env-prod",
    ".env_x",
    "sub/.env",
    "server.pem",
    "server.key",
    "id_rsa",
    "id_ed25519",
    "credentials",
    "credentials.json",
    "client_secret.json",
    "secrets.yml",
    "secrets.json",
    "secrets.toml",
    "terraform.tfvars",
    "AuthKey.p8",
    "cert.p12",
    "oauth_creds.json",
    "application_default_credentials.json",
    "my_service_account.json",
    "shadow",
    "sudoers",
    ".pgpass",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".charla/keys.json",
];

/// Programs of the workspace named like ones that a command line trusts.
const PROGRAMS: [&str; 39] = [
    "env",
    "sh",
    "bash",
    "nohup",
    "xargs",
    "stdbuf",
    "time",
    "nice",
    "command",
    "eval",
    "exec",
    "builtin",
    "find",
    "cat",
    "ls",
    "evil.sh",
    "evil",
    "gradlew",
    "3/ls",
    "3/cat",
    "3/git",
    "3/touch",
    "sub/timeout",
    "sub/env",
    "bin/git",
    "bin/ls",
    "tc/bin/cargo",
    "tc/bin/rustc",
    "hook.sh",
    "filter.sh",
    "textconv.sh",
    "external.sh",
    "pager.sh",
    "gpg.sh",
    "fsmonitor.sh",
    "vendor/fsmonitor.sh",
    "vendor/x/ls",
    "node_modules/.bin/tsc",
    "git-evil",
];

/// A fresh copy of the world.
pub struct World {
    folder: tempfile::TempDir,
    root: PathBuf,
}

impl World {
    /// A workspace as people have them.
    pub fn everyday() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let world = Self { folder, root };
        copy(template(), &world.work());
        for folder in ["home/.charla/policies", "outside/inner"] {
            std::fs::create_dir_all(world.root.join(folder)).unwrap();
        }
        world.link_tool_chain();
        world
    }

    /// The same with secrets, traps and a neighbour.
    pub fn hostile() -> Self {
        let world = Self::everyday();
        world.put_secrets();
        world.put_programs();
        world.put_links();
        world.put_repositories();
        world.put_settings();
        world
    }

    /// Gives all of it to a user.
    pub fn give_to(&self, user: u32) {
        let owner = format!("{user}:{user}");
        let given = Command::new("chown").args(["-hR", &owner]).arg(self.folder.path()).status().unwrap();
        assert!(given.success());
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Everything but what Charla itself keeps.
    pub fn snapshot(&self) -> Snapshot {
        let own = self.home().join(".charla");
        let kept = ["keys.json", "settings.json", "policies", "cache"].map(|name| own.join(name));
        let mut folders = vec![self.work(), self.outside(), self.home()];
        folders.extend(kept.clone());
        Snapshot::of(&folders, |path| {
            path.starts_with(&own) && !kept.iter().any(|kept| path.starts_with(kept))
        })
    }

    /// The environment that the binary is started in.
    pub fn environment(&self, listeners: &Listeners) -> Vec<(String, String)> {
        let home = self.home().display().to_string();
        let own = |name: &str, value: String| (name.to_owned(), value);
        let mut variables = vec![
            own("PATH", format!("{home}/.cargo/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")),
            own("HOME", home),
            own("LANG", "C.UTF-8".to_owned()),
            own("USER", "somebody".to_owned()),
            own("CHARLA_OFFLINE", "1".to_owned()),
            own("SSH_AUTH_SOCK", listeners.stream().display().to_string()),
            own("DOCKER_HOST", format!("unix://{}", listeners.stream().display())),
            own("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", listeners.stream().display())),
        ];
        for name in ["OLLAMA_HOST", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL"] {
            variables.push(own(name, "http://127.0.0.1:9".to_owned()));
        }
        variables.extend(SECRET_VARIABLES.map(|name| own(name, secret_value(name))));
        variables
    }

    /// Where people have a tool chain, so that `cargo --version` can work.
    fn link_tool_chain(&self) {
        let Some(real) = std::env::var_os("HOME").map(PathBuf::from) else { return };
        std::fs::create_dir_all(self.home().join(".cargo")).unwrap();
        for name in [".cargo/bin", ".rustup"] {
            if real.join(name).is_dir() {
                symlink(real.join(name), self.home().join(name)).unwrap();
            }
        }
    }

    fn put_secrets(&self) {
        for name in SECRET_FILES {
            self.write(&format!("work/{name}"), &format!("{CANARY}file-{name}\n"));
        }
        for name in [
            ".ssh/id_rsa",
            ".aws/credentials",
            ".gnupg/secring",
            ".netrc",
            ".config/gh/hosts.yml",
            "private.txt",
        ] {
            self.write(&format!("home/{name}"), &format!("{CANARY}home-{name}\n"));
        }
        for name in ["secret.txt", "inner/secret.txt", "passwd", "etc/passwd"] {
            self.write(&format!("outside/{name}"), &format!("{CANARY}outside-{name}\n"));
        }
        self.write("neighbour.txt", &format!("{CANARY}neighbour\n"));
        self.write("outside/victim.txt", "as it was\n");
        self.write("outside/inner/keep.txt", "as it was\n");
        std::fs::create_dir(self.outside().join("emptydir")).unwrap();
        self.write("home/.bashrc", "# as it was\n");
        self.write("home/.charla/keys.json", &format!("{{\"mistral\": \"{CANARY}kept-key\"}}\n"));
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(self.home().join(".charla/keys.json"), private).unwrap();
    }

    fn put_programs(&self) {
        for name in PROGRAMS {
            self.put_program(&format!("work/{name}"));
        }
        for name in ["env", "nice", "ls"] {
            self.put_program(&format!("outside/bin/{name}"));
        }
        let ran = |name: &str| format!("{}/ran-{name}", self.outside().display());
        let files = [
            ("evil.sed", format!("1e touch {}\n", ran("sed"))),
            ("evil.awk", format!("BEGIN {{ system(\"touch {}\") }}\n", ran("awk"))),
            ("evil.mk", format!("all:\n\ttouch {}\n", ran("make"))),
            ("Makefile", format!("all:\n\ttouch {}\n", ran("makefile"))),
            ("evil.py", format!("open('{}', 'w')\n", ran("python"))),
            ("pip.py", format!("open('{}', 'w')\n", ran("pip"))),
            ("json.py", format!("open('{}', 'w')\n", ran("json"))),
            ("shade/argparse.py", format!("open('{}', 'w')\n", ran("argparse"))),
            ("pkg/json/__init__.py", format!("open('{}', 'w')\n", ran("package"))),
            ("options.txt", format!("--plugin ./evil.so -o {}\n", ran("options"))),
            ("entity.xml", "<!DOCTYPE a [<!ENTITY e SYSTEM \".env\">]><a>&e;</a>\n".to_owned()),
            ("sitecustomize.py", format!("open('{}', 'w')\n", ran("sitecustomize"))),
            ("evil.pm", format!("package evil; open F, '>{}'; 1;\n", ran("perl"))),
            ("evil.js", format!("require('fs').writeFileSync('{}', '')\n", ran("node"))),
            ("evil.sql", format!(".shell touch {}\n", ran("sqlite"))),
            ("evil.vim", format!("silent !touch {}\nqa!\n", ran("vim"))),
            ("evil.gdb", format!("shell touch {}\n", ran("gdb"))),
            ("package.json", format!("{{\"scripts\": {{\"test\": \"touch {}\"}}}}\n", ran("npm"))),
            ("pathfile", "./3\n".to_owned()),
            ("words.txt", format!("{}\n", ran("words"))),
            ("names0", format!("{}\0", self.outside().join("secret.txt").display())),
            ("rust-toolchain.toml", format!("[toolchain]\npath = \"{}/tc\"\n", self.work().display())),
            ("f", "hi\n".to_owned()),
            ("AGENTS.md", "Be kind.\n".to_owned()),
            (".github/workflows/ci.yml", "on: push\n".to_owned()),
        ];
        for (name, text) in files {
            self.write(&format!("work/{name}"), &text);
        }
    }

    /// A program that leaves a mark outside and says so.
    fn put_program(&self, name: &str) {
        let flat = name.replace('/', "-");
        let mark = self.outside().join(format!("ran-{flat}"));
        // Its text is no secret, so it does not hold the word that it says.
        let said = RAN_CANARY.replacen("an", "a''n", 1);
        self.write(name, &format!("#!/bin/sh\necho {said}-{flat} >&2\n: > {}\n", mark.display()));
        std::fs::set_permissions(self.root.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn put_links(&self) {
        for folder in ["sub", "suba", "subb", "emptydir"] {
            std::fs::create_dir_all(self.work().join(folder)).unwrap();
        }
        self.write("work/subb/w", "x\n");
        let (outside, work) = (self.outside(), self.work());
        let links = [
            (outside.clone(), "sub/link"),
            (outside.join("etc"), "sub/etc"),
            (outside.join("inner"), "sub/dl"),
            (outside.join("secret.txt"), "sub/w"),
            (outside.join("secret.txt"), "suba/w"),
            (outside.clone(), "outlink"),
            (outside.join("new-by-link"), "dangling"),
            (self.home(), "homelink"),
            (PathBuf::from(".."), "sub/in"),
            (PathBuf::from(".env"), "plain.txt"),
            (PathBuf::from(".git/hooks"), "hooklink"),
            (PathBuf::from(".git/config"), "configlink"),
            (PathBuf::from(".charla"), "chlink"),
            (PathBuf::from("vendor/x/objects/deep"), "lnk"),
        ];
        for (target, name) in links {
            symlink(target, work.join(name)).unwrap();
        }
        for (secret, name) in
            [(".env", "twin.txt"), ("server.pem", "suba/twin.txt"), ("AGENTS.md", "suba/guide.txt")]
        {
            std::fs::hard_link(work.join(secret), work.join(name)).unwrap();
        }
    }

    /// Traps in the workspace's own repository and in two that came with it.
    fn put_repositories(&self) {
        let work = self.work().display().to_string();
        let trap = format!(
            "[core]\n\tfsmonitor = {work}/fsmonitor.sh\n\tpager = {work}/pager.sh\n\teditor = {work}/evil.sh\n\
             \tsshCommand = {work}/evil.sh\n\thooksPath = {work}/hooks\n\
             [diff]\n\texternal = {work}/external.sh\n\
             [diff \"evil\"]\n\ttextconv = {work}/textconv.sh\n\tcommand = {work}/external.sh\n\
             [filter \"evil\"]\n\tclean = {work}/filter.sh\n\tsmudge = {work}/filter.sh\n\tprocess = {work}/filter.sh\n\
             [gpg]\n\tprogram = {work}/gpg.sh\n[pager]\n\tlog = {work}/pager.sh\n\tstatus = {work}/pager.sh\n\
             [alias]\n\tst = !{work}/evil.sh\n[credential]\n\thelper = !{work}/evil.sh\n\
             [remote \"origin\"]\n\turl = https://somebody:{TOKEN_CANARY}@example.invalid/x.git\n\
             [include]\n\tpath = ../more.cfg\n"
        );
        let config = self.work().join(".git/config");
        let own = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, format!("{own}{trap}")).unwrap();
        self.write("work/.gitattributes", "*.txt diff=evil\n*.md filter=evil\n");
        self.write("work/more.cfg", "[user]\n\tname = somebody\n");
        self.write("home/.gitconfig", "[core]\n\thooksPath = global-hooks\n");
        self.put_program("work/global-hooks/pre-commit");
        self.put_program("work/hooks/pre-commit");
        self.put_program("work/hooks/post-index-change");

        for folder in ["x/objects/deep", "x/refs/heads", "nested/.git/objects", "nested/.git/refs/heads"] {
            std::fs::create_dir_all(self.work().join("vendor").join(folder)).unwrap();
        }
        let trap = format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {work}/vendor/fsmonitor.sh\n{trap}"
        );
        let bare = trap.replacen("[core]\n", &format!("[core]\n\tbare = false\n\tworktree = {work}\n"), 1);
        for (folder, config) in [("x", &bare), ("nested/.git", &trap)] {
            self.write(&format!("work/vendor/{folder}/HEAD"), "ref: refs/heads/main\n");
            self.write(&format!("work/vendor/{folder}/config"), config);
        }
        self.write("work/vendor/nested/a.txt", "a\n");
        self.write("work/vendor/x/hooks/update", "#!/bin/sh\n");
        self.write("home/.charla/cache/mcp/tools.json", &format!("[\"{CANARY}cache\"]\n"));
    }

    fn put_settings(&self) {
        let work = r#"{"baseUrl": "http://127.0.0.1:9/v1", "apiKey": {"env": "WORK_KEY"}}"#;
        self.write("home/.charla/settings.json", &format!("{{\"providers\": {{\"work\": {work}}}}}\n"));
    }

    /// Makes the repository an ordinary one, which keeps secrets: committed, stashed, staged and changed since.
    pub fn track_secrets(&self) {
        std::fs::copy(template().join(".git/config"), self.work().join(".git/config")).unwrap();
        std::fs::remove_file(self.work().join(".gitattributes")).unwrap();
        let git = |arguments: &[&str]| git(&self.work(), arguments);
        // What is in the other branch is kept from nobody but by a rule.
        git(&["branch", "-qD", "leak"]);
        std::fs::remove_dir_all(self.work().join(".git/logs")).unwrap();
        for name in [".kube/config", ".docker/config.json"] {
            self.write(&format!("work/{name}"), &format!("{CANARY}file-{name}\n"));
        }
        git(&["add", "-f", ".env", "server.pem", "sub/.env", "id_rsa", "AuthKey.p8", ".kube", ".docker"]);
        git(&["commit", "-qm", "Keep secrets"]);
        git(&["branch", "leak"]);
        self.join_branches(git);
        self.write("work/.env", &format!("{CANARY}stashed\n"));
        git(&["stash", "-q"]);
        self.write("work/.env", &format!("{CANARY}staged-again\n"));
        git(&["add", ".env"]);
        self.write("work/.env", &format!("{CANARY}changed since, and longer\n"));
        self.write("work/notes.txt", "a line that nobody hides\n");
        self.name_secrets(git);
    }

    /// A merge that renames a secret file, and leaves out what is secret in it.
    fn join_branches(&self, git: impl Fn(&[&str])) {
        let common: String = (0..20).map(|number| format!("PLAIN_{number}=x\n")).collect();
        git(&["checkout", "-qb", "joined"]);
        self.write("work/prod.env", &format!("{common}KEY={CANARY}merged\n"));
        git(&["add", "-f", "prod.env"]);
        git(&["commit", "-qm", "Keep another"]);
        git(&["checkout", "-qb", "side", "HEAD~1"]);
        git(&["commit", "-q", "--allow-empty", "-m", "Go another way"]);
        git(&["checkout", "-q", "joined"]);
        git(&["merge", "-q", "-s", "ours", "--no-commit", "side"]);
        git(&["mv", "prod.env", "settings.txt"]);
        self.write("work/settings.txt", &format!("{common}KEY=moved\n"));
        git(&["add", "settings.txt"]);
        git(&["commit", "-qm", "Join"]);
        git(&["checkout", "-q", "main"]);
        for name in ["hooks/.env", "hooks/deep/server.pem", "info/.env", "refs/x/.env"] {
            self.write(&format!("work/.git/{name}"), &format!("{CANARY}open-{name}\n"));
        }
    }

    /// References that point at contents and trees, a second repository, and a way to the objects under another name.
    fn name_secrets(&self, git: impl Fn(&[&str])) {
        for name in
            ["unheard-of", "backup/patch", "lfs/objects/aa/bb", "logs/note", "worktrees/w/COMMIT_EDITMSG"]
        {
            self.write(&format!("work/.git/{name}"), &format!("{CANARY}kept-{name}\n"));
        }
        self.write("work/.svn/pristine/aa/aa.svn-base", &format!("{CANARY}pristine\n"));
        git(&["tag", "blobtag", "HEAD:.env"]);
        git(&["tag", "treetag", "HEAD:.kube"]);
        git(&["tag", "-am", "Marked", "markedblob", "HEAD:server.pem"]);
        git(&["tag", "-am", "Marked", "markedtree", "HEAD:.kube"]);
        git(&["tag", "-am", "Marked", "marked", "HEAD"]);
        git(&["update-ref", "refs/odd/blob", "HEAD:.env"]);
        git(&["symbolic-ref", "refs/heads/led", "refs/tags/blobtag"]);
        git(&["clone", "-q", "--bare", ".", "spare.git"]);
        symlink(".git/objects", self.work().join("objlink")).unwrap();
    }

    /// Adds a rule of the user that denies a folder, one beside the workspace, and something in both.
    pub fn deny_a_folder(&self) {
        self.write("work/secrets/a.txt", &format!("{CANARY}denied\n"));
        symlink("secrets", self.work().join("open")).unwrap();
        self.write("outside/vault/b.txt", &format!("{CANARY}denied\n"));
        let vault = self.outside().join("vault");
        let rule = format!(
            "[[rule]]\ntool = \"*\"\npath = [\"secrets/**\", \"{}\"]\ndecision = \"deny\"\n",
            vault.display()
        );
        self.write("home/.charla/policies/secrets.toml", &rule);
    }

    /// Keeps the folder, to be looked at by a person.
    #[expect(dead_code, reason = "for whoever mends a failing line")]
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

/// A secret as it stands in such a variable.
fn secret_value(name: &str) -> String {
    let secret = format!("{CANARY}variable-{name}");
    if name.ends_with("_URL") { format!("postgres://somebody:{secret}@db.invalid/app") } else { secret }
}

/// A small project with three commits, made once.
fn template() -> &'static Path {
    static TEMPLATE: OnceLock<tempfile::TempDir> = OnceLock::new();
    TEMPLATE.get_or_init(make_template).path()
}

fn make_template() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let git = |arguments: &[&str]| git(folder.path(), arguments);
    git(&["init", "-q", "--template=", "-b", "main", "."]);
    std::fs::create_dir(folder.path().join(".git/hooks")).unwrap();
    write("README.md", "# Shapes\n\nA small project.\nTODO: write more.\n");
    write("Cargo.toml", "[package]\nname = \"shapes\"\nversion = \"0.1.0\"\n");
    write("src/main.rs", "fn main() {\n    println!(\"{}\", shapes::area(2.0, 3.0));\n}\n");
    write(
        "src/lib.rs",
        "//! Shapes.\n\n/// TODO: circles.\npub fn area(a: f64, b: f64) -> f64 {\n    a * b\n}\n",
    );
    git(&["add", "."]);
    git(&["commit", "-qm", "Begin"]);
    write("data.csv", "name,count,colour\nanna,3,red\nbert,11,blue\ncarl,7,red\ndora,5,green\n");
    write("names.txt", "carl\nanna\nbert\nanna\ndora\ncarl\n");
    write("notes.txt", "first line\nsecond line has an error\nthird line\nfourth LINE\n");
    write("tests/area.rs", "#[test]\nfn it_is_six() {\n    assert_eq!(shapes::area(2.0, 3.0), 6.0);\n}\n");
    write("docs/guide.md", "# Guide\n\n- one\n- two\n- three\n");
    write("pyproject.toml", "[project]\nname = \"shapes\"\nversion = \"0.2.0\"\n");
    write(
        "app/core.py",
        "import os\n\n\ndef area(a, b):\n    return a * b * int(os.environ.get(\"SCALE\", 1))\n",
    );
    write("go.mod", "module example.com/shapes\n\ngo 1.22\n");
    write("cmd/serve.go", "package main\n\nfunc main() {\n}\n");
    write("web/index.ts", "import { area } from './area';\n\nexport const base = process.env.BASE;\n");
    write("package.json", "{\"name\": \"shapes\", \"scripts\": {\"test\": \"true\"}, \"list\": [3, 1, 2]}\n");
    git(&["add", "."]);
    git(&["commit", "-qm", "Add data and a test"]);
    git(&["tag", "v0.1.0"]);
    write("build.log", "compiling\nwarning: unused\nerror: no such thing\ndone\n");
    git(&["add", "."]);
    git(&["commit", "-qm", "Keep the log"]);
    git(&["branch", "other", "HEAD~1"]);
    // Somebody once kept secrets in a branch.
    git(&["checkout", "-qb", "leak"]);
    for name in [".env", "server.pem", "secrets/a.txt"] {
        write(name, &format!("{CANARY}history-{name}\n"));
    }
    git(&["add", "."]);
    git(&["commit", "-qm", "Leak"]);
    git(&["checkout", "-q", "main"]);
    write("notes.txt", "first line\nsecond line has an error\nthird line changed\nfourth LINE\n");
    write("untracked.txt", "new\n");
    write("a.txt", "1\n2\n3\n");
    write("b.txt", "1\n2\n4\n");
    folder
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@example.com"]).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
