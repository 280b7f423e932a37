//! The users of this server: each with sessions, keys, settings, rules and a workspace of their own.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use charla::{Charla, Environment, Guest, NETWORK_VARIABLES};
use charla_store::Database;
use http::StatusCode;
use tokio::sync::watch;

use crate::accounts::{Account, AccountError, Accounts, Book, OWNER, Role, Whose};
use crate::database;
use crate::hub::Hub;
use crate::meter::Meter;
use crate::metrics::Metrics;
use crate::overview::Lookout;
use crate::problem::Problem;
use crate::shelf::{Kept, Shelf};
use crate::spending::Spendings;

/// What a user's tools and clients see of the server's own variables beside how the network is reached: no keys, no homes, no addresses of
/// others.
const VARIABLES: [&str; 9] =
    ["CHARLA_OFFLINE", "PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ", "TMPDIR"];

/// Somebody with sessions of their own.
pub(crate) struct User {
    pub(crate) name: String,
    /// What is kept for them is known by this; another user of the same name has another.
    pub(crate) id: String,
    pub(crate) hub: Arc<Hub>,
    pub(crate) lookout: Arc<Lookout>,
    /// What their sessions have cost, as far as it was counted.
    pub(crate) spendings: Spendings,
    /// What the account gave; nothing for the machine's own user.
    given: Option<Given>,
}

/// What an account decides about its user's sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    id: String,
    workspace: PathBuf,
    network: bool,
}

impl Given {
    fn of(name: &str, account: &Account) -> Self {
        Self {
            id: account.place(name).to_owned(),
            workspace: account.workspace.clone(),
            network: account.network,
        }
    }
}

impl User {
    fn new(name: &str, hub: Hub, given: Option<Given>) -> Self {
        let hub = Arc::new(hub);
        let id = given.as_ref().map_or(name, |given| &given.id).to_owned();
        Self {
            name: name.to_owned(),
            id,
            lookout: Lookout::new(hub.clone()),
            spendings: Spendings::default(),
            hub,
            given,
        }
    }

    /// What is theirs belongs to this.
    pub(crate) fn whose(&self) -> Whose {
        Whose { user: self.name.clone(), account: self.id.clone() }
    }
}

/// Everybody who may be here.
pub(crate) struct People {
    pub(crate) owner: Arc<User>,
    accounts: Arc<dyn Accounts>,
    metrics: Arc<Metrics>,
    /// Where the server keeps its things.
    folder: PathBuf,
    /// Where sessions are, where several nodes share them.
    database: Option<Database>,
    /// What users keep, where nodes share it.
    shelf: Option<Arc<Shelf>>,
    /// The folder whose folders every administrator may give.
    workspaces: Option<PathBuf>,
    /// Those with accounts who were here since the start.
    known: Mutex<HashMap<String, Arc<User>>>,
    /// The accounts as they were when it was looked who has lost one.
    seen: watch::Sender<Arc<Book>>,
}

impl People {
    /// The machine's own user, and those who have accounts.
    pub(crate) fn new(
        charla: Charla,
        accounts: Arc<dyn Accounts>,
        metrics: Arc<Metrics>,
        folder: &Path,
        database: Option<Database>,
    ) -> Self {
        let whose = Whose { user: OWNER.to_owned(), account: OWNER.to_owned() };
        let meter = Meter::new(whose, accounts.clone(), metrics.clone());
        let owner = Arc::new(User::new(OWNER, Hub::new(charla.sharing_connections(), meter, None), None));
        let folder = folder.to_owned();
        let (known, seen) = (Mutex::default(), watch::Sender::default());
        Self { owner, accounts, metrics, folder, database, shelf: None, workspaces: None, known, seen }
    }

    /// The same, whose users keep their files there.
    pub(crate) fn with_shelf(self, shelf: Option<Arc<Shelf>>) -> Self {
        Self { shelf, ..self }
    }

    /// The same, where every administrator may give folders in this one.
    pub(crate) fn with_workspaces(self, workspaces: Option<PathBuf>) -> Self {
        Self { workspaces, ..self }
    }

    /// The folder whose folders every administrator may give.
    pub(crate) fn workspaces(&self) -> Option<&Path> {
        self.workspaces.as_deref()
    }

    /// What this server is known by among others that share a database.
    pub(crate) fn node(&self) -> &str {
        self.database.as_ref().map_or("", Database::node_id)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Arc<User>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The accounts as they are.
    pub(crate) fn book(&self) -> Result<Arc<Book>, Problem> {
        self.accounts.book().map_err(|error| unavailable(&error))
    }

    /// The accounts with what other nodes changed until now.
    pub(crate) async fn fresh_book(&self) -> Result<Arc<Book>, Problem> {
        self.accounts.fresh().await.map_err(|error| unavailable(&error))
    }

    /// Changes the accounts.
    pub(crate) async fn change(
        &self,
        change: impl Fn(&mut Book) -> Result<(), AccountError> + Send + Sync + 'static,
    ) -> Result<Arc<Book>, Problem> {
        Ok(self.accounts.change(Box::new(change)).await?)
    }

    /// The user of this name and how much they may do; nobody where the book has no such account.
    pub(crate) fn find(&self, book: &Book, name: &str) -> Option<(Arc<User>, Role)> {
        if name == OWNER {
            return Some((self.owner.clone(), Role::Admin));
        }
        let account = book.accounts.get(name)?;
        let given = Given::of(name, account);
        let mut known = self.known();
        if let Some(user) = known.get(name).filter(|user| user.given.as_ref() == Some(&given)) {
            return Some((user.clone(), account.role));
        }
        let user = Arc::new(self.user(name, given));
        if let Some(before) = known.insert(name.to_owned(), user.clone()) {
            // They were given something else: what ran there ends, before anything else is asked of it.
            before.hub.end();
            user.hub.follows(before.hub.clone());
        }
        Some((user, account.role))
    }

    fn user(&self, name: &str, given: Given) -> User {
        let own = self.folder.join("users").join(&given.id);
        let owner = self.owner.hub.charla().environment();
        let whose = Whose { user: name.to_owned(), account: given.id.clone() };
        let meter = Meter::new(whose, self.accounts.clone(), self.metrics.clone());
        let mut charla = Charla::new(surroundings(owner, &self.folder, &own, &given)).sharing_connections();
        if let Some(database) = &self.database {
            charla = charla.with_store(Arc::new(database.sessions(&given.id, sessions_of(&own))));
        }
        let kept = self.shelf.clone().map(|shelf| Kept { shelf, person: given.id.clone(), folder: own });
        User::new(name, Hub::new(charla, meter, kept), Some(given))
    }

    /// Whether somebody else has a session of this id.
    pub(crate) async fn is_anothers(&self, user: &User, session: &str) -> Result<bool, Problem> {
        let book = self.fresh_book().await?;
        let names = book.accounts.keys().map(String::as_str).chain([OWNER]);
        for (other, _) in names.filter_map(|name| self.find(&book, name)) {
            if other.id != user.id && other.hub.knows(session).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Everybody who was here since the start.
    pub(crate) fn all(&self) -> Vec<Arc<User>> {
        let known = self.known();
        std::iter::once(&self.owner).chain(known.values()).cloned().collect()
    }

    /// Changes, at the latest a moment later, whenever the accounts do: somebody may have lost what they had.
    pub(crate) fn changes(&self) -> watch::Receiver<Arc<Book>> {
        self.seen.subscribe()
    }

    /// Ends, without waiting for it, what runs for those who may ask nothing any more, having no account or only looks, and what runs by
    /// what somebody was given before.
    pub(crate) fn end_denied(&self) {
        let Ok(book) = self.book() else { return };
        self.known().retain(|name, user| {
            let role = book.role(name).filter(|_| book.has(&user.whose()));
            match role {
                None => user.hub.end(),
                Some(Role::Viewer) => user.hub.stop(),
                Some(Role::Member | Role::Admin) => {}
            }
            role.is_some()
        });
        let names: Vec<String> = self.known().keys().cloned().collect();
        for name in names {
            self.find(&book, &name);
        }
        self.seen.send_if_modified(|seen| !Arc::ptr_eq(&std::mem::replace(seen, book.clone()), &book));
    }

    /// Ends what nobody looks at, and brings what users keep up to date.
    pub(crate) async fn tidy(&self) {
        for user in self.all() {
            user.hub.end_idle().await;
            // Tried again in a minute.
            let _ = user.hub.refresh().await;
        }
        if let Some(shelf) = &self.shelf {
            let _ = shelf.sync_server(&self.folder).await;
        }
        self.remove_deleted_outputs().await;
    }

    /// Removes what this node has of sessions that were deleted at another one.
    pub(crate) async fn remove_deleted_outputs(&self) {
        let Some(database) = &self.database else { return };
        let owner = database::sessions_folder(self.owner.hub.charla().environment()).ok();
        let sessions = |space: &str| match space {
            OWNER => owner.clone(),
            // Also of those who have no account any more.
            id => is_name(id).then(|| sessions_of(&self.folder.join("users").join(id))),
        };
        if let Err(error) = database.remove_deleted_outputs(sessions).await {
            tracing::debug!("outputs of deleted sessions are looked for in a minute: {error}");
        }
    }

    /// Ends every session after its turn.
    pub(crate) async fn close(&self) {
        let all = self.all();
        futures_util::future::join_all(all.iter().map(|user| user.hub.close())).await;
    }
}

/// Where a user with an account has their sessions, in a folder of their own.
fn sessions_of(own: &Path) -> PathBuf {
    own.join("sessions")
}

/// Whether this can only be the name of a folder.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\', '\0'])
}

/// The surroundings of a user with an account: their own folder, the workspace they were given, and nothing of the machine's
/// own user but where programs are and how the network is reached.
fn surroundings(owner: &Environment, server: &Path, own: &Path, given: &Given) -> Environment {
    let passed =
        owner.all().filter(|(name, _)| VARIABLES.iter().chain(&NETWORK_VARIABLES).any(|known| name == known));
    let home = own.join("home");
    let cache = owner.cache().unwrap_or_else(|| own.join("cache"));
    let set = [("CHARLA_HOME", own), ("CHARLA_CACHE", cache.as_path()), ("HOME", home.as_path())];
    let set = set.into_iter().map(|(name, path)| (name.into(), path.as_os_str().to_owned()));
    let mut environment = Environment::of(passed.chain(set)).in_workspace(&given.workspace);
    environment.home = Some(home.clone());
    environment.temporary.clone_from(&owner.temporary);
    environment.guest = Some(Guest {
        settings: server.join("settings.json"),
        policies: server.join("policies"),
        network: given.network,
    });
    environment
}

fn unavailable(error: &io::Error) -> Problem {
    let detail = format!("the accounts cannot be read: {error}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "accounts", detail)
}
