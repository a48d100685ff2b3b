//! A reply that another task of this process sends, chunk by chunk.

use std::task::{Context, Poll, ready};

use bytes::Bytes;
use foxwedge_agents::BodyChunk;
use foxwedge_core::Format;
use foxwedge_upstream::http::{HttpError, HttpErrorKind, HttpStage, LocalBody};
use tokio::sync::mpsc;

use crate::ApiError;

/// The receiver of the chunks. Dropping it early signals that the client is gone.
#[derive(Debug)]
pub(super) struct ReplyChannel {
    first: Option<BodyChunk>,
    receiver: mpsc::Receiver<BodyChunk>,
    finished: bool,
}

impl ReplyChannel {
    pub(super) fn new(first: BodyChunk, receiver: mpsc::Receiver<BodyChunk>) -> ReplyChannel {
        ReplyChannel { first: Some(first), receiver, finished: false }
    }
}

impl LocalBody for ReplyChannel {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, HttpError>>> {
        loop {
            if self.finished {
                return Poll::Ready(None);
            }
            let chunk = match self.first.take() {
                Some(chunk) => Some(chunk),
                None => ready!(self.receiver.poll_recv(context)),
            };
            let bytes = match chunk {
                Some(BodyChunk::More(bytes)) => bytes,
                Some(BodyChunk::Last(bytes)) => {
                    self.finished = true;
                    bytes
                }
                Some(BodyChunk::Failed(error)) => {
                    self.finished = true;
                    encode_error_event(&error.into())
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
fn encode_error_event(error: &ApiError) -> Bytes {
    let body = error.body(Format::Anthropic, "");
    [&b"event: error\ndata: "[..], &body, b"\n\n"].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_agents::AgentError;
    use foxwedge_upstream::http::IncomingBody;

    /// The body that these chunks produce before the sender is dropped.
    async fn body_text(chunks: Vec<BodyChunk>) -> String {
        let (sender, mut receiver) = mpsc::channel(8);
        for chunk in chunks {
            assert!(sender.try_send(chunk).is_ok());
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
    async fn a_reply_ends_with_its_last_chunk() {
        let more = |text: &'static str| BodyChunk::More(Bytes::from_static(text.as_bytes()));
        let last = |text: &'static str| BodyChunk::Last(Bytes::from_static(text.as_bytes()));
        assert_eq!(body_text(vec![more("a"), more(""), last("b")]).await, "ab");
        assert_eq!(body_text(vec![last("")]).await, "");
        assert_eq!(body_text(vec![more("a")]).await, "aclosed");
        let error = AgentError::NotStarted("it is gone".to_owned());
        let text = body_text(vec![more("a"), BodyChunk::Failed(error)]).await;
        assert!(text.starts_with("aevent: error\ndata: {\"error\":{"), "{text}");
        assert!(text.ends_with("}\n\n") && text.contains("it is gone"), "{text}");
    }
}
