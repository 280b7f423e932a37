//! The folders a sandbox speaks of. The lists are told in docs/security.md.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use charla_proto::{Consent, HOME_SECRETS};

/// What becomes of a file or folder of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It is read and, in editing, written.
    Plain,
    /// Its content is kept from reading and editing children.
    Hidden {
        /// It is protected, too: an editing child may not make it.
        guarded: bool,
        /// A rule denies it: it is kept from every child but those that a person agreed to without a confinement, and those that
        /// a rule names so.
        denied: bool,
    },
    /// It is read, and neither written nor made by editing children. `closed`: nothing in it is looked at any further.
    Protected {
        /// Nothing in it needs hiding.
        closed: bool,
    },
}

/// Where a session works.
#[derive(Clone)]
pub struct Places {
    /// The folders of the workspace; absolute, links resolved.
    pub roots: Vec<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The folder for what need not last. Children that nobody was asked about get one of their own in it.
    pub temporary: PathBuf,
    /// The folders of `PATH`.
    pub programs: Vec<PathBuf>,
    /// Folders beside the workspace that every child may read, but for the secrets in them.
    pub readable: Vec<PathBuf>,
    /// Where version control keeps what belongs to the workspace, if that is outside of it: every child may read it, and
    /// those that a person agreed to may write it.
    pub history: Vec<PathBuf>,
    /// Files and folders that only unconfined children may read, beside [`HOME_SECRETS`].
    pub secrets: Vec<PathBuf>,
    /// Where something is that rules deny, in the workspace and elsewhere: a file, or a folder with such files.
    pub denied: Vec<PathBuf>,
    /// What becomes of a path in the workspace, and in those places.
    pub treatment: Arc<dyn Fn(&Path) -> Treatment + Send + Sync>,
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").field("roots", &self.roots).field("home", &self.home).finish_non_exhaustive()
    }
}

/// What one child may touch beyond its confinement.
#[derive(Clone, Debug, Default)]
pub struct Extra {
    /// It names these to be read.
    pub read: Vec<PathBuf>,
    /// It names these to be written.
    pub write: Vec<PathBuf>,
    /// Who lets it run. Where a person was shown what it names and agreed to it, it may read and write that even where it is
    /// secret, and change what runs later; what only a rule allows may not. What nothing but a broad rule allows gets at no
    /// secret of the workspace, and writes none of its protected places.
    pub consent: Consent,
    /// It may read what git keeps in these folders, because nothing but git reads files in it. For a child that nobody was
    /// asked about; those that a person agreed to may anyway.
    pub git: Vec<PathBuf>,
    /// It is a program that a person agreed to once, for whatever it will do: where the kernel can, it changes modes, owners and
    /// times of nothing that it may not write.
    pub lasting: bool,
    /// It searches through folders: where the kernel can, it finds what git keeps empty instead of closed, and does not
    /// complain about each file.
    pub searches: bool,
}

/// What stays out of reach whoever agrees: everything but the workspace, the system's programs and a private temporary folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// What was agreed to may use the network; else there is no socket of any family.
    pub network: bool,
}

/// System folders that every child may read, and run programs from.
pub const SYSTEM_FOLDERS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/run/current-system",
    "/gnu/store",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
];

/// System files and folders that every child may read.
pub(crate) const SYSTEM_FILES: &[&str] = &[
    "/etc",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/sys/fs",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/sys/kernel/mm/transparent_hugepage",
    "/var/lib/dpkg",
    "/var/lib/rpm",
    "/var/lib/pacman/local",
    "/lib/apk/db",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Devices that every child may write to: nothing is kept there.
pub(crate) const SINKS: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// What is secret in the system's folders.
pub(crate) const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/ipsec.secrets",
    "/etc/krb5.keytab",
    "/etc/NetworkManager",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/mysql",
];

/// Tool chains and settings below the home that every child may read and run, so that everyday commands work.
pub const TOOL_CHAINS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/registry",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno/bin",
    ".elan",
    ".fnm",
    ".gem/ruby",
    ".ghcup",
    ".gitconfig",
    ".jbang",
    ".juliaup",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".nix-profile",
    ".npm-global",
    ".nvm",
    ".opam",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".volta",
    "go/bin",
    "go/pkg/mod",
    "miniconda3",
];

/// What builds write below the home: children that a person agreed to may.
pub const BUILD_CACHES: &[&str] = &[
    ".asdf",
    ".bun",
    ".bundle",
    ".cache",
    ".cargo",
    ".composer",
    ".conan2",
    ".deno",
    ".dotnet",
    ".gem",
    ".gradle",
    ".ivy2",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".local/state",
    ".m2",
    ".mix",
    ".npm",
    ".npm-global",
    ".nuget",
    ".nvm",
    ".opam",
    ".pnpm-store",
    ".pub-cache",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sbt",
    ".sdkman",
    ".stack",
    ".volta",
    ".yarn",
    "Library/Caches",
    "go",
];

/// What of that runs later: programs on `PATH`, tool chains, and files that shells and build tools read when they start. Children
/// write it only where a person was shown their command.
pub const RUNS_LATER: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".bundle/config",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/env.fish",
    ".cargo/env.nu",
    ".composer/vendor",
    ".conan2/extensions",
    ".conan2/global.conf",
    ".deno/bin",
    ".dotnet/dotnet",
    ".dotnet/host",
    ".dotnet/sdk",
    ".dotnet/shared",
    ".dotnet/tools",
    ".gem/ruby",
    ".gradle/init.d",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".mix/archives",
    ".mix/escripts",
    ".npm-global",
    ".nvm",
    ".opam",
    ".pub-cache/bin",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sbt/0.13",
    ".sbt/1.0",
    ".sdkman",
    ".stack/config.yaml",
    ".stack/programs",
    ".volta",
    ".yarn/bin",
    "go/bin",
];

/// What is a cache all the same, in a folder that holds programs.
pub(crate) const CACHES_BESIDE: &[&str] = &[".local/share/pnpm/store", ".local/share/uv/cache"];

/// Devices that children a person agreed to may use, beside the harmless ones.
pub(crate) const ASKED_DEVICES: &[&str] =
    &["/dev/random", "/dev/urandom", "/dev/shm", "/dev/pts", "/dev/ptmx", "/dev/dri", "/dev/kvm", "/dev/kfd"];

/// Temporary folders that everybody shares.
pub(crate) const SHARED_TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// What lies beside the programs of a tool chain.
#[cfg(target_os = "linux")]
const CHAIN_LAYOUT: &[&str] = &["lib", "lib64", "libexec", "versions", "conda-meta"];

/// True for a folder of root's or the user's that nobody else can write.
#[cfg(target_os = "linux")]
fn is_safe(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owners = [0, rustix::process::geteuid().as_raw()];
    folder.metadata().is_ok_and(|found| owners.contains(&found.uid()) && found.mode() & 0o022 == 0)
}

impl Places {
    /// Paths below the home; none without one.
    pub(crate) fn below_home(&self, names: &[&str]) -> Vec<PathBuf> {
        let home = self.home.iter();
        home.flat_map(|home| names.iter().map(|name| home.join(name))).collect()
    }

    /// The folders outside of the workspace that builds write.
    pub(crate) fn build_folders(&self) -> Vec<PathBuf> {
        let mut folders = self.below_home(BUILD_CACHES);
        folders.extend(SHARED_TEMPORARY.iter().map(PathBuf::from));
        folders.push(self.temporary.clone());
        folders
    }

    /// What of those folders runs later, under its own name and where that leads.
    #[cfg(target_os = "linux")]
    pub(crate) fn runs_later(&self) -> Vec<PathBuf> {
        let named = self.below_home(RUNS_LATER);
        let real = |path: &PathBuf| {
            let (folder, name) = (path.parent()?.canonicalize().ok()?, path.file_name()?);
            Some(path.canonicalize().unwrap_or_else(|_| folder.join(name)))
        };
        let real: Vec<PathBuf> = named.iter().filter_map(real).collect();
        named.into_iter().chain(real).collect()
    }

    /// Everything that only unconfined children may read.
    pub(crate) fn all_secrets(&self) -> Vec<PathBuf> {
        let mut all = self.below_home(HOME_SECRETS);
        all.extend(self.secrets.iter().cloned());
        all.extend(SYSTEM_SECRETS.iter().map(PathBuf::from));
        all
    }

    /// What is readable beside the workspace, links resolved. A folder that is or holds a part of the workspace is not among
    /// it, nor is one that lies in it: there, the workspace's own bounds hold. But what is secret in a home stays closed
    /// in a workspace that holds it, and is opened for the folder that lies in it.
    pub(crate) fn beside(&self) -> Vec<PathBuf> {
        let secrets = self.all_secrets();
        let is_open_in = |root: &PathBuf, folder: &Path| {
            let closes = |secret: &PathBuf| folder.starts_with(secret) && secret.starts_with(root);
            folder.starts_with(root) && !secrets.iter().any(closes)
        };
        let mut folders: Vec<PathBuf> =
            self.readable.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        folders.retain(|folder| {
            !self.roots.iter().any(|root| root.starts_with(folder) || is_open_in(root, folder))
        });
        folders
    }

    /// The folders of `PATH` from which programs are run: none in the workspace, and none that holds the home.
    pub(crate) fn program_folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.programs.iter().filter(|folder| {
            let in_workspace = self.roots.iter().any(|root| folder.starts_with(root));
            let holds = |path: &PathBuf| path.starts_with(folder);
            folder.is_absolute() && !in_workspace && !self.home.iter().any(holds)
        })
    }

    /// The tool chain outside of the home to which a folder of `PATH` belongs: `/data/conda` of `/data/conda/bin`. It has the
    /// layout of one, holds nothing that is secret in a home, is neither above the home nor the workspace, and nobody but
    /// root and the user can write it.
    #[cfg(target_os = "linux")]
    pub(crate) fn tool_chain(&self, folder: &Path) -> Option<PathBuf> {
        let folder = folder.canonicalize().ok()?;
        let name = folder.file_name()?;
        let chain =
            folder.parent().filter(|_| ["bin", "sbin", "shims"].iter().any(|known| name == *known))?;
        let has = |names: &[&str]| names.iter().any(|name| chain.join(name).symlink_metadata().is_ok());
        let apart = |path: &PathBuf| !path.starts_with(chain) && !chain.starts_with(path);
        let is_apart = self.home.iter().chain(&self.roots).chain(&self.secrets).all(apart);
        (is_apart && has(CHAIN_LAYOUT) && !has(HOME_SECRETS) && is_safe(chain)).then(|| chain.to_owned())
    }
}
