//! The reply that a client waits for, on its way out of the task that owns the agent. A client that
//! reads slowly makes the agent wait, and nobody else.

use std::{collections::VecDeque, future::pending, time::Duration};

use bytes::Bytes;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use crate::{
    Fault,
    http::{PING, Piece},
};

/// Pieces that may wait before the agent has to.
const MOST: usize = 64;
/// How long a client may take to read the rest of a reply whose agent is gone.
const REST: Duration = Duration::from_secs(60);

/// A reply that goes on, or that waits for its client to read the end.
pub(super) struct Reply {
    sender: mpsc::Sender<Piece>,
    outbox: VecDeque<Piece>,
    /// What is said at once is sent at once.
    said: Vec<u8>,
    ended: bool,
    last: Instant,
}

/// What became of a reply.
pub(super) enum Watched {
    /// A piece was sent.
    Sent,
    /// All of it was sent.
    Over,
    /// Nobody wants the rest.
    Gone,
}

/// Sends the next piece, or waits until the client is gone.
pub(super) async fn watch(reply: &mut Option<Reply>) -> Watched {
    let Some(reply) = reply else { return pending().await };
    reply.gather();
    if reply.outbox.is_empty() {
        if reply.ended {
            return Watched::Over;
        }
        reply.sender.closed().await;
        return Watched::Gone;
    }
    // Nothing is taken out before there is room for it: whoever waits here may be dropped.
    match reply.sender.reserve().await {
        Ok(room) => {
            if let Some(piece) = reply.outbox.pop_front() {
                room.send(piece);
            }
            Watched::Sent
        }
        Err(_) => Watched::Gone,
    }
}

impl Reply {
    pub(super) fn new(sender: mpsc::Sender<Piece>) -> Reply {
        let (outbox, said) = (VecDeque::new(), Vec::new());
        Reply { sender, outbox, said, ended: false, last: Instant::now() }
    }

    /// An event of an Anthropic stream.
    pub(super) fn say(&mut self, event: &Value) {
        if self.ended {
            return;
        }
        let name = event.get("type").and_then(Value::as_str).unwrap_or("ping");
        self.said.extend_from_slice(b"event: ");
        self.said.extend_from_slice(name.as_bytes());
        self.said.extend_from_slice(b"\ndata: ");
        // Writing a tree into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.said, event);
        self.said.extend_from_slice(b"\n\n");
        self.last = Instant::now();
    }

    /// It is whole.
    pub(super) fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            let said = std::mem::take(&mut self.said);
            self.outbox.push_back(Piece::Last(said.into()));
        }
    }

    /// It cannot go on.
    pub(super) fn fail(&mut self, fault: Fault) {
        if !self.ended {
            self.gather();
            self.ended = true;
            self.outbox.push_back(Piece::Failed(fault));
        }
    }

    /// Somebody is still at work.
    pub(super) fn ping(&mut self) {
        if !self.ended {
            self.gather();
            self.outbox.push_back(Piece::More(Bytes::from_static(PING)));
            self.last = Instant::now();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// When something was said last.
    pub(super) fn last(&self) -> Instant {
        self.last
    }

    /// Whether the client has to read first.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() >= MOST
    }

    /// Sends the rest, to a client that may be slow, but not for ever.
    pub(super) async fn flush(mut self) {
        self.gather();
        let rest = async {
            while let Some(piece) = self.outbox.pop_front() {
                if self.sender.send(piece).await.is_err() {
                    return;
                }
            }
        };
        let _ = timeout(REST, rest).await;
    }

    fn gather(&mut self) {
        if !self.said.is_empty() {
            let said = std::mem::take(&mut self.said);
            self.outbox.push_back(Piece::More(said.into()));
        }
    }
}
