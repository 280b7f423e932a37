//! `charla serve`: a user's sessions over HTTP, with their questions answered in the browser.
//!
//! The server is a subscriber of the session protocol, as every other front end: it sends commands, follows events and
//! decides nothing. What it says are `charla-proto`'s own types in their JSON form. Sessions are in the store that the
//! terminal uses: one that a terminal has open is shown, read and answered here, and goes on there.

mod access;
pub mod accounts;
mod adopt;
mod api;
mod app;
mod arrivals;
mod attempts;
mod audit;
mod bodies;
mod call;
mod database;
mod desk;
mod feed;
mod forms;
mod guard;
mod hub;
mod listener;
mod live;
mod meter;
mod metrics;
mod nonsense;
mod oidc;
mod openapi;
mod outgoing;
mod overview;
mod page;
mod pages;
mod people;
mod places;
mod probe;
mod problem;
mod rate;
mod repeats;
mod routes;
mod shared;
mod shelf;
mod spending;
mod tls;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use charla::{Charla, Environment, Failure, FailureKind, Hint};
use charla_core::CancellationToken;
use charla_store::Database;
use tokio::net::TcpListener;

pub use access::Proxy;
use access::{Access, Cookie, Secret};
use accounts::{Accounts, Book, DatabaseAccounts, FileAccounts, OWNER};
use app::{App, RateLimits};
use arrivals::Arrivals;
use audit::Audit;
pub use audit::{BrokenChain, verify_audit, verify_database_audit};
pub use database::{SharedDatabase, connect};
pub use desk::{AccountDesk, Edit};
use guard::Names;
use listener::Listening;
use live::Live;
use metrics::Metrics;
use oidc::Oidc;
pub use oidc::OidcOptions;
use people::People;
use probe::Probe;
use repeats::Repeats;
use shelf::{Seal, SealError, Shelf, ShelfError};
use tls::Certificate;
pub use tls::TlsFiles;

/// How long sessions may take to end their turns when the server ends. What is not over by then is kept as it is and
/// can be gone on with.
const SESSIONS_DRAIN: Duration = Duration::from_secs(20);
/// How often sessions are looked for that nobody needs open.
const SWEEP: Duration = Duration::from_secs(60);
/// How often it is looked who has lost an account or a role, elsewhere than here, and what the log is still to tell.
const LOOK: Duration = Duration::from_secs(1);

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Further addresses browsers reach it at, such as `https://charla.example.org` behind a proxy.
    pub origins: Vec<String>,
    /// Listen beyond this machine although nothing here encrypts what is sent.
    pub plain_http: bool,
    /// The files of its certificate; without them it speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// A proxy in front that is believed.
    pub proxy: Option<Proxy>,
    /// A provider of identities at which users sign in.
    pub oidc: Option<OidcOptions>,
    /// Where several nodes keep sessions; this user's files when left out.
    pub database: Option<SharedDatabase>,
    /// The folder whose folders every administrator may give to users; without it only this machine's own user gives any.
    pub workspaces: Option<PathBuf>,
}

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    listening: Listening,
    address: SocketAddr,
    token: PathBuf,
}

impl Server {
    /// Listens for requests to this user's sessions; nothing is answered before [`Server::run`].
    pub async fn bind(charla: Charla, options: &ServeOptions) -> Result<Self, Failure> {
        check(options)?;
        let folder = server_folder(charla.environment())?;
        let database = match &options.database {
            Some(shared) => Some(connect(shared).await?),
            None => None,
        };
        let charla = with_database(charla, database.as_ref())?;
        let failed = |error: std::io::Error| {
            Failure::system(format!("cannot listen at {}: {error}", options.listen))
                .with_hint(Hint::ListenElsewhere)
        };
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let certificate = options.tls.clone().map(Certificate::read).transpose()?;
        let names = Names::new(address, certificate.is_some(), &options.origins);
        let cookie = Cookie { name: format!("charla-{}", address.port()), secure: names.is_secure() };
        let kept = |error| Failure::system(format!("cannot keep accounts in {}: {error}", folder.display()));
        let accounts: Arc<dyn Accounts> = match &database {
            Some(database) => Arc::new(DatabaseAccounts::new(database.clone())),
            None => Arc::new(FileAccounts::new(&folder)),
        };
        let book = accounts.fresh().await.map_err(kept)?;
        must_not_be_imitable(options.proxy.as_ref(), &book)?;
        let metrics = Arc::<Metrics>::default();
        let seal = options.database.as_ref().map(|shared| seal(shared, &folder)).transpose()?.map(Arc::new);
        let repeats = Repeats::new(database.clone().zip(seal.as_deref().map(Seal::requests)));
        let oidc = options.oidc.clone().map(|oidc| Oidc::new(oidc, seal.clone())).transpose()?;
        let shelf = database.clone().zip(seal).map(|(database, seal)| Arc::new(Shelf::new(database, seal)));
        let token = shared_token(shelf.as_deref(), &folder).await?;
        let people =
            People::new(charla, accounts, metrics.clone(), &folder, database.clone()).with_shelf(shelf);
        let workspaces = options.workspaces.as_deref().map(real_folder).transpose()?;
        let people = Arc::new(people.with_workspaces(workspaces));
        let proxy = options.proxy.clone();
        let access = Access::new(people.clone(), &token, cookie, proxy);
        let app = App {
            access,
            names,
            metrics,
            oidc,
            repeats,
            arrivals: Arrivals::new(database.clone()),
            audit: Audit::new(&folder, database.as_ref()),
            limits: RateLimits::default(),
            probe: Probe::default(),
            live: database.clone().map(|database| Live::new(database, people.clone())),
            people,
            database,
            stopping: CancellationToken::new(),
        };
        let listening = Listening { listener, certificate };
        Ok(Self { app: Arc::new(app), listening, address, token: folder.join("token") })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What whoever looks after it should know before it runs.
    pub fn warnings(&self) -> Vec<String> {
        self.app.people.book().map(|book| book.overlaps()).unwrap_or_default()
    }

    /// The file with the token for programs.
    pub fn token_file(&self) -> &Path {
        &self.token
    }

    /// An address that signs one browser in, once.
    pub async fn one_time_link(&self) -> Result<String, Failure> {
        let (secret, keep) = self.app.access.new_link(self.app.people.owner.whose(), None);
        let kept = self.app.people.change(keep).await;
        kept.map_err(|problem| Failure::system(format!("no link can be made: {}", problem.detail)))?;
        let scheme = if self.listening.certificate.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}{}", self.address, page::sign_in_path(secret.text())))
    }

    /// Serves until `stop`, then ends: connections finish what they do, sessions their turns.
    pub async fn run(self, stop: CancellationToken) {
        let router = routes::router(&self.app).merge(page::router());
        let sweeper = tokio::spawn(sweep(self.app.clone()));
        let denying = tokio::spawn(end_denied(self.app.people.clone()));
        let telling = tokio::spawn(tell_bursts(self.app.clone()));
        let shares = self.app.database.is_some();
        let adopter = shares.then(|| tokio::spawn(adopt::adopt_all(self.app.people.clone())));
        let stopping = self.app.stopping.clone();
        let closing = async {
            stop.cancelled().await;
            stopping.cancel();
        };
        tokio::join!(closing, listener::serve(self.listening, self.app.clone(), router, stop.clone()));
        sweeper.abort();
        denying.abort();
        telling.abort();
        self.app.audit.tell_rest().await;
        if let Some(adopter) = adopter {
            adopter.abort();
        }
        if tokio::time::timeout(SESSIONS_DRAIN, self.app.people.close()).await.is_err() {
            tracing::warn!("some turns are left open; they can be gone on with");
        }
        // Other nodes go on with what is left, at once.
        if let Some(database) = &self.app.database
            && let Err(error) = database.leave().await
        {
            tracing::warn!("other nodes wait until this one's lease is over: {error}");
        }
    }
}

/// Where what servers of this user must keep is kept.
pub fn server_folder(environment: &Environment) -> Result<PathBuf, Failure> {
    let home = environment.charla_home();
    home.map(|home| home.join("server")).ok_or_else(no_home)
}

fn no_home() -> Failure {
    Failure::config("there is no home directory to keep sign-ins in").with_hint("set CHARLA_HOME")
}

/// An error where users could speak in the place of the proxy that says who somebody is.
fn must_not_be_imitable(proxy: Option<&Proxy>, book: &Book) -> Result<(), Failure> {
    let why = "the trusted proxy names users and has an address of this machine, as the commands of users with a network have";
    match proxy.is_some_and(|proxy| proxy.is_imitable(book)) {
        true => Err(Failure::config(why).with_hint(Hint::GiveProxySecret)),
        false => Ok(()),
    }
}

/// A folder by its real path.
fn real_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let real = folder.canonicalize().ok().filter(|real| real.is_dir());
    real.ok_or_else(|| Failure::input(format!("{} is no folder", folder.display())))
}

/// The key of what users keep in a database.
fn seal(shared: &SharedDatabase, folder: &Path) -> Result<Seal, Failure> {
    let read = match &shared.key_file {
        Some(file) => Seal::read(file).map_err(|error| (file.clone(), error)),
        None => Seal::read_or_make(&folder.join("key")).map_err(|error| (folder.join("key"), error)),
    };
    read.map_err(|(file, error)| {
        let hint = match error {
            SealError::Open(_) => format!("chmod 600 {}", file.display()),
            SealError::Unusable(_) => {
                "make one with `openssl rand -base64 32`, readable by the server's user alone".to_owned()
            }
        };
        Failure::config(format!("the key in {} cannot be used: {error}", file.display())).with_hint(hint)
    })
}

/// The token of programs, the same at every node.
async fn shared_token(shelf: Option<&Shelf>, folder: &Path) -> Result<Secret, Failure> {
    let failed = |error: ShelfError| Failure::system(error.to_string()).with_hint(Hint::ShareKey);
    let unkept = |error| Failure::system(format!("cannot keep a token in {}: {error}", folder.display()));
    if let Some(shelf) = shelf {
        shelf.sync_server(folder).await.map_err(failed)?;
        access::kept_token(folder).map_err(unkept)?;
        // Of several that begin at once, one makes it: it is there with the second look at the latest.
        shelf.sync_server(folder).await.map_err(failed)?;
        shelf.sync_server(folder).await.map_err(failed)?;
    }
    access::kept_token(folder).map_err(unkept)
}

/// The same user, with sessions in the database where there is one.
fn with_database(charla: Charla, database: Option<&Database>) -> Result<Charla, Failure> {
    let Some(database) = database else { return Ok(charla) };
    let folder = database::sessions_folder(charla.environment())?;
    Ok(charla.with_store(Arc::new(database.sessions(OWNER, folder))))
}

/// The audit log of this user's servers.
pub fn audit_log(environment: &Environment) -> Result<PathBuf, Failure> {
    server_folder(environment).map(|folder| audit::path_in(&folder))
}

/// What is sent beyond this machine must be encrypted, by whoever is in front if not by us.
fn check(options: &ServeOptions) -> Result<(), Failure> {
    if !options.listen.ip().is_loopback() && options.tls.is_none() && !options.plain_http {
        let address = options.listen;
        return Err(Failure::new(
            FailureKind::Input,
            format!(
                "{address} can be reached from other machines, and what is sent there would not be encrypted"
            ),
        )
        .with_hint(Hint::EncryptServer));
    }
    match options.origins.iter().find(|origin| !is_origin(origin)) {
        Some(origin) => Err(Failure::input(format!("`{origin}` is no origin"))
            .with_hint("write it as https://charla.example.org, without a path")),
        None => Ok(()),
    }
}

fn is_origin(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    host.is_some_and(|host| {
        let host = host.trim_end_matches('/');
        !host.is_empty() && !host.contains(['/', '?', '#', '@', ' '])
    })
}

async fn end_denied(people: Arc<People>) {
    loop {
        tokio::time::sleep(LOOK).await;
        people.end_denied();
    }
}

async fn tell_bursts(app: Arc<App>) {
    loop {
        tokio::time::sleep(LOOK).await;
        app.audit.tell_bursts().await;
    }
}

async fn sweep(app: Arc<App>) {
    app.people.remove_deleted_outputs().await;
    loop {
        tokio::time::sleep(SWEEP).await;
        app.people.tidy().await;
        if let Some(database) = &app.database {
            // Tried again in a minute.
            let _ = repeats::shared::forget_old(database).await;
        }
    }
}
