//! A request for a live agent: goes on with the one that waits for it, or starts one from what the
//! client says. The history of a client is the truth, and a process only saves its repetition.

mod setup;
mod thoughts;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use foxwedge_agent::{Call, Tail, merged};
use foxwedge_core::Wire;
use foxwedge_dialect::{
    canon::{Outcome, encode_reply},
    read,
    stream::{self, Ending},
    text, want,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use setup::setup;
use thoughts::{is_about_thoughts, without_thoughts};

use super::{
    Inner,
    ask::{Said, stopped},
    prepare::{Prepared, refused, unreadable},
};
use crate::{
    Asked, Fault, Kind,
    agent::{Asking, Birth, Handle},
    config::{self, Mode},
    guard::{Judging, guard, profile_of},
    http::{Incoming, Piece},
    record::Side,
    session::Held,
};

/// Pieces of a reply that may wait for the client.
const PIECES: usize = 16;

/// How a fault is called that says that an agent is gone.
const GONE: &str = "agent_died";

/// What a request needs beside itself.
pub(super) struct With<'a> {
    pub(super) agent: &'a Arc<config::Agent>,
    pub(super) held: &'a Held,
    pub(super) run: &'a Arc<str>,
    pub(super) side: Option<Side>,
}

/// The agent that waits for what a request answers.
pub(super) fn waiting(engine: &Inner, asked: &Asked, prepared: &Prepared) -> Option<Arc<Handle>> {
    let (owner, chain) = (&asked.caller.owner, &prepared.chain);
    engine
        .agents
        .wanting(owner, &prepared.answers, chain, |handle, seen| {
            agrees(handle, seen, asked, prepared)
        })
        // Ids of calls may come twice: an agent of another history is that of somebody else.
        .filter(|handle| handle.seen(chain).is_some())
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

/// Asks an agent until there is a reply, trouble, or nobody who waits. The agent is told what the
/// conversation looks like behind its reply.
pub(super) async fn ask(
    engine: &Inner,
    asked: &Asked,
    prepared: &mut Prepared,
    with: With<'_>,
    stop: &mut oneshot::Receiver<()>,
) -> Result<(Said, Option<Arc<Handle>>), Fault> {
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
) -> Result<(Said, Option<Arc<Handle>>), Fault> {
    let With { agent, held, run, side } = with;
    let body = prepared.guarded.body.clone();
    let wire = asked.face.wire();
    let source = text(&body).map_err(|error| unreadable(&body, &error))?;
    let broken = |error| unreadable(&body, &error);
    let setup = setup(source, wire);

    if let Some(handle) = engine.agents.of(held.session())
        && let Some(tail) = goes_on(&handle, prepared, source, wire, setup).map_err(broken)?
    {
        prepared.guarded.names.clone_from(&handle.names);
        let (pieces, mut replies) = mpsc::channel(PIECES);
        let asking = Asking { tail, pieces, run: run.clone(), side: side.clone() };
        handle.ask(asking).await;
        match replies.recv().await {
            // It has left, or died before it said a word: it is as if it had not been there.
            None => {}
            Some(Piece::Failed(fault)) if fault.code == GONE => {}
            Some(first) => {
                let said = reply(engine, prepared, first, replies).await?;
                return Ok((said, Some(handle)));
            }
        }
    }

    let merged = merged(source, wire).map_err(broken)?;
    if !merged.open.is_empty() {
        return Ok((listed(&prepared.model, prepared.identity.fingerprint, &merged.open), None));
    }
    let one_at_a_time = Tail::read(source, wire, prepared.chain.len()).map_err(broken)?;
    let whole = merged.body.map_or_else(|| body.clone(), Bytes::from);
    judge(engine, wire, prepared, &whole)?;
    let mut history: Value = serde_json::from_slice(&prepared.guarded.body).map_err(|_| {
        Fault::new(Kind::Server, "unreadable_history", "the history cannot be told anew")
    })?;
    loop {
        let (pieces, mut replies) = mpsc::channel(PIECES);
        let tail = Tail { one_at_a_time: one_at_a_time.one_at_a_time, ..Tail::default() };
        let birth = Birth {
            agent: agent.clone(),
            upstream: prepared.route.upstream.name.clone(),
            owner: asked.caller.owner.clone(),
            session: held.session().clone(),
            setup,
            names: prepared.guarded.names.clone(),
            body: history.clone(),
            model: model(agent, prepared),
            asking: Asking { tail, pieces, run: run.clone(), side: side.clone() },
        };
        let handle = engine.agents.start(birth).await?;
        let first = replies.recv().await.ok_or_else(gone)?;
        // What a model thought is sealed over everything that stood before it, the agent's own words
        // among it, and those no client knows. Without its thoughts a history can go on.
        if let Piece::Failed(fault) = &first
            && is_about_thoughts(fault)
            && without_thoughts(&mut history)
        {
            continue;
        }
        return Ok((reply(engine, prepared, first, replies).await?, Some(handle)));
    }
}

/// What is new for an agent that goes on; `None` if it cannot: its history is another one, or it
/// was started with other tools or instructions, and calls do not keep it from starting anew.
fn goes_on(
    handle: &Handle,
    prepared: &Prepared,
    source: &str,
    wire: Wire,
    setup: u128,
) -> Result<Option<Tail>, foxwedge_dialect::ReadError> {
    let Some(seen) = handle.seen(&prepared.chain) else { return Ok(None) };
    let tail = Tail::read(source, wire, seen)?;
    let waits = handle.is_waiting();
    let says_nothing = tail.words.is_empty() && tail.answers.is_empty();
    if tail.foreign || (!waits && (setup != handle.setup || says_nothing)) {
        return Ok(None);
    }
    Ok(Some(tail))
}

/// The model to ask the agent for.
fn model(agent: &config::Agent, prepared: &Prepared) -> Option<String> {
    match &prepared.route.rename {
        Some(rename) => Some(rename.to_string()),
        None => agent.kind.model(&prepared.asked_model).map(str::to_owned),
    }
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

/// What an agent says, in pieces or all of it, as the client wants it.
async fn reply(
    engine: &Inner,
    prepared: &Prepared,
    first: Piece,
    mut rest: mpsc::Receiver<Piece>,
) -> Result<Said, Fault> {
    match (first, prepared.stream) {
        (Piece::Failed(fault), _) => Err(fault),
        (first, true) => Ok(said("text/event-stream", Incoming::told(first, rest))),
        (first, false) => {
            let most = engine.config.limits.reply;
            let body = message(&whole(first, &mut rest, most).await?)?;
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
        next = rest.recv().await;
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
