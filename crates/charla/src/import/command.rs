//! Commands as other programs write them: Markdown with a head, made our TOML.

use std::path::Path;

use super::{Finding, file};

/// The commands in a folder of Markdown files.
pub(super) fn markdown(folder: &Path, findings: &mut Vec<Finding>) {
    for path in file::files(folder, "md") {
        let Some(text) = file::text(&folder.join(&path), findings) else { continue };
        let name = path.with_extension("").to_string_lossy().into_owned();
        match converted(&text) {
            Ok(converted) => {
                let left = converted.left.iter().map(|key| Finding::Left {
                    what: format!("`{key}` of the command {name}"),
                    why: "it has no counterpart here; what a command runs is asked about or allowed by your rules"
                        .to_owned(),
                });
                findings.extend(left);
                findings.push(Finding::Command { name, text: converted.text });
            }
            Err(why) => findings.push(Finding::Left { what: format!("command {name}"), why: why.to_owned() }),
        }
    }
}

/// The commands in a folder of TOML files, which are as ours.
pub(super) fn toml(folder: &Path, findings: &mut Vec<Finding>) {
    for path in file::files(folder, "toml") {
        let Some(text) = file::text(&folder.join(&path), findings) else { continue };
        let name = path.with_extension("").to_string_lossy().into_owned();
        findings.push(Finding::Command { name, text });
    }
}

/// A command in our form, and the keys of its head that mean nothing here.
struct Converted {
    text: String,
    left: Vec<String>,
}

fn converted(text: &str) -> Result<Converted, &'static str> {
    let (head, body) = split(text);
    let description = head.lines().find_map(|line| line.strip_prefix("description:"));
    let description = description.map(|words| words.trim().trim_matches(['"', '\''])).unwrap_or_default();
    let body = body.trim();
    if body.is_empty() {
        return Err("it says nothing");
    }
    if (1..=9).any(|number| body.contains(&format!("${number}"))) {
        return Err("it takes numbered arguments, which commands do not have here");
    }
    // What is words there must not become a command or a file here.
    if ["!{", "@{", "{{args}}"].iter().any(|place| body.contains(place)) {
        return Err(
            "it has `!{`, `@{` or `{{args}}` among its words, which would run, read or fill something here",
        );
    }
    let prompt = shell_places(&file_places(&body.replace("$ARGUMENTS", "{{args}}")));
    let mut command = toml::Table::new();
    if !description.is_empty() {
        command.insert("description".to_owned(), description.into());
    }
    command.insert("prompt".to_owned(), prompt.into());
    let text = toml::to_string(&command).map_err(|_| "it cannot be written as a command")?;
    Ok(Converted { text, left: other_keys(head) })
}

/// The keys of a head that say more than what the command is for.
fn other_keys(head: &str) -> Vec<String> {
    let keys = head.lines().filter(|line| !line.starts_with([' ', '\t', '#', '-']));
    let keys = keys.filter_map(|line| line.split_once(':')).map(|(key, _)| key.trim());
    keys.filter(|key| !["description", "argument-hint"].contains(key)).map(str::to_owned).collect()
}

/// Files that are named as `@path`, in our form. A word without a dot or a slash is taken for a name.
fn file_places(body: &str) -> String {
    body.split_inclusive(char::is_whitespace).map(file_place).collect()
}

fn file_place(word: &str) -> String {
    let Some(rest) = word.strip_prefix('@') else { return word.to_owned() };
    let path = rest.trim_end().trim_end_matches(['.', ',', ';', ':', ')', '?', '!']);
    let behind = rest.strip_prefix(path).unwrap_or_default();
    let is_path = path.contains(['/', '.']) && !path.contains(['{', '}', '@']);
    if is_path { format!("@{{{path}}}{behind}") } else { word.to_owned() }
}

/// What stands between two lines of dashes, and the rest.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let inside = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    inside
        .and_then(|inside| inside.split_once("\n---"))
        .map_or(("", text), |(head, rest)| (head, rest.split_once('\n').map_or("", |(_, body)| body)))
}

/// Commands between `` !` `` and `` ` `` in our form.
fn shell_places(body: &str) -> String {
    let mut pieces = body.split("!`");
    let mut made = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('`') {
            Some((command, rest)) => made.push_str(&format!("!{{{command}}}{rest}")),
            None => made.push_str(&format!("!`{piece}")),
        }
    }
    made
}
