//! What lies outside: models, tools and MCP servers. Nothing else here makes one.

use std::{path::Path, sync::Arc};

use foxwedge_core::Wire;
use foxwedge_engine::{
    Secret,
    http::{Client, Settings},
    mcp::{self, Connected, Server, Surroundings, config::McpConfigError},
    model::{Endpoint, EndpointError, Model},
};
use foxwedge_tools::{Effect, Limits, Tool, Toolbox, Workspace};
use tokio::task::JoinSet;

use super::{
    approval::no_tool,
    models::{Choice, Direct},
};
use crate::{
    cli::Api,
    say::{Trouble, clean},
};

/// Where OpenAI is.
const OPENAI: &str = "https://api.openai.com/v1";
/// Where a gateway of ours is, if nobody moved it.
const GATEWAY: &str = "http://127.0.0.1:4177/v1";

/// Which tools are offered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Built-in tools by name; all of them without.
    pub(crate) names: Option<Vec<String>>,
    /// Only what changes nothing.
    pub(crate) read_only: bool,
    /// MCP servers as they are typed: `NAME=COMMAND` or `NAME=URL`.
    pub(crate) mcp: Vec<String>,
    /// What a file lists under `mcpServers`.
    pub(crate) mcp_config: Option<String>,
}

/// The tools that are offered, and the servers that some of them belong to.
pub(crate) struct Outside {
    pub(crate) tools: Toolbox,
    servers: Vec<Connected>,
    /// What there is to say about them.
    pub(crate) notes: Vec<String>,
}

impl Outside {
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
pub(crate) fn model(choice: &Choice) -> anyhow::Result<Arc<dyn Model>> {
    let made = match choice {
        Choice::Route { route, model } => {
            Endpoint::of_route(Client::new(Settings::default()), Arc::clone(route), model)
        }
        Choice::Direct { direct, model } => at(direct, model),
    };
    let endpoint = made.map_err(|error| {
        let trouble = Trouble::new(clean(&error.to_string()));
        match error {
            EndpointError::Address { hint, .. } => trouble.help(hint),
            _ => trouble,
        }
    })?;
    Ok(Arc::new(endpoint))
}

fn at(direct: &Direct, model: &str) -> Result<Endpoint, EndpointError> {
    let Direct { api, url, key } = direct.clone();
    let needed = |key: Option<Secret>| key.unwrap_or_else(|| Secret::new(""));
    match (api, url.as_deref()) {
        (Api::Openai, url) => Endpoint::openai(url.unwrap_or(OPENAI), key, model),
        (Api::Gateway, url) => Endpoint::gateway(url.unwrap_or(GATEWAY), key, model),
        (Api::Deepseek, Some(url)) => Endpoint::openai(url, key, model),
        (Api::Deepseek, None) => Endpoint::deepseek(needed(key), model),
        (Api::Anthropic, Some(url)) => Endpoint::at(Wire::Anthropic, url, key, model),
        (Api::Anthropic, None) => Endpoint::anthropic(needed(key), model),
        (Api::Gemini, Some(url)) => Endpoint::at(Wire::Gemini, url, key, model),
        (Api::Gemini, None) => Endpoint::gemini(needed(key), model),
        (Api::Scripted, _) => Ok(Endpoint::scripted(model)),
    }
}

/// Makes the tools of a folder, and starts the servers that have more.
pub(crate) async fn tools(root: &Path, wanted: &Wanted) -> anyhow::Result<Outside> {
    let workspace = Workspace::open(root).map_err(|error| {
        Trouble::new(clean(&error.to_string())).help("`--root FOLDER` names another")
    })?;
    let mut all = Toolbox::new();
    for tool in workspace.tools(Limits::default()) {
        add(&mut all, tool)?;
    }
    let mut tools = match &wanted.names {
        None => all,
        Some(names) => some(&all, names)?,
    };
    let servers = connect(root, servers(wanted)?).await?;
    let mut notes = Vec::new();
    for server in &servers {
        for tool in server.tools() {
            add(&mut tools, tool)?;
        }
        let name = clean(server.name());
        notes.extend(server.notes().iter().map(|note| format!("{name}: {}", clean(note))));
    }
    if wanted.read_only {
        tools = reading(&tools)?;
    }
    Ok(Outside { tools, servers, notes })
}

/// The servers that were named.
fn servers(wanted: &Wanted) -> Result<Vec<Server>, Trouble> {
    let told =
        |error: McpConfigError, help: &str| Trouble::new(clean(&error.to_string())).help(help);
    let mut servers = Vec::new();
    for line in &wanted.mcp {
        let help = "`--mcp files='npx server-files .'`, or `--mcp wiki=https://…/mcp`";
        servers.push(mcp::config::short(line).map_err(|error| told(error, help))?);
    }
    if let Some(text) = &wanted.mcp_config {
        let lookup = |name: &str| std::env::var(name).ok();
        let help = "a file has `{\"mcpServers\": {\"NAME\": {\"command\": \"…\"}}}`";
        servers.extend(mcp::config::parse(text, &lookup).map_err(|error| told(error, help))?);
    }
    Ok(servers)
}

/// Starts them, all at once.
async fn connect(root: &Path, servers: Vec<Server>) -> anyhow::Result<Vec<Connected>> {
    let around = Surroundings { root: Some(root.to_owned()), ..Surroundings::default() };
    let mut starting = JoinSet::new();
    for (place, server) in servers.into_iter().enumerate() {
        let around = around.clone();
        starting.spawn(async move { (place, mcp::connect(&server, &around).await) });
    }
    let mut ready = Vec::new();
    while let Some(started) = starting.join_next().await {
        let (place, connected) = started?;
        let help = "try its command by hand; without it: leave it out";
        let connected =
            connected.map_err(|error| Trouble::new(clean(&error.to_string())).help(help))?;
        ready.push((place, connected));
    }
    ready.sort_by_key(|(place, _)| *place);
    Ok(ready.into_iter().map(|(_, connected)| connected).collect())
}

/// Those that are named.
fn some(all: &Toolbox, names: &[String]) -> anyhow::Result<Toolbox> {
    let mut toolbox = Toolbox::new();
    let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
    let names: Vec<&str> = names.collect();
    if names == ["none"] {
        return Ok(toolbox);
    }
    for name in names {
        let tool = all.get(name).ok_or_else(|| no_tool(name, all))?;
        // Named twice is named once.
        if toolbox.get(name).is_none() {
            add(&mut toolbox, Arc::clone(tool))?;
        }
    }
    Ok(toolbox)
}

/// Those that change nothing.
fn reading(all: &Toolbox) -> anyhow::Result<Toolbox> {
    let mut toolbox = Toolbox::new();
    for tool in all.iter().filter(|tool| tool.about().effect == Effect::Reads) {
        add(&mut toolbox, Arc::clone(tool))?;
    }
    Ok(toolbox)
}

fn add(toolbox: &mut Toolbox, tool: Arc<dyn Tool>) -> anyhow::Result<()> {
    toolbox.add(tool).map_err(|taken| {
        let name = clean(&taken.0);
        Trouble::new(format!("two tools are called `{name}`"))
            .help("give the MCP server another name: `--mcp NAME=…`")
            .into()
    })
}
