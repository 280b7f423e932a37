//! `charla serve`: sessions for browsers and programs.

use charla::{Charla, Failure};
use charla_server::{ForwardedUser, ServeOptions, Server};

use crate::args::ServeArgs;
use crate::runtime::runtime;
use crate::signals::cancel_on_signals;
use charla_terminal::printer::Printer;

/// Serves until the process is asked to end.
pub fn run(args: ServeArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let ServeArgs { listen, origins, plain_http, forwarded_user, trusted_proxy } = args;
    let forwarded_user = match forwarded_user.zip(trusted_proxy) {
        Some((header, proxy)) => Some(
            ForwardedUser::new(&header, proxy)
                .ok_or_else(|| Failure::input(format!("`{header}` is no name of a header")))?,
        ),
        None => None,
    };
    let options = ServeOptions { listen, origins, plain_http, forwarded_user };
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
