//! Asks an upstream until it replies: passing trouble is waited out, a refusal of the history's
//! shape is repaired once. Nothing of a reply has gone to the client yet.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use foxwedge_core::rules;
use http::{HeaderMap, StatusCode};
use tokio::sync::oneshot;

use super::{Inner, prepare::Prepared};
use crate::{
    Asked, Change, Fault, Kind,
    config::{Heal, Mode},
    guard::{Action, Class, classify, heal},
    http::{HttpError, Incoming, Kind as Trouble, Stage},
    upstream::{Patience, Sending, retry_after, send},
};

/// The longest error of an upstream that is read.
const ERROR: usize = 1 << 20;

/// What an upstream said.
pub(super) enum Said {
    /// It replies.
    Reply { status: StatusCode, headers: HeaderMap, body: Incoming },
    /// It refuses, or is in trouble; all of its words.
    Error { status: StatusCode, headers: HeaderMap, body: Bytes },
}

/// Asks until there is a reply, an error that stays, or nobody who waits.
pub(super) async fn ask(
    engine: &Inner,
    asked: &Asked,
    prepared: &mut Prepared,
    trace: Option<&str>,
    stop: &mut oneshot::Receiver<()>,
) -> Result<Said, Fault> {
    tokio::select! {
        biased;
        _ = stop => Err(stopped()),
        said = patiently(engine, asked, prepared, trace) => said,
    }
}

async fn patiently(
    engine: &Inner,
    asked: &Asked,
    prepared: &mut Prepared,
    trace: Option<&str>,
) -> Result<Said, Fault> {
    let route = prepared.route.clone();
    let mut patience = Patience::new(route.upstream.tries);
    let mut healed = false;
    loop {
        let attempt = patience.next();
        let sending = Sending {
            upstream: &route.upstream,
            face: asked.face,
            wire: prepared.wire,
            model: &prepared.model,
            stream: prepared.stream,
            headers: &asked.headers,
            caller: &asked.caller,
            trace,
        };
        let sent = send(&engine.client, sending, prepared.guarded.body.clone(), attempt).await;
        let said = match sent {
            Ok(reply) => {
                engine.meter.upstream(&route.upstream.name, Some(reply.status));
                if reply.status.is_success() {
                    let (status, headers) = (reply.status, reply.headers);
                    return Ok(Said::Reply { status, headers, body: reply.body });
                }
                // An error that breaks off is still an error.
                let body = reply.body.whole(ERROR).await.unwrap_or_default();
                Ok((reply.status, reply.headers, body))
            }
            Err(error) => {
                engine.meter.upstream(&route.upstream.name, None);
                Err(error)
            }
        };
        let pause = match &said {
            Ok((status, headers, _)) if Patience::is_passing(*status) => {
                patience.pause(retry_after(headers, SystemTime::now()))
            }
            Ok((StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY, _, body)) => {
                let mend = mend(engine, prepared, body);
                let again = mend.filter(|_| !healed && route.guard.heal == Heal::Once);
                again.map(|(body, changes)| {
                    healed = true;
                    prepared.guarded.body = body;
                    prepared.guarded.changes.extend(changes);
                    prepared.guarded.action = Action::Fixed;
                    Duration::ZERO
                })
            }
            Ok(_) => None,
            Err(error) if is_passing(error) => patience.pause(None),
            Err(_) => None,
        };
        match (pause, said) {
            (Some(pause), _) => {
                engine.meter.retry(&route.upstream.name);
                // A repaired request does not count as a try.
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
            (None, Ok((status, headers, body))) => {
                return Ok(Said::Error { status, headers, body });
            }
            (None, Err(error)) => return Err(unreachable(&error)),
        }
    }
}

/// A request that was refused for its shape, repaired.
fn mend(engine: &Inner, prepared: &Prepared, error: &[u8]) -> Option<(Bytes, Vec<Change>)> {
    let error = String::from_utf8_lossy(error);
    let (class, explanation) = classify(&error);
    engine.meter.upstream_400(match class {
        Class::Shape(code) => rules::find(&format!("FW{code}")).map_or("other", |rule| rule.name),
        Class::Other => "other",
    });
    match prepared.route.guard.mode {
        Mode::Fix => heal(&prepared.guarded.body, prepared.wire, &prepared.route, &explanation?),
        Mode::Off | Mode::Observe | Mode::Strict => None,
    }
}

/// Whether it may go better the next time. Whoever was late once is not waited for again.
fn is_passing(error: &HttpError) -> bool {
    match error.kind {
        Trouble::Closed | Trouble::Failed => error.stage != Stage::Tls,
        Trouble::Late => error.stage == Stage::Connect,
        Trouble::Malformed | Trouble::TooLarge | Trouble::Forbidden => false,
    }
}

fn unreachable(error: &HttpError) -> Fault {
    let words = format!("the upstream cannot be asked: {error}");
    match error.kind {
        Trouble::Late => Fault::new(Kind::Timeout, "upstream_timeout", words),
        Trouble::Closed
        | Trouble::Malformed
        | Trouble::TooLarge
        | Trouble::Forbidden
        | Trouble::Failed => Fault::new(Kind::Upstream, "upstream_unreachable", words),
    }
}

pub(super) fn stopped() -> Fault {
    Fault::new(Kind::Conflict, "run_stopped", "the run was stopped")
}
