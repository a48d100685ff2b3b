//! `GET /v1/console/feed/events`: requests as they end, for whoever watches. Who does not read
//! holds up nobody: what falls out meanwhile is told as missed.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_engine::{Engine, Fault};
use http::{HeaderValue, Method, Response, header};
use http_body::{Body, Frame};
use serde_json::json;
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep},
};

use super::{
    feed::{Known, Wanted},
    watch::{Entry, Watch},
};
use crate::{
    Reply, error,
    outgoing::{Broken, Outgoing},
    routes::Call,
    serve::App,
};

/// How long nothing is said before something is said all the same.
const SILENCE: Duration = Duration::from_secs(15);

/// Requests that are looked at together.
const TOGETHER: usize = 64;

/// `GET /v1/console/feed/events`.
pub(super) fn follow(app: &App, call: &Call<'_>) -> Result<Reply, Fault> {
    let wanted = Wanted::of(call)?;
    let newest = app.console.watch.newest();
    let last = after(call)?.unwrap_or_else(|| *newest.borrow());
    let body = match *call.method {
        Method::HEAD => Outgoing::whole(""),
        _ => Outgoing::stream(Follow::new(app, wanted, call.owner(), last, newest)),
    };
    let mut reply = Response::new(body);
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(reply)
}

/// Where a reader was.
fn after(call: &Call<'_>) -> Result<Option<u64>, Fault> {
    let odd = || error::bad_request("`last-event-id` is the id of a request, as q-12");
    let header = call.headers.get("last-event-id").map(HeaderValue::to_str);
    let text = match (header, call.parameter("after")?) {
        (Some(text), _) => text.map_err(|_| odd())?.to_owned(),
        (None, Some(text)) => text.into_owned(),
        (None, None) => return Ok(None),
    };
    match text.as_str() {
        "" => Ok(None),
        text => Entry::number(text).map(Some).ok_or_else(odd),
    }
}

type Waiting = Pin<Box<dyn Future<Output = watch::Receiver<u64>> + Send>>;

struct Follow {
    watch: Arc<Watch>,
    engine: Engine,
    wanted: Wanted,
    owner: Option<String>,
    last: u64,
    state: State,
    silence: Pin<Box<Sleep>>,
    /// Ready when the server is about to stop.
    leaving: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum State {
    /// There may be something to tell.
    Look(watch::Receiver<u64>),
    /// Nothing is new.
    Wait(Waiting),
    Over,
}

impl Follow {
    fn new(
        app: &App,
        wanted: Wanted,
        owner: Option<&str>,
        last: u64,
        newest: watch::Receiver<u64>,
    ) -> Follow {
        let mut draining = app.draining.clone();
        Follow {
            watch: app.console.watch.clone(),
            engine: app.engine.clone(),
            wanted,
            owner: owner.map(str::to_owned),
            last,
            state: State::Look(newest),
            silence: Box::pin(sleep(SILENCE)),
            leaving: Box::pin(async move {
                // Whoever would say so is gone: that is the same.
                let _ = draining.wait_for(|draining| *draining).await;
            }),
        }
    }

    /// What came since the last look, as events.
    fn news(&mut self) -> String {
        let batch = self.watch.ring().after(self.last, TOGETHER, |entry| self.wanted.takes(entry));
        self.last = batch.last;
        let mut text = String::new();
        if batch.missed > 0 {
            let missed = json!({ "missed": batch.missed });
            text.push_str(&format!("event: missed\ndata: {missed}\n\n"));
        }
        if !batch.entries.is_empty() {
            let known = Known::of_engine(&self.engine, self.owner.as_deref());
            for entry in &batch.entries {
                let (id, told) = (entry.id(), known.told(entry));
                text.push_str(&format!("id: {id}\nevent: request\ndata: {told}\n\n"));
            }
        }
        text
    }

    fn look(&mut self, context: &mut Context<'_>) -> Option<String> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return None,
                State::Wait(mut waiting) => match waiting.as_mut().poll(context) {
                    Poll::Ready(newest) => self.state = State::Look(newest),
                    Poll::Pending => {
                        self.state = State::Wait(waiting);
                        return None;
                    }
                },
                State::Look(mut newest) => {
                    // Seen before the look: what comes while we look wakes us again.
                    let until = *newest.borrow_and_update();
                    let text = self.news();
                    let more = self.last < until || !text.is_empty();
                    self.state = match more {
                        true => State::Look(newest),
                        false => State::Wait(Box::pin(async move {
                            // It cannot end: we hold the other side.
                            let _ = newest.changed().await;
                            newest
                        })),
                    };
                    if !text.is_empty() {
                        return Some(text);
                    }
                }
            }
        }
    }

    /// Nothing happened for a while.
    fn breathe(&mut self, context: &mut Context<'_>) -> bool {
        if self.silence.as_mut().poll(context).is_pending() {
            return false;
        }
        self.rest();
        // The new time has to be asked for once, so that somebody is woken.
        let _ = self.silence.as_mut().poll(context);
        true
    }

    fn rest(&mut self) {
        self.silence.as_mut().reset(Instant::now() + SILENCE);
    }
}

impl Body for Follow {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        if let Some(text) = this.look(context) {
            this.rest();
            return Poll::Ready(Some(Ok(Frame::data(text.into()))));
        }
        if matches!(this.state, State::Over) {
            return Poll::Ready(None);
        }
        // Broken off and not ended: whoever watches comes back and goes on where it was.
        if this.leaving.as_mut().poll(context).is_ready() {
            this.state = State::Over;
            return Poll::Ready(Some(Err("the server stops".into())));
        }
        match this.breathe(context) {
            true => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n"))))),
            false => Poll::Pending,
        }
    }
}
