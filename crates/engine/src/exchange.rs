//! One request, from its body to its reply.

mod naming;
mod prepare;
mod ask;
mod agent;
mod summary;
mod recall;
mod count;
mod reply;
mod relay;
mod whole;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use foxwedge_agent::Decision;
use foxwedge_store::AnyStore;
use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

use crate::{
    Action, Answered, Asked, Face, Fault, Kind, Told,
    agent::{Counts, Handle, Pool, Question},
    config::{Config, Reach},
    guard::Scales,
    http::{Client, Settings},
    meter::Meter,
    record::{Begin, Recorder, Recording},
    session::{Claimed, Held, Matched, Named, Sessions, Stored, Wanted},
    trace::{Span, Tracer},
    upstream::RetryBudget,
};
use ask::Said;
use naming::{Naming, RequestIdentity};
use prepare::{Prepared, prepare};
use recall::Recall;
use reply::Reply;
use summary::Summaries;

/// The driver. A copy is the same.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: Arc<Config>,
    pub(crate) client: Client,
    pub(crate) scales: Arc<Scales>,
    /// Summaries that models wrote.
    summaries: Arc<Mutex<Summaries>>,
    /// What clients name instead of repeating it.
    recall: Recall,
    pub(crate) sessions: Sessions,
    pub(crate) agents: Pool,
    pub(crate) recorder: Recorder,
    /// How many retries each upstream gets.
    budgets: HashMap<Arc<str>, RetryBudget>,
    pub(crate) meter: Meter,
    pub(crate) tracer: Tracer,
    /// How runs that are at work are stopped.
    stops: Mutex<HashMap<Arc<str>, oneshot::Sender<()>>>,
    sweeper: Mutex<Option<JoinHandle<()>>>,
}

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The store cannot be used.
    #[error("the store cannot be used")]
    Store(#[from] foxwedge_store::StoreError),
}

/// How often what nobody uses is looked for, at least and at most.
const SWEEP: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

impl Engine {
    /// Starts: finds the conversations of before, closes runs that were left open.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open(config: Arc<Config>, store: Arc<AnyStore>) -> Result<Engine, EngineError> {
        let me = format!("gateway-{:016x}", getrandom::u64().unwrap_or_default());
        Engine::open_as(me, config, store).await
    }

    /// The same, under a name by which others can tell whether this process is gone.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open_as(
        me: String,
        config: Arc<Config>,
        store: Arc<AnyStore>,
    ) -> Result<Engine, EngineError> {
        let times = config.times;
        let client = Client::new(Settings {
            connect: times.connect,
            first_byte: times.first_byte,
            idle: times.idle,
            ..Settings::default()
        });
        let meter = Meter::new();
        let sessions = Sessions::new(config.sessions);
        let (recorder, tips) =
            Recorder::start_as(me, store, config.record, config.sessions, meter.clone()).await?;
        sessions.load(tips);
        let tracer = Tracer::start(&config.telemetry, client.clone(), meter.clone());
        let agents = Pool::new(config.sessions.call);
        if config.upstreams.iter().any(|upstream| matches!(upstream.reach, Reach::Agent(_))) {
            agents.sweep().await;
        }
        let recall = Recall::new(config.sessions.replies);
        let upstreams = config.upstreams.iter();
        let budgets = upstreams.map(|it| (it.name.clone(), RetryBudget::new())).collect();
        let inner = Arc::new(Inner {
            config,
            client,
            scales: Arc::default(),
            summaries: Arc::default(),
            recall,
            sessions,
            agents,
            recorder,
            budgets,
            meter,
            tracer,
            stops: Mutex::default(),
            sweeper: Mutex::default(),
        });
        let sweeper = tokio::spawn(sweep(Arc::downgrade(&inner)));
        *inner.sweeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(sweeper);
        Ok(Engine { inner })
    }

    /// Answers a request. Whatever goes wrong is a reply in the client's own form.
    pub async fn answer(&self, asked: Asked) -> Answered {
        let inner = &self.inner;
        let mut told = Told::default();
        let (face, id) = (asked.face, asked.id.clone());
        let answered = match face {
            // On the heap: whoever waits for it is moved around, and should be small.
            Face::CountTokens => Box::pin(count::count(inner, &asked, &mut told)).await,
            Face::Chat | Face::Responses | Face::Messages => {
                Box::pin(exchange(inner, &asked, &mut told)).await
            }
        };
        let answered = answered.unwrap_or_else(|fault| reply::fault(&fault, face, &id, told));
        let action = answered.told.action.unwrap_or(Action::None);
        inner.meter.noted(&answered.told.findings, action);
        answered
    }

    /// Stops a run that is at work here; whether there was one.
    pub fn stop(&self, run: &str) -> bool {
        let stop = lock(&self.inner.stops).remove(run);
        stop.is_some_and(|stop| stop.send(()).is_ok())
    }

    /// A run has ended, and nobody goes on with it: an agent that worked on it is ended.
    pub fn release(&self, run: &str) {
        self.inner.agents.end(run);
    }

    /// What an agent that works on a run asks people; `None` if none does.
    pub fn questions(&self, run: &str) -> Option<Vec<Question>> {
        self.inner.agents.questions(run)
    }

    /// A person decides about a question of a run; whether there was such a question.
    pub async fn decide(&self, run: &str, ticket: String, decision: Decision) -> bool {
        self.inner.agents.decide(run, ticket, decision).await
    }

    /// How many live agents there are, and what they wait for.
    pub fn agents(&self) -> Counts {
        self.inner.agents.counts()
    }

    /// What operators are told.
    pub fn meter(&self) -> &Meter {
        self.inner.meter.agents(self.agents());
        self.inner.meter.sessions(self.inner.sessions.stats());
        &self.inner.meter
    }

    /// What is kept.
    pub fn recorder(&self) -> &Recorder {
        &self.inner.recorder
    }

    /// What conversations are found by.
    pub fn sessions(&self) -> &Sessions {
        &self.inner.sessions
    }

    /// What is set.
    pub fn config(&self) -> &Arc<Config> {
        &self.inner.config
    }

    /// Everything that was handed in is written; nothing may be asked any more.
    pub async fn drain(&self) {
        let sweeper = self.inner.sweeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sweeper) = sweeper {
            sweeper.abort();
        }
        self.inner.agents.drain().await;
        self.inner.recorder.drain().await;
        self.inner.tracer.drain().await;
    }
}

/// Forgets what nobody uses, for as long as there is an engine.
async fn sweep(inner: std::sync::Weak<Inner>) {
    let Some(config) = inner.upgrade().map(|inner| inner.config.sessions) else { return };
    let often = (config.session.min(config.snapshot) / 4).clamp(SWEEP.0, SWEEP.1);
    loop {
        tokio::time::sleep(often).await;
        let Some(inner) = inner.upgrade() else { return };
        inner.sessions.sweep();
        inner.recorder.sweep();
        inner.client.sweep();
    }
}

async fn exchange(engine: &Arc<Inner>, asked: &Asked, told: &mut Told) -> Result<Answered, Fault> {
    let began = Instant::now();
    let mut prepared = prepare(engine, asked).inspect_err(|fault| note_refusal(fault, told))?;
    note(&prepared, told);
    let held = match claim(engine, asked, &prepared).await {
        Claimed::Held(held) => held,
        Claimed::Again(stored) => return Ok(reply::again(&stored, told)),
        Claimed::Busy => return Err(busy()),
    };
    engine.meter.matched(held.matched().name());
    told.session = Some(held.session().clone());
    told.matched = Some(held.matched().name());
    // Whoever is refused here has changed nothing: a run that waits in the session waits on.
    let planned = match &prepared.route.upstream.reach {
        Reach::Network(_) | Reach::Scripted => None,
        Reach::Agent(of) => {
            let of = of.clone();
            let planned = agent::plan(engine, asked, &mut prepared, &of, &held).await;
            let planned = planned.inspect_err(|fault| {
                note_refusal(fault, told);
                if held.matched() == Matched::New {
                    (told.session, told.matched) = (None, None);
                }
            })?;
            told.ignore(&planned.ignored);
            Some((of, planned))
        }
    };
    let mut recording = engine.recorder.begin(begin(asked, &prepared, &held));
    let upstream = &prepared.route.upstream.name;
    let mut span = engine.tracer.chat(&asked.headers, upstream, &prepared.model);
    span.of(held.session(), recording.run());
    told.run = Some(recording.run().clone());
    let mut running = Running::new(engine, recording.run().clone());
    engine.meter.overhead(began.elapsed());

    let (mut agent, mut places) = (None, Vec::new());
    let said = match planned {
        None => {
            summary::fit(engine, asked, &mut prepared).await;
            let trace = span.header();
            match summary::too_long(engine, asked.face, &prepared) {
                Some(fault) => Err(fault),
                None => {
                    ask::ask(engine, asked, &mut prepared, trace.as_deref(), &mut running.stop)
                        .await
                }
            }
        }
        Some((of, planned)) => {
            let side = recording.side();
            let with = agent::With { agent: &of, planned, held: &held, run: recording.run(), side };
            let reply = agent::ask(engine, asked, &mut prepared, with, &mut running.stop).await;
            reply.map(|reply| {
                (agent, places) = (reply.agent, reply.places);
                reply.said
            })
        }
    };
    if let Some(agent) = &agent {
        recording.serves(agent.presence());
    }
    note(&prepared, told);
    recording.changed(&prepared.guarded);
    if prepared.guarded.action == Action::Fixed {
        span.repaired(&prepared.guarded.findings);
    }
    let reply = Reply { engine, asked, prepared: &prepared, told };
    match said {
        Ok(Said::Reply { status, headers, body }) => {
            let work = Work { held, recording, span, running, agent, places };
            reply.begin(status, &headers, body, work).await
        }
        Ok(Said::Error { status, headers, body, tries }) => {
            recording.failed(status);
            span.failed(status.as_u16());
            Ok(reply.error(status, &headers, &body, tries))
        }
        Err(fault) => {
            recording.fault(fault.code);
            span.failed(fault.status().as_u16());
            Err(fault)
        }
    }
}

/// What belongs to a reply that is on its way. Dropped before the reply has ended, it says that the
/// client is gone.
pub(crate) struct Work {
    pub(crate) held: Held,
    pub(crate) recording: Recording,
    pub(crate) span: Span,
    pub(crate) running: Running,
    /// The agent that replies.
    pub(crate) agent: Option<Arc<Handle>>,
    /// Values behind which the conversation may go on, too.
    places: Vec<u128>,
}

impl Work {
    /// The reply is whole; behind it the conversation has this value. Returns the value by which the
    /// conversation is found after a restart: a reply that only lists open calls once more may be
    /// missing from what the client repeats.
    pub(crate) fn settle(&mut self, tip: u128, id: Option<&str>, stored: Option<Stored>) -> u128 {
        if let Some(agent) = &self.agent {
            self.places = agent.settled(tip);
        }
        self.held.settle(tip, &self.places, id, stored);
        self.places.first().copied().unwrap_or(tip)
    }
}

/// A run that can be stopped from outside.
pub(crate) struct Running {
    engine: Arc<Inner>,
    run: Arc<str>,
    pub(crate) stop: oneshot::Receiver<()>,
}

impl Running {
    fn new(engine: &Arc<Inner>, run: Arc<str>) -> Running {
        let (sender, stop) = oneshot::channel();
        lock(&engine.stops).insert(run.clone(), sender);
        Running { engine: engine.clone(), run, stop }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.engine.stops).remove(&self.run);
    }
}

async fn claim(engine: &Inner, asked: &Asked, prepared: &Prepared) -> Claimed {
    loop {
        let waits = match &prepared.route.upstream.reach {
            Reach::Agent(_) => agent::waiting(engine, asked, prepared),
            Reach::Network(_) | Reach::Scripted => None,
        };
        let RequestIdentity { naming, scope, fingerprint, repeated, origin } = &prepared.identity;
        let named = match (&waits, naming) {
            (Some(agent), _) => Named::This(&agent.session),
            (None, Naming::Exactly(name)) => Named::Exactly(name),
            (None, Naming::Loosely(name)) => Named::Loosely(name),
            (None, Naming::Reply(id)) => Named::Reply(id),
            (None, Naming::Not) => Named::Not,
        };
        let wanted = Wanted {
            owner: &asked.caller.owner,
            named,
            chain: &prepared.chain,
            scope: *scope,
            fingerprint: *fingerprint,
            repeated: *repeated,
            origin: *origin,
        };
        let claimed = engine.sessions.claim(wanted).await;
        // Whoever had it before may have answered otherwise: then it is the agent of another
        // conversation, and is not found a second time.
        if let (Some(agent), Claimed::Held(_)) = (&waits, &claimed)
            && !agent::is_of(agent, asked, prepared)
        {
            continue;
        }
        return claimed;
    }
}

fn begin<'a>(asked: &'a Asked, prepared: &'a Prepared, held: &'a Held) -> Begin<'a> {
    Begin {
        session: held.session(),
        forked: held.forked(),
        owner: &asked.caller.owner,
        request: &asked.id,
        model: &prepared.asked_model,
        agent: asked.headers.get(http::header::USER_AGENT).and_then(|name| name.to_str().ok()),
        answers: &prepared.answers,
        failed: &prepared.failed,
        before: &asked.body,
        guarded: &prepared.guarded,
        mode: prepared.route.guard.mode,
        wire: asked.face.wire(),
    }
}

fn note(prepared: &Prepared, told: &mut Told) {
    told.model = Some(prepared.asked_model.clone());
    told.upstream = Some(prepared.route.upstream.name.clone());
    told.action = Some(prepared.guarded.action);
    told.findings.clone_from(&prepared.guarded.findings);
}

fn note_refusal(fault: &Fault, told: &mut Told) {
    if fault.code == "invalid_history" {
        told.action = Some(Action::Rejected);
        told.findings = reply::rejected(fault);
    }
}

fn busy() -> Fault {
    let words = "another request of this session is at work";
    let mut fault = Fault::new(Kind::Conflict, "session_busy", words);
    fault.retry_after = Some(1);
    fault
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
