//! Room in the window: compresses the conversation before it stops fitting.

use std::sync::Arc;
use std::time::Duration;

use charla_proto::{
    Compressed, CompressionFailed, CompressionReport, CompressionStatus, CompressionTrigger, Content, Fact,
    GenerateRequest, GenerateResponse, Hint, LlmError, LlmErrorKind, OutputsCut, Phase, PreCompress,
    Restored, Role, TurnEvent, UsageMetadata, WindowPart,
};

use super::ending::{Ending, Stop};
use super::requests::{Requests, Signal};
use super::turn::Session;
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
/// The share of the threshold that a conversation must come below for cut outputs to be enough.
const ENOUGH: f64 = 0.8;
/// Shares of the conversation that may stay, tried from the largest.
const KEPT_SHARES: [f64; 6] = [0.5, 0.3, 0.15, 0.07, 0.02, 0.0];
/// From so many windows on a conversation is summarized in steps.
const SEVERAL: f64 = 3.0;
/// How long to wait before a summary is asked for again when the server names no time, and at the most.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Makes room on behalf of a session.
pub(super) struct Compaction<'a> {
    session: &'a mut Session,
}

/// A summary that is to be asked for.
struct Plan {
    request: GenerateRequest,
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

/// What came of asking for a summary.
enum Summary {
    Came(Box<Result<GenerateResponse, LlmError>>),
    Cancelled { by: String },
}

/// Why there is no summary, and in words where there are any.
type Failure = (CompressionStatus, Option<LlmError>);

impl<'a> Compaction<'a> {
    pub(super) fn new(session: &'a mut Session) -> Self {
        Self { session }
    }

    /// Makes room for the next request; an ending when there is none to be made.
    pub(super) async fn make_room(&mut self) -> Result<Option<Ending>, Stop> {
        let automatic = self.session.options.compression.automatic;
        if automatic && let Some(full) = self.full() {
            self.cut_old_outputs(&full).await?;
        }
        while let Some(full) = self.full() {
            if automatic
                && self.may_summarize(&full)
                && let Some(plan) = self.plan(full.tokens, CompressionTrigger::Auto)
            {
                let summaries = self.session.efforts.summaries;
                let kept_from = self.kept_from();
                if let Some(by) = self.summarize(plan).await? {
                    return Ok(Some(self.session.cancelled(by)));
                }
                // A conversation of many windows comes down in steps: one that helped is not counted.
                if self.kept_from() > kept_from && full.tokens as f64 > full.window as f64 * SEVERAL {
                    self.session.efforts.summaries = summaries;
                }
                continue;
            }
            if full.tokens < full.window {
                break;
            }
            let room = full.window as f64 * self.session.options.compression.threshold;
            let may_cut = automatic && self.outputs_matter(full.window);
            if may_cut && self.cut_outputs(full.tokens, room / full.tokens as f64).await? {
                continue;
            }
            let Some(refusal) = self.refused_unsent(full.window) else { break };
            if !(automatic && self.leave_out(full.tokens, full.window as f64).await?) {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    /// The record that what is sent in full begins with.
    fn kept_from(&self) -> u64 {
        let compressed = self.session.ledger.conversation.shortening.compressed.as_ref();
        compressed.map_or(0, |compressed| compressed.kept_from)
    }

    /// Large outputs of tools in the older part are cut before a summary is paid for, where that is enough for a
    /// while.
    async fn cut_old_outputs(&mut self, full: &Full) -> Result<(), Stop> {
        let compression = self.session.options.compression;
        let sent = self.session.ledger.conversation.sent();
        let Some(cut) = compress::split(&sent, compression.keep) else { return Ok(()) };
        let whole_in = self.session.ledger.place();
        let Some((calls, kept)) = compress::large_outputs(&cut.older, whole_in.as_deref()) else {
            return Ok(());
        };
        let mut request = self.session.request();
        let before = self.count(&request);
        request.contents = compress::with_cut(&request.contents, &calls, kept, whole_in.as_deref());
        let after = full.tokens.saturating_sub(before.saturating_sub(self.count(&request)));
        if after as f64 > full.window as f64 * compression.threshold * ENOUGH {
            return Ok(());
        }
        self.send_cut(calls, kept, before).await
    }

    /// Leaves the oldest part out, as little as makes the rest fit: the last means. False when that does not help.
    async fn leave_out(&mut self, before: u64, room: f64) -> Result<bool, Stop> {
        let Some(compressed) = self.without_oldest(before, room) else { return Ok(false) };
        self.session.ledger.commit_one(Fact::Compressed(Box::new(compressed))).await?;
        let report = self.report(CompressionStatus::LeftOut, before, CompressionTrigger::Auto);
        self.show(report);
        Ok(true)
    }

    fn without_oldest(&mut self, before: u64, room: f64) -> Option<Compressed> {
        let mut request = self.session.request();
        let sent = self.session.ledger.conversation.sent();
        let window = self.window();
        let (comfort, own) = (room * self.session.options.compression.threshold, self.count(&request));
        let mut best: Option<Compressed> = None;
        for keep in KEPT_SHARES {
            for cut in [compress::split(&sent, keep), compress::split_turn(&sent, keep)].into_iter().flatten()
            {
                let (summary, acknowledgement) = compress::left_out(&cut, window);
                let (summary, acknowledgement) = (Arc::new(summary), Arc::new(acknowledgement));
                let stand_ins = [summary.clone(), acknowledgement.clone()];
                request.contents = Chat::new(stand_ins.into_iter().chain(cut.kept.iter().cloned())).curated();
                let after = self.count(&request);
                let (kept_from, prompt, tokens) = (cut.kept_from, cut.prompt.clone(), (before, after));
                let found = Compressed { summary, acknowledgement, kept_from, prompt, tokens, usage: None };
                if (after as f64) < comfort {
                    return Some(found);
                }
                if after < own && best.as_ref().is_none_or(|best| after < best.tokens.1) {
                    best = Some(found);
                }
            }
        }
        best.filter(|best| (best.tokens.1 as f64) < room)
    }

    /// By our own count: a server that answers requests beyond its window has figures, or a window, that are
    /// not what they seem.
    fn refused_unsent(&mut self, window: u64) -> Option<Ending> {
        let request = self.session.request();
        let tokens = self.count(&request);
        if (tokens as f64) < window as f64 * DOUBT {
            return None;
        }
        let Filling { description, fullest } = self.what_fills(&request);
        let message = format!(
            "the conversation has about {tokens} tokens and the model's window has {window}; it is filled by: {description}"
        );
        let error = LlmError::new(LlmErrorKind::ContextOverflow, message);
        Some(error.with_hint(self.way_out(fullest)).into())
    }

    /// The provider says that the conversation is too long, whatever was known of its window. Nothing when it may
    /// be asked again.
    pub(super) async fn after_refusal(&mut self, error: LlmError) -> Result<Option<Ending>, Stop> {
        self.session.efforts.refusals += 1;
        let request = self.session.request();
        if self.session.options.compression.automatic && self.session.efforts.refusals < REFUSALS {
            let before = self.count(&request);
            let summaries = self.session.efforts.summaries;
            let tried = summaries > 0 && self.last_failure().is_some();
            if !tried
                && summaries < ATTEMPTS
                && let Some(plan) = self.plan(before, CompressionTrigger::Auto)
            {
                let cancelled = self.summarize(plan).await?;
                return Ok(cancelled.map(|by| self.session.cancelled(by)));
            }
            if self.cut_outputs(before, 0.5).await? || self.leave_out(before, before as f64).await? {
                return Ok(None);
            }
        }
        let Filling { description, fullest } = self.what_fills(&request);
        let filled =
            if description.is_empty() { description } else { format!("; it is filled by: {description}") };
        let message = format!("{}{filled}", error.message);
        Ok(Some(LlmError { message, ..error }.with_hint(self.way_out(fullest)).into()))
    }

    /// Somebody asks for a compression, between turns.
    pub(super) async fn compress(&mut self) -> Result<(), Stop> {
        let request = self.session.request();
        let before = self.count(&request);
        self.session.efforts.summaries = 0;
        let status = match self.plan(before, CompressionTrigger::Manual) {
            None => CompressionStatus::NotNeeded,
            // Nothing has been changed yet: the summary is dropped with its request.
            Some(plan) => match self.summarize(plan).await? {
                Some(_) => CompressionStatus::Cancelled,
                None => return Ok(()),
            },
        };
        let report = self.report(status, before, CompressionTrigger::Manual);
        self.show(report);
        Ok(())
    }

    /// Takes compressions back, between turns.
    pub(super) async fn restore(&mut self, by: String) -> Result<(), Stop> {
        let trigger = CompressionTrigger::Manual;
        let request = self.session.request();
        let before = self.count(&request);
        if !self.session.ledger.conversation.shortening.is_any() {
            let report = self.report(CompressionStatus::NothingToRestore, before, trigger);
            self.show(report);
            return Ok(());
        }
        // Read first: a journal that cannot be read must not leave a conversation with a hole.
        if let Err(error) = self.session.ledger.remember_everything().await {
            let report = self.report(CompressionStatus::Failed, before, trigger);
            self.show(CompressionReport { detail: Some(error.to_string()), ..report });
            return Ok(());
        }
        self.session.ledger.commit_one(Fact::Restored(Restored { by: Some(by) })).await?;
        let report = self.report(CompressionStatus::Restored, before, trigger);
        self.show(report);
        Ok(())
    }

    /// What the next request would have, when that is more than the threshold. Nothing when there is room or
    /// the window is unknown.
    fn full(&mut self) -> Option<Full> {
        let window = self.window()?;
        let threshold = f64::from(window) * self.session.options.compression.threshold;
        let measured = self.measured();
        // The last answer's own figures say that there is plenty of room: then nothing has to be counted, and a
        // step costs nothing that grows with the conversation.
        if measured.is_some_and(|tokens| (tokens as f64) < threshold) {
            return None;
        }
        let request = self.session.request();
        let tokens = self.count(&request).max(measured.unwrap_or(0));
        (tokens as f64 > threshold).then_some(Full { window: u64::from(window), tokens })
    }

    /// The next request's tokens by the last answer's figures and an estimate of what came since.
    fn measured(&self) -> Option<u64> {
        let usage = self.session.ledger.conversation.last_usage.as_ref()?;
        let contents = &self.session.ledger.conversation.contents;
        let new = contents.iter().rev().take_while(|(_, content)| content.role == Role::User);
        let new: Vec<Arc<Content>> = new.map(|(_, content)| content.clone()).collect();
        let known = usage.prompt_token_count?.saturating_add(usage.output());
        Some(known.saturating_add(self.count(&GenerateRequest::new("", new))))
    }

    fn window(&self) -> Option<u32> {
        self.session.binding.model.window
    }

    fn count(&self, request: &GenerateRequest) -> u64 {
        (self.session.binding.model.count)(request)
    }

    /// By kind; nothing where the window is unknown.
    fn what_fills(&self, request: &GenerateRequest) -> Filling {
        let model = &self.session.binding.model;
        model.window.map(|_| compress::what_fills(request, &model.count)).unwrap_or_default()
    }

    /// What a person can do about a conversation that does not fit.
    fn way_out(&self, fullest: WindowPart) -> Hint {
        Hint::MakeRoom { fullest, compress: !self.session.options.compression.automatic }
    }

    /// A summary that failed, or helped too little, is tried again when the conversation has grown; one that
    /// does not fit has nothing to lose, but costs one request a prompt and not two.
    fn may_summarize(&self, full: &Full) -> bool {
        let failed = self.last_failure();
        let must = full.tokens >= full.window;
        let most = if must && failed.is_some() { 1 } else { ATTEMPTS };
        let compressed = self.session.ledger.conversation.shortening.compressed.as_ref();
        let last = failed.or_else(|| compressed.map(|compressed| compressed.tokens.1));
        let grown = last.is_none_or(|then| full.tokens as f64 >= then as f64 + full.window as f64 * GROWTH);
        self.session.efforts.summaries < most && (must || grown)
    }

    /// Tokens of the conversation when this model last failed to summarize it.
    fn last_failure(&self) -> Option<u64> {
        let failed = self.session.ledger.conversation.shortening.failed.as_ref();
        let model = &self.session.binding.model.template.model;
        failed.filter(|failed| failed.model == *model).map(|failed| failed.tokens)
    }

    /// False when the rest of the conversation is too much by itself: then cutting what tools returned would lose
    /// it for nothing.
    fn outputs_matter(&mut self, window: u64) -> bool {
        let mut request = self.session.request();
        request.contents.retain(|content| content.function_responses().next().is_none());
        (self.count(&request) as f64) < window as f64 * DOUBT
    }

    /// Sends large outputs cut from now on, the largest first, to come down to `share` of what there is; false
    /// when there are none.
    async fn cut_outputs(&mut self, before: u64, share: f64) -> Result<bool, Stop> {
        let sent = self.session.ledger.conversation.sent();
        let sent: Vec<Arc<Content>> = sent.into_iter().map(|said| said.1).collect();
        let whole_in = self.session.ledger.place();
        let next = compress::largest_outputs(&sent, share, whole_in.as_deref());
        let Some((calls, kept)) = next else { return Ok(false) };
        self.send_cut(calls, kept, before).await?;
        Ok(true)
    }

    /// From now on the results of these calls are sent cut.
    async fn send_cut(&mut self, calls: Vec<String>, kept: usize, before: u64) -> Result<(), Stop> {
        let whole_in = self.session.ledger.place();
        let fact = Fact::OutputsCut(OutputsCut { calls, kept, whole_in });
        self.session.ledger.commit_one(fact).await?;
        let report = self.report(CompressionStatus::OutputsCut, before, CompressionTrigger::Auto);
        self.show(report);
        Ok(())
    }

    /// What to ask for a summary of the older part; nothing when there is none to cut off, or when no summary
    /// could help.
    fn plan(&mut self, tokens: u64, trigger: CompressionTrigger) -> Option<Plan> {
        let next = self.session.request();
        let cut = self.choose_cut(&next, trigger)?;
        let model = &self.session.binding.model;
        let window = model.window.map(|window| (window, &model.count));
        let older = Chat::new(cut.older.iter().cloned()).curated();
        let request = compress::summary_request(&next, &older, window)?;
        let before = self.count(&next);
        Some(Plan { request, cut, tokens, before, trigger })
    }

    /// Before the user's words where that is enough; within the turn under way where it is not; behind the last word where
    /// somebody wants a conversation of one turn compressed. A summary that cannot bring the conversation into the window is not worth a request.
    fn choose_cut(&self, next: &GenerateRequest, trigger: CompressionTrigger) -> Option<Cut> {
        let compression = &self.session.options.compression;
        let sent = self.session.ledger.conversation.sent();
        let whole = || compress::split_whole(&sent).filter(|_| trigger == CompressionTrigger::Manual);
        let usual = compress::split(&sent, compression.keep).or_else(whole);
        let within_turn = |keep| compress::split_turn(&sent, keep);
        let Some(window) = self.window() else { return usual.or_else(|| within_turn(compression.keep)) };
        let mut request = next.clone();
        let mut kept = |cut: &Cut| {
            request.contents.clone_from(&cut.kept);
            self.count(&request) as f64
        };
        let window = f64::from(window);
        if usual.as_ref().is_some_and(|cut| kept(cut) <= window * compression.threshold) {
            return usual;
        }
        // Many windows long: a part that one request can hold, and the rest in the next steps.
        let all = self.count(next) as f64;
        if all > window * SEVERAL
            && let Some(part) = compress::split(&sent, 1.0 - window * SEVERAL / 2.0 / all)
        {
            return Some(part);
        }
        let shares = KEPT_SHARES.into_iter().filter(|share| *share < compression.keep);
        for keep in shares {
            let cuts = [compress::split(&sent, keep), within_turn(keep)];
            if let Some(cut) =
                cuts.into_iter().flatten().find(|cut| kept(cut) <= window * compression.threshold)
            {
                return Some(cut);
            }
        }
        let cut = within_turn(compression.keep).or(usual)?;
        (trigger == CompressionTrigger::Manual || kept(&cut) < window).then_some(cut)
    }

    /// Asks for a summary and puts it in the place of the older part. On any failure the conversation is as it
    /// was. Comes back with who cancelled, if somebody did.
    async fn summarize(&mut self, plan: Plan) -> Result<Option<String>, Stop> {
        let mut pause = Duration::ZERO;
        let mut usage = None;
        loop {
            self.session.efforts.summaries += 1;
            self.announce(&plan);
            let answer = match self.ask(&plan.request, pause).await? {
                Summary::Came(answer) => *answer,
                Summary::Cancelled { by } => return Ok(Some(by)),
            };
            if let Some(cost) = answer.as_ref().ok().and_then(|answer| answer.usage_metadata.as_ref()) {
                usage.get_or_insert_with(UsageMetadata::default).add(cost);
            }
            let compressed = match answer {
                Ok(answer) => self.compressed(&answer, &plan),
                Err(error) if error.kind == LlmErrorKind::InvalidStream => {
                    Err((CompressionStatus::EmptySummary, Some(error)))
                }
                Err(error) => Err((CompressionStatus::Failed, Some(error))),
            };
            let (fact, status, detail) = match compressed {
                Ok(compressed) => {
                    let compressed = Compressed { usage: usage.clone(), ..compressed };
                    (Fact::Compressed(Box::new(compressed)), CompressionStatus::Compressed, None)
                }
                Err(failure) => {
                    if let Some(wait) = self.try_again(&failure, &plan) {
                        pause = wait;
                        continue;
                    }
                    let (status, error) = failure;
                    let model = self.session.binding.model.template.model.clone();
                    let failed =
                        CompressionFailed { status, tokens: plan.tokens, model, usage: usage.clone() };
                    (Fact::CompressionFailed(failed), status, error.map(|error| error.to_string()))
                }
            };
            self.session.ledger.commit_one(fact).await?;
            let report = self.report(status, plan.before, plan.trigger);
            self.show(CompressionReport { usage, detail, ..report });
            return Ok(None);
        }
    }

    fn announce(&mut self, plan: &Plan) {
        let coming = PreCompress {
            trigger: plan.trigger,
            tokens: plan.tokens,
            window: self.window(),
            older: plan.cut.older.len(),
            kept: plan.cut.kept.len(),
        };
        self.session.ledger.show(TurnEvent::PreCompress(coming));
    }

    async fn ask(&mut self, request: &GenerateRequest, pause: Duration) -> Result<Summary, Stop> {
        let phase = std::mem::replace(&mut self.session.phase, Phase::Summarizing);
        let generator = self.session.binding.model.generator.clone();
        let work = async {
            tokio::time::sleep(pause).await;
            generator.generate(request).await
        };
        let mut work = std::pin::pin!(work);
        let summary = loop {
            tokio::select! {
                biased;
                message = self.session.inbox.recv() => match self.session.message(message).await? {
                    Signal::Cancel { by } => break Summary::Cancelled { by },
                    Signal::Answer(answer) => Requests(self.session).answer_outside_calls(answer).await?,
                    Signal::Nothing => {}
                },
                answer = &mut work => break Summary::Came(Box::new(answer)),
            }
        };
        self.session.phase = phase;
        Ok(summary)
    }

    /// How long to wait before a second summary. It is worth its price only when nothing can be said without
    /// one, and the first failed in a way that may pass.
    fn try_again(&self, (status, error): &Failure, plan: &Plan) -> Option<Duration> {
        let must = self.window().is_some_and(|window| plan.tokens >= u64::from(window));
        let transient = match error {
            Some(error) => error.kind.is_retryable(),
            None => *status == CompressionStatus::EmptySummary,
        };
        let is_auto = plan.trigger == CompressionTrigger::Auto;
        let first_failure = self.last_failure().is_none();
        if !(is_auto && must && transient && first_failure && self.session.efforts.summaries < ATTEMPTS) {
            return None;
        }
        let named = error.as_ref().and_then(|error| error.detail.retry_after);
        let pause = if error.is_some() { named.unwrap_or(PAUSE) } else { Duration::ZERO };
        (pause <= LONGEST_PAUSE).then_some(pause)
    }

    /// The fact that a summary stands for the older part, if it is one and is shorter.
    fn compressed(&mut self, answer: &GenerateResponse, plan: &Plan) -> Result<Compressed, Failure> {
        let Some(snapshot) = compress::snapshot(answer) else {
            return Err((CompressionStatus::EmptySummary, None));
        };
        let (summary, acknowledgement) = compress::stand_ins(&snapshot, &plan.cut, self.window());
        let (summary, acknowledgement) = (Arc::new(summary), Arc::new(acknowledgement));
        let mut request = self.session.request();
        let stand_ins = [summary.clone(), acknowledgement.clone()];
        request.contents = Chat::new(stand_ins.into_iter().chain(plan.cut.kept.iter().cloned())).curated();
        let (before, after) = (plan.before, self.count(&request));
        if after >= before {
            return Err((CompressionStatus::WouldInflate, None));
        }
        let (kept_from, prompt) = (plan.cut.kept_from, plan.cut.prompt.clone());
        let tokens = (before, after);
        Ok(Compressed { summary, acknowledgement, kept_from, prompt, tokens, usage: None })
    }

    /// What came of it, as things stand now.
    fn report(
        &mut self,
        status: CompressionStatus,
        before: u64,
        trigger: CompressionTrigger,
    ) -> CompressionReport {
        let next = self.session.request();
        let (after, messages, window) = (self.count(&next), next.contents.len(), self.window());
        CompressionReport { status, before, after, trigger, messages, window, usage: None, detail: None }
    }

    fn show(&mut self, report: CompressionReport) {
        self.session.ledger.show(TurnEvent::ChatCompressed(report));
    }
}
