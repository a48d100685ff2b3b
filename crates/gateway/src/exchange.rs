//! Handles one request, from its body to its reply.

mod identity;
mod nesting;
mod opening;
mod prepare;
mod request_span;
mod reply_in_flight;
mod send;
mod fallback;
mod agent;
mod summary;
mod response_items;
mod final_response;
mod references;
mod session_claim;
mod count;
mod reply;
mod sweep;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use foxwedge_agents::{AgentCounts, AgentPool, AgentQuestion, PermissionDecision};
use foxwedge_store::AnyStore;
use tokio::{sync::oneshot, task::JoinHandle, time::Instant};

use crate::{
    ApiError, ApiErrorKind, GatewayEndpoint, GatewayRequest, GatewayResponse, GuardAction,
    RequestSummary,
    active_config::{ActiveConfig, ConfigCell},
    cluster::GatewayCluster,
    config::GatewayConfig,
    log::StoreNotices,
    metrics::Metrics,
    record::{GatewayRecorder, RecordingStart},
    session::{SessionGuard, SessionIndex, SessionMatch, SessionMatchKind},
    trace::ChatTracer,
};
use foxwedge_upstream::{TokenCounters, send::UpstreamOperation};
use foxwedge_upstream::{UpstreamTransport, http::HttpClient};
pub(crate) use prepare::OWN_RESPONSE_PREFIX;
use prepare::{RoutedRequest, prepare};
use reply::ResponseBuilder;
pub(crate) use reply_in_flight::ReplyInFlight;
use reply_in_flight::StopGuard;
use response_items::ResponseItemCache;
pub(crate) use response_items::{item_not_found, previous_response_not_found};
use send::UpstreamResponse;
pub(crate) use send::unreachable_error;
use session_claim::{claim_session, content_node, other_node_error, unknown_references};
use summary::SummaryCache;

/// The gateway engine. Cheap to clone; clones share state.
#[derive(Clone)]
pub struct GatewayEngine {
    inner: Arc<EngineShared>,
}

pub(crate) struct EngineShared {
    pub(crate) config: ConfigCell,
    pub(crate) token_counters: Arc<TokenCounters>,
    /// Summaries written by models.
    summaries: Arc<Mutex<SummaryCache>>,
    /// Earlier response items that clients may refer to by id.
    response_items: ResponseItemCache,
    pub(crate) sessions: SessionIndex,
    /// The other gateways, where the store is shared.
    pub(crate) cluster: Option<GatewayCluster>,
    pub(crate) agents: AgentPool,
    pub(crate) recorder: GatewayRecorder,
    pub(crate) metrics: Metrics,
    pub(crate) tracer: ChatTracer,
    /// Stops runs in progress, by run id.
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

impl GatewayEngine {
    /// Opens the engine: restores known conversations and closes runs that were left open.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open(
        config: Arc<GatewayConfig>,
        store: Arc<AnyStore>,
    ) -> Result<GatewayEngine, EngineError> {
        let node_id = format!("gateway-{:016x}", getrandom::u64().unwrap_or_default());
        GatewayEngine::open_as(node_id, config, store).await
    }

    /// Like [`GatewayEngine::open`], with a node id by which other processes can detect that this
    /// one is gone.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn open_as(
        node_id: String,
        config: Arc<GatewayConfig>,
        store: Arc<AnyStore>,
    ) -> Result<GatewayEngine, EngineError> {
        let active = ActiveConfig::new(config.clone());
        let metrics = Metrics::new();
        let sessions = SessionIndex::new(config.sessions);
        let (recorder, heads) = GatewayRecorder::start_as(
            node_id.clone(),
            store.clone(),
            config.record,
            config.sessions,
            metrics.clone(),
        )
        .await?;
        sessions.load(heads);
        let tracer = ChatTracer::start(&config.telemetry, active.client.clone(), metrics.clone());
        let agents = AgentPool::new(config.sessions.call_timeout);
        if config
            .upstreams
            .iter()
            .any(|upstream| matches!(upstream.transport, UpstreamTransport::Agent))
        {
            agents.sweep().await;
        }
        let cluster = match store.is_shared() {
            true => Some(
                GatewayCluster::join(
                    store,
                    node_id,
                    sessions.clone(),
                    recorder.clone(),
                    agents.clone(),
                    config.advertise.clone(),
                )
                .await?,
            ),
            false => None,
        };
        let announcer = cluster.as_ref().map(|_| sessions.clone());
        let response_items = ResponseItemCache::new(config.sessions.reply_cache, announcer);
        let inner = Arc::new(EngineShared {
            config: ConfigCell::new(active),
            token_counters: Arc::default(),
            summaries: Arc::default(),
            response_items,
            sessions,
            cluster,
            agents,
            recorder,
            metrics,
            tracer,
            stop_senders: Mutex::default(),
            sweeper: Mutex::default(),
        });
        let engine = Arc::downgrade(&inner);
        inner.recorder.on_stopped_run(move |run| {
            let _ = engine.upgrade().map(|inner| GatewayEngine { inner }.stop_run(run));
        });
        let sweeper = tokio::spawn(sweep::remove_expired(Arc::downgrade(&inner)));
        *lock(&inner.sweeper) = Some(sweeper);
        Ok(GatewayEngine { inner })
    }

    /// Handles a request. Errors become a response in the client's format.
    pub async fn handle(&self, request: GatewayRequest) -> GatewayResponse {
        self.handle_converted(request, Vec::new()).await
    }

    /// The same, for a request that was converted from another form. `losses`: what its format
    /// cannot express, in sentences without content.
    pub(crate) async fn handle_converted(
        &self,
        mut request: GatewayRequest,
        losses: Vec<String>,
    ) -> GatewayResponse {
        let inner = &self.inner;
        let mut summary = RequestSummary::default();
        let (endpoint, id) = (request.endpoint, request.id.clone());
        if endpoint == GatewayEndpoint::GeminiCountTokens {
            count::unwrap_counted(&mut request);
        }
        // Boxed, so that the future of the caller stays small.
        let response = match endpoint.operation() {
            UpstreamOperation::CountTokens => {
                Box::pin(count::count_tokens(inner, &request, &mut summary)).await
            }
            UpstreamOperation::Generate => {
                Box::pin(handle_chat(inner, &request, losses, &mut summary)).await
            }
        };
        let response =
            response.unwrap_or_else(|error| reply::error_response(&error, endpoint, &id, summary));
        let action = response.summary.action.unwrap_or(GuardAction::None);
        inner.metrics.count_findings(&response.summary.findings, action);
        response
    }

    /// Stops a run in progress. Returns whether there was one.
    pub fn stop_run(&self, run: &str) -> bool {
        let stop = lock(&self.inner.stop_senders).remove(run);
        stop.is_some_and(|stop| stop.send(()).is_ok())
    }

    /// Ends the agent of a run that has ended and will not continue.
    pub fn release_run(&self, run: &str) {
        self.inner.agents.stop_run(run);
    }

    /// The open questions of the agent that works on a run; `None` if there is no agent.
    pub fn questions(&self, run: &str) -> Option<Vec<AgentQuestion>> {
        self.inner.agents.questions(run)
    }

    /// Answers a question of a run. Returns whether there was such a question.
    pub async fn decide(&self, run: &str, ticket: String, decision: PermissionDecision) -> bool {
        self.inner.agents.decide(run, ticket, decision).await
    }

    /// The number of live agents, by state.
    pub fn agent_counts(&self) -> AgentCounts {
        self.inner.agents.counts()
    }

    /// What the log says about the store.
    pub(crate) fn store_notices(&self) -> &StoreNotices {
        self.inner.recorder.notices()
    }

    /// The metrics, with current gauges.
    pub fn metrics(&self) -> &Metrics {
        self.inner.metrics.set_agents(self.agent_counts());
        self.inner.metrics.set_sessions(self.inner.sessions.stats());
        &self.inner.metrics
    }

    /// The recorder.
    pub fn recorder(&self) -> &GatewayRecorder {
        &self.inner.recorder
    }

    /// The session index.
    pub fn sessions(&self) -> &SessionIndex {
        &self.inner.sessions
    }

    /// The other gateways, where the store is shared.
    pub(crate) fn cluster(&self) -> Option<&GatewayCluster> {
        self.inner.cluster.as_ref()
    }

    /// The configuration in use.
    pub fn config(&self) -> Arc<GatewayConfig> {
        self.inner.config()
    }

    /// The configuration in use, and the client for its upstreams.
    pub(crate) fn config_and_client(&self) -> (Arc<GatewayConfig>, HttpClient) {
        let active = self.inner.config.get();
        (active.config.clone(), active.client.clone())
    }

    /// Uses another configuration for all requests that begin from now on. Settings that only a
    /// start can change keep their values.
    pub fn set_config(&self, config: GatewayConfig) {
        self.inner.config.replace(config);
    }

    /// Waits until everything queued is written. No request may follow.
    pub async fn drain(&self) {
        if let Some(sweeper) = lock(&self.inner.sweeper).take() {
            sweeper.abort();
        }
        self.inner.agents.drain().await;
        if let Some(cluster) = &self.inner.cluster {
            cluster.leave().await;
        }
        self.inner.recorder.drain().await;
        self.inner.tracer.drain().await;
    }
}

impl EngineShared {
    /// The configuration in use.
    pub(crate) fn config(&self) -> Arc<GatewayConfig> {
        self.config.get().config.clone()
    }
}

async fn handle_chat(
    engine: &Arc<EngineShared>,
    request: &GatewayRequest,
    input_losses: Vec<String>,
    summary: &mut RequestSummary,
) -> Result<GatewayResponse, ApiError> {
    let began = Instant::now();
    if let Some(cluster) = &engine.cluster
        && let Some(name) = identity::issued_name(&request.headers)
    {
        // Without the store, the name is one that the client chose.
        let _ = cluster.learn_issued_name(&request.caller.owner, name).await;
    }
    let prepared = prepare(engine, request);
    // Responses that other nodes may have.
    let references = match &engine.cluster {
        Some(_) => unknown_references(engine, request, &prepared),
        None => Vec::new(),
    };
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            if let Some(address) = content_node(engine, request, &references).await {
                return Err(other_node_error(address, summary));
            }
            fill_refusal_summary(&error, summary);
            return Err(error);
        }
    };
    fill_summary(&prepared, summary);
    let session_guard = match claim_session(engine, request, &prepared, &references).await {
        SessionMatch::Acquired(session_guard) => session_guard,
        SessionMatch::Replay(cached) => return Ok(reply::replayed_response(&cached, summary)),
        SessionMatch::Busy => return Err(session_busy_error()),
        SessionMatch::Elsewhere(address) => return Err(other_node_error(address, summary)),
    };
    engine.metrics.count_match(session_guard.match_kind().name());
    summary.session = Some(session_guard.session().clone());
    summary.match_kind = Some(session_guard.match_kind().name());
    // A refused request must not change anything: a run that waits in the session keeps waiting.
    let planned = match prepared.route.agent.clone() {
        None => None,
        Some(agent_config) => {
            let planned =
                agent::plan_request(engine, request, &mut prepared, &agent_config, &session_guard)
                    .await;
            let planned = planned.inspect_err(|error| {
                fill_refusal_summary(error, summary);
                if session_guard.match_kind() == SessionMatchKind::New {
                    (summary.session, summary.match_kind) = (None, None);
                }
            })?;
            summary.set_ignored_results(&planned.ignored);
            Some((agent_config, planned))
        }
    };
    let mut recording =
        engine.recorder.start_request(recording_start(request, &prepared, &session_guard));
    let mut span = request_span::start_span(&engine.tracer, request, &prepared);
    span.set_run(session_guard.session(), recording.run());
    summary.run = Some(recording.run().clone());
    let mut stop_guard = StopGuard::new(engine, recording.run().clone());
    engine.metrics.observe_overhead(began.elapsed());

    let (mut agent, mut resume_points) = (None, Vec::new());
    let response = match planned {
        None => {
            let (trace, stop) = (span.traceparent(), &mut stop_guard.stop);
            fallback::send_to_route(engine, request, &mut prepared, trace.as_deref(), stop).await
        }
        Some(planned) => {
            let stop = &mut stop_guard.stop;
            let reply = agent::ask_agent(
                engine,
                request,
                &mut prepared,
                planned,
                &session_guard,
                &mut recording,
                stop,
            )
            .await;
            reply.map(|reply| {
                (agent, resume_points) = (reply.agent, reply.resume_points);
                reply.reply
            })
        }
    };
    if let Some(agent) = &agent {
        recording.set_agent(agent.presence());
    }
    fill_summary(&prepared, summary);
    prepared.guarded.losses.append(input_losses.into());
    recording.record_changes(&prepared.guarded);
    if prepared.guarded.compacted.is_some() {
        engine.metrics.count_compaction();
    }
    request_span::add_request(&mut span, &prepared);
    let reply = ResponseBuilder { engine, request, routed_request: &prepared, summary };
    match response {
        Ok(UpstreamResponse::Reply { status, headers, body }) => {
            let work = ReplyInFlight {
                request: request.id.clone(),
                owner: request.caller.owner.clone(),
                referable_body: prepared.referable_body.clone(),
                session_guard,
                recording,
                span,
                stop_guard,
                agent,
                resume_points,
            };
            reply.build(status, &headers, body, work).await
        }
        Ok(UpstreamResponse::Error { status, headers, body, tries }) => {
            recording.fail_with_status(status);
            span.set_failure(status.as_u16());
            Ok(reply.build_error(status, &headers, &body, tries))
        }
        Err(error) => {
            recording.fail_with_code(error.code);
            span.set_failure(error.status().as_u16());
            Err(error)
        }
    }
}

fn recording_start<'a>(
    request: &'a GatewayRequest,
    prepared: &'a RoutedRequest,
    session_guard: &'a SessionGuard,
) -> RecordingStart<'a> {
    RecordingStart {
        session: session_guard.session(),
        match_kind: session_guard.match_kind(),
        forked: session_guard.forked_from(),
        owner: &request.caller.owner,
        request: &request.id,
        model: &prepared.requested_model,
        agent: request.headers.get(http::header::USER_AGENT).and_then(|name| name.to_str().ok()),
        answered_calls: &prepared.answered_calls,
        failed_calls: &prepared.failed_calls,
        original_body: &request.body,
        guarded: &prepared.guarded,
        mode: prepared.route.guard.mode,
        format: request.endpoint.format(),
    }
}

fn fill_summary(prepared: &RoutedRequest, summary: &mut RequestSummary) {
    summary.model = Some(prepared.requested_model.clone());
    summary.upstream = Some(prepared.route.upstream.name.clone());
    summary.action = Some(prepared.guarded.action);
    summary.findings.clone_from(&prepared.guarded.findings);
}

fn fill_refusal_summary(error: &ApiError, summary: &mut RequestSummary) {
    if error.code == "invalid_history" {
        summary.action = Some(GuardAction::Rejected);
        summary.findings = error.findings.to_vec();
    }
}

fn session_busy_error() -> ApiError {
    let message = "another request of this session is in progress";
    let mut error = ApiError::new(ApiErrorKind::Conflict, "session_busy", message);
    error.retry_after = Some(1);
    error
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
