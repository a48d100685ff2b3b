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
    mut invocation: ToolInvocation<'_>,
    max_text: usize,
) -> Result<ToolCallResult, McpCallError> {
    let mut params = CallToolRequestParams::new(tool.to_owned());
    params.arguments = Some(invocation.input.as_object().cloned().unwrap_or_default());
    let mut request = CallToolRequest::new(params);
    request.extensions.insert(invocation.output.clone());
    let request = ClientRequest::CallToolRequest(request);
    let options = PeerRequestOptions::no_options();
    let handle = match session.peer.send_request_with_option(request, options).await {
        Ok(handle) => handle,
        Err(error) => return Err(session.call_error(error).await),
    };
    let mut call =
        PendingToolCall { handle: Some(handle), notifications: Arc::clone(&session.notifications) };
    let response = tokio::select! {
        biased;
        response = call.wait_for_result() => response,
        () = invocation.stop.wait_for(StopLevel::Graceful) => {
            return Ok(stop_call(&mut call, session, max_text).await);
        }
    };
    match response {
        Ok(result) => Ok(tool_result::read_result(&result_value(result), max_text)),
        Err(error) => Err(session.call_error(error).await),
    }
}

/// Cancels the call. A result that arrives soon after still counts.
async fn stop_call(
    call: &mut PendingToolCall,
    session: &McpSession,
    max_text: usize,
) -> ToolCallResult {
    if let Some(id) = call.handle.as_ref().map(|handle| handle.id.clone()) {
        send_cancelled(session.peer.clone(), id);
    }
    let late = match timeout(CANCEL_GRACE, call.wait_for_result()).await {
        Ok(Ok(result)) => tool_result::read_result(&result_value(result), max_text),
        Ok(Err(ServiceError::McpError(error))) => ToolCallResult::failed(error.message),
        Ok(Err(_)) | Err(_) => {
            ToolCallResult::failed("the call was stopped before a result arrived")
        }
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
    let params = json!({"requestId": id, "reason": "the client stopped the call"});
    let notification = CustomNotification::new("notifications/cancelled", Some(params));
    tokio::spawn(async move {
        let notification = ClientNotification::CustomNotification(notification);
        let _ = timeout(NOTIFY_TIMEOUT, peer.send_notification(notification)).await;
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
        let response = (&mut handle.rx).await;
        self.notifications.remove_call(&handle.progress_token);
        self.handle = None;
        response.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for PendingToolCall {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.notifications.remove_call(&handle.progress_token);
        // Without a runtime there is no server either.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let cancel =
                    handle.cancel(Some("the client no longer waits for the result".to_owned()));
                let _ = timeout(NOTIFY_TIMEOUT, cancel).await;
            });
        }
    }
}

/// The result if the server is unavailable.
pub(super) fn failed_result(server: &str, error: &McpCallError) -> ToolCallResult {
    match error {
        McpCallError::Reported(message) => ToolCallResult::failed(message.clone()),
        McpCallError::Exited(message) => {
            ToolCallResult::failed(format!("the MCP server `{server}` is gone: {message}"))
        }
    }
}

/// The result if the call was never sent.
pub(super) fn not_started_result() -> ToolCallResult {
    let content = ToolResultContent::Text("the call was stopped before it started".to_owned());
    ToolCallResult { completion: ToolCompletion::Stopped, content }
}
