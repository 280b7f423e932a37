//! What "always" answers allow in the session: listed, and taken back.

use charla::Failure;
use charla::session::SavedRules;
use charla_proto::text::one_line;
use charla_proto::{Command, Granted, Reply};
use charla_terminal::grants;

use super::work::{Errand, Finding, Found};
use crate::app::ME;
use crate::text::Line;

impl Errand {
    /// What is always allowed in this session; no row before there is one.
    pub(super) async fn granted(&self) -> Vec<Line> {
        match self.grants().await {
            Some(held) => grants::listed(&held, ME).iter().map(|line| Line::plain(line)).collect(),
            None => Vec::new(),
        }
    }

    async fn grants(&self) -> Option<Vec<Granted>> {
        let (handle, _) = self.session.as_ref()?;
        Some(handle.snapshot().await?.0.choices.grants)
    }

    /// Takes back what is always allowed under a number.
    pub(super) async fn revoke(self, number: &str) -> Finding {
        let held = self.grants().await.unwrap_or_default();
        let unknown = || {
            let number = one_line(number);
            Failure::input(format!("nothing is always allowed under the number {number}"))
                .with_hint("/approvals lists what is")
        };
        let granted = grants::named(&held, number).ok_or_else(unknown)?;
        let (handle, _) = self.session.as_ref().ok_or_else(unknown)?;
        match handle.send(Command::Revoke { approval: granted.approval.clone() }, ME).await {
            Reply::Refused(refusal) => Err(Failure::input(refusal.to_string())),
            _ => {
                let besides = granted.saved.then(|| self.still_saved()).flatten();
                Ok(Found::Recorded { words: grants::revoked(&granted.grant, granted.saved), besides })
            }
        }
    }

    /// What is said of a rule that was saved with an "always": taking that back does not reach it.
    fn still_saved(&self) -> Option<String> {
        let saved = SavedRules::of(self.charla.environment())?;
        let place = saved.path().display();
        Some(format!("that rule holds in other sessions until you remove it from {place}"))
    }
}
