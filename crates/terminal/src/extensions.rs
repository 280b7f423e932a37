//! Extensions: what they bring, the question whether to go on, and what came of it. Scripts know some of the words.

use charla::extensions::{Candidate, Consent, Extension, Extensions, Origin};
use charla::trust::TrustedFolders;
use charla::{Charla, Failure, Notices};
use charla_proto::text::one_line;
use serde_json::{Value, json};

use crate::lines::agreed_to;
use crate::printer::Printer;

/// What is to be done with extensions.
#[derive(Debug)]
pub enum ExtensionWork {
    /// Install one from a folder or a repository.
    Install {
        /// The folder or the repository's address.
        source: String,
        /// Whoever asks has agreed already.
        agreed: bool,
    },
    /// List them.
    List {
        /// For programs.
        json: bool,
    },
    /// Use one, or no longer.
    Enable {
        /// Its name.
        name: String,
        /// Use it.
        enabled: bool,
    },
    /// Fetch the newest of one, or of all.
    Update {
        /// Its name.
        name: Option<String>,
        /// Whoever asks has agreed already.
        agreed: bool,
    },
    /// Remove one.
    Uninstall {
        /// Its name.
        name: String,
    },
}

/// Does it.
pub fn run(work: ExtensionWork, charla: &Charla, printer: &mut Printer) -> Result<(), Failure> {
    let extensions = Extensions::of(charla.environment()).ok_or_else(|| {
        Failure::config("there is no home directory to keep extensions in").with_hint("set CHARLA_HOME")
    })?;
    match work {
        ExtensionWork::Install { source, agreed } => {
            if !agreed {
                ask_for_trust(charla, &extensions, &source, printer)?;
            }
            install(&extensions, &source, agreed, printer)
        }
        ExtensionWork::List { json } => list(&extensions, json, printer),
        ExtensionWork::Enable { name, enabled } => {
            extensions.enable(&name, enabled)?;
            let done = if enabled { "enabled" } else { "disabled" };
            printer.words(&format!("Extension \"{name}\" successfully {done}.\n"))
        }
        ExtensionWork::Update { name: Some(name), agreed } => {
            update(&extensions, &extensions.get(&name)?, agreed, printer)
        }
        ExtensionWork::Update { name: None, agreed } => {
            let (installed, broken) = extensions.list()?;
            broken.iter().for_each(|notice| Notices::warning(printer, notice));
            installed.iter().try_for_each(|extension| update(&extensions, extension, agreed, printer))
        }
        ExtensionWork::Uninstall { name } => {
            extensions.uninstall(&name)?;
            printer.words(&format!("Extension \"{name}\" successfully uninstalled.\n"))
        }
    }
}

/// Asks about the folders that an installation has to do with, where the user's settings of Gemini CLI want that.
fn ask_for_trust(
    charla: &Charla,
    extensions: &Extensions<'_>,
    source: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let Some(folders) = TrustedFolders::of(charla.environment()) else { return Ok(()) };
    if let Some(folder) = extensions.source_folder(source) {
        let shown = one_line(&folder.to_string_lossy());
        if !folders.trusts(&folder)? {
            printer.words(&format!("The folder \"{shown}\" is not trusted.\n"))?;
            if !agreed_to(
                "Do you want to trust this folder and continue with the installation? [y/N]: ",
                printer,
            )? {
                let why = format!("Installation aborted: the folder \"{shown}\" is not trusted.");
                return Err(Failure::input(why));
            }
            folders.trust(&folder)?;
        }
    }
    let workspace = &charla.environment().directory;
    if !folders.trusts(workspace)? {
        let shown = one_line(&workspace.to_string_lossy());
        printer.words(&format!("The workspace \"{shown}\" is not trusted.\n"))?;
        if !agreed_to("Do you want to trust this workspace to install extensions? [y/N]: ", printer)? {
            let why = format!("Installation aborted: the workspace \"{shown}\" is not trusted.");
            return Err(Failure::input(why));
        }
        folders.trust(workspace)?;
    }
    Ok(())
}

fn install(
    extensions: &Extensions<'_>,
    source: &str,
    agreed: bool,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let candidate = extensions.candidate(source)?;
    let name = &candidate.manifest.name;
    if extensions.list()?.0.iter().any(|installed| installed.manifest.name == *name) {
        return Err(Failure::input(format!("the extension {name} is installed already"))
            .with_hint(format!("`charla extensions update {name}` fetches its newest version")));
    }
    printer.words(&format!(
        "Installing extension \"{name}\" ({}) from {}.\n",
        candidate.manifest.version,
        one_line(&candidate.source.to_string())
    ))?;
    agree(&candidate, &[], agreed, "Installation aborted.", printer)?;
    let manifest = extensions.install(candidate)?;
    printer.words(&format!("Extension \"{}\" installed successfully and enabled.\n", manifest.name))
}

fn update(
    extensions: &Extensions<'_>,
    extension: &Extension,
    agreed: bool,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let candidate = extensions.newest(extension)?;
    let (name, before) = (&extension.manifest.name, &extension.manifest.version);
    let other = extension.agrees_to_other_than(&candidate);
    if !other && candidate.manifest.version == *before {
        return printer.words(&format!("Extension \"{name}\" is already up to date.\n"));
    }
    if other {
        printer.words(&format!("Extension \"{name}\" brings something else than before.\n"))?;
        let changes = candidate.consent.changes_since(&extension.consent());
        agree(&candidate, &changes, agreed, "Update aborted.", printer)?;
    }
    let manifest = extensions.install(candidate)?;
    printer.words(&format!("Extension \"{name}\" successfully updated: {before} → {}.\n", manifest.version))
}

/// Shows what an extension brings, and what of it has changed, and asks; only a yes counts.
fn agree(
    candidate: &Candidate,
    changes: &[String],
    agreed: bool,
    otherwise: &str,
    printer: &mut Printer,
) -> Result<(), Failure> {
    for line in shown(&candidate.consent, &candidate.left_out).into_iter().chain(self::changes(changes)) {
        printer.words(&format!("{line}\n"))?;
    }
    if agreed || agreed_to("Do you want to continue? [y/N]: ", printer)? {
        return Ok(());
    }
    Err(Failure::input(otherwise).with_hint("`--consent` agrees without being asked"))
}

/// What of an extension changed, below a title.
pub fn changes(changes: &[String]) -> Vec<String> {
    let title = (!changes.is_empty()).then(|| "What changed (- gone, + new, ~ another text):".to_owned());
    title.into_iter().chain(changes.iter().cloned()).collect()
}

/// What an extension brings, for somebody who is to agree.
pub fn shown(consent: &Consent, left_out: &[String]) -> Vec<String> {
    let mut lines = vec![
        "An extension is somebody else's work: what it runs has your rights, what it says your models read."
            .to_owned(),
    ];
    match consent.lines() {
        [] => lines.push("It runs nothing and adds no instructions.".to_owned()),
        all => lines.extend(all.iter().cloned()),
    }
    lines.extend(
        left_out.iter().map(|path| format!("Not copied, for it is a link or no file: {}", one_line(path))),
    );
    lines
}

fn list(extensions: &Extensions<'_>, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    let (installed, broken) = extensions.list()?;
    broken.iter().for_each(|notice| Notices::warning(printer, notice));
    if as_json {
        let all: Value = installed.iter().map(row).collect();
        return printer.result(&format!("{all:#}\n"));
    }
    for extension in &installed {
        printer.words(&in_words(extension))?;
    }
    if installed.is_empty() {
        printer.note("No extensions installed.");
    }
    Ok(())
}

/// An extension in a line, and what it brings in further ones.
pub fn in_words(extension: &Extension) -> String {
    let state = if extension.enabled { "enabled" } else { "disabled" };
    let (name, version) = (&extension.manifest.name, &extension.manifest.version);
    let from = one_line(&extension.source.to_string());
    format!("{name} (v{version}) - {state}, from {from}\n")
}

/// An extension in a conversation, in the words that scripts know; `newer` says that there is a newer one where it came from,
/// `updated` that it was updated meanwhile.
pub fn standing(extension: &Extension, newer: bool, updated: bool) -> String {
    let state = match (extension.enabled, newer, updated) {
        (false, ..) => "disabled",
        (true, true, _) => "active (update available)",
        (true, false, true) => "active (updated)",
        (true, false, false) => "active",
    };
    let (name, version) = (&extension.manifest.name, &extension.manifest.version);
    format!("{name} (v{version}) - {state}, from {}", one_line(&extension.source.to_string()))
}

fn row(extension: &Extension) -> Value {
    json!({
        "name": extension.manifest.name,
        "version": extension.manifest.version,
        "description": extension.manifest.description,
        "enabled": extension.enabled,
        "source": extension.source.place,
        "type": match extension.source.origin { Origin::Local => "local", Origin::Git => "git" },
        "path": extension.folder.to_string_lossy(),
    })
}
