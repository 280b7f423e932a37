//! What hooks there are, for people: those that run, and those that do not.

use charla_proto::HookEvent;
use serde_json::{Map, Value};

use super::{Hook, HookSet};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::notices::Notices;
use crate::settings::{HookGroups, HooksConfig, Settings, keys_needing_trust};
use crate::trust::{TrustDemand, WorkspaceContent};

/// Whether a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookStanding {
    /// It does.
    Runs,
    /// The settings switch it off.
    Disabled,
    /// It comes with a workspace that its user does not trust.
    Untrusted,
    /// Its script is not there, or may not be run.
    Missing,
}

impl HookStanding {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            HookStanding::Runs => "runs",
            HookStanding::Disabled => "disabled",
            HookStanding::Untrusted => "untrusted",
            HookStanding::Missing => "missing",
        }
    }
}

/// Every hook that is configured, in the order of events.
pub fn listed(
    settings: &Settings,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<Vec<(Hook, HookStanding)>, Failure> {
    let standing = |hook: &Hook| match hook.disabled {
        true => HookStanding::Disabled,
        false if hook.missing_program(environment).is_some() => HookStanding::Missing,
        false => HookStanding::Runs,
    };
    let set = HookSet::of(settings, notices);
    let mut hooks: Vec<(Hook, HookStanding)> =
        set.all().iter().map(|hook| (hook.clone(), standing(hook))).collect();
    let untrusted = untrusted(environment, notices)?;
    hooks.extend(untrusted.all().iter().map(|hook| (hook.clone(), HookStanding::Untrusted)));
    let place = |hook: &Hook| HookEvent::ALL.iter().position(|event| *event == hook.event);
    hooks.sort_by_key(|(hook, _)| place(hook));
    Ok(hooks)
}

/// The hooks of a workspace that is not trusted.
fn untrusted(environment: &Environment, notices: &mut dyn Notices) -> Result<HookSet, Failure> {
    let mut set = HookSet::default();
    let content = WorkspaceContent::read(environment);
    let Some((path, bytes)) = content.settings() else { return Ok(set) };
    if content.standing(environment, &TrustDemand::default())?.is_trusted() {
        return Ok(set);
    }
    // A file with a mistake is left out, which is told by who reads the settings.
    let events: Map<String, Value> = keys_needing_trust(&path, bytes)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(key, value)| Some((key.strip_prefix("hooks.")?.to_owned(), value)))
        .collect();
    // They were checked when the file was read.
    let groups: HookGroups = serde_json::from_value(Value::Object(events)).unwrap_or_default();
    set.add(&groups, &path.display().to_string(), &HooksConfig::default(), notices);
    Ok(set)
}
