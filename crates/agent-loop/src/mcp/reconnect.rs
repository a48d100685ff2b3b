//! A server that may die and begin again, and its tools.

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

/// The server behind all its tools.
#[derive(Debug)]
pub(super) struct ServerLink {
    pub(super) server: McpServer,
    pub(super) environment: McpEnvironment,
    session: Mutex<Option<Arc<McpSession>>>,
    /// Held by whoever starts it again, for as long as that takes: nobody else starts it meanwhile.
    starting: tokio::sync::Mutex<()>,
    closed: AtomicBool,
    /// It began again, so its tools may be others.
    restarted: AtomicBool,
}

impl ServerLink {
    pub(super) fn new(
        server: McpServer,
        around: McpEnvironment,
        session: McpSession,
    ) -> ServerLink {
        ServerLink {
            server,
            environment: around,
            session: Mutex::new(Some(Arc::new(session))),
            starting: tokio::sync::Mutex::new(()),
            closed: AtomicBool::new(false),
            restarted: AtomicBool::new(false),
        }
    }

    /// The session that is there; one that is over is started again, once.
    pub(super) async fn session(&self) -> Result<Arc<McpSession>, McpError> {
        if let Some(session) = self.live_session()? {
            return Ok(session);
        }
        let _turn = self.starting.lock().await;
        if let Some(session) = self.live_session()? {
            return Ok(session);
        }
        let deadline = Instant::now() + self.environment.start_timeout;
        let fresh = Arc::new(McpSession::open(&self.server, &self.environment, deadline).await?);
        self.restarted.store(true, Ordering::Relaxed);
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have closed everything meanwhile; then the fresh one ends here.
        self.check_open()?;
        *session = Some(Arc::clone(&fresh));
        Ok(fresh)
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

    /// Nothing can be asked from now on. The session that was there, for its end.
    pub(super) fn close(&self) -> Option<Arc<McpSession>> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Ordering::SeqCst);
        session.take()
    }

    /// Whether its tools may be others than those that were read.
    pub(super) fn has_changed_tools(&self) -> bool {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let told = session.as_ref().is_some_and(|session| session.notifications.is_changed());
        told || self.restarted.load(Ordering::Relaxed)
    }

    /// The same, and they are about to be read.
    pub(super) fn clear_changed(&self, session: &McpSession) {
        session.notifications.take_changed();
        self.restarted.store(false, Ordering::Relaxed);
    }
}

/// A tool of a server.
pub(super) struct McpTool {
    about: ToolSpec,
    /// As the server calls it.
    server_name: String,
    link: Arc<ServerLink>,
}

impl McpTool {
    pub(super) fn new(listed: ListedTool, link: &Arc<ServerLink>) -> McpTool {
        let ListedTool { server_name: own, name, description, schema, effect } = listed;
        let about = ToolSpec {
            name: name.into(),
            description: description.into(),
            schema,
            effect,
            limit: link.server.call_timeout,
        };
        McpTool { about, server_name: own, link: Arc::clone(link) }
    }

    async fn call_server(&self, work: ToolInvocation<'_>) -> ToolCallResult {
        let mut stop = work.stop.clone();
        let session = tokio::select! {
            biased;
            () = stop.wait_for(StopLevel::Graceful) => return not_started_result(),
            session = self.link.session() => match session {
                Ok(session) => session,
                Err(error) => return ToolCallResult::failed(error.to_string()),
            },
        };
        match call_tool(&session, &self.server_name, work, self.link.environment.max_result_text)
            .await
        {
            Ok(answer) => answer,
            Err(trouble) => failed_result(&self.link.server.name, &trouble),
        }
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.about
    }

    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        Box::pin(self.call_server(work))
    }
}
