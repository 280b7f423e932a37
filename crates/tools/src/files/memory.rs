//! `save_memory`.

use std::path::PathBuf;
use std::sync::Arc;

use charla_proto::text::printable;
use charla_proto::{
    BoxFuture, Display, Effect, FileChange, Invocation, Part, Plan, Preview, RunContext, ToolContext,
    ToolError, ToolErrorKind, ToolOutput, content_hash,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::change::{self, Current, Workbench, encode, look, preview};
use crate::invocation::{change, check, write_plan};
use crate::paths::ResolvedPath;
use crate::text;
use crate::typed::{PreparedCall, TypedTool};

/// The section facts are kept in.
const HEADING: &str = "## Remembered";
/// A fact is a sentence or two.
const MOST_CHARS: usize = 2000;

/// Remembers a fact beyond the session, in a memory file.
pub struct SaveMemory {
    bench: Arc<Workbench>,
    file: PathBuf,
}

/// What `save_memory` takes.
#[derive(Deserialize, JsonSchema)]
pub struct SaveMemoryArgs {
    /// The fact, in one sentence that can be understood alone.
    #[schemars(length(min = 1))]
    fact: String,
}

impl SaveMemory {
    /// The tool, keeping facts in `file`, which is made when the first fact comes.
    pub fn new(bench: Arc<Workbench>, file: PathBuf) -> Self {
        Self { bench, file }
    }
}

impl TypedTool for SaveMemory {
    type Args = SaveMemoryArgs;
    const NAME: &'static str = "save_memory";
    const SCHEMA: &'static str = include_str!("../schemas/save_memory.json");
    const DESCRIPTION: &'static str = "Remembers a fact for all later sessions. Use it when the user asks for \
that, or states a lasting preference; not for what matters only now.";

    async fn prepare(&self, args: SaveMemoryArgs, cx: &ToolContext) -> PreparedCall {
        let fact = one_line(&args.fact)?;
        let (context, bench, file) = (cx.clone(), self.bench.clone(), self.file.clone());
        let saving = check(move || Saving::prepare(fact, file, &context, bench)).await?;
        Ok(Box::new(saving))
    }
}

struct Saving {
    plan: Plan,
    fact: String,
    place: ResolvedPath,
    bench: Arc<Workbench>,
}

impl Saving {
    fn prepare(
        fact: String,
        file: PathBuf,
        cx: &ToolContext,
        bench: Arc<Workbench>,
    ) -> Result<Self, ToolError> {
        let place = ResolvedPath::at(&file, cx)?;
        let preview = match place.is_denied(cx) {
            true => Preview::None,
            false => {
                let now = look(&place)?;
                let before = now.as_ref().map(|now| now.decoded.text.as_str());
                preview(&place, before, &with_fact(before.unwrap_or_default(), &fact))
            }
        };
        let effects = vec![Effect::Write { path: place.real.clone() }];
        let plan = write_plan(SaveMemory::NAME, format!("Remember: {fact}"), effects, preview);
        Ok(Self { plan, fact, place, bench })
    }

    /// The file as it is now, and what it would hold with the fact, as text and as bytes. Adding a line is right
    /// whatever else has changed meanwhile, so the file may have.
    fn compose(&self) -> Result<(Option<Current>, String, Vec<u8>), ToolError> {
        self.place.recheck()?;
        let now = look(&self.place)?;
        let before = now.as_ref().map_or("", |now| now.decoded.text.as_str());
        let after = with_fact(before, &self.fact);
        let encoding = now.as_ref().map(|now| now.decoded.encoding).unwrap_or_default();
        let bytes = encode(&after, encoding, &self.place.path)?;
        Ok((now, after, bytes))
    }

    fn save(&self) -> Result<ToolOutput, ToolError> {
        let (now, after, bytes) = self.compose()?;
        let before = now.as_ref().map(|now| now.decoded.text.as_str());
        let changed = self.bench.write(&self.place, now.as_ref().map(|now| now.bytes.as_slice()), &bytes)?;
        let name = printable(&self.place.path);
        let diff = change::diff(&self.place.path, before, &after);
        Ok(ToolOutput {
            content: vec![Part::text(format!("Remembered in {name}."))],
            display: Some(Display::Diff { path: self.place.real.clone(), diff }),
            changes: vec![changed],
            ..ToolOutput::default()
        })
    }
}

impl Invocation for Saving {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    /// By the file as it is just before: an earlier call of the step may have added to it.
    fn changes(&self) -> Vec<FileChange> {
        let Ok((now, _, bytes)) = self.compose() else { return Vec::new() };
        let before = now.map(|now| content_hash(&now.bytes));
        vec![FileChange { path: self.place.real.clone(), before, after: Some(content_hash(&bytes)) }]
    }

    fn run(self: Box<Self>, _: RunContext) -> BoxFuture<'static, ToolOutput> {
        Box::pin(change(move || self.save()))
    }
}

/// A fact is one item of a list: line breaks or a list mark in it would make several, or a heading.
fn one_line(fact: &str) -> Result<String, ToolError> {
    let words: Vec<&str> = fact.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let line = line.trim_start_matches(['-', '*', '#', ' ']).to_owned();
    match line.chars().count() {
        0 => Err(ToolError::new(ToolErrorKind::InvalidArgs, "The fact is empty.")),
        count if count > MOST_CHARS => {
            let message =
                format!("The fact has {count} characters; at most {MOST_CHARS} are kept. Shorten it.");
            Err(ToolError::new(ToolErrorKind::InvalidArgs, message))
        }
        _ => Ok(line),
    }
}

/// The memory with a fact at the end of its section, which is made at the end of the file.
fn with_fact(memory: &str, fact: &str) -> String {
    let end = text::line_end(memory).unwrap_or("\n");
    let item = format!("- {fact}");
    let mut lines: Vec<&str> = memory.lines().collect();
    let heading = lines.iter().position(|line| line.trim() == HEADING);
    match heading {
        Some(heading) => {
            let next = lines.iter().skip(heading + 1).position(|line| line.starts_with('#'));
            let mut at = next.map_or(lines.len(), |next| heading + 1 + next);
            while at > heading + 1 && lines.get(at - 1).is_some_and(|line| line.trim().is_empty()) {
                at -= 1;
            }
            lines.insert(at, &item);
        }
        None => {
            while lines.last().is_some_and(|line| line.trim().is_empty()) {
                lines.pop();
            }
            if !lines.is_empty() {
                lines.push("");
            }
            lines.extend([HEADING, "", &item]);
        }
    }
    let mut text = lines.join(end);
    text.push_str(end);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_go_to_their_section_and_the_rest_stays() {
        assert_eq!(with_fact("", "a"), "## Remembered\n\n- a\n");
        assert_eq!(with_fact("# Me\n", "a"), "# Me\n\n## Remembered\n\n- a\n");
        assert_eq!(with_fact("# Me\n\n## Remembered\n\n- a\n", "b"), "# Me\n\n## Remembered\n\n- a\n- b\n");
        let memory = "## Remembered\r\n- a\r\n\r\n## Other\r\nx\r\n";
        assert_eq!(with_fact(memory, "b"), "## Remembered\r\n- a\r\n- b\r\n\r\n## Other\r\nx\r\n");
    }

    #[test]
    fn a_fact_cannot_make_more_than_one_line() {
        assert_eq!(one_line("- likes\n## Rules\r\n tea\u{1b}[0m").unwrap(), "likes ## Rules tea [0m");
        assert!(one_line(" \n- ").is_err());
        assert!(one_line(&"x".repeat(3000)).is_err());
    }
}
