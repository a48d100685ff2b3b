//! The gateway: the loop, the engine, and what every request goes through between them.

use std::{
    future::Future,
    io::{self, Write},
    sync::Arc,
};

use bytes::Bytes;
use foxwedge_engine::{
    ApiError, GatewayEndpoint, GatewayEngine, GatewayRequest,
    config::{GatewayConfig, UpstreamConfig, UpstreamTransport},
    metrics::{self, MetricRoute, Metrics},
};
use foxwedge_store::AnyStore;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header, request::Parts,
};
use hyper::body::Incoming;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch};

use crate::{
    ConnectionAddresses, ConnectionRules, DrainReport, HttpReply, accept,
    access::{self, Principal},
    api::{self, decisions::AnsweredQuestions},
    caller_limit::CallerLimit,
    console::{self, ConsoleState, LocalSessions},
    error, landing_page,
    log::{self, RequestLog},
    models, request_body,
    request_context::{RequestContext, TrackedBody, catch_panic},
    request_id,
    response_body::{JSON, ResponseBody},
    routes::{ApiRequest, AuthRequirement, GatewayRoute, HealthProbe},
};

/// Why a gateway cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The log cannot be written.
    #[error("the log cannot be started")]
    Log(#[source] io::Error),
}

/// A gateway that is not serving yet.
pub struct GatewayServer {
    config: Arc<GatewayConfig>,
    engine: GatewayEngine,
    store: Arc<AnyStore>,
    log: Option<Box<dyn Write + Send>>,
    local_sessions: Option<Arc<dyn LocalSessions>>,
}

/// What every request needs.
pub(crate) struct GatewayState {
    pub(crate) config: Arc<GatewayConfig>,
    pub(crate) engine: GatewayEngine,
    pub(crate) store: Arc<AnyStore>,
    pub(crate) console: ConsoleState,
    pub(crate) answered_questions: AnsweredQuestions,
    meter: Metrics,
    owners: Arc<CallerLimit>,
    log: RequestLog,
    /// True once nobody new may come in. Whoever follows a run without an end waits for it.
    pub(crate) draining: watch::Receiver<bool>,
}

/// Serves until `stop`; requests that are at work may finish then.
///
/// # Errors
/// If it cannot begin.
pub async fn serve(
    config: Arc<GatewayConfig>,
    engine: GatewayEngine,
    store: Arc<AnyStore>,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<DrainReport, ServeError> {
    GatewayServer::new(config, engine, store).serve(listener, stop).await
}

impl GatewayServer {
    /// A gateway over an engine.
    pub fn new(
        config: Arc<GatewayConfig>,
        engine: GatewayEngine,
        store: Arc<AnyStore>,
    ) -> GatewayServer {
        GatewayServer { config, engine, store, log: None, local_sessions: None }
    }

    /// What the console may look at on this machine.
    #[must_use]
    pub fn local_sessions(mut self, machine: Arc<dyn LocalSessions>) -> GatewayServer {
        self.local_sessions = Some(machine);
        self
    }

    /// Lines of the log go there instead of the standard error stream.
    #[must_use]
    pub fn log_to(mut self, to: impl Write + Send + 'static) -> GatewayServer {
        self.log = Some(Box::new(to));
        self
    }

    /// Serves until `stop`; requests that are at work may finish then. When it returns, everything
    /// that was recorded is written.
    ///
    /// # Errors
    /// If it cannot begin.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<DrainReport, ServeError> {
        let GatewayServer { config, engine, store, log, local_sessions: machine } = self;
        let meter = engine.metrics().clone();
        let (log, writer) =
            RequestLog::start(config.telemetry.log, log, meter.clone()).map_err(ServeError::Log)?;
        let rules = ConnectionRules::from_config(&config.limits, &config.times);
        let owners = Arc::new(CallerLimit::new(config.limits.per_owner));
        let (drain, draining) = watch::channel(false);
        let console = ConsoleState::new(machine);
        let answered = AnsweredQuestions::default();
        let app = GatewayState {
            config,
            engine,
            store,
            console,
            answered_questions: answered,
            meter,
            owners,
            log,
            draining,
        };
        let app = Arc::new(app);
        let answer = {
            let app = app.clone();
            move |request, peer| answer(app.clone(), request, peer)
        };
        let stop = async {
            stop.await;
            drain.send_replace(true);
        };
        let served = accept(listener, rules, app.meter.clone(), answer, stop).await;
        app.engine.drain().await;
        // Nobody writes a line any more; the thread has to be waited for somewhere else.
        let _ = tokio::task::spawn_blocking(move || writer.close()).await;
        Ok(served)
    }
}

/// Answers a request, whatever happens.
async fn answer(
    app: Arc<GatewayState>,
    request: Request<Incoming>,
    peer: ConnectionAddresses,
) -> Response<TrackedBody> {
    let (mut parts, body) = request.into_parts();
    let id = request_id::of(&parts.headers);
    let meter = app.meter.clone();
    let mut work =
        RequestContext::new(app.log.clone(), meter.clone(), id.clone(), parts.method.clone());
    work.set_user_agent(&parts.headers);
    let wire = error::wire(parts.uri.path(), &parts.headers);
    let place = GatewayRoute::find(&parts.method, parts.uri.path());
    work.path = match &place {
        Ok(GatewayRoute::Endpoint(face)) => face.path().into(),
        Ok(_) | Err(_) => log::mask_path(parts.uri.path()).into(),
    };
    if let Ok(GatewayRoute::Endpoint(face)) = place {
        work.monitor = Some((app.console.monitor.clone(), face));
    }
    let route = place.as_ref().map_or(MetricRoute::Other, |place| place.metrics_route());
    let need = place.as_ref().map_or(AuthRequirement::Token, |place| place.auth_requirement());
    let door = access::check_origin(&app.config.access, &parts, peer);
    let page = door.as_ref().ok().and_then(Clone::clone);
    let handled = match door {
        // On the heap: the server moves what it waits for, and that should be small.
        Ok(_) => {
            catch_panic(Box::pin(handle(&app, place, &mut parts, body, peer, &mut work))).await
        }
        Err(fault) => Ok(Err(fault)),
    };
    let mut reply = match handled {
        Ok(Ok(reply)) => reply,
        Ok(Err(fault)) => {
            work.summary.error_code = work.summary.error_code.or(Some(fault.code));
            error::reply(&fault, wire, &id)
        }
        Err(_) => {
            let fault = error::internal_error();
            work.summary.error_code = Some(fault.code);
            error::reply(&fault, wire, &id)
        }
    };
    add_headers(reply.headers_mut(), &id, page, need);
    work.start_reply(reply.status(), route);
    meter.count_request(route, work.summary.action);
    meter.count_bytes(metrics::ByteDirection::In, work.bytes_in);
    let (parts, body) = reply.into_parts();
    let body = TrackedBody::new(body, work, &parts.headers);
    Response::from_parts(parts, body)
}

async fn handle(
    app: &GatewayState,
    place: Result<GatewayRoute, ApiError>,
    parts: &mut Parts,
    body: Incoming,
    peer: ConnectionAddresses,
    work: &mut RequestContext,
) -> Result<HttpReply, ApiError> {
    request_body::check_transfer_encoding(&parts.headers)?;
    // Whoever has no token does not learn which paths there are.
    let need = place.as_ref().map_or(AuthRequirement::Token, |place| place.auth_requirement());
    let visitor = match need {
        AuthRequirement::Public => None,
        AuthRequirement::Token => {
            Some(access::authenticate(&app.config.access, &mut parts.headers)?)
        }
    };
    access::reject_upstream_headers(&parts.headers)?;
    let place = place?;
    let wire = error::wire(parts.uri.path(), &parts.headers);
    if let Some(visitor) = &visitor {
        let owner = &visitor.caller.owner;
        work.owner = Some(owner.clone());
        work.permit = Some(app.owners.acquire(owner).ok_or_else(error::too_many_requests)?);
    }
    match (place, visitor) {
        (GatewayRoute::Endpoint(face), Some(visitor)) => {
            let body = read_body(app, &parts.headers, body, work).await?;
            Ok(forward_to_engine(app, face, &mut parts.headers, body, visitor, work).await)
        }
        (GatewayRoute::Models, Some(_)) => models::reply(&app.config, parts.uri.path(), wire),
        (GatewayRoute::Api | GatewayRoute::Console, Some(visitor)) => {
            let body = read_body(app, &parts.headers, body, work).await?;
            let call = ApiRequest {
                method: &parts.method,
                path: parts.uri.path(),
                query: parts.uri.query(),
                headers: &parts.headers,
                principal: &visitor,
                body,
                id: &work.id,
                peer,
            };
            let reply = match place {
                GatewayRoute::Console => console::route(app, call).await,
                _ => api::route(app, call).await,
            };
            reply.ok_or_else(error::not_found)
        }
        (GatewayRoute::Metrics, Some(_)) => Ok(metrics(app)),
        (GatewayRoute::Health(health), _) => Ok(probe(app, health)),
        (GatewayRoute::OpenApi, _) => Ok(ResponseBody::reply(StatusCode::OK, JSON, api::openapi())),
        (GatewayRoute::Page, _) => Ok(console::asset_reply(parts.uri.path(), &parts.headers)
            .unwrap_or_else(landing_page::reply)),
        (GatewayRoute::Preflight, _) => Ok(preflight(&parts.headers)),
        (
            GatewayRoute::Endpoint(_)
            | GatewayRoute::Models
            | GatewayRoute::Api
            | GatewayRoute::Console
            | GatewayRoute::Metrics,
            None,
        ) => Err(error::bad_token()),
    }
}

async fn read_body(
    app: &GatewayState,
    headers: &HeaderMap,
    body: Incoming,
    work: &mut RequestContext,
) -> Result<Bytes, ApiError> {
    let body =
        request_body::read_body(headers, body, &app.config.limits, app.config.times.body).await?;
    work.bytes_in = body.len();
    Ok(body)
}

async fn forward_to_engine(
    app: &GatewayState,
    face: GatewayEndpoint,
    headers: &mut HeaderMap,
    body: Bytes,
    visitor: Principal,
    work: &mut RequestContext,
) -> HttpReply {
    let headers = std::mem::take(headers);
    let asked = GatewayRequest {
        endpoint: face,
        headers,
        body,
        caller: visitor.caller,
        id: work.id.clone(),
    };
    let answered = app.engine.handle(asked).await;
    work.summary = answered.summary;
    let mut reply = Response::new(ResponseBody::from(answered.body));
    *reply.status_mut() = answered.status;
    *reply.headers_mut() = answered.headers;
    reply
}

fn metrics(app: &GatewayState) -> HttpReply {
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ResponseBody::reply(StatusCode::OK, KIND, app.engine.metrics().render())
}

fn probe(app: &GatewayState, health: HealthProbe) -> HttpReply {
    match (health, *app.draining.borrow()) {
        (HealthProbe::Live, _) | (HealthProbe::Ready, false) => {
            ResponseBody::reply(StatusCode::OK, JSON, health_json(app))
        }
        (HealthProbe::Ready, true) => {
            ResponseBody::reply(StatusCode::SERVICE_UNAVAILABLE, JSON, r#"{"status":"draining"}"#)
        }
    }
}

/// That all is well; and how many agents live here, where there may be any.
fn health_json(app: &GatewayState) -> String {
    let lives =
        |upstream: &Arc<UpstreamConfig>| matches!(upstream.transport, UpstreamTransport::Agent(_));
    if !app.config.upstreams.iter().any(lives) {
        return r#"{"status":"ok"}"#.to_owned();
    }
    let counts = app.engine.agent_counts();
    let agents = json!({
        "processes": counts.processes,
        "waiting": counts.waiting,
        "calls": counts.calls,
        "questions": counts.questions,
    });
    json!({ "status": "ok", "agents": agents }).to_string()
}

/// A page of a listed origin may ask in every way that there is. Pages of others do not get here.
fn preflight(headers: &HeaderMap) -> HttpReply {
    let mut reply = Response::new(ResponseBody::full(""));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let out = reply.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, OPTIONS");
    out.insert(header::ALLOW, methods.clone());
    if headers.contains_key(header::ORIGIN) {
        out.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
    }
    reply
}

/// What every reply carries.
fn add_headers(
    headers: &mut HeaderMap,
    id: &str,
    page: Option<HeaderValue>,
    need: AuthRequirement,
) {
    const EXPOSED: &str = "x-request-id, x-foxwedge-findings, x-foxwedge-action, \
                           x-foxwedge-session, x-foxwedge-match, x-should-retry, retry-after";
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(HeaderName::from_static(request_id::NAME), id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    match need {
        // What a token opened is for its owner, and stays in nobody's cache.
        AuthRequirement::Token => {
            let kept = headers.entry(header::CACHE_CONTROL);
            kept.or_insert(HeaderValue::from_static("no-store"));
        }
        AuthRequirement::Public => {}
    }
    if let Some(origin) = page {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
}
