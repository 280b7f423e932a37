//! `charla rewind`: an earlier message becomes the last one.

use charla::session::Message;
use charla::{Charla, Failure};
use charla_proto::Role;

use crate::args::RewindArgs;
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Characters of a message that are shown.
const SHOWN: usize = 70;

/// Runs `charla rewind`.
pub fn run(args: &RewindArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let Some(message) = args.message else { return list(&args.session, charla, printer) };
    let rewound = runtime()?.block_on(charla.rewind(&args.session, message, args.files, printer))?;
    for file in &rewound.files {
        let done = if file.change.after.is_some() { "restored" } else { "removed" };
        printer.words(&format!("{done:<12}  {}\n", file.change.path.display()))?;
    }
    printer.flush()?;
    let session = &rewound.session;
    printer.note(&format!("the session {session} goes on after message {}", rewound.to));
    Ok(())
}

fn list(which: &str, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let (id, messages) = runtime()?.block_on(charla.sessions()?.messages(which))?;
    for Message { seq, role, words, .. } in messages {
        let speaker = if role == Role::User { "you" } else { "model" };
        let words: String = words.chars().take(SHOWN).collect();
        printer.words(&format!("{seq:>6}  {speaker:<5}  {words}\n"))?;
    }
    printer.flush()?;
    printer.note(&format!("`charla rewind NUMBER --session {id}` makes a message the last one"));
    Ok(())
}
