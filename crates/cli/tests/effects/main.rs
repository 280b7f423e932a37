//! Command lines judged by what they do: whatever a model asks for, with nobody to ask, nothing is touched, reached or told.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]
#![cfg(target_os = "linux")]

mod arrivals;
mod corpus;
mod everyday;
mod listeners;
mod session;
mod snapshot;
mod trial;
mod world;

use std::os::unix::fs::MetadataExt;

use corpus::Line;
use session::Manner;
use trial::{Expect, Finding};

const HOSTILE: &str = include_str!("hostile.txt");
const HARMLESS: &str = include_str!("harmless.txt");
const EDITS: &str = include_str!("edits.txt");
const NARROW: &str = include_str!("narrow.txt");
const DENIED: &str = include_str!("denied.txt");
const BROAD: &str = include_str!("broad.txt");
const CLOSED: &str = include_str!("closed.txt");

/// What `denied.txt` is about.
const DENY_TWO: &str = "[[rule]]\ncommandPrefix = [\"touch\", \"git push\"]\ndecision = \"deny\"\n";
/// Every command runs as far as a rule lets it that says nothing else.
const ALLOW_ALL: &str =
    "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\nconfinement = \"asked\"\n";
/// Under this every command runs, in the profile of what runs without being asked.
const CONFINE: &str = "[[rule]]\ntool = \"run_shell_command\"\ndecision = \"allow\"\nconfinement = \"reading\"\npriority = 50\n";

/// The lines of a file; of one class or one line when `CHARLA_EFFECTS` has words of it.
fn lines(text: &str) -> Vec<Line> {
    let wanted = std::env::var("CHARLA_EFFECTS").unwrap_or_default();
    let lines = corpus::read(text).into_iter();
    lines.filter(|line| line.class.contains(&wanted) || line.text.contains(&wanted)).collect()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

fn assert_none(findings: &[Finding], of: usize) {
    let named: Vec<String> = findings
        .iter()
        .map(|Finding { line, effects }| {
            format!("{} · {} · {}\n    {}", line.number, line.class, line.text, effects.join("\n    "))
        })
        .collect();
    assert!(named.is_empty(), "{} of {of} lines:\n{}", named.len(), named.join("\n"));
}

fn assert_no_effects(text: &str, manner: &Manner, expect: Expect) {
    let lines: Vec<Line> = lines(text)
        .into_iter()
        .filter(|line| expect != Expect::Confined || !line.is("not by the wall"))
        .collect();
    assert_none(&trial::findings(&lines, manner, expect), lines.len());
}

#[test]
fn the_corpus_is_large_enough() {
    let hostile = corpus::read(HOSTILE);
    assert!(hostile.len() >= 450, "{} hostile lines", hostile.len());
    assert!(corpus::read(HARMLESS).len() >= 170, "{} harmless lines", corpus::read(HARMLESS).len());
    for line in &hostile {
        let alike = hostile.iter().filter(|other| other.class == line.class).count();
        assert!(alike >= 3, "{} has {alike} lines", line.class);
        let same =
            hostile.iter().filter(|other| other.text == line.text && other.folder == line.folder).count();
        assert_eq!(same, 1, "{} is there twice", line.text);
    }
}

#[test]
fn nothing_happens_in_default_mode() {
    assert_no_effects(HOSTILE, &Manner::mode("default"), Expect::NoEffect);
}

#[test]
fn nothing_happens_in_auto_edit_mode() {
    assert_no_effects(HOSTILE, &Manner::mode("auto_edit"), Expect::NoEffectButNewFiles);
}

#[test]
fn nothing_runs_in_plan_mode() {
    assert_no_effects(HOSTILE, &Manner::mode("plan"), Expect::Refused);
}

/// Whatever the reading of a line makes of it, the kernel holds: the same lines, all of them run, in the profile of what
/// runs without being asked.
#[test]
fn nothing_happens_behind_the_wall_alone() {
    let manner = Manner::mode("yolo").under(CONFINE);
    let probe = corpus::read("== the wall stands\ntouch {MARK}\ncat {SECRET}\n");
    assert_none(&trial::findings(&probe, &manner, Expect::Confined), probe.len());
    assert_no_effects(HOSTILE, &manner, Expect::Confined);
}

#[test]
fn nothing_runs_unasked_on_a_kernel_without_landlock() {
    let everything = [HOSTILE, HARMLESS, EDITS].join("\n");
    assert_no_effects(&everything, &Manner::mode("default").without_landlock(), Expect::Refused);
    assert_no_effects(
        &[HARMLESS, EDITS].join("\n"),
        &Manner::mode("auto_edit").without_landlock(),
        Expect::Refused,
    );
}

/// What the kernel offers and a container refuses is found out by trying it: what would run in it asks instead of failing.
#[test]
fn edits_ask_where_a_container_refuses_namespaces() {
    assert_no_effects(EDITS, &Manner::mode("auto_edit").without_namespaces(), Expect::Refused);
    let reading = lines(HARMLESS).into_iter().take(20).collect::<Vec<_>>();
    assert_none(&everyday::findings(&reading, &Manner::mode("default").without_namespaces()), reading.len());
}

/// What root is kept from, others are too, by other means: they need a user namespace for what root does without.
#[test]
fn nothing_happens_for_a_user_who_is_not_root() {
    if !is_root() {
        return eprintln!("not tried: only root can start the program as somebody else");
    }
    let probe = corpus::read("== the wall stands\ntouch {MARK}\ncat {SECRET}\n");
    let walled = Manner::mode("yolo").under(CONFINE).for_nobody();
    assert_none(&trial::findings(&probe, &walled, Expect::Confined), probe.len());
    assert_no_effects(HOSTILE, &Manner::mode("default").for_nobody(), Expect::NoEffect);
    assert_no_effects(HOSTILE, &Manner::mode("auto_edit").for_nobody(), Expect::NoEffectButNewFiles);
}

#[test]
fn broad_rules_and_denied_paths_hold_for_a_user_who_is_not_root() {
    if !is_root() {
        return eprintln!("not tried: only root can start the program as somebody else");
    }
    let broad = Manner::mode("default").and("--allowed-tools").and("run_shell_command");
    assert_no_effects(BROAD, &broad.for_nobody(), Expect::Bounded);
    assert_no_effects(CLOSED, &Manner::mode("yolo").for_nobody(), Expect::Untold);
}

#[test]
fn nothing_happens_where_a_container_refuses_namespaces() {
    assert_no_effects(HOSTILE, &Manner::mode("default").without_namespaces(), Expect::NoEffect);
    let edits = Manner::mode("auto_edit").without_namespaces();
    assert_no_effects(HOSTILE, &edits, Expect::NoEffectButNewFiles);
}

#[test]
fn a_narrow_allowance_stays_narrow() {
    let lines = lines(NARROW);
    let findings: Vec<Finding> = lines
        .chunk_by(|one, other| one.class == other.class)
        .flat_map(|alike| {
            let manner = Manner::mode("default").and("--allowed-tools").and(&alike[0].class);
            trial::findings(alike, &manner, Expect::Refused)
        })
        .collect();
    assert_none(&findings, lines.len());
}

#[test]
fn a_denied_program_is_denied_in_every_disguise() {
    assert_no_effects(DENIED, &Manner::mode("yolo").under(DENY_TWO), Expect::Refused);
}

/// What a rule about every command lets through, nobody has thought of: the kernel holds what matters.
#[test]
fn with_every_command_allowed_secrets_stay_unread_and_protected_places_unwritten() {
    let manner = Manner::mode("default").and("--allowed-tools").and("run_shell_command");
    assert_no_effects(BROAD, &manner, Expect::Bounded);
    assert_no_effects(BROAD, &Manner::mode("yolo").under(ALLOW_ALL), Expect::Bounded);
}

#[test]
fn what_a_rule_denies_is_told_by_nothing_in_yolo() {
    assert_no_effects(CLOSED, &Manner::mode("yolo"), Expect::Untold);
    assert_no_effects(CLOSED, &Manner::mode("default").under(ALLOW_ALL), Expect::Untold);
}

#[test]
fn edits_ask_in_default_mode() {
    assert_no_effects(EDITS, &Manner::mode("default"), Expect::Refused);
}

#[test]
fn edits_work_in_auto_edit_mode() {
    let lines = lines(EDITS);
    assert_none(&everyday::edits(&lines, &Manner::mode("auto_edit")), lines.len());
}

#[test]
fn everyday_lines_run_and_say_what_they_say_to_bash() {
    let lines = lines(HARMLESS);
    assert_none(&everyday::findings(&lines, &Manner::mode("default")), lines.len());
}
