//! The interactive terminal, as a person has it: the real binary on a real terminal, its screen read by a model of one.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

mod approving;
mod attaching;
mod calling;
mod commanding;
mod delegating;
mod expecting;
mod extending;
mod first_run;
mod fitting;
mod granting;
mod journal;
mod leaving;
mod lines;
mod looks;
mod pictures;
#[path = "../cli/place.rs"]
#[expect(dead_code, reason = "shared with the other tests of the binary, which need more of it")]
mod place;
mod replies;
mod screens;
#[path = "../cli/serving/client.rs"]
#[expect(dead_code, reason = "shared with the tests of the server, which need more of it")]
mod serving;
mod stopping;
mod talking;
mod terminal;
mod tmux;
mod working;
mod writing;
