//! What a person sees at a terminal: lines that tell what happens, questions that nothing can forge, and advice in
//! the words of the command line.
//!
//! It draws and asks; what is asked and what an answer means is the session's. Nothing here reads arguments.

pub mod answer;
pub mod approver;
pub mod compression;
mod curtain;
pub mod editor;
pub mod hints;
pub mod judgement;
pub mod patience;
pub mod printer;
pub mod servers;
pub mod wording;
