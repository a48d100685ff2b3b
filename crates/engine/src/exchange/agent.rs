//! A request for a live agent: goes on with the one that waits for it, or starts one from what the
//! client says. The history of a client is the truth, and a process only saves its repetition.

mod plan;
mod setup;
mod reasoning;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use foxwedge_agent::{ClientToolCall, RequestTail};
use foxwedge_core::Format;
use foxwedge_dialect::{
    model::{ModelResponse, encode_reply},
    stream::{self, CollectedEnding},
    text,
};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use plan::{AgentPlan, AgentStart, plan_from_history, reply_seed};
use reasoning::{is_about_reasoning, remove_reasoning};

use super::{
    EngineShared,
    identity::SessionHint,
    prepare::RoutedRequest,
    send::{UpstreamResponse, run_stopped_error},
};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest,
    agent::{AgentHandle, AgentRequest, AgentStartRequest},
    config,
    http::{BodyChunk, IncomingBody},
    record::SideChannel,
    session::{self, SessionGuard},
};

pub(super) use plan::{PlannedRequest, plan_request};

/// Pieces of a reply that may wait for the client.
const REPLY_CHANNEL_SIZE: usize = 16;

/// How a fault is called that says that an agent is gone.
const AGENT_GONE_CODE: &str = "agent_died";

/// What a request needs beside itself.
pub(super) struct AgentRequestContext<'a> {
    pub(super) agent: &'a Arc<config::AgentConfig>,
    pub(super) planned: PlannedRequest,
    pub(super) session_guard: &'a SessionGuard,
    pub(super) run: &'a Arc<str>,
    pub(super) side_channel: Option<SideChannel>,
}

/// The agent that waits for what a request answers.
pub(super) fn find_waiting_agent(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &RoutedRequest,
) -> Option<Arc<AgentHandle>> {
    let (owner, chain) = (&asked.caller.owner, &prepared.chain);
    let named = match &prepared.identity.hint {
        SessionHint::Name(name) => Some(session::named_session_id(owner, name)),
        SessionHint::CacheKey(_) | SessionHint::PreviousReply(_) | SessionHint::None => None,
    };
    let named = named.as_deref();
    let can_be = |handle: &AgentHandle, seen| matches_history(handle, seen, asked, prepared);
    let found = engine.agents.find_waiting(owner, &prepared.answered_calls, chain, named, can_be);
    // Ids of calls may come twice: an agent of another history is that of somebody else.
    found.filter(|handle| named == Some(&*handle.session) || handle.known_messages(chain).is_some())
}

/// Whether an agent that waits is still that of a request's conversation.
pub(super) fn is_agent_of(
    handle: &AgentHandle,
    asked: &GatewayRequest,
    prepared: &RoutedRequest,
) -> bool {
    let seen = handle.known_messages(&prepared.chain);
    seen.is_none_or(|seen| matches_history(handle, seen, asked, prepared))
}

fn matches_history(
    handle: &AgentHandle,
    seen: usize,
    asked: &GatewayRequest,
    prepared: &RoutedRequest,
) -> bool {
    if handle.result_count() == 0 {
        return true;
    }
    let source = text(&prepared.guarded.body).ok();
    let tail =
        source.and_then(|source| RequestTail::read(source, asked.endpoint.wire(), seen).ok());
    tail.is_some_and(|tail| handle.owns_conversation(&prepared.chain, &tail))
}

/// A reply, and whose it is.
pub(super) struct AgentReply {
    pub(super) reply: UpstreamResponse,
    /// The agent that replies; none if nobody had to be asked.
    pub(super) agent: Option<Arc<AgentHandle>>,
    /// Values behind which the conversation may go on, too: the reply only repeats what was said.
    pub(super) resume_points: Vec<u128>,
}

/// Asks an agent until there is a reply, trouble, or nobody who waits. The agent is told what the
/// conversation looks like behind its reply.
pub(super) async fn ask_agent(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &mut RoutedRequest,
    with: AgentRequestContext<'_>,
    stop: &mut oneshot::Receiver<()>,
) -> Result<AgentReply, ApiError> {
    let name = prepared.route.upstream.name.clone();
    let said = tokio::select! {
        biased;
        _ = stop => return Err(run_stopped_error()),
        said = run_plan(engine, asked, prepared, with) => said,
    };
    engine
        .metrics
        .count_upstream(&name, said.as_ref().map_or_else(|fault| Some(fault.status()), |_| OK));
    said
}

const OK: Option<StatusCode> = Some(StatusCode::OK);

async fn run_plan(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &mut RoutedRequest,
    with: AgentRequestContext<'_>,
) -> Result<AgentReply, ApiError> {
    let AgentRequestContext { agent, planned, session_guard: held, run, side_channel: side } = with;
    let mut plan = planned.plan;
    if let AgentPlan::Continue { handle, tail } = plan {
        prepared.guarded.names.clone_from(&handle.names);
        let (pieces, mut replies) = mpsc::channel(REPLY_CHANNEL_SIZE);
        let asking = AgentRequest { tail, chunks: pieces, run: run.clone(), side: side.clone() };
        match handle.send_request(asking, &mut replies).await {
            // It has left, or died before it said a word: it is as if it had not been there.
            None => {}
            Some(BodyChunk::Failed(fault)) if fault.code == AGENT_GONE_CODE => {}
            Some(first) => {
                let said = client_reply(engine, prepared, &handle, first, replies).await?;
                return Ok(AgentReply {
                    reply: said,
                    agent: Some(handle),
                    resume_points: Vec::new(),
                });
            }
        }
        plan = plan_from_history(engine, asked, prepared, agent, held).await?.plan;
    }
    let AgentStart { mut seat, mut history, one_call_at_a_time: one_at_a_time } = match plan {
        AgentPlan::Start(start) => *start,
        AgentPlan::List { open, places } => {
            let said = open_calls_reply(&prepared.model, reply_seed(held, prepared), &open);
            return Ok(AgentReply { reply: said, agent: None, resume_points: places });
        }
        // Such a plan is only made for an agent that was there before.
        AgentPlan::Continue { .. } => return Err(agent_gone_error()),
    };
    loop {
        let (pieces, mut replies) = mpsc::channel(REPLY_CHANNEL_SIZE);
        let tail = RequestTail {
            one_at_a_time,
            seed: reply_seed(held, prepared),
            ..RequestTail::default()
        };
        let setup = seat.setup();
        let birth = AgentStartRequest {
            agent: agent.clone(),
            body: history.clone(),
            model: agent_model(agent, prepared),
            asking: AgentRequest { tail, chunks: pieces, run: run.clone(), side: side.clone() },
        };
        let handle = engine.agents.start(seat, birth)?;
        let first = handle.next_chunk(&mut replies).await.ok_or_else(agent_gone_error)?;
        // What a model thought is sealed over everything that stood before it, the agent's own words
        // among it, and those no client knows. Without its thoughts a history can go on.
        if let BodyChunk::Failed(fault) = &first
            && is_about_reasoning(fault)
            && remove_reasoning(&mut history)
        {
            seat = plan::reserve_seat(engine, asked, prepared, agent, held, setup).await?;
            continue;
        }
        let said = client_reply(engine, prepared, &handle, first, replies).await?;
        return Ok(AgentReply { reply: said, agent: Some(handle), resume_points: Vec::new() });
    }
}

/// The model to ask the agent for.
fn agent_model(agent: &config::AgentConfig, prepared: &RoutedRequest) -> Option<String> {
    match &prepared.route.rename {
        Some(rename) => Some(rename.to_string()),
        None => agent.kind.model(&prepared.requested_model).map(str::to_owned),
    }
}

/// What an agent says, in pieces or all of it, as the client wants it.
async fn client_reply(
    engine: &EngineShared,
    prepared: &RoutedRequest,
    handle: &AgentHandle,
    first: BodyChunk,
    mut rest: mpsc::Receiver<BodyChunk>,
) -> Result<UpstreamResponse, ApiError> {
    match (first, prepared.stream) {
        (BodyChunk::Failed(fault), _) => Err(fault),
        (first, true) => {
            Ok(upstream_reply("text/event-stream", IncomingBody::from_channel(first, rest)))
        }
        (first, false) => {
            let most = engine.config.limits.reply;
            let body = collect_message(&read_full_reply(handle, first, &mut rest, most).await?)?;
            Ok(upstream_reply("application/json", IncomingBody::from_bytes(body)))
        }
    }
}

/// A stream, as a message in one piece.
fn collect_message(events: &[u8]) -> Result<Bytes, ApiError> {
    let wire = Format::Anthropic;
    let broken =
        || ApiError::new(ApiErrorKind::Upstream, "upstream_unreadable", "the reply is not whole");
    let collection = stream::collect(wire, events).map_err(|_| broken())?;
    match collection.ending {
        CollectedEnding::Complete => {
            let outcome = ModelResponse::Reply(collection.reply);
            Ok(encode_reply(&outcome, wire, "").body.into())
        }
        CollectedEnding::Failed(_) | CollectedEnding::Truncated => Err(broken()),
    }
}

/// All of a reply: trouble at any time is a status then.
async fn read_full_reply(
    handle: &AgentHandle,
    first: BodyChunk,
    rest: &mut mpsc::Receiver<BodyChunk>,
    most: usize,
) -> Result<Bytes, ApiError> {
    let mut all = BytesMut::new();
    let mut next = Some(first);
    loop {
        let last = match next.ok_or_else(agent_gone_error)? {
            BodyChunk::More(bytes) => {
                all.extend_from_slice(&bytes);
                false
            }
            BodyChunk::Last(bytes) => {
                all.extend_from_slice(&bytes);
                true
            }
            BodyChunk::Failed(fault) => return Err(fault),
        };
        if all.len() > most {
            let words = "the agent's reply is too long";
            return Err(ApiError::new(ApiErrorKind::Upstream, "upstream_too_large", words));
        }
        if last {
            return Ok(all.freeze());
        }
        next = handle.next_chunk(rest).await;
    }
}

fn upstream_reply(kind: &'static str, body: IncomingBody) -> UpstreamResponse {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    UpstreamResponse::Reply { status: StatusCode::OK, headers, body }
}

/// Calls that are open in a history whose agent is gone: the client is told of them once more, and
/// nobody has to be started for that.
fn open_calls_reply(model: &str, number: u128, open: &[ClientToolCall]) -> UpstreamResponse {
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
    upstream_reply("application/json", IncomingBody::from_bytes(message.to_string().into()))
}

fn agent_gone_error() -> ApiError {
    ApiError::new(ApiErrorKind::Upstream, AGENT_GONE_CODE, "the agent is gone")
}
