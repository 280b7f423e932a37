//! `charla rewind`: an earlier message becomes the last one.

use charla::{Charla, Failure};
use charla_proto::{Conversation, PartKind, Role};

use crate::args::RewindArgs;
use crate::printer::Printer;
use crate::runtime::runtime;

/// Characters of a message that are shown.
const SHOWN: usize = 70;

/// Runs `charla rewind`.
pub fn run(args: &RewindArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let Some(message) = args.message else { return list(&args.session, charla, printer) };
    let rewound = runtime()?.block_on(charla.rewind(&args.session, message, args.files, printer))?;
    for file in &rewound.files {
        printer.words(&format!("put back  {}\n", file.change.path.display()))?;
    }
    printer.flush()?;
    let session = &rewound.session;
    printer.note(&format!("the session {session} goes on after message {}", rewound.to));
    Ok(())
}

fn list(which: &str, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let sessions = charla.sessions()?;
    let (id, records) = runtime()?.block_on(sessions.read(which))?;
    for (seq, content) in &Conversation::of(&records).contents {
        let speaker = match content.role {
            Role::User => "you",
            Role::Model => "model",
        };
        let calls = content.parts.iter().filter_map(|part| match &part.kind {
            PartKind::FunctionCall(call) => Some(format!("[{}]", call.name)),
            PartKind::FunctionResponse(response) => Some(format!("[result of {}]", response.name)),
            _ => None,
        });
        let words: Vec<String> = std::iter::once(content.text()).chain(calls).collect();
        let words = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let words: String = words.chars().take(SHOWN).collect();
        printer.words(&format!("{seq:>6}  {speaker:<5}  {words}\n"))?;
    }
    printer.flush()?;
    printer.note(&format!("`charla rewind NUMBER --session {id}` makes a message the last one"));
    Ok(())
}
