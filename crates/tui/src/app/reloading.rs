//! Settings, and what extensions bring, read anew while a conversation goes on.

use charla::custom_command::custom_commands;
use charla::extensions::Extensions;
use charla::{Begin, Notices};
use charla_terminal::wording;

use super::Demands;
use super::news::Teller;
use super::setup::completions;
use super::state::App;
use crate::text::Role;

impl App {
    /// Reads settings, commands and extensions anew, and goes on with the session under them: with their servers, hooks, skills and
    /// context. The conversation, its model and its mode stay. What is not trusted counts for no more than at a start.
    pub(super) fn reload(&mut self) {
        if self.activity.is_busy() || !self.questions.is_empty() {
            let later = "a turn runs; /extensions reload takes it up once it has ended";
            return self.transcript.tell(Role::Warning, later);
        }
        let Demands { overrides, trust } = self.base.demands.clone();
        let effective = match self.base.charla.settings(overrides, &trust) {
            Ok(effective) => effective,
            Err(failure) => return self.failed(&failure),
        };
        for notice in &effective.notices {
            self.transcript.tell(Role::Warning, &format!("warning: {}", wording::notice(notice)));
        }
        let mut settings = effective.settings;
        // The recording of a run answers on where it was.
        settings.brought.replayed = self.base.settings.brought.replayed.clone();
        let own_mode = settings.tools.approval_mode.replace(self.status.mode);
        self.base.settings = settings;
        self.reload_commands();
        self.transcript.tell(Role::Dim, "settings and extensions are read anew");
        if let Some(id) = self.link().map(|link| link.id().to_owned()) {
            self.person.reloading = Some(own_mode);
            self.go_to(if self.person.has_spoken { Begin::Resume(id) } else { Begin::New });
        }
    }

    /// Looks beside the screen whether there are newer versions of extensions where they came from, and says so.
    pub(super) fn look_for_updates(&self) {
        if self.base.source.server().is_some() {
            return;
        }
        let (charla, mut teller) = (self.base.charla.clone(), Teller(self.base.tell.clone()));
        tokio::task::spawn_blocking(move || {
            let Some(all) = Extensions::of(charla.environment()) else { return };
            // What cannot be read is told where extensions are listed.
            let installed = all.list().map(|(installed, _)| installed).unwrap_or_default();
            let newer =
                installed.iter().filter(|extension| extension.enabled && all.newer(extension).is_some());
            let (count, ending) = match newer.count() {
                0 => return,
                1 => (1, ""),
                several => (several, "s"),
            };
            let text = format!(
                "You have {count} extension{ending} with an update available; /extensions update NAME installs one"
            );
            teller.note(&text.into());
        });
    }

    fn reload_commands(&mut self) {
        let (charla, tell) = (&self.base.charla, &self.base.tell);
        let brought = &self.base.settings.brought;
        match custom_commands(charla.environment(), brought, &mut Teller(tell.clone())) {
            Ok(custom) => {
                self.composer.set_sources(completions(charla, &custom, &self.base.servers, tell));
                self.base.custom = custom;
            }
            Err(failure) => self.failed(&failure),
        }
    }

    /// The session that was gone on with is open, or cannot be: the mode that the settings name is the one of new sessions again. True
    /// where it was gone on with for settings that were read anew.
    pub(super) fn reloaded(&mut self) -> bool {
        let own_mode = self.person.reloading.take();
        if let Some(mode) = own_mode {
            self.base.settings.tools.approval_mode = mode;
        }
        own_mode.is_some()
    }
}
