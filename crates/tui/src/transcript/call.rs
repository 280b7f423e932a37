//! A tool call as it is shown: one row that says what it is and how it stands, and what it shows below.

use std::time::{Duration, Instant};

use charla::session::COMMAND_TOOL;
use charla_proto::text::one_line;
use charla_proto::{Args, CallEnded, CallStatus, Display, FunctionCall, Todo, TodoStatus, ToolErrorKind};
use charla_terminal::call::about;
use charla_terminal::excerpt::{Excerpt, last_state};
use charla_terminal::wording;

use super::spinner;
use crate::diff;
use crate::text::{Emphasis, Line, Role};

/// Rows of a running tool's output.
const LIVE_ROWS: usize = 5;
/// How much of a running tool's output is kept.
const TAIL: usize = 4 * 1024;
/// Rows of a change.
const DIFF_ROWS: usize = 60;
/// No row is looked at further than this, however long it is.
const LONGEST: usize = 2000;
/// What a call is about has so many columns at least.
const LEAST: usize = 8;
/// How long something may take before its time is shown.
const SHORT: Duration = Duration::from_secs(1);

/// A call of the step under way.
#[derive(Debug)]
pub struct CallCell {
    /// The call's id.
    pub id: String,
    /// Where it stands.
    pub status: CallStatus,
    /// The question about it.
    pub approval: Option<String>,
    /// What it is called with.
    pub args: Args,
    /// The person at this terminal made it themselves.
    pub is_own: bool,
    name: String,
    began: Option<Instant>,
    took: Option<Duration>,
    tail: String,
    ended: Option<Box<CallEnded>>,
}

impl CallCell {
    /// A call that was just asked for.
    pub fn new(id: &str, name: &str, args: &Args) -> Self {
        Self {
            id: id.to_owned(),
            status: CallStatus::Validating,
            approval: None,
            args: args.clone(),
            is_own: false,
            name: one_line(name),
            began: None,
            took: None,
            tail: String::new(),
            ended: None,
        }
    }

    /// A call that somebody made themselves: whoever types here, or another.
    pub fn of_client(call: &FunctionCall, other: Option<&str>) -> Self {
        let name = match other {
            None if call.name == COMMAND_TOOL => "!".to_owned(),
            None => call.name.clone(),
            Some(other) => format!("{}: {}", one_line(other), call.name),
        };
        let id = call.id.as_deref().unwrap_or_default();
        Self { is_own: other.is_none(), ..Self::new(id, &name, &call.args) }
    }

    /// A person is asked about it.
    pub fn asked(&mut self, approval: &str) {
        self.status = CallStatus::AwaitingApproval;
        self.approval = Some(approval.to_owned());
    }

    /// The question has its answer, and with it other arguments perhaps.
    pub fn answered(&mut self, args: Option<&Args>) {
        // What a running call asked does not stop it.
        self.status = if self.began.is_some() { CallStatus::Executing } else { CallStatus::Scheduled };
        if let Some(args) = args {
            self.args = args.clone();
        }
    }

    /// It begins to run.
    pub fn started(&mut self, now: Instant) {
        self.status = CallStatus::Executing;
        self.began = Some(now);
    }

    /// It shows something.
    pub fn live(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() > 2 * TAIL {
            let from = (self.tail.len() - TAIL..).find(|at| self.tail.is_char_boundary(*at));
            self.tail.drain(..from.unwrap_or(0));
        }
    }

    /// It has its response.
    pub fn end(&mut self, ended: &CallEnded, now: Instant) {
        self.status = ended.status;
        self.took = self.began.map(|began| now.saturating_duration_since(began));
        // What was shown of a call that was stopped is all there is.
        if ended.status != CallStatus::Cancelled {
            self.tail = String::new();
        }
        self.ended = Some(Box::new(ended.clone()));
    }

    /// It as it stands, for a terminal of this width.
    pub fn lines(&self, columns: usize, now: Instant) -> Vec<Line> {
        let mut lines = vec![self.head(columns, now).truncate(columns)];
        lines.extend(match &self.ended {
            Some(ended) if self.tail.is_empty() => result(ended, columns),
            _ => tail(&self.tail, columns),
        });
        lines
    }

    /// What it is and how it stands; what it is about gives way to that.
    fn head(&self, columns: usize, now: Instant) -> Line {
        let failed = self.ended.as_ref().and_then(|ended| ended.display.as_ref()?.failed_with());
        let (mark, role) = self.mark(failed.is_some(), now);
        let mut line = Line::of(role, mark);
        line.push(Role::Plain, " ");
        line.extend(Line::plain(&self.name).with_emphasis(Emphasis::BOLD));
        let end = self.standing(failed, now);
        let about = about(&self.args);
        if !about.is_empty() {
            line.push(Role::Plain, "  ");
            let room = columns.saturating_sub(line.width() + end.width());
            line.extend(Line::of(Role::Code, &about).truncate(room.max(LEAST)));
        }
        line.then(end)
    }

    fn mark(&self, has_failed: bool, now: Instant) -> (&'static str, Role) {
        match self.status {
            CallStatus::Validating => ("·", Role::Dim),
            CallStatus::AwaitingApproval => ("?", Role::Warning),
            CallStatus::Scheduled => ("…", Role::Dim),
            CallStatus::Executing => (spinner(self.began, now), Role::Accent),
            CallStatus::Success if !has_failed => ("✓", Role::Success),
            CallStatus::Success | CallStatus::Error => ("✗", Role::Failure),
            CallStatus::Cancelled => ("⊘", Role::Warning),
        }
    }

    /// How it stands, and the time it takes.
    fn standing(&self, failed: Option<String>, now: Instant) -> Line {
        let mut line = Line::new();
        if let Some(failed) = failed {
            line.push(Role::Failure, &format!("  {failed}"));
        }
        let state = wording::state(self.status);
        let time = self.took.or_else(|| Some(now.saturating_duration_since(self.began?)));
        let time = time.filter(|time| *time >= SHORT).map(wording::elapsed).unwrap_or_default();
        for words in [state, &time].into_iter().filter(|words| !words.is_empty()) {
            line.push(Role::Dim, &format!("  {words}"));
        }
        line
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// The last rows of what a running tool shows.
fn tail(text: &str, columns: usize) -> Vec<Line> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LIVE_ROWS)..).unwrap_or_default();
    last.iter().map(|line| behind_margin(Line::of(Role::Dim, &clipped(last_state(line))), columns)).collect()
}

fn behind_margin(line: Line, columns: usize) -> Line {
    margin().then(line).truncate(columns)
}

fn broken(line: &Line, columns: usize) -> Vec<Line> {
    line.wrap_behind(columns, &margin(), &margin())
}

fn margin() -> Line {
    Line::of(Role::Border, "  │ ")
}

/// What a call has come to.
fn result(ended: &CallEnded, columns: usize) -> Vec<Line> {
    let failed = ended.status != CallStatus::Success;
    match &ended.display {
        Some(Display::Diff { diff, .. }) if !failed => change(diff, columns),
        Some(Display::Todos { items }) => {
            items.iter().flat_map(|item| broken(&todo(item), columns)).collect()
        }
        _ if is_said_elsewhere(ended) => Vec::new(),
        Some(Display::Command { output, .. }) if !failed => match output.is_empty() {
            true => vec![behind_margin(Line::of(Role::Dim, "(no output)"), columns)],
            false => preview(output, Role::Dim, ended, columns),
        },
        // What the person themselves said, all of it.
        Some(table @ Display::Table { .. }) if !failed => {
            let text = table.to_text();
            text.lines().flat_map(|row| broken(&Line::of(Role::Dim, &clipped(row)), columns)).collect()
        }
        Some(display) if !failed => preview(&display.to_text(), Role::Dim, ended, columns),
        _ => {
            let role = if ended.status == CallStatus::Error { Role::Failure } else { Role::Dim };
            preview(&ended.response.to_text(), role, ended, columns)
        }
    }
}

/// A call that a person refused: its mark says it.
fn is_said_elsewhere(ended: &CallEnded) -> bool {
    ended.status == CallStatus::Cancelled && ended.error == Some(ToolErrorKind::Cancelled)
}

fn change(text: &str, columns: usize) -> Vec<Line> {
    let mut lines = diff::lines(text, columns.saturating_sub(4));
    let hidden = lines.len().saturating_sub(DIFF_ROWS);
    lines.truncate(DIFF_ROWS);
    if hidden > 0 {
        lines.push(Line::of(Role::Dim, &format!("… {hidden} more rows")));
    }
    lines.into_iter().map(|line| behind_margin(line, columns)).collect()
}

fn todo(item: &Todo) -> Line {
    let (mark, role) = match item.status {
        TodoStatus::Pending => ("☐ ", Role::Plain),
        TodoStatus::InProgress => ("▸ ", Role::Accent),
        TodoStatus::Completed => ("☑ ", Role::Dim),
        TodoStatus::Cancelled => ("☒ ", Role::Dim),
        TodoStatus::Blocked => ("! ", Role::Warning),
    };
    Line::of(role, &format!("{mark}{}", clipped(&item.description)))
}

/// The beginning and the end of an output.
fn preview(text: &str, role: Role, ended: &CallEnded, columns: usize) -> Vec<Line> {
    let Excerpt { first, hidden, last } = Excerpt::of(text);
    let show = |line: &&str| behind_margin(Line::of(role, &clipped(line)), columns);
    let mut rows: Vec<Line> = first.iter().map(show).collect();
    if hidden > 0 {
        let whole = ended.whole_output.as_ref().map(|path| format!(", all of it in {}", path.display()));
        let cut = format!("… {hidden} more lines{}", whole.unwrap_or_default());
        rows.push(behind_margin(Line::of(Role::Dim, &cut), columns));
    }
    rows.extend(last.iter().map(show));
    rows
}
