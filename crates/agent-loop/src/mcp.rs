//! MCP servers (Model Context Protocol) as tools of the loop: programs on this machine, or servers
//! over HTTP. The official SDK implements the protocol; processes, HTTP and timeouts are our own.
//!
//! A server is not trusted. It may print anything, respond with anything or nothing, and die: its
//! tools then fail with its last output. Every wait has a timeout and every buffer a limit. Its
//! stderr never reaches the terminal.

pub mod config;
mod server;
mod tool_names;
mod tool_list;
mod tool_result;
mod address;
mod process;
mod pipe;
mod events;
mod http_client;
mod sse_transport;
mod login_store;
mod oauth;
mod notifications;
mod client_handler;
mod session;
mod tool_call;
mod reconnect;

use std::sync::{Arc, Mutex, PoisonError};

use foxwedge_tools::Tool;
use tokio::time::Instant;

pub use login_store::LoginStore;
pub use oauth::{LoginError, LoginReport, LogoutOutcome, login, logout};
pub use server::{McpEnvironment, McpError, McpServer, McpTransport, OauthSettings};

use reconnect::{McpTool, ServerLink};
use tool_list::ListedTool;

/// A connected server. Dropping it kills its process group; its tools fail from then on.
pub struct McpConnection {
    link: Arc<ServerLink>,
    offered: Mutex<OfferedTools>,
}

struct OfferedTools {
    tools: Vec<Arc<dyn Tool>>,
    notes: Vec<String>,
}

/// Starts a server or connects to it, and reads its tools.
///
/// # Errors
/// If it cannot be started or reached, is not ready in time, or sends an invalid response.
pub async fn connect(
    server: &McpServer,
    environment: &McpEnvironment,
) -> Result<McpConnection, McpError> {
    let (session, tools, mut notes) = session::open_with_tools(server, environment).await?;
    if let Some(url) = server.transport.url()
        && address::parse(url).is_ok_and(|address| address.unencrypted)
    {
        notes.push(
            "the connection is not encrypted: the address does not start with `https://`"
                .to_owned(),
        );
    }
    let link = Arc::new(ServerLink::new(server.clone(), environment.clone(), session));
    let offered = Mutex::new(OfferedTools::new(&link, tools, notes));
    Ok(McpConnection { link, offered })
}

impl McpConnection {
    /// The configured name of the server.
    pub fn name(&self) -> &str {
        &self.link.server.name
    }

    /// Its tools, as they were read last.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner).tools.clone()
    }

    /// Notes for the user: tools that are left out, and why.
    pub fn notes(&self) -> Vec<String> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner).notes.clone()
    }

    /// Whether its tools may have changed: it sent a notification, or it was restarted.
    pub fn has_changed_tools(&self) -> bool {
        self.link.has_changed_tools()
    }

    /// Reads its tools again.
    ///
    /// # Errors
    /// If it is gone and cannot be restarted, or sends an invalid response.
    pub async fn refresh(&self) -> Result<(), McpError> {
        let session = self.link.session().await?;
        self.link.clear_changed(&session);
        let ServerLink { server, environment, .. } = &*self.link;
        let deadline = Instant::now() + environment.start_timeout;
        let (tools, notes) = session::read_tools(&session, server, environment, deadline).await?;
        let offered = OfferedTools::new(&self.link, tools, notes);
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = offered;
        Ok(())
    }

    /// Stops the server: gracefully first, then by force. Takes a few seconds at most.
    pub async fn close(self) {
        if let Some(session) = self.link.close() {
            session.stop().await;
        }
    }
}

impl Drop for McpConnection {
    fn drop(&mut self) {
        if let Some(session) = self.link.close() {
            session.kill();
        }
    }
}

impl std::fmt::Debug for McpConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("McpConnection")
            .field("server", &self.link.server)
            .finish_non_exhaustive()
    }
}

impl OfferedTools {
    fn new(link: &Arc<ServerLink>, tools: Vec<ListedTool>, notes: Vec<String>) -> OfferedTools {
        let tool = |listed| Arc::new(McpTool::new(listed, link)) as Arc<dyn Tool>;
        OfferedTools { tools: tools.into_iter().map(tool).collect(), notes }
    }
}
