//! One request, from its body to its reply.

mod identity;
mod prepare;
mod send;
mod agent;
mod summary;
mod response_items;
mod count;
mod reply;
mod relay;
mod full_reply;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use foxwedge_agent::PermissionDecision;
use foxwedge_store::AnyStore;
use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

use crate::{
    ApiError, ApiErrorKind, GatewayEndpoint, GatewayRequest, GatewayResponse, GuardAction,
    RequestSummary,
    agent::{AgentCounts, AgentHandle, AgentPool, AgentQuestion},
    config::{GatewayConfig, UpstreamTransport},
    guard::TokenCounters,
    http::{HttpClient, HttpSettings},
    metrics::Metrics,
    record::{GatewayRecorder, RecordingStart, RequestRecording},
    session::{
        CachedReply, SessionGuard, SessionIndex, SessionMatch, SessionMatchKind, SessionQuery,
        SessionSelector,
    },
    trace::{ChatSpan, ChatTracer},
    upstream::RetryBudget,
};
use identity::{RequestIdentity, SessionHint};
use prepare::{RoutedRequest, prepare};
use reply::ResponseBuilder;
use response_items::ResponseItemCache;
use send::UpstreamResponse;
use summary::SummaryCache;

/// The driver. A copy is the same.
#[derive(Clone)]
pub struct GatewayEngine {
    inner: Arc<EngineShared>,
}

pub(crate) struct EngineShared {
    pub(crate) config: Arc<GatewayConfig>,
    pub(crate) client: HttpClient,
    pub(crate) token_counters: Arc<TokenCounters>,
    /// Summaries that models wrote.
    summaries: Arc<Mutex<SummaryCache>>,
    /// What clients name instead of repeating it.
    response_items: ResponseItemCache,
    pub(crate) sessions: SessionIndex,
    pub(crate) agents: AgentPool,
    pub(crate) recorder: GatewayRecorder,
    /// How many retries each upstream gets.
    retry_budgets: HashMap<Arc<str>, RetryBudget>,
    pub(crate) metrics: Metrics,
    pub(crate) tracer: ChatTracer,
    /// How runs that are at work are stopped.
    stop_senders: Mutex<HashMap<Arc<str>, oneshot::Sender<()>>>,
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
const SWEEP_INTERVAL_RANGE: (Duration, Duration) =
    (Duration::from_secs(1), Duration::from_secs(30));

impl GatewayEngine {
    /// Starts: finds the conversations of before, closes runs that were left open.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open(
        config: Arc<GatewayConfig>,
        store: Arc<AnyStore>,
    ) -> Result<GatewayEngine, EngineError> {
        let me = format!("gateway-{:016x}", getrandom::u64().unwrap_or_default());
        GatewayEngine::open_as(me, config, store).await
    }

    /// The same, under a name by which others can tell whether this process is gone.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open_as(
        me: String,
        config: Arc<GatewayConfig>,
        store: Arc<AnyStore>,
    ) -> Result<GatewayEngine, EngineError> {
        let times = config.times;
        let client = HttpClient::new(HttpSettings {
            connect: times.connect,
            first_byte: times.first_byte,
            idle: times.idle,
            ..HttpSettings::default()
        });
        let meter = Metrics::new();
        let sessions = SessionIndex::new(config.sessions);
        let (recorder, tips) =
            GatewayRecorder::start_as(me, store, config.record, config.sessions, meter.clone())
                .await?;
        sessions.load(tips);
        let tracer = ChatTracer::start(&config.telemetry, client.clone(), meter.clone());
        let agents = AgentPool::new(config.sessions.call);
        if config
            .upstreams
            .iter()
            .any(|upstream| matches!(upstream.transport, UpstreamTransport::Agent(_)))
        {
            agents.sweep().await;
        }
        let recall = ResponseItemCache::new(config.sessions.replies);
        let upstreams = config.upstreams.iter();
        let budgets = upstreams.map(|it| (it.name.clone(), RetryBudget::new())).collect();
        let inner = Arc::new(EngineShared {
            config,
            client,
            token_counters: Arc::default(),
            summaries: Arc::default(),
            response_items: recall,
            sessions,
            agents,
            recorder,
            retry_budgets: budgets,
            metrics: meter,
            tracer,
            stop_senders: Mutex::default(),
            sweeper: Mutex::default(),
        });
        let sweeper = tokio::spawn(sweep(Arc::downgrade(&inner)));
        *inner.sweeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(sweeper);
        Ok(GatewayEngine { inner })
    }

    /// Answers a request. Whatever goes wrong is a reply in the client's own form.
    pub async fn handle(&self, asked: GatewayRequest) -> GatewayResponse {
        let inner = &self.inner;
        let mut told = RequestSummary::default();
        let (face, id) = (asked.endpoint, asked.id.clone());
        let answered = match face {
            // On the heap: whoever waits for it is moved around, and should be small.
            GatewayEndpoint::CountTokens => {
                Box::pin(count::count_tokens(inner, &asked, &mut told)).await
            }
            GatewayEndpoint::Chat | GatewayEndpoint::Responses | GatewayEndpoint::Messages => {
                Box::pin(handle_chat(inner, &asked, &mut told)).await
            }
        };
        let answered =
            answered.unwrap_or_else(|fault| reply::error_response(&fault, face, &id, told));
        let action = answered.summary.action.unwrap_or(GuardAction::None);
        inner.metrics.count_findings(&answered.summary.findings, action);
        answered
    }

    /// Stops a run that is at work here; whether there was one.
    pub fn stop_run(&self, run: &str) -> bool {
        let stop = lock(&self.inner.stop_senders).remove(run);
        stop.is_some_and(|stop| stop.send(()).is_ok())
    }

    /// A run has ended, and nobody goes on with it: an agent that worked on it is ended.
    pub fn release_run(&self, run: &str) {
        self.inner.agents.stop_run(run);
    }

    /// What an agent that works on a run asks people; `None` if none does.
    pub fn questions(&self, run: &str) -> Option<Vec<AgentQuestion>> {
        self.inner.agents.questions(run)
    }

    /// A person decides about a question of a run; whether there was such a question.
    pub async fn decide(&self, run: &str, ticket: String, decision: PermissionDecision) -> bool {
        self.inner.agents.decide(run, ticket, decision).await
    }

    /// How many live agents there are, and what they wait for.
    pub fn agent_counts(&self) -> AgentCounts {
        self.inner.agents.counts()
    }

    /// What operators are told.
    pub fn metrics(&self) -> &Metrics {
        self.inner.metrics.set_agents(self.agent_counts());
        self.inner.metrics.set_sessions(self.inner.sessions.stats());
        &self.inner.metrics
    }

    /// What is kept.
    pub fn recorder(&self) -> &GatewayRecorder {
        &self.inner.recorder
    }

    /// What conversations are found by.
    pub fn sessions(&self) -> &SessionIndex {
        &self.inner.sessions
    }

    /// What is set.
    pub fn config(&self) -> &Arc<GatewayConfig> {
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
async fn sweep(inner: std::sync::Weak<EngineShared>) {
    let Some(config) = inner.upgrade().map(|inner| inner.config.sessions) else { return };
    let often = (config.session.min(config.snapshot) / 4)
        .clamp(SWEEP_INTERVAL_RANGE.0, SWEEP_INTERVAL_RANGE.1);
    loop {
        tokio::time::sleep(often).await;
        let Some(inner) = inner.upgrade() else { return };
        inner.sessions.sweep();
        inner.recorder.sweep();
        inner.client.close_expired_connections();
    }
}

async fn handle_chat(
    engine: &Arc<EngineShared>,
    asked: &GatewayRequest,
    told: &mut RequestSummary,
) -> Result<GatewayResponse, ApiError> {
    let began = Instant::now();
    let mut prepared =
        prepare(engine, asked).inspect_err(|fault| fill_refusal_summary(fault, told))?;
    fill_summary(&prepared, told);
    let held = match claim_session(engine, asked, &prepared).await {
        SessionMatch::Acquired(held) => held,
        SessionMatch::Replay(stored) => return Ok(reply::replayed_response(&stored, told)),
        SessionMatch::Busy => return Err(session_busy_error()),
    };
    engine.metrics.count_match(held.match_kind().name());
    told.session = Some(held.session().clone());
    told.match_kind = Some(held.match_kind().name());
    // Whoever is refused here has changed nothing: a run that waits in the session waits on.
    let planned = match &prepared.route.upstream.transport {
        UpstreamTransport::Network(_) | UpstreamTransport::Scripted => None,
        UpstreamTransport::Agent(of) => {
            let of = of.clone();
            let planned = agent::plan_request(engine, asked, &mut prepared, &of, &held).await;
            let planned = planned.inspect_err(|fault| {
                fill_refusal_summary(fault, told);
                if held.match_kind() == SessionMatchKind::New {
                    (told.session, told.match_kind) = (None, None);
                }
            })?;
            told.set_ignored_results(&planned.ignored);
            Some((of, planned))
        }
    };
    let mut recording = engine.recorder.start_request(recording_start(asked, &prepared, &held));
    let upstream = &prepared.route.upstream.name;
    let mut span = engine.tracer.start_span(&asked.headers, upstream, &prepared.model);
    span.set_run(held.session(), recording.run());
    told.run = Some(recording.run().clone());
    let mut running = StopGuard::new(engine, recording.run().clone());
    engine.metrics.observe_overhead(began.elapsed());

    let (mut agent, mut places) = (None, Vec::new());
    let said = match planned {
        None => {
            summary::fit_with_summary(engine, asked, &mut prepared).await;
            let trace = span.traceparent();
            match summary::context_overflow_error(engine, asked.endpoint, &prepared) {
                Some(fault) => Err(fault),
                None => {
                    send::send_upstream(
                        engine,
                        asked,
                        &mut prepared,
                        trace.as_deref(),
                        &mut running.stop,
                    )
                    .await
                }
            }
        }
        Some((of, planned)) => {
            let side = recording.side_channel();
            let with = agent::AgentRequestContext {
                agent: &of,
                planned,
                session_guard: &held,
                run: recording.run(),
                side_channel: side,
            };
            let reply =
                agent::ask_agent(engine, asked, &mut prepared, with, &mut running.stop).await;
            reply.map(|reply| {
                (agent, places) = (reply.agent, reply.resume_points);
                reply.reply
            })
        }
    };
    if let Some(agent) = &agent {
        recording.set_agent(agent.presence());
    }
    fill_summary(&prepared, told);
    recording.record_changes(&prepared.guarded);
    if prepared.guarded.action == GuardAction::Fixed {
        span.add_repairs(&prepared.guarded.findings);
    }
    let reply =
        ResponseBuilder { engine, request: asked, routed_request: &prepared, summary: told };
    match said {
        Ok(UpstreamResponse::Reply { status, headers, body }) => {
            let work = ReplyInFlight {
                session_guard: held,
                recording,
                span,
                stop_guard: running,
                agent,
                resume_points: places,
            };
            reply.build(status, &headers, body, work).await
        }
        Ok(UpstreamResponse::Error { status, headers, body, tries }) => {
            recording.fail_with_status(status);
            span.set_failure(status.as_u16());
            Ok(reply.build_error(status, &headers, &body, tries))
        }
        Err(fault) => {
            recording.fail_with_code(fault.code);
            span.set_failure(fault.status().as_u16());
            Err(fault)
        }
    }
}

/// What belongs to a reply that is on its way. Dropped before the reply has ended, it says that the
/// client is gone.
pub(crate) struct ReplyInFlight {
    pub(crate) session_guard: SessionGuard,
    pub(crate) recording: RequestRecording,
    pub(crate) span: ChatSpan,
    pub(crate) stop_guard: StopGuard,
    /// The agent that replies.
    pub(crate) agent: Option<Arc<AgentHandle>>,
    /// Values behind which the conversation may go on, too.
    resume_points: Vec<u128>,
}

impl ReplyInFlight {
    /// The reply is whole; behind it the conversation has this value. Returns the value by which the
    /// conversation is found after a restart: a reply that only lists open calls once more may be
    /// missing from what the client repeats.
    pub(crate) fn commit_reply(
        &mut self,
        tip: u128,
        id: Option<&str>,
        stored: Option<CachedReply>,
    ) -> u128 {
        if let Some(agent) = &self.agent {
            self.resume_points = agent.record_reply(tip);
        }
        self.session_guard.commit_reply(tip, &self.resume_points, id, stored);
        self.resume_points.first().copied().unwrap_or(tip)
    }
}

/// A run that can be stopped from outside.
pub(crate) struct StopGuard {
    engine: Arc<EngineShared>,
    run: Arc<str>,
    pub(crate) stop: oneshot::Receiver<()>,
}

impl StopGuard {
    fn new(engine: &Arc<EngineShared>, run: Arc<str>) -> StopGuard {
        let (sender, stop) = oneshot::channel();
        lock(&engine.stop_senders).insert(run.clone(), sender);
        StopGuard { engine: engine.clone(), run, stop }
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        lock(&self.engine.stop_senders).remove(&self.run);
    }
}

async fn claim_session(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &RoutedRequest,
) -> SessionMatch {
    loop {
        let waits = match &prepared.route.upstream.transport {
            UpstreamTransport::Agent(_) => agent::find_waiting_agent(engine, asked, prepared),
            UpstreamTransport::Network(_) | UpstreamTransport::Scripted => None,
        };
        let RequestIdentity { hint: naming, scope, fingerprint, retry_mark: repeated, origin } =
            &prepared.identity;
        let named = match (&waits, naming) {
            (Some(agent), _) => SessionSelector::SessionId(&agent.session),
            (None, SessionHint::Name(name)) => SessionSelector::Name(name),
            (None, SessionHint::CacheKey(name)) => SessionSelector::CacheKey(name),
            (None, SessionHint::PreviousReply(id)) => SessionSelector::Reply(id),
            (None, SessionHint::None) => SessionSelector::None,
        };
        let wanted = SessionQuery {
            owner: &asked.caller.owner,
            selector: named,
            chain: &prepared.chain,
            scope: *scope,
            fingerprint: *fingerprint,
            retry_mark: *repeated,
            origin: *origin,
        };
        let claimed = engine.sessions.claim(wanted).await;
        // Whoever had it before may have answered otherwise: then it is the agent of another
        // conversation, and is not found a second time.
        if let (Some(agent), SessionMatch::Acquired(_)) = (&waits, &claimed)
            && !agent::is_agent_of(agent, asked, prepared)
        {
            continue;
        }
        return claimed;
    }
}

fn recording_start<'a>(
    asked: &'a GatewayRequest,
    prepared: &'a RoutedRequest,
    held: &'a SessionGuard,
) -> RecordingStart<'a> {
    RecordingStart {
        session: held.session(),
        forked: held.forked_from(),
        owner: &asked.caller.owner,
        request: &asked.id,
        model: &prepared.requested_model,
        agent: asked.headers.get(http::header::USER_AGENT).and_then(|name| name.to_str().ok()),
        answered_calls: &prepared.answered_calls,
        failed_calls: &prepared.failed_calls,
        original_body: &asked.body,
        guarded: &prepared.guarded,
        mode: prepared.route.guard.mode,
        wire: asked.endpoint.wire(),
    }
}

fn fill_summary(prepared: &RoutedRequest, told: &mut RequestSummary) {
    told.model = Some(prepared.requested_model.clone());
    told.upstream = Some(prepared.route.upstream.name.clone());
    told.action = Some(prepared.guarded.action);
    told.findings.clone_from(&prepared.guarded.findings);
}

fn fill_refusal_summary(fault: &ApiError, told: &mut RequestSummary) {
    if fault.code == "invalid_history" {
        told.action = Some(GuardAction::Rejected);
        told.findings = reply::rejected_findings(fault);
    }
}

fn session_busy_error() -> ApiError {
    let words = "another request of this session is at work";
    let mut fault = ApiError::new(ApiErrorKind::Conflict, "session_busy", words);
    fault.retry_after = Some(1);
    fault
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
