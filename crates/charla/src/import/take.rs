//! Taking what was found, where nothing of ours is in its place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use charla_providers::catalog;
use secrecy::SecretString;
use serde_json::Value;

use super::story::Conversation;
use super::{Entry, Finding, ImportReport, ImportRequest};
use crate::Charla;
use crate::bounded;
use crate::credentials::{KeyRing, Keys};
use crate::custom_command::{CustomCommand, name_of_users};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::mcp::{self, Scope};
use crate::notices::Notice;
use crate::private_file;
use crate::session::Arrival;
use crate::settings::{self, Settings};
use crate::trust::COMMANDS;

const THERE: &str = "you have it already";

/// Takes findings one by one.
pub(super) struct Taker<'a> {
    request: &'a ImportRequest,
    environment: &'a Environment,
    folder: PathBuf,
    /// The servers that are there, or were taken.
    servers: BTreeSet<String>,
    ring: KeyRing,
    /// What holds beside what is taken.
    settings: Settings,
    /// Settings and keys that were taken.
    taken: BTreeSet<String>,
    pub(super) report: ImportReport,
}

impl<'a> Taker<'a> {
    pub(super) fn new(request: &'a ImportRequest, environment: &'a Environment) -> Result<Self, Failure> {
        let nowhere = || Failure::config("there is no home directory to keep anything in");
        let folder = environment.charla_home().ok_or_else(nowhere)?;
        let ring = Keys::new(environment).ring().ok_or_else(nowhere)?;
        let settings = settings::load(environment, Vec::new())?.settings;
        let servers = settings.mcp_servers.keys().cloned().collect();
        let (taken, report) = (BTreeSet::new(), ImportReport::default());
        Ok(Self { request, environment, folder, servers, ring, settings, taken, report })
    }

    /// Takes a finding, or says why not. An error only where ours cannot be read or written.
    pub(super) fn take(&mut self, program: &'static str, finding: Finding) -> Result<(), Failure> {
        let plain = |done: Result<String, String>| done.map_err(Notice::from);
        let is_guard = finding.is_guard();
        let (what, done) = match finding {
            Finding::Left { what, why } => (what, Err(why.into())),
            Finding::Guard { key, instead } => (format!("setting {key}"), Err(instead.into())),
            Finding::Advised { what, why } => (what, Err(why)),
            Finding::Server { name, entry, before } => {
                (format!("MCP server {name}"), plain(self.server(&name, &entry, before.as_ref())))
            }
            Finding::Secret { server, variable, .. } if self.has_secret(&server, &variable) => return Ok(()),
            Finding::Secret { server, field, variable } => {
                let why = format!("it looks like a secret: set the variable {variable}");
                let what = format!("the value of {field} for the MCP server {server}");
                (what, Err(Notice::with_hint(why, Hint::TakeKeys)))
            }
            Finding::Instructions { reference } => {
                (format!("instructions in {reference}"), plain(self.instructions(&reference)?))
            }
            Finding::Command { name, text } => {
                (format!("command {name}"), plain(self.command(&name, &text)?))
            }
            Finding::Setting { what, key, value, provider } => {
                (what, plain(self.setting(key, &value, provider.as_deref())?))
            }
            Finding::Key { provider, key } => (format!("key for {provider}"), self.key(&provider, key)?),
        };
        let entry = |about| Entry { program, what: charla_proto::text::one_line(&what), about };
        match done {
            Ok(place) => self.report.taken.push(entry(place.into())),
            Err(Notice { text, hint }) => {
                let left = entry(Notice { text: charla_proto::text::one_line(&text), hint });
                if is_guard {
                    self.report.guards.push(left.clone());
                }
                self.report.left.push(left);
            }
        }
        Ok(())
    }

    /// Takes a conversation in, where it is not there already.
    pub(super) async fn conversation(&mut self, charla: &Charla, found: Conversation) -> Result<(), Failure> {
        let Conversation { program, what, bundle } = found;
        let (program, title) = (program.name(), program.title());
        let id = bundle.session()?.to_owned();
        let sessions = charla.sessions()?;
        let arrival = match self.request.dry_run {
            true if sessions.summary(&id).await.is_ok() => Err(THERE.to_owned()),
            true => Ok(()),
            false => match sessions.take_in(&bundle, None, title).await {
                Ok(Arrival::Kept) => Ok(()),
                Ok(Arrival::Known) => Err(THERE.to_owned()),
                Err(error) => Err(error.to_string()),
            },
        };
        match arrival {
            Ok(()) => {
                let about = Notice::with_hint("", Hint::ResumeSession(id));
                self.report.taken.push(Entry { program, what, about });
            }
            Err(why) => self.report.left.push(Entry { program, what, about: why.into() }),
        }
        Ok(())
    }

    /// Takes a server. One of the same name stays, unless it is this one as it was taken without its secrets.
    fn server(&mut self, name: &str, entry: &Value, before: Option<&Value>) -> Result<String, String> {
        let is_known = self.servers.contains(name);
        let lacks_secrets = before.is_some_and(|before| {
            before != entry && mcp::written(self.environment, Scope::User, name).as_ref() == Some(before)
        });
        if is_known && !lacks_secrets {
            return Err("you have a server of this name already".to_owned());
        }
        let place = match self.request.dry_run {
            true => mcp::check(self.environment, Scope::User, name, entry).map(|checked| {
                let missing = checked.ok().and_then(|config| mcp::missing_program(&config, self.environment));
                (self.folder.join("settings.json"), missing)
            }),
            false => {
                mcp::add(self.environment, Scope::User, name, entry).map(|added| (added.path, added.missing))
            }
        };
        let (place, missing) = place.map_err(|failure| failure.message)?;
        self.servers.insert(name.to_owned());
        let missing = missing.map(|program| format!("; there is no program `{program}` yet"));
        Ok(self.shown(&place) + &missing.unwrap_or_default())
    }

    /// True where there is a server of this name that does not look for the secret in this variable: it has it, or needs none.
    fn has_secret(&self, server: &str, variable: &str) -> bool {
        let refers = |written: Value| {
            let text = written.to_string();
            text.contains(&format!("${variable}\"")) || text.contains(&format!("${{{variable}}}"))
        };
        mcp::written(self.environment, Scope::User, server).is_some_and(|written| !refers(written))
    }

    /// An instruction file of ours brings theirs in, so that there stays one text to change.
    fn instructions(&self, reference: &str) -> Result<Result<String, String>, Failure> {
        let path = self.folder.join("CHARLA.md");
        let text = read(&path)?;
        let line = format!("@{reference}");
        if text.lines().any(|known| known.trim() == line) {
            return Ok(Err(THERE.to_owned()));
        }
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        self.write(&path, &format!("{text}{gap}{line}\n"))?;
        Ok(Ok(self.shown(&path)))
    }

    fn command(&self, name: &str, text: &str) -> Result<Result<String, String>, Failure> {
        let inner = PathBuf::from(format!("{name}.toml"));
        let Some(known) = name_of_users(&inner) else {
            return Ok(Err("its name is none that a command can have here".to_owned()));
        };
        if text.len() as u64 > bounded::MOST_BYTES {
            return Ok(Err("it is too long for a command".to_owned()));
        }
        if let Err(error) = CustomCommand::parse(&known, text) {
            return Ok(Err(error.to_string()));
        }
        let is_renamed = CustomCommand::name_of(&inner).as_ref() != Some(&known);
        let path = self.folder.join(COMMANDS).join(inner);
        if path.exists() {
            let is_same = read(&path)? == text;
            let why = if is_same { THERE } else { "you have another command of this name" };
            return Ok(Err(why.to_owned()));
        }
        self.write(&path, text)?;
        let shown = self.shown(&path);
        Ok(Ok(if is_renamed { format!("{shown}, which is /{known}") } else { shown }))
    }

    /// Takes a setting over that is not set here. A model that nothing opens would only make the next start fail.
    fn setting(
        &mut self,
        key: [&'static str; 2],
        value: &Value,
        provider: Option<&str>,
    ) -> Result<Result<String, String>, Failure> {
        let name = key.join(".");
        let is_set = match key {
            ["model", _] => self.settings.model.name.is_some(),
            _ => self.settings.tools.approval_mode.is_some(),
        };
        if is_set || self.taken.contains(&name) {
            return Ok(Err(format!("you have `{name}` already")));
        }
        if let Some(provider) = provider.filter(|provider| !self.is_open(provider)) {
            return Ok(Err(format!("there is no key for {provider}, which it would need")));
        }
        let path = match self.request.dry_run {
            true => self.folder.join("settings.json"),
            false => settings::keep(self.environment, &key, value)?,
        };
        self.taken.insert(name);
        Ok(Ok(self.shown(&path)))
    }

    /// There is a key for the provider, or it needs none.
    fn is_open(&self, provider: &str) -> bool {
        let source = self.settings.providers.get(provider).and_then(|one| one.api_key.as_ref());
        let known = catalog::provider(provider);
        let variables = known.map_or(&[][..], |known| known.key_env);
        known.is_some_and(|known| known.local)
            || self.taken.contains(&format!("key {provider}"))
            || Keys::new(self.environment).is_configured(provider, source, variables)
    }

    fn key(&mut self, provider: &str, key: String) -> Result<Result<String, Notice>, Failure> {
        if !self.request.keys {
            return Ok(Err(Notice::with_hint("", Hint::TakeKeys)));
        }
        if self.ring.providers()?.iter().any(|known| known == provider) {
            return Ok(Err("you have a key for it already".into()));
        }
        if !self.request.dry_run {
            self.ring.set(provider, &SecretString::from(key))?;
        }
        self.taken.insert(format!("key {provider}"));
        Ok(Ok(self.shown(&self.ring.path)))
    }

    /// A path as a person writes it: from `~` on where it lies in their home.
    fn shown(&self, path: &Path) -> String {
        let inner = self.environment.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        inner.map_or_else(|| path.display().to_string(), |inner| format!("~/{}", inner.display()))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        if self.request.dry_run {
            return Ok(());
        }
        private_file::write(path, text)
            .map_err(|error| Failure::system(format!("cannot write {}: {error}", path.display())))
    }
}

/// A text of ours; empty where there is none.
fn read(path: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::config(format!("cannot read {}: {error}", path.display()))),
    }
}
