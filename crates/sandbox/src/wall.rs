//! What the kernel of this machine enforces.

use std::fmt;
use std::sync::OnceLock;

use serde::Serialize;

/// What holds on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Wall {
    /// A child can be kept from writing, from the network and from files it has no business with.
    pub reading: bool,
    /// A child can be let write a workspace and be kept from protected places in it.
    pub editing: bool,
    /// The version of Landlock; 0 where there is none.
    pub landlock: u32,
    /// What is missing, in words.
    pub notes: Vec<String>,
}

impl Wall {
    /// What the kernel says it offers. Takes microseconds and starts nothing; [`Wall::prove`] tries it.
    #[cfg(target_os = "linux")]
    pub fn look() -> Wall {
        crate::trial::look()
    }

    /// Tries forbidden writes, reads and connections in children of ours, and says what was really refused.
    /// Takes a few milliseconds.
    #[cfg(target_os = "linux")]
    pub fn prove() -> Wall {
        crate::trial::prove()
    }

    /// The same, tried once in the life of this process.
    pub fn proven() -> &'static Wall {
        static PROVEN: OnceLock<Wall> = OnceLock::new();
        PROVEN.get_or_init(Wall::prove)
    }

    /// Nothing is enforced on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn look() -> Wall {
        Wall { notes: vec!["there is no sandbox for this operating system".to_owned()], ..Wall::default() }
    }

    /// Nothing is enforced on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn prove() -> Wall {
        Wall::look()
    }
}

/// Some lines for people.
impl fmt::Display for Wall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = |holds: bool| if holds { "holds" } else { "does not hold: such commands ask" };
        match self.landlock {
            0 => writeln!(f, "sandbox  Landlock: none")?,
            version => writeln!(f, "sandbox  Landlock: version {version}")?,
        }
        writeln!(f, "  reading  {}", held(self.reading))?;
        writeln!(f, "  editing  {}", held(self.editing))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "  note     {note}"))
    }
}
