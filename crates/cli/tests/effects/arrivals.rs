//! Protected places that do not exist yet, and commands that would make them.

use std::path::{Path, PathBuf};

use crate::corpus;
use crate::listeners::Listeners;
use crate::session::{self, Answer, Manner};
use crate::world::World;

/// Under this every command edits, whatever the reading of its line makes of it.
const EDIT: &str = "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\nconfinement = \"editing\"\npriority = 50\n";

/// A line, the protected place it makes, and what it may make beside.
const LINES: [(&str, &str, Option<&str>); 9] = [
    ("cp -r skeleton fresh1", "fresh1/AGENTS.md", Some("fresh1/plain.txt")),
    (
        "mkdir -p new && python3 -c \"open('new/AG' + 'ENTS.md', 'w'); open('new/a', 'w')\"",
        "new/AGENTS.md",
        Some("new/a"),
    ),
    ("mkdir -p .charla/policies && echo x > .charla/policies/own.toml", ".charla", None),
    (
        "mkdir -p .github/workflows && echo x > .github/workflows/ci.yml && touch beside",
        ".github",
        Some("beside"),
    ),
    ("mkdir -p deep/.git/hooks && echo x > deep/.git/hooks/pre-commit", "deep/.git", Some("deep")),
    ("git init -q made && echo x > made/file", "made/.git", Some("made/file")),
    ("git init -q --bare bare", "bare/HEAD", Some("bare/objects")),
    ("ln -s notes.txt CLAUDE.md", "CLAUDE.md", None),
    ("printf x > .npmrc", ".npmrc", None),
];

/// Where a result says that this place was moved to.
fn moved_to(answer: &Answer, place: &Path) -> PathBuf {
    let told = format!("- {} was moved to ", place.display());
    let (_, rest) = answer.output.split_once(&told).unwrap_or_else(|| panic!("{told}: {}", answer.output));
    PathBuf::from(rest.lines().next().unwrap())
}

/// Runs all lines in one session.
fn run(world: &World, manner: &Manner) -> Vec<Answer> {
    world.write("work/skeleton/AGENTS.md", "Be kind.\n");
    world.write("work/skeleton/plain.txt", "x\n");
    world.write("home/.charla/policies/own.toml", manner.rules);
    let lines: Vec<&str> = LINES.iter().map(|(line, ..)| *line).collect();
    let lines = corpus::read(&format!("== makes\n{}\n", lines.join("\n")));
    let session = session::run(&lines, world, &Listeners::open(), manner);
    session.answers.into_iter().map(|answer| answer.unwrap_or_else(|| panic!("{}", session.shown))).collect()
}

#[test]
fn a_line_that_makes_a_protected_place_asks_as_one() {
    let world = World::everyday();
    let answers = run(&world, &Manner::mode("auto_edit"));
    for ((line, made, beside), answer) in LINES.iter().zip(answers) {
        assert!(answer.is_refused(), "{line}: {}", answer.output);
        let places = [Some(*made), *beside];
        assert!(places.iter().flatten().all(|place| !world.work().join(place).exists()), "{line}");
    }
}

#[test]
fn whatever_makes_a_protected_place_unasked_it_does_not_stay() {
    let world = World::everyday();
    let answers = run(&world, &Manner::mode("yolo").under(EDIT));
    for ((line, made, beside), answer) in LINES.iter().zip(answers) {
        let place = world.work().join(made);
        assert!(place.symlink_metadata().is_err(), "{line}: {}", answer.output);
        let kept = moved_to(&answer, &place);
        assert!(kept.symlink_metadata().is_ok(), "{line}: {}", kept.display());
        assert!(answer.output.contains("only a command that a person approved may make them"), "{line}");
        assert!(beside.is_none_or(|beside| world.work().join(beside).exists()), "{line}: {}", answer.output);
        std::fs::remove_dir_all(kept.ancestors().nth(2).unwrap()).unwrap();
    }
    assert!(world.work().join("skeleton/AGENTS.md").exists() && world.work().join(".git/HEAD").exists());
}
