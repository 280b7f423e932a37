//! `charla auth`: keys, and logging in.

use charla::credentials::google::PendingLogin;
use charla::credentials::{KeyRing, Keys};
use charla::models::Directory;
use charla::settings::{self, Settings};
use charla::{Charla, Environment, Failure};
use charla_client::ServerAddress;
use secrecy::SecretString;

use super::read_secret;
use crate::args::AuthCommand;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Runs `charla auth`.
pub fn run(command: AuthCommand, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let environment = charla.environment();
    let settings = settings::load(environment, Vec::new())?.settings;
    let ring = || {
        Keys::new(environment).ring().ok_or_else(|| {
            Failure::config("there is no home directory to keep keys in").with_hint("set CHARLA_HOME")
        })
    };
    match command {
        AuthCommand::Login => runtime()?.block_on(login(&settings, environment, printer)),
        AuthCommand::Set { provider } if provider.starts_with(SERVER) => {
            set_key(&server_key(&provider)?, &ring()?, printer)
        }
        AuthCommand::Remove { provider } if provider.starts_with(SERVER) => {
            forget(&server_key(&provider)?, &ring()?, printer)
        }
        AuthCommand::Set { provider } => {
            let entry = Directory::new(&settings).find(&provider)?;
            set_key(&entry.name, &ring()?, printer)
        }
        AuthCommand::Remove { provider } => {
            let entry = Directory::new(&settings).find(&provider)?;
            forget(&entry.name, &ring()?, printer)
        }
    }
}

/// What stands before a server's address where its token is kept.
const SERVER: &str = "server:";

fn server_key(name: &str) -> Result<String, Failure> {
    Ok(ServerAddress::parse(name.trim_start_matches(SERVER))?.key_name())
}

fn forget(name: &str, ring: &KeyRing, printer: &mut Printer) -> Result<(), Failure> {
    let done = if ring.remove(name)? { "forgot the key of" } else { "there was no kept key of" };
    printer.note(&format!("{done} {name}"));
    Ok(())
}

async fn login(settings: &Settings, environment: &Environment, printer: &mut Printer) -> Result<(), Failure> {
    let login = PendingLogin::start(settings, environment).await?;
    printer.note("open this address in a browser on this machine:");
    printer.note(login.url());
    let path = login.finish().await?;
    printer.note(&format!("logged in; kept in {}", path.display()));
    Ok(())
}

fn set_key(provider: &str, ring: &KeyRing, printer: &mut Printer) -> Result<(), Failure> {
    let key = read_key(provider, printer)?;
    ring.set(provider, &key)?;
    printer.note(&format!("kept the key of {provider} in {}", ring.path.display()));
    Ok(())
}

fn read_key(provider: &str, printer: &mut Printer) -> Result<SecretString, Failure> {
    let text = read_secret(&format!("key of {provider}"), printer)?;
    match text.trim() {
        "" => Err(Failure::input("no key was given")
            .with_hint(format!("pass it on standard input: charla auth set {provider} < key.txt"))),
        key if key.contains(char::is_whitespace) => {
            Err(Failure::input("a key is one word, but several came"))
        }
        key => Ok(key.to_owned().into()),
    }
}
