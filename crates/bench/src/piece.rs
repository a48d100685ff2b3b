//! Bodies in one piece.

use std::{
    convert::Infallible,
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

/// A body in one piece.
pub struct Whole(Option<Bytes>);

impl Whole {
    /// These bytes.
    pub fn new(bytes: Bytes) -> Whole {
        Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// All of a body.
pub async fn collect<B: Body<Data = Bytes>>(body: B) -> Result<Bytes, B::Error> {
    let mut body = pin!(body);
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(0);
    let (mut first, mut rest): (Option<Bytes>, Option<BytesMut>) = (None, None);
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let Ok(data) = frame?.into_data() else { continue };
        match (&mut rest, first.take()) {
            (Some(rest), _) => rest.extend_from_slice(&data),
            // Whatever came in one piece is not copied.
            (None, None) => first = Some(data),
            (None, Some(before)) => {
                let mut all = BytesMut::with_capacity(expected.max(before.len() + data.len()));
                all.extend_from_slice(&before);
                all.extend_from_slice(&data);
                rest = Some(all);
            }
        }
    }
    Ok(rest.map(BytesMut::freeze).or(first).unwrap_or_default())
}
