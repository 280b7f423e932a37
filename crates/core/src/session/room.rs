//! Room in the window: compresses the conversation before it stops fitting.

use std::sync::Arc;

use charla_proto::{
    BoxFuture, Compressed, CompressionReport, CompressionStatus, Content, Fact, GenerateRequest,
    GenerateResponse, JournalError, LlmError, LlmErrorKind, OutputsCut, Restored, Role,
};

use super::Delta;
use super::actor::{Actor, Phase};
use crate::compress::{self, OUTPUT_KEPT, THRESHOLD};

/// How often the model may be asked for a summary on behalf of one prompt.
const ATTEMPTS: u32 = 2;

/// A summary on its way.
pub(super) struct Summary {
    pub(super) work: BoxFuture<'static, Result<GenerateResponse, LlmError>>,
    older: Vec<Arc<Content>>,
    kept_from: u64,
    before: u64,
    /// Somebody asked for it; no prompt waits behind it.
    asked: bool,
}

impl Actor {
    /// The window, and the tokens the next request would have; `None` when one of them is unknown.
    fn fill(&self, request: &GenerateRequest) -> Option<(u64, u64)> {
        let (window, count) = self.settings.window.as_ref()?;
        Some((u64::from(*window), count(request)))
    }

    /// True when the last answer's own figures say that there is plenty of room: then nothing has to be
    /// counted, and a step costs nothing that grows with the conversation.
    fn surely_fits(&self) -> bool {
        let Some((window, count)) = &self.settings.window else { return true };
        let Some(usage) = &self.ledger.conversation.last_usage else { return false };
        let Some(prompt) = usage.prompt_token_count else { return false };
        let contents = &self.ledger.conversation.contents;
        let new = contents.iter().rev().take_while(|(_, content)| content.role == Role::User);
        let new: Vec<Arc<Content>> = new.map(|(_, content)| content.clone()).collect();
        let new = count(&GenerateRequest::new("", new));
        ((prompt + usage.output() + new) as f64) < f64::from(*window) * THRESHOLD
    }

    /// Makes room for the next request. True when it may be sent now.
    pub(super) async fn make_room(&mut self) -> Result<bool, JournalError> {
        if self.surely_fits() {
            return Ok(true);
        }
        let request = self.next_request();
        let Some((window, tokens)) = self.fill(&request) else { return Ok(true) };
        if (tokens as f64) <= window as f64 * THRESHOLD {
            return Ok(true);
        }
        if self.summaries < ATTEMPTS && self.begin_summary(tokens, false) {
            return Ok(false);
        }
        if tokens < window {
            return Ok(true);
        }
        if self.cut_outputs(tokens).await? {
            let tokens = self.fill(&self.next_request()).map_or(0, |(_, tokens)| tokens);
            if tokens < window {
                return Ok(true);
            }
        }
        let contents = self.next_request().contents;
        let message = format!(
            "the conversation has about {tokens} tokens and the model's window has {window}; it is filled by {}",
            compress::what_fills(&contents)
        );
        self.fail_turn(&LlmError::new(LlmErrorKind::ContextOverflow, message)).await?;
        Ok(false)
    }

    async fn cut_outputs(&mut self, before: u64) -> Result<bool, JournalError> {
        let sent: Vec<Arc<Content>> =
            self.ledger.conversation.sent().into_iter().map(|said| said.1).collect();
        let calls = compress::largest_outputs(&sent);
        if calls.is_empty() {
            return Ok(false);
        }
        self.ledger.commit(vec![Fact::OutputsCut(OutputsCut { calls, kept: OUTPUT_KEPT })]).await?;
        self.report(CompressionStatus::OutputsCut, before, false);
        Ok(true)
    }

    /// Asks for a summary of the older part; false when there is nothing to cut off.
    fn begin_summary(&mut self, before: u64, asked: bool) -> bool {
        let sent = self.ledger.conversation.sent();
        let Some(kept_from) = compress::split(&sent) else { return false };
        let older: Vec<Arc<Content>> =
            sent.into_iter().take_while(|(seq, _)| *seq < kept_from).map(|(_, content)| content).collect();
        self.summaries += 1;
        self.report(CompressionStatus::Begun, before, asked);
        let request = compress::summary_request(&self.settings.template, &older);
        let generator = self.settings.generator.clone();
        let work: BoxFuture<'static, _> = Box::pin(async move { generator.generate(&request).await });
        self.phase = Phase::Summing(Box::new(Summary { work, older, kept_from, before, asked }));
        true
    }

    fn report(&self, status: CompressionStatus, before: u64, asked: bool) {
        let after = self.fill(&self.next_request()).map_or(before, |(_, tokens)| tokens);
        self.ledger.show(Delta::Compression(CompressionReport { status, before, after, asked }));
    }

    /// The summary has come, or not. On any failure the conversation is as it was.
    pub(super) async fn summed(
        &mut self,
        answer: Result<GenerateResponse, LlmError>,
    ) -> Result<(), JournalError> {
        let Phase::Summing(summary) = std::mem::replace(&mut self.phase, Phase::Idle) else { return Ok(()) };
        let Summary { older, kept_from, before, asked, .. } = *summary;
        let status = match answer {
            Err(_) => CompressionStatus::Failed,
            Ok(answer) => match compress::snapshot(&answer.text()) {
                None => CompressionStatus::EmptySummary,
                Some(snapshot) => self.put(&snapshot, &older, kept_from, before).await?,
            },
        };
        self.report(status, before, asked);
        if asked {
            return self.next_prompt().await;
        }
        // Another try makes sense only when this one helped but not enough.
        if status != CompressionStatus::Compressed {
            self.summaries = ATTEMPTS;
        }
        self.ask_model().await
    }

    async fn put(
        &mut self,
        snapshot: &str,
        older: &[Arc<Content>],
        kept_from: u64,
        before: u64,
    ) -> Result<CompressionStatus, JournalError> {
        let window = self.settings.window.as_ref().map(|(window, _)| *window);
        let (summary, acknowledgement) = compress::stand_ins(snapshot, older, window);
        let (summary, acknowledgement) = (Arc::new(summary), Arc::new(acknowledgement));
        let mut request = self.next_request();
        let kept = self.ledger.conversation.sent().into_iter().filter(|(seq, _)| *seq >= kept_from);
        let kept = kept.map(|(_, content)| content);
        request.contents = [summary.clone(), acknowledgement.clone()].into_iter().chain(kept).collect();
        let after = self.count(&request);
        if after >= before {
            return Ok(CompressionStatus::WouldInflate);
        }
        let fact = Compressed { summary, acknowledgement, kept_from, tokens: (before, after) };
        self.ledger.commit(vec![Fact::Compressed(Box::new(fact))]).await?;
        Ok(CompressionStatus::Compressed)
    }

    fn count(&self, request: &GenerateRequest) -> u64 {
        match &self.settings.window {
            Some((_, count)) => count(request),
            // Without a counter, characters serve: they are only compared with each other.
            None => request.contents.iter().map(|content| content.text().len() as u64).sum(),
        }
    }

    /// Somebody asks for a compression. Only between turns.
    pub(super) async fn compress(&mut self) -> Result<(), JournalError> {
        if !matches!(self.phase, Phase::Idle) {
            return Ok(());
        }
        let before = self.count(&self.next_request());
        if !self.begin_summary(before, true) {
            self.report(CompressionStatus::NotNeeded, before, true);
        }
        Ok(())
    }

    /// Takes a compression back.
    pub(super) async fn restore(&mut self) -> Result<(), JournalError> {
        let before = self.count(&self.next_request());
        if self.ledger.conversation.compressed.is_none() {
            self.report(CompressionStatus::NotNeeded, before, true);
            return Ok(());
        }
        self.ledger.commit(vec![Fact::Restored(Restored {})]).await?;
        self.report(CompressionStatus::Restored, before, true);
        Ok(())
    }
}
