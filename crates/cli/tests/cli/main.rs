//! The binary as people and scripts run it.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod agent;
mod agents;
mod answers;
mod approving;
mod bad_input;
mod call_ids;
mod commands;
mod compressing;
mod elsewhere;
mod engine;
mod extensions;
mod faults;
mod forged_cards;
mod gemini;
mod hooks;
mod hostile_repository;
mod importing;
mod killed_turns;
mod kills;
mod local_network;
mod mcp;
mod mistakes;
mod parameters;
mod place;
mod policy;
mod probing;
mod prompts;
mod real_server;
mod replays;
mod resuming;
mod rewinding;
mod searching;
mod serving;
mod sessions;
mod signals;
mod skills;
mod switching;
mod telemetry;
mod terminal;
mod trust;
mod undo;
