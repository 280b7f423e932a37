//! The names under which models call the tools of servers.
//!
//! `server__tool`, as every wire takes it: letters, digits, `_` and `-`, 64 of them at most. A name that is none is
//! written with a mark made from the whole of it, so that two names never become one, and one never changes.

use charla_proto::ToolOfServer;
use sha2::{Digest, Sha256};

/// The longest name that every provider takes.
const LONGEST: usize = 64;
/// So much of it is the server's.
const LONGEST_SERVER: usize = 24;
/// The length of the mark of a name that had to be changed, with what joins it.
const MARK: usize = 9;

/// What the names of a server's tools begin with.
pub fn server_prefix(server: &str) -> String {
    // The first `__` of a name ends the server's part, and none looks as if it had been changed.
    let is_plain = !server.contains("__") && !server.ends_with('_') && !is_marked(server);
    format!("{}__", fitting(server, LONGEST_SERVER, is_plain))
}

/// The name of a server's tool.
pub fn tool_name(server: &str, tool: &str) -> String {
    let prefix = server_prefix(server);
    let name = fitting(tool, LONGEST - prefix.len(), true);
    format!("{prefix}{name}")
}

/// The name under which a server declares the tool that others call `mcp_server_tool`; none for a name that is not of that form.
pub fn declared_name(server: &str, alias: &str) -> Option<String> {
    ToolOfServer::of_alias(server, alias).map(|meant| tool_name(server, meant.tool))
}

/// True for a name that ends like one with a mark.
fn is_marked(name: &str) -> bool {
    let mark = name.rsplit_once('-').map(|(_, mark)| mark);
    mark.is_some_and(|mark| mark.len() + 1 == MARK && mark.chars().all(|c| c.is_ascii_hexdigit()))
}

/// The name as it is, or what can be kept of it with a mark behind.
fn fitting(name: &str, longest: usize, is_plain: bool) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    // Some wires want a letter first.
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if is_plain && begins && name.chars().all(fits) && name.len() <= longest {
        return name.to_owned();
    }
    let kept = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let kept: String = kept.take(longest - MARK - 1).collect();
    let kept = kept.replace("__", "_");
    let begin = if kept.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') { "" } else { "t" };
    let mark: String = Sha256::digest(name).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{begin}{kept}-{mark}")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn plain_names_stay_and_others_become_names_of_their_own() {
        assert_eq!(tool_name("git", "git_status"), "git__git_status");
        let marked = server_prefix("a__b").trim_end_matches('_').to_owned();
        let servers =
            ["git", "gi t", "gi_t", "a", "a__b", &marked, "a_", "a-", "ä", "ö", "", "1", &"s".repeat(80)];
        let tools =
            ["b", "b__c", "_b", "c", "x.y", "x/y", "x_y", "日本", "", "7", &"t".repeat(80), &"t".repeat(81)];
        let mut seen = HashSet::new();
        for server in servers {
            for tool in tools {
                let name = tool_name(server, tool);
                assert!(name.len() <= LONGEST, "{name}");
                assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
                assert!(name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'), "{name}");
                assert!(name.starts_with(&server_prefix(server)), "{name}");
                assert!(seen.insert(name.clone()), "{server} {tool}: {name} twice");
            }
        }
        for (one, other) in servers.iter().flat_map(|one| servers.iter().map(move |other| (one, other))) {
            assert!(one == other || !tool_name(one, "t").starts_with(&server_prefix(other)), "{one} {other}");
        }
    }
}
