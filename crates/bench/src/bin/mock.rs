//! A provider that answers at once, with answers made beforehand: `mock`. It prints its address.
//!
//! The path chooses the form of the answer, `"stream":true` in the body a stream of 200 pieces of
//! text, and the word `paced` one that pauses for two milliseconds before each piece.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_bench::{Answers, Format, Trouble, Whole, collect, serve};
use http::{Request, Response, header::CONTENT_TYPE};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

/// Between two pieces of a paced stream.
const PAUSE: Duration = Duration::from_millis(2);

/// A longer body asks for no stream: looking for the words that choose an answer would cost more
/// than the answer.
const SHORT: usize = 4 << 10;

fn main() -> Result<(), Trouble> {
    let chat = Arc::new(Answers::of(Format::Chat));
    let anthropic = Arc::new(Answers::of(Format::Anthropic));
    serve(|| {
        let (chat, anthropic) = (chat.clone(), anthropic.clone());
        move |request| {
            let answers = match Format::of(request.uri().path()) {
                Format::Chat => chat.clone(),
                Format::Anthropic => anthropic.clone(),
            };
            answer(answers, request)
        }
    })
}

async fn answer(
    answers: Arc<Answers>,
    request: Request<Incoming>,
) -> Result<Response<Said>, Trouble> {
    let body = collect(request.into_body()).await?;
    let (kind, said) = if !says(&body, b"\"stream\":true") {
        ("application/json", Said::Whole(Whole::new(answers.whole.clone())))
    } else if says(&body, b"paced") {
        let sleep = Box::pin(tokio::time::sleep(PAUSE));
        ("text/event-stream", Said::Paced { answers, next: 0, sleep })
    } else {
        ("text/event-stream", Said::Burst { answers, next: 0 })
    };
    Ok(Response::builder().header(CONTENT_TYPE, kind).body(said)?)
}

fn says(body: &[u8], words: &[u8]) -> bool {
    body.len() < SHORT && body.windows(words.len()).any(|window| window == words)
}

/// What is said.
enum Said {
    Whole(Whole),
    Burst { answers: Arc<Answers>, next: usize },
    Paced { answers: Arc<Answers>, next: usize, sleep: Pin<Box<Sleep>> },
}

impl Body for Said {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut *self {
            Said::Whole(whole) => return Pin::new(whole).poll_frame(context),
            Said::Burst { answers, next } => {
                *next += 1;
                answers.burst.get(*next - 1).cloned()
            }
            Said::Paced { answers, next, sleep } => {
                ready!(sleep.as_mut().poll(context));
                let due = sleep.deadline() + PAUSE;
                // Who fell behind does not send everything at once.
                sleep.as_mut().reset(due.max(Instant::now()));
                *next += 1;
                answers.stamped(*next - 1)
            }
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Said::Whole(whole) => whole.size_hint(),
            Said::Burst { .. } | Said::Paced { .. } => SizeHint::default(),
        }
    }
}
