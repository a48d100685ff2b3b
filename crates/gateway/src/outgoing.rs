//! The body of a reply, whoever makes it.

use std::{
    error::Error,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};

/// A reply.
pub type Reply = Response<Outgoing>;

/// Why a body cannot go on.
pub(crate) type Broken = Box<dyn Error + Send + Sync>;

/// The body of a reply.
pub struct Outgoing(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Engine(foxwedge_engine::Body),
    Stream(Pin<Box<dyn Body<Data = Bytes, Error = Broken> + Send>>),
}

impl Outgoing {
    /// All of it.
    pub fn whole(bytes: impl Into<Bytes>) -> Outgoing {
        let bytes = bytes.into();
        Outgoing(Kind::Whole((!bytes.is_empty()).then_some(bytes)))
    }

    /// As it comes.
    pub fn stream(
        body: impl Body<Data = Bytes, Error = Box<dyn Error + Send + Sync>> + Send + 'static,
    ) -> Outgoing {
        Outgoing(Kind::Stream(Box::pin(body)))
    }

    /// A reply of that kind, all of it.
    pub(crate) fn reply(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Reply {
        let mut reply = Response::new(Outgoing::whole(bytes));
        *reply.status_mut() = status;
        reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        reply
    }
}

/// The kind of a JSON reply.
pub(crate) const JSON: &str = "application/json";

impl From<foxwedge_engine::Body> for Outgoing {
    fn from(body: foxwedge_engine::Body) -> Outgoing {
        Outgoing(Kind::Engine(body))
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            Kind::Whole(_) => "Outgoing::Whole",
            Kind::Engine(_) => "Outgoing::Engine",
            Kind::Stream(_) => "Outgoing::Stream",
        })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Kind::Engine(body) => {
                Pin::new(body).poll_frame(context).map(|next| next.map(|frame| Ok(frame?)))
            }
            Kind::Stream(body) => body.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_none(),
            Kind::Engine(body) => body.is_end_stream(),
            Kind::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Kind::Engine(body) => body.size_hint(),
            Kind::Stream(body) => body.size_hint(),
        }
    }
}
