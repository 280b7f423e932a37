//! What holds, in words for the person who is asked.

use charla_proto::Confinement;

use crate::wall::Wall;

/// What really holds a child in, on a machine with this wall.
pub fn isolation(confinement: Confinement, wall: &Wall) -> &'static str {
    match confinement {
        Confinement::Reading if wall.reading => {
            "reads the workspace without its secrets, system folders and tool chains; writes nothing; no network"
        }
        Confinement::Editing if wall.editing => {
            "reads the workspace without its secrets, system folders and tool chains; writes the workspace but not \
             protected places; no network"
        }
        Confinement::Asked if wall.reading => {
            "writes the workspace, temporary folders and build caches only; reads all but your home's secrets; \
             the network is open; no more rights (sudo), no terminal"
        }
        Confinement::Open => "none: it runs with your own rights, without a terminal",
        _ => {
            "none that this machine's kernel would enforce: it runs with your own rights, without a terminal"
        }
    }
}
