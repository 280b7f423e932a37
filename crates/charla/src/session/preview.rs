//! What a run would send before anything is said.

use std::sync::Arc;

use charla_core::hooks::StartSource;
use charla_core::session::{Clients, Host, Situation};
use charla_proto::{FunctionDeclaration, GenerateRequest, Tool};
use charla_providers::tokens;

use super::assemble::{ServersOf, SessionBuilder};
use super::instruction::own_prompt;
use super::open::{OpenRequest, Opening, as_it_begins, with_excluded};
use super::options::RunOptions;
use super::store::Sessions;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::mcp::Health;
use crate::models::{BoundModel, Chooser, check_auth_type, own, probe};
use crate::notices::{Notice, Notices};
use crate::settings::Settings;

/// The system prompt and the tools that a run would send.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptPreview {
    /// The model: `provider/model`.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// About how many tokens it has.
    pub system_tokens: u64,
    /// The tools, as they are declared.
    pub tools: Vec<Arc<FunctionDeclaration>>,
    /// About how many tokens the declarations have.
    pub tool_tokens: u64,
}

/// What is looked at: the first request of a run with these options.
#[derive(Clone, Debug, Default)]
pub struct PreviewRequest {
    /// Tools, rules and the answer's form.
    pub options: RunOptions,
    /// Somebody is there to be asked.
    pub somebody: bool,
}

/// Starts the MCP servers of these settings, says how they are and ends them.
pub(crate) async fn check_servers(
    settings: &Settings,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<Vec<Health>, Failure> {
    let options = RunOptions::default();
    builder("check", "", &options, settings, environment).check_servers("check", notices).await
}

/// What a session is put together from that nobody speaks to.
fn builder<'a>(
    id: &str,
    model: &str,
    options: &'a RunOptions,
    settings: &'a Settings,
    environment: &'a Environment,
) -> SessionBuilder<'a> {
    let (sessions, _) = Sessions::temporary(environment, id, model, &super::SessionError::NoHome);
    SessionBuilder {
        settings,
        environment,
        options,
        own_prompt: None,
        own_tools: Vec::new(),
        sessions: Arc::new(sessions),
        clients: Clients::default(),
        schema: None,
        log: None,
        servers: ServersOf::Remembered,
        agents: None,
        start: StartSource::default(),
    }
}

/// The model that a run would ask, by what is known of it. It is not asked, and none is started.
async fn model(
    settings: &Settings,
    environment: &Environment,
    options: &RunOptions,
    notices: &mut dyn Notices,
) -> Result<BoundModel, Failure> {
    if let Some(own) = own::chosen(settings) {
        return own::bind(own, settings, None);
    }
    let mut chain = Chooser::new(settings, environment).chain().await?;
    probe::recall(&mut chain, !options.no_tools, settings, environment, notices);
    BoundModel::new(chain, settings, environment, None)
}

/// An error where a session whose last model was `last` would find none to go on with. No model is asked and none is started.
pub(crate) async fn can_be_had(
    last: &str,
    settings: &Settings,
    environment: &Environment,
) -> Result<(), Failure> {
    let (options, mut unheard) = (RunOptions::default(), Vec::<Notice>::new());
    if !last.is_empty() {
        let mut same = settings.clone();
        same.model.name = Some(last.to_owned());
        if model(&same, environment, &options, &mut unheard).await.is_ok() {
            return Ok(());
        }
    }
    check_auth_type(settings, environment)?;
    model(settings, environment, &options, &mut unheard).await.map(drop)
}

/// Finds out what a run would send before anything is said. No model is asked and none is started, nor is any MCP server.
pub(crate) async fn preview(
    request: &PreviewRequest,
    settings: &Settings,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<PromptPreview, Failure> {
    let PreviewRequest { options, somebody } = request;
    let opening = Opening::new(settings, environment);
    let settings = &with_excluded(settings, options);
    let model = model(&as_it_begins(settings), environment, options, notices).await?;
    let asked = OpenRequest { options: options.clone(), ..OpenRequest::default() };
    let (own_tools, _) = opening.own_tools(Vec::new(), &model);
    let mut builder = SessionBuilder {
        own_prompt: own_prompt(settings, environment, options.added_prompt.as_deref())?,
        own_tools,
        agents: opening.agent_calls("preview", &asked, None, notices),
        ..builder("preview", &model.reference, options, settings, environment)
    };
    let (host, _) = builder.host("preview", &model, notices).await?;
    let reference = host.take(model).reference;
    let mode = settings.tools.approval_mode.unwrap_or_default();
    let equipment = host.equip(&Situation { model: reference.clone(), mode, somebody: *somebody });
    let tools = equipment.toolbox.declarations();
    if let Some(servers) = host.servers.started() {
        servers.shutdown().await;
    }
    host.places.processes.shutdown().await;
    let system = equipment.instruction.map(|content| {
        let texts: Vec<&str> = content.parts.iter().filter_map(|part| part.as_text()).collect();
        texts.join("\n\n")
    });
    Ok(PromptPreview::of(reference, system.unwrap_or_default(), tools))
}

impl PromptPreview {
    fn of(model: String, system: String, tools: Vec<Arc<FunctionDeclaration>>) -> Self {
        let mut request = GenerateRequest::new(model.clone(), Vec::new());
        let empty = tokens::estimate(&request);
        request.tools = vec![Tool::functions(tools.clone())];
        let tool_tokens = tokens::estimate(&request).saturating_sub(empty);
        Self { model, system_tokens: tokens::estimate_text(&system), system, tools, tool_tokens }
    }
}
