//! The server's interface, request by request.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use charla::session::{Arrival, SessionBundle};
use charla::{Environment, Failure, network_options};
use charla_proto::{
    CallAsked, Command, Outcome, Record, Reply, SessionSnapshot, SessionSummary, means_approval,
};
use charla_providers::net::client_builder;
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::address::ServerAddress;
use crate::error::{ClientError, Problem};
use crate::events::EventStream;
use crate::source::RemoteSessions;

/// How long an answer may take that only needs looking up.
const SOON: Duration = Duration::from_secs(30);
/// How long one may take that a model or the disk has a part in.
const LATER: Duration = Duration::from_secs(600);
/// The largest answer that is read.
const MOST: usize = 128 * 1024 * 1024;

/// Who a token belongs to.
#[derive(Clone, Debug, Deserialize)]
pub struct Account {
    /// The name in records.
    pub name: String,
}

/// A question that waits in a session of the server.
#[derive(Clone, Debug, Deserialize)]
pub struct RemoteApproval {
    /// The session that asks.
    pub session: String,
    /// The folder it works in.
    pub folder: PathBuf,
    /// What it asks.
    pub asked: Arc<CallAsked>,
}

/// A session that was begun.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Created {
    pub(crate) session: String,
    #[serde(default)]
    pub(crate) notices: Vec<String>,
}

/// Records, and whether there are more.
#[derive(Deserialize)]
pub(crate) struct Page {
    pub(crate) records: Vec<Record>,
    pub(crate) more: bool,
}

/// A server, and the right to use it. Cloning shares its connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    address: ServerAddress,
    token: SecretString,
}

impl Client {
    /// A client for this server, with connections as the settings say.
    pub fn new(
        address: ServerAddress,
        token: SecretString,
        settings: &charla::settings::Settings,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let options = network_options(settings, environment, address.is_encrypted())?;
        let builder = client_builder(&options).map_err(|error| Failure::from(&error))?;
        let builder = builder.redirect(reqwest::redirect::Policy::none()).http1_only();
        let builder = if address.is_here() { builder.no_proxy() } else { builder };
        let http = builder.build().map_err(|error| {
            Failure::system(format!("connections to {} cannot be set up: {error}", address.as_str()))
        })?;
        Ok(Self { http, address, token })
    }

    /// Where the server is.
    pub fn server(&self) -> &str {
        self.address.as_str()
    }

    /// Who we are there.
    pub async fn account(&self) -> Result<Account, ClientError> {
        self.get("/me").await
    }

    /// The latest sessions.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, ClientError> {
        #[derive(Deserialize)]
        struct Sessions {
            sessions: Vec<SessionSummary>,
        }
        Ok(self.get::<Sessions>("/sessions").await?.sessions)
    }

    /// A session, briefly.
    pub async fn session(&self, id: &str) -> Result<SessionSummary, ClientError> {
        self.get(&session_path(id, "")).await
    }

    /// Begins a session.
    pub(crate) async fn create(&self, model: Option<&str>) -> Result<Created, ClientError> {
        let new = model.map_or_else(|| json!({}), |model| json!({ "model": model }));
        self.post("/sessions", &new, LATER).await
    }

    /// Begins a session with what another one said, up to a message.
    pub(crate) async fn fork(&self, id: &str, at: Option<u64>) -> Result<Created, ClientError> {
        let fork = at.map_or_else(|| json!({}), |at| json!({ "at": at }));
        self.post(&session_path(id, "/fork"), &fork, LATER).await
    }

    /// A session as it is.
    pub async fn snapshot(&self, id: &str) -> Result<SessionSnapshot, ClientError> {
        self.get(&session_path(id, "/snapshot")).await
    }

    /// Some records of a session after number `after`, and whether there are more.
    pub(crate) async fn page(&self, id: &str, after: u64) -> Result<Page, ClientError> {
        self.get(&session_path(id, &format!("/records?after={after}"))).await
    }

    /// Every record of a session after number `after`.
    pub async fn records(&self, id: &str, after: u64) -> Result<Vec<Record>, ClientError> {
        let (mut all, mut after) = (Vec::new(), after);
        loop {
            let page = self.page(id, after).await?;
            after = page.records.last().map_or(after, |record| record.seq);
            all.extend(page.records);
            if !page.more {
                return Ok(all);
            }
        }
    }

    /// What happens in a session after record `after`, until the connection ends.
    pub async fn events(&self, id: &str, after: u64) -> Result<EventStream, ClientError> {
        let path = session_path(id, "/events");
        let request = self.request(Method::GET, &path).header("last-event-id", after);
        let request = request.header(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let response = tokio::time::timeout(SOON, self.sent(request)).await.map_err(|_| self.silent())??;
        Ok(EventStream::new(response))
    }

    /// Sends a session a command.
    pub async fn command(&self, id: &str, command: &Command) -> Result<Reply, ClientError> {
        self.post(&session_path(id, "/commands"), command, LATER).await
    }

    /// Every question that waits.
    pub async fn approvals(&self) -> Result<Vec<RemoteApproval>, ClientError> {
        #[derive(Deserialize)]
        struct Approvals {
            approvals: Vec<RemoteApproval>,
        }
        Ok(self.get::<Approvals>("/approvals").await?.approvals)
    }

    /// The question that waits and that this id means ([`means_approval`]); nothing where none does.
    pub async fn find_approval(&self, id: &str) -> Result<Option<RemoteApproval>, Failure> {
        let mut waiting = self.approvals().await?;
        waiting.retain(|waiting| !id.is_empty() && means_approval(id, &waiting.asked.approval));
        if let Some(exact) = waiting.iter().find(|waiting| waiting.asked.approval == id) {
            return Ok(Some(exact.clone()));
        }
        match waiting.len() {
            0 | 1 => Ok(waiting.pop()),
            count => Err(Failure::input(format!("`{id}` is the beginning of {count} questions"))
                .with_hint("give more of the id")),
        }
    }

    /// The whole id of a question that waits no longer, by the beginning of its session's id and its number (`01a1:4`); what was typed
    /// where that means no session.
    pub async fn answered_approval(&self, id: &str) -> String {
        let Some((session, number)) = id.split_once(':') else { return id.to_owned() };
        let found = RemoteSessions::new(self.clone()).find(session).await;
        found.map_or_else(|_| id.to_owned(), |session| format!("{session}:{number}"))
    }

    /// Answers a question. The first answer counts.
    pub async fn answer(&self, approval: &str, outcome: &Outcome) -> Result<Reply, ClientError> {
        self.post(&format!("/approvals/{}", escaped(approval)), outcome, LATER).await
    }

    /// A whole session.
    pub async fn bundle(&self, id: &str) -> Result<SessionBundle, ClientError> {
        let request = self.request(Method::GET, &session_path(id, "/bundle"));
        self.answered(request, LATER).await
    }

    /// Gives the server a whole session; its id there, and whether it is new.
    pub async fn import(&self, bundle: &SessionBundle) -> Result<(String, Arrival), ClientError> {
        #[derive(Deserialize)]
        struct Imported {
            session: String,
            arrival: Arrival,
        }
        let imported: Imported = self.post("/sessions/import", bundle, LATER).await?;
        Ok((imported.session, imported.arrival))
    }

    /// Removes a session for good; with `seq`, only while that is its last record.
    pub async fn delete(&self, id: &str, seq: Option<u64>) -> Result<(), ClientError> {
        let query = seq.map(|seq| format!("?seq={seq}")).unwrap_or_default();
        let request = self.request(Method::DELETE, &session_path(id, &query));
        tokio::time::timeout(SOON, self.sent(request)).await.map_err(|_| self.silent())?.map(drop)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.answered(self.request(Method::GET, path), SOON).await
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        limit: Duration,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| self.unusable(&error.to_string()))?;
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        let key = uuid::Uuid::new_v4().to_string();
        self.answered(request.header("idempotency-key", key).body(body), limit).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/api/v1{path}", self.address.as_str());
        self.http.request(method, url).bearer_auth(self.token.expose_secret())
    }

    async fn answered<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        limit: Duration,
    ) -> Result<T, ClientError> {
        let work = async {
            let body = self.whole(self.sent(request).await?).await?;
            serde_json::from_slice(&body).map_err(|error| self.unusable(&error.to_string()))
        };
        match tokio::time::timeout(limit, work).await {
            Ok(done) => done,
            Err(_) => Err(self.silent()),
        }
    }

    /// The answer, if it is a good one.
    async fn sent(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = self.whole(response).await?;
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => Err(ClientError::Refused(problem)),
            Err(_) => Err(self.unusable(&format!("it says {status}"))),
        }
    }

    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(bytes) = response.chunk().await.map_err(|error| self.failed(&error))? {
            if body.len() + bytes.len() > MOST {
                return Err(self.unusable("the answer is too large"));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(body)
    }

    fn failed(&self, error: &reqwest::Error) -> ClientError {
        let (server, why) = (self.server().to_owned(), innermost(error));
        match error.is_connect() || error.is_builder() {
            true => ClientError::Unreachable { server, why },
            false => ClientError::NoAnswer { server, why },
        }
    }

    fn silent(&self) -> ClientError {
        ClientError::NoAnswer { server: self.server().to_owned(), why: "it took too long".to_owned() }
    }

    fn unusable(&self, why: &str) -> ClientError {
        ClientError::Unusable { server: self.server().to_owned(), why: why.to_owned() }
    }
}

/// What an error comes down to: those around it only say that there is one.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn session_path(id: &str, rest: &str) -> String {
    format!("/sessions/{}{rest}", escaped(id))
}

/// A part of a path, whatever was typed for it.
fn escaped(part: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    let escape = |byte: u8| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    part.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_one_part_of_a_path() {
        assert_eq!(session_path("01a-b_c:4", "/events"), "/sessions/01a-b_c:4/events");
        assert_eq!(session_path("../me?x#y z", ""), "/sessions/..%2Fme%3Fx%23y%20z");
    }
}
