//! The least that a relay costs: `floor --upstream ADDRESS [--value]`. It prints its address.
//!
//! hyper on both sides, on one thread: the body of a request is collected and sent on, the answer
//! relayed frame by frame; no content is looked at. With `--value` every body and every event of a
//! stream is parsed into a tree and written again.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use foxwedge_bench::{
    BenchError, CommandOptions, RewrittenStream, WholeBody, collect, connect, rewritten, serve,
};
use http::{
    Request, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use http_body::{Body, Frame, SizeHint};
use hyper::{body::Incoming, client::conn::http1::SendRequest};

fn main() -> Result<(), BenchError> {
    let mut options = CommandOptions::of_this_process();
    let (mut upstream, mut work) = (String::new(), RelayWork::Relay);
    while let Some(option) = options.option() {
        match option.as_str() {
            "--upstream" => upstream = options.value(&option)?,
            "--value" => work = RelayWork::Value,
            _ => return Err(format!("unknown option `{option}`").into()),
        }
    }
    let upstream: Arc<str> = upstream.into();
    serve(|| {
        let relay =
            Arc::new(FloorRelay { upstream: upstream.clone(), work, connection: Mutex::default() });
        move |request| relay.clone().relay(request)
    })
}

/// What is done with what passes.
#[derive(Clone, Copy)]
enum RelayWork {
    Relay,
    Value,
}

/// One connection of a client, and the one to the upstream that belongs to it.
struct FloorRelay {
    upstream: Arc<str>,
    work: RelayWork,
    connection: Mutex<Option<SendRequest<WholeBody>>>,
}

impl FloorRelay {
    async fn relay(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<RelayedBody>, BenchError> {
        let (mut head, body) = request.into_parts();
        let mut body = collect(body).await?;
        match self.work {
            RelayWork::Relay => {}
            RelayWork::Value => {
                body = rewritten(&body).into();
                head.headers.insert(CONTENT_LENGTH, body.len().into());
            }
        }
        // Requests of one connection come one after the other, so no other request needs it meanwhile.
        let resting = self.connection().take().filter(|connection| !connection.is_closed());
        let mut connection = match resting {
            Some(connection) => connection,
            None => connect(&self.upstream).await?,
        };
        connection.ready().await?;
        let request = Request::from_parts(head, WholeBody::new(body));
        let response = connection.send_request(request).await?;
        *self.connection() = Some(connection);
        let kind = response.headers().get(CONTENT_TYPE);
        let streams = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        Ok(response.map(|body| match self.work {
            RelayWork::Value if streams => RelayedBody::Rewritten(RewrittenStream::new(body)),
            RelayWork::Value | RelayWork::Relay => RelayedBody::Through(body),
        }))
    }

    fn connection(&self) -> std::sync::MutexGuard<'_, Option<SendRequest<WholeBody>>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of a response.
enum RelayedBody {
    Through(Incoming),
    Rewritten(RewrittenStream),
}

impl Body for RelayedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut *self {
            RelayedBody::Through(body) => Pin::new(body).poll_frame(context),
            RelayedBody::Rewritten(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            RelayedBody::Through(body) => body.is_end_stream(),
            RelayedBody::Rewritten(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            RelayedBody::Through(body) => body.size_hint(),
            RelayedBody::Rewritten(_) => SizeHint::default(),
        }
    }
}
