//! Commands where there is no screen: what each of them is line by line.

use charla::Failure;
use charla::session::init_prompt;
use charla_proto::{ApprovalMode, BoxFuture, Command, RevertSelection};

use super::{Errand, Found, Slash, hands_over, help, parse, unknown_mode};

/// What a command is line by line.
pub enum Linear {
    /// The end.
    Leave,
    /// Something to ask of the session.
    Ask(Command),
    /// Something to find out first, and to ask of the session then, perhaps.
    Find(BoxFuture<'static, Result<Found, Failure>>, Option<Command>),
    /// A prompt to say.
    Say(String),
    /// Words alone.
    Tell(Vec<String>),
}

/// Commands that need a screen, and what does the same without one.
const ELSEWHERE: [(Slash, &str); 7] = [
    (Slash::Rewind, "`charla rewind`"),
    (Slash::Resume, "`charla --resume ID`; `charla sessions` lists them"),
    (Slash::Fork, "`charla --fork ID`"),
    (Slash::Copy, "/export FILE"),
    (Slash::Theme, "nothing: there are no colours here"),
    (Slash::Thoughts, "the flag --thoughts"),
    (Slash::Clear, "`charla`, begun anew"),
];

/// What a line that begins with `/` means. `mode` is the one that holds, `window` what the model can read.
pub fn linear(line: &str, errand: Errand, mode: ApprovalMode, window: Option<u32>) -> Linear {
    let (slash, rest) = match parse(line) {
        Ok(parsed) => parsed,
        Err(problem) => return Linear::Tell(vec![problem]),
    };
    if let Some((_, instead)) = ELSEWHERE.iter().find(|(other, _)| *other == slash) {
        let instead = match (slash, &errand.session) {
            (Slash::Fork, Some((_, id))) => instead.replace("ID", id),
            _ => (*instead).to_owned(),
        };
        return Linear::Tell(vec![format!("this needs a screen; without one there is {instead}")]);
    }
    let rest = rest.to_owned();
    match slash {
        Slash::Quit => Linear::Leave,
        Slash::HandOver => match hands_over(&rest) {
            Ok(true) => Linear::Leave,
            Ok(false) => Linear::Ask(Command::Keep),
            Err(problem) => Linear::Tell(vec![problem]),
        },
        Slash::Compress => Linear::Ask(Command::Compress),
        Slash::Uncompress => Linear::Ask(Command::Restore),
        Slash::Undo => Linear::Ask(Command::Undo(RevertSelection::default())),
        Slash::Redo => Linear::Ask(Command::Redo(RevertSelection::default())),
        Slash::Model if !rest.is_empty() => Linear::Ask(Command::SetModel { model: rest }),
        Slash::Mode => match ApprovalMode::ALL.into_iter().find(|mode| mode.to_string() == rest) {
            Some(mode) => Linear::Ask(Command::SetMode { mode }),
            None => {
                let unknown = (!rest.is_empty()).then(|| unknown_mode(&rest));
                let holds = format!("{mode} holds; /mode plan, default, auto_edit or yolo changes it");
                Linear::Tell(unknown.into_iter().chain([holds]).collect())
            }
        },
        Slash::Model => find(errand.models()),
        Slash::Tools => find(errand.tools()),
        Slash::Mcp => find(errand.mcp()),
        Slash::Extensions if rest == "reload" => {
            Linear::Tell(vec!["this needs a screen; without one there is `charla --resume`".to_owned()])
        }
        Slash::Extensions => find(errand.extensions(rest)),
        Slash::Skills => find(errand.skills()),
        Slash::Agents => find(errand.agents()),
        Slash::Hooks => find(errand.hooks()),
        Slash::Init => Linear::Say(init_prompt(&rest)),
        Slash::Policy => find(errand.policy(rest, mode)),
        Slash::Approvals => find(errand.approvals(rest)),
        Slash::Memory => Linear::Find(Box::pin(errand.memory()), Some(Command::Refresh)),
        Slash::Stats => find(errand.stats(window)),
        Slash::Export => find(errand.export(rest)),
        Slash::Settings => find(errand.settings()),
        Slash::Doctor => find(errand.doctor()),
        _ => Linear::Tell(commands()),
    }
}

fn find(finding: impl Future<Output = Result<Found, Failure>> + Send + 'static) -> Linear {
    Linear::Find(Box::pin(finding), None)
}

/// The commands that there are without a screen.
fn commands() -> Vec<String> {
    let here = help().filter(|help| ELSEWHERE.iter().all(|(other, _)| *other != help.slash));
    // What was changed is taken up by the next start.
    here.map(|help| format!("{}: {}", help.name.replace("|reload", ""), help.about))
        .chain(["!COMMAND: run a command yourself".to_owned()])
        .collect()
}

impl Found {
    /// It in words, a line each.
    pub fn words(&self) -> Vec<String> {
        match self {
            Found::Lines(lines) => lines.iter().map(|line| line.text()).collect(),
            Found::Filled(lines, filling) => {
                lines.iter().map(|line| line.text()).chain(filling.words()).collect()
            }
            Found::Choice(picker) => picker.words(),
            Found::Listing(named) => named.iter().map(|(name, about)| format!("{name}: {about}")).collect(),
            Found::Question(lines, _) => lines.iter().map(|line| line.text()).collect(),
            Found::Changed(lines) => {
                let later = "it holds from the next start of charla on".to_owned();
                lines.iter().map(|line| line.text()).chain([later]).collect()
            }
            Found::Session(id) => vec![id.clone()],
            Found::Recorded { words, besides } => std::iter::once(words).chain(besides).cloned().collect(),
        }
    }
}
