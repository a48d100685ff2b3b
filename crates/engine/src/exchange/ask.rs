//! Asks an upstream for a client, which may leave meanwhile. Nothing of a reply has gone to it yet.

use bytes::Bytes;
use foxwedge_core::{Explanation, Wire, rules};
use http::StatusCode;
use tokio::sync::oneshot;

use super::{Inner, naming::is_sdk_retry, prepare::Prepared};
use crate::{
    Asked, Fault, Guarded, Kind,
    config::{Heal, Mode, Route},
    guard::{Action, Class, Healed, heal},
    http::{HttpError, Kind as Trouble},
    upstream::{Again, Onlooker, Patience, RetryPlan, Sending, UpstreamTries, persist},
};

pub(super) use crate::upstream::Said;

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
    let body = prepared.guarded.body.clone();
    let (wire, guarded) = (prepared.wire, &mut prepared.guarded);
    let mut desk = Desk { engine, route: &route, wire, guarded };
    let mut patience = Patience::new(route.upstream.tries);
    if is_sdk_retry(&asked.headers) {
        patience = patience.of_client_retry();
    }
    let plan = RetryPlan { patience, budget: engine.budgets.get(&route.upstream.name) };
    let said = persist(&engine.client, sending, body, plan, &mut desk).await;
    said.map_err(|(error, tries)| {
        let mut fault = unreachable(&error);
        fault.tried_enough = tries == UpstreamTries::Done;
        fault
    })
}

/// Counts what happens, and keeps what was changed.
struct Desk<'a> {
    engine: &'a Inner,
    route: &'a Route,
    wire: Wire,
    guarded: &'a mut Guarded,
}

impl Onlooker for Desk<'_> {
    fn asked(&mut self, status: Option<StatusCode>) {
        self.engine.meter.upstream(&self.route.upstream.name, status);
    }

    fn refused(&mut self, class: Class) {
        let name = |code| rules::find(&format!("FW{code}")).map_or("other", |rule| rule.name);
        self.engine.meter.upstream_400(match class {
            Class::Shape(code) => name(code),
            Class::Other => "other",
        });
    }

    fn mend(&mut self, sent: &Bytes, explanation: &Explanation<'_>) -> Option<Bytes> {
        match (self.route.guard.mode, self.route.guard.heal) {
            (Mode::Fix, Heal::Once) => {}
            (Mode::Fix | Mode::Off | Mode::Observe | Mode::Strict, _) => return None,
        }
        let Healed { body, changes, question: _ } = heal(sent, self.wire, self.route, explanation)?;
        self.guarded.body = body.clone();
        self.guarded.changes.append(changes);
        self.guarded.action = Action::Fixed;
        Some(body)
    }

    fn again(&mut self, _: Again<'_>) {
        self.engine.meter.retry(&self.route.upstream.name);
    }
}

fn unreachable(error: &HttpError) -> Fault {
    let words = format!("the upstream cannot be asked: {error}");
    match error.kind {
        Trouble::Late => Fault::new(Kind::Timeout, "upstream_timeout", words),
        Trouble::Redirect => Fault::new(Kind::Upstream, "upstream_redirect", words),
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
