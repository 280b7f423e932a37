//! The first run without a screen: the questions that a screen asks, in words.

use charla::session::describe_workspace;
use charla::settings::Settings;
use charla::trust::Standing;
use charla::{Environment, Failure, FirstRun};
use charla_terminal::lines::Lines;
use charla_terminal::printer::Printer;
use charla_terminal::signals::Interrupts;

use crate::app::{Choice, larger, model_picker, trust_picker};
use crate::picker::Picker;

/// A first run.
pub struct SetUp<'a> {
    /// It.
    pub first: FirstRun,
    /// Where it is.
    pub environment: &'a Environment,
    /// What is typed.
    pub lines: &'a Lines,
    /// What stops it.
    pub interrupts: &'a Interrupts,
}

/// What was said to a question.
enum Said {
    /// This.
    Chosen(Choice),
    /// Nothing: it can be decided later.
    Nothing,
    /// To be asked nothing more.
    Skip,
    /// Nothing more will be said.
    End,
}

impl SetUp<'_> {
    /// Asks what there is to choose; the settings that hold then. What failed is offered again next time.
    pub async fn run(self, printer: &mut Printer) -> Result<Settings, Failure> {
        match self.ask(printer).await {
            Ok(true) => self.first.done(),
            Ok(false) => {}
            Err(failure) => printer.failure(&failure),
        }
        Ok(self.first.settings()?.settings)
    }

    /// False when nobody is there to answer.
    async fn ask(&self, printer: &mut Printer) -> Result<bool, Failure> {
        printer.note("Welcome to Charla");
        let rows = self.first.survey().await?;
        let found = larger(&rows);
        if !found.is_empty() {
            printer.note("found on this machine:");
            for row in found {
                let how = row.state.as_deref().unwrap_or_default();
                printer.note(&format!("  {}: {how}", row.entry.title()));
            }
            let how = "a number or a name, Enter decides later, Ctrl-C skips all of it";
            match self.answer(&model_picker(&rows), how, printer).await {
                Said::Chosen(Choice::KeepModel(Some(model))) => {
                    let file = self.first.keep_model(&model)?;
                    printer.note(&format!("{model} answers; kept in {}", file.display()));
                }
                Said::Skip => return Ok(true),
                Said::End => return Ok(false),
                Said::Chosen(_) | Said::Nothing => {}
            }
        }
        self.ask_trust(printer).await
    }

    async fn ask_trust(&self, printer: &mut Printer) -> Result<bool, Failure> {
        let Some(content) = self.first.untrusted()? else { return Ok(true) };
        let told = describe_workspace(&content, Standing::Unknown, self.environment)?;
        told.iter().for_each(|line| printer.note(line));
        match self.answer(&trust_picker(), "y or n, Enter says no", printer).await {
            Said::Chosen(Choice::Trust(true)) => {
                // What it holds now may be more than was told.
                if let Some(content) = self.first.untrusted()? {
                    self.first.trust(&content)?;
                }
                printer.note("trusted, with what it holds now");
            }
            Said::End => return Ok(false),
            Said::Chosen(_) | Said::Nothing | Said::Skip => {}
        }
        Ok(true)
    }

    /// What the person says to a question; asked again where that is no answer.
    async fn answer(&self, picker: &Picker<Choice>, how: &str, printer: &mut Printer) -> Said {
        picker
            .words()
            .iter()
            .zip(1..)
            .for_each(|(words, number)| printer.note(&format!("{number}: {words}")));
        // Nobody can have meant as the answer what they typed before the question was put.
        self.lines.forget().await;
        loop {
            printer.card(&format!("{} ({how})> ", picker.title()));
            let line = tokio::select! {
                biased;
                () = self.interrupts.leave.cancelled() => Err(Said::End),
                () = self.interrupts.stopped() => Err(Said::Skip),
                line = self.lines.next() => line.ok_or(Said::End),
            };
            if line.is_err() {
                printer.card("\n");
            }
            printer.close_card();
            match line {
                Err(said) => return said,
                Ok(line) if line.trim().is_empty() => return Said::Nothing,
                Ok(line) => match picker.chosen_by(&line) {
                    Some(choice) => return Said::Chosen(choice),
                    None => printer.note("that is none of them"),
                },
            }
        }
    }
}
