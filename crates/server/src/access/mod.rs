//! Who asks: tokens of programs, sign-ins of browsers, and a proxy that says who somebody is.

mod proxy;
mod secrets;

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use charla::private_file;
use http::{HeaderMap, StatusCode, header};
use tokio::sync::Semaphore;

use crate::accounts::{AccountError, Book, Link, OWNER, Password, Role, SignIn, now};
use crate::people::{People, User};
use crate::problem::Problem;
pub use proxy::ForwardedUser;
pub(crate) use secrets::{Digest, Secret};

/// How long a browser stays signed in.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a link can be used.
const LINK_LIFETIME: Duration = Duration::from_secs(24 * 3600);
/// How many passwords are compared at once: each takes 19 MiB.
const COMPARISONS: usize = 2;

/// Decides who asks.
pub(crate) struct Access {
    people: Arc<People>,
    /// Of the machine's own user.
    token: Digest,
    cookie: Cookie,
    proxy: Option<ForwardedUser>,
    comparing: Semaphore,
}

/// The name and the kind of the cookie that a signed-in browser has.
#[derive(Clone, Debug)]
pub(crate) struct Cookie {
    /// Browsers share cookies between the ports of a host: each server has its own name.
    pub(crate) name: String,
    /// Only sent over TLS.
    pub(crate) secure: bool,
}

/// How somebody showed who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credential {
    /// With the token of the machine's own user.
    OwnerToken,
    /// With a token, known by its hash.
    Token(String),
    /// With a cookie, known by its hash.
    SignIn(String),
    /// A proxy says so.
    Forwarded(String),
}

/// Somebody who may ask, and how they showed it.
pub(crate) struct Caller {
    pub(crate) user: Arc<User>,
    pub(crate) role: Role,
    pub(crate) credential: Credential,
}

impl Caller {
    /// The browser sends it by itself: where the request comes from must be checked.
    pub(crate) fn is_ambient(&self) -> bool {
        matches!(self.credential, Credential::SignIn(_) | Credential::Forwarded(_))
    }
}

impl Access {
    /// Access to this server. The token of the machine's own user is kept in `folder`.
    pub(crate) fn new(
        people: Arc<People>,
        folder: &Path,
        cookie: Cookie,
        proxy: Option<ForwardedUser>,
    ) -> io::Result<Self> {
        let token = kept_token(&folder.join("token"))?.digest();
        let comparing = Semaphore::new(COMPARISONS);
        Ok(Self { people, token, cookie, proxy, comparing })
    }

    /// A secret that signs one browser of this user in, once, at whichever node. An earlier one of this node that was not used no
    /// longer counts.
    pub(crate) async fn new_link(&self, user: &str) -> Result<Secret, Problem> {
        let secret = Secret::new();
        let (hash, node, user) = (secret.digest().text(), self.people.node().to_owned(), user.to_owned());
        let keep = move |book: &mut Book| {
            book.links.retain(|_, link| link.until > now() && (&link.user, &link.node) != (&user, &node));
            let link =
                Link { user: user.clone(), node: node.clone(), until: now() + LINK_LIFETIME.as_secs() };
            book.links.insert(hash.clone(), link);
            Ok(())
        };
        self.people.change(keep).await?;
        Ok(secret)
    }

    /// Who sends a request with these headers from this address. Who is not known may be since a moment ago, at another node.
    pub(crate) async fn caller(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, Problem> {
        let book = self.people.book()?;
        match self.known_caller(&book, headers, peer) {
            Ok(caller) => Ok(caller),
            Err(unknown) => {
                let fresh = self.people.fresh_book().await?;
                if Arc::ptr_eq(&fresh, &book) {
                    Err(unknown)
                } else {
                    self.known_caller(&fresh, headers, peer)
                }
            }
        }
    }

    fn known_caller(&self, book: &Book, headers: &HeaderMap, peer: IpAddr) -> Result<Caller, Problem> {
        let credential = self.credential(book, headers, peer)?;
        let known = self.holder(book, &credential).and_then(|name| self.people.find(book, &name));
        let (user, role) = known.ok_or_else(|| unauthorized("the account is gone"))?;
        Ok(Caller { user, role, credential })
    }

    fn credential(&self, book: &Book, headers: &HeaderMap, peer: IpAddr) -> Result<Credential, Problem> {
        if let Some(authorization) = headers.get(header::AUTHORIZATION) {
            let token = authorization.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
            let token = token.map(str::trim).unwrap_or_default();
            if self.token.is_of(token) {
                return Ok(Credential::OwnerToken);
            }
            let known = Credential::Token(Digest::of(token).text());
            return match self.holder(book, &known) {
                Some(_) => Ok(known),
                None => Err(unauthorized("the token is not known here")),
            };
        }
        let cookies = self.cookies(headers).map(|value| Credential::SignIn(Digest::of(value).text()));
        let mut signed_in = cookies.filter(|credential| self.holder(book, credential).is_some());
        if let Some(credential) = signed_in.next() {
            return Ok(credential);
        }
        match self.proxy.as_ref().and_then(|proxy| proxy.user(headers, peer)) {
            Some(name) => Ok(Credential::Forwarded(name)),
            None => Err(unauthorized("nobody is signed in")),
        }
    }

    /// Whose credential this is, as long as it counts.
    fn holder(&self, book: &Book, credential: &Credential) -> Option<String> {
        match credential {
            Credential::OwnerToken => Some(OWNER.to_owned()),
            Credential::Token(hash) => book.tokens.get(hash).map(|token| token.user.clone()),
            Credential::SignIn(hash) => {
                let found = book.sign_ins.get(hash).filter(|sign_in| sign_in.until > now());
                found.map(|sign_in| sign_in.user.clone())
            }
            Credential::Forwarded(name) => Some(name.clone()).filter(|name| name != OWNER),
        }
    }

    /// Whether this credential lets anybody in still.
    pub(crate) fn still_counts(&self, book: &Book, credential: &Credential) -> bool {
        self.holder(book, credential).is_some_and(|name| book.role(&name).is_some())
    }

    /// Uses a one-time link up: who it was for.
    pub(crate) async fn use_link(&self, code: &str) -> Result<String, Problem> {
        let hash = Digest::of(code).text();
        let gone = || unauthorized("this link was used already, or is of an earlier start");
        let book = self.people.fresh_book().await?;
        let link = book.links.get(&hash).filter(|link| link.until > now()).ok_or_else(gone)?;
        // Of several who use it at once one takes it out.
        let take = move |book: &mut Book| {
            book.links.remove(&hash).map(drop).ok_or_else(|| AccountError::Unknown("link".to_owned()))
        };
        let taken = self.people.change(take).await;
        taken.map_err(|problem| if problem.status == StatusCode::NOT_FOUND { gone() } else { problem })?;
        Ok(link.user.clone())
    }

    /// Whether this is somebody's password. It takes as long for who has none.
    pub(crate) async fn check_password(&self, name: &str, password: String) -> Result<(), Problem> {
        let book = self.people.fresh_book().await?;
        let kept = book.accounts.get(name).and_then(|account| account.password.clone());
        let busy = |_| Problem::internal("passwords cannot be compared");
        let _turn = self.comparing.acquire().await.map_err(busy)?;
        let compared = tokio::task::spawn_blocking(move || Password::verify(kept.as_ref(), &password)).await;
        match compared.unwrap_or(false) {
            true => Ok(()),
            false => Err(unauthorized("the name or the password is wrong")),
        }
    }

    /// Signs somebody in: what sets the cookie of their browser.
    pub(crate) async fn sign_in(&self, name: String) -> Result<String, Problem> {
        let secret = Secret::new();
        let hash = secret.digest().text();
        self.people
            .change(move |book| {
                book.sign_ins.retain(|_, sign_in| sign_in.until > now());
                let sign_in = SignIn { user: name.clone(), until: now() + LIFETIME.as_secs() };
                book.sign_ins.insert(hash.clone(), sign_in);
                Ok(())
            })
            .await?;
        Ok(self.set_cookie(secret.text(), LIFETIME.as_secs()))
    }

    /// Ends the sign-in of the browser that asks: what tells it to forget its cookie.
    pub(crate) async fn sign_out(&self, headers: &HeaderMap) -> Result<String, Problem> {
        let ended: Vec<String> = self.cookies(headers).map(|value| Digest::of(value).text()).collect();
        self.people
            .change(move |book| {
                book.sign_ins.retain(|hash, _| !ended.contains(hash));
                Ok(())
            })
            .await?;
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

pub(crate) fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail).with_hint(
        "sign in, open the link that the server printed at its start, or send a token as a bearer token",
    )
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
