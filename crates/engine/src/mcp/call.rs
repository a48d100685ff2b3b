//! One call of a tool: asked, perhaps stopped, answered.

use std::{sync::Arc, time::Duration};

use foxwedge_tools::{Answer, Content, How, Stage, Work};
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
    answer,
    session::{Session, Trouble, value},
    watched::Ear,
};

/// How long a server that was asked to stop may take to answer all the same: a little less than the
/// loop waits for its tools.
const GRACE: Duration = Duration::from_millis(800);
/// How long telling it that nobody waits any more may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// Calls a tool by the name that its server gave it.
pub(super) async fn call(
    session: &Session,
    tool: &str,
    mut work: Work<'_>,
    most: usize,
) -> Result<Answer, Trouble> {
    let mut params = CallToolRequestParams::new(tool.to_owned());
    params.arguments = Some(work.input.as_object().cloned().unwrap_or_default());
    let mut request = CallToolRequest::new(params);
    request.extensions.insert(work.output.clone());
    let request = ClientRequest::CallToolRequest(request);
    let options = PeerRequestOptions::no_options();
    let asked = match session.peer.send_request_with_option(request, options).await {
        Ok(handle) => handle,
        Err(error) => return Err(session.trouble(error).await),
    };
    let mut asked = Asked { handle: Some(asked), ear: Arc::clone(&session.ear) };
    let answer = tokio::select! {
        biased;
        answer = asked.answer() => answer,
        () = work.stop.reached(Stage::Asked) => {
            return Ok(stopped(&mut asked, session, most).await);
        }
    };
    match answer {
        Ok(result) => Ok(answer::read(&value(result), most)),
        Err(error) => Err(session.trouble(error).await),
    }
}

/// Asks the server to stop. What it answers then counts, if it comes soon.
async fn stopped(asked: &mut Asked, session: &Session, most: usize) -> Answer {
    if let Some(id) = asked.handle.as_ref().map(|handle| handle.id.clone()) {
        ask_to_stop(session.peer.clone(), id);
    }
    let late = match timeout(GRACE, asked.answer()).await {
        Ok(Ok(result)) => answer::read(&value(result), most),
        Ok(Err(ServiceError::McpError(error))) => Answer::failed(error.message),
        Ok(Err(_)) | Err(_) => Answer::failed("it was stopped before it answered"),
    };
    match late.how {
        How::Done => late,
        How::Failed | How::Stopped => Answer { how: How::Stopped, ..late },
    }
}

/// Tells the server to stop. Not in the way that rmcp has for it: that would throw away an answer
/// that comes all the same.
fn ask_to_stop(peer: Peer<RoleClient>, id: RequestId) {
    let params = json!({"requestId": id, "reason": "it was asked to stop"});
    let told = CustomNotification::new("notifications/cancelled", Some(params));
    tokio::spawn(async move {
        let told = peer.send_notification(ClientNotification::CustomNotification(told));
        let _ = timeout(FAREWELL, told).await;
    });
}

/// A question that waits for its answer. Dropping it tells the server that nobody waits any more.
struct Asked {
    handle: Option<RequestHandle<RoleClient>>,
    ear: Arc<Ear>,
}

impl Asked {
    /// Waits for the answer. May be dropped while it waits, and be called again.
    async fn answer(&mut self) -> Result<ServerResult, ServiceError> {
        let Some(handle) = &mut self.handle else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await;
        self.ear.forget(&handle.progress_token);
        self.handle = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.ear.forget(&handle.progress_token);
        // Without a runtime there is no server either.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let told = handle.cancel(Some("nobody waits for it any more".to_owned()));
                let _ = timeout(FAREWELL, told).await;
            });
        }
    }
}

/// What is told if the server cannot be asked.
pub(super) fn failed(server: &str, trouble: &Trouble) -> Answer {
    match trouble {
        Trouble::Said(words) => Answer::failed(words.clone()),
        Trouble::Gone(words) => {
            Answer::failed(format!("the MCP server `{server}` is gone: {words}"))
        }
    }
}

/// What is told if the call never began.
pub(super) fn never_began() -> Answer {
    let content = Content::Text("it was stopped before it began".to_owned());
    Answer { how: How::Stopped, content }
}
