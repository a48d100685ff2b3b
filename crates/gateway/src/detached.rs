//! Requests that keep running when their client disconnects. A page that is reloaded, or that lost
//! its connection, follows the run instead of losing the reply.

use std::{
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::Body as _;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};

use crate::{
    ApiError, GatewayBody, GatewayEngine, GatewayRequest, GatewayResponse,
    body::{BodyError, BodyStream},
    caller_limit::CallerPermit,
    error,
};

/// The request header.
const HEADER: &str = "x-foxwedge-keep-running";
/// Chunks of a reply that may wait for a slow client.
const CHANNEL_SIZE: usize = 16;

/// Whether a request keeps running without its client.
///
/// # Errors
/// If the header has another value than `true` or `false`.
pub(crate) fn is_requested(headers: &HeaderMap) -> Result<bool, ApiError> {
    match headers.get(HEADER).map(|value| value.as_bytes()) {
        None | Some(b"false") => Ok(false),
        Some(b"true") => Ok(true),
        Some(_) => Err(error::bad_request("`x-foxwedge-keep-running` must be `true` or `false`")),
    }
}

/// The requests that run without depending on their connection.
#[derive(Default)]
pub(crate) struct DetachedRequests {
    tasks: Mutex<JoinSet<()>>,
}

impl DetachedRequests {
    /// Handles a request in a task of its own. `None` if the task ended without a response. The
    /// permit is released when the reply has ended, not when the client disconnects.
    pub(crate) async fn handle(
        &self,
        engine: GatewayEngine,
        request: GatewayRequest,
        losses: Vec<String>,
        permit: Option<CallerPermit>,
    ) -> Option<GatewayResponse> {
        let (head, response) = oneshot::channel();
        {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(async move {
                let _permit = permit;
                let mut response = engine.handle_converted(request, losses).await;
                if !response.body.is_streaming() {
                    let _ = head.send(response);
                    return;
                }
                let (sender, receiver) = mpsc::channel(CHANNEL_SIZE);
                let streamed = GatewayBody::streaming(DetachedBody(receiver));
                let body = std::mem::replace(&mut response.body, streamed);
                let _ = head.send(response);
                relay(body, sender).await;
            });
        }
        response.await.ok()
    }

    /// Waits for the remaining requests, and cuts those that take longer.
    pub(crate) async fn finish(&self, limit: Duration) {
        let mut tasks =
            std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = timeout(limit, async { while tasks.join_next().await.is_some() {} }).await;
        tasks.shutdown().await;
    }
}

/// Reads a body to its end, and passes it on while there is a client.
async fn relay(mut body: GatewayBody, client: mpsc::Sender<Result<Bytes, BodyError>>) {
    let mut client = Some(client);
    loop {
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let chunk = match next {
            None => return,
            Some(Ok(frame)) => frame.into_data().map_err(|_| BodyError("no data".to_owned())),
            Some(Err(error)) => Err(error),
        };
        let is_over = chunk.is_err();
        if let Some(sender) = &client
            && sender.send(chunk).await.is_err()
        {
            client = None;
        }
        if is_over {
            return;
        }
    }
}

/// The client's end of a reply.
struct DetachedBody(mpsc::Receiver<Result<Bytes, BodyError>>);

impl BodyStream for DetachedBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_recv(context)
    }
}
