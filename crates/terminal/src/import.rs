//! What came of moving in from other agents, in lines.

use charla::Failure;
use charla::import::ImportReport;

use crate::printer::Printer;
use crate::wording::notice;

/// Tells of everything that was found in these programs; `took` says whether it was done.
pub fn tell(
    report: &ImportReport,
    took: &str,
    programs: &[&str],
    printer: &mut Printer,
) -> Result<(), Failure> {
    for entry in &report.taken {
        printer.result(&format!("{took}  {}: {} → {}\n", entry.program, entry.what, notice(&entry.about)))?;
    }
    for entry in &report.left {
        printer.result(&format!("left  {}: {} ({})\n", entry.program, entry.what, notice(&entry.about)))?;
    }
    if !report.guards.is_empty() {
        let guards: Vec<String> =
            report.guards.iter().map(|entry| format!("{} of {}", entry.what, entry.program)).collect();
        printer.warning(&format!("what guarded you there does not hold here: {}", guards.join(", ")));
    }
    if report.taken.is_empty() && report.left.is_empty() {
        printer.note(&format!("nothing was taken: your home folder has nothing of {}", programs.join(", ")));
    } else if report.taken.is_empty() {
        printer.note("nothing was taken");
    }
    Ok(())
}
