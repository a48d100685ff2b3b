//! Sends a reply from the agent's task to the client. A slow client delays only its own agent.

use std::{collections::VecDeque, future::pending, time::Duration};

use bytes::Bytes;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};

use crate::live::{AgentError, BodyChunk, PING};

/// Number of queued chunks at which the agent has to wait.
const MAX_QUEUED_CHUNKS: usize = 64;
/// How long a client may take to read the rest of a reply whose agent has exited.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(60);

/// A reply in progress, or one whose end the client has not read yet.
pub(super) struct AgentReplySender {
    sender: mpsc::Sender<BodyChunk>,
    outbox: VecDeque<BodyChunk>,
    /// Events that are sent together as one chunk.
    buffer: Vec<u8>,
    ended: bool,
    last_sent: Instant,
}

/// The result of sending.
pub(super) enum ReplySendResult {
    /// A chunk was sent.
    Sent,
    /// The whole reply was sent.
    Finished,
    /// The client has disconnected.
    ClientGone,
}

/// Sends the next chunk. If there is none, waits until the client disconnects.
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
    // Cancel safe: a chunk is taken out only when there is room for it.
    match reply.sender.reserve().await {
        Ok(permit) => {
            if let Some(chunk) = reply.outbox.pop_front() {
                permit.send(chunk);
            }
            ReplySendResult::Sent
        }
        Err(_) => ReplySendResult::ClientGone,
    }
}

impl AgentReplySender {
    pub(super) fn new(sender: mpsc::Sender<BodyChunk>) -> AgentReplySender {
        let (outbox, buffer) = (VecDeque::new(), Vec::new());
        AgentReplySender { sender, outbox, buffer, ended: false, last_sent: Instant::now() }
    }

    /// Adds an event of an Anthropic stream.
    pub(super) fn push_event(&mut self, event: &Value) {
        if self.ended {
            return;
        }
        let name = event.get("type").and_then(Value::as_str).unwrap_or("ping");
        self.buffer.extend_from_slice(b"event: ");
        self.buffer.extend_from_slice(name.as_bytes());
        self.buffer.extend_from_slice(b"\ndata: ");
        // Writing JSON into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.buffer, event);
        self.buffer.extend_from_slice(b"\n\n");
        self.last_sent = Instant::now();
    }

    /// Ends the reply.
    pub(super) fn finish(&mut self) {
        if !self.ended {
            self.ended = true;
            let bytes = std::mem::take(&mut self.buffer);
            self.outbox.push_back(BodyChunk::Last(bytes.into()));
        }
    }

    /// Ends the reply with an error.
    pub(super) fn fail(&mut self, error: AgentError) {
        if !self.ended {
            self.flush_buffer();
            self.ended = true;
            self.outbox.push_back(BodyChunk::Failed(error));
        }
    }

    /// Adds a keep-alive.
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

    /// Time of the last event or keep-alive.
    pub(super) fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// Whether the queue is full.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() >= MAX_QUEUED_CHUNKS
    }

    /// Sends the rest, with a timeout for slow clients.
    pub(super) async fn send_rest(mut self) {
        self.flush_buffer();
        let rest = async {
            while let Some(chunk) = self.outbox.pop_front() {
                if self.sender.send(chunk).await.is_err() {
                    return;
                }
            }
        };
        let _ = timeout(FLUSH_TIMEOUT, rest).await;
    }

    fn flush_buffer(&mut self) {
        if !self.buffer.is_empty() {
            let bytes = std::mem::take(&mut self.buffer);
            self.outbox.push_back(BodyChunk::More(bytes.into()));
        }
    }
}
