//! What lies outside: models, tools and MCP servers. Nothing else here makes one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use foxwedge_core::Wire;
use foxwedge_engine::{
    Secret,
    http::{Client, Settings},
    mcp::{self, Connected, How, Server, Surroundings, config::McpConfigError},
    model::{Endpoint, EndpointError, Model, ModelAbout, most_tools},
};
use foxwedge_tools::{CommandSettings, Effect, Limits, Tool, Toolbox, Workspace};
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

/// Tools that are left out and named.
const NAMED: usize = 3;

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
    /// Variables that commands see beside the usual ones.
    pub(crate) pass_env: Vec<String>,
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
    let settings = CommandSettings { pass: wanted.pass_env.clone(), launcher: launcher() };
    for tool in workspace.tools_with(Limits::default(), &settings) {
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

/// This program, which stands between us and the commands that tools run.
fn launcher() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|program| program.is_file())
}

/// What there is to say about tools that a model's provider does not take.
pub(crate) fn left_out(tools: &Toolbox, about: &ModelAbout) -> Option<String> {
    let most = most_tools(about.profile)?;
    let left: Vec<String> =
        tools.left_out(most).map(|tool| format!("`{}`", clean(&tool.about().name))).collect();
    if left.is_empty() {
        return None;
    }
    let named = left.get(..NAMED).unwrap_or(&left).join(", ");
    let more = match left.len().saturating_sub(NAMED) {
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
        let help = match &server.how {
            How::Stdio { .. } => "try its command by hand; without it: leave it out",
            How::Http { .. } => {
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
