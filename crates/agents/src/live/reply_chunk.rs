//! Chunks of a reply, as events of an Anthropic stream.

use bytes::Bytes;

use super::AgentError;

/// Keep-alive: a comment of an event stream.
pub const PING: &[u8] = b": ping\n\n";

/// A chunk of a reply.
#[derive(Debug)]
pub enum BodyChunk {
    /// More bytes.
    More(Bytes),
    /// The last bytes.
    Last(Bytes),
    /// The reply failed.
    Failed(AgentError),
}
