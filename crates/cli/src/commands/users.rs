//! `charla users`: the accounts of this user's servers. A server that runs sees what is changed here.

use std::fmt::Write as _;
use std::sync::Arc;

use charla::{Charla, Failure};
use charla_server::accounts::{
    Account, AccountError, Book, Budget, Password, Reserved, Role, Spending, now, workspace,
};
use charla_server::{AccountDesk, Edit, SharedDatabase};
use charla_terminal::printer::Printer;
use serde_json::{Value, json};

use super::read_secret;
use crate::args::{RoleWord, UsersCommand};
use crate::runtime::runtime;

/// Where accounts are kept: in the server's folder, or in a database that several nodes share.
struct Kept<'a> {
    charla: &'a Charla,
    database: Option<SharedDatabase>,
}

impl Kept<'_> {
    /// Changes an account, and has that in the audit log.
    fn edit(&self, name: &str, edit: Edit) -> Result<(), Failure> {
        self.at_desk(async |desk| desk.edit(name, edit).await)
    }

    fn read(&self) -> Result<Arc<Book>, Failure> {
        self.at_desk(async |desk| desk.book().await)
    }

    fn at_desk<T>(
        &self,
        work: impl AsyncFnOnce(&AccountDesk) -> Result<T, AccountError>,
    ) -> Result<T, Failure> {
        runtime()?.block_on(async {
            let desk = AccountDesk::open(self.charla.environment(), self.database.as_ref()).await?;
            let done = work(&desk).await;
            desk.close().await;
            done.map_err(failure)
        })
    }
}

/// Runs `charla users`.
pub fn run(
    command: UsersCommand,
    database: Option<String>,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let kept = Kept { charla, database: database.map(SharedDatabase::new) };
    match command {
        UsersCommand::List { json } => list(&kept, json, printer),
        UsersCommand::Remove { name } => {
            kept.edit(&name, Edit::Remove)?;
            printer.note(&format!("{name} has no account any more"));
            Ok(())
        }
        UsersCommand::Role { name, role } => {
            let role = role_of(role);
            kept.edit(&name, Edit::Role(role))?;
            printer.note(&format!("{name} is {} from now on", role.in_words()));
            Ok(())
        }
        UsersCommand::Passwd { name } => {
            kept.read()?.account(&name).map_err(failure)?;
            kept.edit(&name, Edit::Password(password(&name, printer)?))?;
            printer.note(&format!("{name} has another password, and is signed out everywhere"));
            Ok(())
        }
        add @ UsersCommand::Add { .. } => self::add(add, &kept, charla, printer),
    }
}

fn add(
    command: UsersCommand,
    kept: &Kept<'_>,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let UsersCommand::Add {
        name,
        workspace: folder,
        role,
        identity,
        no_password,
        network,
        tokens_per_day,
        usd_per_day,
    } = command
    else {
        return Ok(());
    };
    let environment = charla.environment();
    let home = environment.charla_home().unwrap_or_default();
    let folder = workspace(&environment.directory.join(folder), &home).map_err(failure)?;
    let account = Account {
        id: String::new(),
        role: role_of(role),
        password: if no_password { None } else { Some(password(&name, printer)?) },
        identity,
        workspace: folder,
        network,
        budget: Budget { tokens: tokens_per_day, usd: usd_per_day },
        spent: Spending::default(),
        reserved: Reserved::default(),
    };
    let told = format!("{name} can sign in and works in {}", account.workspace.display());
    kept.edit(&name, Edit::Add(Box::new(account)))?;
    printer.note(&told);
    kept.read()?.overlaps_of(&name).iter().for_each(|told| printer.warning(told));
    Ok(())
}

fn password(name: &str, printer: &mut Printer) -> Result<Password, Failure> {
    let text = read_secret(&format!("password of {name}"), printer)?;
    Password::new(&text).map_err(|weak| failure(weak.into()))
}

fn role_of(word: RoleWord) -> Role {
    match word {
        RoleWord::Viewer => Role::Viewer,
        RoleWord::Member => Role::Member,
        RoleWord::Admin => Role::Admin,
    }
}

fn failure(error: AccountError) -> Failure {
    let message = error.to_string();
    match error {
        AccountError::Unknown(_) => {
            Failure::input(message).with_hint("`charla users list` tells who has one")
        }
        AccountError::Workspace { .. } => {
            Failure::input(message).with_hint("give a folder that is for this user alone")
        }
        AccountError::Kept(_) | AccountError::Audit(_) | AccountError::Untold => Failure::system(message),
        _ => Failure::input(message),
    }
}

fn list(kept: &Kept<'_>, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    let book = kept.read()?;
    if as_json {
        let rows: Vec<Value> = book.accounts.iter().map(|(name, account)| account.shown(name)).collect();
        return printer.result(&format!("{}\n", json!({ "users": rows })));
    }
    let mut text = String::new();
    for (name, account) in &book.accounts {
        let (role, spent) = (format!("{:?}", account.role).to_lowercase(), account.spent.on(now()));
        let folder = account.workspace.display();
        let _ =
            writeln!(text, "{name:<16} {role:<7} {:>9} tokens  ${:<8.2} {folder}", spent.tokens, spent.usd);
    }
    printer.result(&text)
}
