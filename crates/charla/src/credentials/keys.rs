//! API keys: where they come from, and the file that keeps them.
//!
//! Keys are looked for in this order: the key source in the settings, the provider's environment
//! variables, the file of kept keys. A key is a [`SecretString`] from the moment it is read; no message
//! ever holds one.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::helper;
use crate::hint::Hint;
use crate::own_programs;
use crate::private_file::{self, Turn};
use crate::settings::KeySource;

/// How long a key command may take.
const COMMAND_LIMIT: Duration = Duration::from_secs(10);

/// A key and where it was found.
#[derive(Clone, Debug)]
pub struct FoundKey {
    /// The key.
    pub key: SecretString,
    /// Where it was, in words.
    pub place: KeyPlace,
}

/// Where a key was found, or would be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// An environment variable.
    Variable(String),
    /// The command of the settings.
    Command,
    /// A file.
    File(PathBuf),
}

impl fmt::Display for KeyPlace {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            KeyPlace::Variable(name) => write!(f, "${name}"),
            KeyPlace::Command => f.write_str("the key command of the settings"),
            KeyPlace::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Looks for keys in all their places.
pub struct Keys<'a> {
    environment: &'a Environment,
}

impl<'a> Keys<'a> {
    /// Keys of these surroundings.
    pub fn new(environment: &'a Environment) -> Self {
        Self { environment }
    }

    /// The key of a provider; `None` when there is none. A source that is named but fails is a failure:
    /// falling through to another key would hide it.
    pub fn find(
        &self,
        provider: &str,
        source: Option<&KeySource>,
        variables: &[&str],
    ) -> Result<Option<FoundKey>, Failure> {
        match source {
            Some(KeySource::Env(name)) => {
                return self.variable(name).map(Some).ok_or_else(|| {
                    Failure::auth(format!("no key for {provider}: ${name} is not set"))
                        .with_hint(format!("export {name}=…, or change `providers.{provider}.apiKey`"))
                });
            }
            Some(KeySource::Command(command)) => {
                return run_command(provider, command, self.environment).map(Some);
            }
            Some(KeySource::File(path)) => {
                let base = self.environment.charla_home().unwrap_or_default();
                return read_key_file(provider, &self.environment.expand(path, &base)).map(Some);
            }
            None => {}
        }
        match variables.iter().find_map(|name| self.variable(name)) {
            Some(found) => Ok(Some(found)),
            None => self.kept(provider),
        }
    }

    /// True when [`Keys::find`] would have something to look at, without running a command.
    pub(crate) fn is_configured(
        &self,
        provider: &str,
        source: Option<&KeySource>,
        variables: &[&str],
    ) -> bool {
        source.is_some()
            || self.environment.first(variables).is_some()
            || matches!(self.kept(provider), Ok(Some(_)) | Err(_))
    }

    fn variable(&self, name: &str) -> Option<FoundKey> {
        let key = self.environment.variable(name)?;
        Some(FoundKey { key: key.to_owned().into(), place: KeyPlace::Variable(name.to_owned()) })
    }

    fn kept(&self, provider: &str) -> Result<Option<FoundKey>, Failure> {
        let Some(ring) = self.ring() else { return Ok(None) };
        let found = ring.read()?.remove(provider);
        Ok(found.map(|key| FoundKey { key: key.into(), place: KeyPlace::File(ring.path) }))
    }

    /// The file of kept keys.
    pub fn ring(&self) -> Option<KeyRing> {
        Some(KeyRing { path: self.environment.charla_home()?.join("keys.json") })
    }
}

/// The file of kept keys: a JSON object from provider to key, readable by its owner only.
pub struct KeyRing {
    /// Where it is.
    pub path: PathBuf,
}

impl KeyRing {
    fn read(&self) -> Result<BTreeMap<String, String>, Failure> {
        let text = match read_private(&self.path)? {
            Some(text) => text,
            None => return Ok(BTreeMap::new()),
        };
        // The parser's own message could quote a key, so only its place is told.
        serde_json::from_str(&text).map_err(|error| {
            let (path, line, column) = (self.path.display(), error.line(), error.column());
            Failure::config(format!("{path}:{line}:{column}: not an object of provider and key"))
                .with_hint(Hint::KeepKeysAgain(self.path.clone()))
        })
    }

    /// For which providers a key is kept.
    pub fn providers(&self) -> Result<Vec<String>, Failure> {
        Ok(self.read()?.into_keys().collect())
    }

    /// A key that is kept.
    pub fn get(&self, provider: &str) -> Result<Option<SecretString>, Failure> {
        Ok(self.read()?.remove(provider).map(SecretString::from))
    }

    /// Keeps a key.
    pub fn set(&self, provider: &str, key: &SecretString) -> Result<(), Failure> {
        let _turn = self.turn()?;
        let mut keys = self.read()?;
        keys.insert(provider.to_owned(), key.expose_secret().to_owned());
        self.write(&keys)
    }

    /// Forgets a key; false when there was none.
    pub fn remove(&self, provider: &str) -> Result<bool, Failure> {
        let _turn = self.turn()?;
        let mut keys = self.read()?;
        let known = keys.remove(provider).is_some();
        if known {
            self.write(&keys)?;
        }
        Ok(known)
    }

    fn turn(&self) -> Result<Turn, Failure> {
        private_file::own_turn(&self.path)
            .map_err(|error| Failure::system(format!("cannot change {}: {error}", self.path.display())))
    }

    fn write(&self, keys: &BTreeMap<String, String>) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(keys).map_err(std::io::Error::from);
        text.and_then(|text| private_file::write(&self.path, &format!("{text}\n")))
            .map_err(|error| Failure::system(format!("cannot write {}: {error}", self.path.display())))
    }
}

/// Reads a file that nobody else may read; `None` when there is none.
fn read_private(path: &Path) -> Result<Option<String>, Failure> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(Failure::config(format!("cannot read {}: {error}", path.display()))),
    };
    refuse_if_others_read(path, &file)?;
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) => Ok(Some(text)),
        Err(error) => Err(Failure::config(format!("cannot read {}: {error}", path.display()))),
    }
}

#[cfg(unix)]
fn refuse_if_others_read(path: &Path, file: &std::fs::File) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().map(|facts| facts.permissions().mode() & 0o777).unwrap_or(0o777);
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::config(format!("{path} holds keys but others can read it (mode {mode:03o})"))
        .with_hint(format!("chmod 600 '{path}'")))
}

#[cfg(not(unix))]
fn refuse_if_others_read(_: &Path, _: &std::fs::File) -> Result<(), Failure> {
    Ok(())
}

fn read_key_file(provider: &str, path: &Path) -> Result<FoundKey, Failure> {
    let no_key = |reason: &str| {
        Failure::auth(format!("no key for {provider}: {} {reason}", path.display()))
            .with_hint(format!("`providers.{provider}.apiKey` names this file"))
    };
    let text = read_private(path)?.ok_or_else(|| no_key("does not exist"))?;
    match text.trim() {
        "" => Err(no_key("is empty")),
        key => Ok(FoundKey { key: key.to_owned().into(), place: KeyPlace::File(path.to_owned()) }),
    }
}

/// Runs a key command. It gets no input and its own error output is quoted only by its first line.
fn run_command(provider: &str, command: &str, environment: &Environment) -> Result<FoundKey, Failure> {
    let fail = |reason: String| {
        Failure::auth(format!("no key for {provider}: the key command {reason}"))
            .with_hint(format!("run by hand what `providers.{provider}.apiKey.command` says"))
    };
    // Not in the workspace: a relative name in the command must not mean a file that came with it.
    let folder = environment.home.as_deref().filter(|home| home.is_dir()).unwrap_or(Path::new("/"));
    let mut child = Command::new("/bin/sh")
        .args(["-c", command])
        .env_clear()
        .envs(helper::key_command(environment))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| fail(format!("cannot be started: {error}")))?;
    let out = own_programs::gather(child.stdout.take());
    let err = own_programs::gather(child.stderr.take());
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < COMMAND_LIMIT => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(fail(format!("took longer than {} seconds", COMMAND_LIMIT.as_secs())));
            }
            Err(error) => return Err(fail(format!("cannot be waited for: {error}"))),
        }
    };
    if !status.success() {
        let said = own_programs::received(&err);
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(fail(format!("failed ({status}): {}", first.trim())));
    }
    match own_programs::received(&out).trim() {
        "" => Err(fail("printed nothing".into())),
        key if key.contains(char::is_whitespace) => Err(fail("printed more than one word".into())),
        key => Ok(FoundKey { key: key.to_owned().into(), place: KeyPlace::Command }),
    }
}

#[cfg(test)]
mod tests;
