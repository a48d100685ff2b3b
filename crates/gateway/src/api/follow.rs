//! The response body that follows a run. A slow reader blocks nothing: it falls behind and then
//! resumes from the log.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_run::encode::{EncoderOptions, FrameId, UiFormat};
use foxwedge_store::{AnyStore, EventTextSource, FeedFollower, FeedItem, FeedRegistry, Result};
use http_body::{Body, Frame};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep},
};

use crate::response_body::ResponseBodyError;

/// A keep-alive is sent after this much silence, so that no proxy closes the connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Available frames are sent together, up to this many bytes.
const MAX_BATCH_BYTES: usize = 32 << 10;

/// How frames are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameEncoding {
    /// Server-sent events.
    Events,
    /// One JSON object per line.
    Lines,
}

type NextFrameFuture =
    Pin<Box<dyn Future<Output = (FeedFollower<AnyStore>, Result<FeedItem>)> + Send>>;
type RefollowFuture = Pin<Box<dyn Future<Output = Result<FeedFollower<AnyStore>>> + Send>>;

/// Which run to follow, and in which format.
#[derive(Clone)]
pub(super) struct FollowTarget {
    pub(super) run: String,
    pub(super) format: UiFormat,
    pub(super) options: EncoderOptions,
    /// Text that is not stored.
    pub(super) live_text: Option<Arc<dyn EventTextSource>>,
}

/// The body of a reply that follows a run.
pub(super) struct RunEventsBody {
    feeds: FeedRegistry<AnyStore>,
    target: FollowTarget,
    encoding: FrameEncoding,
    first: Option<FeedItem>,
    state: RunEventsState,
    keep_alive_timer: Pin<Box<Sleep>>,
    /// Completes when the server shuts down.
    shutdown: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum RunEventsState {
    /// Waits for the next frame.
    WaitingForFrame(NextFrameFuture),
    /// It was too slow and follows again.
    Refollowing(RefollowFuture),
    Ended,
}

/// The result of one poll.
enum FollowProgress {
    Frame,
    Pending,
    Ended,
    Failed(ResponseBodyError),
}

impl RunEventsBody {
    pub(super) fn new(
        feeds: FeedRegistry<AnyStore>,
        follower: FeedFollower<AnyStore>,
        first: Option<FeedItem>,
        target: FollowTarget,
        encoding: FrameEncoding,
        mut draining: watch::Receiver<bool>,
    ) -> RunEventsBody {
        let state = RunEventsState::WaitingForFrame(next_frame(follower));
        let keep_alive_timer = Box::pin(sleep(KEEP_ALIVE_INTERVAL));
        let shutdown = Box::pin(async move {
            // A dropped sender means shutdown, too.
            let _ = draining.wait_for(|draining| *draining).await;
        });
        RunEventsBody { feeds, target, encoding, first, state, keep_alive_timer, shutdown }
    }

    fn poll_follower(&mut self, context: &mut Context<'_>, out: &mut String) -> FollowProgress {
        if let Some(item) = self.first.take() {
            return self.take_item(item, out);
        }
        loop {
            match &mut self.state {
                RunEventsState::Ended => return FollowProgress::Ended,
                RunEventsState::Refollowing(refollow) => match refollow.as_mut().poll(context) {
                    Poll::Pending => return FollowProgress::Pending,
                    Poll::Ready(Ok(follower)) => {
                        self.state = RunEventsState::WaitingForFrame(next_frame(follower))
                    }
                    Poll::Ready(Err(_)) => return self.fail(),
                },
                RunEventsState::WaitingForFrame(waiting) => match waiting.as_mut().poll(context) {
                    Poll::Pending => return FollowProgress::Pending,
                    Poll::Ready((follower, Ok(item))) => {
                        self.state = RunEventsState::WaitingForFrame(next_frame(follower));
                        return self.take_item(item, out);
                    }
                    Poll::Ready((_, Err(_))) => return self.fail(),
                },
            }
        }
    }

    fn take_item(&mut self, item: FeedItem, out: &mut String) -> FollowProgress {
        match item {
            FeedItem::Frame(frame) => {
                self.encode_frame(&frame.sse, out);
                FollowProgress::Frame
            }
            FeedItem::Lagged(last) => {
                self.state = RunEventsState::Refollowing(refollow(&self.feeds, &self.target, last));
                FollowProgress::Frame
            }
            FeedItem::Ended => {
                self.state = RunEventsState::Ended;
                FollowProgress::Ended
            }
        }
    }

    fn encode_frame(&self, sse: &str, out: &mut String) {
        match self.encoding {
            FrameEncoding::Events => out.push_str(sse),
            FrameEncoding::Lines => {
                let data = sse.lines().find_map(|line| line.strip_prefix("data: "));
                out.push_str(data.unwrap_or_default());
                out.push('\n');
            }
        }
    }

    /// The log cannot be read further. The client must not take that for the end.
    fn fail(&mut self) -> FollowProgress {
        self.state = RunEventsState::Ended;
        FollowProgress::Failed("no more events can be read".into())
    }

    /// The keep-alive text, if it is due.
    fn keep_alive(&mut self, context: &mut Context<'_>) -> Option<&'static str> {
        let is_due = self.keep_alive_timer.as_mut().poll(context).is_ready();
        if !is_due {
            return None;
        }
        self.keep_alive_timer.as_mut().reset(Instant::now() + KEEP_ALIVE_INTERVAL);
        // Polling once registers the waker for the new deadline.
        let _ = self.keep_alive_timer.as_mut().poll(context);
        Some(match self.encoding {
            FrameEncoding::Events => ":\n\n",
            FrameEncoding::Lines => "\n",
        })
    }
}

impl Body for RunEventsBody {
    type Data = Bytes;
    type Error = ResponseBodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, ResponseBodyError>>> {
        let this = &mut *self;
        let mut out = String::new();
        let progress = loop {
            match this.poll_follower(context, &mut out) {
                FollowProgress::Frame if out.len() < MAX_BATCH_BYTES => {}
                progress => break progress,
            }
        };
        if !out.is_empty() {
            this.keep_alive_timer.as_mut().reset(Instant::now() + KEEP_ALIVE_INTERVAL);
            if let FollowProgress::Failed(_) = progress {
                // The error is returned by the next poll.
                this.state =
                    RunEventsState::Refollowing(Box::pin(std::future::ready(Err(read_failed()))));
            }
            return Poll::Ready(Some(Ok(Frame::data(out.into()))));
        }
        match progress {
            FollowProgress::Ended => Poll::Ready(None),
            FollowProgress::Failed(error) => Poll::Ready(Some(Err(error))),
            // An error and not the end, so that the client reconnects and resumes.
            FollowProgress::Frame | FollowProgress::Pending
                if this.shutdown.as_mut().poll(context).is_ready() =>
            {
                this.state = RunEventsState::Ended;
                Poll::Ready(Some(Err("the server is shutting down".into())))
            }
            FollowProgress::Frame | FollowProgress::Pending => match this.keep_alive(context) {
                Some(keep_alive) => {
                    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(keep_alive.as_bytes())))))
                }
                None => Poll::Pending,
            },
        }
    }
}

fn read_failed() -> foxwedge_store::StoreError {
    foxwedge_store::StoreError::Invalid("no more events can be read".to_owned())
}

fn next_frame(mut follower: FeedFollower<AnyStore>) -> NextFrameFuture {
    Box::pin(async move {
        let item = follower.next().await;
        (follower, item)
    })
}

fn refollow(
    feeds: &FeedRegistry<AnyStore>,
    target: &FollowTarget,
    last: FrameId,
) -> RefollowFuture {
    let (feeds, FollowTarget { run, format, options, live_text }) = (feeds.clone(), target.clone());
    Box::pin(async move { feeds.follow_with(&run, format, options, Some(last), live_text).await })
}
