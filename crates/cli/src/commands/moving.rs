//! `charla sessions push` and `pull`: a session moves between this machine's files and a server.

use charla::session::Arrival;
use charla::{Charla, Failure};
use charla_client::Moved;
use charla_terminal::printer::Printer;

use super::server;
use crate::args::MoveArgs;
use crate::runtime::runtime;

/// Moves a session to a server.
pub fn push(args: &MoveArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let client = server::client(&args.server, charla, printer)?;
    let sessions = charla.sessions()?;
    let moved = runtime()?.block_on(client.push(&sessions, &args.session, args.keep))?;
    let again = format!("charla attach {}", client.server());
    tell(&moved, &format!("at {}", client.server()), &again, printer);
    Ok(())
}

/// Moves a session of a server here.
pub fn pull(args: &MoveArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let client = server::client(&args.server, charla, printer)?;
    let sessions = charla.sessions()?;
    let moved = runtime()?.block_on(client.pull(&sessions, &args.session, args.keep))?;
    tell(&moved, "here", "charla --resume", printer);
    Ok(())
}

fn tell(moved: &Moved, place: &str, again: &str, printer: &mut Printer) {
    let id = &moved.session;
    printer.note(&match moved.arrival {
        Arrival::Kept => format!("the session {id} is {place} now"),
        Arrival::Known => format!("the session {id} was {place} already, the same; nothing was removed"),
    });
    printer.note(&format!("go on with: {again} {id}"));
}
