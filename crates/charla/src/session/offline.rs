//! A session that is opened to record something, not to ask a model.

use std::sync::Arc;

use charla_core::session::{
    BoundModel, Clients, Equipment, Host, RevertProblem, RevertStep, Reverted, SessionHandle, SessionOptions,
    SessionSetup, Situation,
};
use charla_proto::{
    ApprovalMode, BoxFuture, ChunkStream, Command, ContentGenerator, EmbedRequest, EmbedResponse,
    GenerateRequest, GenerateResponse, LlmError, LlmErrorKind, Outcome, Owned, Plan, Policy, Snapshots,
    TokenCount, Verdict,
};
use charla_tools::{Registry, built_in_problem};

use super::error::SessionError;
use super::host;
use super::revert::revert;
use super::rules::{RulePlaces, rule_book};
use super::store::Sessions;
use crate::clock::now;
use crate::environment::Environment;
use crate::notices::Notices;

/// Opens the session of this id without a model: it takes answers and puts files back, and asks nobody.
pub(super) async fn open(
    sessions: &Sessions,
    id: &str,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<SessionHandle, SessionError> {
    let opened = sessions.own(id).await?;
    opened.notices.iter().for_each(|notice| notices.warning(&notice.as_str().into()));
    let Owned { journal, conversation, .. } = opened.owned;
    let host = OfflineHost { environment: environment.clone(), snapshots: sessions.snapshots() };
    let setup = SessionSetup {
        host: Arc::new(host),
        model: BoundModel::new(conversation.model.clone(), Arc::new(NoModel)),
        policy: Arc::new(NoRules),
        journal,
        clients: Clients::expected(),
        options: SessionOptions::default(),
        clock: now,
    };
    Ok(SessionHandle::start(setup, conversation))
}

/// What is wrong with arguments that an answer gives, as far as it is known without the session's own tools.
pub(super) async fn problem_with(session: &SessionHandle, command: &Command) -> Option<String> {
    let Command::Answer { approval, outcome: Outcome::Modify { args } } = command else { return None };
    let (snapshot, _) = session.snapshot().await?;
    let asked = snapshot.questions().find(|asked| asked.approval == *approval)?;
    built_in_problem(&asked.confirmation.tool, args.clone()).map(|problem| problem.message)
}

struct OfflineHost {
    environment: Environment,
    snapshots: Arc<dyn Snapshots>,
}

impl Host for OfflineHost {
    fn bind<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<BoundModel, String>> {
        Box::pin(std::future::ready(Err("no model is asked here".to_owned())))
    }

    fn equip(&self, _: &Situation) -> Equipment {
        Equipment { toolbox: Arc::new(Registry::default()), instruction: None }
    }

    fn revert<'a>(
        &'a self,
        steps: Vec<RevertStep>,
    ) -> BoxFuture<'a, Result<Box<dyn Reverted>, RevertProblem>> {
        let directory = std::slice::from_ref(&self.environment.directory);
        match rule_book(&RulePlaces::of(&self.environment), directory, &[]) {
            Ok(rules) => revert(&rules, self.snapshots.clone(), steps),
            // A rule that is not understood may be a denial.
            Err(error) => Box::pin(std::future::ready(Err(RevertProblem::Failed(error.to_string())))),
        }
    }

    fn save_rules<'a>(&'a self, rules: &'a str) -> BoxFuture<'a, Result<String, String>> {
        host::save_rules(&self.environment, rules)
    }
}

/// Allows nothing: nothing runs here.
struct NoRules;

impl Policy for NoRules {
    fn judge(&self, _: &Plan, _: ApprovalMode) -> Verdict {
        let reason = "nothing runs in a session that was opened without a model".to_owned();
        Verdict::Deny { rule: "none".to_owned(), reason }
    }
}

/// Answers nothing.
struct NoModel;

fn nobody<T: Send + 'static>() -> BoxFuture<'static, Result<T, LlmError>> {
    let error = LlmError::new(LlmErrorKind::NotSupported, "this session was opened without a model");
    Box::pin(std::future::ready(Err(error)))
}

impl ContentGenerator for NoModel {
    fn generate<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<GenerateResponse, LlmError>> {
        nobody()
    }

    fn stream<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<ChunkStream, LlmError>> {
        nobody()
    }

    fn count_tokens<'a>(&'a self, _: &'a GenerateRequest) -> BoxFuture<'a, Result<TokenCount, LlmError>> {
        nobody()
    }

    fn embed<'a>(&'a self, _: &'a EmbedRequest) -> BoxFuture<'a, Result<EmbedResponse, LlmError>> {
        nobody()
    }
}
