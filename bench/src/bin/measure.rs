//! `measure COMMAND…` runs a command and prints its CPU microseconds and peak kilobytes on standard error.
//!
//! A process's peak memory counts what its parent held when it was made, so the parent must be small:
//! this one is.

use std::process::{Command, ExitCode};

use nix::sys::resource::{UsageWho, getrusage};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(program) = args.next() else {
        eprintln!("usage: measure COMMAND…");
        return ExitCode::FAILURE;
    };
    let status = match Command::new(program).args(args).status() {
        Ok(status) => status,
        Err(error) => {
            eprintln!("cannot run it: {error}");
            return ExitCode::FAILURE;
        }
    };
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return ExitCode::FAILURE };
    let (user, system) = (usage.user_time(), usage.system_time());
    let microseconds = (user.tv_sec() + system.tv_sec()) * 1_000_000 + user.tv_usec() + system.tv_usec();
    eprintln!("\nmeasured {microseconds} {}", usage.max_rss());
    match status.code() {
        Some(code) => ExitCode::from(code as u8),
        None => ExitCode::FAILURE,
    }
}
