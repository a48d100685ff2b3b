//! The body of a response: complete, or streamed from an upstream. Dropping it before its end also
//! cancels the upstream request.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// A reply that is still streaming. If it is dropped before its end, the client has disconnected.
pub(crate) trait BodyStream: Send {
    /// The next bytes; `None` at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;
}

/// The body of a response.
pub struct GatewayBody(GatewayBodyKind);

enum GatewayBodyKind {
    Full(Option<Bytes>),
    Streaming(Box<dyn BodyStream>),
}

/// A reply that cannot continue. The connection is closed, so that the client knows that the reply
/// is incomplete.
#[derive(Debug, thiserror::Error)]
#[error("the reply was interrupted: {0}")]
pub struct BodyError(pub String);

impl GatewayBody {
    /// A complete body.
    pub fn full(bytes: impl Into<Bytes>) -> GatewayBody {
        let bytes = bytes.into();
        GatewayBody(GatewayBodyKind::Full((!bytes.is_empty()).then_some(bytes)))
    }

    /// Whether the body is still being produced.
    pub(crate) fn is_streaming(&self) -> bool {
        matches!(self.0, GatewayBodyKind::Streaming(_))
    }

    pub(crate) fn streaming(stream: impl BodyStream + 'static) -> GatewayBody {
        GatewayBody(GatewayBodyKind::Streaming(Box::new(stream)))
    }
}

impl std::fmt::Debug for GatewayBody {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self.0 {
            GatewayBodyKind::Full(_) => "Body::Whole",
            GatewayBodyKind::Streaming(_) => "Body::Coming",
        })
    }
}

impl http_body::Body for GatewayBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut self.0 {
            GatewayBodyKind::Full(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            GatewayBodyKind::Streaming(stream) => {
                stream.poll_next(context).map(|next| next.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, GatewayBodyKind::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            GatewayBodyKind::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            GatewayBodyKind::Streaming(_) => SizeHint::default(),
        }
    }
}
