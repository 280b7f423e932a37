//! Accounts as the command line changes them, beside a server that may run: what is changed there is in the audit log, too.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use charla::{Environment, Failure};
use charla_store::Database;
use serde_json::{Map, Value, json};

use crate::accounts::{
    Account, AccountError, Accounts, Book, DatabaseAccounts, FileAccounts, OWNER, Password, Role,
};
use crate::audit::{self, Audit, Entry, Outcome};
use crate::problem::Problem;
use crate::{SharedDatabase, connect, server_folder};

/// Where the log says such changes come from.
const FROM: &str = "command line";

/// How often the log is tried that does not take what came of a change, and the pause before each.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_secs(1);

/// A change of somebody's account.
#[derive(Clone, Debug)]
pub enum Edit {
    /// They have one from now on.
    Add(Box<Account>),
    /// They may do this much.
    Role(Role),
    /// They have another password, and every browser of theirs is signed out.
    Password(Password),
    /// They have none any more.
    Remove,
}

impl Edit {
    /// The name of the route that does the same.
    fn name(&self) -> &'static str {
        match self {
            Edit::Add(_) => "create_user",
            Edit::Role(_) | Edit::Password(_) => "change_user",
            Edit::Remove => "remove_user",
        }
    }

    /// What the log says about it, in the words of those routes.
    fn entry(&self, user: &str) -> Entry {
        let (named, mut about) = match self {
            Edit::Add(account) => ("name", told(account)),
            Edit::Role(role) => ("user", Map::from_iter([("role".to_owned(), json!(role))])),
            Edit::Password(_) => ("user", Map::from_iter([audit::secret()])),
            Edit::Remove => ("user", Map::new()),
        };
        about.insert(named.to_owned(), audit::shown(user));
        Entry { who: OWNER.to_owned(), from: FROM.to_owned(), what: self.name().to_owned(), about }
    }

    /// What the log says came of it once it was made.
    fn outcome(&self, user: &str, book: &Book) -> Outcome {
        match self {
            Edit::Add(_) => Outcome::done(201, book.whose(user).map(|whose| whose.account)),
            Edit::Role(_) | Edit::Password(_) => Outcome::done(200, None),
            Edit::Remove => Outcome::done(204, None),
        }
    }

    fn make(&self, user: &str, book: &mut Book) -> Result<(), AccountError> {
        match self {
            Edit::Add(account) => book.add(user, Account::clone(account)),
            Edit::Role(role) => {
                book.account_mut(user)?.role = *role;
                Ok(())
            }
            Edit::Password(password) => {
                book.account_mut(user)?.password = Some(password.clone());
                book.sign_out(user);
                Ok(())
            }
            Edit::Remove => book.remove(user),
        }
    }
}

/// What the log tells of a new account.
fn told(account: &Account) -> Map<String, Value> {
    let body = json!({
        "role": account.role,
        "workspace": account.workspace,
        "identity": account.identity,
        "network": account.network,
        "budget": account.budget,
        "password": account.password.as_ref().map(|_| ""),
    });
    audit::told(Some("NewUser"), body.to_string().as_bytes())
}

/// The accounts of this user's servers.
pub struct AccountDesk {
    accounts: Box<dyn Accounts>,
    audit: Audit,
    database: Option<Database>,
}

impl AccountDesk {
    /// The accounts in the server's folder, or in a database that several nodes share.
    pub async fn open(environment: &Environment, shared: Option<&SharedDatabase>) -> Result<Self, Failure> {
        let folder = server_folder(environment)?;
        let database = match shared {
            Some(shared) => Some(connect(shared).await?),
            None => None,
        };
        Ok(Self::new(&folder, database))
    }

    fn new(folder: &Path, database: Option<Database>) -> Self {
        let accounts: Box<dyn Accounts> = match &database {
            Some(database) => Box::new(DatabaseAccounts::new(database.clone())),
            None => Box::new(FileAccounts::new(folder)),
        };
        Self { accounts, audit: Audit::new(folder, database.as_ref()), database }
    }

    /// All accounts as they are.
    pub async fn book(&self) -> Result<Arc<Book>, AccountError> {
        Ok(self.accounts.fresh().await?)
    }

    /// Changes an account. Nothing is changed that is not in the log, and what came of it is there afterwards.
    pub async fn edit(&self, user: &str, edit: Edit) -> Result<(), AccountError> {
        let entry = edit.entry(user);
        let number = self.audit.write(entry.clone()).await.map_err(AccountError::Audit)?;
        let (name, change) = (user.to_owned(), edit.clone());
        let changed = self.accounts.change(Box::new(move |book| change.make(&name, book))).await;
        let result = match &changed {
            Ok(book) => entry.result(number, Ok(edit.outcome(user, book))),
            Err(error) => entry.result(number, Err(&Problem::from(error))),
        };
        self.audit.write_result(result).await;
        let is_told = self.tell_rest().await;
        match changed {
            Ok(_) if !is_told => Err(AccountError::Untold),
            changed => changed.map(drop),
        }
    }

    /// Waits a while until the log has what came of a change: nobody writes it after this process. Whether it has.
    async fn tell_rest(&self) -> bool {
        for _ in 0..TRIES {
            if self.audit.is_told() {
                return true;
            }
            tokio::time::sleep(PAUSE).await;
            self.audit.tell_rest().await;
        }
        self.audit.is_told()
    }

    /// Lets go of the database. One that only looked is forgotten with its lease where that fails.
    pub async fn close(self) {
        if let Some(database) = self.database {
            let _ = database.leave().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::{Budget, Reserved, Spending};
    use crate::verify_audit;

    fn account(folder: &Path) -> Account {
        Account {
            id: String::new(),
            role: Role::Member,
            password: Some(Password::new("quite a long one").unwrap()),
            identity: Some("anna@example.org".to_owned()),
            workspace: folder.to_owned(),
            network: true,
            budget: Budget { tokens: Some(5), usd: None },
            spent: Spending::default(),
            reserved: Reserved::default(),
        }
    }

    #[tokio::test]
    async fn each_change_is_in_the_log_before_it_is_made_without_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let desk = AccountDesk::new(folder.path(), None);
        desk.edit("anna", Edit::Add(Box::new(account(folder.path())))).await.unwrap();
        desk.edit("anna", Edit::Role(Role::Viewer)).await.unwrap();
        desk.edit("anna", Edit::Password(Password::new("another long one").unwrap())).await.unwrap();
        desk.edit("anna", Edit::Remove).await.unwrap();
        assert!(matches!(desk.edit("anna", Edit::Remove).await, Err(AccountError::Unknown(_))));
        assert!(desk.book().await.unwrap().accounts.is_empty());
        let log = audit::path_in(folder.path());
        assert_eq!(verify_audit(&log).unwrap(), Ok(10));
        let text = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (results, lines): (Vec<Value>, Vec<Value>) =
            lines.into_iter().partition(|line| line["what"] == "result");
        let told =
            |name: &str| results.iter().map(|result| result["about"][name].clone()).collect::<Vec<_>>();
        assert_eq!(told("status"), [201, 200, 200, 204, 404]);
        assert_eq!(told("of"), [1, 3, 5, 7, 9]);
        assert!(results[0]["about"]["id"].as_str().unwrap().starts_with("anna~"));
        assert_eq!(results[4]["about"]["kind"], "not_found");
        let what: Vec<&str> = lines.iter().map(|line| line["what"].as_str().unwrap()).collect();
        assert_eq!(what, ["create_user", "change_user", "change_user", "remove_user", "remove_user"]);
        let about = &lines[0]["about"];
        assert_eq!(
            (&about["name"], &about["network"], &about["password"]),
            (&json!("anna"), &json!("true"), &json!("(set)"))
        );
        assert_eq!(about["identity"], "anna@example.org");
        assert_eq!(lines[1]["about"], json!({"role": "viewer", "user": "anna"}));
        assert_eq!(lines[2]["about"], json!({"password": "(set)", "user": "anna"}));
        assert!(lines.iter().all(|line| line["who"] == "web" && line["from"] == "command line"));
        assert!(!text.contains("argon2") && !text.contains("long one"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_that_the_log_does_not_take_is_tried_again_before_the_process_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = audit::path_in(folder.path());
        std::fs::create_dir(&path).unwrap();
        let desk = AccountDesk::new(folder.path(), None);
        let result = Edit::Remove.entry("anna").result(1, Ok(Outcome::done(204, None)));
        desk.audit.write_result(result).await;
        assert!(!desk.tell_rest().await);
        let mend = async {
            tokio::time::sleep(PAUSE * 2).await;
            std::fs::remove_dir(&path).unwrap();
        };
        let (is_told, ()) = tokio::join!(desk.tell_rest(), mend);
        assert!(is_told);
        assert_eq!(verify_audit(&path).unwrap(), Ok(1));
    }

    #[tokio::test]
    async fn what_the_log_does_not_take_is_not_done() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(audit::path_in(folder.path())).unwrap();
        let desk = AccountDesk::new(folder.path(), None);
        let refused = desk.edit("anna", Edit::Add(Box::new(account(folder.path())))).await;
        assert!(matches!(refused, Err(AccountError::Audit(_))));
        assert!(desk.book().await.unwrap().accounts.is_empty());
    }
}
