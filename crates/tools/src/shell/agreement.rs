//! The second reading: tree-sitter's grammar has to see the same commands.

use std::ops::Range;

use tree_sitter::{Node, Parser};

use super::syntax::{Read, Trouble};

/// Fails unless the grammar reads `text` without an error and finds commands exactly at `commands`. What lies
/// in `reread` was read as a text of its own.
pub(super) fn check(text: &str, commands: &[usize], reread: &[Range<usize>]) -> Read<()> {
    let trouble =
        |reason: &str| Err(Trouble { what: text.chars().take(80).collect(), reason: reason.to_owned() });
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return trouble("the shell grammar could not be loaded");
    }
    let Some(tree) = parser.parse(text, None) else {
        return trouble("the shell grammar could not read this");
    };
    let root = tree.root_node();
    if root.has_error() {
        return trouble("this is not valid shell");
    }
    let mut seen = starts(root, text);
    seen.retain(|start| !reread.iter().any(|range| range.contains(start)));
    seen.sort_unstable();
    seen.dedup();
    let mut read = commands.to_vec();
    read.retain(|start| !reread.iter().any(|range| range.contains(start)));
    read.sort_unstable();
    read.dedup();
    if seen == read { Ok(()) } else { trouble("this can be read in more than one way") }
}

/// Where the grammar sees simple commands start.
fn starts(root: Node<'_>, text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut waiting = vec![root];
    while let Some(node) = waiting.pop() {
        match node.kind() {
            "command" => starts.extend(command_start(node, text)),
            "declaration_command" | "unset_command" | "test_command" => starts.push(node.start_byte()),
            _ => {}
        }
        let mut cursor = node.walk();
        waiting.extend(node.children(&mut cursor));
    }
    starts
}

/// The place of the command's name. The grammar takes the reserved words `time` and `coproc` for one.
fn command_start(node: Node<'_>, text: &str) -> Option<usize> {
    let mut cursor = node.walk();
    let mut parts = node
        .children(&mut cursor)
        .skip_while(|child| child.kind() != "command_name")
        .map(|child| (child.start_byte(), text.get(child.byte_range()).unwrap_or_default()));
    let (start, name) = parts.next()?;
    if !matches!(name, "time" | "coproc") {
        return Some(start);
    }
    parts.find(|(_, word)| *word != "-p").map(|(start, _)| start)
}
