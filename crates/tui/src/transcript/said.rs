//! What was said and done beside the running step, as rows.

use charla_proto::text::{behind_margin, one_line};
use charla_proto::{
    Citation, CompressionTrigger, Content, Fact, ModelSwitch, PartKind, RevertedFile, TurnEvent, own_parts,
};
use charla_terminal::hooks::hook_message;
use charla_terminal::{compression, grants, wording};

use crate::text::{Emphasis, Line, Role};

/// Rows of a prompt that is shown again.
const PROMPT_ROWS: usize = 30;
/// How many files are named.
const NAMED: usize = 8;

/// What a person said.
pub fn prompt(content: &Content, speaker: Option<&str>, columns: usize) -> Vec<Line> {
    let mark = match speaker {
        None => Line::of(Role::Accent, "› "),
        Some(name) => Line::of(Role::Accent, &format!("› {}: ", one_line(name))),
    };
    let indent = Line::plain("  ");
    let mut lines: Vec<Line> = Vec::new();
    for text in words(content).lines() {
        let first = if lines.is_empty() { &mark } else { &indent };
        let line = Line::plain(text).with_emphasis(Emphasis::BOLD);
        lines.extend(line.wrap_behind(columns, first, &indent));
        if lines.len() > PROMPT_ROWS {
            break;
        }
    }
    if lines.len() > PROMPT_ROWS {
        lines.truncate(PROMPT_ROWS);
        let rest = words(content).lines().count();
        lines.push(Line::of(Role::Dim, &format!("  … all of it has {rest} lines")));
    }
    lines
}

/// The words of a content, and its other parts by their kind. What a file holds that was attached stays out of sight.
fn words(content: &Content) -> String {
    let mut words = Vec::new();
    for (index, part) in own_parts(content).iter().enumerate() {
        match &part.kind {
            PartKind::Text(text) if index == 0 => words.push(text.trim_end().to_owned()),
            PartKind::Text(text) => {
                let name = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("a text");
                words.push(format!("[attached: {}]", one_line(name.trim_matches(['-', ' ', ':']))));
            }
            PartKind::InlineData(blob) => words.push(format!("[{}]", one_line(&blob.mime_type))),
            PartKind::FileData(data) => words.push(format!("[{}]", one_line(&data.file_uri))),
            _ => {}
        }
    }
    words.join("\n")
}

/// The sources a model names.
pub fn sources(citations: &[Citation], columns: usize) -> Vec<Line> {
    let named = citations.iter().filter_map(|citation| {
        let address = citation.uri.as_deref().unwrap_or_default();
        let title = citation.title.as_deref().unwrap_or_default();
        let words = format!("{title} {address}");
        (!words.trim().is_empty()).then(|| Line::of(Role::Dim, &format!("source: {}", words.trim())))
    });
    named.flat_map(|line| line.wrap(columns)).collect()
}

/// A fact that changes something, unless it was the person here who wanted it and saw it done.
pub fn about(fact: &Fact, me: &str, columns: usize) -> Vec<Line> {
    let by = |by: &Option<String>| match by.as_deref() {
        Some(who) if who != me && who != "settings" => format!(" (by {})", one_line(who)),
        _ => String::new(),
    };
    let words = match fact {
        Fact::ModeChanged(changed) if changed.by.as_deref() != Some("settings") => {
            format!("approval mode: {}{}", changed.mode, by(&changed.by))
        }
        Fact::ModelChanged(changed) => format!("{} answers from now on{}", changed.model, by(&changed.by)),
        Fact::GrantRevoked(revoked) => match grants::taken_back(revoked) {
            Some(words) => format!("{words}{}", by(&Some(revoked.by.clone()))),
            None => return Vec::new(),
        },
        Fact::RulesSaved(saved) => format!("saved in {}", saved.place),
        Fact::Imported(imported) => {
            format!("came from {}: what was allowed there no longer holds", one_line(&imported.from))
        }
        Fact::Restored(restored) => format!("the whole conversation is back{}", by(&restored.by)),
        Fact::OutputsCut(cut) => {
            format!("large outputs of {} calls are sent cut from now on", cut.calls.len())
        }
        Fact::Rewound(rewound) => {
            let to = match rewound.to {
                0 => "the beginning".to_owned(),
                message => format!("message {message}"),
            };
            let files = match rewound.files.as_slice() {
                [] => String::new(),
                some => format!("; put back: {}", files(some)),
            };
            format!("rewound to {to}{files}{}", by(&rewound.by))
        }
        Fact::ChangesUndone(undone) => {
            format!("undone: {} of turn {}{}", files(&undone.files), undone.turn, by(&undone.by))
        }
        Fact::ChangesRedone(redone) => {
            format!("redone: {} of turn {}{}", files(&redone.files), redone.turn, by(&redone.by))
        }
        _ => return Vec::new(),
    };
    Line::of(Role::Dim, &words).wrap(columns)
}

/// Files by their names, and those of many by their number.
pub fn files(files: &[RevertedFile]) -> String {
    let name = |file: &RevertedFile| {
        let path = &file.change.path;
        one_line(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
    };
    let named: Vec<String> = files.iter().take(NAMED).map(name).collect();
    let count = if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) };
    let more = if files.len() > NAMED { ", …" } else { "" };
    format!("{count} ({}{more})", named.join(", "))
}

/// An event that changes no step.
pub fn in_passing(event: &TurnEvent, columns: usize) -> Vec<Line> {
    let (role, words) = match event {
        TurnEvent::ModelSwitched(ModelSwitch { from, to, reason }) => {
            (Role::Warning, format!("{from} gave up ({reason}); {to} goes on"))
        }
        TurnEvent::HookRan(ran) => match &ran.system_message {
            Some(message) => (Role::Dim, behind_margin(&hook_message(message))),
            None => return Vec::new(),
        },
        TurnEvent::HandOverAsked { by } => (Role::Warning, wording::hand_over_asked(by, true)),
        TurnEvent::Notice { message } => (Role::Warning, format!("warning: {message}")),
        TurnEvent::ChatCompressed(report) => match report.trigger {
            CompressionTrigger::Auto => (Role::Dim, compression::in_passing(report)),
            CompressionTrigger::Manual => match compression::told(report) {
                Ok(words) => (Role::Plain, words),
                Err(error) => (Role::Failure, error.message),
            },
        },
        _ => return Vec::new(),
    };
    Line::of(role, &words).wrap(columns)
}
