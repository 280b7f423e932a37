//! The settings of hooks, as Gemini CLI has them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::names;

/// Hooks by event.
pub type HookGroups = BTreeMap<String, Vec<HookGroup>>;

/// Hooks that run for the same occasions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HookGroup {
    /// Which occasions: a regular expression for the tool's name, or else the source, trigger, reason or type itself. Unset, empty or `*`: all.
    pub matcher: Option<String>,
    /// They run one after the other, and each sees what those before it changed. Otherwise all at once.
    pub sequential: Option<bool>,
    /// The hooks.
    pub hooks: Vec<HookCommand>,
    /// Where they are set. Filled in when settings are put together.
    #[schemars(skip)]
    pub source: Option<String>,
    /// The folder of the extension that brings them.
    #[serde(skip)]
    pub extension: Option<PathBuf>,
}

/// A hook.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HookCommand {
    /// What kind it is: `command` is the only one.
    #[schemars(schema_with = "names::hook_kind")]
    pub r#type: HookKind,
    /// The command line, for bash.
    pub command: String,
    /// What it is called; its command line when unset.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Milliseconds it may take; 60000 when unset.
    #[schemars(range(min = 1))]
    pub timeout: Option<u64>,
}

/// What kind of hook it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookKind {
    /// A command line.
    #[default]
    Command,
}

/// Which hooks run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HooksConfig {
    /// Hooks run; on when unset.
    pub enabled: Option<bool>,
    /// Names of hooks that do not run; the lists of all settings files together.
    pub disabled: Vec<String>,
}

/// Writes into the hooks of a settings file where they come from.
pub(super) fn mark_source(settings: &mut Map<String, Value>, source: &str) {
    let Some(Value::Object(events)) = settings.get_mut("hooks") else { return };
    let groups = events.values_mut().filter_map(Value::as_array_mut).flatten();
    for group in groups.filter_map(Value::as_object_mut) {
        group.insert("source".to_owned(), source.into());
    }
}

/// Puts a list of one layer behind that of another.
pub(super) fn extend(below: &mut Map<String, Value>, above: Map<String, Value>) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Array(below)), Value::Array(above)) => below.extend(above),
            (_, value) => drop(below.insert(key, value)),
        }
    }
}
