//! The file and search tools, called as the scheduler calls them, on real files.
#![cfg(unix)]

mod bench;
mod changing;
mod edits;
mod hostile;
mod reading;
mod searching;
