//! Builds models, tools and MCP connections. Only this module of `chat` creates them.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use foxwedge_agent_loop::mcp::{
    self, McpConnection, McpEnvironment, McpError, McpServer, McpTransport, config::McpConfigError,
};
use foxwedge_core::Format;
use foxwedge_tools::{CommandSettings, Tool, ToolEffect, ToolLimits, ToolWorkspace, Toolbox};
use foxwedge_upstream::{
    SecretText,
    http::{HttpClient, HttpSettings, NetworkConfig},
    model::{ChatModel, ModelDescription, ModelEndpoint, ModelEndpointError, max_tools},
};
use tokio::task::JoinSet;

use super::{
    approval::no_tool_error,
    file_journal::FileJournal,
    mcp_login,
    models::{DirectEndpoint, ModelChoice},
};
use crate::ChatApi;
use foxwedge_local::output::{HelpfulError, clean};

/// Base URL of OpenAI.
const OPENAI_URL: &str = "https://api.openai.com/v1";
/// Default base URL of a Foxwedge gateway.
const GATEWAY_URL: &str = "http://127.0.0.1:4177/v1";

/// How long a rate limit or an overloaded provider is outlasted.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Maximum number of omitted tools named in a note.
const MAX_NAMED_TOOLS: usize = 3;

/// Selects the tools that are offered to the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChatToolOptions {
    /// Names of built-in tools; `None` for all of them.
    pub(crate) names: Option<Vec<String>>,
    /// Only tools that change nothing.
    pub(crate) read_only: bool,
    /// MCP servers from flags: `NAME=COMMAND` or `NAME=URL`.
    pub(crate) mcp: Vec<String>,
    /// Content of a file that lists MCP servers under `mcpServers`.
    pub(crate) mcp_config: Option<String>,
    /// MCP servers of an editor, in the same form.
    pub(crate) client_servers: Option<String>,
    /// Additional environment variables that commands receive.
    pub(crate) pass_env: Vec<String>,
    /// Whether a user is there who can log in at a server.
    pub(crate) is_attended: bool,
}

/// The offered tools, and the MCP servers that some of them belong to.
pub(crate) struct ChatToolSet {
    pub(crate) tools: Toolbox,
    /// The folder that the built-in tools work in.
    pub(crate) workspace: ToolWorkspace,
    /// What they change in it.
    pub(crate) journal: Arc<FileJournal>,
    /// Runs commands, also if the model may not.
    pub(crate) shell: Option<Arc<dyn Tool>>,
    servers: Vec<McpConnection>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl ChatToolSet {
    /// Closes the servers: asks first, then by force.
    pub(crate) async fn close(self) {
        let mut ending = JoinSet::new();
        for server in self.servers {
            ending.spawn(server.close());
        }
        ending.join_all().await;
    }
}

/// Builds the chosen model.
pub(crate) fn build_model(
    choice: &ModelChoice,
    network: &NetworkConfig,
) -> anyhow::Result<Arc<dyn ChatModel>> {
    let client = HttpClient::new(HttpSettings::default()).with_network(network);
    let result = match choice {
        ModelChoice::Route { route, model } => route.model_endpoint(client, model),
        ModelChoice::Direct { direct, model } => {
            endpoint_at(direct, model).map(|endpoint| endpoint.with_client(client))
        }
    };
    let patient = |endpoint: ModelEndpoint| endpoint.with_patience(PATIENCE);
    let endpoint = result.map(patient).map_err(|error| {
        let cli_error = HelpfulError::new(clean(&error.to_string()));
        match error {
            ModelEndpointError::Address { hint, .. } => cli_error.help(hint),
            _ => cli_error,
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

/// Builds the tools of a folder and connects the MCP servers.
pub(crate) async fn build_tools(
    root: &Path,
    options: &ChatToolOptions,
    network: &NetworkConfig,
) -> anyhow::Result<ChatToolSet> {
    let workspace = ToolWorkspace::open(root).map_err(|error| {
        HelpfulError::new(clean(&error.to_string()))
            .help("choose another folder with `--root FOLDER`")
    })?;
    let journal = Arc::new(FileJournal::here());
    let workspace = workspace.with_observer(journal.clone());
    let mut all = Toolbox::new();
    let settings =
        CommandSettings { passed_variables: options.pass_env.clone(), launcher: launcher() };
    for tool in workspace.tools_with(ToolLimits::default(), &settings) {
        add_tool(&mut all, tool)?;
    }
    let shell = all.get("run").cloned();
    let mut tools = match &options.names {
        None => all,
        Some(names) => select_tools(&all, names)?,
    };
    let servers =
        connect_servers(root, parse_servers(options)?, network, options.is_attended).await?;
    let mut notes = Vec::new();
    for server in &servers {
        for tool in server.tools() {
            add_tool(&mut tools, tool)?;
        }
        let name = clean(server.name());
        notes.extend(server.notes().iter().map(|note| format!("{name}: {}", clean(note))));
    }
    if options.read_only {
        tools = select_read_only(&tools)?;
    }
    Ok(ChatToolSet { tools, workspace, journal, shell, servers, notes })
}

/// The path of this program, which launches the commands that tools run.
fn launcher() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|program| program.is_file())
}

/// A note about tools over the provider's limit; `None` if all fit.
pub(crate) fn left_out_tools_note(tools: &Toolbox, model: &ModelDescription) -> Option<String> {
    let max = max_tools(model.profile)?;
    let omitted: Vec<String> =
        tools.left_out(max).map(|tool| format!("`{}`", clean(&tool.spec().name))).collect();
    if omitted.is_empty() {
        return None;
    }
    let named = omitted.get(..MAX_NAMED_TOOLS).unwrap_or(&omitted).join(", ");
    let more = match omitted.len().saturating_sub(MAX_NAMED_TOOLS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "there are {} tools, but the provider accepts {max}: built-in tools come first, then those \
         of the MCP servers in order; omitted: {named}{more}; select the tools of a server with \
         `\"tools\": [\"NAME\"]` in --mcp-config",
        tools.len()
    ))
}

/// Parses the MCP servers from the flags and the file.
fn parse_servers(options: &ChatToolOptions) -> Result<Vec<McpServer>, HelpfulError> {
    let mut servers = Vec::new();
    for line in &options.mcp {
        servers.push(mcp::config::parse_line(line).map_err(|error: McpConfigError| {
            HelpfulError::new(clean(&error.to_string()))
                .help("`--mcp files='npx server-files .'`, or `--mcp wiki=https://…/mcp`")
        })?);
    }
    for text in options.mcp_config.iter().chain(&options.client_servers) {
        servers.extend(parse_server_file(text)?);
    }
    Ok(servers)
}

/// Parses a file that lists servers.
pub(crate) fn parse_server_file(text: &str) -> Result<Vec<McpServer>, HelpfulError> {
    let lookup = |name: &str| std::env::var(name).ok();
    mcp::config::parse(text, &lookup).map_err(|error| {
        HelpfulError::new(clean(&error.to_string()))
            .help("the file must contain `{\"mcpServers\": {\"NAME\": {\"command\": \"…\"}}}`")
    })
}

/// Connects all servers concurrently. Returns them in the given order.
async fn connect_servers(
    root: &Path,
    servers: Vec<McpServer>,
    network: &NetworkConfig,
    is_attended: bool,
) -> anyhow::Result<Vec<McpConnection>> {
    let environment = McpEnvironment {
        root: Some(root.to_owned()),
        logins: mcp_login::login_store(),
        ..McpEnvironment::default()
    }
    .with_network(network);
    // One login at a time.
    let browser = Arc::new(tokio::sync::Mutex::new(()));
    let mut starting = JoinSet::new();
    for (index, server) in servers.into_iter().enumerate() {
        let environment = environment.clone();
        let help = match &server.transport {
            McpTransport::Stdio { .. } => "try its command by hand, or remove the server",
            McpTransport::Http { .. } => {
                "check that it is running and that the URL is complete (most end in `/mcp`), or \
                 remove the server"
            }
            McpTransport::Sse { .. } => {
                "check that it is running and that the URL is that of its event stream (most end \
                 in `/sse`); a newer server needs `\"type\": \"http\"`"
            }
        };
        let browser = Arc::clone(&browser);
        starting.spawn(async move {
            let connected = mcp::connect(&server, &environment).await;
            if !is_attended || !matches!(connected, Err(McpError::LoginRequired { .. })) {
                return (index, connected.map_err(|error| connect_error(&error, help)));
            }
            let _guard = browser.lock().await;
            let connected = match mcp_login::log_in_at(&server, &environment).await {
                Ok(()) => mcp::connect(&server, &environment).await,
                Err(error) => return (index, Err(error)),
            };
            (index, connected.map_err(|error| connect_error(&error, help)))
        });
    }
    let mut ready = Vec::new();
    while let Some(started) = starting.join_next().await {
        let (index, connected) = started?;
        ready.push((index, connected?));
    }
    ready.sort_by_key(|(index, _)| *index);
    Ok(ready.into_iter().map(|(_, connected)| connected).collect())
}

fn connect_error(error: &McpError, help: &str) -> HelpfulError {
    let help = match error {
        McpError::LoginRequired { .. } => {
            "`foxwedge mcp login NAME --mcp-config FILE` or `foxwedge mcp login URL` logs in; a key \
             goes into `headers`"
        }
        _ => help,
    };
    HelpfulError::new(clean(&error.to_string())).help(help)
}

/// The tools with these names.
fn select_tools(all: &Toolbox, names: &[String]) -> anyhow::Result<Toolbox> {
    let mut toolbox = Toolbox::new();
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    if names == ["none"] {
        return Ok(toolbox);
    }
    for name in names {
        let tool = all.get(name).ok_or_else(|| no_tool_error(name, all))?;
        // A repeated name counts once.
        if toolbox.get(name).is_none() {
            add_tool(&mut toolbox, Arc::clone(tool))?;
        }
    }
    Ok(toolbox)
}

/// The tools that change nothing.
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
        HelpfulError::new(format!("two tools are named `{name}`"))
            .help("give the MCP server another name: `--mcp NAME=…`")
            .into()
    })
}
