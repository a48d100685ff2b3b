//! The streams that a client has opened, by the names that it gave them.

use std::collections::HashMap;

use foxwedge_embed::{CallReply, StreamCall};

use super::reply::RpcFailure;

/// Maximum number of streams that are open at the same time.
const MAX_STREAMS: usize = 1024;

/// Streams in progress.
#[derive(Default)]
pub(super) struct OpenStreams {
    streams: HashMap<String, StreamCall>,
}

impl OpenStreams {
    pub(super) fn open(&mut self, name: String, options: &str) -> Result<CallReply, RpcFailure> {
        if self.streams.contains_key(&name) {
            let message = format!("the stream `{name}` is open already");
            return Err(RpcFailure::new("stream-exists", message)
                .help("finish it first, or choose another name"));
        }
        if self.streams.len() >= MAX_STREAMS {
            let message = format!("more than {MAX_STREAMS} streams are open");
            return Err(RpcFailure::new("too-many-streams", message)
                .help("`stream-finish` closes a stream, also one that failed"));
        }
        self.streams.insert(name, StreamCall::new(options)?);
        Ok(CallReply { report: "{}".to_owned(), document: None })
    }

    pub(super) fn push(&mut self, name: &str, bytes: &[u8]) -> Result<CallReply, RpcFailure> {
        let stream = self.streams.get_mut(name).ok_or_else(|| unknown_stream(name))?;
        let document = Some(stream.push(bytes)?);
        Ok(CallReply { report: "{}".to_owned(), document })
    }

    /// Ends a stream. It is closed even if that fails.
    pub(super) fn finish(&mut self, name: &str) -> Result<CallReply, RpcFailure> {
        let stream = self.streams.remove(name).ok_or_else(|| unknown_stream(name))?;
        Ok(stream.finish()?)
    }
}

fn unknown_stream(name: &str) -> RpcFailure {
    RpcFailure::new("unknown-stream", format!("no stream `{name}` is open"))
        .help("`stream-open` opens one")
}
