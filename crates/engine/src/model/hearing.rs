//! A reply of an endpoint on its way: connects, waits out passing trouble, has a refused history
//! repaired once, and reads what comes.
//!
//! Everything that goes on is kept here and not in the future that is polled: whoever drops a wait
//! loses nothing, and whoever drops this ends the request.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use foxwedge_core::{Explanation, Wire};
use foxwedge_dialect::stream::Limits;
use foxwedge_tools::Future;
use http::{HeaderMap, StatusCode, header};

use super::{
    ModelAbout, ModelError, Piece, Sealed, Speech,
    failure::{self, cut, nonsense, unreachable},
    reading::{Ended, Reading},
};
use crate::{
    Caller, Face,
    config::{self, Heal, Mode, Route},
    guard::{Class, Healed, heal},
    http::{Client, HttpError, Incoming},
    upstream::{
        Again, Onlooker, Patience, RetryAfter, RetryPlan, Said, Sending, is_stream, persist,
    },
};

/// A reply on its way.
pub(super) struct Hearing {
    asking: Asking,
    stage: Stage,
    /// What is told before the reply begins.
    told: Told,
    reading: Reading,
    /// Told once everything before it is.
    failed: Option<ModelError>,
    /// A provider that fails before it has said a word is asked again.
    patience: Patience,
}

/// What is asked, and whom.
#[derive(Clone)]
pub(super) struct Asking {
    pub(super) client: Client,
    pub(super) route: Arc<Route>,
    pub(super) about: ModelAbout,
    pub(super) request: Sealed,
    /// Whether the reply is to come in pieces.
    pub(super) stream: bool,
}

enum Stage {
    /// Until there is a reply.
    Asking(Waiting<Result<Said, HttpError>>),
    /// The reply comes in pieces.
    Streaming(Box<Incoming>),
    /// The reply comes at once.
    Fetching(Waiting<Result<Bytes, HttpError>>),
    /// Before it is asked again.
    Pausing(Waiting<()>),
    Over,
}

type Waiting<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;
type Told = Arc<Mutex<VecDeque<Piece>>>;

impl Hearing {
    pub(super) fn new(asking: Asking) -> Hearing {
        let told = Told::default();
        let patience = Patience::new(asking.route.upstream.tries);
        let (stage, reading) = (asking.begin(&told, &patience), asking.reading());
        Hearing { asking, stage, told, reading, failed: None, patience }
    }

    /// One that never began.
    pub(super) fn failed(asking: Asking, error: ModelError) -> Hearing {
        let (reading, patience) = (asking.reading(), Patience::new(1));
        let (stage, told) = (Stage::Over, Told::default());
        Hearing { asking, stage, told, reading, failed: Some(error), patience }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Piece>, ModelError>> {
        loop {
            if let Some(piece) = lock(&self.told).pop_front().or_else(|| self.reading.next()) {
                return Poll::Ready(Ok(Some(piece)));
            }
            if let Some(error) = self.failed.take() {
                return Poll::Ready(Err(error));
            }
            match &mut self.stage {
                Stage::Over => return Poll::Ready(Ok(None)),
                Stage::Asking(asking) => match asking.as_mut().poll(context) {
                    Poll::Ready(said) => self.said(said),
                    Poll::Pending if lock(&self.told).is_empty() => return Poll::Pending,
                    // It goes on waiting when the next piece is asked for.
                    Poll::Pending => {}
                },
                Stage::Streaming(incoming) => match incoming.poll_next(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(Ok(bytes))) => {
                        self.reading.push(&bytes);
                        if self.reading.is_over() {
                            drain(incoming, context);
                        }
                        if self.reading.is_over() || self.reading.is_stuck() {
                            self.ended(None);
                        }
                    }
                    Poll::Ready(Some(Err(error))) => self.ended(Some(&error)),
                    Poll::Ready(None) => self.ended(None),
                },
                Stage::Fetching(fetching) => match fetching.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(body) => self.fetched(body),
                },
                Stage::Pausing(pause) => match pause.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => {
                        self.reading = self.asking.reading();
                        self.stage = self.asking.begin(&self.told, &self.patience);
                    }
                },
            }
        }
    }

    /// There is a head of a reply, or none will come.
    fn said(&mut self, said: Result<Said, HttpError>) {
        self.stage = match said {
            Ok(Said::Reply { headers, body, .. }) if comes_in_pieces(&headers) => {
                Stage::Streaming(Box::new(body))
            }
            Ok(Said::Reply { body, .. }) => {
                let most = config::Limits::default().reply;
                Stage::Fetching(Box::pin(body.whole(most)))
            }
            Ok(Said::Error { status, body, .. }) => {
                let (wire, upstream) = (self.asking.about.wire, &self.asking.route.upstream);
                self.failed = Some(failure::refused(status, &body, wire, upstream));
                Stage::Over
            }
            Err(error) => {
                self.failed = Some(unreachable(&error));
                Stage::Over
            }
        };
    }

    /// A reply in one piece is there.
    fn fetched(&mut self, body: Result<Bytes, HttpError>) {
        self.stage = Stage::Over;
        match body {
            Ok(body) => match self.reading.whole(&body) {
                Some(ended) => self.settle(ended, None),
                None => self.failed = Some(nonsense(&body)),
            },
            Err(error) => self.failed = Some(cut(format!("the reply broke off: {error}"))),
        }
    }

    /// A stream has ended, well or not.
    fn ended(&mut self, error: Option<&HttpError>) {
        self.stage = Stage::Over;
        let ended = self.reading.finish();
        self.settle(ended, error);
    }

    fn settle(&mut self, ended: Ended, error: Option<&HttpError>) {
        self.failed = match ended {
            Ended::Whole => None,
            Ended::Failed(failed) => {
                let passing = failure::is_passing(&failed) && !self.reading.has_spoken();
                let error = failure::failed(&failed, &self.asking.route.upstream);
                if let Some(pause) = self.patience.pause(RetryAfter::Unsaid).filter(|_| passing) {
                    // What came so far are figures of a reply that never was.
                    while self.reading.next().is_some() {}
                    lock(&self.told).push_back(Piece::Waiting { pause, why: error.message });
                    self.stage = Stage::Pausing(Box::pin(tokio::time::sleep(pause)));
                    return;
                }
                Some(error)
            }
            Ended::Cut => Some(match error {
                Some(error) => cut(format!("the reply broke off: {error}")),
                None => cut("the reply broke off: it ended before the model had stopped"),
            }),
            Ended::Unreadable(trouble) => {
                Some(cut(format!("the reply cannot be read on: {trouble}")))
            }
            Ended::TooMuch => Some(cut("the reply is longer than can be kept")),
        };
    }
}

impl Speech for Hearing {
    fn next(&mut self) -> Future<'_, Result<Option<Piece>, ModelError>> {
        Box::pin(poll_fn(|context| self.poll(context)))
    }

    fn message(&mut self) -> Option<String> {
        self.stage = Stage::Over;
        self.reading.message()
    }
}

impl Asking {
    fn reading(&self) -> Reading {
        let most = config::Limits::default();
        let limits = Limits { frame: most.event, held: most.reply };
        // The same request gives the same ids, and no other does.
        let seed = blake3::hash(self.request.body()).to_hex().to_string();
        Reading::new(self.about.wire, self.about.profile.ids(), limits, seed)
    }

    /// All tries of a request are counted together, those before a reply and those after one that broke
    /// off.
    fn begin(&self, told: &Told, patience: &Patience) -> Stage {
        let (asking, told) = (self.clone(), told.clone());
        let plan = RetryPlan { patience: patience.clone(), budget: None };
        Stage::Asking(Box::pin(async move {
            let Asking { client, route, about, request, stream } = asking;
            let headers: HeaderMap =
                [(header::USER_AGENT, header::HeaderValue::from_static(AGENT))]
                    .into_iter()
                    .collect();
            let caller = Caller { owner: "local".into(), own: None };
            let sending = Sending {
                upstream: &route.upstream,
                face: face(about.wire),
                wire: about.wire,
                model: &about.name,
                stream,
                headers: &headers,
                caller: &caller,
                trace: None,
            };
            let mut desk = Desk { route: &route, wire: about.wire, told };
            let said = persist(&client, sending, request.body().clone(), plan, &mut desk).await;
            said.map_err(|(error, _)| error)
        }))
    }
}

/// Who we say that we are.
const AGENT: &str = concat!("foxwedge/", env!("CARGO_PKG_VERSION"));

/// The endpoint of a format; Gemini and Bedrock have paths of their own.
fn face(wire: Wire) -> Face {
    match wire {
        Wire::OpenaiResponses => Face::Responses,
        Wire::Anthropic => Face::Messages,
        Wire::OpenaiChat | Wire::Gemini | Wire::Bedrock => Face::Chat,
    }
}

/// Tells what happens, and has a refused request repaired and proven.
struct Desk<'a> {
    route: &'a Route,
    wire: Wire,
    told: Told,
}

impl Onlooker for Desk<'_> {
    fn asked(&mut self, _: Option<StatusCode>) {}

    fn refused(&mut self, _: Class) {}

    fn mend(&mut self, sent: &Bytes, explanation: &Explanation<'_>) -> Option<Bytes> {
        match (self.route.guard.mode, self.route.guard.heal) {
            (Mode::Fix, Heal::Once) => {}
            (Mode::Fix | Mode::Off | Mode::Observe | Mode::Strict, _) => return None,
        }
        let Healed { body, question, changes } = heal(sent, self.wire, self.route, explanation)?;
        let sealed = Sealed::seal(body, self.wire, &question).ok()?;
        lock(&self.told).push_back(Piece::Mended(changes));
        Some(sealed.body().clone())
    }

    fn again(&mut self, again: Again<'_>) {
        let upstream = &self.route.upstream;
        let (pause, why): (Duration, String) = match again {
            Again::Mended => return,
            Again::Trouble { pause, status, words } => {
                (pause, failure::refused(status, words, self.wire, upstream).message)
            }
            Again::Unreached { pause, error } => (pause, unreachable(error).message),
        };
        let why = failure::cut_to(&why, 400);
        lock(&self.told).push_back(Piece::Waiting { pause, why });
    }
}

fn comes_in_pieces(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    is_stream(headers) || kind.is_some_and(|kind| kind.starts_with("application/vnd.amazon.event"))
}

/// Takes what stands behind the end, if it is there, so that the connection can be used again.
fn drain(incoming: &mut Incoming, context: &mut Context<'_>) {
    for _ in 0..4 {
        match incoming.poll_next(context) {
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(None | Some(Err(_))) | Poll::Pending => return,
        }
    }
}

fn lock(told: &Told) -> std::sync::MutexGuard<'_, VecDeque<Piece>> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}
