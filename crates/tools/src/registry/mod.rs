//! The registry: which tools there are, and which of them the model is offered.

mod discovery;

use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::text::nearest;
use charla_proto::tool::{Tool, Toolbox};
use charla_proto::{FunctionDeclaration, Snapshots};

use crate::files::{
    Buffers, ListDirectory, ReadFile, ReadManyFiles, Replace, SaveMemory, Workbench, WriteFile,
};
use crate::search::{Glob, GrepSearch};
use crate::todos::WriteTodos;
use crate::typed::{Typed, TypedTool};

pub use discovery::{
    Announced, CommandOutput, CommandRunner, DISCOVERED_PREFIX, Discovery, DiscoveryError, ToolCommand,
    discover, parse_declarations,
};

/// Names that other agents, and older versions of this one's relatives, have for the same thing.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("search_file_content", "grep_search"),
    ("bash", "run_shell_command"),
    ("cat", "read_file"),
    ("edit", "replace"),
    ("edit_file", "replace"),
    ("execute_command", "run_shell_command"),
    ("find", "glob"),
    ("ls", "list_directory"),
    ("rg", "grep_search"),
    ("search", "grep_search"),
    ("str_replace", "replace"),
    ("todo_write", "write_todos"),
    ("view", "read_file"),
];

/// The one other name that is not just suggested but taken: recorded conversations have it.
const OLD_NAME: (&str, &str) = ("search_file_content", "grep_search");

/// Where a tool comes from. The model is offered tools in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Part of Charla.
    BuiltIn,
    /// Announced by the discovery command.
    Discovered,
    /// Of an MCP server.
    Mcp {
        /// The server.
        server: String,
    },
}

/// Which tools are offered.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The only built-in tools offered; all when absent.
    pub core: Option<Vec<String>>,
    /// Tools that are not offered.
    pub excluded: Vec<String>,
}

impl Selection {
    fn offers(&self, name: &str, source: &Source) -> bool {
        // `run_shell_command(git)` speaks of some calls of a tool: that is for the policy to judge.
        let whole = |entry: &String| entry.split('(').next().is_some_and(|entry| entry.trim() == name);
        let core = self.core.as_ref().filter(|_| *source == Source::BuiltIn);
        core.is_none_or(|core| core.iter().any(whole)) && !self.excluded.iter().any(|entry| entry == name)
    }
}

struct RegisteredTool {
    source: Source,
    tool: Arc<dyn Tool>,
}

impl RegisteredTool {
    fn name(&self) -> &str {
        &self.tool.declaration().name
    }
}

/// The tools of a session.
#[derive(Default)]
pub struct Registry {
    selection: Selection,
    entries: Vec<RegisteredTool>,
    withheld: Vec<String>,
}

/// A tool took the name of another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool `{name}` was registered twice; the later one is used")]
pub struct Replaced {
    /// The name.
    pub name: String,
}

impl Registry {
    /// A registry without tools that offers those of `selection`.
    pub fn new(selection: Selection) -> Self {
        Self { selection, ..Self::default() }
    }

    /// Adds a tool. One of the same name gives way, which the user should know.
    pub fn register(&mut self, source: Source, tool: Arc<dyn Tool>) -> Option<Replaced> {
        let name = tool.declaration().name.clone();
        let before = self.entries.len();
        self.entries.retain(|entry| entry.name() != name);
        let replaced = self.entries.len() < before;
        let at = self.entries.partition_point(|entry| entry.source <= source);
        self.entries.insert(at, RegisteredTool { source, tool });
        replaced.then_some(Replaced { name })
    }

    /// Adds a built-in tool. One of the same name gives way.
    pub fn add(&mut self, tool: impl TypedTool) -> Option<Replaced> {
        self.register(Source::BuiltIn, Arc::new(Typed::new(tool)))
    }

    /// Adds the tools for files, search, memory and todos. Facts are remembered in `memory_file`; without
    /// one there is no tool for it.
    pub fn register_files(
        &mut self,
        snapshots: Arc<dyn Snapshots>,
        memory_file: Option<PathBuf>,
        buffers: &Buffers,
    ) {
        let bench = Arc::new(Workbench::new(snapshots, buffers.clone()));
        self.add(ListDirectory);
        self.add(ReadFile::new(buffers.clone()));
        self.add(ReadManyFiles::new(buffers.clone()));
        self.add(GrepSearch);
        self.add(Glob);
        self.add(Replace::new(bench.clone()));
        self.add(WriteFile::new(bench.clone()));
        self.add(WriteTodos);
        if let Some(file) = memory_file {
            self.add(SaveMemory::new(bench, file));
        }
    }

    /// Stops telling the model of tools whose every call would be refused. A call of one is judged all the
    /// same, so that the person learns what was not allowed. Returns their names.
    pub fn withhold(&mut self, useless: impl Fn(&str) -> bool) -> Vec<String> {
        let names = self.offered().map(RegisteredTool::name).filter(|name| useless(name)).map(str::to_owned);
        self.withheld = names.collect();
        self.withheld.clone()
    }

    fn offered(&self) -> impl Iterator<Item = &RegisteredTool> {
        self.entries.iter().filter(|entry| self.selection.offers(entry.name(), &entry.source))
    }
}

impl Toolbox for Registry {
    fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let name = if name == OLD_NAME.0 { OLD_NAME.1 } else { name };
        self.offered().find(|entry| entry.name() == name).map(|entry| entry.tool.clone())
    }

    fn declarations(&self) -> Vec<Arc<FunctionDeclaration>> {
        let declared = self.offered().filter(|entry| !self.withheld.iter().any(|name| name == entry.name()));
        declared.map(|entry| entry.tool.declaration().clone()).collect()
    }

    fn withholds(&self, name: &str) -> bool {
        let name = if name == OLD_NAME.0 { OLD_NAME.1 } else { name };
        self.withheld.iter().any(|withheld| withheld == name)
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let lower = name.to_lowercase();
        let meant = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, ours)| *ours);
        let meant = meant.filter(|ours| self.get(ours).is_some());
        let names = self.offered().map(RegisteredTool::name);
        meant.or_else(|| nearest(name, names)).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests;
