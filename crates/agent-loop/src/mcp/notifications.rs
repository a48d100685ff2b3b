//! Notifications of a server, in the order in which it sends them: progress goes to the tool call
//! that it belongs to, and a changed tool list is marked.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::Arc,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use foxwedge_tools::OutputCapture;
use rmcp::{
    RoleClient,
    model::{
        ClientRequest, GetExtensions as _, GetMeta as _, JsonRpcMessage, ProgressNotificationParam,
        ProgressToken, ServerNotification,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};

/// Maximum characters of one progress message.
const MAX_PROGRESS_CHARS: usize = 2_000;

/// State from notifications of one server.
#[derive(Debug, Default)]
pub(super) struct ServerNotifications {
    calls: Mutex<HashMap<ProgressToken, OutputCapture>>,
    tools_changed: AtomicBool,
}

impl ServerNotifications {
    /// Whether the tool list changed since the last call of this.
    pub(super) fn take_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::Relaxed)
    }

    /// Whether the tool list changed.
    pub(super) fn is_changed(&self) -> bool {
        self.tools_changed.load(Ordering::Relaxed)
    }

    /// Forgets a finished call.
    pub(super) fn remove_call(&self, token: &ProgressToken) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    fn add_call(&self, token: ProgressToken, output: OutputCapture) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(token, output);
    }

    fn forward_progress(&self, progress: &ProgressNotificationParam) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = calls.get(&progress.progress_token).cloned() else { return };
        drop(calls);
        output.push(format_progress(progress).as_bytes());
    }
}

fn format_progress(progress: &ProgressNotificationParam) -> String {
    let position = match progress.total {
        Some(total) => format!("{}/{total}", progress.progress),
        None => progress.progress.to_string(),
    };
    let message: String =
        progress.message.iter().flat_map(|it| it.chars()).take(MAX_PROGRESS_CHARS).collect();
    if message.is_empty() { format!("{position}\n") } else { format!("{position} {message}\n") }
}

/// A transport whose notifications are read on the way.
pub(super) struct TappedTransport<T> {
    pub(super) transport: T,
    pub(super) notifications: Arc<ServerNotifications>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for TappedTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        "mcp".into()
    }

    /// The output of a call is registered when its request is sent, so that no progress can arrive
    /// earlier.
    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item
            && let ClientRequest::CallToolRequest(call) = &request.request
            && let Some(output) = call.extensions().get::<OutputCapture>()
            && let Some(token) = request.request.get_meta().get_progress_token()
        {
            self.notifications.add_call(token, output.clone());
        }
        self.transport.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.transport.receive().await?;
            let JsonRpcMessage::Notification(notification) = &message else { return Some(message) };
            match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    self.notifications.forward_progress(&progress.params)
                }
                ServerNotification::ToolListChangedNotification(_) => {
                    self.notifications.tools_changed.store(true, Ordering::Relaxed);
                }
                _ => return Some(message),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.transport.close()
    }
}
