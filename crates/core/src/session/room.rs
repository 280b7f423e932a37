//! Room in the window: compresses the conversation before it stops fitting.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::{
    BoxFuture, Compressed, CompressionFailed, CompressionReport, CompressionStatus, CompressionTrigger,
    Content, Fact, GenerateRequest, GenerateResponse, Hint, JournalError, LlmError, LlmErrorKind, OutputsCut,
    PreCompress, Restored, Role, WindowPart,
};

use super::Delta;
use super::actor::{Actor, Phase};
use crate::Chat;
use crate::compress::{self, Cut, Filling};

/// How often the model may be asked for a summary on behalf of one prompt.
const ATTEMPTS: u32 = 2;
/// How often a provider may refuse one prompt as too long before the turn ends.
const REFUSALS: u32 = 3;
/// The share of the window by which a conversation must have grown before it is compressed again when the
/// last time did not help: otherwise every prompt would pay for the same failure.
const GROWTH: f64 = 0.1;
/// How far above the window a count must be before a request that cannot be made smaller is refused unsent:
/// counts are estimates, and what is no further above may still fit. The server judges that.
const DOUBT: f64 = 1.1;
/// How long to wait before a summary is asked for again when the server names no time, and at the most.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A summary on its way.
pub(super) struct Summary {
    pub(super) work: BoxFuture<'static, Result<GenerateResponse, LlmError>>,
    cut: Cut,
    /// What the next request would have had, by whatever was known of it: decides whether to try again.
    tokens: u64,
    /// The same, counted in the way it is counted afterwards.
    before: u64,
    trigger: CompressionTrigger,
}

/// A window that is fuller than it should be.
struct Full {
    window: u64,
    tokens: u64,
}

/// Why there is no summary, and in words where there are any.
type Failure = (CompressionStatus, Option<LlmError>);

impl Actor {
    /// What the next request would have, when that is more than the threshold. Nothing when there is room or
    /// the window is unknown.
    fn full(&self) -> Option<Full> {
        let (window, count) = self.settings.window.as_ref()?;
        let threshold = f64::from(*window) * self.settings.compression.threshold;
        let measured = self.measured();
        // The last answer's own figures say that there is plenty of room: then nothing has to be counted, and a
        // step costs nothing that grows with the conversation.
        if measured.is_some_and(|tokens| (tokens as f64) < threshold) {
            return None;
        }
        let tokens = count(&self.next_request()).max(measured.unwrap_or(0));
        (tokens as f64 > threshold).then_some(Full { window: u64::from(*window), tokens })
    }

    /// The next request's tokens by the last answer's figures and an estimate of what came since.
    fn measured(&self) -> Option<u64> {
        let (_, count) = self.settings.window.as_ref()?;
        let usage = self.ledger.conversation.last_usage.as_ref()?;
        let contents = &self.ledger.conversation.contents;
        let new = contents.iter().rev().take_while(|(_, content)| content.role == Role::User);
        let new: Vec<Arc<Content>> = new.map(|(_, content)| content.clone()).collect();
        let known = usage.prompt_token_count?.saturating_add(usage.output());
        Some(known.saturating_add(count(&GenerateRequest::new("", new))))
    }

    fn window(&self) -> Option<u32> {
        self.settings.window.as_ref().map(|(window, _)| *window)
    }

    /// Makes room for the next request. True when it may be sent now.
    pub(super) async fn make_room(&mut self) -> Result<bool, JournalError> {
        while let Some(full) = self.full() {
            let automatic = self.settings.compression.automatic;
            if automatic && self.may_summarise(&full) && self.begin_summary(full.tokens, Duration::ZERO) {
                return Ok(false);
            }
            if full.tokens < full.window {
                break;
            }
            let share = full.window as f64 * self.settings.compression.threshold / full.tokens as f64;
            let may_cut = automatic && self.outputs_matter(full.window);
            if !(may_cut && self.cut_outputs(full.tokens, share).await?) {
                // By our own count: a server that answers requests beyond its window has figures, or a window, that
                // are not what they seem.
                let (tokens, window) = (self.count(&self.next_request()), full.window);
                if (tokens as f64) < window as f64 * DOUBT {
                    break;
                }
                let Filling { told, fullest } = self.what_fills();
                let message = format!(
                    "the conversation has about {tokens} tokens and the model's window has {window}; it is filled by: \
                     {told}"
                );
                let error = LlmError::new(LlmErrorKind::ContextOverflow, message);
                let error = error.with_hint(self.way_out(fullest));
                self.fail_turn(&error).await?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The provider says that the conversation is too long, whatever was known of its window.
    pub(super) async fn refused_as_too_long(&mut self, error: LlmError) -> Result<(), JournalError> {
        self.phase = Phase::Idle;
        self.refusals += 1;
        if self.settings.compression.automatic && self.refusals < REFUSALS {
            let before = self.count(&self.next_request());
            let tried = self.summaries > 0 && self.last_failure().is_some();
            if !tried && self.summaries < ATTEMPTS && self.begin_summary(before, Duration::ZERO) {
                return Ok(());
            }
            if self.cut_outputs(before, 0.5).await? {
                return self.ask_model().await;
            }
        }
        let Filling { told, fullest } = self.what_fills();
        let filled = if told.is_empty() { told } else { format!("; it is filled by: {told}") };
        let message = format!("{}{filled}", error.message);
        self.fail_turn(&LlmError { message, ..error }.with_hint(self.way_out(fullest))).await
    }

    /// By kind; nothing where tokens cannot be counted.
    fn what_fills(&self) -> Filling {
        let request = self.next_request();
        let count = self.settings.window.as_ref().map(|(_, count)| count);
        count.map(|count| compress::what_fills(&request, count)).unwrap_or_default()
    }

    /// What a person can do about a conversation that does not fit.
    fn way_out(&self, fullest: WindowPart) -> Hint {
        Hint::MakeRoom { fullest, compress: !self.settings.compression.automatic }
    }

    /// A summary that failed, or helped too little, is tried again when the conversation has grown; one that
    /// does not fit has nothing to lose, but costs one request a prompt and not two.
    fn may_summarise(&self, full: &Full) -> bool {
        let failed = self.last_failure();
        let must = full.tokens >= full.window;
        let most = if must && failed.is_some() { 1 } else { ATTEMPTS };
        let compressed = self.ledger.conversation.compressed.as_ref();
        let last = failed.or_else(|| compressed.map(|compressed| compressed.tokens.1));
        let grown = last.is_none_or(|then| full.tokens as f64 >= then as f64 + full.window as f64 * GROWTH);
        self.summaries < most && (must || grown)
    }

    /// Tokens of the conversation when this model last failed to summarise it.
    fn last_failure(&self) -> Option<u64> {
        let failed = self.ledger.conversation.compression_failed.as_ref();
        failed.filter(|failed| failed.model == self.settings.template.model).map(|failed| failed.tokens)
    }

    /// False when the rest of the conversation is too much by itself: then cutting what tools returned would lose it for
    /// nothing.
    fn outputs_matter(&self, window: u64) -> bool {
        let mut request = self.next_request();
        request.contents.retain(|content| content.function_responses().next().is_none());
        (self.count(&request) as f64) < window as f64 * DOUBT
    }

    /// Sends large outputs cut from now on, the largest first, to come down to `share` of what there is; false
    /// when there are none.
    async fn cut_outputs(&mut self, before: u64, share: f64) -> Result<bool, JournalError> {
        let sent = self.ledger.conversation.sent();
        let sent: Vec<Arc<Content>> = sent.into_iter().map(|said| said.1).collect();
        let whole_in = self.ledger.place();
        let next = compress::largest_outputs(&sent, share, whole_in.as_deref());
        let Some((calls, kept)) = next else { return Ok(false) };
        self.ledger.commit(vec![Fact::OutputsCut(OutputsCut { calls, kept, whole_in })]).await?;
        self.tell(self.report(CompressionStatus::OutputsCut, before, CompressionTrigger::Auto));
        Ok(true)
    }

    /// Asks for a summary of the older part after a pause; false when there is nothing to cut off, or when no
    /// summary could help.
    fn begin_summary(&mut self, tokens: u64, pause: Duration) -> bool {
        let trigger = match self.ledger.conversation.turn {
            Some(_) => CompressionTrigger::Auto,
            None => CompressionTrigger::Manual,
        };
        let Some(cut) = self.choose_cut(trigger) else { return false };
        let window = self.settings.window.as_ref().map(|(window, count)| (*window, count));
        let older = Chat::new(cut.older.iter().cloned()).curated();
        let next = self.next_request();
        let Some(request) = compress::summary_request(&next, &older, window) else { return false };
        let before = self.count(&next);
        self.summaries += 1;
        self.ledger.show(Delta::PreCompress(PreCompress {
            trigger,
            tokens,
            window: self.window(),
            older: cut.older.len(),
            kept: cut.kept.len(),
        }));
        let generator = self.settings.generator.clone();
        let work: BoxFuture<'static, _> = Box::pin(async move {
            tokio::time::sleep(pause).await;
            generator.generate(&request).await
        });
        self.phase = Phase::Summing(Box::new(Summary { work, cut, tokens, before, trigger }));
        true
    }

    /// Before the user's words where that is enough; within the turn under way where it is not. A summary
    /// that cannot bring the conversation into the window is not worth a request.
    fn choose_cut(&self, trigger: CompressionTrigger) -> Option<Cut> {
        let compression = &self.settings.compression;
        let sent = self.ledger.conversation.sent();
        let usual = compress::split(&sent, compression.keep);
        let within_turn = || compress::split_turn(&sent, compression.keep);
        let Some((window, count)) = &self.settings.window else { return usual.or_else(within_turn) };
        let mut request = self.next_request();
        let mut kept = |cut: &Cut| {
            request.contents.clone_from(&cut.kept);
            count(&request) as f64
        };
        let window = f64::from(*window);
        if usual.as_ref().is_some_and(|cut| kept(cut) <= window * compression.threshold) {
            return usual;
        }
        let cut = within_turn().or(usual)?;
        (trigger == CompressionTrigger::Manual || kept(&cut) < window).then_some(cut)
    }

    /// What came of it, as things stand now.
    fn report(
        &self,
        status: CompressionStatus,
        before: u64,
        trigger: CompressionTrigger,
    ) -> CompressionReport {
        let next = self.next_request();
        let (after, messages, window) = (self.count(&next), next.contents.len(), self.window());
        CompressionReport { status, before, after, trigger, messages, window, usage: None, detail: None }
    }

    fn tell(&self, report: CompressionReport) {
        self.ledger.show(Delta::Compression(report));
    }

    /// The summary has come, or not. On any failure the conversation is as it was.
    pub(super) async fn summed(
        &mut self,
        answer: Result<GenerateResponse, LlmError>,
    ) -> Result<(), JournalError> {
        let Phase::Summing(summary) = std::mem::replace(&mut self.phase, Phase::Idle) else { return Ok(()) };
        let Summary { cut, tokens, before, trigger, .. } = *summary;
        let usage = answer.as_ref().ok().and_then(|answer| answer.usage_metadata.clone());
        self.spend(usage.as_ref());
        let put = match answer {
            Ok(answer) => self.put(&answer, cut, before).await?,
            Err(error) if error.kind == LlmErrorKind::InvalidStream => {
                Err((CompressionStatus::EmptySummary, Some(error)))
            }
            Err(error) => Err((CompressionStatus::Failed, Some(error))),
        };
        match put {
            Ok(()) => {
                let report = self.report(CompressionStatus::Compressed, before, trigger);
                self.tell(CompressionReport { usage, ..report });
            }
            Err(failure) => {
                if trigger == CompressionTrigger::Auto && self.try_again(&failure, tokens) {
                    return Ok(());
                }
                let (status, error) = failure;
                let model = self.settings.template.model.clone();
                let failed = CompressionFailed { status, tokens, model };
                self.ledger.commit(vec![Fact::CompressionFailed(failed)]).await?;
                let detail = error.map(|error| error.to_string());
                let report = self.report(status, before, trigger);
                self.tell(CompressionReport { usage, detail, ..report });
            }
        }
        match trigger {
            CompressionTrigger::Manual => self.next_prompt().await,
            CompressionTrigger::Auto => self.ask_model().await,
        }
    }

    /// A second summary is worth its price only when nothing can be said without one, and the first failed in
    /// a way that may pass.
    fn try_again(&mut self, (status, error): &Failure, tokens: u64) -> bool {
        let must = self.window().is_some_and(|window| tokens >= u64::from(window));
        let passing = match error {
            Some(error) => error.kind.is_retryable(),
            None => *status == CompressionStatus::EmptySummary,
        };
        let first_failure = self.last_failure().is_none();
        if !(must && passing && first_failure && self.summaries < ATTEMPTS) {
            return false;
        }
        let named = error.as_ref().and_then(|error| error.detail.retry_after);
        let pause = if error.is_some() { named.unwrap_or(PAUSE) } else { Duration::ZERO };
        pause <= LONGEST_PAUSE && self.begin_summary(tokens, pause)
    }

    /// Puts a summary in the place of the older part, if it is one and is shorter.
    async fn put(
        &mut self,
        answer: &GenerateResponse,
        cut: Cut,
        before: u64,
    ) -> Result<Result<(), Failure>, JournalError> {
        let Some(snapshot) = compress::snapshot(answer) else {
            return Ok(Err((CompressionStatus::EmptySummary, None)));
        };
        let (summary, acknowledgement) = compress::stand_ins(&snapshot, &cut, self.window());
        let (summary, acknowledgement) = (Arc::new(summary), Arc::new(acknowledgement));
        let mut request = self.next_request();
        let told = [summary.clone(), acknowledgement.clone()];
        request.contents = Chat::new(told.into_iter().chain(cut.kept)).curated();
        let after = self.count(&request);
        if after >= before {
            return Ok(Err((CompressionStatus::WouldInflate, None)));
        }
        let Cut { kept_from, prompt, .. } = cut;
        let fact = Compressed { summary, acknowledgement, kept_from, prompt, tokens: (before, after) };
        self.ledger.commit(vec![Fact::Compressed(Box::new(fact))]).await?;
        Ok(Ok(()))
    }

    fn count(&self, request: &GenerateRequest) -> u64 {
        match &self.settings.window {
            Some((_, count)) => count(request),
            // Without a counter, characters serve: they are only compared with each other.
            None => request.contents.iter().map(|content| compress::size(content) as u64).sum::<u64>() / 4,
        }
    }

    /// Somebody asks for a compression, between turns. True when a summary is on its way.
    pub(super) fn compress(&mut self) -> bool {
        let before = self.count(&self.next_request());
        let begun = self.begin_summary(before, Duration::ZERO);
        if !begun {
            self.tell(self.report(CompressionStatus::NotNeeded, before, CompressionTrigger::Manual));
        }
        begun
    }

    /// A summary that was asked for is given up. Nothing has been changed yet.
    pub(super) fn give_up_summary(&mut self) {
        self.phase = Phase::Idle;
        let before = self.count(&self.next_request());
        self.tell(self.report(CompressionStatus::Cancelled, before, CompressionTrigger::Manual));
    }

    /// Takes compressions back, between turns.
    pub(super) async fn restore(&mut self) -> Result<(), JournalError> {
        let trigger = CompressionTrigger::Manual;
        let before = self.count(&self.next_request());
        if !self.ledger.conversation.is_shortened() {
            self.tell(self.report(CompressionStatus::NothingToRestore, before, trigger));
            return Ok(());
        }
        // Read first: a journal that cannot be read must not leave a conversation with a hole.
        if let Err(error) = self.ledger.remember_everything().await {
            let report = self.report(CompressionStatus::Failed, before, trigger);
            self.tell(CompressionReport { detail: Some(error.to_string()), ..report });
            return Ok(());
        }
        self.ledger.commit(vec![Fact::Restored(Restored {})]).await?;
        self.tell(self.report(CompressionStatus::Restored, before, trigger));
        Ok(())
    }
}
