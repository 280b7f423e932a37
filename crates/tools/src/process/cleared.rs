//! Protected places that a command made unasked, and that were taken away again.

use std::sync::Arc;

use charla_sandbox::{Arrivals, Taken};
use tokio::task::spawn_blocking;

/// How many places are named.
const NAMED: usize = 20;

const LEFT_RUNNING: &str =
    "The processes that it left running were ended: a command that edits unasked leaves none.";
const MADE: &str = "These came into being while the command ran. They run something or instruct somebody later, so only a \
    command that a person approved may make them:";

/// What became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleared {
    taken: Vec<Taken>,
    /// Why it was not looked for them.
    failure: Option<String>,
    /// Processes that it left running were ended for it.
    left_running: bool,
}

impl Cleared {
    /// Takes them away. Nothing of a command that edits unasked may run any more.
    pub(super) async fn take_out(arrivals: Arc<Arrivals>, left_running: bool) -> Self {
        let (taken, failure) = match spawn_blocking(move || arrivals.take_out()).await {
            Ok(Ok(taken)) => (taken, None),
            Ok(Err(error)) => (Vec::new(), Some(error.to_string())),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Self { taken, failure, left_running }
    }

    /// The same with what was taken away later.
    pub(super) fn and(mut self, later: Self) -> Self {
        self.taken.extend(later.taken);
        Self { failure: self.failure.or(later.failure), ..self }
    }

    /// What is told about it; nothing where there is nothing to tell.
    pub(crate) fn words(&self) -> Option<String> {
        let mut lines = Vec::new();
        if self.left_running {
            lines.push(LEFT_RUNNING.to_owned());
        }
        if let Some(failure) = &self.failure {
            lines.push(format!(
                "It is not known whether the command made files that run something or instruct somebody later: {failure}."
            ));
        }
        if !self.taken.is_empty() {
            lines.push(MADE.to_owned());
        }
        lines.extend(self.taken.iter().take(NAMED).map(line));
        if self.taken.len() > NAMED {
            lines.push(format!("- and {} more, moved to the same place", self.taken.len() - NAMED));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

fn line(taken: &Taken) -> String {
    let from = taken.from.display();
    match &taken.to {
        Ok(to) => format!("- {from} was moved to {}", to.display()),
        Err(why) => format!("- {from} could not be moved away ({why}): look at it and remove it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_told_with_where_it_went_and_many_are_counted() {
        assert_eq!(Cleared::default().words(), None);
        let taken = |number: usize| Taken {
            from: format!("/w/{number}/AGENTS.md").into(),
            to: if number == 1 { Err("busy".to_owned()) } else { Ok(format!("/kept/{number}").into()) },
        };
        let told = Cleared { taken: (0..22).map(taken).collect(), ..Cleared::default() }.words().unwrap();
        for said in [
            "only a command that a person approved",
            "- /w/0/AGENTS.md was moved to /kept/0\n",
            "- /w/1/AGENTS.md could not be moved away (busy)",
            "- and 2 more",
        ] {
            assert!(told.contains(said), "{told}");
        }
        let failed =
            Cleared { failure: Some("too large".to_owned()), left_running: true, ..Cleared::default() };
        let told = failed.words().unwrap();
        assert!(told.starts_with(LEFT_RUNNING) && told.ends_with("later: too large."), "{told}");
    }
}
