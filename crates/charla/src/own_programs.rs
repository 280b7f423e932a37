//! Programs that we start for ourselves: where they are looked for, what they see of the environment, what they say.

use std::ffi::OsString;
use std::io::Read;
use std::sync::mpsc;
use std::time::Duration;

use crate::environment::{Environment, NETWORK_VARIABLES};

/// All of a helper's variables.
pub type HelperVariables = Vec<(OsString, OsString)>;

/// Where programs are on every system.
pub(crate) const SYSTEM: &str = "/usr/bin:/bin";

/// What any program may want to know.
pub(crate) const BASICS: [&str; 11] = [
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
];

/// Lists of folders that programs and libraries are loaded from.
pub(crate) const FOLDERS: [&str; 3] = ["PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];

/// For Python that installs packages, with what pip itself is told by.
pub(crate) fn installer(environment: &Environment) -> HelperVariables {
    let wanted = |name: &str| {
        BASICS.contains(&name)
            || NETWORK_VARIABLES.contains(&name)
            || name == "XDG_CONFIG_HOME"
            || name.starts_with("PIP_")
    };
    of(environment, |name, _| wanted(name))
}

/// For git that fetches a repository: who the user is to an SSH server, and nothing else that is secret.
pub(crate) fn git(environment: &Environment) -> HelperVariables {
    let wanted = |name: &str| {
        BASICS.contains(&name)
            || NETWORK_VARIABLES.contains(&name)
            || ["XDG_CONFIG_HOME", "SSH_AUTH_SOCK"].contains(&name)
    };
    of(environment, |name, _| wanted(name))
}

/// The variables that are wanted, and a search path that leads into no workspace.
pub(crate) fn of(environment: &Environment, wanted: impl Fn(&str, &str) -> bool) -> HelperVariables {
    let mut variables: HelperVariables = Vec::new();
    for (name, value) in environment.all() {
        let known = name.to_string_lossy();
        if !FOLDERS.contains(&&*known) && wanted(&known, &value.to_string_lossy()) {
            variables.push((name, value));
        }
    }
    for name in FOLDERS {
        let folders = environment.safe_folders(name);
        let folders: Vec<&str> = folders.iter().filter_map(|folder| folder.to_str()).collect();
        match (name, folders.is_empty()) {
            // An empty one would stand for the working folder.
            ("PATH", true) => variables.push((name.into(), SYSTEM.into())),
            (_, false) if name == "PATH" || wanted(name, "") => {
                variables.push((name.into(), folders.join(":").into()));
            }
            _ => {}
        }
    }
    variables
}

/// Reads a pipe on its own thread, so that neither pipe can block the child.
pub(crate) fn gather(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(1024 * 1024).read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

/// What came; a grandchild that keeps the pipe open is not waited for long.
pub(crate) fn received(receiver: &mpsc::Receiver<Vec<u8>>) -> String {
    let bytes = receiver.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
