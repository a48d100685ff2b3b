//! A request for a live agent: goes on with the one that waits for it, or starts one from what the
//! client says. The history of a client is the truth, and a process only saves its repetition.

mod plan;
mod setup;
mod thoughts;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use foxwedge_agent::{Call, Tail};
use foxwedge_core::Wire;
use foxwedge_dialect::{
    canon::{Outcome, encode_reply},
    stream::{self, Ending},
    text,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use plan::{AgentPlan, AgentStart, from_history, reply_seed};
use thoughts::{is_about_thoughts, without_thoughts};

use super::{
    Inner,
    ask::{Said, stopped},
    naming::Naming,
    prepare::Prepared,
};
use crate::{
    Asked, Fault, Kind,
    agent::{Asking, Birth, Handle},
    config,
    http::{Incoming, Piece},
    record::Side,
    session::{self, Held},
};

pub(super) use plan::{PlannedRequest, plan};

/// Pieces of a reply that may wait for the client.
const PIECES: usize = 16;

/// How a fault is called that says that an agent is gone.
const GONE: &str = "agent_died";

/// What a request needs beside itself.
pub(super) struct With<'a> {
    pub(super) agent: &'a Arc<config::Agent>,
    pub(super) planned: PlannedRequest,
    pub(super) held: &'a Held,
    pub(super) run: &'a Arc<str>,
    pub(super) side: Option<Side>,
}

/// The agent that waits for what a request answers.
pub(super) fn waiting(engine: &Inner, asked: &Asked, prepared: &Prepared) -> Option<Arc<Handle>> {
    let (owner, chain) = (&asked.caller.owner, &prepared.chain);
    let named = match &prepared.identity.naming {
        Naming::Exactly(name) => Some(session::named(owner, name)),
        Naming::Loosely(_) | Naming::Reply(_) | Naming::Not => None,
    };
    let named = named.as_deref();
    let can_be = |handle: &Handle, seen| agrees(handle, seen, asked, prepared);
    let found = engine.agents.wanting(owner, &prepared.answers, chain, named, can_be);
    // Ids of calls may come twice: an agent of another history is that of somebody else.
    found.filter(|handle| named == Some(&*handle.session) || handle.seen(chain).is_some())
}

/// Whether an agent that waits is still that of a request's conversation.
pub(super) fn is_of(handle: &Handle, asked: &Asked, prepared: &Prepared) -> bool {
    let seen = handle.seen(&prepared.chain);
    seen.is_none_or(|seen| agrees(handle, seen, asked, prepared))
}

fn agrees(handle: &Handle, seen: usize, asked: &Asked, prepared: &Prepared) -> bool {
    if handle.heard() == 0 {
        return true;
    }
    let source = text(&prepared.guarded.body).ok();
    let tail = source.and_then(|source| Tail::read(source, asked.face.wire(), seen).ok());
    tail.is_some_and(|tail| handle.agrees(&prepared.chain, &tail))
}

/// A reply, and whose it is.
pub(super) struct AgentReply {
    pub(super) said: Said,
    /// The agent that replies; none if nobody had to be asked.
    pub(super) agent: Option<Arc<Handle>>,
    /// Values behind which the conversation may go on, too: the reply only repeats what was said.
    pub(super) places: Vec<u128>,
}

/// Asks an agent until there is a reply, trouble, or nobody who waits. The agent is told what the
/// conversation looks like behind its reply.
pub(super) async fn ask(
    engine: &Inner,
    asked: &Asked,
    prepared: &mut Prepared,
    with: With<'_>,
    stop: &mut oneshot::Receiver<()>,
) -> Result<AgentReply, Fault> {
    let name = prepared.route.upstream.name.clone();
    let said = tokio::select! {
        biased;
        _ = stop => return Err(stopped()),
        said = speak(engine, asked, prepared, with) => said,
    };
    engine.meter.upstream(&name, said.as_ref().map_or_else(|fault| Some(fault.status()), |_| OK));
    said
}

const OK: Option<StatusCode> = Some(StatusCode::OK);

async fn speak(
    engine: &Inner,
    asked: &Asked,
    prepared: &mut Prepared,
    with: With<'_>,
) -> Result<AgentReply, Fault> {
    let With { agent, planned, held, run, side } = with;
    let mut plan = planned.plan;
    if let AgentPlan::Continue { handle, tail } = plan {
        prepared.guarded.names.clone_from(&handle.names);
        let (pieces, mut replies) = mpsc::channel(PIECES);
        let asking = Asking { tail, pieces, run: run.clone(), side: side.clone() };
        match handle.ask(asking, &mut replies).await {
            // It has left, or died before it said a word: it is as if it had not been there.
            None => {}
            Some(Piece::Failed(fault)) if fault.code == GONE => {}
            Some(first) => {
                let said = reply(engine, prepared, &handle, first, replies).await?;
                return Ok(AgentReply { said, agent: Some(handle), places: Vec::new() });
            }
        }
        plan = from_history(engine, asked, prepared, agent, held).await?.plan;
    }
    let AgentStart { mut seat, mut history, one_at_a_time } = match plan {
        AgentPlan::Start(start) => *start,
        AgentPlan::List { open, places } => {
            let said = listed(&prepared.model, reply_seed(held, prepared), &open);
            return Ok(AgentReply { said, agent: None, places });
        }
        // Such a plan is only made for an agent that was there before.
        AgentPlan::Continue { .. } => return Err(gone()),
    };
    loop {
        let (pieces, mut replies) = mpsc::channel(PIECES);
        let tail = Tail { one_at_a_time, seed: reply_seed(held, prepared), ..Tail::default() };
        let setup = seat.setup();
        let birth = Birth {
            agent: agent.clone(),
            body: history.clone(),
            model: model(agent, prepared),
            asking: Asking { tail, pieces, run: run.clone(), side: side.clone() },
        };
        let handle = engine.agents.start(seat, birth)?;
        let first = handle.next(&mut replies).await.ok_or_else(gone)?;
        // What a model thought is sealed over everything that stood before it, the agent's own words
        // among it, and those no client knows. Without its thoughts a history can go on.
        if let Piece::Failed(fault) = &first
            && is_about_thoughts(fault)
            && without_thoughts(&mut history)
        {
            seat = plan::seat(engine, asked, prepared, agent, held, setup).await?;
            continue;
        }
        let said = reply(engine, prepared, &handle, first, replies).await?;
        return Ok(AgentReply { said, agent: Some(handle), places: Vec::new() });
    }
}

/// The model to ask the agent for.
fn model(agent: &config::Agent, prepared: &Prepared) -> Option<String> {
    match &prepared.route.rename {
        Some(rename) => Some(rename.to_string()),
        None => agent.kind.model(&prepared.asked_model).map(str::to_owned),
    }
}

/// What an agent says, in pieces or all of it, as the client wants it.
async fn reply(
    engine: &Inner,
    prepared: &Prepared,
    handle: &Handle,
    first: Piece,
    mut rest: mpsc::Receiver<Piece>,
) -> Result<Said, Fault> {
    match (first, prepared.stream) {
        (Piece::Failed(fault), _) => Err(fault),
        (first, true) => Ok(said("text/event-stream", Incoming::told(first, rest))),
        (first, false) => {
            let most = engine.config.limits.reply;
            let body = message(&whole(handle, first, &mut rest, most).await?)?;
            Ok(said("application/json", Incoming::ready(body)))
        }
    }
}

/// A stream, as a message in one piece.
fn message(events: &[u8]) -> Result<Bytes, Fault> {
    let wire = Wire::Anthropic;
    let broken = || Fault::new(Kind::Upstream, "upstream_unreadable", "the reply is not whole");
    let collection = stream::collect(wire, events).map_err(|_| broken())?;
    match collection.ending {
        Ending::Whole => {
            let outcome = Outcome::Reply(collection.reply);
            Ok(encode_reply(&outcome, wire, "").body.into())
        }
        Ending::Failed(_) | Ending::Cut => Err(broken()),
    }
}

/// All of a reply: trouble at any time is a status then.
async fn whole(
    handle: &Handle,
    first: Piece,
    rest: &mut mpsc::Receiver<Piece>,
    most: usize,
) -> Result<Bytes, Fault> {
    let mut all = BytesMut::new();
    let mut next = Some(first);
    loop {
        let last = match next.ok_or_else(gone)? {
            Piece::More(bytes) => {
                all.extend_from_slice(&bytes);
                false
            }
            Piece::Last(bytes) => {
                all.extend_from_slice(&bytes);
                true
            }
            Piece::Failed(fault) => return Err(fault),
        };
        if all.len() > most {
            let words = "the agent's reply is too long";
            return Err(Fault::new(Kind::Upstream, "upstream_too_large", words));
        }
        if last {
            return Ok(all.freeze());
        }
        next = handle.next(rest).await;
    }
}

fn said(kind: &'static str, body: Incoming) -> Said {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Said::Reply { status: StatusCode::OK, headers, body }
}

/// Calls that are open in a history whose agent is gone: the client is told of them once more, and
/// nobody has to be started for that.
fn listed(model: &str, number: u128, open: &[Call]) -> Said {
    let calls: Vec<Value> = open
        .iter()
        .map(|call| {
            json!({
                "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments,
            })
        })
        .collect();
    let message = json!({
        "id": format!("msg_{number:032x}"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": calls,
        "stop_reason": "tool_use",
        "stop_sequence": null,
        "usage": { "input_tokens": 0, "output_tokens": 0 },
    });
    said("application/json", Incoming::ready(message.to_string().into()))
}

fn gone() -> Fault {
    Fault::new(Kind::Upstream, GONE, "the agent is gone")
}
