//! Where commands are found: in the user's own folder, and in that of a workspace whose user trusts it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use charla_proto::text::printable;

use super::{CustomCommand, is_built_in, safe_name};
use crate::bounded;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::{Notice, Notices};
use crate::settings::Brought;
use crate::trust::{COMMANDS, Standing, command_files, gemini_standing};

/// A command's file, wherever it lies.
struct CommandFile {
    /// Its path for people.
    shown: PathBuf,
    /// What it is called by its path.
    written: String,
    /// The command's name: the same, unless that is one of ours.
    name: String,
    /// What it holds, where that is text.
    text: Option<String>,
    is_trusted: bool,
}

/// Begins the names of commands that are called like one of ours.
const USERS: &str = "user.";
const WORKSPACES: &str = "workspace.";

/// The name of a command whose file is called so.
fn prefixed(prefix: &str, written: &str) -> String {
    if is_built_in(written) { format!("{prefix}{written}") } else { written.to_owned() }
}

/// What a command of the user's is called by its file's path in the folder of commands.
pub(crate) fn name_of_users(path: &Path) -> Option<String> {
    CustomCommand::name_of(path).map(|written| prefixed(USERS, &written))
}

/// What a command of a workspace is called by its file's path in the folder of commands.
pub(crate) fn name_of_workspaces(path: &Path) -> Option<String> {
    CustomCommand::name_of(path).map(|written| prefixed(WORKSPACES, &written))
}

impl CommandFile {
    /// The file at this path in a folder of commands; nothing where no command can be called so. `prefix` begins its name where
    /// that is one of ours.
    fn new(folder: &Path, prefix: &str, path: &str, text: Option<String>, is_trusted: bool) -> Option<Self> {
        let written = CustomCommand::name_of(Path::new(path))?;
        let name = prefixed(prefix, &written);
        Some(Self { shown: folder.join(COMMANDS).join(path), written, name, text, is_trusted })
    }

    /// What is said where it has another name than its file.
    fn renamed(&self) -> Option<String> {
        let Self { written, name, shown, .. } = self;
        let shown = printable(shown);
        (written != name).then(|| format!("/{written} is built in: the command in {shown} is /{name}"))
    }

    fn command(&self) -> Result<CustomCommand, String> {
        let shown = printable(&self.shown);
        match &self.text {
            Some(text) => CustomCommand::parse(&self.name, text).map_err(|error| format!("{shown}: {error}")),
            None => Err(format!("the command in {shown} is no text")),
        }
    }
}

/// The commands that hold here, by name. A workspace's command goes before the user's own of the same name, that before one
/// of an extension; what cannot be used is told.
pub fn custom_commands(
    environment: &Environment,
    brought: &Brought,
    notices: &mut dyn Notices,
) -> Result<Vec<CustomCommand>, Failure> {
    let mut commands = BTreeMap::new();
    let (usable, left_out): (Vec<_>, Vec<_>) =
        files(environment, brought)?.into_iter().partition(|file| file.is_trusted);
    for file in usable {
        file.renamed().into_iter().for_each(|words| notices.warning(&words.into()));
        match file.command() {
            Ok(command) => drop(commands.insert(file.name, command)),
            Err(why) => notices.warning(&why.into()),
        }
    }
    if !left_out.is_empty() {
        let (commands, are) = if left_out.len() == 1 { ("command", "is") } else { ("commands", "are") };
        let count = left_out.len();
        let text = format!("{count} {commands} of this workspace {are} left out: it is not trusted");
        notices.note(&Notice::with_hint(text, Hint::TrustWorkspace));
    }
    Ok(commands.into_values().collect())
}

/// Why a command that has a file cannot be used; nothing where it has none.
pub(crate) fn unusable_command(
    name: &str,
    environment: &Environment,
    brought: &Brought,
) -> Result<Option<Failure>, Failure> {
    let found =
        files(environment, brought)?.into_iter().rfind(|file| file.written == name || file.name == name);
    Ok(found.and_then(|file| match file.is_trusted {
        true if file.name != name => file.renamed().map(Failure::input),
        true => file.command().err().map(Failure::input),
        false => {
            let shown = printable(&file.shown);
            let why = format!("the command /{name} in {shown} is left out: this workspace is not trusted");
            Some(Failure::input(why).with_hint(Hint::TrustWorkspace))
        }
    }))
}

/// The files of all commands; of several of one name the last counts.
fn files(environment: &Environment, brought: &Brought) -> Result<Vec<CommandFile>, Failure> {
    // Those of extensions and of Gemini CLI first: ours go before them.
    let extensions = brought
        .extensions
        .iter()
        .map(|extension| (extension.folder.clone(), format!("{}:", safe_name(&extension.name))));
    let gemini = environment.gemini_home().filter(|_| environment.guest.is_none());
    let homes = gemini.into_iter().chain(environment.charla_home()).map(|home| (home, USERS.to_owned()));
    let own = extensions.chain(homes).flat_map(|(home, prefix)| own_files(&home, &prefix));
    let content = &brought.workspace;
    let standing = content.known(environment)?;
    let brought = |folder: &'static str, (name, bytes): (&str, &[u8]), standing: Standing| {
        let text = std::str::from_utf8(bytes).ok().map(str::to_owned);
        CommandFile::new(Path::new(folder), WORKSPACES, name, text, standing.is_trusted())
    };
    let of_gemini = gemini_standing(standing, environment);
    let gemini = content.gemini_commands().filter_map(|file| brought(".gemini", file, of_gemini));
    let ours = content.commands().filter_map(|file| brought(".charla", file, standing));
    Ok(own.chain(gemini).chain(ours).collect())
}

/// The files of a user or an extension.
fn own_files(home: &Path, prefix: &str) -> Vec<CommandFile> {
    let read = |name: String| {
        let text = bounded::text(&home.join(&name)).ok();
        CommandFile::new(home, prefix, name.strip_prefix(COMMANDS)?.strip_prefix('/')?, text, true)
    };
    command_files(home).into_iter().filter_map(read).collect()
}
