//! The players of a replay, put together as a session needs them: a host and rules that do what is recorded.

use std::sync::Arc;

use charla_proto::{
    ApprovalMode, BoxFuture, Confinement, Confirmation, Fact, Missing, Plan, Policy, TurnEnd, Verdict,
};

use super::model::RecordedModel;
use super::playback::{Playback, Recording};
use super::tools::{self, RecordedTools};
use super::view::{View, id_of};
use crate::compress::Compression;
use crate::session::{
    BoundModel, CallIds, EARLIER_ANSWER, Equipment, Host, Prices, SESSION, SessionOptions, SessionSetup,
    Situation, schema_problem,
};

/// A session in which everything but the engine is played.
pub(super) fn setup(playback: &Arc<Playback>) -> SessionSetup {
    let host = RecordedHost(playback.clone());
    let (check, shown) = (playback.clone(), playback.clone());
    let (limits, _) = playback.segment.limits();
    SessionSetup {
        model: host.model(&playback.segment.before.model),
        host: Arc::new(host),
        policy: Arc::new(RecordedRules { playback: playback.clone(), added: None }),
        journal: Box::new(Recording(playback.clone())),
        clients: playback.clients.clone(),
        options: SessionOptions {
            limits,
            isolation: Some(Arc::new(move |plan, _| shown.look(|view| tools::isolation(view, plan)))),
            // What was compressed then is taken as it is; nothing is compressed anew.
            compression: Compression { automatic: false, ..Compression::default() },
            answer_check: Some(Arc::new(move |_| check.look(problem))),
            call_ids: CallIds::AsRecorded,
            ..SessionOptions::default()
        },
        clock: || 0,
    }
}

/// What is wrong with the answer just given, where the recording says that something was.
fn problem(view: &View) -> Option<String> {
    let told = match view.next()? {
        Fact::PromptJoined(joined) if joined.by == SESSION => joined.content.text(),
        Fact::TurnEnded(ended) if ended.end == TurnEnd::SchemaMismatch => ended.detail.clone()?,
        _ => return None,
    };
    schema_problem(&told).map(str::to_owned)
}

struct RecordedHost(Arc<Playback>);

impl RecordedHost {
    fn model(&self, reference: &str) -> BoundModel {
        let (_, price) = self.0.segment.limits();
        let prices = price.map(Prices::of_all).unwrap_or_default();
        BoundModel { prices, ..BoundModel::new(reference, Arc::new(RecordedModel(self.0.clone()))) }
    }
}

impl Host for RecordedHost {
    fn bind<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<BoundModel, String>> {
        Box::pin(std::future::ready(Ok(self.model(model))))
    }

    fn equip(&self, _: &Situation) -> Equipment {
        Equipment { toolbox: Arc::new(RecordedTools(self.0.clone())), instruction: None }
    }

    fn save_rules<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String, String>> {
        let saved = self.0.look(|view| match view.next() {
            Some(Fact::RulesSaved(saved)) => Ok(saved.place.clone()),
            _ => Err("they were not saved".to_owned()),
        });
        Box::pin(std::future::ready(saved))
    }
}

/// Judges as recorded: what was asked about is asked about, what ran may run.
struct RecordedRules {
    playback: Arc<Playback>,
    /// The rules that were put on top last.
    added: Option<String>,
}

impl RecordedRules {
    fn verdict(&self, view: &View, plan: &Plan) -> Option<Verdict> {
        let call = tools::call_of(plan)?;
        if id_of(view.next_call()?) != call {
            return None;
        }
        match (view.next()?, view.after_next()) {
            (Fact::CallStarted(started), _) => {
                let confinement = started.confinement.unwrap_or(Confinement::Open);
                Some(Verdict::Allow { rule: started.rule.clone().unwrap_or_default(), confinement })
            }
            (Fact::CallAsked(asked), _) => Some(self.on_question(&asked.confirmation)),
            // A question whose answer no longer holds is closed before the next is asked.
            (Fact::ApprovalAnswered(closed), Some(Fact::CallAsked(asked)))
                if closed.by == SESSION && asked.call == call =>
            {
                Some(self.on_question(&asked.confirmation))
            }
            (Fact::ApprovalAnswered(answered), _) if answered.by == EARLIER_ANSWER => Some(Verdict::Allow {
                rule: String::new(),
                confinement: tools::reach(view, call).unwrap_or(Confinement::Open),
            }),
            _ => None,
        }
    }

    /// The verdict that a recorded question came from. With the rules that it offers, there would be no question.
    fn on_question(&self, confirmation: &Confirmation) -> Verdict {
        let rule = confirmation.rule.clone();
        let is_offered = self.added.is_some() && self.added == confirmation.always;
        if confirmation.reasons.is_empty() || is_offered {
            return Verdict::Allow { rule, confinement: confirmation.reach() };
        }
        let missing = confirmation.reasons.iter().map(|reason| {
            let (what, reason) = reason.split_once(": ").unwrap_or((reason, ""));
            let always = confirmation.always.clone();
            Missing { what: what.to_owned(), reason: reason.to_owned(), always }
        });
        Verdict::Ask { rule, missing: missing.collect(), confinement: confirmation.reach() }
    }
}

impl Policy for RecordedRules {
    fn judge(&self, plan: &Plan, _: ApprovalMode) -> Verdict {
        let verdict = self.playback.look(|view| self.verdict(view, plan));
        verdict.unwrap_or(Verdict::Ask {
            rule: String::new(),
            missing: Vec::new(),
            confinement: Confinement::Open,
        })
    }

    fn with_rules(&self, toml: &str) -> Result<Arc<dyn Policy>, String> {
        Ok(Arc::new(Self { playback: self.playback.clone(), added: Some(toml.to_owned()) }))
    }
}
