//! What hooks there are: from definitions to those that run for an occasion.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_proto::HookEvent;
use charla_proto::text::{nearest, one_line};
use regex::Regex;

use crate::environment::Environment;
use crate::notices::{Notice, Notices};
use crate::settings::{HookCommand, HookGroup, HookGroups, HooksConfig, Settings};

/// How long a hook may take where nothing is set.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A hook that is configured.
#[derive(Clone, Debug)]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    /// For which occasions, as it was written; absent for all.
    pub matcher: Option<String>,
    /// What it is called: its name, or else its command line.
    pub name: String,
    /// Its command line.
    pub command: String,
    /// Where it is set.
    pub source: String,
    /// Its matcher is no expression that is understood here, such as one with a look-ahead: it runs for every tool.
    pub unreadable_matcher: bool,
    /// It does not run: its name is on the list of those that do not, or none run.
    pub disabled: bool,
    pub(super) timeout: Duration,
    pub(super) sequential: bool,
    /// The folder of the extension that brings it.
    pub(super) extension: Option<PathBuf>,
    pattern: Pattern,
}

impl Hook {
    /// The script that its command line begins with, where that is a plain path at which there is nothing that may be run. What only a
    /// shell could resolve is left to it.
    pub(super) fn missing_program(&self, environment: &Environment) -> Option<&str> {
        let word = self.command.split_whitespace().next().filter(|word| word.contains('/'))?;
        let is_plain = word
            .strip_prefix("~/")
            .unwrap_or(word)
            .chars()
            .all(|c| c.is_alphanumeric() || "/._-+@,".contains(c));
        (is_plain && !may_be_run(&environment.expand(word, &environment.directory))).then_some(word)
    }
}

/// True for a file that somebody may run.
fn may_be_run(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Which occasions a hook is for.
#[derive(Clone, Debug)]
enum Pattern {
    All,
    Exactly(String),
    Tools(Regex),
}

impl Pattern {
    /// Nothing for an expression that cannot be read.
    fn of(event: HookEvent, matcher: Option<&str>) -> Option<Self> {
        let Some(matcher) = matcher.filter(|matcher| !matcher.is_empty() && *matcher != "*") else {
            return Some(Pattern::All);
        };
        match event {
            HookEvent::BeforeTool | HookEvent::AfterTool => Regex::new(matcher).ok().map(Pattern::Tools),
            _ => Some(Pattern::Exactly(matcher.to_owned())),
        }
    }

    fn fits(&self, subjects: &[&str]) -> bool {
        match self {
            Pattern::All => true,
            Pattern::Exactly(wanted) => subjects.contains(&wanted.as_str()),
            Pattern::Tools(regex) => subjects.iter().any(|subject| regex.is_match(subject)),
        }
    }
}

/// The event that a name of no event stands for: what another agent calls it, else the nearest.
fn meant(name: &str) -> Option<HookEvent> {
    match name {
        "PreToolUse" => Some(HookEvent::BeforeTool),
        "PostToolUse" => Some(HookEvent::AfterTool),
        "UserPromptSubmit" => Some(HookEvent::BeforeAgent),
        "Stop" => Some(HookEvent::AfterAgent),
        "PreCompact" => Some(HookEvent::PreCompress),
        name => nearest(name, HookEvent::ALL.map(|event| event.to_string()).iter().map(String::as_str))
            .and_then(HookEvent::named),
    }
}

/// All hooks of a session.
#[derive(Clone, Debug, Default)]
pub struct HookSet {
    hooks: Vec<Hook>,
}

impl HookSet {
    /// The hooks of the settings. What is wrong with one is told, and the others go on.
    pub fn of(settings: &Settings, notices: &mut dyn Notices) -> Self {
        let mut set = Self::default();
        set.add(&settings.hooks, "settings", &settings.hooks_config, notices);
        set
    }

    /// Adds hooks of another source, such as an extension. They must be trusted already.
    pub fn add(
        &mut self,
        groups: &HookGroups,
        source: &str,
        config: &HooksConfig,
        notices: &mut dyn Notices,
    ) {
        for (name, groups) in groups {
            let Some(event) = HookEvent::named(name) else {
                let meant = meant(name).map(|event| format!("; did you mean `{event}`?")).unwrap_or_default();
                let text = format!("hooks of `{}` never run: there is no such event{meant}", one_line(name));
                notices.warning(&Notice::from(text));
                continue;
            };
            for group in groups {
                let matcher = group.matcher.as_deref();
                if Pattern::of(event, matcher).is_none() {
                    let matcher = one_line(matcher.unwrap_or_default());
                    notices.warning(&Notice::from(format!(
                        "the matcher `{matcher}` of {event} hooks is no expression that is understood here: they run for every tool"
                    )));
                }
                let hooks = group.hooks.iter().filter_map(|hook| self.hook(event, group, hook, source));
                let hooks: Vec<Hook> = hooks.map(|hook| hook.under(config)).collect();
                self.hooks.extend(hooks);
            }
        }
    }

    fn hook(&self, event: HookEvent, group: &HookGroup, hook: &HookCommand, source: &str) -> Option<Hook> {
        let command = hook.command.trim();
        let pattern = Pattern::of(event, group.matcher.as_deref());
        (!command.is_empty()).then(|| Hook {
            event,
            matcher: group.matcher.clone(),
            name: hook.name.clone().unwrap_or_else(|| command.to_owned()),
            command: command.to_owned(),
            source: group.source.clone().unwrap_or_else(|| source.to_owned()),
            unreadable_matcher: pattern.is_none(),
            disabled: false,
            timeout: hook.timeout.map_or(TIMEOUT, Duration::from_millis),
            sequential: group.sequential == Some(true),
            extension: group.extension.clone(),
            // A hook that guards must not be silent because of how its matcher is written.
            pattern: pattern.unwrap_or(Pattern::All),
        })
    }

    /// All of them, those that do not run included.
    pub fn all(&self) -> &[Hook] {
        &self.hooks
    }

    /// True when none of them runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.hooks.iter().all(|hook| hook.disabled)
    }

    /// True when one of them runs for this occasion.
    pub(super) fn wants(&self, event: HookEvent, subjects: &[&str]) -> bool {
        self.hooks.iter().any(|hook| hook.runs_for(event, subjects))
    }

    /// Those that run for this occasion: each once, however often it is set.
    pub(super) fn of_occasion(&self, event: HookEvent, subjects: &[&str]) -> Vec<Hook> {
        let mut found: Vec<Hook> = Vec::new();
        for hook in self.hooks.iter().filter(|hook| hook.runs_for(event, subjects)) {
            if !found.iter().any(|known| (&known.name, &known.command) == (&hook.name, &hook.command)) {
                found.push(hook.clone());
            }
        }
        found
    }
}

impl Hook {
    /// The same as far as it runs under these settings.
    fn under(self, config: &HooksConfig) -> Self {
        let is_named = |name: &String| *name == self.name || *name == self.command;
        let disabled = config.enabled == Some(false) || config.disabled.iter().any(is_named);
        Self { disabled, ..self }
    }

    fn runs_for(&self, event: HookEvent, subjects: &[&str]) -> bool {
        !self.disabled && self.event == event && self.pattern.fits(subjects)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;
    use crate::notices::Progress;

    struct Heard(Vec<String>);

    impl Notices for Heard {
        fn note(&mut self, notice: &Notice) {
            self.0.push(notice.text.clone());
        }

        fn warning(&mut self, notice: &Notice) {
            self.0.push(notice.text.clone());
        }

        fn progress(&mut self, _: Progress<'_>) {}

        fn progress_done(&mut self) {}
    }

    fn set(settings: &str) -> (HookSet, Vec<String>) {
        let mut heard = Heard(Vec::new());
        let settings: Settings = serde_json::from_str(settings).unwrap();
        (HookSet::of(&settings, &mut heard), heard.0)
    }

    #[test]
    fn a_matcher_is_an_expression_for_tools_and_a_word_elsewhere() {
        let rows = [
            ("BeforeTool", r#""write_.*|edit""#, "write_file", true),
            ("BeforeTool", r#""write_.*|edit""#, "read_file", false),
            ("BeforeTool", r#""""#, "read_file", true),
            ("AfterTool", r#""*""#, "read_file", true),
            ("AfterTool", "null", "read_file", true),
            ("SessionStart", r#""startup""#, "startup", true),
            ("SessionStart", r#""start.*""#, "startup", false),
            ("PreCompress", r#""manual""#, "auto", false),
        ];
        for (event, matcher, subject, fits) in rows {
            let text = format!(
                r#"{{"hooks": {{"{event}": [{{"matcher": {matcher}, "hooks": [{{"command": "x"}}]}}]}}}}"#
            );
            let (set, _) = set(&text);
            let event = HookEvent::named(event).unwrap();
            assert_eq!(set.wants(event, &[subject]), fits, "{event} {matcher} {subject}");
            assert!(!set.wants(HookEvent::AfterAgent, &[subject]));
        }
    }

    #[test]
    fn a_matcher_that_cannot_be_read_lets_its_hook_run_for_every_tool_and_is_told() {
        for matcher in ["^(?!read_file$)", "(", r"(a)\1", "a{99999}{99999}"] {
            let groups = serde_json::json!({"hooks": {"BeforeTool": [{"matcher": matcher, "hooks": [{"command": "x"}]}]}});
            let (set, heard) = set(&groups.to_string());
            assert!(set.wants(HookEvent::BeforeTool, &["write_file"]), "{matcher}");
            assert!(set.wants(HookEvent::BeforeTool, &["read_file"]), "{matcher}");
            assert!(set.all().iter().all(|hook| hook.unreadable_matcher), "{matcher}");
            assert!(heard.len() == 1 && heard[0].contains(matcher), "{heard:?}");
        }
        let (set, heard) =
            set(r#"{"hooks": {"SessionStart": [{"matcher": "(", "hooks": [{"command": "x"}]}]}}"#);
        assert!(!set.wants(HookEvent::SessionStart, &["startup"]) && heard.is_empty());
    }

    #[test]
    fn the_same_hook_of_two_places_runs_once_and_a_disabled_one_not_at_all() {
        let (set, heard) = set(r#"{"hooksConfig": {"disabled": ["off", "echo off"]}, "hooks": {
            "BeforeTool": [{"hooks": [{"command": "a"}, {"command": "b", "name": "off"}]},
                           {"matcher": "x", "hooks": [{"command": " a "}, {"command": "echo off"}, {"command": ""}]}],
            "Before\nTool": [{"hooks": [{"command": "a"}]}]}}"#);
        let names = |subject| {
            let hooks = set.of_occasion(HookEvent::BeforeTool, &[subject]);
            hooks.into_iter().map(|hook| hook.command).collect::<Vec<_>>()
        };
        assert_eq!((names("x"), names("y")), (vec!["a".to_owned()], vec!["a".to_owned()]));
        assert_eq!(set.all().len(), 4);
        assert_eq!(
            heard,
            [r"hooks of `Before\nTool` never run: there is no such event; did you mean `BeforeTool`?"]
        );
        for (name, event) in
            [("PreToolUse", "BeforeTool"), ("Stop", "AfterAgent"), ("Aftertool", "AfterTool"), ("x", "")]
        {
            let (_, heard) = self::set(&format!(r#"{{"hooks": {{"{name}": [{{"hooks": []}}]}}}}"#));
            let meant = format!("did you mean `{event}`?");
            assert_eq!(heard[0].ends_with(&meant), !event.is_empty(), "{heard:?}");
        }
    }

    #[test]
    fn a_script_that_is_not_there_is_seen_where_its_path_is_plain() {
        let folder = tempfile::tempdir().unwrap();
        let mut environment = Environment::of([("HOME", folder.path())]);
        environment.directory = folder.path().to_owned();
        for (name, mode) in [("there.sh", 0o700), ("plain.sh", 0o600)] {
            std::fs::write(folder.path().join(name), "").unwrap();
            std::fs::set_permissions(folder.path().join(name), Permissions::from_mode(mode)).unwrap();
        }
        for (command, missing) in [
            ("~/there.sh --quietly", None),
            ("./there.sh", None),
            ("~/gone.sh --quietly", Some("~/gone.sh")),
            ("~/plain.sh --quietly", Some("~/plain.sh")),
            ("bash ~/plain.sh", None),
            ("./", Some("./")),
            ("hooks/gone.sh", Some("hooks/gone.sh")),
            ("echo no", None),
            ("$HOME/gone.sh", None),
            ("'a b/gone.sh'", None),
        ] {
            let groups = serde_json::json!({"hooks": {"BeforeTool": [{"hooks": [{"command": command}]}]}});
            let (set, _) = self::set(&groups.to_string());
            assert_eq!(set.all()[0].missing_program(&environment), missing, "{command}");
        }
    }

    #[test]
    fn switched_off_none_runs() {
        let (set, _) = set(
            r#"{"hooksConfig": {"enabled": false}, "hooks": {"BeforeTool": [{"hooks": [{"command": "a"}]}]}}"#,
        );
        assert!(set.is_idle() && !set.wants(HookEvent::BeforeTool, &["x"]));
    }
}
