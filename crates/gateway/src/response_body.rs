//! The body of a reply.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};

/// A reply of the gateway.
pub type HttpReply = Response<ResponseBody>;

/// Why a body broke off.
pub(crate) type ResponseBodyError = Box<dyn Error + Send + Sync>;

/// The body of a reply.
pub struct ResponseBody(ResponseBodyKind);

enum ResponseBodyKind {
    Full(Option<Bytes>),
    Engine(crate::GatewayBody),
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = ResponseBodyError> + Send>>),
}

impl ResponseBody {
    /// A body of known length.
    pub fn full(bytes: impl Into<Bytes>) -> ResponseBody {
        let bytes = bytes.into();
        ResponseBody(ResponseBodyKind::Full((!bytes.is_empty()).then_some(bytes)))
    }

    /// A body that is streamed.
    pub fn stream(
        body: impl Body<Data = Bytes, Error = Box<dyn Error + Send + Sync>> + Send + 'static,
    ) -> ResponseBody {
        ResponseBody(ResponseBodyKind::Stream(Box::pin(body)))
    }

    /// A complete reply with this content type.
    pub(crate) fn reply(
        status: StatusCode,
        content_type: &'static str,
        bytes: impl Into<Bytes>,
    ) -> HttpReply {
        let mut reply = Response::new(ResponseBody::full(bytes));
        *reply.status_mut() = status;
        reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        reply
    }
}

/// Content type of a JSON reply.
pub(crate) const JSON: &str = "application/json";

impl From<crate::GatewayBody> for ResponseBody {
    fn from(body: crate::GatewayBody) -> ResponseBody {
        ResponseBody(ResponseBodyKind::Engine(body))
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            ResponseBodyKind::Full(_) => "Outgoing::Whole",
            ResponseBodyKind::Engine(_) => "Outgoing::Engine",
            ResponseBodyKind::Stream(_) => "Outgoing::Stream",
        })
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = ResponseBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ResponseBodyError>>> {
        match &mut self.0 {
            ResponseBodyKind::Full(bytes) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            ResponseBodyKind::Engine(body) => {
                Pin::new(body).poll_frame(context).map(|next| next.map(|frame| Ok(frame?)))
            }
            ResponseBodyKind::Stream(body) => body.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            ResponseBodyKind::Full(bytes) => bytes.is_none(),
            ResponseBodyKind::Engine(body) => body.is_end_stream(),
            ResponseBodyKind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            ResponseBodyKind::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            ResponseBodyKind::Engine(body) => body.size_hint(),
            ResponseBodyKind::Stream(body) => body.size_hint(),
        }
    }
}
