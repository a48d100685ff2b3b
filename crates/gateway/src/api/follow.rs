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
use foxwedge_run::encode::{Format, FrameId, Options};
use foxwedge_store::{AnyStore, EventWords, Feeds, Follower, Result, Told};
use http_body::{Body, Frame};
use tokio::{
    sync::watch,
    time::{Instant, Sleep, sleep},
};

use crate::outgoing::Broken;

/// How long nothing is said before something is said all the same, so that nobody between us and
/// the client takes the connection for dead.
const SILENCE: Duration = Duration::from_secs(15);

/// Frames that are there together go out together, up to so many bytes.
const TOGETHER: usize = 32 << 10;

/// How frames are spelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spelling {
    /// As server-sent events.
    Events,
    /// One in a line.
    Lines,
}

type Next = Pin<Box<dyn Future<Output = (Follower<AnyStore>, Result<Told>)> + Send>>;
type Anew = Pin<Box<dyn Future<Output = Result<Follower<AnyStore>>> + Send>>;

/// What is followed, and how it is told.
#[derive(Clone)]
pub(super) struct Followed {
    pub(super) run: String,
    pub(super) format: Format,
    pub(super) options: Options,
    /// What was said and is not stored.
    pub(super) words: Option<Arc<dyn EventWords>>,
}

/// The body of a reply that follows a run.
pub(super) struct Follow {
    feeds: Feeds<AnyStore>,
    what: Followed,
    spelling: Spelling,
    first: Option<Told>,
    state: State,
    silence: Pin<Box<Sleep>>,
    /// Ready when the server is about to stop.
    leaving: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum State {
    /// Waits for the next frame.
    Next(Next),
    /// It was too slow, and follows anew.
    Anew(Anew),
    Over,
}

/// What one look brought.
enum Looked {
    Frame,
    Nothing,
    Over,
    Failed(Broken),
}

impl Follow {
    pub(super) fn new(
        feeds: Feeds<AnyStore>,
        follower: Follower<AnyStore>,
        first: Option<Told>,
        what: Followed,
        spelling: Spelling,
        mut draining: watch::Receiver<bool>,
    ) -> Follow {
        let state = State::Next(next(follower));
        let silence = Box::pin(sleep(SILENCE));
        let leaving = Box::pin(async move {
            // Whoever would say so is gone: that is the same.
            let _ = draining.wait_for(|draining| *draining).await;
        });
        Follow { feeds, what, spelling, first, state, silence, leaving }
    }

    fn look(&mut self, context: &mut Context<'_>, out: &mut String) -> Looked {
        if let Some(told) = self.first.take() {
            return self.told(told, out);
        }
        loop {
            match &mut self.state {
                State::Over => return Looked::Over,
                State::Anew(anew) => match anew.as_mut().poll(context) {
                    Poll::Pending => return Looked::Nothing,
                    Poll::Ready(Ok(follower)) => self.state = State::Next(next(follower)),
                    Poll::Ready(Err(_)) => return self.fail(),
                },
                State::Next(waiting) => match waiting.as_mut().poll(context) {
                    Poll::Pending => return Looked::Nothing,
                    Poll::Ready((follower, Ok(told))) => {
                        self.state = State::Next(next(follower));
                        return self.told(told, out);
                    }
                    Poll::Ready((_, Err(_))) => return self.fail(),
                },
            }
        }
    }

    fn told(&mut self, told: Told, out: &mut String) -> Looked {
        match told {
            Told::Frame(frame) => {
                self.spell(&frame.sse, out);
                Looked::Frame
            }
            Told::Lagged(last) => {
                self.state = State::Anew(anew(&self.feeds, &self.what, last));
                Looked::Frame
            }
            Told::Over => {
                self.state = State::Over;
                Looked::Over
            }
        }
    }

    fn spell(&self, sse: &str, out: &mut String) {
        match self.spelling {
            Spelling::Events => out.push_str(sse),
            Spelling::Lines => {
                let data = sse.lines().find_map(|line| line.strip_prefix("data: "));
                out.push_str(data.unwrap_or_default());
                out.push('\n');
            }
        }
    }

    /// The log cannot be read on. Nobody may take that for the end.
    fn fail(&mut self) -> Looked {
        self.state = State::Over;
        Looked::Failed("the events cannot be read on".into())
    }

    /// Nothing happened for a while.
    fn breathe(&mut self, context: &mut Context<'_>) -> Option<&'static str> {
        let late = self.silence.as_mut().poll(context).is_ready();
        if !late {
            return None;
        }
        self.silence.as_mut().reset(Instant::now() + SILENCE);
        // The new time has to be asked for once, so that somebody is woken.
        let _ = self.silence.as_mut().poll(context);
        Some(match self.spelling {
            Spelling::Events => ":\n\n",
            Spelling::Lines => "\n",
        })
    }
}

impl Body for Follow {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        let mut out = String::new();
        let looked = loop {
            match this.look(context, &mut out) {
                Looked::Frame if out.len() < TOGETHER => {}
                looked => break looked,
            }
        };
        if !out.is_empty() {
            this.silence.as_mut().reset(Instant::now() + SILENCE);
            if let Looked::Failed(_) = looked {
                // Told the next time.
                this.state = State::Anew(Box::pin(std::future::ready(Err(broken()))));
            }
            return Poll::Ready(Some(Ok(Frame::data(out.into()))));
        }
        match looked {
            Looked::Over => Poll::Ready(None),
            Looked::Failed(why) => Poll::Ready(Some(Err(why))),
            // Broken off and not ended: whoever follows comes back and goes on where it was.
            Looked::Frame | Looked::Nothing if this.leaving.as_mut().poll(context).is_ready() => {
                this.state = State::Over;
                Poll::Ready(Some(Err("the server stops".into())))
            }
            Looked::Frame | Looked::Nothing => match this.breathe(context) {
                Some(breath) => {
                    Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(breath.as_bytes())))))
                }
                None => Poll::Pending,
            },
        }
    }
}

fn broken() -> foxwedge_store::StoreError {
    foxwedge_store::StoreError::Invalid("the events cannot be read on".to_owned())
}

fn next(mut follower: Follower<AnyStore>) -> Next {
    Box::pin(async move {
        let told = follower.next().await;
        (follower, told)
    })
}

fn anew(feeds: &Feeds<AnyStore>, what: &Followed, last: FrameId) -> Anew {
    let (feeds, Followed { run, format, options, words }) = (feeds.clone(), what.clone());
    Box::pin(async move { feeds.follow_with(&run, format, options, Some(last), words).await })
}
