//! A reply of the built-in model, as if it came from a network.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
    vec,
};

use bytes::Bytes;
use foxwedge_scripted::{End, Piece, Play};
use tokio::time::{Sleep, sleep};

use crate::http::{HttpError, Kind, Settings, Stage};

/// The pieces that are still to come, and how it ends.
pub(super) struct Scripted {
    pieces: vec::IntoIter<Piece>,
    end: End,
    pub(super) idle: Duration,
    next: Option<Piece>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Scripted {
    pub(super) fn new(play: Play) -> Scripted {
        let idle = Settings::default().idle;
        let pieces = play.pieces.into_iter();
        Scripted { pieces, end: play.end, idle, next: None, timer: None }
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
                (Some(piece), _) => piece.after,
                (None, End::Whole) => return Poll::Ready(None),
                (None, End::Cut) => {
                    let detail = "the connection was closed before its end";
                    return Poll::Ready(Some(Err(HttpError::after(
                        Stage::Body,
                        Kind::Closed,
                        detail,
                    ))));
                }
                (None, End::Hang) => Duration::MAX,
            };
            if !after.is_zero() {
                ready!(self.poll_wait(after.min(self.idle), context));
            }
            if after > self.idle {
                let detail = "nothing more came in time";
                return Poll::Ready(Some(Err(HttpError::after(Stage::Body, Kind::Late, detail))));
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
    use crate::http::Incoming;

    use super::*;

    #[tokio::test]
    async fn a_play_is_played_piece_by_piece_to_its_end() {
        let piece = |bytes: &str| Piece { after: Duration::ZERO, bytes: bytes.into() };
        let wait = Piece { after: Duration::from_millis(1), bytes: b"!".to_vec() };
        let slow = Piece { after: Duration::from_secs(3600), bytes: b"!".to_vec() };
        let table = [
            (vec![], End::Whole, ""),
            (vec![piece("a"), piece(""), piece("b"), wait], End::Whole, "a b !"),
            (vec![piece("a")], End::Cut, "a closed"),
            (vec![piece("a")], End::Hang, "a late"),
            (vec![piece("a"), slow], End::Whole, "a late"),
        ];
        for (pieces, end, expected) in table {
            let play = Play { status: 200, headers: Vec::new(), pieces, end };
            let mut incoming = Incoming::scripted(play).with_idle(Duration::from_millis(20));
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
