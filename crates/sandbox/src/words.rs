//! What holds, in words for the person who is asked.

use charla_proto::Confinement;

use crate::places::Bounds;
use crate::wall::Wall;

/// What really holds a child in, on a machine with this wall, and within these bounds.
pub fn isolation(confinement: Confinement, wall: &Wall, bounds: Option<Bounds>) -> &'static str {
    if let Some(Bounds { network }) = bounds.filter(|_| confinement >= Confinement::Asked) {
        return match (wall.reading, network) {
            (true, true) => {
                "reads and writes the workspace; of everything else it reads system folders; the network is open"
            }
            (true, false) => {
                "reads and writes the workspace; of everything else it reads system folders; no network"
            }
            (false, _) => "it will not run: this machine's kernel cannot hold it in the workspace",
        };
    }
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
