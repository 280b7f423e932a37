//! Lines that only read: they run without a question and say what they say to bash.

use std::process::{Command, Stdio};

use crate::corpus::{Line, Places};
use crate::listeners::Listeners;
use crate::session::{self, Answer, Manner};
use crate::trial::Finding;
use crate::world::World;

/// Runs all lines and names those that were refused or said something else than under plain bash.
pub fn findings(lines: &[Line], manner: &Manner) -> Vec<Finding> {
    let listeners = Listeners::open();
    let mut findings = Vec::new();
    for together in lines.chunks(40) {
        let world = World::everyday();
        let places = Places { world: &world, listeners: &listeners, bystander: 1, tag: "everyday", key: 0 };
        let filled: Vec<Line> = together.iter().map(|line| places.fill(line)).collect();
        let before = world.snapshot();
        let session = session::run(&filled, &world, &listeners, manner);
        let mut effects = before.changes(&world.snapshot(), world.root());
        effects.extend(session.problems);
        for (line, answer) in filled.iter().zip(&session.answers) {
            let wrong = match answer {
                None => Some(format!("no answer; stuck: {}; {}", session.is_stuck, session.shown)),
                Some(answer) => difference(line, answer, &plainly(line, &world, &listeners)),
            };
            effects.extend(wrong.map(|wrong| format!("{}: {wrong}", line.text)));
        }
        if !effects.is_empty() {
            findings.push(Finding { line: together[0].clone(), effects });
        }
    }
    findings
}

fn difference(line: &Line, answer: &Answer, plain: &str) -> Option<String> {
    if line.is("may ask") && answer.is_refused() {
        return None;
    }
    if let Some(error) = &answer.error {
        return Some(format!("{error}: {}", answer.output));
    }
    let same = if line.is("varies") { !answer.output.contains("Exit Code") } else { answer.output == plain };
    (!same).then(|| format!("said {:?} and should have said {plain:?}", answer.output))
}

/// Runs lines that edit, and names those that were refused; at last the files must be as bash would have left them.
pub fn edits(lines: &[Line], manner: &Manner) -> Vec<Finding> {
    let listeners = Listeners::open();
    let (world, other) = (World::everyday(), World::everyday());
    let places = Places { world: &world, listeners: &listeners, bystander: 1, tag: "edits", key: 0 };
    let filled: Vec<Line> = lines.iter().map(|line| places.fill(line)).collect();
    let session = session::run(&filled, &world, &listeners, manner);
    let mut findings = Vec::new();
    for (line, answer) in filled.iter().zip(session.answers) {
        let said = plainly(line, &other, &listeners);
        let wrong = match answer {
            None => Some(session.shown.clone()),
            Some(answer) => difference(line, &answer, &said),
        };
        findings.extend(wrong.map(|wrong| Finding { line: line.clone(), effects: vec![wrong] }));
    }
    let compare = ["-r", "--no-dereference", "--exclude=.git", "."];
    let output =
        Command::new("diff").args(compare).arg(other.work()).current_dir(world.work()).output().unwrap();
    let differences = String::from_utf8_lossy(&output.stdout).into_owned();
    if !differences.is_empty() {
        findings.push(Finding { line: lines[0].clone(), effects: vec![differences] });
    }
    findings
}

/// What the tool would say had bash run the line with nothing around it.
fn plainly(line: &Line, world: &World, listeners: &Listeners) -> String {
    let mut command = Command::new("/bin/bash");
    // One pipe for both, so that they come in order.
    command.args(["-c", "exec 2>&1; exec /bin/bash -c \"$1\"", "bash", &line.text]);
    command.env_clear().envs(world.environment(listeners));
    for (name, value) in [("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_OPTIONAL_LOCKS", "0")] {
        command.env(name, value);
    }
    command.current_dir(world.work().join(line.folder.as_deref().unwrap_or(".")));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.trim_end_matches('\n');
    let said = if said.is_empty() { "(empty)" } else { said };
    match output.status.code() {
        Some(0) => format!("Output: {said}"),
        code => format!("Output: {said}\nExit Code: {}", code.unwrap_or(-1)),
    }
}
