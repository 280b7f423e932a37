//! Commands that change files of the workspace, no others.

use std::path::Path;

use charla_proto::text::join_path;
use charla_proto::{Word, WordKind};

use super::expressions::edits_in_place;
use super::programs;
use super::{Call, Checked};
use crate::policy::paths::{is_free, secret};

/// True for a command that is there to change files.
pub(super) fn is_editor(call: Call<'_>) -> bool {
    match call.name {
        "sed" => edits_in_place(call.words),
        // `tee /dev/null` changes nothing.
        "tee" => call.words.iter().any(|word| {
            !(word.known().is_some_and(|text| is_free(Path::new(text))) || word.text.starts_with('-'))
        }),
        name => programs::find(name).is_some_and(|program| program.edits.is_some()),
    }
}

/// Each file named has to be in the workspace and ordinary.
pub(super) fn check(call: Call<'_>) -> Checked {
    match call.name {
        "sed" => return super::expressions::sed_in_place(call, |word| file(call, word)),
        "ln" => return link(call),
        "chmod" => return modes(call),
        _ => {}
    }
    let files = operands(call)?;
    if files.is_empty() {
        return Err("it names no file".into());
    }
    match files.split_last() {
        Some((target, sources)) if matches!(call.name, "cp" | "mv") && is_root(call, target) => {
            sources.iter().try_for_each(|word| into_root(call, word, target))
        }
        _ => files.into_iter().try_for_each(|word| file(call, word)),
    }
}

fn is_root(call: Call<'_>, word: &Word) -> bool {
    let path = word.known().map(|text| join_path(call.cwd, text));
    path.is_some_and(|path| call.scope.roots.contains(&path))
}

/// `mv src/a.txt .`: what arrives is as ordinary as what goes.
fn into_root(call: Call<'_>, word: &Word, root: &Word) -> Checked {
    file(call, word)?;
    let name = word.text.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    ordinary(call, &join_path(&join_path(call.cwd, &root.text), name), &word.text)
}

/// The words that are no options; every option has to be on the list.
fn operands<'a>(call: Call<'a>) -> Result<Vec<&'a Word>, String> {
    let options = programs::find(call.name).and_then(|program| program.edits);
    let mut operands = Vec::new();
    for word in call.words {
        let option = word.kind.is_literal() && word.text.starts_with('-') && word.text != "-";
        if !option {
            operands.push(word);
        } else if !options.is_some_and(|options| options.contains(&word.text.as_str())) {
            return Err(format!("the option {} is not known to be harmless", word.text));
        }
    }
    Ok(operands)
}

/// A file that may be changed.
fn file(call: Call<'_>, word: &Word) -> Checked {
    match word.kind {
        WordKind::Literal => ordinary(call, &join_path(call.cwd, &word.text), &word.text),
        // The files it matches are effects of their own.
        WordKind::Glob if call.scope.enforced().editing => pattern(call, word),
        _ => Err(format!("which files {} names is only known to the shell", word.text)),
    }
}

/// `src/*.txt`: in a folder that is named, which is ordinary; hidden files are named one by one.
pub(super) fn pattern(call: Call<'_>, word: &Word) -> Checked {
    let mut parts = word.text.split('/').peekable();
    let mut folder = Vec::new();
    while let Some(part) = parts.next_if(|part| !part.contains(['*', '?', '[', '(', '{'])) {
        folder.push(part);
    }
    let climbs = parts.clone().any(|part| part == "..");
    let begins = parts.peek().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_alphanumeric()));
    let deep = word.text.contains("**");
    // A name that begins with a dash would be an option.
    if climbs || deep || parts.any(|part| part.starts_with('.')) || (folder.is_empty() && !begins) {
        return Err(format!("which files {} names is only known to the shell", word.text));
    }
    ordinary(call, &join_path(call.cwd, format!("{}/x", folder.join("/"))), &word.text)
}

pub(super) fn ordinary(call: Call<'_>, path: &Path, text: &str) -> Checked {
    if !call.scope.contains(path) || call.scope.roots.iter().any(|root| root == path) {
        return Err(format!("{text} lies outside the workspace"));
    }
    match call.scope.protected(path) {
        Some(reason) => Err(format!("{text}: {reason}")),
        None => Ok(()),
    }
}

/// `ln -s target name`: a link in the workspace to something ordinary in it.
fn link(call: Call<'_>) -> Checked {
    let operands = operands(call)?;
    let symbolic =
        call.words.iter().any(|word| matches!(word.known(), Some("-s" | "-sv" | "-vs" | "--symbolic")));
    let [target, name] = operands.as_slice() else { return Err("which link it makes is not known".into()) };
    if !symbolic {
        return Err("a second name of a file gets around what is known about the first".into());
    }
    file(call, name)?;
    let target = target.known().ok_or("where the link leads is only known to the shell")?;
    let name = join_path(call.cwd, name.known().unwrap_or_default());
    // In a folder of that name the link would stand elsewhere, and lead elsewhere.
    let places = [name.parent().unwrap_or(call.cwd).to_owned(), name.clone()];
    for place in places {
        let leads = join_path(&place, target);
        ordinary(call, &leads, target)?;
        if let Some(reason) = secret(&leads.to_string_lossy()) {
            return Err(format!("{target}: {reason}"));
        }
    }
    Ok(())
}

/// `chmod +x file`: who may read, write and run it, and nothing that gives the file's rights to whoever runs it.
fn modes(call: Call<'_>) -> Checked {
    let operands = match call.words {
        // A mode that takes something away looks like an option.
        [mode, files @ ..] if mode.known().is_some_and(|mode| mode.starts_with('-')) => {
            std::iter::once(mode).chain(files).collect()
        }
        _ => operands(call)?,
    };
    let Some((mode, files)) = operands.split_first() else { return Err("it names no file".into()) };
    let mode = mode.known().unwrap_or_default();
    let octal = mode.len() == 3 && mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let symbolic = mode.contains(['+', '-', '=']) && mode.chars().all(|c| "ugoa+-=rwxX,".contains(c));
    if !(octal || symbolic) || files.is_empty() {
        return Err("which rights it gives is not known".into());
    }
    files.iter().try_for_each(|word| {
        let option = word.text.starts_with('-');
        if option {
            Err(format!("the option {} is not known to be harmless", word.text))
        } else {
            file(call, word)
        }
    })
}
