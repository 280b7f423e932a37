//! What is known of a call from before its plan was made in this process: questions outlive the process that asked them.

use charla_proto::{Confinement, OpenApproval, OpenCall, Outcome, Plan};

use super::super::approvals::{detail, on_same_ground};
use super::super::{EARLIER_ANSWER, NOBODY};

/// What is known of a question about a call from before its plan was made.
pub(super) enum Known {
    Nothing,
    Waits,
    Allowed {
        outcome: Outcome,
        confinement: Confinement,
        /// A person said so, of this call.
        agreed: bool,
    },
    Refused {
        reason: Option<String>,
        by: String,
    },
    /// Nobody was there to be asked.
    Unasked,
    /// There was one, but what would happen now is something else.
    Outdated {
        open: Option<String>,
    },
}

impl Known {
    /// What an earlier question about this call has come to. An approval holds for what was shown.
    pub(super) fn of(open: Option<&OpenCall>, plan: &Plan) -> Self {
        let Some(open) = open else { return Self::Nothing };
        let Some(OpenApproval { asked, answer }) = &open.approval else { return Self::Nothing };
        let (then, now) = (&asked.confirmation.detail, detail(plan, &open.call));
        let by_person =
            matches!(answer, Some((Outcome::Modify { .. } | Outcome::ModifyWithEditor { .. }, _)));
        let is_the_same = match by_person {
            true => on_same_ground(then, &now),
            false => *then == now,
        };
        match answer {
            Some((Outcome::Cancel { .. }, by)) if by == NOBODY => Self::Unasked,
            Some((Outcome::Cancel { reason }, by)) => {
                Self::Refused { reason: reason.clone(), by: by.clone() }
            }
            Some((outcome, by)) if is_the_same => Self::Allowed {
                outcome: outcome.clone(),
                confinement: asked.confirmation.reach(),
                agreed: by != EARLIER_ANSWER,
            },
            None if is_the_same => Self::Waits,
            Some(_) => Self::Outdated { open: None },
            None => Self::Outdated { open: Some(asked.approval.clone()) },
        }
    }
}
