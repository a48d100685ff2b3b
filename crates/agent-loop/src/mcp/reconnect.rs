//! A server that is restarted when it dies, and its tools.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use foxwedge_tools::{StopLevel, Tool, ToolCallResult, ToolFuture, ToolInvocation, ToolSpec};
use tokio::time::Instant;

use super::{
    McpEnvironment, McpError, McpServer,
    session::McpSession,
    tool_call::{call_tool, failed_result, not_started_result},
    tool_list::ListedTool,
};

/// The connection to a server, shared by its tools.
#[derive(Debug)]
pub(super) struct ServerLink {
    pub(super) server: McpServer,
    pub(super) environment: McpEnvironment,
    session: Mutex<Option<Arc<McpSession>>>,
    /// Held during a restart, so that only one task restarts the server.
    starting: tokio::sync::Mutex<()>,
    closed: AtomicBool,
    /// It was restarted, so its tools may have changed.
    restarted: AtomicBool,
}

impl ServerLink {
    pub(super) fn new(
        server: McpServer,
        environment: McpEnvironment,
        session: McpSession,
    ) -> ServerLink {
        ServerLink {
            server,
            environment,
            session: Mutex::new(Some(Arc::new(session))),
            starting: tokio::sync::Mutex::new(()),
            closed: AtomicBool::new(false),
            restarted: AtomicBool::new(false),
        }
    }

    /// The current session. A closed one is opened again, once.
    pub(super) async fn session(&self) -> Result<Arc<McpSession>, McpError> {
        if let Some(session) = self.live_session()? {
            return Ok(session);
        }
        let _guard = self.starting.lock().await;
        if let Some(session) = self.live_session()? {
            return Ok(session);
        }
        let deadline = Instant::now() + self.environment.start_timeout;
        let opened = Arc::new(McpSession::open(&self.server, &self.environment, deadline).await?);
        self.restarted.store(true, Ordering::Relaxed);
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        // If the connection was closed meanwhile, the new session is dropped here.
        self.check_open()?;
        *session = Some(Arc::clone(&opened));
        Ok(opened)
    }

    fn live_session(&self) -> Result<Option<Arc<McpSession>>, McpError> {
        self.check_open()?;
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(session.as_ref().filter(|session| !session.is_closed()).map(Arc::clone))
    }

    fn check_open(&self) -> Result<(), McpError> {
        match self.closed.load(Ordering::SeqCst) {
            true => Err(McpError::Closed { server: self.server.name.clone() }),
            false => Ok(()),
        }
    }

    /// Rejects all further requests. Returns the current session, to be stopped.
    pub(super) fn close(&self) -> Option<Arc<McpSession>> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::SeqCst);
        session.take()
    }

    /// Whether its tools may have changed since they were read.
    pub(super) fn has_changed_tools(&self) -> bool {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let notified = session.as_ref().is_some_and(|session| session.notifications.is_changed());
        notified || self.restarted.load(Ordering::Relaxed)
    }

    /// Clears the mark before the tools are read again.
    pub(super) fn clear_changed(&self, session: &McpSession) {
        session.notifications.take_changed();
        self.restarted.store(false, Ordering::Relaxed);
    }
}

/// A tool of a server.
pub(super) struct McpTool {
    spec: ToolSpec,
    /// Its name at the server.
    server_name: String,
    link: Arc<ServerLink>,
}

impl McpTool {
    pub(super) fn new(listed: ListedTool, link: &Arc<ServerLink>) -> McpTool {
        let ListedTool { server_name, name, description, schema, effect } = listed;
        let spec = ToolSpec {
            name: name.into(),
            description: description.into(),
            schema,
            effect,
            limit: link.server.call_timeout,
        };
        McpTool { spec, server_name, link: Arc::clone(link) }
    }

    async fn call_server(&self, invocation: ToolInvocation<'_>) -> ToolCallResult {
        let mut stop = invocation.stop.clone();
        let session = tokio::select! {
            biased;
            () = stop.wait_for(StopLevel::Graceful) => return not_started_result(),
            session = self.link.session() => match session {
                Ok(session) => session,
                Err(error) => return ToolCallResult::failed(error.to_string()),
            },
        };
        match call_tool(
            &session,
            &self.server_name,
            invocation,
            self.link.environment.max_result_text,
        )
        .await
        {
            Ok(result) => result,
            Err(error) => failed_result(&self.link.server.name, &error),
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        Box::pin(self.call_server(invocation))
    }
}
