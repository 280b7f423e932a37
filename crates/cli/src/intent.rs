//! What was meant: the second stage of the command line, after [`crate::args`].

use std::ffi::OsString;
use std::path::PathBuf;

use charla::settings::Override;
use charla::trust::TrustDemand;
use charla::{Begin, Failure, FailureKind, RunOptions, Wall};
use charla_proto::ApprovalMode;
use charla_proto::text::{nearest, one_line};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use serde_json::{Value, json};

use crate::args::{
    AskArgs, Command, Everywhere, ExtensionsCommand, GeminiArgs, Leading, PromptRun, Thinking, Typed, Work,
};
use crate::input;

/// What a model tells the user who wants more allowed.
pub const HOW_TO_ALLOW: &str = "with --approval-mode auto_edit (edits) or --allowed-tools NAME";

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
    Command(Box<Command>),
}

/// A question to a model, before standard input is added.
#[derive(Debug)]
pub struct Ask {
    /// The prompt of the command line.
    pub prompt: Option<String>,
    /// Files that go with it.
    pub attached: Vec<PathBuf>,
    /// Settings given by flags.
    pub flags: Vec<Override>,
    /// The session to go on with.
    pub begin: Begin,
    /// What this run says about tools.
    pub options: RunOptions,
    /// What this run says about trust.
    pub trust: TrustDemand,
    /// A conversation is wanted that begins with this.
    pub opening: Option<String>,
}

/// What is done with sessions instead of asking.
#[derive(Debug)]
pub enum SessionWork {
    /// List them.
    List,
    /// Delete one.
    Delete(String),
}

/// What holds for every run, whatever it does.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// The folder to work in, where it is another.
    pub directory: Option<PathBuf>,
    /// Tell what happens inside.
    pub debug: bool,
    /// Never colour.
    pub no_color: bool,
}

/// Finds out what was meant.
pub fn understand(arguments: impl IntoIterator<Item = OsString>) -> Result<(Intent, Diagnostics), Failure> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Asked often, by scripts: answered without building the parser.
    if let [_, only] = arguments.as_slice()
        && ["--version", "-V", "-v"].iter().any(|version| only == version)
    {
        let version = format!("charla {}\n", env!("CARGO_PKG_VERSION"));
        return Ok((Intent::Print(version), Diagnostics::default()));
    }
    if let Some(help) = help_wanted(&arguments) {
        return Ok((Intent::Print(help), Diagnostics::default()));
    }
    let typed = match typed(arguments) {
        Ok(typed) => typed,
        // A group of commands without one of them: these are they.
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return Ok((Intent::Print(error.to_string()), Diagnostics::default()));
        }
        Err(error) if !error.use_stderr() => {
            return Ok((Intent::Print(error.to_string()), Diagnostics::default()));
        }
        Err(error) => return Err(refusal(&error)),
    };
    let Everywhere { debug, directory, no_color } = typed.everywhere;
    let diagnostics = Diagnostics { directory, debug, no_color };
    let intent = match typed.command {
        Some(command) => Intent::Command(Box::new(command)),
        None if typed.ask.list_extensions => {
            let command = ExtensionsCommand::List { json: false };
            Intent::Command(Box::new(Command::Work(Work::Extensions { command })))
        }
        None if typed.ask.gemini.acp => {
            let flags = flags(&typed.ask);
            Intent::Command(Box::new(Command::Work(Work::Acp { model: None, flags })))
        }
        None if typed.ask.list_sessions => Intent::Sessions(SessionWork::List),
        None => match typed.ask.delete_session.clone() {
            Some(which) => Intent::Sessions(SessionWork::Delete(which)),
            None => Intent::Ask(Box::new(ask(typed.ask)?)),
        },
    };
    Ok((intent, diagnostics))
}

/// What the words on the command line are. A prompt given by its flag, and no other word that could name a command,
/// is read without building the parsers of the commands; so scripts call it.
fn typed(arguments: Vec<OsString>) -> Result<Typed, clap::Error> {
    if arguments.iter().any(|argument| argument == "-p" || argument == "--prompt")
        && let Ok(PromptRun { ask, everywhere }) = PromptRun::try_parse_from(&arguments)
        && ask.words.is_empty()
    {
        return Ok(Typed { ask, command: None, everywhere });
    }
    let Some((Leading { everywhere }, at)) = before_command(&arguments) else {
        return Typed::try_parse_from(arguments);
    };
    let mut typed = Typed::try_parse_from(arguments.iter().take(1).chain(arguments.iter().skip(at)))?;
    let later = typed.everywhere;
    typed.everywhere = Everywhere {
        debug: everywhere.debug || later.debug,
        directory: later.directory.or(everywhere.directory),
        no_color: everywhere.no_color || later.no_color,
    };
    Ok(typed)
}

/// What stands before a command and goes with anything, and where the command is, if that is how the arguments begin.
fn before_command(arguments: &[OsString]) -> Option<(Leading, usize)> {
    if !arguments.get(1)?.as_encoded_bytes().starts_with(b"-") {
        return None;
    }
    let is_command = |word: &OsString| word.to_str().is_some_and(Command::has_subcommand);
    let mut commands = arguments.iter().enumerate().filter(|(_, word)| is_command(word));
    commands.find_map(|(at, _)| Some((Leading::try_parse_from(arguments.iter().take(at)).ok()?, at)))
}

fn ask(args: AskArgs) -> Result<Ask, Failure> {
    refuse_misspelt_command(&args.words)?;
    refuse_two_prompts(&args, input::is_terminal)?;
    let words = (!args.words.is_empty()).then(|| args.words.join(" "));
    refuse_alone(&args, words.as_deref())?;
    refuse_unconfined(args.gemini.sandbox, Wall::look)?;
    let flags = flags(&args);
    let added_prompt = args.manner.append_system_prompt.filter(|text| !text.starts_with('@'));
    let begin = match (args.resume, args.fork) {
        (Some(which), _) => Begin::Resume(which),
        (None, Some(session)) => Begin::Fork { session, at: args.at },
        (None, None) => Begin::New,
    };
    let options = RunOptions {
        allowed_tools: args.allowed_tools,
        rule_files: args.policy,
        directories: args.include_directories,
        excluded_tools: args.exclude_tools,
        added_prompt,
        no_tools: args.no_tools,
        output_schema: args.output_schema,
        how_to_allow: Some(HOW_TO_ALLOW.to_owned()),
        editor: None,
    };
    let trust = TrustDemand { exactly: args.trust_workspace, required: args.require_trust };
    let (prompt, opening) = (args.prompt.or(words), args.prompt_interactive);
    Ok(Ask { prompt, attached: args.attach, flags, begin, options, trust, opening })
}

/// One prompt begins a conversation. Where something is piped there is none, whatever it would begin with.
fn refuse_two_prompts(args: &AskArgs, somebody_types: impl FnOnce() -> bool) -> Result<(), Failure> {
    let are_two = args.prompt_interactive.is_some() && !args.words.is_empty();
    if !are_two || !somebody_types() {
        return Ok(());
    }
    Err(Failure::input("a conversation begins with the text of -i or with other words, not with both")
        .with_hint("put all of it behind -i, in quotes"))
}

/// Whoever wants a sandbox does not want to go without one.
fn refuse_unconfined(is_wanted: bool, look: impl FnOnce() -> Wall) -> Result<(), Failure> {
    let holds = |wall: Wall| wall.reading && wall.editing;
    if !is_wanted || holds(look()) {
        return Ok(());
    }
    let message = "commands cannot be confined on this machine, and --sandbox wants it";
    Err(Failure::new(FailureKind::Sandbox, message).with_hint("`charla doctor` says what is missing"))
}

/// A new session has nothing to compress or bring back.
fn refuse_alone(args: &AskArgs, words: Option<&str>) -> Result<(), Failure> {
    let prompt = args.prompt.as_deref().or(words).map(str::trim);
    let is_new = args.resume.is_none() && args.fork.is_none();
    match prompt {
        Some(command @ ("/compress" | "/uncompress")) if is_new => {
            Err(Failure::input(format!("`{command}` needs a conversation, and this one is new"))
                .with_hint(format!("charla --resume -p {command}")))
        }
        _ => Ok(()),
    }
}

/// The help that `charla help`, or `charla help COMMAND`, asks for. More words than commands are a prompt.
fn help_wanted(arguments: &[OsString]) -> Option<String> {
    let [_, help, names @ ..] = arguments else { return None };
    if help != "help" {
        return None;
    }
    let mut command = Typed::command();
    command.build();
    for name in names {
        command = command.find_subcommand(name.to_str()?)?.clone();
    }
    Some(command.render_long_help().to_string())
}

/// A setting's key, its value where the flag is given, and the flag.
type GivenFlag = (&'static [&'static str], Option<Value>, &'static str);

/// Settings given by flags.
fn flags(args: &AskArgs) -> Vec<Override> {
    let text = |path: &Option<PathBuf>| path.as_ref().map(|path| json!(path.to_string_lossy()));
    let manner = &args.manner;
    let (level, budget) = match manner.thinking {
        Some(Thinking::Level(level)) => (Some(json!(level)), None),
        Some(Thinking::Budget(budget)) => (None, Some(json!(budget))),
        None => (None, None),
    };
    let appended = manner.append_system_prompt.as_deref().and_then(|text| text.strip_prefix('@'));
    let given: [GivenFlag; 17] = [
        (&["model", "name"], args.model.as_ref().map(|model| json!(model)), "--model"),
        (&["model", "temperature"], manner.temperature.map(|number| json!(number)), "--temperature"),
        (&["model", "thinking", "level"], level, "--thinking"),
        (&["model", "thinking", "budget"], budget, "--thinking"),
        (&["output", "format"], args.output_format.map(|format| json!(format.name())), "--output-format"),
        (&["output", "thoughts"], args.thoughts.then(|| json!(true)), "--thoughts"),
        (&["terminal", "screenReader"], args.screen_reader.then(|| json!(true)), "--screen-reader"),
        (&["terminal", "setup"], args.no_setup.then(|| json!(false)), "--no-setup"),
        (&["logging", "file"], text(&args.log_file), "--log-file"),
        (
            &["tools", "approvalMode"],
            args.approval_mode.map(|mode| json!(ApprovalMode::from(mode))),
            "--approval-mode",
        ),
        (&["model", "toolMode"], args.tool_mode.map(|mode| json!(mode.name())), "--tool-mode"),
        (&["limits", "maxTurns"], args.max_turns.map(|most| json!(most)), "--max-turns"),
        (&["limits", "maxTokens"], manner.max_tokens.map(|most| json!(most)), "--max-tokens"),
        (&["limits", "maxCost"], manner.max_cost.map(|most| json!(most)), "--max-cost"),
        (
            &["extensions", "only"],
            (!args.extensions.is_empty()).then(|| json!(args.extensions)),
            "--extensions",
        ),
        (&["prompt", "replace"], text(&manner.system_prompt), "--system-prompt"),
        (&["prompt", "append"], appended.map(|file| json!(file)), "--append-system-prompt"),
    ];
    given
        .into_iter()
        .chain(gemini_flags(&args.gemini))
        .filter_map(|(key, value, source)| Some(Override { key, value: value?, source }))
        .collect()
}

/// Settings given by flags that people know from Gemini CLI.
fn gemini_flags(args: &GeminiArgs) -> [GivenFlag; 5] {
    let text = |path: &Option<PathBuf>| path.as_ref().map(|path| json!(path.to_string_lossy()));
    let servers = &args.allowed_mcp_server_names;
    let (strict, loose) = (text(&args.fake_responses), text(&args.fake_responses_non_strict));
    [
        (&["tools", "approvalMode"], args.yolo.then(|| json!(ApprovalMode::Yolo)), "--yolo"),
        (&["mcp", "allowed"], (!servers.is_empty()).then(|| json!(servers)), "--allowed-mcp-server-names"),
        (
            &["model", "responses", "anyOrder"],
            loose.as_ref().map(|_| json!(true)),
            "--fake-responses-non-strict",
        ),
        (&["model", "responses", "replay"], strict.or(loose), "--fake-responses"),
        (&["model", "responses", "record"], text(&args.record_responses), "--record-responses"),
    ]
}

/// A mistyped command must not be sent to a model and paid for. Words behind it make it a sentence, unless they begin with one
/// that the command knows.
fn refuse_misspelt_command(words: &[String]) -> Result<(), Failure> {
    let Some((word, rest)) = words.split_first().filter(|(word, _)| word.len() > 2) else { return Ok(()) };
    let command = Typed::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let Some(meant) = nearest(word, names) else { return Ok(()) };
    let knows =
        |next: &String| command.find_subcommand(meant).and_then(|of| of.find_subcommand(next)).is_some();
    if !rest.first().is_none_or(knows) {
        return Ok(());
    }
    let behind: String = rest.iter().map(|next| format!(" {next}")).collect();
    let quoted = if rest.is_empty() { word.clone() } else { format!("'{word}{behind}'") };
    let problem = match word == meant {
        true => format!("`{word}` is a command, and options of a prompt stand before it"),
        false => format!("there is no command `{word}`"),
    };
    Err(Failure::input(problem)
        .with_hint(format!("did you mean `charla {meant}{behind}`? To ask a model: charla -p {quoted}")))
}

/// The parser's own words, in the form of our failures.
fn refusal(error: &clap::Error) -> Failure {
    if let Some(failure) = unknown_mode(error) {
        return failure;
    }
    let text = on_its_lines(error);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let message = lines.next().unwrap_or("the arguments cannot be used");
    let mut message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
    let details = lines.by_ref().take_while(|line| !line.starts_with("Usage:"));
    let mut details: Vec<&str> = details.filter(|line| !line.starts_with("For more information")).collect();
    // What is missing belongs to the sentence that says so.
    if error.kind() == ErrorKind::MissingRequiredArgument {
        message = format!("{message} {}", details.join(", "));
        details.clear();
    }
    let mut hint = match meant_command(error) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => details.join("\n").replace("tip: ", ""),
    };
    if !hint.is_empty() {
        hint.push('\n');
    }
    hint.push_str(&format!("`{} --help` shows what can be given", command_of(&text)));
    Failure::input(message).with_hint(hint)
}

/// The command that the parser's words are about: what stands in their usage before anything to be given.
fn command_of(text: &str) -> String {
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage:")).unwrap_or("charla");
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    usage.split_whitespace().take_while(is_name).collect::<Vec<_>>().join(" ")
}

/// The command of a group that was meant; the parser names every one that is near.
fn meant_command(error: &clap::Error) -> Option<&str> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let Some(ContextValue::Strings(near)) = error.get(ContextKind::SuggestedSubcommand) else { return None };
    nearest(given, near.iter().map(String::as_str))
}

/// The parser's words with what was given on one line: a line break in it would make a line that looks like one of ours.
fn on_its_lines(error: &clap::Error) -> String {
    let given = error.context().flat_map(|(_, value)| match value {
        ContextValue::String(given) => vec![given.as_str()],
        ContextValue::Strings(given) => given.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    });
    given
        .filter(|given| given.contains('\n'))
        .fold(error.to_string(), |text, given| text.replace(given, &one_line(given)))
}

/// A mode that does not exist. The one that allows everything is never what somebody must have meant.
fn unknown_mode(error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidValue) else { return None };
    if !argument.starts_with("--approval-mode") || given.is_empty() {
        return None;
    }
    let meant = nearest(given, ["default", "auto_edit", "plan"]);
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    let hint = format!(
        "{meant}The modes are default (edits and commands ask), auto_edit (edits do not), plan (nothing is changed) and yolo (nothing asks)"
    );
    Some(Failure::input(format!("there is no approval mode `{given}`")).with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(arguments: &[&str]) -> Result<Intent, Failure> {
        let arguments = std::iter::once("charla").chain(arguments.iter().copied());
        understand(arguments.map(Into::into)).map(|(intent, _)| intent)
    }

    #[test]
    fn what_was_given_makes_no_line_of_its_own() {
        let forged = "x\nerror: all is lost";
        for arguments in [
            &["undo", forged][..],
            &["redo", forged],
            &["--max-turns", forged],
            &["policy", "explain", "--mode", forged, "ls"],
        ] {
            let failure = understood(arguments).unwrap_err();
            assert!(failure.message.contains("x\\nerror: all is lost"), "{arguments:?}: {}", failure.message);
            assert!(!words(&failure).contains("all is lost"), "{arguments:?}: {}", words(&failure));
        }
        let failure = understood(&["undo", "--x\nerror: all is lost"]).unwrap_err();
        assert!(!failure.message.contains('\n'), "{}", failure.message);
        assert!(!words(&failure).lines().any(|line| line.starts_with("error")), "{}", words(&failure));
    }

    fn words(failure: &Failure) -> String {
        failure.hint.as_ref().and_then(charla_terminal::wording::hint).unwrap()
    }

    #[test]
    fn who_wants_a_sandbox_gets_one_or_nothing() {
        let refused = refuse_unconfined(true, Wall::default).unwrap_err();
        assert_eq!(charla_terminal::exit::code(refused.kind), 44);
        let whole = || Wall { reading: true, editing: true, ..Wall::default() };
        assert!(refuse_unconfined(true, whole).is_ok() && refuse_unconfined(false, Wall::default).is_ok());
    }

    #[test]
    fn a_prompt_by_its_flag_is_read_as_with_all_commands() {
        for line in [
            "-p hello",
            "-p sessions",
            "--prompt hello --debug -C /tmp --no-color",
            "-m m/x -o json --max-turns 3 --allowed-tools a,b -p hello",
            "--resume -p hello",
            "--fork undo --at 2 -p hello",
            "-p hello sessions",
            "sessions -p hello",
            "-p hello --bogus",
            "-p",
        ] {
            let arguments: Vec<OsString> =
                std::iter::once("charla").chain(line.split(' ')).map(Into::into).collect();
            let all = Typed::try_parse_from(&arguments);
            let read = typed(arguments);
            assert_eq!(format!("{read:?}"), format!("{all:?}"), "{line}");
        }
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
        for (arguments, help) in [
            (&["--modle", "x"][..], "charla --help"),
            (&["-o", "xml", "-p", "x"], "charla --help"),
            (&["-p", "a", "b"], "charla --help"),
            (&["models", "x"], "charla models --help"),
        ] {
            let failure = understood(arguments).unwrap_err();
            assert_eq!(failure.kind, charla::FailureKind::Input, "{arguments:?}");
            assert!(words(&failure).contains(help), "{}", words(&failure));
        }
    }

    #[test]
    fn a_misspelt_command_is_not_sent_to_a_model() {
        let failure = understood(&["model"]).unwrap_err();
        assert_eq!(failure.message, "there is no command `model`");
        assert!(words(&failure).starts_with("did you mean `charla models`?"));
        let failure = understood(&["mpc", "list"]).unwrap_err();
        assert_eq!(failure.message, "there is no command `mpc`");
        assert!(words(&failure).starts_with("did you mean `charla mcp list`?"));
        assert_eq!(prompt(&["model", "trains", "are", "fun"]).as_deref(), Some("model trains are fun"));
        assert_eq!(prompt(&["hello"]).as_deref(), Some("hello"));
        assert_eq!(prompt(&["-p", "model"]).as_deref(), Some("model"));
    }

    #[test]
    fn what_goes_with_everything_may_stand_before_a_command() {
        let given = |arguments: &[&str]| {
            let all = std::iter::once("charla").chain(arguments.iter().copied()).map(OsString::from);
            understand(all).map(|(intent, given)| (matches!(intent, Intent::Command(_)), given))
        };
        for arguments in [
            &["-C", "there", "doctor"][..],
            &["-C", "there", "models"],
            &["-Cthere", "--no-color", "--debug", "sessions", "show", "2"],
            &["--directory=there", "mcp", "add", "x", "--", "program", "-C", "elsewhere"],
            &["-d", "doctor", "-C", "there"],
            &["-C", "elsewhere", "doctor", "-C", "there"],
        ] {
            let (is_command, given) = given(arguments).unwrap();
            assert!(is_command, "{arguments:?}");
            assert_eq!(given.directory.as_deref(), Some(std::path::Path::new("there")), "{arguments:?}");
        }
        assert!(given(&["-d", "--no-color", "doctor"]).unwrap().1.no_color);
        assert_eq!(given(&["-C", "doctor", "doctor"]).unwrap().1.directory, Some("doctor".into()));
        assert_eq!(prompt(&["-C", "there", "hello"]).as_deref(), Some("hello"));
        assert_eq!(prompt(&["-C", "there", "-p", "doctor"]).as_deref(), Some("doctor"));
        let failure = understood(&["-m", "a/b", "doctor"]).unwrap_err();
        assert!(failure.message.starts_with("`doctor` is a command"), "{}", failure.message);
    }

    #[test]
    fn help_is_printed_and_never_asked_of_a_model() {
        for arguments in
            [&["help"][..], &["help", "undo"], &["help", "policy", "explain"], &["auth"], &["policy"]]
        {
            let Ok(Intent::Print(text)) = understood(arguments) else { panic!("{arguments:?}") };
            assert!(text.contains("Usage: charla"), "{arguments:?}: {text}");
        }
        assert!(matches!(understood(&["settings"]), Ok(Intent::Print(text)) if text.contains("schema")));
        assert_eq!(prompt(&["help", "me", "with", "this"]).as_deref(), Some("help me with this"));
    }

    #[test]
    fn an_unknown_mode_never_suggests_the_one_that_allows_everything() {
        let failure = understood(&["--approval-mode", "auto-edit", "-p", "x"]).unwrap_err();
        assert_eq!(failure.message, "there is no approval mode `auto-edit`");
        assert!(words(&failure).starts_with("did you mean auto_edit?"), "{}", words(&failure));
        for given in ["foo", "yo", "yol", "yolo!"] {
            let failure = understood(&["--approval-mode", given, "-p", "x"]).unwrap_err();
            assert!(!words(&failure).contains("did you mean yolo"), "{}", words(&failure));
        }
    }

    #[test]
    fn thinking_is_a_level_or_a_budget() {
        let flag = |given: &str| match understood(&["--thinking", given, "-p", "x"]) {
            Ok(Intent::Ask(ask)) => {
                ask.flags.iter().map(|flag| (flag.key.join("."), flag.value.clone())).next()
            }
            _ => None,
        };
        assert_eq!(flag("high"), Some(("model.thinking.level".to_owned(), json!("high"))));
        assert_eq!(flag("0"), Some(("model.thinking.budget".to_owned(), json!(0))));
        assert_eq!(flag("-1"), Some(("model.thinking.budget".to_owned(), json!(-1))));
        assert_eq!(flag("much"), None);
    }

    #[test]
    fn a_new_session_has_nothing_to_compress() {
        assert!(understood(&["-p", "/compress"]).is_err());
        assert!(understood(&["--resume", "-p", "/compress"]).is_ok());
    }

    #[test]
    fn the_parser_holds_no_contradictions() {
        Typed::command().debug_assert();
    }
}
