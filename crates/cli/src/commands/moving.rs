//! `charla sessions push` and `pull`: a session moves between this machine's files and a server.

use charla::session::Arrival;
use charla::{Charla, Failure, FailureKind};
use charla_client::RemoteSessions;
use charla_terminal::printer::Printer;

use super::server;
use crate::args::MoveArgs;
use crate::runtime::runtime;

/// Moves a session to a server. Nobody writes it meanwhile, and it is removed here once the server has all of it.
pub fn push(args: &MoveArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let client = server::client(&args.server, charla, printer)?;
    runtime()?.block_on(async {
        let sessions = charla.sessions()?;
        let id = sessions.find(&args.session).await?;
        let (bundle, held) = sessions.hold(&id).await?;
        let arrival = client.import(&bundle).await?;
        drop(held);
        if !args.keep {
            sessions.delete(&id).await.map_err(|error| left_behind(error.into(), "here"))?;
        }
        tell(&id, arrival, &format!("at {}", client.server()), printer);
        printer.note(&format!("go on with: charla attach {} {id}", client.server()));
        Ok(())
    })
}

/// Moves a session of a server here. It is removed there once all of it is here, unless it has gone on meanwhile.
pub fn pull(args: &MoveArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let client = server::client(&args.server, charla, printer)?;
    runtime()?.block_on(async {
        let id = RemoteSessions::new(client.clone()).find(&args.session).await?;
        let bundle = client.bundle(&id).await?;
        if bundle.session()? != id {
            return Err(Failure::system(format!("{} gave another session than {id}", client.server())));
        }
        let last = bundle.last();
        let arrival = charla.sessions()?.take_in(bundle).await?;
        if !args.keep {
            let gone = client.delete(&id, Some(last)).await;
            gone.map_err(|error| left_behind(error.into(), "there"))?;
        }
        tell(&id, arrival, "here", printer);
        printer.note(&format!("go on with: charla --resume {id}"));
        Ok(())
    })
}

fn tell(id: &str, arrival: Arrival, place: &str, printer: &mut Printer) {
    let words = match arrival {
        Arrival::Kept => format!("the session {id} is {place} now"),
        Arrival::Known => format!("the session {id} was {place} already, the same"),
    };
    printer.note(&words);
}

/// It arrived, and could not be removed where it came from.
fn left_behind(failure: Failure, place: &str) -> Failure {
    let message = format!("the session arrived, but is still kept {place}: {}", failure.message);
    Failure { message, kind: FailureKind::Conflict, hint: failure.hint }
}
