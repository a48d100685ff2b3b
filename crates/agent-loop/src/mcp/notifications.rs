//! Listens to what a server says beside its answers, in the order in which it says it: progress goes
//! to the call that it belongs to, and a new list of tools is noticed.

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

/// Signs of one word of progress.
const MAX_PROGRESS_CHARS: usize = 2_000;

/// What is heard.
#[derive(Debug, Default)]
pub(super) struct ServerNotifications {
    calls: Mutex<HashMap<ProgressToken, OutputCapture>>,
    tools_changed: AtomicBool,
}

impl ServerNotifications {
    /// Whether there is a new list of tools since the last time.
    pub(super) fn take_changed(&self) -> bool {
        self.tools_changed.swap(false, Ordering::Relaxed)
    }

    /// Whether there is a new list of tools.
    pub(super) fn is_changed(&self) -> bool {
        self.tools_changed.load(Ordering::Relaxed)
    }

    /// A call is over.
    pub(super) fn remove_call(&self, token: &ProgressToken) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    fn add_call(&self, token: ProgressToken, output: OutputCapture) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(token, output);
    }

    fn forward_progress(&self, said: &ProgressNotificationParam) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = calls.get(&said.progress_token).cloned() else { return };
        drop(calls);
        output.push(format_progress(said).as_bytes());
    }
}

fn format_progress(said: &ProgressNotificationParam) -> String {
    let far = match said.total {
        Some(total) => format!("{}/{total}", said.progress),
        None => said.progress.to_string(),
    };
    let message: String =
        said.message.iter().flat_map(|it| it.chars()).take(MAX_PROGRESS_CHARS).collect();
    if message.is_empty() { format!("{far}\n") } else { format!("{far} {message}\n") }
}

/// A way to a server that is listened to.
pub(super) struct TappedTransport<T> {
    pub(super) transport: T,
    pub(super) notifications: Arc<ServerNotifications>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for TappedTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        "mcp".into()
    }

    /// The output of a call travels with its request, so that nothing can be said before somebody
    /// listens.
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
            let JsonRpcMessage::Notification(heard) = &message else { return Some(message) };
            match &heard.notification {
                ServerNotification::ProgressNotification(said) => {
                    self.notifications.forward_progress(&said.params)
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
