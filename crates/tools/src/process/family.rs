//! Every process a command started, and their end.
//!
//! A command gets a session and a process group of its own, which catch whatever stays in them. What leaves them
//! (`setsid`, a daemon) is found in `/proc`: by its parents as long as they live, and by a mark in its
//! environment when they do not. What escapes is a process that does all three: leaves the session, outlives
//! its parents and clears its environment; a confinement that nobody was asked about does not let it leave. Where
//! there is no `/proc`, only the group is caught.

use std::collections::HashSet;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use super::environment::MARK;

/// The processes of one command. Clones share what they have seen.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The process we started; its id is the group's too.
    leader: Pid,
    mark: Arc<str>,
    /// Everybody ever seen, with the time of their start: a number may be given to another process, the two
    /// together are not.
    known: Arc<Mutex<HashSet<(i32, u64)>>>,
}

/// A line of the process table.
struct Entry {
    id: i32,
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
    /// The memory it holds, in pages.
    resident: u64,
}

/// What the processes of a command use together.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    pub(crate) processes: usize,
    /// In bytes.
    pub(crate) resident: u64,
}

/// Whether the group's number is certainly still the command's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupIs {
    /// The leader has not been waited for, or was just now.
    Ours,
    /// The group may have ended and its number been given to others.
    Unsure,
}

impl Family {
    /// The family of a process that leads its own group and carries this mark.
    pub(crate) fn new(leader: u32, mark: Arc<str>) -> Option<Self> {
        let leader = i32::try_from(leader).ok().and_then(Pid::from_raw)?;
        Some(Self { leader, mark, known: Arc::default() })
    }

    pub(crate) fn group(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// True when a group of this number has members, dead ones that nobody has waited for included.
    pub(crate) fn group_exists(&self) -> bool {
        test_kill_process_group(self.leader).is_ok()
    }

    /// The living members. Reads the process table: blocks for milliseconds.
    pub(crate) fn members(&self, group: GroupIs) -> Vec<i32> {
        let table = process_table();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_member = |entry: &Entry| {
            (group == GroupIs::Ours && [entry.group, entry.session].contains(&self.group()))
                || known.contains(&(entry.id, entry.started))
                || carries(entry.id, &self.mark)
        };
        let mut members: HashSet<i32> =
            table.iter().filter(|entry| is_member(entry)).map(|entry| entry.id).collect();
        // A child may stand before its parent in the table: look again until nobody new turns up.
        loop {
            let before = members.len();
            for entry in &table {
                if members.contains(&entry.parent) {
                    members.insert(entry.id);
                }
            }
            if members.len() == before {
                break;
            }
        }
        let found = table.iter().filter(|entry| members.contains(&entry.id));
        known.extend(found.clone().map(|entry| (entry.id, entry.started)));
        found.map(|entry| entry.id).collect()
    }

    /// What those use that never left the session, as those may not that nobody was asked about.
    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        let page = rustix::param::page_size() as u64;
        for entry in process_table().iter().filter(|entry| entry.session == self.group()) {
            usage.processes += 1;
            usage.resident += entry.resident * page;
        }
        usage
    }

    /// Signals everybody, and says how many that were.
    pub(crate) fn signal(&self, signal: Signal, group: GroupIs) -> usize {
        // Looked up first: what ends takes the trace to its children with it.
        let members = self.members(group);
        if group == GroupIs::Ours {
            // All at once, so that nobody in it can start another in between. Fails only when it is gone.
            let _ = kill_process_group(self.leader, signal);
        }
        for id in members.iter().filter_map(|id| Pid::from_raw(*id)) {
            let _ = kill_process(id, signal);
            if signal == Signal::TERM {
                // A stopped process acts on nothing but KILL until it goes on.
                let _ = kill_process(id, Signal::CONT);
            }
        }
        members.len()
    }
}

/// True when this mark is in a process's environment. Other users' processes cannot be looked at, and are
/// none of ours.
fn carries(id: i32, mark: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{id}/environ")) else { return false };
    environment.split(|byte| *byte == 0).any(|variable| {
        variable
            .strip_prefix(MARK.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"="))
            .is_some_and(|value| value == mark.as_bytes())
    })
}

/// All living processes.
fn process_table() -> Vec<Entry> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(|id| parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?)).collect()
}

/// Reads `pid (name) state ppid pgrp …`; the name may hold anything, parentheses too.
fn parse(id: i32, stat: &str) -> Option<Entry> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // The 22nd field of the line; the session was the 6th.
    let started = fields.nth(15)?.parse().ok()?;
    let resident = fields.nth(1)?.parse().ok()?;
    Some(Entry { id, parent, group, session, started, resident })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_cannot_forge_the_table() {
        let line = "7 (a) R 1 1 (x) S 3 5 6 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 777 9 9 8";
        let entry = parse(7, line).unwrap();
        assert_eq!((entry.parent, entry.group, entry.session, entry.started), (3, 5, 6, 777));
        assert_eq!(entry.resident, 9);
        assert!(parse(7, "7 (gone) Z 3 5 5").is_none());
        assert!(parse(7, "7 nonsense").is_none());
    }
}
