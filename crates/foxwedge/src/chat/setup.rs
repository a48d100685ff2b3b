//! What lies outside: models, tools and MCP servers. Nothing else here makes one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use foxwedge_agent_loop::mcp::{
    self, McpConnection, McpEnvironment, McpServer, McpTransport, config::McpConfigError,
};
use foxwedge_core::Format;
use foxwedge_tools::{CommandSettings, Tool, ToolEffect, ToolLimits, ToolWorkspace, Toolbox};
use foxwedge_upstream::{
    SecretText,
    http::{HttpClient, HttpSettings},
    model::{ChatModel, ModelDescription, ModelEndpoint, ModelEndpointError, max_tools},
};
use tokio::task::JoinSet;

use super::{
    approval::no_tool_error,
    models::{DirectEndpoint, ModelChoice},
};
use crate::{
    cli::ChatApi,
    cli_output::{CliError, clean},
};

/// Where OpenAI is.
const OPENAI_URL: &str = "https://api.openai.com/v1";
/// Where a gateway of ours is, if nobody moved it.
const GATEWAY_URL: &str = "http://127.0.0.1:4177/v1";

/// Tools that are left out and named.
const MAX_NAMED_TOOLS: usize = 3;

/// Which tools are offered.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChatToolOptions {
    /// Built-in tools by name; all of them without.
    pub(crate) names: Option<Vec<String>>,
    /// Only what changes nothing.
    pub(crate) read_only: bool,
    /// MCP servers as they are typed: `NAME=COMMAND` or `NAME=URL`.
    pub(crate) mcp: Vec<String>,
    /// What a file lists under `mcpServers`.
    pub(crate) mcp_config: Option<String>,
    /// Variables that commands see beside the usual ones.
    pub(crate) pass_env: Vec<String>,
}

/// The tools that are offered, and the servers that some of them belong to.
pub(crate) struct ChatToolSet {
    pub(crate) tools: Toolbox,
    servers: Vec<McpConnection>,
    /// What there is to say about them.
    pub(crate) notes: Vec<String>,
}

impl ChatToolSet {
    /// Ends the servers: a wish first, then by force.
    pub(crate) async fn close(self) {
        let mut ending = JoinSet::new();
        for server in self.servers {
            ending.spawn(server.close());
        }
        ending.join_all().await;
    }
}

/// Makes a model.
pub(crate) fn build_model(choice: &ModelChoice) -> anyhow::Result<Arc<dyn ChatModel>> {
    let made = match choice {
        ModelChoice::Route { route, model } => {
            route.model_endpoint(HttpClient::new(HttpSettings::default()), model)
        }
        ModelChoice::Direct { direct, model } => endpoint_at(direct, model),
    };
    let endpoint = made.map_err(|error| {
        let trouble = CliError::new(clean(&error.to_string()));
        match error {
            ModelEndpointError::Address { hint, .. } => trouble.help(hint),
            _ => trouble,
        }
    })?;
    Ok(Arc::new(endpoint))
}

fn endpoint_at(direct: &DirectEndpoint, model: &str) -> Result<ModelEndpoint, ModelEndpointError> {
    let DirectEndpoint { api, url, key } = direct.clone();
    let needed = |key: Option<SecretText>| key.unwrap_or_else(|| SecretText::new(""));
    match (api, url.as_deref()) {
        (ChatApi::Openai, url) => ModelEndpoint::openai(url.unwrap_or(OPENAI_URL), key, model),
        (ChatApi::Gateway, url) => ModelEndpoint::gateway(url.unwrap_or(GATEWAY_URL), key, model),
        (ChatApi::Deepseek, Some(url)) => ModelEndpoint::openai(url, key, model),
        (ChatApi::Deepseek, None) => ModelEndpoint::deepseek(needed(key), model),
        (ChatApi::Anthropic, Some(url)) => {
            ModelEndpoint::at_address(Format::Anthropic, url, key, model)
        }
        (ChatApi::Anthropic, None) => ModelEndpoint::anthropic(needed(key), model),
        (ChatApi::Gemini, Some(url)) => ModelEndpoint::at_address(Format::Gemini, url, key, model),
        (ChatApi::Gemini, None) => ModelEndpoint::gemini(needed(key), model),
        (ChatApi::Scripted, _) => Ok(ModelEndpoint::scripted(model)),
    }
}

/// Makes the tools of a folder, and starts the servers that have more.
pub(crate) async fn build_tools(
    root: &Path,
    wanted: &ChatToolOptions,
) -> anyhow::Result<ChatToolSet> {
    let workspace = ToolWorkspace::open(root).map_err(|error| {
        CliError::new(clean(&error.to_string())).help("`--root FOLDER` names another")
    })?;
    let mut all = Toolbox::new();
    let settings =
        CommandSettings { passed_variables: wanted.pass_env.clone(), launcher: launcher() };
    for tool in workspace.tools_with(ToolLimits::default(), &settings) {
        add_tool(&mut all, tool)?;
    }
    let mut tools = match &wanted.names {
        None => all,
        Some(names) => select_tools(&all, names)?,
    };
    let servers = connect_servers(root, parse_servers(wanted)?).await?;
    let mut notes = Vec::new();
    for server in &servers {
        for tool in server.tools() {
            add_tool(&mut tools, tool)?;
        }
        let name = clean(server.name());
        notes.extend(server.notes().iter().map(|note| format!("{name}: {}", clean(note))));
    }
    if wanted.read_only {
        tools = select_read_only(&tools)?;
    }
    Ok(ChatToolSet { tools, servers, notes })
}

/// This program, which stands between us and the commands that tools run.
fn launcher() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|program| program.is_file())
}

/// What there is to say about tools that a model's provider does not take.
pub(crate) fn left_out_tools_note(tools: &Toolbox, about: &ModelDescription) -> Option<String> {
    let most = max_tools(about.profile)?;
    let left: Vec<String> =
        tools.left_out(most).map(|tool| format!("`{}`", clean(&tool.spec().name))).collect();
    if left.is_empty() {
        return None;
    }
    let named = left.get(..MAX_NAMED_TOOLS).unwrap_or(&left).join(", ");
    let more = match left.len().saturating_sub(MAX_NAMED_TOOLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "there are {} tools, and the provider takes {most}: built-in ones come first, then those of \
         the servers in their order; left out: {named}{more}; `\"tools\": [\"NAME\"]` beside a \
         server in --mcp-config says which of its tools are wanted",
        tools.len()
    ))
}

/// The servers that were named.
fn parse_servers(wanted: &ChatToolOptions) -> Result<Vec<McpServer>, CliError> {
    let told =
        |error: McpConfigError, help: &str| CliError::new(clean(&error.to_string())).help(help);
    let mut servers = Vec::new();
    for line in &wanted.mcp {
        let help = "`--mcp files='npx server-files .'`, or `--mcp wiki=https://…/mcp`";
        servers.push(mcp::config::parse_line(line).map_err(|error| told(error, help))?);
    }
    if let Some(text) = &wanted.mcp_config {
        let lookup = |name: &str| std::env::var(name).ok();
        let help = "a file has `{\"mcpServers\": {\"NAME\": {\"command\": \"…\"}}}`";
        servers.extend(mcp::config::parse(text, &lookup).map_err(|error| told(error, help))?);
    }
    Ok(servers)
}

/// Starts them, all at once.
async fn connect_servers(
    root: &Path,
    servers: Vec<McpServer>,
) -> anyhow::Result<Vec<McpConnection>> {
    let around = McpEnvironment { root: Some(root.to_owned()), ..McpEnvironment::default() };
    let mut starting = JoinSet::new();
    for (place, server) in servers.into_iter().enumerate() {
        let around = around.clone();
        let help = match &server.transport {
            McpTransport::Stdio { .. } => "try its command by hand; without it: leave it out",
            McpTransport::Http { .. } => {
                "is it running, and is this its whole address? It mostly ends in `/mcp`; without \
                 it: leave it out"
            }
        };
        starting.spawn(async move { (place, help, mcp::connect(&server, &around).await) });
    }
    let mut ready = Vec::new();
    while let Some(started) = starting.join_next().await {
        let (place, help, connected) = started?;
        let connected =
            connected.map_err(|error| CliError::new(clean(&error.to_string())).help(help))?;
        ready.push((place, connected));
    }
    ready.sort_by_key(|(place, _)| *place);
    Ok(ready.into_iter().map(|(_, connected)| connected).collect())
}

/// Those that are named.
fn select_tools(all: &Toolbox, names: &[String]) -> anyhow::Result<Toolbox> {
    let mut toolbox = Toolbox::new();
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    if names == ["none"] {
        return Ok(toolbox);
    }
    for name in names {
        let tool = all.get(name).ok_or_else(|| no_tool_error(name, all))?;
        // Named twice is named once.
        if toolbox.get(name).is_none() {
            add_tool(&mut toolbox, Arc::clone(tool))?;
        }
    }
    Ok(toolbox)
}

/// Those that change nothing.
fn select_read_only(all: &Toolbox) -> anyhow::Result<Toolbox> {
    let mut toolbox = Toolbox::new();
    for tool in all.iter().filter(|tool| tool.spec().effect == ToolEffect::Reads) {
        add_tool(&mut toolbox, Arc::clone(tool))?;
    }
    Ok(toolbox)
}

fn add_tool(toolbox: &mut Toolbox, tool: Arc<dyn Tool>) -> anyhow::Result<()> {
    toolbox.add(tool).map_err(|taken| {
        let name = clean(&taken.0);
        CliError::new(format!("two tools are called `{name}`"))
            .help("give the MCP server another name: `--mcp NAME=…`")
            .into()
    })
}
