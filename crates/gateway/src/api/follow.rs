//! A run that somebody follows, as the body of a reply. Whoever does not read holds up nobody: it
//! is read from the log again where it was left behind.

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

/// How long nothing is said before something is said all the same, so that nobody between us and
/// the client takes the connection for dead.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Frames that are there together go out together, up to so many bytes.
const MAX_BATCH_BYTES: usize = 32 << 10;

/// How frames are spelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameEncoding {
    /// As server-sent events.
    Events,
    /// One in a line.
    Lines,
}

type NextFrameFuture =
    Pin<Box<dyn Future<Output = (FeedFollower<AnyStore>, Result<FeedItem>)> + Send>>;
type RefollowFuture = Pin<Box<dyn Future<Output = Result<FeedFollower<AnyStore>>> + Send>>;

/// What is followed, and how it is told.
#[derive(Clone)]
pub(super) struct FollowTarget {
    pub(super) run: String,
    pub(super) format: UiFormat,
    pub(super) options: EncoderOptions,
    /// What was said and is not stored.
    pub(super) words: Option<Arc<dyn EventTextSource>>,
}

/// The body of a reply that follows a run.
pub(super) struct RunEventsBody {
    feeds: FeedRegistry<AnyStore>,
    target: FollowTarget,
    encoding: FrameEncoding,
    first: Option<FeedItem>,
    state: RunEventsState,
    keep_alive_timer: Pin<Box<Sleep>>,
    /// Ready when the server is about to stop.
    shutdown: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum RunEventsState {
    /// Waits for the next frame.
    WaitingForFrame(NextFrameFuture),
    /// It was too slow, and follows anew.
    Refollowing(RefollowFuture),
    Ended,
}

/// What one look brought.
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
        what: FollowTarget,
        spelling: FrameEncoding,
        mut draining: watch::Receiver<bool>,
    ) -> RunEventsBody {
        let state = RunEventsState::WaitingForFrame(next_frame(follower));
        let silence = Box::pin(sleep(KEEP_ALIVE_INTERVAL));
        let leaving = Box::pin(async move {
            // Whoever would say so is gone: that is the same.
            let _ = draining.wait_for(|draining| *draining).await;
        });
        RunEventsBody {
            feeds,
            target: what,
            encoding: spelling,
            first,
            state,
            keep_alive_timer: silence,
            shutdown: leaving,
        }
    }

    fn poll_follower(&mut self, context: &mut Context<'_>, out: &mut String) -> FollowProgress {
        if let Some(told) = self.first.take() {
            return self.take_item(told, out);
        }
        loop {
            match &mut self.state {
                RunEventsState::Ended => return FollowProgress::Ended,
                RunEventsState::Refollowing(anew) => match anew.as_mut().poll(context) {
                    Poll::Pending => return FollowProgress::Pending,
                    Poll::Ready(Ok(follower)) => {
                        self.state = RunEventsState::WaitingForFrame(next_frame(follower))
                    }
                    Poll::Ready(Err(_)) => return self.fail(),
                },
                RunEventsState::WaitingForFrame(waiting) => match waiting.as_mut().poll(context) {
                    Poll::Pending => return FollowProgress::Pending,
                    Poll::Ready((follower, Ok(told))) => {
                        self.state = RunEventsState::WaitingForFrame(next_frame(follower));
                        return self.take_item(told, out);
                    }
                    Poll::Ready((_, Err(_))) => return self.fail(),
                },
            }
        }
    }

    fn take_item(&mut self, told: FeedItem, out: &mut String) -> FollowProgress {
        match told {
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

    /// The log cannot be read on. Nobody may take that for the end.
    fn fail(&mut self) -> FollowProgress {
        self.state = RunEventsState::Ended;
        FollowProgress::Failed("the events cannot be read on".into())
    }

    /// Nothing happened for a while.
    fn keep_alive(&mut self, context: &mut Context<'_>) -> Option<&'static str> {
        let late = self.keep_alive_timer.as_mut().poll(context).is_ready();
        if !late {
            return None;
        }
        self.keep_alive_timer.as_mut().reset(Instant::now() + KEEP_ALIVE_INTERVAL);
        // The new time has to be asked for once, so that somebody is woken.
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
        let looked = loop {
            match this.poll_follower(context, &mut out) {
                FollowProgress::Frame if out.len() < MAX_BATCH_BYTES => {}
                looked => break looked,
            }
        };
        if !out.is_empty() {
            this.keep_alive_timer.as_mut().reset(Instant::now() + KEEP_ALIVE_INTERVAL);
            if let FollowProgress::Failed(_) = looked {
                // Told the next time.
                this.state =
                    RunEventsState::Refollowing(Box::pin(std::future::ready(Err(read_failed()))));
            }
            return Poll::Ready(Some(Ok(Frame::data(out.into()))));
        }
        match looked {
            FollowProgress::Ended => Poll::Ready(None),
            FollowProgress::Failed(why) => Poll::Ready(Some(Err(why))),
            // Broken off and not ended: whoever follows comes back and goes on where it was.
            FollowProgress::Frame | FollowProgress::Pending
                if this.shutdown.as_mut().poll(context).is_ready() =>
            {
                this.state = RunEventsState::Ended;
                Poll::Ready(Some(Err("the server stops".into())))
            }
            FollowProgress::Frame | FollowProgress::Pending => match this.keep_alive(context) {
                Some(breath) => {
                    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(breath.as_bytes())))))
                }
                None => Poll::Pending,
            },
        }
    }
}

fn read_failed() -> foxwedge_store::StoreError {
    foxwedge_store::StoreError::Invalid("the events cannot be read on".to_owned())
}

fn next_frame(mut follower: FeedFollower<AnyStore>) -> NextFrameFuture {
    Box::pin(async move {
        let told = follower.next().await;
        (follower, told)
    })
}

fn refollow(feeds: &FeedRegistry<AnyStore>, what: &FollowTarget, last: FrameId) -> RefollowFuture {
    let (feeds, FollowTarget { run, format, options, words }) = (feeds.clone(), what.clone());
    Box::pin(async move { feeds.follow_with(&run, format, options, Some(last), words).await })
}
