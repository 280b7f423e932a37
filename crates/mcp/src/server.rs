//! One server: started in the background, restarted when it dies, its tools kept meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use charla_proto::text::one_line;
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::attendance::Attendance;
use crate::client::{Client, RequestError};
use crate::config::{Endpoint, HttpForm, Reach, ServerConfig};
use crate::listing::{Listing, Offers};
use crate::ports::{Http, Launch};
use crate::transport::{self, Transport};

/// The version of the protocol that is asked for.
const PROTOCOL: &str = "2025-06-18";
/// How long a start may take: a program may have to be downloaded first.
const START_LIMIT: Duration = Duration::from_secs(60);
/// The wait before a start that follows a failed one; each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest such wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The waits of a server that lived so long begin anew.
const LONG_LIFE: Duration = Duration::from_secs(10);
/// A server that changes often is not asked more often than this.
const CHANGES_APART: Duration = Duration::from_millis(100);

/// So many characters of a reason are told.
const LONGEST_REASON: usize = 500;

/// Takes the tools that a server told of.
pub type Remember = Arc<dyn Fn(&ServerConfig, &[Value]) + Send + Sync>;

/// Says why a file must not be had by way of a server, in words that follow its address.
pub type Withhold = Arc<dyn Fn(&std::path::Path) -> Option<String> + Send + Sync>;

/// What servers are given by the program.
#[derive(Clone)]
pub struct Surroundings {
    /// Starts programs.
    pub launch: Arc<dyn Launch>,
    /// Speaks HTTP.
    pub http: Arc<dyn Http>,
    /// The folders that servers may ask about.
    pub roots: Vec<std::path::PathBuf>,
    /// Servers may ask for words of people and answers of the model.
    pub attended: bool,
    /// Remembers the tools that a server told of.
    pub remember: Remember,
    /// Keeps files back that a resource would hold.
    pub withhold: Withhold,
}

/// How a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It is being started.
    #[default]
    Starting,
    /// It answers.
    Ready,
    /// It does not; why.
    Failed(String),
}

/// What is known of a server at a moment.
#[derive(Clone, Default)]
pub(crate) struct Status {
    pub(crate) state: State,
    pub(crate) listing: Arc<Listing>,
    client: Option<Arc<Client>>,
    /// How many starts have failed.
    failures: u64,
    /// It has answered before.
    lived: bool,
}

/// A server that is looked after. Dropping it ends the server.
pub(crate) struct Server {
    pub(crate) link: Arc<Link>,
    keeper: JoinSet<()>,
}

/// The way to a server for who calls it: it stays the same when the server is started anew.
pub(crate) struct Link {
    pub(crate) config: ServerConfig,
    status: watch::Receiver<Status>,
    wake: Arc<Notify>,
}

impl Server {
    /// Begins to start a server. `known` is what it told of its tools in an earlier session.
    pub(crate) fn start(
        config: ServerConfig,
        known: Vec<Value>,
        surroundings: Surroundings,
        version: Arc<AtomicU64>,
    ) -> Self {
        let listing = Arc::new(Listing::of_tools(known, &config));
        let status = watch::Sender::new(Status { listing, ..Status::default() });
        let wake = Arc::<Notify>::default();
        let link = Link { config: config.clone(), status: status.subscribe(), wake: wake.clone() };
        let keeper = Keeper { config, surroundings, status, wake, version };
        let mut task = JoinSet::new();
        task.spawn(keeper.run());
        Self { link: Arc::new(link), keeper: task }
    }
}

impl Server {
    /// Ends the server, and waits for that.
    pub(crate) async fn end(mut self) {
        self.keeper.shutdown().await;
    }
}

impl Link {
    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// What can be offered: nothing of a server that never answered and cannot be started.
    pub(crate) fn listing(&self) -> Arc<Listing> {
        let status = self.status.borrow();
        match &status.state {
            State::Failed(_) if !status.lived => Arc::default(),
            _ => status.listing.clone(),
        }
    }

    /// Waits until it answers. One that has failed is started again.
    pub(crate) async fn ready(&self) -> Result<Arc<Client>, String> {
        let mut status = self.status.clone();
        let failures = status.borrow().failures;
        let is_over = |status: &Status| status.client.as_ref().is_some_and(|client| client.is_over());
        if matches!(status.borrow().state, State::Failed(_)) || is_over(&status.borrow()) {
            self.wake.notify_one();
        }
        let settled = |status: &Status| match &status.state {
            State::Ready => status.client.as_ref().is_some_and(|client| !client.is_over()),
            State::Failed(_) => status.failures > failures,
            State::Starting => false,
        };
        let gone = || "the session has ended".to_owned();
        let settled = timeout(START_LIMIT, status.wait_for(settled)).await;
        let settled = settled.map_err(|_| "it takes too long to start".to_owned())?.map_err(|_| gone())?;
        match (&settled.state, &settled.client) {
            (State::Failed(why), _) => Err(why.clone()),
            (_, Some(client)) => Ok(client.clone()),
            (_, None) => Err(gone()),
        }
    }

    /// Waits until its start has succeeded or failed.
    pub(crate) async fn settled(&self) {
        let _ = self.status.clone().wait_for(|status| status.state != State::Starting).await;
    }

    /// Asks for something, within the time that calls of this server have.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Value,
        attendance: Attendance,
    ) -> Result<Value, RequestError> {
        let client =
            self.ready().await.map_err(|why| RequestError::Gone(format!("it cannot be started: {why}")))?;
        client.request_within(self.config.timeout, method, params, attendance).await
    }
}

/// The task that looks after a server.
struct Keeper {
    config: ServerConfig,
    surroundings: Surroundings,
    status: watch::Sender<Status>,
    wake: Arc<Notify>,
    version: Arc<AtomicU64>,
}

impl Keeper {
    async fn run(self) {
        let mut wait = FIRST_WAIT;
        loop {
            let started = timeout(START_LIMIT, self.start()).await;
            let late = || format!("it was not ready within {} s", START_LIMIT.as_secs());
            match started.unwrap_or_else(|_| Err(late())) {
                Ok((client, offers, listing)) => {
                    let begun = Instant::now();
                    let why = self.attend(&client, offers, listing).await;
                    if begun.elapsed() > LONG_LIFE {
                        wait = FIRST_WAIT;
                    }
                    self.publish(|status| status.state = State::Failed(told(&why)));
                }
                Err(why) => self.publish(|status| {
                    status.state = State::Failed(told(&why));
                    status.failures += 1;
                }),
            }
            tokio::select! {
                () = sleep(wait) => {}
                () = self.wake.notified() => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
            self.publish(|status| status.state = State::Starting);
        }
    }

    /// Connects, greets and asks what there is.
    async fn start(&self) -> Result<(Arc<Client>, Offers, Listing), String> {
        let (client, answer) = match &self.config.reach {
            Reach::Process(command) => {
                let pipes = self.surroundings.launch.launch(command).await?;
                self.greet(transport::pipe(pipes)).await?
            }
            Reach::Http(endpoint) => self.start_over_http(endpoint).await?,
        };
        let offers = Offers::of(&answer);
        let listing = Listing::ask(&client, offers, &self.config).await;
        Ok((client, offers, listing.map_err(|error| error.to_string())?))
    }

    async fn start_over_http(&self, endpoint: &Endpoint) -> Result<(Arc<Client>, Value), String> {
        let http = &self.surroundings.http;
        let streamable = || self.greet(transport::connect(http.clone(), endpoint.clone()));
        let events = || async { self.greet(transport::listen(http.clone(), endpoint.clone()).await?).await };
        match endpoint.form {
            HttpForm::Streamable => streamable().await,
            HttpForm::Events => events().await,
            HttpForm::Either => match streamable().await {
                Ok(greeted) => Ok(greeted),
                Err(why) => events().await.map_err(|_| why),
            },
        }
    }

    /// Says who we are and hears what the server can do.
    async fn greet(&self, transport: Transport) -> Result<(Arc<Client>, Value), String> {
        let client = Arc::new(Client::new(transport, &self.config.name, roots(&self.surroundings.roots)));
        let params = json!({
            "protocolVersion": PROTOCOL,
            "capabilities": capabilities(self.surroundings.attended),
            "clientInfo": {"name": "charla", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = client
            .request("initialize", params, Attendance::default())
            .await
            .map_err(|error| error.to_string())?;
        if !answer.is_object() {
            return Err("its answer to `initialize` is no object".to_owned());
        }
        client.notify("notifications/initialized").await;
        Ok((client, answer))
    }

    /// Stays with a server that answers until it does not; says why.
    async fn attend(&self, client: &Arc<Client>, offers: Offers, listing: Listing) -> String {
        (self.surroundings.remember)(&self.config, &listing.told);
        self.publish(|status| {
            *status = Status {
                state: State::Ready,
                listing: Arc::new(listing),
                client: Some(client.clone()),
                lived: true,
                failures: status.failures,
            };
        });
        loop {
            tokio::select! {
                why = client.over() => break why,
                () = client.changed() => {}
            }
            sleep(CHANGES_APART).await;
            // What it does not tell stays as it was.
            let Ok(listing) = Listing::ask(client, offers, &self.config).await else { continue };
            if *self.status.borrow().listing != listing {
                (self.surroundings.remember)(&self.config, &listing.told);
                self.publish(|status| status.listing = Arc::new(listing));
            }
        }
    }

    fn publish(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(change);
        self.version.fetch_add(1, Ordering::Release);
    }
}

/// Whoever still has a way to the server finds nobody there, and the connection ends with this.
impl Drop for Keeper {
    fn drop(&mut self) {
        self.publish(|status| {
            status.client = None;
            status.state = State::Failed("the session has ended".to_owned());
        });
    }
}

/// A reason as a person is told it: a server may have written it.
fn told(why: &str) -> String {
    let cut: String = why.chars().take(LONGEST_REASON).collect();
    one_line(&cut)
}

/// What servers may ask of us. Nobody is there to be asked where no session is.
fn capabilities(attended: bool) -> Value {
    match attended {
        true => json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}),
        false => json!({"roots": {}}),
    }
}

/// The folders as servers want them.
fn roots(folders: &[std::path::PathBuf]) -> Value {
    let root = |folder: &std::path::PathBuf| {
        let encoded: String = folder.to_string_lossy().bytes().fold(String::new(), |mut uri, byte| {
            match byte {
                b'/' | b'-' | b'.' | b'_' | b'~' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                    uri.push(char::from(byte))
                }
                byte => uri.push_str(&format!("%{byte:02X}")),
            }
            uri
        });
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        json!({"uri": format!("file://{encoded}"), "name": name})
    };
    folders.iter().map(root).collect()
}
