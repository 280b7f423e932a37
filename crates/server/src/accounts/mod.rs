//! Who has an account on this server, and what each may: the book of accounts, and the port it is kept behind.
//!
//! Passwords, tokens and sign-ins are kept as hashes. A change of the book sees the book as it is, and no other change comes
//! between: what keeps the book (a file, or a database that several nodes share) sees to that.

mod budget;
mod database;
mod file;
mod overlap;
mod passwords;
mod purse;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use charla_proto::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use budget::{Budget, Reserved, Spending, dollars};
pub use database::DatabaseAccounts;
pub use file::FileAccounts;
pub use passwords::{Password, WeakPassword};
pub use purse::{Answered, Purse, PurseChange};

/// How much somebody may do. Each may what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// May look.
    Viewer,
    /// May ask models, answer questions and change what is theirs.
    Member,
    /// May look after accounts, too.
    Admin,
}

impl Role {
    /// Such as `a member`.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Viewer => "a viewer",
            Self::Member => "a member",
            Self::Admin => "an admin",
        }
    }
}

/// What somebody may do with a session. Each may what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// May follow it.
    Read,
    /// May answer its questions, too.
    Approve,
    /// It is theirs.
    Own,
}

/// One account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// What is theirs is known by this, made when the account is: whoever is called the same later is somebody else. Empty in
    /// accounts of earlier versions, where it is the name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// How much they may do.
    pub role: Role,
    /// The hash of their password; without one they sign in by other means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<Password>,
    /// Who they are at the provider of identities: its subject, or an address that it has verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The folder they were given. Nothing else can be reached from their sessions.
    pub workspace: PathBuf,
    /// Commands that they agree to may use the network.
    #[serde(default)]
    pub network: bool,
    /// What they may spend in a day.
    #[serde(default)]
    pub budget: Budget,
    /// What they have spent on the last day they spent anything.
    #[serde(default)]
    pub spent: Spending,
    /// What is kept for their turns that run.
    #[serde(default, skip_serializing_if = "Reserved::is_empty")]
    pub reserved: Reserved,
}

impl Account {
    /// Keeps what the next answer of a session may cost, to a request of about this many tokens; an error where too little is left.
    pub(crate) fn reserve(&mut self, session: &str, asked: u64) -> Result<(), AccountError> {
        let kept = self.reserved.reserve(session, self.budget, self.spent, asked, now());
        kept.map_err(AccountError::Budget)
    }

    /// What is kept for the account of this name is known by this.
    pub fn place<'a>(&'a self, name: &'a str) -> &'a str {
        if self.id.is_empty() { name } else { &self.id }
    }

    /// The account as those see it who look after it: without its password.
    pub fn shown(&self, name: &str) -> Value {
        let spent = self.spent.on(now());
        json!({
            "name": name,
            "id": self.place(name),
            "role": self.role,
            "workspace": self.workspace,
            "identity": self.identity,
            "network": self.network,
            "has_password": self.password.is_some(),
            "budget": self.budget,
            "spent_today": { "tokens": spent.tokens, "usd": spent.usd },
        })
    }
}

/// Whose something is: an account, and no other that is called the same later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whose {
    /// What the account is called.
    pub user: String,
    /// What it is known by: [`Account::place`]. Empty in what earlier versions kept, where the name decides.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub account: String,
}

/// A token of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// What it is known by.
    pub id: String,
    /// Whose it is.
    #[serde(flatten)]
    pub whose: Whose,
    /// What it is for, in the user's words.
    pub label: String,
    /// When it was made, in seconds since 1970.
    pub made: u64,
}

/// A browser that is signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignIn {
    /// Who.
    #[serde(flatten)]
    pub whose: Whose,
    /// Until when, in seconds since 1970.
    pub until: u64,
    /// The hash of the token whose link signed it in, where it was one: with that it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// What signs one browser in, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Whom.
    #[serde(flatten)]
    pub whose: Whose,
    /// The node that made it; empty where there is one server.
    pub node: String,
    /// Until when, in seconds since 1970.
    pub until: u64,
    /// The hash of the token that it was made with, where it was one: without that it opens nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A session that others may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Whose session it is.
    pub owner: String,
    /// Its id.
    pub session: String,
    /// Who else may do what.
    pub with: BTreeMap<String, Right>,
}

/// All accounts, and what belongs to them. Tokens and sign-ins are known by the hash of their secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// Accounts by name.
    pub accounts: BTreeMap<String, Account>,
    /// Tokens by their hash.
    pub tokens: BTreeMap<String, Token>,
    /// Signed-in browsers by their hash.
    pub sign_ins: BTreeMap<String, SignIn>,
    /// One-time links by their hash.
    pub links: BTreeMap<String, Link>,
    /// Shared sessions. A session is known by its owner and its id: who takes in a session of another's id shares their own.
    pub shares: Vec<Share>,
}

/// Why the book is not changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// Nobody is called that.
    #[error("there is no account `{0}`")]
    Unknown(String),
    /// Somebody is called that already.
    #[error("there is an account `{0}` already")]
    Taken(String),
    /// It is no name.
    #[error(
        "`{0}` is no name for an account: it begins with a letter and has up to 32 of a-z, 0-9, `.`, `_` and `-`"
    )]
    Name(String),
    /// It is what records call the program itself.
    #[error("`{0}` is no name for an account: records mean the program itself by it; choose another one")]
    Reserved(String),
    /// The folder cannot be given.
    #[error("{folder} cannot be given to a user: {why}")]
    Workspace {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// The password is not taken.
    #[error(transparent)]
    Password(#[from] WeakPassword),
    /// Somebody else is known by that identity.
    #[error("`{0}` belongs to another account")]
    Identity(String),
    /// They may only look.
    #[error("`{0}` is a viewer, who may answer no questions")]
    OnlyLooks(String),
    /// There is too little left to spend.
    #[error("{0}")]
    Budget(String),
    /// Whoever wants the change may not any more: the account is gone or another, the credential was taken back, or the role is less.
    #[error("nothing was changed: you may not do this any more")]
    Asker,
    /// What is not in the audit log is not done.
    #[error("nothing was changed, because it cannot be written to the audit log: {0}")]
    Audit(#[source] io::Error),
    /// It was done, and the audit log does not say so.
    #[error("it was done, but what came of it could not be written to the audit log")]
    Untold,
    /// The book cannot be read or written.
    #[error("the accounts cannot be kept: {0}")]
    Kept(#[from] io::Error),
}

/// A change of the book. It is kept if it succeeds; where others change the book at the same time, it is made again.
pub type Change = Box<dyn Fn(&mut Book) -> Result<(), AccountError> + Send + Sync>;

/// Where accounts are kept.
pub trait Accounts: Send + Sync {
    /// The book as it is. What others changed is seen, at the latest a moment later.
    fn book(&self) -> io::Result<Arc<Book>>;

    /// The book with everything that was changed until now, wherever.
    fn fresh(&self) -> BoxFuture<'_, io::Result<Arc<Book>>>;

    /// Changes the book: the book as it is then. No other change comes between, of whichever process.
    fn change(&self, change: Change) -> BoxFuture<'_, Result<Arc<Book>, AccountError>>;

    /// Changes what one account has spent and what is kept for it, and nothing else: the book as it is then. Where what each model has cost
    /// is kept, too, `answered` is added to that.
    fn change_purse(
        &self,
        whose: Whose,
        change: PurseChange,
        _answered: Option<Answered>,
    ) -> BoxFuture<'_, Result<Arc<Book>, AccountError>> {
        self.change(Box::new(move |book: &mut Book| match book.has(&whose) {
            true => change(book.account_mut(&whose.user)?),
            false => Err(AccountError::Unknown(whose.user.clone())),
        }))
    }
}

/// Who the machine's own user is in records and in the book. No account has this name.
pub(crate) const OWNER: &str = "web";
/// Others who ask something of sessions, or stand in records for nobody in particular.
const RESERVED: [&str; 11] =
    [OWNER, "settings", "signal", "budget", "admin", "system", "node", "charla", "nobody", "user", "session"];
const LONGEST_NAME: usize = 32;

impl Book {
    /// The account of this name.
    pub fn account(&self, name: &str) -> Result<&Account, AccountError> {
        self.accounts.get(name).ok_or_else(|| AccountError::Unknown(name.to_owned()))
    }

    /// The same, to be changed.
    pub fn account_mut(&mut self, name: &str) -> Result<&mut Account, AccountError> {
        self.accounts.get_mut(name).ok_or_else(|| AccountError::Unknown(name.to_owned()))
    }

    /// Whose that is what belongs to the account of this name now; nothing where nobody is called that.
    pub(crate) fn whose(&self, name: &str) -> Option<Whose> {
        let account = match name == OWNER {
            true => OWNER,
            false => self.accounts.get(name)?.place(name),
        };
        Some(Whose { user: name.to_owned(), account: account.to_owned() })
    }

    /// Whether the account is there still, and not another one in its name.
    pub(crate) fn has(&self, whose: &Whose) -> bool {
        let there = self.whose(&whose.user);
        there.is_some_and(|there| whose.account.is_empty() || whose.account == there.account)
    }

    /// The account of exactly this person.
    pub(crate) fn account_of(&self, whose: &Whose) -> Option<&Account> {
        self.accounts.get(&whose.user).filter(|_| self.has(whose))
    }

    /// Adds an account, as that of somebody new.
    pub fn add(&mut self, name: &str, account: Account) -> Result<(), AccountError> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
        let is_name = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
            && name.len() <= LONGEST_NAME
            && name.bytes().all(plain);
        if !is_name {
            return Err(AccountError::Name(name.to_owned()));
        }
        if RESERVED.contains(&name) {
            return Err(AccountError::Reserved(name.to_owned()));
        }
        if self.accounts.contains_key(name) {
            return Err(AccountError::Taken(name.to_owned()));
        }
        if let Some(identity) = &account.identity {
            self.must_be_free(identity, name)?;
        }
        // No name holds a `~`.
        let id = format!("{name}~{}", charla::new_id());
        self.accounts.insert(name.to_owned(), Account { id, ..account });
        Ok(())
    }

    /// An error if another account is known by this identity.
    pub fn must_be_free(&self, identity: &str, name: &str) -> Result<(), AccountError> {
        match self.by_identity(identity).is_some_and(|known| known != name) {
            true => Err(AccountError::Identity(identity.to_owned())),
            false => Ok(()),
        }
    }

    /// Who is known by this identity.
    pub fn by_identity(&self, identity: &str) -> Option<&str> {
        let mut accounts = self.accounts.iter();
        let found = accounts.find(|(_, account)| account.identity.as_deref() == Some(identity));
        found.map(|(name, _)| name.as_str())
    }

    /// Removes an account with its tokens and sign-ins, and what was shared by it or with it.
    pub fn remove(&mut self, name: &str) -> Result<(), AccountError> {
        self.accounts.remove(name).ok_or_else(|| AccountError::Unknown(name.to_owned()))?;
        self.tokens.retain(|_, token| token.whose.user != name);
        self.sign_out(name);
        self.shares.retain(|share| share.owner != name);
        for share in &mut self.shares {
            share.with.remove(name);
        }
        Ok(())
    }

    /// Ends every sign-in of somebody, and takes back the links that would sign further browsers in.
    pub fn sign_out(&mut self, name: &str) {
        self.sign_ins.retain(|_, sign_in| sign_in.whose.user != name);
        self.links.retain(|_, link| link.whose.user != name);
    }

    /// Takes back the tokens that are meant, with the links that were made with them and the browsers that those signed in.
    pub(crate) fn revoke(&mut self, is_meant: impl Fn(&Token) -> bool) {
        let gone: Vec<String> =
            self.tokens.extract_if(.., |_, token| is_meant(token)).map(|(hash, _)| hash).collect();
        let stays = |token: &Option<String>| !token.as_ref().is_some_and(|token| gone.contains(token));
        self.links.retain(|_, link| stays(&link.token));
        self.sign_ins.retain(|_, sign_in| stays(&sign_in.token));
    }

    /// How much this user of the server may do; nothing where nobody is called that.
    pub(crate) fn role(&self, name: &str) -> Option<Role> {
        match name == OWNER {
            true => Some(Role::Admin),
            false => self.accounts.get(name).map(|account| account.role),
        }
    }

    /// Who else may do what with a session of `owner`'s.
    pub(crate) fn share(&self, owner: &str, session: &str) -> Option<&Share> {
        self.shares.iter().find(|share| share.owner == owner && share.session == session)
    }

    /// Lets somebody into a session of `owner`'s. Who may only look is let in to read.
    pub(crate) fn let_in(
        &mut self,
        owner: &str,
        session: &str,
        user: &str,
        right: Right,
    ) -> Result<(), AccountError> {
        match self.role(user) {
            None => return Err(AccountError::Unknown(user.to_owned())),
            Some(Role::Viewer) if right > Right::Read => {
                return Err(AccountError::OnlyLooks(user.to_owned()));
            }
            Some(_) => {}
        }
        let known = self.shares.iter_mut().find(|share| share.owner == owner && share.session == session);
        match known {
            Some(share) => drop(share.with.insert(user.to_owned(), right)),
            None => self.shares.push(Share {
                owner: owner.to_owned(),
                session: session.to_owned(),
                with: BTreeMap::from([(user.to_owned(), right)]),
            }),
        }
        Ok(())
    }

    /// Takes that back: from one user, or from everybody.
    pub(crate) fn take_back(&mut self, owner: &str, session: &str, user: Option<&str>) {
        for share in &mut self.shares {
            if share.owner == owner && share.session == session {
                share.with.retain(|with, _| user.is_some_and(|user| user != with));
            }
        }
        self.shares.retain(|share| !share.with.is_empty());
    }

    /// Whose session this is that was shared with `name`, and what they may do with it.
    pub(crate) fn shared_with(&self, name: &str, session: &str) -> Option<(&str, Right)> {
        let mut shares = self.shares.iter().filter(|share| share.session == session);
        shares.find_map(|share| Some((share.owner.as_str(), *share.with.get(name)?)))
    }

    /// The sessions that were shared with `name`: their ids, whose they are, and what may be done with them.
    pub(crate) fn shares_with<'b>(
        &'b self,
        name: &'b str,
    ) -> impl Iterator<Item = (&'b str, &'b str, Right)> {
        self.shares.iter().filter_map(move |share| {
            Some((share.session.as_str(), share.owner.as_str(), *share.with.get(name)?))
        })
    }
}

/// A folder that can be given to a user: it exists, and neither holds what the server keeps nor lies in it.
pub fn workspace(folder: &Path, charla_home: &Path) -> Result<PathBuf, AccountError> {
    let refused = |why| AccountError::Workspace { folder: folder.to_owned(), why };
    let real = folder.canonicalize().map_err(|_| refused("there is no such folder"))?;
    let home = charla_home.canonicalize().unwrap_or_else(|_| charla_home.to_owned());
    match () {
        () if !real.is_dir() => Err(refused("it is no folder")),
        () if home.starts_with(&real) => {
            Err(refused("it holds the keys and sessions of this machine's user"))
        }
        () if real.starts_with(&home) => Err(refused("it lies where the server keeps its own things")),
        () => Ok(real),
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
