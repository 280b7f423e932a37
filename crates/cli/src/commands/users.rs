//! `charla users`: the accounts of this user's servers. A server that runs sees what is changed here.

use std::fmt::Write as _;

use charla::{Charla, Failure};
use charla_server::accounts::{
    Account, AccountError, Accounts, Book, Budget, Change, FileAccounts, Password, Role, Spending, now,
    workspace,
};
use charla_server::server_folder;
use charla_terminal::printer::Printer;
use serde_json::{Value, json};

use super::read_secret;
use crate::args::{RoleWord, UsersCommand};
use crate::runtime::runtime;

/// Runs `charla users`.
pub fn run(command: UsersCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let accounts = FileAccounts::new(&server_folder(charla.environment())?);
    match command {
        UsersCommand::List { json } => list(&accounts, json, printer),
        UsersCommand::Remove { name } => {
            let gone = name.clone();
            change(&accounts, Box::new(move |book| book.remove(&gone)))?;
            printer.note(&format!("{name} has no account any more"));
            Ok(())
        }
        UsersCommand::Role { name, role } => {
            let change_role = move |book: &mut Book| {
                book.account_mut(&name)?.role = role_of(role);
                Ok(())
            };
            change(&accounts, Box::new(change_role))
        }
        UsersCommand::Passwd { name } => {
            accounts
                .book()
                .map_err(AccountError::from)
                .and_then(|book| book.account(&name).map(drop))
                .map_err(failure)?;
            let password = password(&name, printer)?;
            let change_password = move |book: &mut Book| {
                book.account_mut(&name)?.password = Some(password);
                book.sign_out(&name);
                Ok(())
            };
            change(&accounts, Box::new(change_password))
        }
        add @ UsersCommand::Add { .. } => self::add(add, &accounts, charla, printer),
    }
}

fn add(
    command: UsersCommand,
    accounts: &FileAccounts,
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
        role: role_of(role),
        password: if no_password { None } else { Some(password(&name, printer)?) },
        identity,
        workspace: folder,
        network,
        budget: Budget { tokens: tokens_per_day, usd: usd_per_day },
        spent: Spending::default(),
    };
    change(accounts, Box::new(move |book| book.add(&name, account)))
}

fn change(accounts: &FileAccounts, change: Change) -> Result<(), Failure> {
    runtime()?.block_on(accounts.change(change)).map(drop).map_err(failure)
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
        AccountError::Kept(_) => Failure::system(message),
        _ => Failure::input(message),
    }
}

fn list(accounts: &FileAccounts, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    let book = accounts.book().map_err(|error| failure(error.into()))?;
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
