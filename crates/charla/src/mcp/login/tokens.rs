//! Permissions for servers: kept in the file of keys, used and renewed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;

use super::Keys;
use super::web::Web;
use crate::environment::Environment;
use crate::failure::Failure;

/// A token is renewed so many seconds before it ends.
const EARLY: u64 = 30;

/// A permission for one server, and where it is renewed.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::mcp) struct Permission {
    /// Where tokens are given.
    pub(super) token: String,
    /// What we are known as there.
    pub(super) client: String,
    pub(super) secret: Option<String>,
    /// The server it is for.
    pub(super) resource: String,
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// When it ends, in seconds since 1970.
    pub(super) until: Option<u64>,
}

impl Permission {
    /// Gives a code or an older permission for a new one.
    pub(super) async fn exchange(&self, fields: &[(&str, &str)], web: &Web) -> Result<Self, String> {
        let mut all = vec![("client_id", self.client.as_str()), ("resource", self.resource.as_str())];
        all.extend(self.secret.as_deref().map(|secret| ("client_secret", secret)));
        all.extend_from_slice(fields);
        let answer = web.post_form(&self.token, &all).await?;
        let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        let lasts = answer.get("expires_in").and_then(Value::as_u64);
        Ok(Self {
            access: text("access_token").ok_or("the authority gave no token")?,
            refresh: text("refresh_token").or_else(|| self.refresh.clone()),
            until: lasts.map(|lasts| now() + lasts),
            ..self.clone()
        })
    }

    fn is_over(&self) -> bool {
        self.until.is_some_and(|until| now() + EARLY >= until)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The permissions that are kept. Clones are the same ones.
#[derive(Clone)]
pub(in crate::mcp) struct Tokens {
    environment: Environment,
    /// Held while a permission is renewed: the old one is good for that only once.
    renewing: Arc<Mutex<()>>,
}

impl Tokens {
    /// Those of this user; none without a home.
    pub(in crate::mcp) fn of(environment: &Environment) -> Option<Self> {
        environment.charla_home().map(|_| Self { environment: environment.clone(), renewing: Arc::default() })
    }

    /// The token for a server, renewed if it has ended or is the one that was refused. None where nobody has logged in.
    pub(in crate::mcp) async fn token(
        &self,
        server: &str,
        refused: Option<&str>,
        web: &Web,
    ) -> Result<Option<String>, String> {
        let Some(kept) = self.kept(server) else { return Ok(None) };
        if refused != Some(kept.access.as_str()) && !kept.is_over() {
            return Ok(Some(kept.access));
        }
        let turn = self.renewing.clone().lock_owned().await;
        let (tokens, server, web) = (self.clone(), server.to_owned(), web.clone());
        // In a task of its own: broken off halfway, the old permission would be void and the new one lost.
        let renewed = tokio::spawn(async move {
            let renewed = tokens.renew(&server, kept, &web).await;
            drop(turn);
            renewed
        });
        renewed.await.unwrap_or_else(|_| Err("the login cannot be renewed".to_owned())).map(Some)
    }

    /// Gives the old permission for a new one; only one at a time.
    async fn renew(&self, server: &str, old: Permission, web: &Web) -> Result<String, String> {
        let meanwhile = || self.kept(server).map(|kept| kept.access).filter(|access| *access != old.access);
        if let Some(access) = meanwhile() {
            return Ok(access);
        }
        let Some(refresh) = &old.refresh else {
            return Err("the login has ended: log in to this server again".to_owned());
        };
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str())];
        match old.exchange(&fields, web).await {
            Ok(renewed) => {
                self.keep(server, &renewed).map_err(|failure| failure.message)?;
                Ok(renewed.access)
            }
            // Another process may have been faster.
            Err(why) => meanwhile().ok_or_else(|| format!("the login cannot be renewed: {why}")),
        }
    }

    /// Waits until no permission is being renewed.
    pub(in crate::mcp) async fn settled(&self) {
        drop(self.renewing.lock().await);
    }

    fn kept(&self, server: &str) -> Option<Permission> {
        let text = Keys::new(&self.environment).ring()?.get(&place(server)).ok()??;
        serde_json::from_str(text.expose_secret()).ok()
    }

    /// Keeps a permission; says where.
    pub(super) fn keep(&self, server: &str, permission: &Permission) -> Result<PathBuf, Failure> {
        let ring = Keys::new(&self.environment)
            .ring()
            .ok_or_else(|| Failure::config("there is no home directory"))?;
        let text = serde_json::to_string(permission).map_err(|error| Failure::system(error.to_string()))?;
        ring.set(&place(server), &text.into())?;
        Ok(ring.path)
    }

    /// Forgets a permission; false when there was none.
    pub(super) fn forget(&self, server: &str) -> Result<bool, Failure> {
        Keys::new(&self.environment).ring().map_or(Ok(false), |ring| ring.remove(&place(server)))
    }
}

/// The name of a permission among the keys.
fn place(server: &str) -> String {
    format!("mcp:{server}")
}
