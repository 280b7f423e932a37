//! The variables that commands get from their line: set before one of them, by `env`, or exported for all that follow.

use charla_proto::{Effect, Word, WordKind};

type Variable = (String, Word);

/// What the next command gets.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    /// By the shell, from here on.
    shared: Vec<Variable>,
    /// By the command itself, or what starts it.
    own: Vec<Variable>,
    /// Whatever is set is exported.
    exports_all: bool,
}

/// What held at some point, to come back to.
#[derive(Clone, Debug)]
pub(super) struct Mark(Vec<Variable>);

impl Environment {
    /// The variables of a command that starts now.
    pub(super) fn of_next(&self) -> Vec<Variable> {
        let mut all = self.shared.clone();
        self.own.iter().for_each(|variable| put(&mut all, variable.clone()));
        all
    }

    /// For this command and what it starts.
    pub(super) fn give(&mut self, name: &str, value: &Word) {
        put(&mut self.own, (name.to_owned(), settled(value)));
    }

    /// For whatever this shell starts from now on.
    pub(super) fn export(&mut self, name: &str, value: &Word) {
        put(&mut self.shared, (name.to_owned(), settled(value)));
    }

    /// A variable of the shell, which commands get only where it was exported before, wherever that was.
    pub(super) fn set(&mut self, name: &str) {
        let exported =
            self.shared.iter().any(|(known, word)| known == name && word.kind != WordKind::Unknown);
        let text = format!("${name}");
        let value = if exported || self.exports_all { Word::single(text) } else { Word::unknown(text) };
        put(&mut self.shared, (name.to_owned(), value));
    }

    pub(super) fn export_all(&mut self) {
        self.exports_all = true;
    }

    /// Variables are taken away, which ones is not looked at.
    pub(super) fn take_away(&mut self) {
        put(&mut self.own, (String::new(), Word::single("-")));
    }

    pub(super) fn own(&self) -> Mark {
        Mark(self.own.clone())
    }

    /// Back to what a command had before it started another.
    pub(super) fn restore_own(&mut self, mark: Mark) {
        self.own = mark.0;
    }

    pub(super) fn shared(&self) -> Mark {
        Mark(self.shared.clone())
    }

    /// What was shared since may have been or not.
    pub(super) fn doubt_since(&mut self, mark: &Mark) {
        for variable in self.shared.iter_mut().filter(|variable| !mark.0.contains(variable)) {
            if variable.1.kind == WordKind::Literal {
                variable.1 = Word::single(&variable.1.text);
            }
        }
    }

    /// In a loop, what was shared since also reaches the commands before: in the next round.
    pub(super) fn reach_back(&self, mark: &Mark, effects: &mut [Effect]) {
        for variable in self.shared.iter().filter(|variable| !mark.0.contains(variable)) {
            for effect in effects.iter_mut() {
                if let Effect::Exec { environment, .. } = effect
                    && !environment.contains(variable)
                {
                    let kind = if variable.1.kind == WordKind::Unknown {
                        WordKind::Unknown
                    } else {
                        WordKind::Single
                    };
                    put(environment, (variable.0.clone(), Word { kind, ..variable.1.clone() }));
                }
            }
        }
    }
}

/// Sets a variable; a later value takes the place of an earlier one.
fn put(variables: &mut Vec<Variable>, variable: Variable) {
    variables.retain(|(name, _)| *name != variable.0);
    variables.push(variable);
}

/// A value that is there, known or not.
fn settled(value: &Word) -> Word {
    match value.kind {
        WordKind::Literal => value.clone(),
        _ => Word::single(&value.text),
    }
}
