//! The manual page: the parser's own sections, and the examples and exit codes of the help.

use std::path::Path;

use charla::Failure;
use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::{EXAMPLES, Typed};

/// The page in roff.
pub fn page() -> Result<String, Failure> {
    let mut page = Vec::new();
    let man = Man::new(Typed::command());
    let written = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page));
    written.map_err(|error| Failure::system(format!("cannot write the manual page: {error}")))?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    page.push_str(&commands(&Typed::command()));
    page.push_str(&sections());
    Ok(page)
}

/// A page for each command, those below others included.
pub fn write_all(folder: &Path) -> Result<(), Failure> {
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Typed::command(), folder))
        .map_err(|error| Failure::system(format!("cannot write manual pages: {error}")));
    written.and(page()).and_then(|page| {
        let first = std::fs::write(folder.join("charla.1"), page);
        first.map_err(|error| Failure::system(format!("cannot write the manual page: {error}")))
    })
}

/// One page tells of all commands, those below others included.
fn commands(root: &Command) -> String {
    let mut text = ".SH COMMANDS\n".to_owned();
    for command in root.get_subcommands() {
        entry(&format!("charla {}", command.get_name()), command, &mut text);
        for below in command.get_subcommands() {
            entry(&format!("charla {} {}", command.get_name(), below.get_name()), below, &mut text);
        }
    }
    text
}

fn entry(name: &str, command: &Command, text: &mut String) {
    let arguments: String =
        command.get_positionals().map(|argument| format!(" {}", argument.get_id()).to_uppercase()).collect();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    text.push_str(&format!(".TP\n\\fB{}\\fR{}\n{}\n", escaped(name), escaped(&arguments), escaped(&about)));
}

/// The paragraphs of the help's end; one that begins with a heading becomes a section.
fn sections() -> String {
    let mut text = String::new();
    for paragraph in EXAMPLES.split("\n\n") {
        match paragraph.split_once(":\n") {
            Some((heading, body)) => {
                let (heading, body) = (heading.to_uppercase(), escaped(body));
                text.push_str(&format!(".SH {heading}\n.nf\n{body}\n.fi\n"));
            }
            None => text.push_str(&format!(".SH OUTPUT\n{}\n", escaped(paragraph))),
        }
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq")
}
