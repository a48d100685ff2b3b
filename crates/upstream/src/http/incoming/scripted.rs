//! A response of the built-in model, as if it came from the network.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
    vec,
};

use bytes::Bytes;
use foxwedge_scripted::{ResponseEnding, ScriptedChunk, ScriptedResponse};
use tokio::time::{Sleep, sleep};

use crate::http::{HttpError, HttpErrorKind, HttpSettings, HttpStage};

/// The remaining chunks, and how the response ends.
pub(super) struct ScriptedResponseBody {
    chunks: vec::IntoIter<ScriptedChunk>,
    end: ResponseEnding,
    pub(super) idle: Duration,
    next: Option<ScriptedChunk>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl ScriptedResponseBody {
    pub(super) fn new(script: ScriptedResponse) -> ScriptedResponseBody {
        let idle = HttpSettings::default().idle;
        let chunks = script.chunks.into_iter();
        ScriptedResponseBody { chunks, end: script.end, idle, next: None, timer: None }
    }

    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            if self.next.is_none() {
                self.next = self.chunks.next();
            }
            let after = match (&self.next, self.end) {
                (Some(chunk), _) => chunk.delay,
                (None, ResponseEnding::Complete) => return Poll::Ready(None),
                (None, ResponseEnding::Cut) => {
                    let detail = "the connection was closed before its end";
                    return Poll::Ready(Some(Err(HttpError::after_send(
                        HttpStage::Body,
                        HttpErrorKind::Closed,
                        detail,
                    ))));
                }
                (None, ResponseEnding::Hang) => Duration::MAX,
            };
            if !after.is_zero() {
                ready!(self.poll_wait(after.min(self.idle), context));
            }
            if after > self.idle {
                let detail = "nothing more came in time";
                return Poll::Ready(Some(Err(HttpError::after_send(
                    HttpStage::Body,
                    HttpErrorKind::Timeout,
                    detail,
                ))));
            }
            match self.next.take() {
                Some(chunk) if !chunk.bytes.is_empty() => {
                    return Poll::Ready(Some(Ok(chunk.bytes.into())));
                }
                Some(_) | None => {}
            }
        }
    }

    fn poll_wait(&mut self, time: Duration, context: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(timer.as_mut().poll(context));
        self.timer = None;
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use crate::http::IncomingBody;

    use super::*;

    #[tokio::test]
    async fn scripted_chunks_are_delivered_to_the_end() {
        let chunk = |bytes: &str| ScriptedChunk { delay: Duration::ZERO, bytes: bytes.into() };
        let wait = ScriptedChunk { delay: Duration::from_millis(1), bytes: b"!".to_vec() };
        let slow = ScriptedChunk { delay: Duration::from_secs(3600), bytes: b"!".to_vec() };
        let table = [
            (vec![], ResponseEnding::Complete, ""),
            (vec![chunk("a"), chunk(""), chunk("b"), wait], ResponseEnding::Complete, "a b !"),
            (vec![chunk("a")], ResponseEnding::Cut, "a closed"),
            (vec![chunk("a")], ResponseEnding::Hang, "a late"),
            (vec![chunk("a"), slow], ResponseEnding::Complete, "a late"),
        ];
        for (chunks, end, expected) in table {
            let script = ScriptedResponse { status: 200, headers: Vec::new(), chunks, end };
            let mut incoming =
                IncomingBody::from_script(script).with_idle(Duration::from_millis(20));
            let mut found = Vec::new();
            while let Some(next) = incoming.next().await {
                found.push(match next {
                    Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    Err(error) => error.kind.name().to_owned(),
                });
            }
            assert_eq!(found.join(" "), expected);
        }
    }
}
