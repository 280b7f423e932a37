//! Going back: a turn's file changes undone and redone, a conversation rewound.

use std::path::{Path, PathBuf};

use charla_proto::{ChangesReverted, Fact, Refusal, Reply, RevertSelection, Rewound};

use super::ending::Stop;
use super::host::{RevertProblem, RevertStep, Reverted};
use super::turn::Session;
use crate::undo::{ChangeHistory, Direction, NetChange};

/// Takes changes back on behalf of a session, between turns.
pub(super) struct Reverting<'a> {
    session: &'a mut Session,
    by: String,
}

impl<'a> Reverting<'a> {
    pub(super) fn new(session: &'a mut Session, by: String) -> Self {
        Self { session, by }
    }

    pub(super) async fn undo(&mut self, selection: &RevertSelection) -> Result<Reply, Stop> {
        self.revert(Direction::Undo, selection).await
    }

    pub(super) async fn redo(&mut self, selection: &RevertSelection) -> Result<Reply, Stop> {
        self.revert(Direction::Redo, selection).await
    }

    async fn revert(&mut self, direction: Direction, selection: &RevertSelection) -> Result<Reply, Stop> {
        let history = match self.history().await {
            Ok(history) => history,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        let (turn, files) = match chosen(&history, direction, selection) {
            Ok(chosen) => chosen,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        let steps = files.iter().map(|file| RevertStep { change: file.step(direction), mode: file.mode });
        let reverted = match self.put_back(turn, steps.collect()).await {
            Ok(reverted) => reverted,
            Err(refusal) => return Ok(Reply::Refused(refusal)),
        };
        let files = reverted.files();
        let body = ChangesReverted { turn, files: files.clone(), by: Some(self.by.clone()) };
        let fact = match direction {
            Direction::Undo => Fact::ChangesUndone(body),
            Direction::Redo => Fact::ChangesRedone(body),
        };
        self.record(fact, Some(reverted)).await?;
        Ok(Reply::Reverted { turn, files })
    }

    /// Makes the message of record `to` the last one; with `files`, what was changed after it is taken back.
    pub(super) async fn rewind(&mut self, to: u64, files: bool) -> Result<Reply, Stop> {
        let conversation = &self.session.ledger.conversation;
        // What a summary stands for may be meant: then everything is needed.
        if conversation.shortening.compressed.is_some()
            && let Err(error) = self.session.ledger.remember_everything().await
        {
            return Ok(failed(format!("the journal cannot be read: {error}")));
        }
        let conversation = &self.session.ledger.conversation;
        let is_known = to == 0 || conversation.contents.iter().any(|(seq, _)| *seq == to);
        if !is_known {
            return Ok(Reply::Refused(Refusal::Unknown { what: format!("message {to}") }));
        }
        let to = self.with_results(to);
        let mut reverted = None;
        if files {
            let history = match self.history().await {
                Ok(history) => history,
                Err(refusal) => return Ok(Reply::Refused(refusal)),
            };
            let steps = history.changes_after(to).into_iter();
            let steps = steps.map(|file| RevertStep { change: file.step(Direction::Undo), mode: file.mode });
            match self.put_back(self.session.ledger.conversation.past.count, steps.collect()).await {
                Ok(put) => reverted = Some(put),
                Err(refusal) => return Ok(Reply::Refused(refusal)),
            }
        }
        let files = reverted.as_ref().map(|reverted| reverted.files()).unwrap_or_default();
        let fact = Rewound { to, files: files.clone(), by: Some(self.by.clone()) };
        self.record(Fact::Rewound(fact), reverted).await?;
        let turn = self.session.ledger.conversation.past.count;
        Ok(Reply::Reverted { turn, files })
    }

    /// A message with calls is kept with their results: calls without would look interrupted.
    fn with_results(&self, to: u64) -> u64 {
        let contents = &self.session.ledger.conversation.contents;
        let Some(at) = contents.iter().position(|(seq, _)| *seq == to) else { return to };
        let calls = contents[at].1.function_calls().next().is_some();
        match contents.get(at + 1) {
            Some((seq, next)) if calls && next.function_responses().next().is_some() => *seq,
            _ => to,
        }
    }

    async fn history(&mut self) -> Result<ChangeHistory, Refusal> {
        let history = self.session.ledger.changes().await;
        let failed = |message: String| Refusal::Failed { message };
        let history = history.map_err(|error| failed(format!("the journal cannot be read: {error}")))?;
        history.ok_or_else(|| failed("this session keeps no journal that could be read".to_owned()))
    }

    async fn put_back(&mut self, turn: u64, steps: Vec<RevertStep>) -> Result<Box<dyn Reverted>, Refusal> {
        self.session.binding.host.revert(steps).await.map_err(|problem| match problem {
            RevertProblem::Conflicts(conflicts) => Refusal::Conflict { turn, conflicts },
            RevertProblem::Failed(message) => Refusal::Failed { message },
        })
    }

    /// Files first, then the record: if the process dies in between, the same command finishes the work. What
    /// cannot be recorded is taken back.
    async fn record(&mut self, fact: Fact, reverted: Option<Box<dyn Reverted>>) -> Result<(), Stop> {
        let recorded = self.session.ledger.commit_one(fact).await;
        if let (Err(_), Some(reverted)) = (&recorded, reverted) {
            // What could not be taken back is what the journal says did not happen; nothing more can be done here.
            let _ = reverted.withdraw();
        }
        Ok(recorded?)
    }
}

fn failed(message: String) -> Reply {
    Reply::Refused(Refusal::Failed { message })
}

fn nothing(why: String) -> Refusal {
    Refusal::Nothing { why }
}

/// The turn and the files that are meant.
fn chosen(
    history: &ChangeHistory,
    direction: Direction,
    selection: &RevertSelection,
) -> Result<(u64, Vec<NetChange>), Refusal> {
    let word = match direction {
        Direction::Undo => "undo",
        Direction::Redo => "redo",
    };
    let number = selection.turn.or_else(|| history.default_turn(direction));
    let number = number.ok_or_else(|| nothing(format!("there is nothing to {word}")))?;
    let turn = history.turn(number).ok_or_else(|| Refusal::Unknown { what: format!("turn {number}") })?;
    if turn.files.is_empty() {
        return Err(nothing(format!("turn {number} changed no files")));
    }
    let files: Vec<NetChange> = turn.reversible(direction).cloned().collect();
    if files.is_empty() {
        return Err(nothing(match direction {
            Direction::Undo => format!("turn {number} is undone already"),
            Direction::Redo => format!("turn {number} is not undone: there is nothing to redo"),
        }));
    }
    let meant = |file: &NetChange, only: &Path| file.change.path.starts_with(only);
    for only in &selection.only {
        if !files.iter().any(|file| meant(file, only)) {
            let names: Vec<String> =
                files.iter().map(|file| file.change.path.display().to_string()).collect();
            let only = only.display();
            let what = format!("{only} among the files to {word} in turn {number}: {}", names.join(", "));
            return Err(Refusal::Unknown { what });
        }
    }
    let is_chosen = |file: &NetChange| {
        selection.only.is_empty() || selection.only.iter().any(|only: &PathBuf| meant(file, only))
    };
    Ok((number, files.into_iter().filter(is_chosen).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_to_undo_is_said_in_words() {
        let refusal = chosen(&ChangeHistory::default(), Direction::Undo, &RevertSelection::default());
        assert_eq!(refusal.unwrap_err(), nothing("there is nothing to undo".to_owned()));
    }
}
