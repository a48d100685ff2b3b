//! The gateway server: connects the accept loop, the engine and the steps between them.

use std::{
    future::Future,
    io::{self, Write},
    sync::{Arc, OnceLock},
};

use crate::{
    ApiError, GatewayEndpoint, GatewayEngine, GatewayRequest, GatewayResponse,
    config::GatewayConfig,
    metrics::{self, MetricRoute, MetricsFormat},
};
use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_local::console::LocalSessions;
use foxwedge_store::AnyStore;
use foxwedge_upstream::{UpstreamConfig, UpstreamTransport};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header, request::Parts,
};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    time::Instant,
};

use crate::{
    ConnectionAddresses, ConnectionRules, DrainReport, HttpReply, accept,
    access::{self, Principal},
    api,
    api_request::ApiRequest,
    caller_limit::CallerLimit,
    console,
    decisions::AnsweredQuestions,
    detached::{self, DetachedRequests},
    error, exposed_headers, forward,
    gateway_state::{ConsoleState, GatewayState, MAX_CONCURRENT_DOCUMENTS},
    landing_page,
    log::{self, RequestLog},
    models,
    node_forward::{ForwardedCall, NODE_HEADER, forward_to_node},
    request_body,
    request_context::{CutSignal, RequestContext, TrackedBody, catch_panic},
    request_id,
    response_body::{JSON, ResponseBody},
    routes::{AuthRequirement, GatewayRoute, HealthProbe},
    ui_chat::UiChatRequest,
};

/// Why a gateway cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The log thread cannot be started.
    #[error("the log cannot be started")]
    Log(#[source] io::Error),
}

/// A configured gateway, before it serves.
pub struct GatewayServer {
    config: Arc<GatewayConfig>,
    engine: GatewayEngine,
    store: Arc<AnyStore>,
    log: Option<Box<dyn Write + Send>>,
    local_sessions: Option<Arc<LocalSessions>>,
}

/// Serves until `stop` completes, then lets requests in flight finish.
///
/// # Errors
/// If the server cannot start.
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
    /// Creates a gateway over an engine.
    pub fn new(
        config: Arc<GatewayConfig>,
        engine: GatewayEngine,
        store: Arc<AnyStore>,
    ) -> GatewayServer {
        GatewayServer { config, engine, store, log: None, local_sessions: None }
    }

    /// Gives the console access to session files on this machine.
    #[must_use]
    pub fn local_sessions(mut self, sessions: Arc<LocalSessions>) -> GatewayServer {
        self.local_sessions = Some(sessions);
        self
    }

    /// Writes log lines to `to` instead of the standard error stream.
    #[must_use]
    pub fn log_to(mut self, to: impl Write + Send + 'static) -> GatewayServer {
        self.log = Some(Box::new(to));
        self
    }

    /// Serves until `stop` completes, then lets requests in flight finish. All recorded events are
    /// written when it returns.
    ///
    /// # Errors
    /// If the server cannot start.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> Result<DrainReport, ServeError> {
        let GatewayServer { config, engine, store, log, local_sessions: machine } = self;
        if let (Some(cluster), Ok(address)) = (engine.cluster(), listener.local_addr()) {
            cluster.listen_at(address).await;
        }
        let metrics = engine.metrics().clone();
        let (log, writer) = RequestLog::start(config.telemetry.log, log, metrics.clone())
            .map_err(ServeError::Log)?;
        engine.store_notices().write_to(&log);
        let rules = ConnectionRules::from_config(&config.limits, &config.timeouts);
        let owners = Arc::new(CallerLimit::new(config.limits.requests_per_owner));
        let (drain, draining) = watch::channel(false);
        let console = ConsoleState::new(machine);
        let answered = AnsweredQuestions::default();
        let app = GatewayState {
            engine,
            store,
            console,
            answered_questions: answered,
            document_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_DOCUMENTS)),
            metrics,
            owners,
            detached: DetachedRequests::default(),
            log,
            draining,
            cut: CutSignal::default(),
        };
        let app = Arc::new(app);
        let answer = {
            let app = app.clone();
            move |request, peer| answer(app.clone(), request, peer)
        };
        let stopped_at = OnceLock::new();
        let stop = async {
            stop.await;
            let _ = stopped_at.set(Instant::now());
            drain.send_replace(true);
        };
        let cut = || {
            app.cut.send();
            app.engine.end_replies();
        };
        let served = accept(listener, rules, app.metrics.clone(), answer, stop, cut).await;
        // They have the same time as the requests with a connection.
        let elapsed = stopped_at.get().map(Instant::elapsed).unwrap_or_default();
        app.detached.finish(rules.drain.saturating_sub(elapsed)).await;
        app.engine.drain().await;
        // All requests are done. Joining the log thread blocks, so it runs on a blocking thread.
        let _ = tokio::task::spawn_blocking(move || writer.close()).await;
        Ok(served)
    }
}

/// Handles a request. Errors and panics become replies.
async fn answer(
    app: Arc<GatewayState>,
    request: Request<Incoming>,
    peer: ConnectionAddresses,
) -> Response<TrackedBody> {
    let (mut parts, body) = request.into_parts();
    let id = request_id::of(&parts.headers);
    let metrics = app.metrics.clone();
    let (log, method, cut) = (app.log.clone(), parts.method.clone(), app.cut.clone());
    let mut context = RequestContext::new(log, metrics.clone(), id.clone(), method, cut);
    context.set_user_agent(&parts.headers);
    let format = error::error_format(parts.uri.path(), &parts.headers);
    let route = match GatewayRoute::find(&parts.method, parts.uri.path()) {
        Err(_) if is_websocket(&parts.headers) => Err(error::websocket_unsupported()),
        route => route,
    };
    context.path = match &route {
        Ok(GatewayRoute::Endpoint(endpoint)) => endpoint.path().into(),
        Ok(_) | Err(_) => log::mask_path(parts.uri.path()).into(),
    };
    let monitored = match route {
        Ok(GatewayRoute::Endpoint(endpoint)) => Some(endpoint),
        Ok(GatewayRoute::UiChat(_)) => Some(GatewayEndpoint::Chat),
        Ok(_) | Err(_) => None,
    };
    context.monitor = monitored.map(|endpoint| (app.console.monitor.clone(), endpoint));
    let metric_route = route.as_ref().map_or(MetricRoute::Other, |route| route.metrics_route());
    let auth = route.as_ref().map_or(AuthRequirement::Token, |route| route.auth_requirement());
    let config = app.engine.config();
    let origin_check = access::check_origin(&config.access, &parts, peer);
    let allowed_origin = origin_check.as_ref().ok().and_then(Clone::clone);
    let handled = match origin_check {
        // Boxed, because hyper moves this future and it should be small.
        Ok(_) => {
            let handled = handle(&app, route, &mut parts, body, peer, &mut context);
            catch_panic(Box::pin(app.cut.reply_before(handled))).await
        }
        Err(error) => Ok(Err(error)),
    };
    let mut reply = match handled {
        Ok(Ok(reply)) => reply,
        Ok(Err(error)) => {
            context.summary.error_code = context.summary.error_code.or(Some(error.code));
            error::reply(&error, format, &id)
        }
        Err(_) => {
            let error = error::internal_error();
            context.summary.error_code = Some(error.code);
            error::reply(&error, format, &id)
        }
    };
    add_headers(reply.headers_mut(), &id, format, allowed_origin, auth);
    context.start_reply(reply.status(), metric_route);
    metrics.count_request(metric_route, context.summary.action, reply.status());
    metrics.count_bytes(metrics::ByteDirection::In, context.bytes_in);
    let (parts, body) = reply.into_parts();
    let body = TrackedBody::new(body, context, &parts.headers);
    Response::from_parts(parts, body)
}

async fn handle(
    app: &GatewayState,
    route: Result<GatewayRoute, ApiError>,
    parts: &mut Parts,
    body: Incoming,
    peer: ConnectionAddresses,
    context: &mut RequestContext,
) -> Result<HttpReply, ApiError> {
    request_body::check_transfer_encoding(&parts.headers)?;
    let config = app.engine.config();
    // A client without a token must not learn which paths exist.
    let auth = route.as_ref().map_or(AuthRequirement::Token, |route| route.auth_requirement());
    let client_headers = app.engine.cluster().map(|_| parts.headers.clone());
    let client_headers = client_headers.as_ref();
    let principal = match auth {
        AuthRequirement::Public => None,
        AuthRequirement::Token => Some(access::authenticate(&config.access, &mut parts.headers)?),
    };
    access::reject_upstream_headers(&parts.headers)?;
    let route = route?;
    let format = error::error_format(parts.uri.path(), &parts.headers);
    if let Some(principal) = &principal {
        let owner = &principal.caller.owner;
        context.owner = Some(owner.clone());
        context.permit = Some(app.owners.acquire(owner).ok_or_else(error::too_many_requests)?);
    }
    match (route, principal) {
        (GatewayRoute::Endpoint(endpoint), Some(principal)) => {
            check_stream_form(endpoint, parts.uri.query())?;
            let body = read_body(app, &parts.headers, body, context).await?;
            let input = (body, Vec::new());
            forward_to_engine(app, endpoint, parts, input, principal, client_headers, context).await
        }
        (GatewayRoute::UiChat(format), Some(principal)) => {
            let body = read_body(app, &parts.headers, body, context).await?;
            let mut chat = UiChatRequest::parse(format, parts, &body, &context.id)?;
            let endpoint = GatewayEndpoint::Chat;
            let input = (chat.body.clone(), std::mem::take(&mut chat.losses));
            let reply =
                forward_to_engine(app, endpoint, parts, input, principal, client_headers, context)
                    .await?;
            Ok(chat.encode(reply))
        }
        (GatewayRoute::Forwarded, Some(principal)) => {
            let (limits, timeout) = (&config.limits, config.timeouts.request_body);
            let body = request_body::read_any_body(&parts.headers, body, limits, timeout).await?;
            context.bytes_in = body.len();
            let summary = &mut context.summary;
            forward::forward(&app.engine, parts, body, &principal, summary).await
        }
        (GatewayRoute::Models, Some(_)) => models::reply(&config, parts.uri.path(), format),
        (GatewayRoute::Api | GatewayRoute::Console, Some(principal)) => {
            let body = read_body(app, &parts.headers, body, context).await?;
            let request = ApiRequest {
                method: &parts.method,
                path: parts.uri.path(),
                query: parts.uri.query(),
                headers: &parts.headers,
                client_headers,
                principal: &principal,
                body,
                id: &context.id,
                peer,
            };
            // Boxed: they are rare, and much larger than what serves a model's endpoint.
            let reply = match route {
                GatewayRoute::Console => Box::pin(console::route(app, request)).await,
                _ => Box::pin(api::route(app, request)).await,
            };
            reply.ok_or_else(error::not_found)
        }
        (GatewayRoute::Metrics, Some(_)) => Ok(metrics(app, &parts.headers)),
        (GatewayRoute::Health(probe_kind), _) => Ok(probe(app, probe_kind)),
        (GatewayRoute::OpenApi, _) => Ok(ResponseBody::reply(StatusCode::OK, JSON, api::openapi())),
        (GatewayRoute::Page, _) => Ok(console::asset_reply(parts.uri.path(), &parts.headers)
            .unwrap_or_else(landing_page::reply)),
        (GatewayRoute::Preflight, _) => Ok(preflight(&parts.headers)),
        (
            GatewayRoute::Endpoint(_)
            | GatewayRoute::UiChat(_)
            | GatewayRoute::Models
            | GatewayRoute::Forwarded
            | GatewayRoute::Api
            | GatewayRoute::Console
            | GatewayRoute::Metrics,
            None,
        ) => Err(error::bad_token()),
    }
}

/// Whether the client wants to talk over a WebSocket.
fn is_websocket(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|value| value.as_bytes() == b"websocket")
}

/// Google's API streams events only if the client asks for them, else a JSON list. No known client uses that list.
fn check_stream_form(endpoint: GatewayEndpoint, query: Option<&str>) -> Result<(), ApiError> {
    let events = || query.unwrap_or_default().split('&').any(|pair| pair == "alt=sse");
    if endpoint != GatewayEndpoint::StreamGenerateContent || events() {
        return Ok(());
    }
    Err(error::bad_request("streams are sent as events only: add `?alt=sse` to the path"))
}

async fn read_body(
    app: &GatewayState,
    headers: &HeaderMap,
    body: Incoming,
    context: &mut RequestContext,
) -> Result<Bytes, ApiError> {
    let config = app.engine.config();
    let (limits, timeout) = (&config.limits, config.timeouts.request_body);
    let body = request_body::read_body(headers, body, limits, timeout).await?;
    context.bytes_in = body.len();
    Ok(body)
}

async fn forward_to_engine(
    app: &GatewayState,
    endpoint: GatewayEndpoint,
    parts: &mut Parts,
    (body, losses): (Bytes, Vec<String>),
    principal: Principal,
    client_headers: Option<&HeaderMap>,
    context: &mut RequestContext,
) -> Result<HttpReply, ApiError> {
    let keeps_running = detached::is_requested(&parts.headers)?;
    let headers = std::mem::take(&mut parts.headers);
    let again = client_headers.map(|_| (headers.clone(), body.clone(), principal.caller.clone()));
    let path_model: Option<Arc<str>> = GatewayEndpoint::with_model(parts.uri.path())
        .map(|(_, model)| percent_decode_str(model).decode_utf8_lossy().into());
    let request = GatewayRequest {
        endpoint,
        path_model: path_model.clone(),
        headers,
        body,
        caller: principal.caller,
        id: context.id.clone(),
    };
    let mut response = handle_request(app, request, losses.clone(), keeps_running, context).await?;
    if let (Some(address), Some(cluster), Some(client_headers), Some((mut headers, body, caller))) =
        (response.summary.forward_to.take(), app.engine.cluster(), client_headers, again)
    {
        let path = match &path_model {
            Some(_) => parts.uri.path_and_query().map_or(parts.uri.path(), |path| path.as_str()),
            None => endpoint.path(),
        };
        let call = ForwardedCall {
            method: parts.method.clone(),
            path,
            headers: client_headers,
            body: body.clone(),
            id: &context.id,
        };
        if let Some(reply) = forward_to_node(cluster.client(), &address, call).await {
            return Ok(reply);
        }
        // The node is gone: the conversation continues here.
        headers.insert(NODE_HEADER, HeaderValue::from_static("gone"));
        let id = context.id.clone();
        let request = GatewayRequest { endpoint, path_model, headers, body, caller, id };
        response = handle_request(app, request, losses, keeps_running, context).await?;
    }
    context.summary = response.summary;
    let mut reply = Response::new(ResponseBody::from(response.body));
    *reply.status_mut() = response.status;
    *reply.headers_mut() = response.headers;
    Ok(reply)
}

async fn handle_request(
    app: &GatewayState,
    request: GatewayRequest,
    losses: Vec<String>,
    keeps_running: bool,
    context: &mut RequestContext,
) -> Result<GatewayResponse, ApiError> {
    if !keeps_running {
        return Ok(app.engine.handle_converted(request, losses).await);
    }
    let permit = context.permit.take();
    let handled = app.detached.handle(app.engine.clone(), request, losses, permit).await;
    handled.ok_or_else(error::internal_error)
}

fn metrics(app: &GatewayState, headers: &HeaderMap) -> HttpReply {
    let format = MetricsFormat::from_headers(headers);
    let text = app.engine.metrics().render_as(format);
    ResponseBody::reply(StatusCode::OK, format.content_type(), text)
}

fn probe(app: &GatewayState, probe: HealthProbe) -> HttpReply {
    match (probe, *app.draining.borrow()) {
        (HealthProbe::Live, _) | (HealthProbe::Ready, false) => {
            ResponseBody::reply(StatusCode::OK, JSON, health_json(app))
        }
        (HealthProbe::Ready, true) => {
            ResponseBody::reply(StatusCode::SERVICE_UNAVAILABLE, JSON, r#"{"status":"draining"}"#)
        }
    }
}

/// The status; with agent counts if an agent upstream is configured.
fn health_json(app: &GatewayState) -> String {
    let is_agent =
        |upstream: &Arc<UpstreamConfig>| matches!(upstream.transport, UpstreamTransport::Agent);
    if !app.engine.config().upstreams.iter().any(is_agent) {
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

/// Allows every method and header. Requests from other origins are rejected before this.
fn preflight(headers: &HeaderMap) -> HttpReply {
    let mut reply = Response::new(ResponseBody::full(""));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    let out = reply.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
    out.insert(header::ALLOW, methods.clone());
    if headers.contains_key(header::ORIGIN) {
        out.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        if let Some(requested) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
        }
    }
    reply
}

/// Adds the headers that every reply has.
fn add_headers(
    headers: &mut HeaderMap,
    id: &str,
    format: Format,
    allowed_origin: Option<HeaderValue>,
    auth: AuthRequirement,
) {
    if let Ok(id) = HeaderValue::from_str(id) {
        if format == Format::Anthropic {
            headers.insert(HeaderName::from_static(request_id::ANTHROPIC_NAME), id.clone());
        }
        headers.insert(HeaderName::from_static(request_id::NAME), id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    match auth {
        // A reply to an authenticated request must not be cached.
        AuthRequirement::Token => {
            let cache_control = headers.entry(header::CACHE_CONTROL);
            cache_control.or_insert(HeaderValue::from_static("no-store"));
        }
        AuthRequirement::Public => {}
    }
    if let Some(origin) = allowed_origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let exposed = exposed_headers::names_of(headers);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
}
