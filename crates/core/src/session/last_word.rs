//! How a turn ends.

use charla_proto::{Fact, FinishReason, LlmError, TurnEnd, TurnEnded, TurnEvent};

use super::ending::{Ending, Stop};
use super::hooking::Hooking;
use super::prompts::Prompts;
use super::turn::Session;
use super::{SESSION, repair};

/// How often in a row a provider may pause one answer.
const PAUSES: u32 = 8;
/// How often the model may mend an answer that does not fit its schema.
const REPAIRS: u32 = 2;
const REFUSED_MEDIA: &str = "the media that came with it is not sent again: attach it in another form, or choose a model that takes it";

impl Session {
    /// The ending of a turn whose process died after the model's last word, before the end was recorded.
    pub(super) async fn said_before(&mut self) -> Result<Option<Ending>, Stop> {
        let conversation = &self.ledger.conversation;
        let Some(text) = conversation.last_word().map(|said| said.text()) else { return Ok(None) };
        let Some(finish) = conversation.turn.as_ref().and_then(|turn| turn.finish.clone()) else {
            return Ok((!conversation.is_joined()).then(|| self.cancelled(SESSION.to_owned())));
        };
        let ending = self.last_word(finish, &text).await?;
        if ending.is_some() {
            // Nobody has seen it in this process.
            self.ledger.show(TurnEvent::whole_content(text));
        }
        Ok(ending)
    }

    /// The ending of a turn that somebody cancels now.
    pub(super) fn cancelled(&self, by: String) -> Ending {
        let answered = self.ledger.conversation.turn.as_ref().is_some_and(|turn| turn.steps > 0);
        let end = if answered { TurnEnd::Cancelled } else { TurnEnd::Withdrawn };
        Ending { by: Some(by), ..end.into() }
    }

    /// The model has said something and calls nothing: the turn ends, unless more is to be said.
    pub(super) async fn last_word(
        &mut self,
        finish: FinishReason,
        text: &str,
    ) -> Result<Option<Ending>, Stop> {
        if self.ledger.conversation.is_joined() {
            return Ok(None);
        }
        if finish == FinishReason::Pause && self.efforts.pauses < PAUSES {
            self.efforts.pauses += 1;
            return Ok(None);
        }
        if let Some(ending) = Ending::of_answer(&finish, text) {
            return Ok(Some(ending));
        }
        let Some(problem) = self.options.answer_check.as_ref().and_then(|check| check(text)) else {
            return Hooking(self).after_agent(Ending::of_words(&finish), text).await;
        };
        if self.efforts.repairs == REPAIRS {
            let detail = Some(repair::detail(&problem));
            return Ok(Some(Ending { detail, ..TurnEnd::SchemaMismatch.into() }));
        }
        self.efforts.repairs += 1;
        let words = repair::words_for_model(&problem);
        let fact = Fact::PromptJoined(Prompts(self).said_by_session(&words));
        self.ledger.commit_one(fact).await?;
        Ok(None)
    }

    pub(super) async fn end_turn(&mut self, ending: Ending) -> Result<(), Stop> {
        self.tell_overrun(&ending);
        let Ending { end, detail, error, by } = ending;
        let error = error.map(|error| self.about_media(error));
        let ended = TurnEnded {
            turn: self.ledger.conversation.past.count,
            end,
            detail: detail.or_else(|| error.as_ref().map(LlmError::to_string)),
            error: error.as_ref().map(|error| error.kind),
            by,
        };
        if let Some(error) = error {
            self.ledger.show(TurnEvent::failure(error));
        }
        Ok(self.ledger.commit_one(Fact::TurnEnded(Box::new(ended))).await?)
    }

    /// A refusal that may be about media comes with what is done about it: the next prompt would be refused with it, too.
    fn about_media(&self, error: LlmError) -> LlmError {
        let is_refused = error.kind.refuses_content() && error.hint().is_none();
        match is_refused && self.ledger.conversation.has_unanswered_media() {
            true => error.with_hint(REFUSED_MEDIA),
            false => error,
        }
    }

    /// An answer that came at more than the turn's limits is an answer; what it took is said.
    fn tell_overrun(&mut self, ending: &Ending) {
        let (limits, prices) = (&self.options.limits, &self.binding.model.prices);
        let is_answer = matches!(ending.end, TurnEnd::Finished | TurnEnd::Truncated);
        let overrun = limits.overrun(&self.ledger.conversation, prices).filter(|_| is_answer);
        if let Some(message) = overrun {
            self.ledger.show(TurnEvent::Notice { message });
        }
    }
}
