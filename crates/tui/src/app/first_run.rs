//! The first run: what was found, which model answers, whether this folder is trusted. Esc skips all of it.

use std::time::Instant;

use charla::models::survey::Row;
use charla::session::describe_workspace;
use charla::trust::Standing as Trust;
use charla::{Failure, FirstRun, OpenRequest, engine};

use super::commands::Choice;
use super::news::News;
use super::state::{App, Standing};
use crate::commands::model_items;
use crate::picker::{Item, Picker};
use crate::text::{Line, Role};

/// What came of the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// Everything was chosen, or declined.
    Done,
    /// Something went wrong.
    Failed,
}

/// What was found beside the built-in model.
pub(crate) fn larger(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| row.entry.name != engine::PROVIDER).collect()
}

/// The models to choose from.
pub(crate) fn model_picker(rows: &[Row]) -> Picker<Choice> {
    let item = |(model, detail): (String, String)| Item {
        label: model.clone(),
        detail,
        choice: Choice::KeepModel(Some(model)),
    };
    let mut items: Vec<Item<Choice>> = model_items(rows).into_iter().map(item).collect();
    let later = "Charla takes the first that is ready; /model changes it".to_owned();
    items.push(Item { label: "decide later".to_owned(), detail: later, choice: Choice::KeepModel(None) });
    Picker::new("which model shall answer?", items)
}

/// Whether the folder is trusted.
pub(crate) fn trust_picker() -> Picker<Choice> {
    let item = |label: &str, detail: &str, yes| Item {
        label: label.to_owned(),
        detail: detail.to_owned(),
        choice: Choice::Trust(yes),
    };
    let items = vec![
        item("no", "it decides nothing; `charla trust` shows it again", false),
        item("yes", "as long as its content stays what it is", true),
    ];
    Picker::new("trust this folder?", items).with_keys(&['n', 'y'])
}

impl App {
    /// Looks what there is to choose from; [`News::Surveyed`] tells.
    pub(super) fn set_up(&mut self, first: FirstRun, request: OpenRequest) {
        let (looking, tell) = (first.clone(), self.base.tell.clone());
        self.standing = Standing::SettingUp(Box::new((first, request)));
        self.activity.progress(Some("looking for keys and model servers".to_owned()), Instant::now());
        tokio::spawn(async move {
            let _ = tell.send(News::Surveyed(looking.survey().await));
        });
    }

    /// What is ready here is known.
    pub(super) fn surveyed(&mut self, found: Result<Vec<Row>, Failure>, now: Instant) {
        self.activity.progress(None, now);
        let Standing::SettingUp(_) = self.standing else { return };
        let rows = match found {
            Ok(rows) => rows,
            Err(failure) => {
                self.failed(&failure);
                return self.end_set_up(Set::Failed);
            }
        };
        let larger = larger(&rows);
        self.transcript.print(vec![Line::of(Role::Heading, "Welcome to Charla")]);
        if larger.is_empty() {
            // The opening says which model answers then, and how to get a better one.
            return self.ask_trust();
        }
        self.transcript.tell(Role::Plain, "found on this machine:");
        for row in &larger {
            let how = row.state.as_deref().unwrap_or_default();
            let line =
                Line::of(Role::Success, "  ✓ ").then(Line::plain(&format!("{}: {how}", row.entry.title())));
            self.transcript.print(vec![line]);
        }
        self.picker = Some(model_picker(&rows));
    }

    /// A model was chosen to be kept, or none.
    pub(super) fn keep_model(&mut self, model: Option<&str>) {
        let Standing::SettingUp(set_up) = &self.standing else { return };
        if let Some(model) = model {
            match set_up.0.keep_model(model) {
                Ok(file) => {
                    let words = format!("{model} answers; kept in {}", file.display());
                    self.transcript.tell(Role::Dim, &words);
                }
                // It comes again, until what is wrong is put right.
                Err(failure) => {
                    self.failed(&failure);
                    return self.end_set_up(Set::Failed);
                }
            }
        }
        self.ask_trust();
    }

    /// Asks whether the folder may decide what it wants to, where it wants anything.
    fn ask_trust(&mut self) {
        let Standing::SettingUp(set_up) = &self.standing else { return };
        let environment = self.base.charla.environment();
        let told = set_up.0.untrusted().and_then(|content| match content {
            Some(content) => describe_workspace(&content, Trust::Unknown, environment).map(Some),
            None => Ok(None),
        });
        match told {
            Ok(None) => self.end_set_up(Set::Done),
            Err(failure) => {
                self.failed(&failure);
                self.end_set_up(Set::Failed);
            }
            Ok(Some(lines)) => {
                lines.iter().for_each(|line| self.transcript.tell(Role::Plain, line));
                self.picker = Some(trust_picker());
            }
        }
    }

    /// The folder is trusted, or is not.
    pub(super) fn trust(&mut self, yes: bool) {
        let Standing::SettingUp(set_up) = &self.standing else { return };
        if yes {
            let trusted = set_up.0.untrusted().and_then(|content| match content {
                Some(content) => set_up.0.trust(&content),
                None => Ok(()),
            });
            match trusted {
                Ok(()) => self.transcript.tell(Role::Dim, "trusted, with what it holds now"),
                Err(failure) => {
                    self.failed(&failure);
                    return self.end_set_up(Set::Failed);
                }
            }
        }
        self.end_set_up(Set::Done);
    }

    /// All is chosen or skipped: the session is opened by what was. What failed is offered again next time.
    pub(super) fn end_set_up(&mut self, set: Set) {
        let (first, request) = match std::mem::replace(&mut self.standing, Standing::Opening) {
            Standing::SettingUp(set_up) => *set_up,
            standing => {
                self.standing = standing;
                return;
            }
        };
        if set == Set::Done {
            first.done();
        }
        match first.settings() {
            Ok(effective) => self.base.settings = effective.settings,
            Err(failure) => self.failed(&failure),
        }
        self.open(request);
    }
}
