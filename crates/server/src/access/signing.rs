//! Browsers that are signed in: with a password, with a one-time link, or by a provider of identities.
//!
//! Between what somebody shows and the sign-in that is kept, the account may change. A sign-in is kept in the change of the book that
//! sees that what was shown holds still.

use std::time::Duration;

use http::StatusCode;

use super::{Access, Credential, Digest, Secret, unauthorized};
use crate::accounts::{AccountError, Book, Link, Password, SignIn, Whose, now};
use crate::problem::Problem;

/// How long a browser stays signed in.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long a link can be used.
const LINK_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// What somebody has shown to be let in.
#[derive(Clone)]
pub(crate) enum Shown {
    /// That they know the password that is kept like this.
    Password(Whose, Password),
    /// That a provider of identities knows them by this.
    Identity(Whose, String),
    /// The hash of a one-time link's code.
    Link(String),
}

impl Shown {
    /// Who is let in, if what was shown holds still, and the token that it goes back to. A link is used up.
    fn take(&self, book: &mut Book) -> Result<(Whose, Option<String>), AccountError> {
        let gone = || AccountError::Asker;
        let mut token = None;
        match self {
            Self::Link(hash) => {
                let link = book.links.remove(hash).filter(|link| link.until > now()).ok_or_else(gone)?;
                token = link.token;
                Some(link.whose).filter(|whose| book.has(whose)).and_then(|whose| book.whose(&whose.user))
            }
            Self::Password(whose, kept) => {
                let account = book.account_of(whose);
                let same = account.is_some_and(|account| account.password.as_ref() == Some(kept));
                same.then(|| whose.clone())
            }
            Self::Identity(whose, identity) => {
                let account = book.account_of(whose);
                let same = account.is_some_and(|account| account.identity.as_ref() == Some(identity));
                same.then(|| whose.clone())
            }
        }
        .map(|whose| (whose, token))
        .ok_or_else(gone)
    }
}

/// A link for somebody that node makes. An earlier one of the same node that was not used no longer counts.
pub(super) fn keep_link(book: &mut Book, hash: &str, link: Link) {
    book.links.retain(|_, known| {
        known.until > now() && (&known.whose.user, &known.node) != (&link.whose.user, &link.node)
    });
    book.links.insert(hash.to_owned(), link);
}

impl Access {
    /// A secret that signs one browser in, once, at whichever node, and the change that lets it be known. Made with a token, or by a browser that one let in, it goes with that.
    pub(crate) fn new_link(
        &self,
        whose: Whose,
        with: Option<&Credential>,
    ) -> (Secret, impl Fn(&mut Book) -> Result<(), AccountError> + Send + Sync + 'static) {
        let secret = Secret::new();
        let (hash, node) = (secret.digest().text(), self.people.node().to_owned());
        let with = with.cloned();
        let keep = move |book: &mut Book| {
            let until = now() + LINK_LIFETIME.as_secs();
            let token = match &with {
                Some(Credential::Token(hash)) => Some(hash.clone()),
                Some(Credential::SignIn(hash)) => {
                    book.sign_ins.get(hash).and_then(|known| known.token.clone())
                }
                _ => None,
            };
            let link = Link { whose: whose.clone(), node: node.clone(), until, token };
            keep_link(book, &hash, link);
            Ok(())
        };
        (secret, keep)
    }

    /// A one-time link as it is shown.
    pub(crate) fn link(code: &str) -> Shown {
        Shown::Link(Digest::of(code).text())
    }

    /// Whether this is somebody's password. It takes as long for who has none.
    pub(crate) async fn check_password(&self, name: &str, password: String) -> Result<Shown, Problem> {
        let book = self.people.fresh_book().await?;
        let kept = book.accounts.get(name).and_then(|account| account.password.clone());
        let busy = |_| Problem::internal("passwords cannot be compared");
        let _turn = self.comparing.acquire().await.map_err(busy)?;
        let compared = tokio::task::spawn_blocking(move || {
            Password::verify(kept.as_ref(), &password).then_some(kept).flatten()
        });
        let known = compared.await.ok().flatten().zip(book.whose(name));
        let (kept, whose) = known.ok_or_else(|| unauthorized("the name or the password is wrong"))?;
        Ok(Shown::Password(whose, kept))
    }

    /// Signs somebody in: who they are, and what sets the cookie of their browser.
    pub(crate) async fn sign_in(&self, shown: Shown) -> Result<(String, String), Problem> {
        let secret = Secret::new();
        let hash = secret.digest().text();
        let known = hash.clone();
        let gone = match shown {
            Shown::Link(_) => "this link was used already, or is of an earlier start",
            _ => "the account has changed meanwhile; sign in again",
        };
        let keep = move |book: &mut Book| {
            let (whose, token) = shown.take(book)?;
            book.sign_ins.retain(|_, sign_in| sign_in.until > now());
            let sign_in = SignIn { whose, until: now() + LIFETIME.as_secs(), token };
            book.sign_ins.insert(hash.clone(), sign_in);
            Ok(())
        };
        let kept = self.people.change(keep).await;
        let book = kept.map_err(|problem| match problem.status == StatusCode::UNAUTHORIZED {
            true => unauthorized(gone),
            false => problem,
        })?;
        let signed_in = book.sign_ins.get(&known).ok_or_else(|| unauthorized(gone))?;
        let cookie = self.set_cookie(secret.text(), LIFETIME.as_secs());
        Ok((signed_in.whose.user.clone(), cookie))
    }
}
