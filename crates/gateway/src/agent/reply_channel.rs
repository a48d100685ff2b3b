//! A reply that another task of this process sends, chunk by chunk.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_upstream::http::{HttpError, HttpErrorKind, HttpStage, LocalBody};
use tokio::sync::mpsc;

use crate::ApiError;

/// Keep-alive: a comment of an event stream.
pub(crate) const PING: &[u8] = b": ping\n\n";

/// A chunk of a reply.
#[derive(Debug)]
pub(crate) enum BodyChunk {
    /// More bytes.
    More(Bytes),
    /// The last bytes.
    Last(Bytes),
    /// The reply failed.
    Failed(ApiError),
}

/// The receiver of the chunks. Dropping it early signals that the client is gone.
#[derive(Debug)]
pub(crate) struct ReplyChannel {
    first: Option<BodyChunk>,
    receiver: mpsc::Receiver<BodyChunk>,
    finished: bool,
}

impl ReplyChannel {
    pub(crate) fn new(first: BodyChunk, receiver: mpsc::Receiver<BodyChunk>) -> ReplyChannel {
        ReplyChannel { first: Some(first), receiver, finished: false }
    }
}

impl LocalBody for ReplyChannel {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            if self.finished {
                return Poll::Ready(None);
            }
            let piece = match self.first.take() {
                Some(piece) => Some(piece),
                None => ready!(self.receiver.poll_recv(context)),
            };
            let bytes = match piece {
                Some(BodyChunk::More(bytes)) => bytes,
                Some(BodyChunk::Last(bytes)) => {
                    self.finished = true;
                    bytes
                }
                Some(BodyChunk::Failed(fault)) => {
                    self.finished = true;
                    encode_error_event(&fault)
                }
                // The sender is gone.
                None => {
                    self.finished = true;
                    let detail = "the sender is gone";
                    let error =
                        HttpError::after_send(HttpStage::Body, HttpErrorKind::Closed, detail);
                    return Poll::Ready(Some(Err(error)));
                }
            };
            if !bytes.is_empty() {
                return Poll::Ready(Some(Ok(bytes)));
            }
        }
    }
}

/// The error event of an Anthropic stream.
fn encode_error_event(fault: &ApiError) -> Bytes {
    let body = fault.body(Format::Anthropic, "");
    [&b"event: error\ndata: "[..], &body, b"\n\n"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_upstream::http::IncomingBody;

    /// What comes of some pieces, before whoever tells them goes.
    async fn told(pieces: Vec<BodyChunk>) -> String {
        let (sender, mut receiver) = mpsc::channel(8);
        for piece in pieces {
            assert!(sender.try_send(piece).is_ok());
        }
        drop(sender);
        let Some(first) = receiver.recv().await else { return "nothing".to_owned() };
        let mut incoming = IncomingBody::from_local(ReplyChannel::new(first, receiver));
        let mut all = String::new();
        while let Some(next) = incoming.next().await {
            match next {
                Ok(bytes) => all.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => all.push_str(error.kind.name()),
            }
        }
        all
    }

    #[tokio::test]
    async fn a_reply_ends_with_its_last_piece_and_not_before() {
        let more = |text: &'static str| BodyChunk::More(Bytes::from_static(text.as_bytes()));
        let last = |text: &'static str| BodyChunk::Last(Bytes::from_static(text.as_bytes()));
        assert_eq!(told(vec![more("a"), more(""), last("b")]).await, "ab");
        assert_eq!(told(vec![last("")]).await, "");
        assert_eq!(told(vec![more("a")]).await, "aclosed");
        let fault = ApiError::new(crate::ApiErrorKind::Upstream, "agent_died", "it is gone");
        let text = told(vec![more("a"), BodyChunk::Failed(fault)]).await;
        assert!(text.starts_with("aevent: error\ndata: {\"error\":{"), "{text}");
        assert!(text.ends_with("}\n\n") && text.contains("it is gone"), "{text}");
    }
}
