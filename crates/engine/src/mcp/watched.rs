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

use foxwedge_tools::Output;
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
const LONGEST: usize = 2_000;

/// What is heard.
#[derive(Debug, Default)]
pub(super) struct Ear {
    calls: Mutex<HashMap<ProgressToken, Output>>,
    changed: AtomicBool,
}

impl Ear {
    /// Whether there is a new list of tools since the last time.
    pub(super) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// Whether there is a new list of tools.
    pub(super) fn is_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// A call is over.
    pub(super) fn forget(&self, token: &ProgressToken) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    fn expect(&self, token: ProgressToken, output: Output) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(token, output);
    }

    fn progress(&self, said: &ProgressNotificationParam) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = calls.get(&said.progress_token).cloned() else { return };
        drop(calls);
        output.push(told(said).as_bytes());
    }
}

fn told(said: &ProgressNotificationParam) -> String {
    let far = match said.total {
        Some(total) => format!("{}/{total}", said.progress),
        None => said.progress.to_string(),
    };
    let message: String = said.message.iter().flat_map(|it| it.chars()).take(LONGEST).collect();
    if message.is_empty() { format!("{far}\n") } else { format!("{far} {message}\n") }
}

/// A way to a server that is listened to.
pub(super) struct Watched<T> {
    pub(super) way: T,
    pub(super) ear: Arc<Ear>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
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
            && let Some(output) = call.extensions().get::<Output>()
            && let Some(token) = request.request.get_meta().get_progress_token()
        {
            self.ear.expect(token, output.clone());
        }
        self.way.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.way.receive().await?;
            let JsonRpcMessage::Notification(heard) = &message else { return Some(message) };
            match &heard.notification {
                ServerNotification::ProgressNotification(said) => self.ear.progress(&said.params),
                ServerNotification::ToolListChangedNotification(_) => {
                    self.ear.changed.store(true, Ordering::Relaxed);
                }
                _ => return Some(message),
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), T::Error>> + Send {
        self.way.close()
    }
}
