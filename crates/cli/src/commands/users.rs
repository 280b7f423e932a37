//! `charla users`: the accounts of this user's servers. A server that runs sees what is changed here.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use charla::{Charla, Failure};
use charla_server::accounts::{
    Account, AccountError, Accounts, Book, Budget, Change, DatabaseAccounts, FileAccounts, Password,
    Reserved, Role, Spending, now, workspace,
};
use charla_server::{SharedDatabase, connect, server_folder};
use charla_terminal::printer::Printer;
use serde_json::{Value, json};

use super::read_secret;
use crate::args::{RoleWord, UsersCommand};
use crate::runtime::runtime;

/// Where accounts are kept: in the server's folder, or in a database that several nodes share.
struct Kept {
    folder: PathBuf,
    database: Option<String>,
}

impl Kept {
    /// Changes the accounts; as they are then.
    fn change(&self, change: Change) -> Result<Arc<Book>, Failure> {
        runtime()?.block_on(async {
            let Some(address) = self.database.clone() else {
                return FileAccounts::new(&self.folder).change(change).await.map_err(failure);
            };
            let database = connect(&SharedDatabase::new(address)).await?;
            let changed = DatabaseAccounts::new(database.clone()).change(change).await.map_err(failure);
            // A node that only looked is forgotten with its lease.
            let _ = database.leave().await;
            changed
        })
    }

    fn read(&self) -> Result<Arc<Book>, Failure> {
        self.change(Box::new(|_| Ok(())))
    }
}

/// Runs `charla users`.
pub fn run(
    command: UsersCommand,
    database: Option<String>,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let kept = Kept { folder: server_folder(charla.environment())?, database };
    match command {
        UsersCommand::List { json } => list(&kept, json, printer),
        UsersCommand::Remove { name } => {
            let gone = name.clone();
            kept.change(Box::new(move |book| book.remove(&gone)))?;
            printer.note(&format!("{name} has no account any more"));
            Ok(())
        }
        UsersCommand::Role { name, role } => {
            let told = format!("{name} is {} from now on", in_words(role));
            let change_role = move |book: &mut Book| {
                book.account_mut(&name)?.role = role_of(role);
                Ok(())
            };
            kept.change(Box::new(change_role))?;
            printer.note(&told);
            Ok(())
        }
        UsersCommand::Passwd { name } => {
            kept.read()?.account(&name).map_err(failure)?;
            let password = password(&name, printer)?;
            let told = format!("{name} has another password, and is signed out everywhere");
            let change_password = move |book: &mut Book| {
                book.account_mut(&name)?.password = Some(password.clone());
                book.sign_out(&name);
                Ok(())
            };
            kept.change(Box::new(change_password))?;
            printer.note(&told);
            Ok(())
        }
        add @ UsersCommand::Add { .. } => self::add(add, &kept, charla, printer),
    }
}

fn add(command: UsersCommand, kept: &Kept, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
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
    kept.change(Box::new(move |book| book.add(&name, account.clone())))?;
    printer.note(&told);
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

fn in_words(word: RoleWord) -> &'static str {
    match word {
        RoleWord::Viewer => "a viewer",
        RoleWord::Member => "a member",
        RoleWord::Admin => "an admin",
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
        AccountError::Kept(_) => Failure::system(message),
        _ => Failure::input(message),
    }
}

fn list(kept: &Kept, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
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
