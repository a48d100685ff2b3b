//! One tool call: sent, possibly stopped, completed.

use std::{sync::Arc, time::Duration};

use foxwedge_tools::{
    StopLevel, ToolCallResult, ToolCompletion, ToolInvocation, ToolResultContent,
};
use rmcp::{
    Peer, RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, ClientNotification, ClientRequest,
        CustomNotification, RequestId, ServerResult,
    },
    service::{PeerRequestOptions, RequestHandle, ServiceError},
};
use serde_json::json;
use tokio::{runtime::Handle, time::timeout};

use super::{
    notifications::ServerNotifications,
    session::{McpCallError, McpSession, result_value},
    tool_result,
};

/// How long a cancelled call may still return a result: a little less than the loop waits for its
/// tools.
const CANCEL_GRACE: Duration = Duration::from_millis(800);
/// Timeout for sending a cancellation.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// Calls a tool by the name that its server gave it.
pub(super) async fn call_tool(
    session: &McpSession,
    tool: &str,
    mut work: ToolInvocation<'_>,
    most: usize,
) -> Result<ToolCallResult, McpCallError> {
    let mut params = CallToolRequestParams::new(tool.to_owned());
    params.arguments = Some(work.input.as_object().cloned().unwrap_or_default());
    let mut request = CallToolRequest::new(params);
    request.extensions.insert(work.output.clone());
    let request = ClientRequest::CallToolRequest(request);
    let options = PeerRequestOptions::no_options();
    let asked = match session.peer.send_request_with_option(request, options).await {
        Ok(handle) => handle,
        Err(error) => return Err(session.call_error(error).await),
    };
    let mut asked =
        PendingToolCall { handle: Some(asked), notifications: Arc::clone(&session.notifications) };
    let answer = tokio::select! {
        biased;
        answer = asked.wait_for_result() => answer,
        () = work.stop.wait_for(StopLevel::Graceful) => {
            return Ok(stop_call(&mut asked, session, most).await);
        }
    };
    match answer {
        Ok(result) => Ok(tool_result::read_result(&result_value(result), most)),
        Err(error) => Err(session.call_error(error).await),
    }
}

/// Cancels the call. A result that arrives soon after still counts.
async fn stop_call(
    asked: &mut PendingToolCall,
    session: &McpSession,
    most: usize,
) -> ToolCallResult {
    if let Some(id) = asked.handle.as_ref().map(|handle| handle.id.clone()) {
        send_cancelled(session.peer.clone(), id);
    }
    let late = match timeout(CANCEL_GRACE, asked.wait_for_result()).await {
        Ok(Ok(result)) => tool_result::read_result(&result_value(result), most),
        Ok(Err(ServiceError::McpError(error))) => ToolCallResult::failed(error.message),
        Ok(Err(_)) | Err(_) => ToolCallResult::failed("it was stopped before it answered"),
    };
    match late.completion {
        ToolCompletion::Done => late,
        ToolCompletion::Failed | ToolCompletion::Stopped => {
            ToolCallResult { completion: ToolCompletion::Stopped, ..late }
        }
    }
}

/// Sends a cancellation. Does not use rmcp's own cancel, which would discard a result that still
/// arrives.
fn send_cancelled(peer: Peer<RoleClient>, id: RequestId) {
    let params = json!({"requestId": id, "reason": "it was asked to stop"});
    let told = CustomNotification::new("notifications/cancelled", Some(params));
    tokio::spawn(async move {
        let told = peer.send_notification(ClientNotification::CustomNotification(told));
        let _ = timeout(NOTIFY_TIMEOUT, told).await;
    });
}

/// A pending request. Dropping it sends a cancellation.
struct PendingToolCall {
    handle: Option<RequestHandle<RoleClient>>,
    notifications: Arc<ServerNotifications>,
}

impl PendingToolCall {
    /// Waits for the response. Cancel safe.
    async fn wait_for_result(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await;
        self.notifications.remove_call(&handle.progress_token);
        self.handle = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for PendingToolCall {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.notifications.remove_call(&handle.progress_token);
        // Without a runtime there is no server either.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let told = handle.cancel(Some("nobody waits for it any more".to_owned()));
                let _ = timeout(NOTIFY_TIMEOUT, told).await;
            });
        }
    }
}

/// The result if the server is unavailable.
pub(super) fn failed_result(server: &str, trouble: &McpCallError) -> ToolCallResult {
    match trouble {
        McpCallError::Reported(words) => ToolCallResult::failed(words.clone()),
        McpCallError::Exited(words) => {
            ToolCallResult::failed(format!("the MCP server `{server}` is gone: {words}"))
        }
    }
}

/// The result if the call was never sent.
pub(super) fn not_started_result() -> ToolCallResult {
    let content = ToolResultContent::Text("it was stopped before it began".to_owned());
    ToolCallResult { completion: ToolCompletion::Stopped, content }
}
