//! Who asks: tokens of programs, sign-ins of browsers, and a proxy that says who somebody is.

mod proxy;
mod secrets;
mod signing;

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use charla::private_file;
use http::{HeaderMap, StatusCode, header};
use tokio::sync::Semaphore;

use crate::accounts::{Book, OWNER, Role, Whose, now};
use crate::people::{People, User};
use crate::problem::Problem;
pub use proxy::Proxy;
pub(crate) use proxy::{HOW_TO_TELL_APART, network};
pub(crate) use secrets::{Digest, Secret};
pub(crate) use signing::Shown;

/// How many passwords are compared at once: each takes 19 MiB.
const COMPARISONS: usize = 2;

/// Decides who asks.
pub(crate) struct Access {
    people: Arc<People>,
    /// Of the machine's own user.
    token: Digest,
    cookie: Cookie,
    proxy: Option<Proxy>,
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
    /// Access to this server, for the machine's own user with this token.
    pub(crate) fn new(people: Arc<People>, token: &Secret, cookie: Cookie, proxy: Option<Proxy>) -> Self {
        let comparing = Semaphore::new(COMPARISONS);
        Self { people, token: token.digest(), cookie, proxy, comparing }
    }

    /// Where a request with these headers comes from that was taken from this address.
    pub(crate) fn came_from(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        proxy::came_from(self.proxy.as_ref(), headers, peer)
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
        let known = self.holder(book, &credential).and_then(|whose| self.people.find(book, &whose.user));
        let (user, role) = known.ok_or_else(|| unauthorized("the account is gone"))?;
        Ok(Caller { user, role, credential })
    }

    fn credential(&self, book: &Book, headers: &HeaderMap, peer: IpAddr) -> Result<Credential, Problem> {
        if let Some(authorization) = headers.get(header::AUTHORIZATION) {
            let token = authorization.to_str().ok().and_then(bearer).unwrap_or_default();
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
        let proxy = self.proxy.as_ref();
        match proxy.and_then(|proxy| proxy.user(headers, peer)) {
            Some(_) if proxy.is_some_and(|proxy| proxy.is_imitable(book)) => {
                Err(unauthorized("the proxy is not believed: users with a network could speak in its place"))
            }
            Some(name) => Ok(Credential::Forwarded(name)),
            None => Err(unauthorized("nobody is signed in")),
        }
    }

    /// True for the address of a proxy in front, where many come from.
    pub(crate) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.proxy.as_ref().is_some_and(|proxy| proxy.is(peer))
    }

    /// An error where a network must not be given: who has one could speak in the place of the proxy.
    pub(crate) fn must_allow_network(&self) -> Result<(), Problem> {
        match self.proxy.as_ref().is_some_and(Proxy::can_be_imitated) {
            false => Ok(()),
            true => {
                let detail =
                    "whose commands have a network could speak in the place of the proxy that names users";
                Err(Problem::new(StatusCode::CONFLICT, "proxy", detail).with_hint(HOW_TO_TELL_APART))
            }
        }
    }

    /// Whose credential this is, as long as it counts and they are there.
    fn holder(&self, book: &Book, credential: &Credential) -> Option<Whose> {
        let whose = match credential {
            Credential::OwnerToken => book.whose(OWNER),
            Credential::Token(hash) => book.tokens.get(hash).map(|token| token.whose.clone()),
            Credential::SignIn(hash) => {
                let found = book.sign_ins.get(hash).filter(|sign_in| sign_in.until > now());
                found.map(|sign_in| sign_in.whose.clone())
            }
            Credential::Forwarded(name) => book.whose(name).filter(|whose| whose.user != OWNER),
        };
        whose.filter(|whose| book.has(whose))
    }

    /// How much this user may do who came with this credential: nothing when it counts no longer, or is another's by now.
    pub(crate) fn role(&self, book: &Book, credential: &Credential, user: &User) -> Option<Role> {
        let holder = self.holder(book, credential)?;
        let same = holder.user == user.name && book.has(&user.whose());
        book.role(&holder.user).filter(|_| same)
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

/// The token in a header. The word before it is written in any case.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

pub(crate) fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail).with_hint(
        "sign in, open the link that the server printed at its start, or send a token as a bearer token",
    )
}

/// The token of this user's programs, in the server's folder; made at the first start.
pub(crate) fn kept_token(folder: &Path) -> io::Result<Secret> {
    let path = folder.join("token");
    match std::fs::read_to_string(&path) {
        Ok(text) if text.trim().len() >= Secret::LENGTH => Ok(Secret::of(text.trim())),
        Ok(_) => new_token(&path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_token(&path),
        Err(error) => Err(error),
    }
}

fn new_token(path: &Path) -> io::Result<Secret> {
    let token = Secret::new();
    private_file::write(path, &format!("{}\n", token.text()))?;
    Ok(token)
}
