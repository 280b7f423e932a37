//! What a person is shown. Complete: nothing of what would happen is left out, and nothing in it can hide.

use std::fmt::Write;

use charla_proto::text::visible;
use charla_proto::{Confirmation, ConfirmationDetail, Question, QuestionKind};

/// The card of a question.
pub(super) fn text(confirmation: &Confirmation) -> String {
    let mut card = format!("\n── {} · {}\n", confirmation.tool, confirmation.title);
    let mut shown = |label: &str, text: &str| {
        let _ = writeln!(card, "{label:<11}{text}");
    };
    match &confirmation.detail {
        ConfirmationDetail::Exec { command, cwd } => {
            shown("command", &indented(command));
            shown("folder", &cwd.display().to_string());
        }
        ConfirmationDetail::Edit { path, diff, before, .. } => {
            let what = if before.is_some() { "changes" } else { "new file" };
            shown(what, &path.display().to_string());
            for line in diff.lines() {
                shown("", line);
            }
        }
        ConfirmationDetail::Info { text, urls } => {
            shown("does", &indented(text));
            if !urls.is_empty() {
                shown("goes to", &urls.join(", "));
            }
        }
        ConfirmationDetail::Mcp { server, tool, args } => {
            shown("calls", &format!("{tool} of the server {server}"));
            let args = serde_json::to_string_pretty(args).unwrap_or_default();
            shown("with", &indented(&args));
        }
        ConfirmationDetail::AskUser { .. } => {}
    }
    shown("asked by", &confirmation.rule);
    for reason in &confirmation.reasons {
        shown("", &indented(reason));
    }
    shown("isolation", &confirmation.isolation);
    if let Some(rules) = &confirmation.always {
        shown("always adds", "");
        for line in rules.lines() {
            shown("", line);
        }
    }
    visible(&card)
}

/// The line that says what can be answered, without an end: the answer stands behind it.
pub(super) fn choices(confirmation: &Confirmation) -> String {
    let mut choices = vec!["y once".to_owned()];
    if confirmation.always.is_some() {
        choices.push("a always".to_owned());
        choices.push("s always and save".to_owned());
    }
    choices.push(format!("t always {}", confirmation.tool));
    choices.push("e edit".to_owned());
    choices.push("n no, stop".to_owned());
    choices.push("n REASON no, go on".to_owned());
    visible(&format!("{}? ", choices.join(" · ")))
}

/// A question of the model.
pub(super) fn question(question: &Question) -> String {
    let mut card = format!("\n── {}\n{}\n", question.header, question.question);
    for (option, number) in question.options.iter().zip(1..) {
        let _ = write!(card, "  {number}  {}", option.label);
        if !option.description.is_empty() {
            let _ = write!(card, ": {}", option.description);
        }
        card.push('\n');
    }
    let prompt = match question.kind {
        QuestionKind::Yesno => "y or n",
        QuestionKind::Text => question.placeholder.as_deref().unwrap_or("your words"),
        QuestionKind::Choice if question.multi_select => "numbers, or your own words",
        QuestionKind::Choice => "a number, or your own words",
    };
    let _ = write!(card, "{prompt}> ");
    visible(&card)
}

/// Lines after the first under the first.
fn indented(text: &str) -> String {
    text.replace('\n', "\n           ")
}
