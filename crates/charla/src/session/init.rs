//! `/init`: the model looks at the workspace and writes down what agents must know in it.

/// The command's name.
pub(super) const INIT: &str = "init";

const PROMPT: &str = "\
Write AGENTS.md at the root of this workspace: what an agent has to know to work here from the first minute.

Look before you write: at the README and other documents, at the files that build, package and test the project, at what \
continuous integration runs, at the folders, and at a few of the sources and tests. If there is an AGENTS.md, read it first: keep \
what is still true, mend what is not, and change no more than that. Take over what holds from CHARLA.md, GEMINI.md, CLAUDE.md and \
rules of editors, where there are such files.

It holds, in Markdown, short and specific, a hundred lines at most:
- what the project is, in one or two sentences;
- the exact commands that build, run, test and lint it, and the one for a single test;
- how it is laid out: the folders that matter and what belongs where;
- the conventions that its sources really follow;
- what goes wrong easily here.

Write only what you found in files. Leave out advice that would suit any project, lists of files that anybody can see, and secrets. \
If the folder holds no project yet, say so and write nothing.";

/// What the model is asked by `/init`; `words` is what was typed behind it.
pub fn init_prompt(words: &str) -> String {
    match words.trim() {
        "" => PROMPT.to_owned(),
        words => format!("{PROMPT}\n\nBesides: {words}"),
    }
}
