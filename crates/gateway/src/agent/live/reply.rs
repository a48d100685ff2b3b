//! The reply that a client waits for, on its way out of the task that owns the agent. A client that
//! reads slowly makes the agent wait, and nobody else.

use std::{collections::VecDeque, future::pending, time::Duration};

use bytes::Bytes;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use crate::ApiError;
use crate::agent::{BodyChunk, PING};

/// Pieces that may wait before the agent has to.
const MAX_QUEUED_CHUNKS: usize = 64;
/// How long a client may take to read the rest of a reply whose agent is gone.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);

/// A reply that goes on, or that waits for its client to read the end.
pub(super) struct AgentReplySender {
    sender: mpsc::Sender<BodyChunk>,
    outbox: VecDeque<BodyChunk>,
    /// What is said at once is sent at once.
    buffer: Vec<u8>,
    ended: bool,
    last_sent: Instant,
}

/// What became of a reply.
pub(super) enum ReplySendResult {
    /// A piece was sent.
    Sent,
    /// All of it was sent.
    Finished,
    /// Nobody wants the rest.
    ClientGone,
}

/// Sends the next piece, or waits until the client is gone.
pub(super) async fn send_next(reply: &mut Option<AgentReplySender>) -> ReplySendResult {
    let Some(reply) = reply else { return pending().await };
    reply.flush_buffer();
    if reply.outbox.is_empty() {
        if reply.ended {
            return ReplySendResult::Finished;
        }
        reply.sender.closed().await;
        return ReplySendResult::ClientGone;
    }
    // Nothing is taken out before there is room for it: whoever waits here may be dropped.
    match reply.sender.reserve().await {
        Ok(room) => {
            if let Some(piece) = reply.outbox.pop_front() {
                room.send(piece);
            }
            ReplySendResult::Sent
        }
        Err(_) => ReplySendResult::ClientGone,
    }
}

impl AgentReplySender {
    pub(super) fn new(sender: mpsc::Sender<BodyChunk>) -> AgentReplySender {
        let (outbox, said) = (VecDeque::new(), Vec::new());
        AgentReplySender { sender, outbox, buffer: said, ended: false, last_sent: Instant::now() }
    }

    /// An event of an Anthropic stream.
    pub(super) fn push_event(&mut self, event: &Value) {
        if self.ended {
            return;
        }
        let name = event.get("type").and_then(Value::as_str).unwrap_or("ping");
        self.buffer.extend_from_slice(b"event: ");
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\ndata: ");
        // Writing a tree into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.buffer, event);
        self.buffer.extend_from_slice(b"\n\n");
        self.last_sent = Instant::now();
    }

    /// It is whole.
    pub(super) fn finish(&mut self) {
        if !self.ended {
            self.ended = true;
            let said = std::mem::take(&mut self.buffer);
            self.outbox.push_back(BodyChunk::Last(said.into()));
        }
    }

    /// It cannot go on.
    pub(super) fn fail(&mut self, fault: ApiError) {
        if !self.ended {
            self.flush_buffer();
            self.ended = true;
            self.outbox.push_back(BodyChunk::Failed(fault));
        }
    }

    /// Somebody is still at work.
    pub(super) fn push_ping(&mut self) {
        if !self.ended {
            self.flush_buffer();
            self.outbox.push_back(BodyChunk::More(Bytes::from_static(PING)));
            self.last_sent = Instant::now();
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// When something was said last.
    pub(super) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// Whether the client has to read first.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() >= MAX_QUEUED_CHUNKS
    }

    /// Sends the rest, to a client that may be slow, but not for ever.
    pub(super) async fn send_rest(mut self) {
        self.flush_buffer();
        let rest = async {
            while let Some(piece) = self.outbox.pop_front() {
                if self.sender.send(piece).await.is_err() {
                    return;
                }
            }
        };
        let _ = timeout(FLUSH_TIMEOUT, rest).await;
    }

    fn flush_buffer(&mut self) {
        if !self.buffer.is_empty() {
            let said = std::mem::take(&mut self.buffer);
            self.outbox.push_back(BodyChunk::More(said.into()));
        }
    }
}
