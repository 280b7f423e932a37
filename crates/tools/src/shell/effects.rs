//! From the tree to the list of effects.

use std::path::PathBuf;

use charla_proto::text::join_path;
use charla_proto::{Effect, Word};

use super::ShellContext;
use super::declarations::DECLARATIONS;
use super::environment::Environment;
use super::expand::{expand, value};
use super::loops::{Binding, Loop, are_settled, bindings, bound};
use super::numbers::is_number;
use super::syntax::{Assignment, Atom, Link, Node, RawWord, Redirect, RedirectKind, Script, Simple};
use super::variables::{SECRET_VARIABLE, names_secret};
use super::words::ARITHMETIC;
use super::wrappers::{Inner, look_through};

/// A command that may run in more folders than this is unclear.
const MAX_FOLDERS: usize = 8;

pub(super) fn walk(script: &Script, context: &ShellContext) -> Vec<Effect> {
    let (effects, looped) = walk_with(script, context, true);
    match are_settled(&looped, &effects) {
        true => effects,
        false => walk_with(script, context, false).0,
    }
}

/// The effects, and the variables of loops whose values are known; with `follow` they are put in their place.
fn walk_with(script: &Script, context: &ShellContext, follow: bool) -> (Vec<Effect>, Vec<String>) {
    let mut walk = Walk {
        home: context.home.as_ref().map(|home| home.to_string_lossy().into_owned()),
        folders: vec![context.cwd.clone()],
        effects: Vec::new(),
        depth: 0,
        fed: false,
        input_moved: false,
        environment: Environment::default(),
        computed: Vec::new(),
        texts: Vec::new(),
        follow,
        loops: Vec::new(),
        looped: Vec::new(),
    };
    walk.script(script);
    walk.sums();
    walk.feed_all();
    (walk.effects, walk.looped)
}

pub(super) struct Walk {
    home: Option<String>,
    /// Every folder the next command may run in.
    folders: Vec<PathBuf>,
    effects: Vec<Effect>,
    pub(super) depth: usize,
    /// True where standard input comes from this command line.
    fed: bool,
    /// True once the shell itself reads something else: whatever it starts does.
    input_moved: bool,
    /// The variables that the next command gets.
    pub(super) environment: Environment,
    /// Variables that are computed with.
    computed: Vec<String>,
    /// Variables that may hold something else than a number.
    texts: Vec<String>,
    /// Variables of loops are followed.
    follow: bool,
    /// The loops around the next command whose values are known.
    loops: Vec<Loop>,
    /// The variables of all such loops so far.
    looped: Vec<String>,
}

impl Walk {
    /// Commands of this shell, one after the other.
    pub(super) fn script(&mut self, script: &Script) {
        let mut reached = self.folders.clone();
        let mut certain = true;
        let mut shared = self.environment.shared();
        for item in &script.items {
            match item.link {
                Link::Always => certain = true,
                Link::Failure => certain = false,
                Link::Success => {}
            }
            if item.link != Link::Success {
                self.environment.doubt_since(&shared);
            }
            // After `&&` the folder is the one the command before went to; otherwise it may be any so far.
            if !(item.link == Link::Success && certain) {
                self.folders.clone_from(&reached);
            }
            self.node(&item.node);
            self.reach(&mut reached);
            if item.link == Link::Always {
                shared = self.environment.shared();
            }
        }
        self.environment.doubt_since(&shared);
        self.folders = reached;
    }

    fn reach(&mut self, reached: &mut Vec<PathBuf>) {
        for folder in &self.folders {
            if !reached.contains(folder) {
                reached.push(folder.clone());
            }
        }
        if reached.len() > MAX_FOLDERS {
            reached.truncate(MAX_FOLDERS);
            self.unclear("cd", "it changes the folder too often");
        }
    }

    fn apart(&mut self, script: &Script) {
        let folders = self.folders.clone();
        let environment = self.environment.clone();
        self.script(script);
        self.folders = folders;
        self.environment = environment;
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Simple(simple) => self.simple(simple),
            Node::Apart { scripts, redirects } => {
                self.redirects(redirects);
                let before = self.fed;
                for (index, script) in scripts.iter().enumerate() {
                    // More than one script is a pipeline.
                    self.fed = before || index > 0 || feeds(redirects);
                    self.apart(script);
                }
                self.fed = before;
            }
            Node::Block { scripts, words, variable, redirects, repeats } => {
                self.redirects(redirects);
                words.iter().for_each(|word| self.substitutions(word));
                if let Some(name) = variable {
                    let values: Vec<&str> = words.iter().map(|word| word.source.as_str()).collect();
                    self.env(name, Word::unknown(values.join(" ")));
                }
                let shared = self.environment.shared();
                let begun = self.effects.len();
                let around = self.loops.len();
                let known = variable.as_deref().and_then(|name| self.known_loop(name, words));
                self.loops.extend(known);
                let mut reached = self.folders.clone();
                let before = reached.len();
                let fed = self.fed;
                self.fed |= feeds(redirects);
                for script in scripts {
                    self.folders.clone_from(&reached);
                    self.script(script);
                    self.reach(&mut reached);
                }
                self.fed = fed;
                self.loops.truncate(around);
                self.environment.doubt_since(&shared);
                if *repeats {
                    self.environment.reach_back(&shared, self.effects.get_mut(begun..).unwrap_or_default());
                }
                if *repeats && reached.len() > before {
                    self.unclear("cd", "it changes the folder inside a loop");
                }
                self.folders = reached;
            }
            Node::Function { name, body } => {
                self.unclear(name, "it defines a function, which may stand in for another command");
                self.node(body);
            }
        }
    }

    fn known_loop(&mut self, name: &str, words: &[RawWord]) -> Option<Loop> {
        let home = self.home.as_deref();
        let values = words.iter().flat_map(|word| expand(word, home)).collect();
        let known = Loop::new(name, values).filter(|_| self.follow)?;
        self.looped.push(name.to_owned());
        Some(known)
    }

    fn simple(&mut self, simple: &Simple) {
        for word in &simple.words {
            self.substitutions(word);
        }
        let reads = simple.words.first().is_some_and(|word| word.source == "read");
        let own = self.environment.own();
        for assignment in &simple.assignments {
            // `IFS= read` is how lines are read; it ends with the command.
            if !(reads && assignment.name == "IFS") {
                self.assignment(assignment, !simple.words.is_empty());
            }
        }
        self.redirects(&simple.redirects);
        let fed = self.fed;
        let feeds = feeds(&simple.redirects);
        self.fed |= feeds;
        let before = self.effects.len();
        self.words_of(simple);
        self.environment.restore_own(own);
        self.fed = fed;
        self.input_moved |= feeds && self.effects.iter().skip(before).any(is_exec);
    }

    fn words_of(&mut self, simple: &Simple) {
        let home = self.home.clone();
        if simple.test {
            let words = simple.words.iter().map(|word| test_word(word, home.as_deref())).collect();
            self.exec(words, &simple.source, false);
            return;
        }
        let declares = simple.words.first().is_some_and(is_declaration);
        let resolved = |word: &RawWord, bindings: &[Binding<'_>]| match bound(word, bindings) {
            Some(word) => vec![word],
            None if declares && assigns(word) => vec![value(word, home.as_deref())],
            None => expand(word, home.as_deref()),
        };
        let all: Vec<Vec<Word>> = bindings(&self.loops, simple)
            .iter()
            .map(|bindings| simple.words.iter().flat_map(|word| resolved(word, bindings)).collect())
            .collect();
        for words in all {
            if !words.is_empty() {
                self.command(words, &simple.source);
            } else if !simple.words.is_empty() {
                self.unclear(&simple.source, "it may expand to any command");
            }
        }
    }

    fn substitutions(&mut self, word: &RawWord) {
        for script in &word.scripts {
            self.apart(script);
        }
        self.computed.extend(word.computed.iter().cloned());
        for name in &word.assigned {
            self.env(name, Word::single(format!("${name}")));
        }
    }

    /// `NAME=value`; `before` a command it is that command's, else the shell's.
    fn assignment(&mut self, assignment: &Assignment, before: bool) {
        assignment.values.iter().for_each(|word| self.substitutions(word));
        let whole = assignment.source.starts_with(&format!("{}=", assignment.name));
        let value = match assignment.values.as_slice() {
            [] if whole => Word::literal(""),
            [only] if whole => value(only, self.home.as_deref()),
            _ => Word::unknown(&assignment.source),
        };
        if before {
            self.given(&assignment.name, value);
        } else {
            self.env(&assignment.name, value);
        }
    }

    /// A variable of the next command.
    fn given(&mut self, name: &str, value: Word) {
        self.environment.give(name, &value);
        self.variable(name, value);
    }

    /// A variable that whatever starts from now on gets.
    pub(super) fn exported(&mut self, name: &str, value: Word) {
        self.environment.export(name, &value);
        self.variable(name, value);
    }

    /// A command with its words resolved, and whatever it starts in turn.
    pub(super) fn command(&mut self, words: Vec<Word>, source: &str) {
        let Some(name) = words.first().and_then(Word::known).map(str::to_owned) else {
            self.unclear(source, "which command runs is only known to the shell");
            return;
        };
        if name.is_empty() || !name.is_ascii() || name.contains(['\n', ' ']) {
            self.unclear(source, "no command has such a name");
            return;
        }
        let through = look_through(&name, &words);
        self.exec(words.clone(), source, through.carrier);
        match name.as_str() {
            "cd" | "pushd" | "popd" => self.change_folder(&words, source),
            "alias" | "unalias" | "trap" | "enable" | "bind" | "complete" | "hash" | "shopt" => {
                self.unclear(source, "it changes what later commands mean");
            }
            "set" if exports_all(&words) => self.environment.export_all(),
            name => self.assigning(name, &words, source),
        }
        let own = self.environment.own();
        for inner in through.inner {
            self.inner(inner, source);
        }
        self.environment.restore_own(own);
    }

    fn inner(&mut self, inner: Inner, source: &str) {
        self.depth += 1;
        if self.depth > 16 {
            self.unclear(source, "commands are nested too deeply");
        } else {
            match inner {
                Inner::Command(words) => {
                    let text = super::scripts::join(&words);
                    self.command(words, &text);
                }
                Inner::Env(name, value) => self.given(&name, value),
                Inner::TakesAway => self.environment.take_away(),
                Inner::Unclear(reason) => self.unclear(source, reason),
                Inner::Script { text, dialect } => self.nested_script(&text, dialect),
            }
        }
        self.depth -= 1;
    }

    pub(super) fn nested(&mut self, script: &Script, same_shell: bool) {
        if same_shell {
            return self.script(script);
        }
        // Another shell does not have the variables of this one.
        let loops = std::mem::take(&mut self.loops);
        self.apart(script);
        self.loops = loops;
    }

    fn change_folder(&mut self, words: &[Word], source: &str) {
        let mut targets =
            words.iter().skip(1).filter(|word| !matches!(word.known(), Some("-P" | "-L" | "--")));
        let target = match (targets.next(), targets.next()) {
            (None, _) if words.first().and_then(Word::known) == Some("cd") => self.home.clone(),
            (Some(word), None) => word.known().map(str::to_owned),
            _ => None,
        };
        // With `-P`, a `..` behind a link leads elsewhere than the text says.
        let physical = words.iter().any(|word| word.known() == Some("-P"));
        let certain = |target: &String| {
            let climbs = physical && target.contains("..");
            !target.is_empty() && !target.starts_with(['-', '+']) && !climbs
        };
        match target.filter(certain) {
            Some(target) => {
                self.folders = self.folders.iter().map(|folder| join_path(folder, &target)).collect();
                self.folders.dedup();
            }
            None => self.unclear(source, "the folder it goes to is not known"),
        }
    }

    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            self.substitutions(&redirect.target);
            let words = expand(&redirect.target, self.home.as_deref());
            let target = match words.as_slice() {
                [only] => only.known().map(str::to_owned),
                _ => None,
            };
            let secret = names_secret(&redirect.target.source);
            match (redirect.kind, target) {
                (RedirectKind::Text, _) if secret => self.unclear(&redirect.source, SECRET_VARIABLE),
                (RedirectKind::Text, _) => {}
                (_, None) => self.unclear(&redirect.source, "the target of the redirect is not known"),
                (kind, Some(target)) => self.redirect(kind, &target, &redirect.source),
            }
        }
    }

    fn redirect(&mut self, kind: RedirectKind, target: &str, source: &str) {
        let descriptor =
            target == "-" || target.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        let (reads, writes) = match kind {
            RedirectKind::DuplicateInput | RedirectKind::DuplicateOutput
                if descriptor && !target.is_empty() =>
            {
                return;
            }
            RedirectKind::DuplicateInput => return self.unclear(source, "no such descriptor"),
            RedirectKind::Read => (true, false),
            RedirectKind::ReadWrite => (true, true),
            _ => (false, true),
        };
        if target.is_empty() {
            return self.unclear(source, "the target of the redirect is empty");
        }
        if let Some(address) = target.strip_prefix("/dev/tcp/").or_else(|| target.strip_prefix("/dev/udp/")) {
            let host = address.split('/').next().unwrap_or_default().to_owned();
            return self.push(Effect::Net { host });
        }
        for folder in self.folders.clone() {
            // As it was written: where `..` leads behind a link, the disk knows.
            let path = folder.join(target);
            if reads {
                self.push(Effect::Read { path: path.clone() });
            }
            if writes {
                self.push(Effect::Write { path });
            }
        }
    }

    fn exec(&mut self, words: Vec<Word>, source: &str, carrier: bool) {
        let tests = matches!(words.first().and_then(Word::known), Some("[" | "[[" | "test"));
        if !tests && words.iter().any(|word| word.known().is_none() && names_secret(&word.text)) {
            self.unclear(source, SECRET_VARIABLE);
        }
        for folder in self.folders.clone() {
            self.push(Effect::Exec {
                command: source.to_owned(),
                cwd: folder,
                words: words.clone(),
                carrier,
                fed: self.fed,
                environment: self.environment.of_next(),
            });
        }
    }

    /// A variable of the shell.
    pub(super) fn env(&mut self, name: &str, value: Word) {
        self.environment.set(name);
        self.variable(name, value);
    }

    fn variable(&mut self, name: &str, value: Word) {
        if value.known().is_none() && names_secret(&value.text) {
            self.unclear(&format!("{name}={}", value.text), SECRET_VARIABLE);
        }
        if !is_number(&value) {
            self.texts.push(name.to_owned());
        }
        self.push(Effect::Env { name: name.to_owned(), value });
    }

    /// Computing with a variable runs what is hidden in its value, unless that is a number.
    fn sums(&mut self) {
        let mut computed = std::mem::take(&mut self.computed);
        computed.retain(|name| self.texts.contains(name));
        if let Some(name) = computed.first() {
            self.unclear(name, ARITHMETIC);
        }
    }

    /// After `exec < file` every command reads that file, in loops also those that stand before it.
    fn feed_all(&mut self) {
        for effect in self.effects.iter_mut().filter(|_| self.input_moved) {
            if let Effect::Exec { fed, .. } = effect {
                *fed = true;
            }
        }
    }

    pub(super) fn unclear(&mut self, what: &str, reason: &str) {
        self.push(Effect::Unclear { what: what.to_owned(), reason: reason.to_owned() });
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}

/// True for `set -a`, with which the shell exports every variable.
fn exports_all(words: &[Word]) -> bool {
    let says = |word: &Word| {
        let letters = word.text.strip_prefix('-').is_some_and(|letters| letters.contains('a'));
        letters || word.text == "allexport" || word.known().is_none()
    };
    words.iter().skip(1).any(says)
}

/// True when standard input is among what is redirected: `< file`, `<< EOF`, `<&3`, `0>&3`.
fn feeds(redirects: &[Redirect]) -> bool {
    use RedirectKind::{DuplicateInput, Read, ReadWrite, Text};
    redirects.iter().any(|redirect| {
        let reads = matches!(redirect.kind, Text | Read | ReadWrite | DuplicateInput);
        reads || redirect.source.starts_with('0')
    })
}

/// True for the `exec` of the shell.
fn is_exec(effect: &Effect) -> bool {
    matches!(effect, Effect::Exec { words, .. } if words.first().and_then(Word::known) == Some("exec"))
}

/// True for a builtin that bash knows to take assignments: it is written plainly.
fn is_declaration(word: &RawWord) -> bool {
    let plain = word.atoms.iter().all(|atom| matches!(atom, Atom::Char(_)));
    plain && DECLARATIONS.contains(&word.source.as_str())
}

/// True for a word that is an assignment as it is written.
fn assigns(word: &RawWord) -> bool {
    super::declarations::assignment(&word.source).is_some()
}

/// A word of `[[ … ]]`; operators that look like nothing else stand for themselves.
fn test_word(word: &RawWord, home: Option<&str>) -> Word {
    if word.atoms.is_empty() { Word::literal(&word.source) } else { value(word, home) }
}
