//! `/extensions`, `/skills`, `/agents` and `/hooks`: what somebody else's work adds to sessions.

use charla::extensions::Extensions;
use charla::hooks::{HookStanding, listed};
use charla::{Failure, Notice};
use charla_terminal::{extensions, hooks, skills, wording};

use super::work::{Errand, Finding, Found, plain};
use crate::text::{Line, Role};

impl Errand {
    /// The extensions, what each brings and whether it is used; `enable NAME` and `disable NAME` change that.
    pub async fn extensions(self, words: String) -> Finding {
        let environment = self.charla.environment();
        let all = Extensions::of(environment)
            .ok_or_else(|| Failure::config("there is no home directory to keep extensions in"))?;
        let words: Vec<&str> = words.split_whitespace().collect();
        match words.as_slice() {
            [] | ["list"] => Ok(Found::Lines(told(&all)?)),
            [what @ ("enable" | "disable"), name] => {
                all.enable(name, *what == "enable")?;
                let done = format!(
                    "Extension \"{name}\" successfully {what}d; it holds from the next start of charla on"
                );
                Ok(Found::Lines(plain(&done)))
            }
            _ => Err(Failure::input("it takes `enable NAME` or `disable NAME`, or nothing")
                .with_hint("`charla extensions --help` tells how they are installed and removed")),
        }
    }

    /// The skills, whose they are, and what was left out.
    pub async fn skills(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let found = self.charla.skills(&self.settings, &mut notices);
        let left_out = found.left_out().iter().map(Notice::from);
        notices.extend(left_out);
        Ok(Found::Lines(listing(&notices, &skills::in_words(&found))))
    }

    /// The agents, whose they are, and what was left out.
    pub async fn agents(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let found = self.charla.agents(&self.settings, &mut notices);
        let left_out = found.left_out().iter().map(Notice::from);
        notices.extend(left_out);
        Ok(Found::Lines(listing(&notices, &skills::agents_in_words(&found))))
    }

    /// The hooks, where they are set and whether they run.
    pub async fn hooks(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let found = listed(&self.settings, self.charla.environment(), &mut notices)?;
        let mut lines = warnings(&notices);
        lines.extend(hooks::in_words(&found).iter().flat_map(|line| plain(line)));
        if found.iter().any(|(_, standing)| *standing == HookStanding::Untrusted) {
            lines.extend(plain("hooks of a workspace run once it is trusted: `charla trust`"));
        }
        Ok(Found::Lines(lines))
    }
}

fn told(all: &Extensions<'_>) -> Result<Vec<Line>, Failure> {
    let (installed, broken) = all.list()?;
    let mut lines = warnings(&broken);
    for extension in &installed {
        lines.extend(plain(extensions::in_words(extension).trim_end()));
        let brings = extension.consent();
        lines.extend(brings.lines().iter().map(|line| Line::of(Role::Dim, &format!("  {line}"))));
    }
    if lines.is_empty() {
        lines = plain("No extensions installed; `charla extensions install PATH` adds one");
    }
    Ok(lines)
}

/// What there is, below what was left out.
fn listing(notices: &[Notice], rows: &[String]) -> Vec<Line> {
    warnings(notices).into_iter().chain(rows.iter().map(|row| Line::plain(row))).collect()
}

fn warnings(notices: &[Notice]) -> Vec<Line> {
    notices.iter().map(|notice| Line::of(Role::Warning, &wording::notice(notice))).collect()
}
