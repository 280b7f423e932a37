//! What commands find out beside the screen.

use charla::doctor::Checkup;
use charla::mcp::Health;
use charla::models::survey::{Row, survey};
use charla::models::{Directory, Prices};
use charla::session::{
    Message, PreviewRequest, PromptPreview, RuleCheck, RulePlaces, SessionError, instruction_files,
};
use charla::settings::{self, Settings};
use charla::{Charla, Failure, Notice};
use charla_core::session::SessionHandle;
use charla_proto::text::one_line;
use charla_proto::{ApprovalMode, Role as Speaker, SessionSummary};
use charla_terminal::{doctor, judgement, servers, wording};

use super::export::Exports;
use super::extending::Updated;
use super::report::Filling;
use crate::app::{Choice, Rewind};
use crate::picker::{Item, Picker};
use crate::spent::Spent;
use crate::text::{Line, Role};

/// What came of an errand: rows to show, or a choice to make.
pub enum Found {
    /// Rows.
    Lines(Vec<Line>),
    /// Names, and what they stand for.
    Listing(Vec<(String, String)>),
    /// Rows, and what fills the window.
    Filled(Vec<Line>, Filling),
    /// A choice.
    Choice(Picker<Choice>),
    /// Rows, and a choice about them.
    Question(Vec<Line>, Picker<Choice>),
    /// Extensions are others than before, as these rows say.
    Changed(Vec<Line>),
    /// A session to go on with.
    Session(String),
    /// It is done.
    Recorded {
        /// What, in words: where records are shown, they have told it.
        words: String,
        /// What there is to know besides.
        besides: Option<String>,
    },
}

/// Everything an errand may need.
pub struct Errand {
    /// The user's Charla.
    pub charla: Charla,
    /// The settings that hold.
    pub settings: Settings,
    /// The session, and its id.
    pub session: Option<(SessionHandle, String)>,
    /// What was written by `/export` before.
    pub exports: Exports,
    /// The extensions that were updated meanwhile.
    pub updated: Updated,
}

pub(super) type Finding = Result<Found, Failure>;

impl Errand {
    /// The models that are ready, to choose from.
    pub async fn models(self) -> Finding {
        let current = self.current_model().await;
        let rows = survey(&self.settings, self.charla.environment()).await;
        let mut ready = model_items(&rows);
        // One that is in no list answers all the same.
        if !current.is_empty() && ready.iter().all(|(model, _)| *model != current) {
            ready.insert(0, (current.clone(), String::new()));
        }
        let items: Vec<Item<Choice>> = ready
            .into_iter()
            .map(|(label, detail)| Item {
                choice: Choice::Model(label.clone()),
                detail: marked(label == current, detail),
                label,
            })
            .collect();
        if items.is_empty() {
            return Err(Failure::config("no provider is ready").with_hint("`charla models` says why"));
        }
        let picker = Picker::new("model", items);
        Ok(Found::Choice(picker.standing_at(|choice| *choice == Choice::Model(current.clone()))))
    }

    /// The model that answers; empty before there is a session.
    async fn current_model(&self) -> String {
        let snapshot = match &self.session {
            Some((handle, _)) => handle.snapshot().await,
            None => None,
        };
        snapshot.map(|(snapshot, _)| snapshot.choices.model).unwrap_or_default()
    }

    /// The tools the model has.
    pub async fn tools(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let preview = self.preview(&mut notices).await?;
        let told = preview.tools.iter().map(|tool| {
            let about = tool.description.lines().next().unwrap_or_default();
            (one_line(&tool.name), one_line(about))
        });
        Ok(Found::Listing(told.collect()))
    }

    /// What the model is told before anything is said.
    async fn preview(&self, notices: &mut Vec<Notice>) -> Result<PromptPreview, Failure> {
        let request = PreviewRequest { somebody: true, ..PreviewRequest::default() };
        self.charla.prompt_preview(&request, &self.settings, notices).await
    }

    /// The MCP servers of the settings, each tried.
    pub async fn mcp(self) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let found = self.charla.check_servers(&self.settings, &mut notices).await?;
        let mut lines: Vec<Line> =
            notices.iter().map(|notice| Line::of(Role::Warning, &wording::notice(notice))).collect();
        let from = |server: &Health| self.settings.brought.extension_of(&server.server);
        lines.extend(found.iter().flat_map(|server| plain(&servers::standing(server, from(server)))));
        if lines.is_empty() {
            lines = plain("no MCP servers are configured; `charla mcp add NAME COMMAND` adds one");
        }
        Ok(Found::Lines(lines))
    }

    /// What the rules say to a command line; without one, all rules.
    pub async fn policy(self, command: String, mode: ApprovalMode) -> Finding {
        let places = RulePlaces::of(self.charla.environment());
        let rules = RuleCheck::new(&places, &[], &[]).map_err(|error| Failure::config(error.to_string()))?;
        if !command.is_empty() {
            return Ok(Found::Lines(plain(&judgement::told(&rules.explain(&command, mode)))));
        }
        let mut lines = plain(&judgement::listed(rules.book.rules()));
        lines.extend(self.granted().await);
        Ok(Found::Lines(lines))
    }

    /// The questions that wait, in all sessions, and what is always allowed in this one; `revoke NUMBER` takes that back.
    pub async fn approvals(self, words: String) -> Finding {
        match words.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] | ["list"] => self.waiting().await,
            ["revoke", number] => self.revoke(number).await,
            _ => Err(Failure::input("it takes `revoke NUMBER`, or nothing")),
        }
    }

    async fn waiting(self) -> Finding {
        let waiting = self.charla.sessions()?.approvals().await?;
        let lines = waiting.iter().map(|one| {
            let title = one_line(&one.asked.confirmation.title);
            Line::plain(&format!("{}  {title}  in {}", one.asked.approval, one.folder.display()))
        });
        let lines: Vec<Line> = lines.collect();
        let mut lines = if lines.is_empty() { plain("no question waits") } else { lines };
        lines.extend(self.granted().await);
        Ok(Found::Lines(lines))
    }

    /// The instruction files that are read.
    pub async fn memory(self) -> Finding {
        let (files, notices) = instruction_files(self.charla.environment());
        let mut lines = match files.as_slice() {
            [] => plain("no instruction files are read here; AGENTS.md, CHARLA.md or GEMINI.md would be"),
            _ => plain("the model is told what these files say:"),
        };
        lines.extend(
            files.iter().map(|file| Line::plain(&format!("  {}", one_line(&file.display().to_string())))),
        );
        lines.extend(notices.iter().map(|notice| Line::of(Role::Warning, notice)));
        Ok(Found::Lines(lines))
    }

    /// The messages of the conversation, to go back to.
    pub async fn messages(self) -> Finding {
        let (_, id) = self.session.ok_or_else(|| Failure::input("there is no session yet"))?;
        let (_, messages) = self.charla.sessions()?.messages(&id).await?;
        let items: Vec<Item<Choice>> = messages.into_iter().rev().filter_map(rewind_item).collect();
        if items.is_empty() {
            return Err(Failure::input("nothing was said yet"));
        }
        Ok(Found::Choice(Picker::new("go back to", items)))
    }

    /// The session that is meant, if it can be gone on with.
    pub async fn session_to_resume(self, which: String) -> Finding {
        let (found, current) = (self.charla.sessions()?.free_to_resume(&which).await, self.session);
        match (found, current) {
            (Err(SessionError::InUse(id)), Some((_, current))) if id == current => {
                Err(Failure::input("this is the session that goes on here"))
            }
            (found, _) => Ok(Found::Session(found?)),
        }
    }

    /// The session of a server that is meant. All of a server's are in use, by the server.
    pub async fn session_of_server(self, which: String) -> Finding {
        let current = self.session.map(|(_, id)| id);
        match self.charla.sessions()?.free_to_resume(&which).await {
            Ok(id) | Err(SessionError::InUse(id)) if Some(&id) == current.as_ref() => {
                Err(Failure::input("this is the session that goes on here"))
            }
            Ok(id) | Err(SessionError::InUse(id)) => Ok(Found::Session(id)),
            Err(error) => Err(error.into()),
        }
    }

    /// The sessions, to go on with another: those of this folder first.
    pub async fn sessions(self) -> Finding {
        let sessions = self.charla.sessions()?;
        let mut listed: Vec<SessionSummary> = sessions.list().await?.sessions;
        listed.retain(|session| session.has_turns);
        listed.sort_by_key(|session| !sessions.is_here(session));
        let current = self.session.map(|(_, id)| id).unwrap_or_default();
        let about = |session: &SessionSummary| {
            let ago = wording::ago(session.modified.elapsed().unwrap_or_default());
            let folder = match sessions.is_here(session) {
                true => String::new(),
                false => format!(" · {}", session.started.cwd.display()),
            };
            marked(session.session == current, format!("{ago} · {}{folder}", session.model))
        };
        let items: Vec<Item<Choice>> = listed
            .iter()
            .map(|session| Item {
                label: one_line(&session.title).chars().take(60).collect(),
                detail: about(session),
                choice: Choice::Resume(session.session.clone()),
            })
            .collect();
        if items.is_empty() {
            return Err(Failure::input("there are no earlier sessions"));
        }
        Ok(Found::Choice(Picker::new("go on with", items)))
    }

    /// What fills the window, below what was used: all of it, whoever had the session open then.
    pub async fn stats(self, window: Option<u32>) -> Finding {
        let mut notices: Vec<Notice> = Vec::new();
        let preview = self.preview(&mut notices).await.ok();
        let (system, tools) = preview.map_or((0, 0), |preview| (preview.system_tokens, preview.tool_tokens));
        let snapshot = match &self.session {
            Some((handle, _)) => handle.snapshot().await.map(|(snapshot, _)| snapshot),
            None => None,
        };
        let snapshot = snapshot.unwrap_or_default();
        let mut spent = Spent::default();
        if let Some((handle, _)) = &self.session {
            spent = Spent::until(handle, snapshot.seq, Prices::new(&self.settings)).await;
        }
        let filling = Filling::of(&snapshot.contents, system, tools, window);
        Ok(Found::Filled(spent.lines(), filling))
    }

    /// What is set, and by whom.
    pub async fn settings(self) -> Finding {
        let effective = settings::load(self.charla.environment(), Vec::new())?;
        let line = |row: settings::ShownSetting| {
            let mut line = Line::plain(&format!("{} = {}", row.key, row.value));
            line.push(Role::Dim, &format!("  # {}", row.source));
            line
        };
        let mut lines: Vec<Line> = effective.shown().into_iter().map(line).collect();
        if let Some(path) = self.charla.environment().user_settings() {
            lines.push(Line::of(Role::Dim, &format!("yours are in {}", path.display())));
        }
        Ok(Found::Lines(lines))
    }

    /// Everything that a run stands on, with the model that answers here.
    pub async fn doctor(self) -> Finding {
        let model = Some(self.current_model().await).filter(|model| !model.is_empty());
        let overrides = model.map(|model| settings::Override {
            key: &["model", "name"],
            value: model.into(),
            source: "this session",
        });
        let checkup = Checkup::of(&self.charla, overrides.into_iter().collect()).await;
        Ok(Found::Lines(plain(&doctor::in_words(&checkup))))
    }
}

/// A message to go back to: one of the person's own to say it anew, an answer to go on after it. Others are passed over.
fn rewind_item(message: Message) -> Option<Item<Choice>> {
    let said = message.said?;
    let detail = one_line(said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default());
    let (speaker, to, words) = match message.role {
        Speaker::User => ("you", message.before, Some(said)),
        _ => ("model", message.seq, None),
    };
    let label = format!("{:>5} {speaker}", message.seq);
    Some(Item { label, detail, choice: Choice::Rewind(Rewind { to, words }) })
}

/// The window of a model, where the catalog or the settings know it.
pub fn window(settings: &Settings, model: &str) -> Option<u32> {
    let (entry, id) = Directory::new(settings).resolve(model).ok()?;
    entry.model(&id?).context_window
}

/// The models that are ready, each with its window and price: those that answer by default first.
pub fn model_items(rows: &[Row]) -> Vec<(String, String)> {
    let mut items = Vec::new();
    for row in rows.iter().filter(|row| row.state.is_ok()) {
        let usual = row.entry.default_model();
        let (first, others): (Vec<&String>, Vec<&String>) =
            row.models.iter().partition(|model| usual.as_deref() == Some(model.as_str()));
        for model in first.into_iter().chain(others) {
            let facts = row.entry.model(model);
            let window =
                facts.context_window.map(|window| format!("window {}", wording::tokens(window.into())));
            let price = facts.price.map(|[input, output, _]| format!("${input} in, ${output} out a million"));
            let detail: Vec<String> = window.into_iter().chain(price).collect();
            items.push((format!("{}/{model}", row.entry.name), detail.join(" · ")));
        }
    }
    items
}

/// What there is to know of something in a list; what holds now is marked.
pub fn marked(is_current: bool, detail: String) -> String {
    match (is_current, detail.is_empty()) {
        (false, _) => detail,
        (true, true) => "✓ now".to_owned(),
        (true, false) => format!("✓ now · {detail}"),
    }
}

pub(super) fn plain(text: &str) -> Vec<Line> {
    text.lines().map(Line::plain).collect()
}
