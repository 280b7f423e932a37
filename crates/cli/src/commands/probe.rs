//! `charla models probe`: asks a model afresh and shows all that was found out.

use charla::models::probe::ProbeReport;
use charla::{Charla, Failure};
use serde_json::{Value, json};

use super::{named_model, settings_of};
use crate::runtime::runtime;
use charla_terminal::printer::Printer;

/// Asks this model, else the one that a run would ask.
pub fn run(model: Option<String>, json: bool, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let settings = settings_of(charla, named_model(model), printer)?;
    let report = runtime()?.block_on(ProbeReport::make(&settings, charla.environment(), printer))?;
    match json {
        true => printer.result(&format!("{:#}\n", to_json(&report))),
        false => printer.words(&to_text(&report)),
    }
}

fn to_text(report: &ProbeReport) -> String {
    let window = match report.window {
        Some((tokens, source)) => format!("{tokens} tokens ({source})"),
        None => "unknown; `providers.<name>.models.<id>.contextWindow` sets it".to_owned(),
    };
    let (mode, why) = &report.tools;
    let thinking = match &report.finding {
        Some(finding) if finding.thoughts => "seen",
        Some(_) => "not seen",
        None => "not asked",
    };
    let kept = match &report.kept {
        Ok(place) => place,
        Err(reason) => reason,
    };
    format!(
        "{}\n  endpoint  {} ({})\n  server    {}\n  window    {window}\n  tools     {}: {why}\n  \
         thinking  {thinking}\n  kept      {kept}\n",
        report.reference,
        report.address,
        report.wire,
        report.server.unwrap_or("unknown"),
        mode.name(),
    )
}

fn to_json(report: &ProbeReport) -> Value {
    let (mode, why) = &report.tools;
    json!({
        "model": report.reference,
        "baseUrl": report.address,
        "wire": report.wire,
        "server": report.server,
        "contextWindow": report.window.map(|(tokens, _)| tokens),
        "contextWindowSource": report.window.map(|(_, source)| source),
        "toolMode": mode.name(),
        "reason": why,
        "found": report.finding.as_ref().map(|finding| finding.tools.name()),
        "thinking": report.finding.as_ref().map(|finding| finding.thoughts),
        "exchanges": report.finding.as_ref().map_or(0, |finding| finding.exchanges),
        "kept": report.kept.is_ok(),
        "file": report.kept.as_ref().ok(),
    })
}
