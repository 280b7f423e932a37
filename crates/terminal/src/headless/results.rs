//! What tools bring, for whoever sees it nowhere else.

use charla_proto::text::one_line;
use charla_proto::{Display, ToolResult};

use crate::excerpt::Excerpt;
use crate::printer::Printer;

/// Tells how a call ended, and the ends of what it printed.
pub(super) fn tell(result: &ToolResult, printer: &mut Printer) {
    printer.clear_fleeting();
    let failed = result.display.as_ref().and_then(Display::failed_with);
    let text = match &result.display {
        Some(Display::Command { output, .. }) => output.clone(),
        Some(display) => display.to_text(),
        None => result.output.clone(),
    };
    let how = failed.unwrap_or_else(|| "done".to_owned());
    printer.note(&format!("{}: {how}", one_line(&result.name)));
    let Excerpt { first, hidden, last } = Excerpt::of(&text);
    let cut = (hidden > 0).then(|| format!("… {hidden} more lines"));
    // Behind a margin: no line of an output may pass for one of ours.
    for line in first.into_iter().chain(cut.as_deref()).chain(last) {
        printer.note(&format!("  {line}"));
    }
}
