//! What was meant: the second stage of the command line, after [`crate::args`].

use charla::settings::Override;
use charla::trust::TrustDemand;
use charla::{Begin, Failure, RunOptions};
use charla_proto::ApprovalMode;
use charla_proto::text::nearest;
use clap::{CommandFactory, Parser};
use serde_json::{Value, json};

use crate::args::{AskArgs, Command, Typed};

/// What a model tells the user who wants more allowed.
const HOW_TO_ALLOW: &str = "with --approval-mode auto_edit (edits) or --allowed-tools NAME";

/// What a run is to do.
#[derive(Debug)]
pub enum Intent {
    /// Print this text and succeed: help and version.
    Print(String),
    /// Ask a model.
    Ask(Box<Ask>),
    /// Look after sessions.
    Sessions(SessionWork),
    /// Anything else.
    Command(Command),
}

/// A question to a model, before standard input is added.
#[derive(Debug)]
pub struct Ask {
    /// The prompt of the command line.
    pub prompt: Option<String>,
    /// Settings given by flags.
    pub flags: Vec<Override>,
    /// The session to go on with.
    pub begin: Begin,
    /// What this run says about tools.
    pub options: RunOptions,
    /// What this run says about trust.
    pub trust: TrustDemand,
}

/// What is done with sessions instead of asking.
#[derive(Debug)]
pub enum SessionWork {
    /// List them.
    List,
    /// Delete one.
    Delete(String),
}

/// How every run tells what happens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diagnostics {
    /// Tell what happens inside.
    pub debug: bool,
    /// Never colour.
    pub no_color: bool,
}

/// Finds out what was meant.
pub fn understand(
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<(Intent, Diagnostics), Failure> {
    let arguments: Vec<std::ffi::OsString> = arguments.into_iter().collect();
    // Asked often, by scripts: answered without building the parser.
    if let [_, only] = arguments.as_slice()
        && (only == "--version" || only == "-V")
    {
        let version = format!("charla {}\n", env!("CARGO_PKG_VERSION"));
        return Ok((Intent::Print(version), Diagnostics::default()));
    }
    let typed = match Typed::try_parse_from(arguments) {
        Ok(typed) => typed,
        Err(error) if !error.use_stderr() => {
            return Ok((Intent::Print(error.to_string()), Diagnostics::default()));
        }
        Err(error) => return Err(refusal(&error)),
    };
    let diagnostics = Diagnostics { debug: typed.debug, no_color: typed.no_color };
    let intent = match typed.command {
        Some(command) => Intent::Command(command),
        None if typed.ask.list_sessions => Intent::Sessions(SessionWork::List),
        None => match typed.ask.delete_session.clone() {
            Some(which) => Intent::Sessions(SessionWork::Delete(which)),
            None => Intent::Ask(Box::new(ask(typed.ask)?)),
        },
    };
    Ok((intent, diagnostics))
}

fn ask(args: AskArgs) -> Result<Ask, Failure> {
    if let [word] = args.words.as_slice() {
        refuse_misspelt_command(word)?;
    }
    let words = (!args.words.is_empty()).then(|| args.words.join(" "));
    let flags = flags(&args);
    let begin = match (args.resume, args.fork) {
        (Some(which), _) => Begin::Resume(which),
        (None, Some(session)) => Begin::Fork { session, at: args.at },
        (None, None) => Begin::New,
    };
    let options = RunOptions {
        allowed_tools: args.allowed_tools,
        rule_files: args.policy,
        directories: args.include_directories,
        no_tools: args.no_tools,
        output_schema: args.output_schema,
        how_to_allow: Some(HOW_TO_ALLOW.to_owned()),
    };
    let trust = TrustDemand { exactly: args.trust_workspace, required: args.require_trust };
    Ok(Ask { prompt: args.prompt.or(words), flags, begin, options, trust })
}

/// Settings given by flags.
fn flags(args: &AskArgs) -> Vec<Override> {
    let file = args.log_file.as_ref().map(|file| file.to_string_lossy());
    let given: [(&'static [&'static str], Option<Value>, &'static str); 7] = [
        (&["model", "name"], args.model.as_ref().map(|model| json!(model)), "--model"),
        (&["output", "format"], args.output_format.map(|format| json!(format.name())), "--output-format"),
        (&["output", "thoughts"], args.thoughts.then(|| json!(true)), "--thoughts"),
        (&["logging", "file"], file.map(|file| json!(file)), "--log-file"),
        (
            &["tools", "approvalMode"],
            args.approval_mode.map(|mode| json!(ApprovalMode::from(mode))),
            "--approval-mode",
        ),
        (&["model", "toolMode"], args.tool_mode.map(|mode| json!(mode.name())), "--tool-mode"),
        (&["limits", "maxTurns"], args.max_turns.map(|most| json!(most)), "--max-turns"),
    ];
    given
        .into_iter()
        .filter_map(|(key, value, source)| Some(Override { key, value: value?, source }))
        .collect()
}

/// A mistyped command must not be sent to a model and paid for.
fn refuse_misspelt_command(word: &str) -> Result<(), Failure> {
    let command = Typed::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    match nearest(word, names) {
        Some(meant) if word.len() > 2 => Err(Failure::input(format!("there is no command `{word}`"))
            .with_hint(format!("did you mean `charla {meant}`? To ask a model: charla -p {word}"))),
        _ => Ok(()),
    }
}

/// The parser's own words, in the form of our failures.
fn refusal(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or("the arguments cannot be used");
    let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
    let details = lines.take_while(|line| !line.starts_with("Usage:"));
    let details: Vec<&str> = details.filter(|line| !line.starts_with("For more information")).collect();
    let mut hint = details.join("\n").replace("tip: ", "");
    if !hint.is_empty() {
        hint.push('\n');
    }
    hint.push_str("`charla --help` shows what can be given");
    Failure::input(message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(arguments: &[&str]) -> Result<Intent, Failure> {
        let arguments = std::iter::once("charla").chain(arguments.iter().copied());
        understand(arguments.map(Into::into)).map(|(intent, _)| intent)
    }

    fn words(failure: &Failure) -> String {
        failure.hint.as_ref().and_then(crate::wording::hint).unwrap()
    }

    fn prompt(arguments: &[&str]) -> Option<String> {
        match understood(arguments) {
            Ok(Intent::Ask(ask)) => ask.prompt,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_prompt_comes_with_or_without_its_flag() {
        assert_eq!(prompt(&["-p", "-v means verbose"]).as_deref(), Some("-v means verbose"));
        assert_eq!(prompt(&["why", "me"]).as_deref(), Some("why me"));
        assert_eq!(prompt(&["--", "--odd"]).as_deref(), Some("--odd"));
        assert_eq!(prompt(&[]), None);
        assert_eq!(prompt(&["-p", ""]).as_deref(), Some(""));
    }

    #[test]
    fn bad_arguments_exit_with_the_input_code_and_a_hint() {
        for arguments in
            [&["--modle", "x"][..], &["-o", "xml", "-p", "x"], &["-p", "a", "b"], &["models", "x"]]
        {
            let failure = understood(arguments).unwrap_err();
            assert_eq!(failure.kind, charla::FailureKind::Input, "{arguments:?}");
            assert!(words(&failure).contains("charla --help"));
        }
    }

    #[test]
    fn a_misspelt_command_is_not_sent_to_a_model() {
        let failure = understood(&["model"]).unwrap_err();
        assert_eq!(failure.message, "there is no command `model`");
        assert!(words(&failure).starts_with("did you mean `charla models`?"));
        assert_eq!(prompt(&["hello"]).as_deref(), Some("hello"));
        assert_eq!(prompt(&["-p", "model"]).as_deref(), Some("model"));
    }

    #[test]
    fn the_parser_holds_no_contradictions() {
        Typed::command().debug_assert();
    }
}
