//! `charla approvals`: what waits for a yes, and the yes.

use std::path::PathBuf;
use std::sync::Arc;

use charla::{Charla, Failure};
use charla_proto::text::one_line;
use charla_proto::{CallAsked, Confirmation, ConfirmationDetail, Outcome};
use charla_terminal::printer::Printer;
use charla_terminal::wording::question_in_words;

use super::server;
use crate::args::AnswerWord;
use crate::runtime::runtime;

/// Prints every question that waits for an answer, here or at a server.
pub fn list(server: Option<&str>, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let waiting: Vec<(PathBuf, Arc<CallAsked>)> = match server {
        Some(address) => {
            let client = server::client(address, charla, printer)?;
            let waiting = runtime()?.block_on(client.approvals())?;
            waiting.into_iter().map(|one| (one.folder, one.asked)).collect()
        }
        None => {
            let waiting = runtime()?.block_on(charla.sessions()?.approvals())?;
            waiting.into_iter().map(|one| (one.folder, one.asked)).collect()
        }
    };
    for (folder, asked) in &waiting {
        let confirmation = &asked.confirmation;
        let (id, tool, title) = (&asked.approval, &confirmation.tool, &confirmation.title);
        let line = format!("{id}  {tool}  {title}  (in {})", folder.display());
        printer.words(&format!("{}\n", one_line(&line)))?;
        if let ConfirmationDetail::AskUser { questions } = &confirmation.detail {
            questions.iter().try_for_each(|question| printer.words(&question_in_words(question)))?;
        }
    }
    if waiting.is_empty() {
        printer.note("nothing waits for approval");
    }
    Ok(())
}

/// Answers a question.
pub fn answer(id: &str, outcome: Outcome, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let ends_turn = matches!(outcome, Outcome::Cancel { reason: None });
    let answered = runtime()?.block_on(charla.answer(id, outcome, "command line", printer))?;
    let then = match (answered.runs, ends_turn) {
        (true, true) => "its turn ends here".to_owned(),
        (true, false) => "its session goes on".to_owned(),
        (false, _) => {
            format!("it takes effect when the session goes on: charla --resume {}", answered.session)
        }
    };
    tell(&answered.asked.confirmation, &then, printer);
    Ok(())
}

/// Answers a question of a server's session.
pub fn answer_at(
    address: &str,
    id: &str,
    outcome: &Outcome,
    charla: &Charla,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let client = server::client(address, charla, printer)?;
    runtime()?.block_on(async {
        let asked = client.find_approval(id).await?.map(|waiting| waiting.asked);
        // One that waits no longer has been answered, and the server knows by whom.
        let approval = match &asked {
            Some(asked) => asked.approval.clone(),
            None => client.answered_approval(id).await,
        };
        client.answer(&approval, outcome).await?;
        match asked {
            Some(asked) => tell(&asked.confirmation, "its session goes on", printer),
            None => printer.note("answered"),
        }
        Ok(())
    })
}

fn tell(confirmation: &Confirmation, then: &str, printer: &mut Printer) {
    let detail = match &confirmation.detail {
        ConfirmationDetail::Exec { command, .. } => command.clone(),
        ConfirmationDetail::Edit { path, .. } => path.display().to_string(),
        _ => confirmation.title.clone(),
    };
    printer.note(&one_line(&format!("answered: {} ({detail}); {then}", confirmation.tool)));
}

/// What a person's word means.
pub fn outcome(word: AnswerWord, words: &[String]) -> Result<Outcome, Failure> {
    let said = words.join(" ");
    let takes_words = matches!(word, AnswerWord::No | AnswerWord::Edit | AnswerWord::Say);
    if !words.is_empty() && !takes_words {
        return Err(Failure::input(format!("`{said}` does not belong to this answer"))
            .with_hint("only `no`, `edit` and `say` take words"));
    }
    Ok(match word {
        AnswerWord::Yes => Outcome::ProceedOnce,
        AnswerWord::No => Outcome::Cancel { reason: (!said.is_empty()).then_some(said) },
        AnswerWord::Always => Outcome::ProceedAlways,
        AnswerWord::Save => Outcome::ProceedAlwaysAndSave,
        AnswerWord::Tool => Outcome::ProceedAlwaysTool,
        AnswerWord::Server => Outcome::ProceedAlwaysServer,
        AnswerWord::Edit => match serde_json::from_str(&said) {
            Ok(serde_json::Value::Object(args)) => Outcome::Modify { args },
            _ => {
                return Err(Failure::input("the new arguments are not a JSON object")
                    .with_hint("charla approvals answer ID edit '{\"command\": \"ls\"}'"));
            }
        },
        AnswerWord::Say => Outcome::Answers { answers: words.to_vec() },
    })
}
