//! Servers that commands speak to.

use charla::settings::Settings;
use charla::{Charla, Failure};
use charla_client::{Client, ServerAddress, token};
use charla_terminal::printer::Printer;

use super::settings_of;

/// A client of the server at this address.
pub fn connect(address: &str, settings: &Settings, charla: &Charla) -> Result<Client, Failure> {
    let address = ServerAddress::parse(address)?;
    let token = token(&address, charla.environment())?;
    Client::new(address, token, settings, charla.environment())
}

/// The same under the settings that hold.
pub fn client(address: &str, charla: &Charla, printer: &mut Printer) -> Result<Client, Failure> {
    connect(address, &settings_of(charla, Vec::new(), printer)?, charla)
}
