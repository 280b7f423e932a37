//! Providers and models, in words and as JSON.

use charla::models::probe::ProbeReport;
use charla::models::survey::Row;
use serde_json::{Value, json};

/// The providers: those that are ready with their models, the others with why they are not.
pub fn providers(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.entry.name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let (mark, state) = match &row.state {
            Ok(state) => ("+", state),
            Err(reason) => ("-", reason),
        };
        let name = &row.entry.name;
        text.push_str(&format!("{mark} {name:<width$}  {}: {state}\n", row.entry.title()));
        if row.state.is_ok() {
            let indent = " ".repeat(width + 4);
            text.push_str(&format!("{indent}{}\n", row.address));
            for models in row.models.chunks(4) {
                text.push_str(&format!("{indent}{}\n", models.join("  ")));
            }
            for known in &row.known {
                text.push_str(&format!("{indent}{}: tools {}\n", known.model, known.tools.name()));
            }
        }
    }
    text.push_str(
        "\n+ ready, - not. Use one with -m provider/model; any other model of a provider works, too.\n",
    );
    text
}

/// All that was found out about a model.
pub fn probed(report: &ProbeReport) -> String {
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

/// The same for programs.
pub fn probed_as_json(report: &ProbeReport) -> Value {
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
