//! Where commands are found: in the user's own folder, and in that of a workspace whose user trusts it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use charla_proto::text::printable;

use super::CustomCommand;
use crate::bounded;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::hint::Hint;
use crate::notices::{Notice, Notices};
use crate::settings::Brought;
use crate::trust::{COMMANDS, command_files, gemini_standing};

/// The commands that hold here, by name. A workspace's command goes before the user's own of the same name, that before one
/// of an extension; what cannot be used is told.
pub fn custom_commands(
    environment: &Environment,
    brought: &Brought,
    notices: &mut dyn Notices,
) -> Result<Vec<CustomCommand>, Failure> {
    let mut commands = BTreeMap::new();
    // Those of extensions and of Gemini CLI first: ours go before them.
    let extensions = brought.extensions.iter().map(|extension| extension.folder.clone());
    let gemini = environment.gemini_home().filter(|_| environment.guest.is_none());
    let homes = extensions.chain(gemini).chain(environment.charla_home());
    for (path, text) in homes.flat_map(|home| own_files(&home)) {
        add(&mut commands, &path, text.as_deref(), notices);
    }
    let content = &brought.workspace;
    let standing = content.known(environment)?;
    let mut left_out = 0;
    let gemini = content.gemini_commands().map(|command| (command, gemini_standing(standing, environment)));
    for ((name, bytes), standing) in gemini.chain(content.commands().map(|command| (command, standing))) {
        match standing.is_trusted() {
            true => add(&mut commands, Path::new(name), std::str::from_utf8(bytes).ok(), notices),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        let (commands, are) = if left_out == 1 { ("command", "is") } else { ("commands", "are") };
        let text = format!("{left_out} {commands} of this workspace {are} left out: it is not trusted");
        notices.note(&Notice::with_hint(text, Hint::TrustWorkspace));
    }
    Ok(commands.into_values().collect())
}

/// The files of a user or an extension, by their paths in the folder of commands.
fn own_files(home: &Path) -> Vec<(PathBuf, Option<String>)> {
    let read = |name: String| {
        let text = bounded::text(&home.join(&name)).ok();
        let path = Path::new(&name).strip_prefix(COMMANDS).map(Path::to_owned);
        Some((path.ok()?, text))
    };
    command_files(home).into_iter().filter_map(read).collect()
}

fn add(
    commands: &mut BTreeMap<String, CustomCommand>,
    path: &Path,
    text: Option<&str>,
    notices: &mut dyn Notices,
) {
    let Some(name) = CustomCommand::name_of(path) else { return };
    match text.map(|text| CustomCommand::parse(&name, text)) {
        Some(Ok(command)) => drop(commands.insert(name, command)),
        Some(Err(error)) => notices.warning(&error.to_string().into()),
        None => notices.warning(&format!("the command in {} is no text", printable(path)).into()),
    }
}
