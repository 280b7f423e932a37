//! `charla restore`: the whole conversation of a session that was compressed, brought back.

use charla::{Charla, Failure};

use crate::args::RestoreArgs;
use crate::runtime::runtime;
use charla_terminal::compression::too_much;
use charla_terminal::printer::Printer;

/// Runs `charla restore`.
pub fn run(args: &RestoreArgs, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let restored = runtime()?.block_on(charla.restore(&args.session, printer))?;
    let (whole, compressed) = (restored.whole, restored.compressed);
    printer.result(&format!(
        "restored the session {}: {} messages, about {} tokens (compressed: {} messages, about {} tokens)\n",
        restored.session, whole.messages, whole.tokens, compressed.messages, compressed.tokens
    ))?;
    printer.flush()?;
    if let Some(warning) = restored.window.and_then(|window| too_much(whole.tokens, window)) {
        printer.warning(&warning);
    }
    Ok(())
}
