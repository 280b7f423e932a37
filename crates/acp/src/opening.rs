//! Sessions of the editor's: begun, gone on with, listed, deleted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use charla::custom_command::custom_commands;
use charla::session::OwnEditor;
use charla::settings::{McpForm, McpServerSettings, Settings};
use charla::trust::TrustDemand;
use charla::{Begin, Notice, OpenRequest, RunOptions};
use charla_core::CancellationToken;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::Work;
use crate::client::Client;
use crate::editor::AcpEditor;
use crate::feed::{Feed, Past, State, Updates};
use crate::options::Options;
use crate::permission::Asking;
use crate::refused::{self, Refused, shown};
use crate::session::EditorSession;
use crate::turns::Turns;

/// So many sessions are listed at once.
const PAGE: usize = 50;

/// Begins a session.
pub(crate) async fn new(
    work: &Arc<Work>,
    params: &Value,
    cancel: CancellationToken,
) -> Result<Value, Refused> {
    let folder = folder(refused::text(params, "cwd")?)?;
    let opening = Opening { work, params, folder, cancel };
    let session = opening.open(charla::new_id(), Begin::New, false).await?;
    let mut described = session.described();
    described["sessionId"] = json!(session.id());
    Ok(described)
}

/// Goes on with a session, in the folder that it was in. Its past is told where it is `shown`.
pub(crate) async fn load(
    work: &Arc<Work>,
    params: &Value,
    cancel: CancellationToken,
    shown: bool,
) -> Result<Value, Refused> {
    let sessions = work.charla.sessions()?;
    let id = sessions.find(refused::text(params, "sessionId")?).await?;
    if work.has(&id) {
        return Err(Refused::now("this session is open here already"));
    }
    let folder = sessions.summary(&id).await?.started.cwd;
    let opening = Opening { work, params, folder, cancel };
    let session = opening.open(id.clone(), Begin::Resume(id), shown).await?;
    Ok(session.described())
}

/// Lists sessions, the latest first.
pub(crate) async fn list(work: &Work, params: &Value) -> Result<Value, Refused> {
    let cursor = params.get("cursor").filter(|cursor| !cursor.is_null());
    let first: usize = match cursor.map(|cursor| cursor.as_str().map(str::parse)) {
        None => 0,
        Some(Some(Ok(first))) => first,
        Some(_) => return Err(Refused::params("`cursor` is none of ours")),
    };
    let folder = params.get("cwd").and_then(Value::as_str).map(Path::new);
    let listed = work.charla.sessions()?.list().await?.sessions;
    let is_meant = |cwd: &Path| folder.is_none_or(|folder| folder == cwd);
    let meant: Vec<_> =
        listed.iter().filter(|session| session.has_turns && is_meant(&session.started.cwd)).collect();
    let page = meant.iter().skip(first).take(PAGE).map(|session| {
        json!({
            "sessionId": session.session,
            "cwd": session.started.cwd,
            "title": session.title,
            "updatedAt": charla::time_text(session.modified),
        })
    });
    let page: Vec<Value> = page.collect();
    let next = first.saturating_add(PAGE);
    let more = (next < meant.len()).then(|| next.to_string());
    Ok(json!({"sessions": page, "nextCursor": more}))
}

/// Deletes a session that is not open.
pub(crate) async fn delete(work: &Work, params: &Value) -> Result<Value, Refused> {
    let id = refused::text(params, "sessionId")?;
    if work.has(id) {
        return Err(Refused::now("this session is open here; close it first"));
    }
    work.charla.sessions()?.delete(id).await?;
    Ok(json!({}))
}

/// A session on its way.
struct Opening<'a> {
    work: &'a Arc<Work>,
    params: &'a Value,
    folder: PathBuf,
    cancel: CancellationToken,
}

impl Opening<'_> {
    async fn open(&self, id: String, begin: Begin, shown: bool) -> Result<Arc<EditorSession>, Refused> {
        let charla = self.work.charla.in_workspace(&self.folder).with_dotenv();
        let mut notices: Vec<Notice> = Vec::new();
        let effective = charla.settings(self.work.overrides.clone(), &TrustDemand::default())?;
        notices.extend(effective.notices.iter().cloned());
        let mut settings = effective.settings;
        self.add_servers(&mut settings)?;
        let client = self.work.client.get().copied().unwrap_or_default();
        let is_new = matches!(begin, Begin::New);
        let request = OpenRequest {
            begin,
            new_id: Some(id.clone()),
            must_be_kept: true,
            options: self.options(&id, client)?,
            cancel: self.cancel.clone(),
            ..OpenRequest::default()
        };
        let opened = charla.open_with(&settings, request, &mut notices).await;
        let opened = opened.map_err(|failure| Refused::opening(failure, &settings))?;
        let custom = custom_commands(charla.environment(), &settings.brought, &mut notices)?;
        let (snapshot, events) =
            opened.handle.snapshot().await.ok_or_else(|| Refused::failed("the session has ended"))?;
        let connection = self.work.connection.clone();
        let updates =
            Updates { connection: connection.clone(), session: id.clone(), takes_notices: client.notices };
        let asking = Arc::new(Asking { connection, client, session: id });
        let (known, is_known) = oneshot::channel();
        let (turns, options) = (Arc::new(Turns::default()), Arc::new(Options::new(snapshot.choices)));
        let feed = Feed {
            updates: updates.clone(),
            handle: opened.handle.clone(),
            cwd: self.folder.clone(),
            asking: asking.clone(),
            turns: turns.clone(),
            options: options.clone(),
            state: State::default(),
        };
        let session = Arc::new(EditorSession {
            _attached: opened.attach(),
            environment: charla.environment().clone(),
            opened,
            custom,
            settings,
            options,
            turns,
            updates,
            asking,
            notices: Mutex::new(notices),
            busy: AtomicBool::new(false),
            known: Mutex::new(Some(known)),
        });
        if is_new {
            tokio::spawn(feed.run(events, None));
            self.work.keep(session.clone());
            return Ok(session);
        }
        drop(events);
        let events = session.opened.handle.subscribe_from(0).await;
        let events = events.ok_or_else(|| Refused::failed("the session has ended"))?;
        let (done, told) = oneshot::channel();
        tokio::spawn(feed.run(events, Some(Past { until: snapshot.seq, shown, done, is_known })));
        // The editor gets its answer when it has all of the past.
        let _ = told.await;
        self.work.keep(session.clone());
        Ok(session)
    }

    fn options(&self, id: &str, client: Client) -> Result<RunOptions, Refused> {
        let more = self.params.get("additionalDirectories").and_then(Value::as_array);
        let more = more.into_iter().flatten().map(|path| folder(path.as_str().unwrap_or_default()));
        let editor = AcpEditor {
            connection: self.work.connection.clone(),
            client,
            session: id.to_owned(),
            runtime: Handle::current(),
            silent: AtomicBool::new(false),
        };
        Ok(RunOptions {
            directories: more.collect::<Result<_, _>>()?,
            editor: Some(OwnEditor(Arc::new(editor))),
            ..RunOptions::default()
        })
    }

    /// The editor's MCP servers are its user's: they go before others of the same name, and are confined like those of the
    /// user's settings.
    fn add_servers(&self, settings: &mut Settings) -> Result<(), Refused> {
        let servers = self.params.get("mcpServers").and_then(Value::as_array);
        for server in servers.into_iter().flatten() {
            let name = refused::text(server, "name")?;
            if name.is_empty() || name.chars().any(char::is_control) {
                return Err(Refused::params(format!("`{}` is no name of an MCP server", shown(name))));
            }
            let entry = self::server(server)?;
            settings.brought.servers.remove(name);
            settings.mcp_servers.insert(name.to_owned(), entry);
        }
        Ok(())
    }
}

fn server(server: &Value) -> Result<McpServerSettings, Refused> {
    let url = |form| -> Result<McpServerSettings, Refused> {
        Ok(McpServerSettings {
            url: Some(refused::text(server, "url")?.to_owned()),
            headers: pairs(server, "headers")?,
            r#type: Some(form),
            ..McpServerSettings::default()
        })
    };
    match server.get("type").and_then(Value::as_str) {
        Some("http") => url(McpForm::Http),
        Some("sse") => url(McpForm::Sse),
        None | Some("stdio") => {
            let words = server.get("args").and_then(Value::as_array);
            let words = words.into_iter().flatten().filter_map(Value::as_str);
            Ok(McpServerSettings {
                command: Some(refused::text(server, "command")?.to_owned()),
                args: words.map(str::to_owned).collect(),
                env: pairs(server, "env")?,
                ..McpServerSettings::default()
            })
        }
        Some(other) => Err(Refused::params(format!("MCP servers of type `{}` are not taken", shown(other)))),
    }
}

fn pairs(server: &Value, key: &str) -> Result<BTreeMap<String, String>, Refused> {
    let pairs = server.get(key).and_then(Value::as_array).into_iter().flatten();
    pairs
        .map(|pair| Ok((refused::text(pair, "name")?.to_owned(), refused::text(pair, "value")?.to_owned())))
        .collect()
}

/// A folder by its whole path.
fn folder(path: &str) -> Result<PathBuf, Refused> {
    let folder = PathBuf::from(path);
    match folder.is_absolute() && folder.is_dir() {
        true => Ok(folder),
        false => Err(Refused::params(format!("`{}` is no absolute path of a folder", shown(path)))),
    }
}
