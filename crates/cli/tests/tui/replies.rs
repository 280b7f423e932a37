//! What the model answers in several tests, and what is seen of it.

use charla_testkit::{Reply, Server};
use serde_json::json;

/// The last row of a card that takes keys, where there is room for all of them.
pub const CHOICES: &str = "r no, with a reason";

/// An editor of arguments: what it makes of `wrong` is `right` but for a comma too many, which it takes out the next time.
pub const SLOPPY: &str = "if grep -q wrong \"$1\"; then sed -i 's/wrong\"/right\",/' \"$1\"; else sed -i 's/right\",/right\"/' \"$1\"; fi\n";

/// A call of the shell.
pub fn shell(command: &str) -> Reply {
    Reply::new().call("run_shell_command", json!({ "command": command }))
}

/// A call that asks, and makes a file.
pub fn touch(name: &str) -> Reply {
    shell(&format!("touch {name}"))
}

/// What the model was told last.
pub fn last_request(server: &Server) -> String {
    server.requests().last().unwrap().body.to_string()
}
