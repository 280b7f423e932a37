//! Agents: Markdown files that say how a session works for another one: its prompt, its tools, its model, its limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use charla_proto::text::one_line;

use crate::bounded;
use crate::collection::{Collection, Item, LONGEST_NAME, Owner, is_name};
use crate::front_matter::FrontMatter;
use crate::trust::WorkspaceContent;

/// So often an agent asks its model, and so long it works, where its file does not say.
const STEPS: u32 = 50;
const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Names that files written for another program have for models of that program.
const MODELS_OF_OTHERS: [&str; 4] = ["inherit", "sonnet", "opus", "haiku"];

/// Names that files written for another program have for tools that are here, too.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("Bash", "run_shell_command"),
    ("Edit", "replace"),
    ("Glob", "glob"),
    ("Grep", "grep_search"),
    ("LS", "list_directory"),
    ("MultiEdit", "replace"),
    ("Read", "read_file"),
    ("Skill", "activate_skill"),
    ("TodoWrite", "write_todos"),
    ("WebFetch", "web_fetch"),
    ("WebSearch", "google_web_search"),
    ("Write", "write_file"),
];

/// An agent that can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// What it is called by.
    pub name: String,
    /// What it is for, in one line.
    pub description: String,
    /// Whose it is.
    pub owner: Owner,
    /// The only tools it has, as far as its caller has them; all of those when left out.
    pub tools: Option<Vec<String>>,
    /// The model that answers; its caller's when left out.
    pub model: Option<String>,
    /// How often the model is asked at most.
    pub steps: u32,
    /// How long it may work.
    pub timeout: Duration,
    /// What stands in place of the built-in rules.
    pub prompt: String,
}

/// The agents that can be called in a workspace, by name.
pub type Agents = Collection<Agent>;

impl Item for Agent {
    const WORD: &'static str = "agent";
    const FOLDER: &'static str = "agents";
    const OF_OTHERS: &'static [&'static str] = &[".claude"];
    const MOST: usize = 200;

    fn name(&self) -> &str {
        &self.name
    }

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn in_workspace(content: &WorkspaceContent) -> impl Iterator<Item = (PathBuf, &[u8])> {
        content.agents()
    }

    fn of_workspace(_file: &Path, bytes: &[u8]) -> Result<Self, String> {
        Self::of(bytes, Owner::Workspace)
    }

    fn files_in(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "md") && file.is_file());
        files.sort();
        files
    }

    /// What an extension brings lies in its own folder.
    fn read(file: &Path, folder: &Path, owner: &Owner) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let real = file.canonicalize().map_err(failed)?;
        if *owner != Owner::User && !real.starts_with(folder.canonicalize().map_err(failed)?) {
            return Err("it is a link out of its folder".to_owned());
        }
        Self::of(&bounded::read(&real).map_err(failed)?, owner.clone())
    }
}

impl Agent {
    /// An agent by its file's content, or why it is none.
    fn of(bytes: &[u8], owner: Owner) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no text")?;
        let (fields, body) =
            FrontMatter::split(text).ok_or("it has no front matter between two lines `---`")?;
        let name = fields.text("name").ok_or("its front matter has no `name`")?;
        if !is_name(name) {
            let name = one_line(name);
            return Err(format!("`{name}` is no name: {LONGEST_NAME} letters, digits, `-` and `_` at most"));
        }
        let description = fields.text("description").ok_or("its front matter has no `description`")?;
        let prompt = body.trim();
        if prompt.is_empty() {
            return Err(
                "it says nothing: what stands below the front matter is the agent's prompt".to_owned()
            );
        }
        let tools = fields.list("tools").map(|tools| tools.iter().map(|tool| own_name(tool)).collect());
        let tools: Option<Vec<String>> = tools.transpose()?;
        let model = fields.text("model").filter(|model| !MODELS_OF_OTHERS.contains(model));
        let steps = fields.number(&["max_turns", "maxTurns", "limits.max_turns"]);
        let steps = steps.and_then(|steps| u32::try_from(steps).ok()).filter(|steps| *steps > 0);
        let minutes =
            fields.number(&["timeout_mins", "limits.timeout_mins"]).map(|minutes| minutes.saturating_mul(60));
        let seconds = fields.number(&["timeout", "limits.timeout"]).or(minutes);
        Ok(Self {
            name: name.to_owned(),
            description: one_line(description),
            owner,
            tools: tools.filter(|tools| !tools.iter().any(|tool| tool == "*")),
            model: model.map(str::to_owned),
            steps: steps.unwrap_or(STEPS),
            timeout: seconds.map_or(TIMEOUT, Duration::from_secs),
            prompt: prompt.to_owned(),
        })
    }

    /// True for a tool that it has, where its caller has it.
    pub(crate) fn has(&self, tool: &str) -> bool {
        let fits = |named: &String| match named.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => tool == named,
        };
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(fits))
    }
}

/// A tool's name here. An agent has a tool or has it not: `Bash(git log:*)`, which means some calls of one, is none.
fn own_name(tool: &str) -> Result<String, String> {
    let whole = ["()", "(*)", "(:*)"].iter().find_map(|whole| tool.strip_suffix(whole));
    let name = whole.unwrap_or(tool).trim();
    if name.contains(['(', ')']) {
        return Err(format!(
            "its tool `{}` means some calls of a tool, which cannot be held to here: name the whole tool, and say in \
             your rules which calls run",
            one_line(tool)
        ));
    }
    let ours = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, ours)| *ours);
    Ok(ours.unwrap_or(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str) -> Result<Agent, String> {
        Agent::of(text.as_bytes(), Owner::User)
    }

    #[test]
    fn files_of_several_programs_are_understood() {
        let ours = agent(
            "---\nname: tester\ndescription: Runs tests\ntools: [read_file, mcp_*]\nmodel: openai/gpt-x\nmax_turns: 7\n\
             timeout: 90\n---\nRun them.\n",
        )
        .unwrap();
        assert_eq!((ours.steps, ours.timeout), (7, Duration::from_secs(90)));
        assert_eq!((ours.model.as_deref(), ours.prompt.as_str()), (Some("openai/gpt-x"), "Run them."));
        assert!(ours.has("read_file") && ours.has("mcp_s_echo") && !ours.has("write_file"));
        let theirs = agent(
            "---\nname: reviewer\ndescription: Reviews\ntools: Read, Bash(*)\nmodel: sonnet\n---\nLook.\n",
        )
        .unwrap();
        assert_eq!(theirs.model, None);
        assert!(theirs.has("read_file") && theirs.has("run_shell_command") && !theirs.has("replace"));
        let all = agent("---\nname: a\ndescription: b\ntools: ['*']\ntimeout_mins: 2\n---\nx").unwrap();
        assert!(all.has("anything"));
        assert_eq!((all.steps, all.timeout), (STEPS, Duration::from_secs(120)));
    }

    #[test]
    fn an_agent_never_has_more_tools_than_its_file_says() {
        let with = |tools: &str| agent(&format!("---\nname: a\n{tools}\ndescription: b\n---\nx"));
        for tools in [
            "tools: [read_file]",
            "tools : [read_file]",
            "tools:[read_file]",
            "\"tools\": [read_file]",
            "'tools' : read_file",
            "tools: [glob,\n  read_file]",
        ] {
            let agent = with(tools).unwrap();
            assert!(agent.has("read_file") && !agent.has("run_shell_command"), "{tools}: {:?}", agent.tools);
        }
        for tools in
            ["tools:", "tools: []", "tools: \"\"", "tools: {a: b}", "tools: null", "tools:\n  bash: false"]
        {
            let agent = with(tools).unwrap();
            assert!(!agent.has("read_file") && !agent.has("run_shell_command"), "{tools}: {:?}", agent.tools);
        }
    }

    #[test]
    fn what_is_no_agent_is_refused_with_a_reason() {
        for (text, why) in [
            ("x", "no front matter"),
            ("---\ndescription: b\n---\nx", "no `name`"),
            ("---\nname: ../x\ndescription: b\n---\nx", "is no name"),
            ("---\nname: a\n---\nx", "no `description`"),
            ("---\nname: a\ndescription: b\n---\n \n", "says nothing"),
            ("---\nname: a\ndescription: b\ntools: Read, Bash(git log:*)\n---\nx", "some calls of a tool"),
            (
                "---\nname: a\ndescription: b\ntools:\n- Bash(git add:*, git log)\n---\nx",
                "some calls of a tool",
            ),
        ] {
            let told = agent(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
        assert!(Agent::of(b"\xff\xfe", Owner::User).is_err());
    }
}
