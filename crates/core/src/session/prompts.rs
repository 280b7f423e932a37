//! Prompts: how a turn begins, goes on after its process ended, and takes in what is said meanwhile.

use std::sync::Arc;

use charla_proto::{
    Content, Delivery, Fact, ModelChanged, Part, PromptJoined, QueuedPrompt, Role, TurnResumed, TurnStarted,
};

use super::SESSION;
use super::ending::Stop;
use super::offer::Offer;
use super::turn::{Efforts, Next, Session};
use crate::loop_guard::LoopGuard;
use crate::note::note_for_model;

/// Brings prompts into a session's turns.
pub(super) struct Prompts<'a>(pub(super) &'a mut Session);

impl Prompts<'_> {
    /// Records the start of a turn.
    pub(super) async fn start_turn(&mut self, prompt: QueuedPrompt) -> Result<(), Stop> {
        let QueuedPrompt { id, content, by, .. } = prompt;
        let mut content = Content { role: Role::User, ..Content::clone(&content) };
        // The model must not go on believing in files that the user has put back, and hears what they did themselves.
        if let Some(note) = note_for_model(&self.0.ledger.conversation) {
            content.parts.insert(0, Part::text(note));
        }
        let turn = self.0.ledger.conversation.past.count.saturating_add(1);
        let mut facts = Vec::with_capacity(2);
        facts.extend(self.model_change(&by));
        facts.push(Fact::TurnStarted(TurnStarted { turn, prompt: Arc::new(content), id, by }));
        self.0.ledger.commit(facts).await?;
        self.0.guard = LoopGuard::default();
        self.0.efforts = Efforts::default();
        self.0.next = Next::Turn;
        Ok(())
    }

    /// Goes on with a turn that an earlier process left open.
    pub(super) async fn resume_turn(&mut self) -> Result<(), Stop> {
        let conversation = &self.0.ledger.conversation;
        let turn = conversation.past.count;
        let first = conversation.turn.iter().flat_map(|turn| turn.prompts.first().copied()).next();
        let said = conversation.contents.iter().filter(|(seq, _)| Some(*seq) >= first);
        let calls = conversation.turn.iter().flat_map(|turn| &turn.calls);
        let results = Content::new(Role::User, calls.filter_map(|call| call.response.clone()).collect());
        let errors = conversation.turn.as_ref().map(|turn| turn.errors.clone()).unwrap_or_default();
        let said = said.map(|(_, content)| content.as_ref());
        self.0.guard = LoopGuard::of(said.chain([&results]), &errors);
        self.0.efforts = Efforts::default();
        let mut facts = Vec::with_capacity(2);
        facts.extend(self.model_change(SESSION));
        facts.extend(Offer(self.0).closing());
        facts.push(Fact::TurnResumed(TurnResumed { turn, somebody: self.0.inbox.somebody() }));
        Ok(self.0.ledger.commit(facts).await?)
    }

    fn model_change(&self, by: &str) -> Option<Fact> {
        let model = &self.0.binding.model.reference;
        let is_other = *model != self.0.ledger.conversation.model;
        is_other.then(|| Fact::ModelChanged(ModelChanged { model: model.clone(), by: Some(by.to_owned()) }))
    }

    /// Prompts that were given while the turn ran are part of its next request.
    pub(super) async fn join(&mut self) -> Result<(), Stop> {
        let conversation = &self.0.ledger.conversation;
        let turn = conversation.past.count;
        let joining = conversation.queue.iter().filter(|queued| queued.delivery == Delivery::Join);
        let joined = joining.map(|queued| PromptJoined {
            turn,
            prompt: queued.id.clone(),
            content: queued.content.clone(),
            by: queued.by.clone(),
        });
        let note = note_for_model(conversation).map(|note| self.own_words(note));
        let facts: Vec<Fact> = note.into_iter().chain(joined).map(Fact::PromptJoined).collect();
        match facts.is_empty() {
            true => Ok(()),
            false => Ok(self.0.ledger.commit(facts).await?),
        }
    }

    /// What the session itself says to the model in the running turn, after what the model does not know yet.
    pub(super) fn said_by_session(&self, words: &str) -> PromptJoined {
        let note = note_for_model(&self.0.ledger.conversation).unwrap_or_default();
        self.own_words(format!("{note}{words}"))
    }

    fn own_words(&self, text: String) -> PromptJoined {
        let (turn, prompt) = (self.0.ledger.conversation.past.count, self.0.ledger.next_id("p"));
        PromptJoined { turn, prompt, content: Arc::new(Content::user(text)), by: SESSION.to_owned() }
    }
}
