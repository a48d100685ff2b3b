//! The body of a reply: whole, or as it comes from an upstream. Whoever drops it before its end
//! ends the upstream's work, too.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// A reply that is still coming. Dropped before its end: the client is gone.
pub(crate) trait BodyStream: Send {
    /// The next bytes; `None` at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;
}

/// The body of a reply.
pub struct GatewayBody(GatewayBodyKind);

enum GatewayBodyKind {
    Full(Option<Bytes>),
    Streaming(Box<dyn BodyStream>),
}

/// A reply cannot go on. The connection is closed, so that the client knows that it is not whole.
#[derive(Debug, thiserror::Error)]
#[error("the reply broke off: {0}")]
pub struct BodyError(pub String);

impl GatewayBody {
    /// All of it.
    pub fn full(bytes: impl Into<Bytes>) -> GatewayBody {
        let bytes = bytes.into();
        GatewayBody(GatewayBodyKind::Full((!bytes.is_empty()).then_some(bytes)))
    }

    pub(crate) fn streaming(coming: impl BodyStream + 'static) -> GatewayBody {
        GatewayBody(GatewayBodyKind::Streaming(Box::new(coming)))
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
            GatewayBodyKind::Streaming(coming) => {
                coming.poll_next(context).map(|next| next.map(|bytes| bytes.map(Frame::data)))
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
