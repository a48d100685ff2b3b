//! A reply of the built-in model, as if it came from a network.

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

/// The pieces that are still to come, and how it ends.
pub(super) struct ScriptedResponseBody {
    pieces: vec::IntoIter<ScriptedChunk>,
    end: ResponseEnding,
    pub(super) idle: Duration,
    next: Option<ScriptedChunk>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl ScriptedResponseBody {
    pub(super) fn new(play: ScriptedResponse) -> ScriptedResponseBody {
        let idle = HttpSettings::default().idle;
        let pieces = play.chunks.into_iter();
        ScriptedResponseBody { pieces, end: play.end, idle, next: None, timer: None }
    }

    pub(super) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            if self.next.is_none() {
                self.next = self.pieces.next();
            }
            let after = match (&self.next, self.end) {
                (Some(piece), _) => piece.delay,
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
                Some(piece) if !piece.bytes.is_empty() => {
                    return Poll::Ready(Some(Ok(piece.bytes.into())));
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
    async fn a_play_is_played_piece_by_piece_to_its_end() {
        let piece = |bytes: &str| ScriptedChunk { delay: Duration::ZERO, bytes: bytes.into() };
        let wait = ScriptedChunk { delay: Duration::from_millis(1), bytes: b"!".to_vec() };
        let slow = ScriptedChunk { delay: Duration::from_secs(3600), bytes: b"!".to_vec() };
        let table = [
            (vec![], ResponseEnding::Complete, ""),
            (vec![piece("a"), piece(""), piece("b"), wait], ResponseEnding::Complete, "a b !"),
            (vec![piece("a")], ResponseEnding::Cut, "a closed"),
            (vec![piece("a")], ResponseEnding::Hang, "a late"),
            (vec![piece("a"), slow], ResponseEnding::Complete, "a late"),
        ];
        for (pieces, end, expected) in table {
            let play = ScriptedResponse { status: 200, headers: Vec::new(), chunks: pieces, end };
            let mut incoming = IncomingBody::from_script(play).with_idle(Duration::from_millis(20));
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
