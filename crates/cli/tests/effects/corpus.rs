//! The command lines, one a line, in classes.
//!
//! `== TITLE [FLAG, …]` begins a class, `#` a comment. `@FOLDER LINE` runs the line in that folder, `%TOOL JSON` calls another tool. Words in braces stand for
//! what differs from run to run, see [`Places::fill`].

use crate::listeners::Listeners;
use crate::world::World;

/// A command line of the corpus.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its place in the file, from 1.
    pub number: usize,
    pub class: String,
    pub flags: Vec<String>,
    /// The folder it runs in.
    pub folder: Option<String>,
    pub text: String,
}

impl Line {
    /// The tool and its arguments, where it is no command line.
    pub fn tool_call(&self) -> Option<(&str, serde_json::Value)> {
        let (tool, arguments) = self.text.strip_prefix('%')?.split_once(' ')?;
        Some((tool, serde_json::from_str(arguments).unwrap()))
    }

    /// Whether its class says this of its lines.
    pub fn is(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }
}

/// The lines of a file.
pub fn read(text: &str) -> Vec<Line> {
    let (mut class, mut flags) = (String::new(), Vec::new());
    let mut lines = Vec::new();
    for (index, text) in text.lines().enumerate() {
        if text.is_empty() || text.starts_with("# ") {
            continue;
        }
        if let Some(title) = text.strip_prefix("== ") {
            let (title, said) = title.split_once(" [").unwrap_or((title, ""));
            class = title.to_owned();
            flags = said.trim_end_matches(']').split(", ").map(str::to_owned).collect();
            continue;
        }
        let in_folder = text.strip_prefix('@').and_then(|text| text.split_once(' '));
        let (folder, text) = in_folder.map_or((None, text), |(folder, text)| (Some(folder.to_owned()), text));
        let text = text.to_owned();
        lines.push(Line { number: index + 1, class: class.clone(), flags: flags.clone(), folder, text });
    }
    lines
}

/// Where a line's words point to in one run.
pub struct Places<'a> {
    pub world: &'a World,
    pub listeners: &'a Listeners,
    /// A process that is none of the line's business.
    pub bystander: u32,
    /// Text that only this run's marks have.
    pub tag: &'a str,
    /// A number that only this run's kernel objects have, to be added to.
    pub key: u32,
}

impl Places<'_> {
    /// The line as it is run.
    pub fn fill(&self, line: &Line) -> Line {
        let fill = |text: &str| self.fill_words(line.number, text);
        Line { text: fill(&line.text), folder: line.folder.as_deref().map(fill), ..line.clone() }
    }

    fn fill_words(&self, number: usize, text: &str) -> String {
        let (world, listeners) = (self.world, self.listeners);
        let outside = world.outside().display().to_string();
        let words = [
            ("{NL}", "\n".to_owned()),
            ("{TAB}", "\t".to_owned()),
            ("{MARK}", format!("{outside}/mark-{number}")),
            ("{IN}", format!("mark-{number}")),
            ("{TMP}", self.elsewhere(number, "/tmp")),
            ("{VARTMP}", self.elsewhere(number, "/var/tmp")),
            ("{SHM}", self.elsewhere(number, "/dev/shm")),
            ("{OUT}", outside.clone()),
            ("{SECRET}", format!("{outside}/secret.txt")),
            ("{WS}", world.work().display().to_string()),
            ("{HOME}", world.home().display().to_string()),
            ("{ROOT}", world.root().display().to_string()),
            ("{PORT}", listeners.tcp4.to_string()),
            ("{PORT6}", listeners.tcp6.to_string()),
            ("{UDP}", listeners.udp.to_string()),
            ("{SOCK}", listeners.stream().display().to_string()),
            ("{DGRAM}", listeners.datagram().display().to_string()),
            ("{ABSTRACT}", listeners.abstract_name.clone()),
            ("{VICTIM}", self.bystander.to_string()),
            ("{KEY}", self.key(number).to_string()),
            ("{ID}", number.to_string()),
        ];
        words.iter().fold(text.to_owned(), |text, (word, place)| text.replace(word, place))
    }

    /// A mark in a folder that everybody shares.
    pub fn elsewhere(&self, number: usize, folder: &str) -> String {
        format!("{folder}/{}-{number}", self.tag)
    }

    /// The number of a kernel object that this line would make.
    pub fn key(&self, number: usize) -> u32 {
        self.key + u32::try_from(number).unwrap()
    }
}
