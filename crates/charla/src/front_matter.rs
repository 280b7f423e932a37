//! The front matter of Markdown files: the lines between two `---` at the top, in as much of YAML as skills and agents are
//! written in.
//!
//! Texts (plain, quoted, in blocks), lists and one level of fields below a field. What is more than that is passed over: a
//! file of somebody else's must not stop anything.

use std::collections::BTreeMap;

/// The fields of a front matter, those below another as `outer.inner`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    fields: BTreeMap<String, Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Field {
    Text(String),
    List(Vec<String>),
}

impl FrontMatter {
    /// Takes a Markdown text apart into its front matter and its body; nothing where it has no front matter.
    pub(crate) fn split(text: &str) -> Option<(Self, &str)> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (first, mut rest) = text.split_once('\n')?;
        if first.trim_end() != "---" {
            return None;
        }
        let mut lines = Vec::new();
        loop {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            if line.trim_end() == "---" {
                return Some((Self::of(&lines), after));
            }
            if rest.is_empty() {
                return None;
            }
            lines.push(line.trim_end());
            rest = after;
        }
    }

    fn of(lines: &[&str]) -> Self {
        let mut fields = BTreeMap::new();
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            at += 1;
            let Some((key, value)) = field(line).filter(|_| indent(line) == 0) else { continue };
            let below = lines[at..].iter().take_while(|line| line.is_empty() || is_below(line)).count();
            let (block, next) = (&lines[at..at + below], at + below);
            at = next;
            match value {
                "" => below_field(key, block, &mut fields),
                value if value.starts_with(['|', '>']) => {
                    fields.insert(key.to_owned(), Field::Text(block_text(value, block)));
                }
                value => drop(fields.insert(key.to_owned(), inline(value, block))),
            }
        }
        Self { fields }
    }

    /// A field's text, without blanks around it; nothing where it has none.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match self.fields.get(key)? {
            Field::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Field::List(_) => None,
        }
    }

    /// A field's list; a text is a list of what its commas part.
    pub(crate) fn list(&self, key: &str) -> Option<Vec<String>> {
        Some(match self.fields.get(key)? {
            Field::List(list) => list.clone(),
            Field::Text(text) => parts(text),
        })
    }

    /// The number of the first of these fields that has one.
    pub(crate) fn number(&self, keys: &[&str]) -> Option<u64> {
        keys.iter().find_map(|key| self.text(key)?.parse().ok())
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A list may stand at the same depth as its field.
fn is_below(line: &str) -> bool {
    indent(line) > 0 || line.starts_with("- ") || line == "-"
}

fn field(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim_start().split_once(':')?;
    let key = bare(key.trim_end());
    let is_key = !key.is_empty() && !key.starts_with(['#', '-']) && !key.contains(char::is_whitespace);
    let is_value = value.is_empty() || value.starts_with([' ', '\t', '[', '{', '"', '\'']);
    (is_key && is_value).then(|| (key, value.trim()))
}

/// A key without its quotes.
fn bare(key: &str) -> &str {
    let between = |quote: char| key.strip_prefix(quote)?.strip_suffix(quote);
    between('"').or_else(|| between('\'')).unwrap_or(key)
}

/// What stands below a field without a value of its own: a list, or fields.
fn below_field(key: &str, block: &[&str], fields: &mut BTreeMap<String, Field>) {
    let items = block.iter().filter_map(|line| line.trim_start().strip_prefix('-'));
    let items: Vec<String> = items.map(|item| unquoted(item.trim())).collect();
    let has_items = !items.is_empty();
    // Nothing below it is a list of nothing: a field that is there is not left out.
    fields.insert(key.to_owned(), Field::List(items));
    if has_items {
        return;
    }
    let depth = block.iter().find(|line| !line.is_empty()).map_or(0, |line| indent(line));
    for line in block.iter().filter(|line| indent(line) == depth) {
        if let Some((inner, value)) = field(line).filter(|(_, value)| !value.is_empty()) {
            fields.insert(format!("{key}.{inner}"), inline(value, &[]));
        }
    }
}

/// A value on its field's line, and further lines of it.
fn inline(value: &str, more: &[&str]) -> Field {
    let lines = more.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let joined = |first: String| lines.fold(first, |text, line| format!("{text} {line}"));
    if !value.starts_with('[') {
        return Field::Text(joined(unquoted(value)));
    }
    let text = joined(value.to_owned());
    match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(inner) => Field::List(parts(inner)),
        None => Field::Text(text),
    }
}

/// A text in a block, line by line (`|`) or as one paragraph (`>`).
fn block_text(mark: &str, block: &[&str]) -> String {
    let depth = block.iter().filter(|line| !line.is_empty()).map(|line| indent(line)).min().unwrap_or(0);
    let lines = block.iter().map(|line| line.get(depth..).unwrap_or_default());
    lines.collect::<Vec<_>>().join(if mark.starts_with('|') { "\n" } else { " " })
}

fn parts(text: &str) -> Vec<String> {
    let parts = text.split(',').map(|part| unquoted(part.trim()));
    parts.filter(|part| !part.is_empty()).collect()
}

fn unquoted(value: &str) -> String {
    let double = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    let single = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    match (double, single) {
        (Some(text), _) => text.replace("\\\"", "\"").replace("\\n", "\n").replace("\\\\", "\\"),
        (None, Some(text)) => text.replace("''", "'"),
        (None, None) => value.split(" #").next().unwrap_or(value).trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_the_field_writes_them() {
        let text = "---\r\nname: pdf-tools   # a name\ndescription: >-\n  Reads PDF files:\n  also forms.\n# no field\n\
            tools: [read_file, 'grep_search']\nmore:\n- a\n- \"b\"\nlimits:\n  max_turns: 5\n  timeout: 2\nother: one,two\n\
            plain: first\n  second\n---\nThe body.\n---\nMore.\n";
        let (fields, body) = FrontMatter::split(text).unwrap();
        assert_eq!(body, "The body.\n---\nMore.\n");
        assert_eq!(fields.text("name"), Some("pdf-tools"));
        assert_eq!(fields.text("description"), Some("Reads PDF files: also forms."));
        assert_eq!(fields.list("tools").unwrap(), ["read_file", "grep_search"]);
        assert_eq!(fields.list("more").unwrap(), ["a", "b"]);
        assert_eq!(fields.list("other").unwrap(), ["one", "two"]);
        assert_eq!(fields.text("plain"), Some("first second"));
        assert_eq!(fields.number(&["max_turns", "limits.max_turns"]), Some(5));
    }

    #[test]
    fn what_is_no_front_matter_has_none_and_nothing_stops_the_reading() {
        for text in ["", "---", "---\nname: x\n", "# Title\n---\nname: x\n---\n", "\n---\nname: x\n---\n"] {
            assert_eq!(FrontMatter::split(text), None, "{text:?}");
        }
        for text in [
            "---\n---\n",
            "---\n: :\n- - -\n\t:\n\"\n[\n---\nx",
            "---\nname:\n  - \n---\n",
            "---\nä: [\n---\n",
        ] {
            let (fields, _) = FrontMatter::split(text).unwrap();
            assert_eq!(fields.text("name"), None, "{text:?}");
        }
    }
}
