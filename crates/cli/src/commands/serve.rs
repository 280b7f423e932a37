//! `charla serve`: sessions for browsers and programs.

use std::time::Duration;

use charla::{Charla, Failure};
use charla_server::{OidcOptions, Proxy, ServeOptions, Server, SharedDatabase, TlsFiles};

use crate::args::ServeArgs;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;
use charla_terminal::signals::cancel_on_signals;

/// Serves until the process is asked to end.
pub fn run(args: ServeArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let options = options(args)?;
    // Many sessions wait for the disk at once.
    let charla = Charla::new(charla.environment().clone());
    runtime()?.block_on(async {
        let stop = cancel_on_signals();
        let server = Server::bind(charla, &options).await?;
        printer.result(&format!("{}\n", server.one_time_link().await?))?;
        printer.flush()?;
        printer.note("open this link in a browser; it signs in once");
        printer.note(&format!("programs send the token in {}", server.token_file().display()));
        for warning in server.warnings() {
            printer.note(&format!("warning: {warning}"));
        }
        server.run(stop).await;
        Ok(())
    })
}

fn options(args: ServeArgs) -> Result<ServeOptions, Failure> {
    let proxy = args.trusted_proxy.map(Proxy::new);
    let proxy = match (proxy, args.proxy_secret) {
        (Some(proxy), Some(file)) => Some(proxy.with_secret(&file)?),
        (proxy, _) => proxy,
    };
    let proxy = match (proxy, args.forwarded_user) {
        (Some(proxy), Some(header)) => {
            let naming = proxy.naming_users(&header);
            Some(naming.ok_or_else(|| Failure::input(format!("`{header}` is no name of a header")))?)
        }
        (proxy, _) => proxy,
    };
    let (oidc, secret_file) = (args.oidc_issuer.zip(args.oidc_client), args.oidc_secret);
    let (lease, key_file) = (Some(Duration::from_secs(args.lease)), args.key_file);
    Ok(ServeOptions {
        listen: args.listen,
        origins: args.origins,
        plain_http: args.plain_http,
        tls: args.tls_cert.zip(args.tls_key).map(|(certificate, key)| TlsFiles { certificate, key }),
        proxy,
        workspaces: args.workspaces,
        database: args.database.map(|address| SharedDatabase { address, lease, key_file }),
        oidc: oidc.map(|(issuer, client_id)| OidcOptions { issuer, client_id, secret_file }),
    })
}
