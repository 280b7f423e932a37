//! What a run would send before anything is said.

use std::sync::Arc;

use charla_core::hooks::StartSource;
use charla_core::prompt::OwnPrompt;
use charla_core::session::{Clients, Host, Situation};
use charla_proto::{FunctionDeclaration, GenerateRequest, Tool};
use charla_providers::tokens;

use super::assemble::{ServersOf, SessionBuilder};
use super::instruction::own_prompt;
use super::options::RunOptions;
use super::store::Sessions;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::mcp::Health;
use crate::models::{BoundModel, Chooser};
use crate::notices::Notices;
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

/// Starts the MCP servers of these settings, says how they are and ends them.
pub(crate) async fn check_servers(
    settings: &Settings,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<Vec<Health>, Failure> {
    let options = RunOptions::default();
    builder("check", "", &options, None, settings, environment).check_servers("check", notices).await
}

/// What a session is put together from that nobody speaks to.
fn builder<'a>(
    id: &str,
    model: &str,
    options: &'a RunOptions,
    own_prompt: Option<OwnPrompt>,
    settings: &'a Settings,
    environment: &'a Environment,
) -> SessionBuilder<'a> {
    let (sessions, _) = Sessions::temporary(environment, id, model, &super::SessionError::NoHome);
    SessionBuilder {
        settings,
        environment,
        options,
        own_prompt,
        own_tools: Vec::new(),
        sessions: Arc::new(sessions),
        clients: Clients::default(),
        schema: None,
        log: None,
        servers: ServersOf::Nobody,
        agents: None,
        start: StartSource::default(),
    }
}

/// Finds out what a run with a person at a terminal would send. No model is asked and none is started.
pub(crate) async fn preview(
    settings: &Settings,
    environment: &Environment,
    notices: &mut dyn Notices,
) -> Result<PromptPreview, Failure> {
    let chain = Chooser::new(settings, environment).chain().await?;
    let model = BoundModel::new(chain, settings, environment, None)?;
    let options = RunOptions::default();
    let own_prompt = own_prompt(settings, environment, None)?;
    let mut builder = builder("preview", &model.reference, &options, own_prompt, settings, environment);
    let (host, _) = builder.host("preview", &model, notices).await?;
    let reference = host.take(model).reference;
    let mode = settings.tools.approval_mode.unwrap_or_default();
    let equipment = host.equip(&Situation { model: reference.clone(), mode, somebody: true });
    let tools = equipment.toolbox.declarations();
    let mut request = GenerateRequest::new(reference.clone(), Vec::new());
    let empty = tokens::estimate(&request);
    request.tools = vec![Tool::functions(tools.clone())];
    let tool_tokens = tokens::estimate(&request).saturating_sub(empty);
    let system = equipment.instruction.map(|content| {
        let texts: Vec<&str> = content.parts.iter().filter_map(|part| part.as_text()).collect();
        texts.join("\n\n")
    });
    let system = system.unwrap_or_default();
    host.places.processes.shutdown().await;
    Ok(PromptPreview {
        model: reference,
        system_tokens: tokens::estimate_text(&system),
        system,
        tools,
        tool_tokens,
    })
}
