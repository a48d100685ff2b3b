//! The gateway: the loop, the engine, and what every request goes through between them.

use std::{
    future::Future,
    io::{self, Write},
    sync::Arc,
};

use bytes::Bytes;
use foxwedge_engine::{
    Asked, Engine, Face, Fault,
    config::{Config, Reach, Upstream},
    meter::{self, Meter, Route},
};
use foxwedge_store::AnyStore;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header, request::Parts,
};
use hyper::body::Incoming;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch};

use crate::{
    Peer, Reply, Rules, Served, accept,
    access::{self, Visitor},
    api::{self, answered::AnsweredQuestions},
    console::{self, Console, Machine},
    error, intake,
    log::{self, Log},
    models,
    outgoing::{JSON, Outgoing},
    owners::Owners,
    page, request_id,
    routes::{Call, Health, Need, Place},
    work::{Work, Worked, calm},
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
pub struct Gateway {
    config: Arc<Config>,
    engine: Engine,
    store: Arc<AnyStore>,
    log: Option<Box<dyn Write + Send>>,
    machine: Option<Arc<dyn Machine>>,
}

/// What every request needs.
pub(crate) struct App {
    pub(crate) config: Arc<Config>,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<AnyStore>,
    pub(crate) console: Console,
    pub(crate) answered: AnsweredQuestions,
    meter: Meter,
    owners: Arc<Owners>,
    log: Log,
    /// True once nobody new may come in. Whoever follows a run without an end waits for it.
    pub(crate) draining: watch::Receiver<bool>,
}

/// Serves until `stop`; requests that are at work may finish then.
///
/// # Errors
/// If it cannot begin.
pub async fn serve(
    config: Arc<Config>,
    engine: Engine,
    store: Arc<AnyStore>,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<Served, ServeError> {
    Gateway::new(config, engine, store).serve(listener, stop).await
}

impl Gateway {
    /// A gateway over an engine.
    pub fn new(config: Arc<Config>, engine: Engine, store: Arc<AnyStore>) -> Gateway {
        Gateway { config, engine, store, log: None, machine: None }
    }

    /// What the console may look at on this machine.
    #[must_use]
    pub fn machine(mut self, machine: Arc<dyn Machine>) -> Gateway {
        self.machine = Some(machine);
        self
    }

    /// Lines of the log go there instead of the standard error stream.
    #[must_use]
    pub fn log_to(mut self, to: impl Write + Send + 'static) -> Gateway {
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
    ) -> Result<Served, ServeError> {
        let Gateway { config, engine, store, log, machine } = self;
        let meter = engine.meter().clone();
        let (log, writer) =
            Log::start(config.telemetry.log, log, meter.clone()).map_err(ServeError::Log)?;
        let rules = Rules::of(&config.limits, &config.times);
        let owners = Arc::new(Owners::new(config.limits.per_owner));
        let (drain, draining) = watch::channel(false);
        let console = Console::new(machine);
        let answered = AnsweredQuestions::default();
        let app = App { config, engine, store, console, answered, meter, owners, log, draining };
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
async fn answer(app: Arc<App>, request: Request<Incoming>, peer: Peer) -> Response<Worked> {
    let (mut parts, body) = request.into_parts();
    let id = request_id::of(&parts.headers);
    let meter = app.meter.clone();
    let mut work = Work::new(app.log.clone(), meter.clone(), id.clone(), parts.method.clone());
    work.agent(&parts.headers);
    let wire = error::wire(parts.uri.path(), &parts.headers);
    let place = Place::find(&parts.method, parts.uri.path());
    work.path = match &place {
        Ok(Place::Face(face)) => face.path().into(),
        Ok(_) | Err(_) => log::masked(parts.uri.path()).into(),
    };
    if let Ok(Place::Face(face)) = place {
        work.watched = Some((app.console.watch.clone(), face));
    }
    let route = place.as_ref().map_or(Route::Other, |place| place.route());
    let need = place.as_ref().map_or(Need::Token, |place| place.need());
    let door = access::door(&app.config.access, &parts, peer);
    let page = door.as_ref().ok().and_then(Clone::clone);
    let handled = match door {
        // On the heap: the server moves what it waits for, and that should be small.
        Ok(_) => calm(Box::pin(handle(&app, place, &mut parts, body, peer, &mut work))).await,
        Err(fault) => Ok(Err(fault)),
    };
    let mut reply = match handled {
        Ok(Ok(reply)) => reply,
        Ok(Err(fault)) => {
            work.told.trouble = work.told.trouble.or(Some(fault.code));
            error::reply(&fault, wire, &id)
        }
        Err(_) => {
            let fault = error::panicked();
            work.told.trouble = Some(fault.code);
            error::reply(&fault, wire, &id)
        }
    };
    stamp(reply.headers_mut(), &id, page, need);
    work.begins(reply.status(), route);
    meter.request(route, work.told.action);
    meter.bytes(meter::Bytes::In, work.bytes_in);
    let (parts, body) = reply.into_parts();
    let body = Worked::new(body, work, &parts.headers);
    Response::from_parts(parts, body)
}

async fn handle(
    app: &App,
    place: Result<Place, Fault>,
    parts: &mut Parts,
    body: Incoming,
    peer: Peer,
    work: &mut Work,
) -> Result<Reply, Fault> {
    intake::framing(&parts.headers)?;
    // Whoever has no token does not learn which paths there are.
    let need = place.as_ref().map_or(Need::Token, |place| place.need());
    let visitor = match need {
        Need::Nothing => None,
        Need::Token => Some(access::visitor(&app.config.access, &mut parts.headers)?),
    };
    access::foreign(&parts.headers)?;
    let place = place?;
    let wire = error::wire(parts.uri.path(), &parts.headers);
    if let Some(visitor) = &visitor {
        let owner = &visitor.caller.owner;
        work.owner = Some(owner.clone());
        work.turn = Some(app.owners.turn(owner).ok_or_else(error::busy)?);
    }
    match (place, visitor) {
        (Place::Face(face), Some(visitor)) => {
            let body = read(app, &parts.headers, body, work).await?;
            Ok(ask(app, face, &mut parts.headers, body, visitor, work).await)
        }
        (Place::Models, Some(_)) => models::reply(&app.config, parts.uri.path(), wire),
        (Place::Api | Place::Console, Some(visitor)) => {
            let body = read(app, &parts.headers, body, work).await?;
            let call = Call {
                method: &parts.method,
                path: parts.uri.path(),
                query: parts.uri.query(),
                headers: &parts.headers,
                visitor: &visitor,
                body,
                id: &work.id,
                peer,
            };
            let reply = match place {
                Place::Console => console::route(app, call).await,
                _ => api::route(app, call).await,
            };
            reply.ok_or_else(error::not_found)
        }
        (Place::Metrics, Some(_)) => Ok(metrics(app)),
        (Place::Health(health), _) => Ok(probe(app, health)),
        (Place::OpenApi, _) => Ok(Outgoing::reply(StatusCode::OK, JSON, api::openapi())),
        (Place::Page, _) => {
            Ok(console::file(parts.uri.path(), &parts.headers).unwrap_or_else(page::reply))
        }
        (Place::Preflight, _) => Ok(preflight(&parts.headers)),
        (Place::Face(_) | Place::Models | Place::Api | Place::Console | Place::Metrics, None) => {
            Err(error::bad_token())
        }
    }
}

async fn read(
    app: &App,
    headers: &HeaderMap,
    body: Incoming,
    work: &mut Work,
) -> Result<Bytes, Fault> {
    let body = intake::body(headers, body, &app.config.limits, app.config.times.body).await?;
    work.bytes_in = body.len();
    Ok(body)
}

async fn ask(
    app: &App,
    face: Face,
    headers: &mut HeaderMap,
    body: Bytes,
    visitor: Visitor,
    work: &mut Work,
) -> Reply {
    let headers = std::mem::take(headers);
    let asked = Asked { face, headers, body, caller: visitor.caller, id: work.id.clone() };
    let answered = app.engine.answer(asked).await;
    work.told = answered.told;
    let mut reply = Response::new(Outgoing::from(answered.body));
    *reply.status_mut() = answered.status;
    *reply.headers_mut() = answered.headers;
    reply
}

fn metrics(app: &App) -> Reply {
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Outgoing::reply(StatusCode::OK, KIND, app.engine.meter().render())
}

fn probe(app: &App, health: Health) -> Reply {
    match (health, *app.draining.borrow()) {
        (Health::Live, _) | (Health::Ready, false) => {
            Outgoing::reply(StatusCode::OK, JSON, well(app))
        }
        (Health::Ready, true) => {
            Outgoing::reply(StatusCode::SERVICE_UNAVAILABLE, JSON, r#"{"status":"draining"}"#)
        }
    }
}

/// That all is well; and how many agents live here, where there may be any.
fn well(app: &App) -> String {
    let lives = |upstream: &Arc<Upstream>| matches!(upstream.reach, Reach::Agent(_));
    if !app.config.upstreams.iter().any(lives) {
        return r#"{"status":"ok"}"#.to_owned();
    }
    let counts = app.engine.agents();
    let agents = json!({
        "processes": counts.processes,
        "waiting": counts.waiting,
        "calls": counts.calls,
        "questions": counts.questions,
    });
    json!({ "status": "ok", "agents": agents }).to_string()
}

/// A page of a listed origin may ask in every way that there is. Pages of others do not get here.
fn preflight(headers: &HeaderMap) -> Reply {
    let mut reply = Response::new(Outgoing::whole(""));
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
fn stamp(headers: &mut HeaderMap, id: &str, page: Option<HeaderValue>, need: Need) {
    const EXPOSED: &str = "x-request-id, x-foxwedge-findings, x-foxwedge-action, \
                           x-foxwedge-session, x-foxwedge-match, x-should-retry, retry-after";
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(HeaderName::from_static(request_id::NAME), id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    match need {
        // What a token opened is for its owner, and stays in nobody's cache.
        Need::Token => {
            let kept = headers.entry(header::CACHE_CONTROL);
            kept.or_insert(HeaderValue::from_static("no-store"));
        }
        Need::Nothing => {}
    }
    if let Some(origin) = page {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
}
