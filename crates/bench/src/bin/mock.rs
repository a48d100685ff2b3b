//! A provider that replies at once, with responses made beforehand: `mock`. It prints its address.
//!
//! The path chooses the form of the answer, `"stream":true` in the body a stream of 200 chunks of
//! text, and the word `paced` one that pauses for two milliseconds before each chunk.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_bench::{BenchError, MockResponses, RequestFormat, WholeBody, collect, serve};
use http::{Request, Response, header::CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

/// Between two chunks of a paced stream.
const PAUSE: Duration = Duration::from_millis(2);

/// A longer body asks for no stream: looking for the words that choose an answer would cost more
/// than the answer.
const SHORT: usize = 4 << 10;

fn main() -> Result<(), BenchError> {
    let chat = Arc::new(MockResponses::of(RequestFormat::Chat));
    let anthropic = Arc::new(MockResponses::of(RequestFormat::Anthropic));
    serve(|| {
        let (chat, anthropic) = (chat.clone(), anthropic.clone());
        move |request| {
            let responses = match RequestFormat::of(request.uri().path()) {
                RequestFormat::Chat => chat.clone(),
                RequestFormat::Anthropic => anthropic.clone(),
            };
            answer(responses, request)
        }
    })
}

async fn answer(
    responses: Arc<MockResponses>,
    request: Request<Incoming>,
) -> Result<Response<MockBody>, BenchError> {
    let body = collect(request.into_body()).await?;
    let (kind, body) = if !contains(&body, b"\"stream\":true") {
        ("application/json", MockBody::Whole(WholeBody::new(responses.whole.clone())))
    } else if contains(&body, b"paced") {
        let sleep = Box::pin(tokio::time::sleep(PAUSE));
        ("text/event-stream", MockBody::Paced { responses, next: 0, sleep })
    } else {
        ("text/event-stream", MockBody::Burst { responses, next: 0 })
    };
    Ok(Response::builder().header(CONTENT_TYPE, kind).body(body)?)
}

fn contains(body: &[u8], text: &[u8]) -> bool {
    body.len() < SHORT && body.windows(text.len()).any(|window| window == text)
}

/// The body of a response.
enum MockBody {
    Whole(WholeBody),
    Burst { responses: Arc<MockResponses>, next: usize },
    Paced { responses: Arc<MockResponses>, next: usize, sleep: Pin<Box<Sleep>> },
}

impl Body for MockBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = match &mut *self {
            MockBody::Whole(whole) => return Pin::new(whole).poll_frame(context),
            MockBody::Burst { responses, next } => {
                *next += 1;
                responses.burst.get(*next - 1).cloned()
            }
            MockBody::Paced { responses, next, sleep } => {
                ready!(sleep.as_mut().poll(context));
                let due = sleep.deadline() + PAUSE;
                // A stream that fell behind does not send everything at once.
                sleep.as_mut().reset(due.max(Instant::now()));
                *next += 1;
                responses.stamped(*next - 1)
            }
        };
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            MockBody::Whole(whole) => whole.size_hint(),
            MockBody::Burst { .. } | MockBody::Paced { .. } => SizeHint::default(),
        }
    }
}
