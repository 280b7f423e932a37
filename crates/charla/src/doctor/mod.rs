//! A look at everything that a run stands on: what is there, what was found and what is wrong. Nothing is started, and
//! of models only the list is asked for.

mod model;
mod places;

use charla_proto::text::one_line;
use charla_sandbox::Wall;
use serde::Serialize;

use crate::Charla;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::hooks::{HookStanding, listed};
use crate::mcp;
use crate::notices::Notice;
use crate::session::{RuleCheck, RulePlaces};
use crate::settings::{Override, Settings};
use crate::trust::TrustDemand;

/// How something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// Good to know.
    Note,
    /// Something that a run needs, or that its user has set up, does not work.
    Wrong,
}

impl Health {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Health::Ok => "ok",
            Health::Note => "note",
            Health::Wrong => "wrong",
        }
    }
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about, in a word or two.
    pub about: &'static str,
    /// How it was found.
    pub health: Health,
    /// What was found, in one line.
    pub text: String,
    /// What to do about it.
    #[serde(skip)]
    pub hint: Option<Hint>,
}

/// Everything that was looked at.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Checkup {
    /// What this machine enforces.
    pub sandbox: Wall,
    /// The rest, in order.
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// Looks at everything. Takes as long as the model's server takes to answer, ten seconds at most, and tries the sandbox in
    /// children of this process. Must be called in a tokio runtime.
    /// `overrides` are put on top of the settings, as they would be for a run.
    pub async fn of(charla: &Charla, overrides: Vec<Override>) -> Self {
        let wall = tokio::task::spawn_blocking(Wall::prove);
        let mut checkup = Self::default();
        checkup.program();
        let settings = checkup.settings(charla, overrides);
        checkup.rules(charla);
        for finding in model::look(&settings, charla.environment()).await {
            checkup.findings.push(finding);
        }
        checkup.brought(charla, &settings);
        checkup.findings.push(places::sessions(charla.environment()));
        checkup.sandbox = wall.await.unwrap_or_default();
        checkup
    }

    /// How many things are wrong.
    pub fn wrong(&self) -> usize {
        self.findings.iter().filter(|finding| finding.health == Health::Wrong).count()
    }

    fn add(&mut self, about: &'static str, health: Health, text: impl AsRef<str>) {
        self.findings.push(Finding { about, health, text: one_line(text.as_ref()), hint: None });
    }

    fn failed(&mut self, about: &'static str, failure: &Failure) {
        let (text, hint) = (one_line(&failure.message), failure.hint.clone());
        self.findings.push(Finding { about, health: Health::Wrong, text, hint });
    }

    fn noted(&mut self, about: &'static str, notices: &[Notice]) {
        for notice in notices.iter().filter(|notice| !notice.text.is_empty()) {
            let (text, hint) = (one_line(&notice.text), notice.hint.clone());
            self.findings.push(Finding { about, health: Health::Note, text, hint });
        }
    }

    fn program(&mut self) {
        let (version, system, machine) =
            (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
        self.add("charla", Health::Ok, format!("{version}, {system} {machine}"));
    }

    /// The files, whether they can be used, and whether the workspace is trusted. What follows is looked at under the settings that hold,
    /// or under none where they cannot be used.
    fn settings(&mut self, charla: &Charla, overrides: Vec<Override>) -> Settings {
        for file in places::settings_files(charla.environment()) {
            self.add("settings", Health::Ok, file);
        }
        let effective = match charla.settings(overrides, &TrustDemand::default()) {
            Ok(effective) => effective,
            Err(failure) => {
                self.failed("settings", &failure);
                return Settings::default();
            }
        };
        self.noted("settings", &effective.notices);
        match effective.settings.brought.workspace.known(charla.environment()) {
            Ok(standing) => self.add("trust", Health::Ok, format!("this workspace {}", standing.in_words())),
            Err(failure) => self.failed("trust", &failure),
        }
        effective.settings
    }

    fn rules(&mut self, charla: &Charla) {
        match RuleCheck::new(&RulePlaces::of(charla.environment()), &[], &[]) {
            Ok(rules) => {
                let notices: Vec<Notice> = rules.book.notices().map(Notice::from).collect();
                self.add("rules", Health::Ok, format!("{} hold", rules.book.rules().len()));
                self.noted("rules", &notices);
            }
            Err(error) => self.add("rules", Health::Wrong, error.to_string()),
        }
    }

    /// What others bring: servers, extensions, skills, agents, hooks.
    fn brought(&mut self, charla: &Charla, settings: &Settings) {
        for (name, reached) in mcp::outlook(settings, charla.environment()) {
            match reached {
                Ok(how) => {
                    let (text, hint) = (one_line(&format!("{name}: {how}, not started")), Hint::TestServer);
                    let (about, health) = ("mcp server", Health::Ok);
                    self.findings.push(Finding { about, health, text, hint: Some(hint) });
                }
                Err(why) => self.add("mcp server", Health::Wrong, format!("{name} cannot be used: {why}")),
            }
        }
        self.extensions(charla);
        let mut notices: Vec<Notice> = Vec::new();
        let skills = charla.skills(settings, &mut notices);
        self.named("skills", skills.iter().map(|skill| skill.name.as_str()));
        notices.extend(skills.left_out().iter().map(Notice::from));
        self.noted("skills", &notices);
        let mut notices: Vec<Notice> = Vec::new();
        let agents = charla.agents(settings, &mut notices);
        self.named("agents", agents.iter().map(|agent| agent.name.as_str()));
        notices.extend(agents.left_out().iter().map(Notice::from));
        self.noted("agents", &notices);
        self.hooks(charla, settings);
    }

    fn named<'a>(&mut self, about: &'static str, names: impl Iterator<Item = &'a str>) {
        let names: Vec<&str> = names.collect();
        if !names.is_empty() {
            self.add(about, Health::Ok, names.join(", "));
        }
    }

    fn extensions(&mut self, charla: &Charla) {
        let Some(all) = Extensions::of(charla.environment()) else { return };
        match all.list() {
            Ok((installed, broken)) => {
                for extension in &installed {
                    let (name, version) = (&extension.manifest.name, &extension.manifest.version);
                    let state = if extension.enabled { "enabled" } else { "disabled" };
                    self.add("extension", Health::Ok, format!("{name} (v{version}) {state}"));
                }
                for notice in &broken {
                    self.add("extension", Health::Wrong, &notice.text);
                }
            }
            Err(failure) => self.failed("extension", &failure),
        }
    }

    fn hooks(&mut self, charla: &Charla, settings: &Settings) {
        let mut notices: Vec<Notice> = Vec::new();
        let found = match listed(settings, charla.environment(), &mut notices) {
            Ok(found) => found,
            Err(failure) => return self.failed("hooks", &failure),
        };
        self.noted("hooks", &notices);
        for (hook, standing) in &found {
            let is_noted = *standing == HookStanding::Untrusted || hook.unreadable_matcher;
            let health = match standing {
                HookStanding::Missing => Health::Wrong,
                _ if is_noted => Health::Note,
                _ => Health::Ok,
            };
            let every =
                if hook.unreadable_matcher { ", for every tool: its matcher is not understood" } else { "" };
            let how = match standing {
                HookStanding::Missing => "cannot run, its script is not there or may not be run (chmod +x)",
                standing => standing.name(),
            };
            self.add("hook", health, format!("{} {}: {how}{every}", hook.event, hook.name));
        }
    }
}
