//! Decides what a request for a live agent will do, before anything changes and before anything is
//! recorded: a request that is refused leaves everything as it was.

use std::sync::Arc;

use bytes::Bytes;
use foxwedge_agent::{Call, Tail, merged};
use foxwedge_core::Wire;
use foxwedge_dialect::{read, text, want};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::{
    super::{
        Inner,
        prepare::{Prepared, refused, shortened, unreadable},
    },
    GONE,
    setup::setup,
};
use crate::{
    Asked, Fault, Kind,
    agent::{self, Handle, Seat, SeatOwner},
    config::{self, Mode},
    guard::{Judging, guard, profile_of},
    session::Held,
};

/// What a request will do, and which of its tool results are of no use.
pub(in super::super) struct PlannedRequest {
    pub(super) plan: AgentPlan,
    /// Why (`unknown`, `duplicate` or `late`), and the id of the call.
    pub(in super::super) ignored: Vec<(&'static str, String)>,
}

pub(super) enum AgentPlan {
    /// A live agent hears what is new.
    Continue { handle: Arc<Handle>, tail: Tail },
    /// Calls are open, and their agent is gone: they are listed once more. The conversation may
    /// also go on behind these values.
    List { open: Vec<Call>, places: Vec<u128> },
    /// An agent is started from the history.
    Start(Box<AgentStart>),
}

pub(super) struct AgentStart {
    pub(super) seat: Seat,
    /// A valid request in Anthropic's format.
    pub(super) history: Value,
    pub(super) one_at_a_time: bool,
}

/// Plans a request. It has its session for itself.
pub(in super::super) async fn plan(
    engine: &Inner,
    asked: &Asked,
    prepared: &mut Prepared,
    agent: &Arc<config::Agent>,
    held: &Held,
) -> Result<PlannedRequest, Fault> {
    let body = prepared.guarded.body.clone();
    let wire = asked.face.wire();
    let source = text(&body).map_err(|error| unreadable(&body, &error))?;
    let broken = |error| unreadable(&body, &error);
    if let Some(handle) = engine.agents.of(held.session())
        && let Some(tail) =
            new_for(&handle, prepared, source, wire, setup(source, wire)).map_err(broken)?
    {
        let tail = Tail { seed: reply_seed(held, prepared), ..tail };
        if let Some((check, tail)) = handle.check(tail).await {
            match check.fault {
                None => {
                    let plan = AgentPlan::Continue { handle, tail };
                    return Ok(PlannedRequest { plan, ignored: check.ignored });
                }
                Some(fault) if fault.code == GONE => {}
                Some(fault) => return Err(agent::fault(fault)),
            }
        }
    }
    from_history(engine, asked, prepared, agent, held).await
}

/// Plans a request that no live agent can take.
pub(super) async fn from_history(
    engine: &Inner,
    asked: &Asked,
    prepared: &mut Prepared,
    agent: &Arc<config::Agent>,
    held: &Held,
) -> Result<PlannedRequest, Fault> {
    let body = prepared.guarded.body.clone();
    let wire = asked.face.wire();
    let source = text(&body).map_err(|error| unreadable(&body, &error))?;
    let broken = |error| unreadable(&body, &error);
    let setup = setup(source, wire);
    let merged = merged(source, wire).map_err(broken)?;
    let new = Tail::read(source, wire, merged.heard).map_err(broken)?;
    if !merged.open.is_empty() {
        let useful = new.answers.iter().any(|answer| !merged.unknown.contains(&answer.call));
        if let (Some(id), false) = (merged.unknown.first(), useful) {
            return Err(unknown_call(id));
        }
        let places = merged.listed.iter().filter_map(|at| prepared.chain.get(*at).copied());
        let plan = AgentPlan::List { places: places.collect(), open: merged.open };
        let ignored = merged.unknown.into_iter().map(|id| ("unknown", id)).collect();
        return Ok(PlannedRequest { plan, ignored });
    }
    if new.answers.is_empty() && new.words.iter().all(is_blank) {
        return Err(nothing_new(wire, prepared.chain.is_empty()));
    }
    let whole = merged.body.map_or(body, Bytes::from);
    judge(engine, wire, prepared, &whole)?;
    let history = serde_json::from_slice(&prepared.guarded.body).map_err(|_| {
        Fault::new(Kind::Server, "unreadable_history", "the history cannot be told anew")
    })?;
    let seat = seat(engine, asked, prepared, agent, held, setup).await?;
    let start = AgentStart { seat, history, one_at_a_time: new.one_at_a_time };
    let plan = AgentPlan::Start(Box::new(start));
    Ok(PlannedRequest { plan, ignored: Vec::new() })
}

/// A place for an agent of this conversation.
pub(super) async fn seat(
    engine: &Inner,
    asked: &Asked,
    prepared: &Prepared,
    agent: &config::Agent,
    held: &Held,
    setup: u128,
) -> Result<Seat, Fault> {
    let of = SeatOwner {
        upstream: prepared.route.upstream.name.clone(),
        owner: asked.caller.owner.clone(),
        session: held.session().clone(),
        setup,
        names: prepared.guarded.names.clone(),
    };
    engine.agents.reserve(of, agent.most).await
}

/// What is new for an agent that goes on; `None` if it cannot: its history is another one, or it
/// was started with other tools or instructions, and calls do not keep it from starting anew.
fn new_for(
    handle: &Handle,
    prepared: &Prepared,
    source: &str,
    wire: Wire,
    setup: u128,
) -> Result<Option<Tail>, foxwedge_dialect::ReadError> {
    let Some(seen) = handle.seen(&prepared.chain) else { return Ok(None) };
    let tail = Tail::read(source, wire, seen)?;
    let waits = handle.is_waiting() || handle.is_unheard();
    let says_nothing = tail.answers.is_empty() && tail.words.iter().all(is_blank);
    if tail.foreign || (!waits && (setup != handle.setup || says_nothing)) {
        return Ok(None);
    }
    Ok(Some(tail))
}

/// What ids of messages are made of that no agent has begun: the same request of the same
/// conversation gets the same one, and no other does.
pub(super) fn reply_seed(held: &Held, prepared: &Prepared) -> u128 {
    xxh3_128(format!("{} {:032x}", held.session(), prepared.identity.fingerprint).as_bytes())
}

/// Repairs a history from which an agent starts. It is always sound: an agent reads it as its own
/// past.
fn judge(engine: &Inner, from: Wire, prepared: &mut Prepared, body: &Bytes) -> Result<(), Fault> {
    let mut route = (*prepared.route).clone();
    route.guard.mode = match route.guard.mode {
        Mode::Strict => Mode::Strict,
        Mode::Off | Mode::Observe | Mode::Fix => Mode::Fix,
    };
    let source = text(body).map_err(|error| unreadable(body, &error))?;
    let wanted = want(profile_of(&route, from, prepared.wire));
    let reading = read(source, from, wanted).map_err(|error| unreadable(body, &error))?;
    let judging = Judging {
        body,
        reading: &reading,
        from,
        to: prepared.wire,
        route: &route,
        model: &prepared.model,
    };
    prepared.guarded = guard(judging, &engine.scales).map_err(|it| refused(it, body))?;
    Ok(())
}

/// Whether a block says nothing.
fn is_blank(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

fn unknown_call(id: &str) -> Fault {
    let words = format!("no open call has the id `{}`", shortened(id));
    Fault::new(Kind::Request, "unknown_call", words)
}

/// An agent is asked by somebody: nothing is put into the mouth of a user who said nothing.
fn nothing_new(wire: Wire, empty: bool) -> Fault {
    let field = match wire {
        Wire::OpenaiResponses => "input",
        Wire::OpenaiChat | Wire::Anthropic | Wire::Gemini | Wire::Bedrock => "messages",
    };
    let words = match empty {
        true => format!("`{field}` is empty: at least one message is required"),
        false => format!(
            "`{field}` ends without anything new: a live agent needs words of the user or tool \
             results behind its last message"
        ),
    };
    Fault::new(Kind::Request, "nothing_new", words).at(field)
}
