//! Who asks: tokens of programs, sign-ins of browsers, and what each may do.

mod secrets;
mod sign_ins;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use charla::private_file;
use http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};

use crate::app::User;
use crate::problem::Problem;
pub(crate) use secrets::{Digest, Secret};
use sign_ins::SignIns;

/// How much somebody may do. Each may what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May look.
    Viewer,
    /// May ask models, answer questions and change what is theirs.
    Member,
    /// May everything.
    Admin,
}

/// Decides who asks.
pub(crate) struct Access {
    owner: Arc<User>,
    token: Digest,
    /// Opens one browser; gone once used.
    link: Mutex<Option<Digest>>,
    sign_ins: SignIns,
    cookie: Cookie,
}

/// The name and the kind of the cookie that a signed-in browser has.
#[derive(Clone, Debug)]
pub(crate) struct Cookie {
    /// Browsers share cookies between the ports of a host: each server has its own name.
    pub(crate) name: String,
    /// Only sent over TLS.
    pub(crate) secure: bool,
}

/// Somebody who may ask, and how they showed it.
pub(crate) struct Caller {
    pub(crate) user: Arc<User>,
    /// The browser sent it by itself: where the request comes from must be checked.
    pub(crate) by_cookie: bool,
}

impl Access {
    /// Access for the machine's user. What must outlive the process is kept in `folder`.
    pub(crate) fn new(owner: Arc<User>, folder: &Path, cookie: Cookie) -> io::Result<Self> {
        let token = kept_token(&folder.join("token"))?;
        let sign_ins = SignIns::read(folder.join("sign-ins.json"))?;
        Ok(Self { owner, token: token.digest(), link: Mutex::default(), sign_ins, cookie })
    }

    /// A secret that signs one browser in, once. An earlier one that was not used no longer counts.
    pub(crate) fn new_link(&self) -> Secret {
        let secret = Secret::new();
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = Some(secret.digest());
        secret
    }

    /// Who sends a request with these headers.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        if let Some(authorization) = headers.get(header::AUTHORIZATION) {
            let token = authorization.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
            return match token.map(str::trim) {
                Some(token) if self.token.is_of(token) => {
                    Ok(Caller { user: self.owner.clone(), by_cookie: false })
                }
                _ => Err(unauthorized("the token is not known here")),
            };
        }
        match self.cookies(headers).find_map(|value| self.sign_ins.user(value)) {
            Some(name) if name == self.owner.name => Ok(Caller { user: self.owner.clone(), by_cookie: true }),
            _ => Err(unauthorized("nobody is signed in")),
        }
    }

    /// Uses a one-time link up: the value of the cookie for the browser that has shown it.
    pub(crate) fn sign_in(&self, code: &str) -> Result<String, Problem> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        match &*link {
            Some(digest) if digest.is_of(code) => *link = None,
            _ => return Err(unauthorized("this link was used already, or is of an earlier start")),
        }
        drop(link);
        let secret = Secret::new();
        self.sign_ins
            .add(&secret, &self.owner.name)
            .map_err(|error| Problem::internal(format!("the sign-in cannot be kept: {error}")))?;
        Ok(self.set_cookie(secret.text(), sign_ins::LIFETIME.as_secs()))
    }

    /// Ends the sign-in of the browser that asks: what tells it to forget its cookie.
    pub(crate) fn sign_out(&self, headers: &HeaderMap) -> Result<String, Problem> {
        for value in self.cookies(headers) {
            self.sign_ins
                .remove(value)
                .map_err(|error| Problem::internal(format!("the sign-in cannot be ended: {error}")))?;
        }
        Ok(self.set_cookie("", 0))
    }

    fn set_cookie(&self, value: &str, seconds: u64) -> String {
        let Cookie { name, secure } = &self.cookie;
        let secure = if *secure { "; Secure" } else { "" };
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
    }

    fn cookies<'h>(&'h self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h str> {
        let values = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(name, _)| *name == self.cookie.name).map(|(_, value)| value)
    }
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        .with_hint("open the link that the server printed at its start, or send its token as a bearer token")
}

/// The token of this user's programs; made at the first start.
fn kept_token(path: &Path) -> io::Result<Secret> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim().len() >= Secret::LENGTH => Ok(Secret::of(text.trim())),
        Ok(_) => new_token(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_token(path),
        Err(error) => Err(error),
    }
}

fn new_token(path: &Path) -> io::Result<Secret> {
    let token = Secret::new();
    private_file::write(path, &format!("{}\n", token.text()))?;
    Ok(token)
}
