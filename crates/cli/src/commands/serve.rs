//! `charla serve`: sessions for browsers and programs.

use std::time::Duration;

use charla::{Charla, Failure};
use charla_server::{ServeOptions, Server, SharedDatabase};

use crate::args::ServeArgs;
use crate::runtime::runtime;
use crate::signals::cancel_on_signals;
use charla_terminal::printer::Printer;

/// Serves until the process is asked to end.
pub fn run(args: ServeArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let ServeArgs { listen, origins, plain_http, database, lease } = args;
    let lease = Some(Duration::from_secs(lease));
    let database = database.map(|address| SharedDatabase { address, lease });
    let options = ServeOptions { listen, origins, plain_http, database };
    // Many sessions wait for the disk at once.
    let charla = Charla::new(charla.environment().clone());
    runtime()?.block_on(async {
        let stop = cancel_on_signals();
        let server = Server::bind(charla, &options).await?;
        printer.result(&format!("{}\n", server.one_time_link()))?;
        printer.flush()?;
        printer.note("open this link in a browser; it signs in once");
        printer.note(&format!("programs send the token in {}", server.token_file().display()));
        server.run(stop).await;
        Ok(())
    })
}
