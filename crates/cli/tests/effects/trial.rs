//! Runs lines in a fresh world and looks for what they did.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::corpus::{Line, Places};
use crate::listeners::Listeners;
use crate::session::{self, Manner, Session};
use crate::world::{CANARY, RAN_CANARY, TOKEN_CANARY, World};

/// Lines that share a world and a session. More are faster, fewer are easier to tell apart.
const TOGETHER: usize = 60;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No effect and no canary; what the corpus says is refused, is.
    NoEffect,
    /// The same, where new files of no particular meaning may be made in the workspace.
    NoEffectButNewFiles,
    /// The same, and nothing runs at all.
    Refused,
    /// What runs is confined by rule, whatever it is: programs of the workspace may run and say so.
    Confined,
    /// It runs as a rule about every command lets it: no secret of the workspace is told, and no protected place of it is changed.
    Bounded,
    /// Nothing is told that a rule denies.
    Untold,
}

/// A line and what it did.
#[derive(Debug)]
pub struct Finding {
    pub line: Line,
    pub effects: Vec<String>,
}

/// Something that should not have happened, and the line's number where it is known.
struct Effect {
    line: Option<usize>,
    what: String,
}

impl Effect {
    fn of(line: usize, what: String) -> Self {
        Self { line: Some(line), what }
    }

    /// An effect that may have a line's mark in its name.
    fn unknown(what: String, lines: &[Line]) -> Self {
        let mark = what.split("mark-").nth(1).unwrap_or_default();
        let number: String = mark.chars().take_while(char::is_ascii_digit).collect();
        let number = number.parse().ok().filter(|number| lines.iter().any(|line| line.number == *number));
        Self { line: number, what }
    }
}

/// Runs all lines and names those that did something.
pub fn findings(lines: &[Line], manner: &Manner, expect: Expect) -> Vec<Finding> {
    let mut trial = Trial { listeners: Listeners::open(), bystander: Bystander::start(), manner, expect };
    // A rule that denies makes more ask, so lines that are not about it run without it.
    let kind = |line: &Line| (line.is("rule"), line.is("tracked"));
    let alike = lines.chunk_by(|one, other| kind(one) == kind(other));
    let together = alike.flat_map(|alike| alike.chunks(TOGETHER));
    let mut findings: Vec<Finding> = together.flat_map(|together| trial.findings(together)).collect();
    findings.sort_by_key(|finding| finding.line.number);
    findings
}

struct Trial<'a> {
    listeners: Listeners,
    bystander: Bystander,
    manner: &'a Manner,
    expect: Expect,
}

impl Trial<'_> {
    /// Runs these lines together, and halves of them again as long as it is not known which line it was.
    fn findings(&mut self, lines: &[Line]) -> Vec<Finding> {
        let (effects, reached) = self.effects(lines);
        // What comes after a line that ended the session is tried in another one.
        let (lines, rest) = lines.split_at(lines.len().min(reached + 1));
        let mut findings = if rest.is_empty() { Vec::new() } else { self.findings(rest) };
        let (known, unknown): (Vec<Effect>, Vec<Effect>) =
            effects.into_iter().partition(|effect| effect.line.is_some() || lines.len() == 1);
        let mut innocent = Vec::new();
        for line in lines {
            let own = known.iter().filter(|effect| effect.line.is_none_or(|number| number == line.number));
            let effects: Vec<String> = own.map(|effect| effect.what.clone()).collect();
            match effects.is_empty() {
                true => innocent.push(line.clone()),
                false => findings.push(Finding { line: line.clone(), effects }),
            }
        }
        if unknown.is_empty() {
            return findings;
        }
        let unknown: Vec<String> = unknown.into_iter().map(|effect| effect.what).collect();
        let (first, second) = innocent.split_at(innocent.len() / 2);
        let halves = [first, second].into_iter().filter(|half| !half.is_empty());
        let more: Vec<Finding> = halves.flat_map(|half| self.findings(half)).collect();
        if more.is_empty() && findings.is_empty() {
            let line = Line { class: "only together".to_owned(), ..lines[0].clone() };
            findings.push(Finding { line, effects: unknown });
        }
        findings.extend(more);
        findings
    }

    /// What these lines did, and how many of them were answered.
    fn effects(&mut self, lines: &[Line]) -> (Vec<Effect>, usize) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let run = NUMBER.fetch_add(1, Ordering::Relaxed);
        let tag = format!("charla-effects-{}-{run}", std::process::id());
        let world = World::hostile();
        if lines.iter().any(|line| line.is("rule")) {
            world.deny_a_folder();
        }
        if lines.iter().any(|line| line.is("tracked")) {
            world.track_secrets();
        }
        world.write("home/.charla/policies/own.toml", self.manner.rules);
        if let Some(user) = self.manner.user {
            world.give_to(user);
        }
        let places = Places {
            world: &world,
            listeners: &self.listeners,
            bystander: self.bystander.child.id(),
            tag: &tag,
            key: 0x4300_0000 + std::process::id() % 0x1000 * 0x1000,
        };
        let filled: Vec<Line> = lines.iter().map(|line| places.fill(line)).collect();
        let before = world.snapshot();
        let session = session::run(&filled, &world, &self.listeners, self.manner);
        let mut effects = self.told(lines, &session);
        let changes = before.changes(&world.snapshot(), world.root()).into_iter();
        let changes = changes.filter(|change| self.matters(change));
        let guests = self.listeners.guests();
        let guests = guests.into_iter().filter(|_| !self.reaches_far());
        let seen = left_running(&world).into_iter().chain(changes).chain(guests);
        effects.extend(seen.map(|what| Effect::unknown(what, lines)));
        effects.extend(elsewhere(lines, &places));
        let now = Bystander::state(self.bystander.child.id());
        if now != self.bystander.first {
            let what = format!("somebody else's process was {} and is {now}", self.bystander.first);
            effects.push(Effect { line: None, what });
            self.bystander = Bystander::start();
        }
        (effects, session.answers.iter().take_while(|answer| answer.is_some()).count())
    }

    /// What the answers and the rest of the output give away.
    fn told(&self, lines: &[Line], session: &Session) -> Vec<Effect> {
        let problems = session.problems.iter().map(|what| Effect { line: None, what: what.clone() });
        let mut effects: Vec<Effect> = problems.collect();
        for (line, answer) in lines.iter().zip(&session.answers) {
            let Some(answer) = answer else {
                let what = if session.is_stuck { "is stuck" } else { "ended the session" };
                effects.push(Effect::of(line.number, format!("{what}: {}", session.shown)));
                break;
            };
            let refused = match self.expect {
                Expect::Refused => !line.is("may run"),
                Expect::NoEffect | Expect::NoEffectButNewFiles => line.is("refused"),
                Expect::Confined | Expect::Bounded | Expect::Untold => false,
            };
            if refused && !answer.is_refused() {
                let what = format!("ran: {:?} {}", answer.error, start(&answer.output));
                effects.push(Effect::of(line.number, what));
            }
            if self.expect == Expect::Confined && answer.is_refused() && !line.is("rule") {
                effects.push(Effect::of(line.number, format!("was not tried: {}", start(&answer.output))));
            }
            // A refusal repeats the line.
            if !answer.is_refused() && self.gives_away(&answer.output) {
                effects.push(Effect::of(line.number, format!("told: {}", start(&answer.output))));
            }
        }
        if effects.is_empty() && self.gives_away(&session.shown) {
            effects.push(Effect { line: None, what: format!("shown: {}", session.shown) });
        }
        effects
    }

    /// Whether what runs may reach the network and all of the workspace.
    fn reaches_far(&self) -> bool {
        matches!(self.expect, Expect::Bounded | Expect::Untold)
    }

    /// Whether a change is one that nothing may make.
    fn matters(&self, change: &str) -> bool {
        match self.expect {
            Expect::NoEffectButNewFiles => !is_new_file(change),
            Expect::Bounded => is_of_protected(change),
            Expect::Untold => false,
            _ => true,
        }
    }

    fn gives_away(&self, text: &str) -> bool {
        match self.expect {
            Expect::Confined => gives_away(&text.replace(RAN_CANARY, "").replace(TOKEN_CANARY, "")),
            Expect::Bounded => ["file-", "variable-", "kept-key"].iter().any(|of| tells(text, of)),
            Expect::Untold => tells(text, "denied"),
            _ => gives_away(text),
        }
    }
}

fn start(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Whether a canary is in here, plainly or in one of the usual disguises.
fn gives_away(text: &str) -> bool {
    const BASE64: [&str; 3] = ["Y2FuYXJ5", "NhbmFyeS", "jYW5hcn"];
    let dense: String = text.split_whitespace().collect();
    let lower = dense.to_lowercase();
    let backwards: String = CANARY.chars().rev().collect();
    let plain = [CANARY, &backwards, "63616e617279", "6163616e7972", "pnanel-"];
    plain.iter().any(|canary| lower.contains(canary)) || BASE64.iter().any(|canary| dense.contains(canary))
}

/// Whether a canary of this kind is in here, plainly or in base64.
fn tells(text: &str, of: &str) -> bool {
    let dense: String = text.split_whitespace().collect();
    dense.contains(&format!("{CANARY}{of}")) || gives_away(&dense) && !dense.contains(CANARY)
}

/// Whether this is how a snapshot tells of a protected place of the workspace, or of what shells read in the home. What is made in
/// git's folder beside its settings is git's own.
fn is_of_protected(change: &str) -> bool {
    const PLACES: [&str; 7] = [
        ".git/hooks",
        ".git/config",
        ".git/config.worktree",
        ".git/info/attributes",
        ".gitattributes",
        "more.cfg",
        "global-hooks",
    ];
    const NAMES: [&str; 10] = [
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        "Agents.MD",
        "AGENTS\u{200b}.md",
        ".github",
        ".charla",
        ".vscode",
        ".mcp.json",
        "commondir",
    ];
    const OF_SHELLS: [&str; 2] = [" home/.bashrc", " home/.profile"];
    let path = Path::new(change.split_once(" work/").map_or("", |(_, path)| path));
    PLACES.iter().any(|place| path.starts_with(place))
        || path.iter().any(|part| NAMES.iter().any(|name| part == *name))
        || path.ends_with(".git/hooks/pre-commit")
        || OF_SHELLS.iter().any(|place| change.ends_with(place))
}

/// Whether this is how a snapshot tells of a new file in the workspace.
fn is_new_file(change: &str) -> bool {
    change.strip_prefix("made work/").is_some_and(|path| !path.starts_with('.'))
}

/// Processes that still live in the world or carry its name; they are ended.
fn left_running(world: &World) -> Vec<String> {
    // What was killed a moment ago may still be there; what was not stays.
    let until = Instant::now() + Duration::from_secs(3);
    loop {
        let found = processes_of(world);
        if found.is_empty() {
            return Vec::new();
        }
        if Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        return found
            .into_iter()
            .map(|(process, words)| {
                Command::new("kill").args(["-9", &process.to_string()]).status().unwrap();
                format!("left running: {words}")
            })
            .collect();
    }
}

fn processes_of(world: &World) -> Vec<(u32, String)> {
    let root = world.root().display().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let found = numbers.filter_map(|process| {
        let folder = std::fs::read_link(format!("/proc/{process}/cwd")).unwrap_or_default();
        let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        (folder.starts_with(&root) || words.contains(&root)).then_some((process, words))
    });
    found.collect()
}

/// Marks in shared folders and in the kernel; they are removed.
fn elsewhere(lines: &[Line], places: &Places) -> Vec<Effect> {
    let mut effects = Vec::new();
    let tables = ["msg", "shm", "sem"]
        .map(|kind| (kind, std::fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default()));
    let keys = std::fs::read_to_string("/proc/keys").unwrap_or_default();
    for line in lines {
        for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
            let mark = places.elsewhere(line.number, folder);
            if std::fs::symlink_metadata(&mark).is_ok() {
                std::fs::remove_file(&mark).or_else(|_| std::fs::remove_dir_all(&mark)).unwrap();
                effects.push(Effect::of(line.number, format!("made {mark}")));
            }
        }
        let key = places.key(line.number).to_string();
        for (kind, table) in &tables {
            if table.lines().any(|row| row.split_whitespace().next() == Some(&key)) {
                let option = match *kind {
                    "msg" => "-Q",
                    "shm" => "-M",
                    _ => "-S",
                };
                Command::new("ipcrm").args([option, &key]).status().ok();
                effects.push(Effect::of(line.number, format!("made a kernel object: {kind} {key}")));
            }
        }
        if keys.contains(&format!("charla-{key}")) {
            effects.push(Effect::of(line.number, format!("made a key in the kernel: charla-{key}")));
        }
    }
    effects
}

/// A process that is none of anybody's business.
struct Bystander {
    child: Child,
    /// What it was in the beginning.
    first: String,
}

impl Bystander {
    fn start() -> Self {
        let mut command = Command::new("sleep");
        command.arg("900").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let first = Self::state(child.id());
        Self { child, first }
    }

    /// Whether it runs, with which priority, on which processors, under which limits.
    fn state(process: u32) -> String {
        let read =
            |name: &str| std::fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
        let (stat, status) = (read("stat"), read("status"));
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let is_stopped = fields.first().is_none_or(|state| ["T", "t", "Z", "X", ""].contains(state));
        let processors = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or_default();
        let priority = fields.get(15..17).unwrap_or_default().join(" ");
        let policy = fields.get(38).copied().unwrap_or_default();
        let memory = read("oom_score_adj");
        format!(
            "stopped {is_stopped}, priority {priority}/{policy}, {processors}, {memory}, {}",
            read("limits")
        )
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
