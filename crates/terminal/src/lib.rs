//! What a person sees at a terminal: lines that tell what happens, questions that nothing can forge, and advice in
//! the words of the command line.
//!
//! A turn without a conversation is shown here too: as text, as one JSON document or as JSON lines, with the exit code it comes to.
//!
//! It draws and asks; what is asked and what an answer means is the session's. Nothing here reads arguments.

pub mod answer;
pub mod approver;
pub mod call;
pub mod compression;
mod curtain;
pub mod doctor;
pub mod editor;
pub mod excerpt;
pub mod exit;
pub mod extensions;
pub mod grants;
pub mod headless;
pub mod hints;
pub mod hooks;
pub mod import;
pub mod judgement;
pub mod lines;
pub mod models;
pub mod patience;
pub mod printer;
pub mod servers;
pub mod sessions;
pub mod signals;
pub mod skills;
pub mod slash;
pub mod undo;
pub mod update;
pub mod wording;
