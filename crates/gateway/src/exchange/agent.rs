//! A request for a live agent: continues the one that waits for it, or starts one from the client's
//! history. The client's history is authoritative; a live process only saves repeating it.

mod plan;
mod setup;
mod reasoning;
mod api_error;
mod reply_channel;

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use foxwedge_agents::{
    AgentConfig, AgentError, AgentHandle, AgentRequest, AgentStartRequest, BodyChunk,
    ClientToolCall, NoteRecorder, RequestTail,
};
use foxwedge_formats::text;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use plan::{AgentPlan, AgentStart, plan_from_history, reply_seed};
use reasoning::{is_about_reasoning, remove_reasoning};
use reply_channel::ReplyChannel;

use super::{
    EngineShared,
    prepare::RoutedRequest,
    send::{UpstreamResponse, run_stopped_error},
};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest,
    record::{RequestRecording, SideChannel},
    session::{self, SessionGuard, SessionSelector},
};
use foxwedge_upstream::http::IncomingBody;

pub(super) use plan::{PlannedRequest, plan_request};

/// Chunks of a reply that may wait for the client.
const REPLY_CHANNEL_SIZE: usize = 16;

/// The error code for an agent that has exited.
const AGENT_GONE_CODE: &str = "agent_died";

/// The agent that waits for the tool results of a request.
pub(super) fn find_waiting_agent(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &RoutedRequest,
) -> Option<Arc<AgentHandle>> {
    let (owner, chain) = (&request.caller.owner, &prepared.chain);
    let named_session = match &prepared.identity.selector {
        SessionSelector::Name(name) => Some(session::named_session_id(owner, name)),
        SessionSelector::CacheKey(_)
        | SessionSelector::Reply(_)
        | SessionSelector::SessionId(_)
        | SessionSelector::None => None,
    };
    let named_session = named_session.as_deref();
    let matches = |handle: &AgentHandle, known_messages| {
        matches_history(handle, known_messages, request, prepared)
    };
    let found =
        engine.agents.find_waiting(owner, &prepared.answered_calls, chain, named_session, matches);
    // Call ids may repeat: an agent with another history belongs to another conversation.
    found.filter(|handle| {
        named_session == Some(&*handle.session) || handle.known_messages(chain).is_some()
    })
}

/// Whether a waiting agent still belongs to the conversation of a request.
pub(super) fn is_agent_of(
    handle: &AgentHandle,
    request: &GatewayRequest,
    prepared: &RoutedRequest,
) -> bool {
    let known_messages = handle.known_messages(&prepared.chain);
    known_messages
        .is_none_or(|known_messages| matches_history(handle, known_messages, request, prepared))
}

fn matches_history(
    handle: &AgentHandle,
    known_messages: usize,
    request: &GatewayRequest,
    prepared: &RoutedRequest,
) -> bool {
    if handle.result_count() == 0 {
        return true;
    }
    let source = text(&prepared.guarded.body).ok();
    let tail = source.and_then(|source| {
        RequestTail::read(source, request.endpoint.format(), known_messages).ok()
    });
    tail.is_some_and(|tail| handle.owns_conversation(&prepared.chain, &tail))
}

/// A reply, and the agent that gave it.
pub(super) struct AgentReply {
    pub(super) reply: UpstreamResponse,
    /// The agent that replies; `None` if no agent was needed.
    pub(super) agent: Option<Arc<AgentHandle>>,
    /// Earlier digests from which the conversation may also continue, if the reply only repeats
    /// open calls.
    pub(super) resume_points: Vec<u128>,
}

/// Sends a request to an agent and waits for its reply, an error, or a stop.
pub(super) async fn ask_agent(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    planned: (Arc<AgentConfig>, PlannedRequest),
    session_guard: &SessionGuard,
    recording: &mut RequestRecording,
    stop: &mut oneshot::Receiver<()>,
) -> Result<AgentReply, ApiError> {
    let name = prepared.route.upstream.name.clone();
    let reply = tokio::select! {
        biased;
        _ = stop => return Err(run_stopped_error()),
        reply = run_plan(engine, request, prepared, planned, session_guard, recording) => reply,
    };
    engine
        .metrics
        .count_upstream(&name, reply.as_ref().map_or_else(|error| Some(error.status()), |_| OK));
    reply
}

const OK: Option<StatusCode> = Some(StatusCode::OK);

async fn run_plan(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    (agent, PlannedRequest { mut plan, .. }): (Arc<AgentConfig>, PlannedRequest),
    session_guard: &SessionGuard,
    recording: &mut RequestRecording,
) -> Result<AgentReply, ApiError> {
    let agent = &agent;
    let side_channel = recording.side_channel();
    let run = recording.run();
    if let AgentPlan::Continue { handle, tail } = plan {
        prepared.guarded.names.clone_from(&handle.names);
        let (chunks, mut replies) = mpsc::channel(REPLY_CHANNEL_SIZE);
        let notes = side_channel.clone().map(note_recorder);
        let agent_request = AgentRequest { tail, chunks, run: run.clone(), notes };
        match handle.send_request(agent_request, &mut replies).await {
            // It exited, perhaps before its first chunk: continue as if there had been no agent.
            None => {}
            Some(BodyChunk::Failed(AgentError::Bridge(error))) if error.code == AGENT_GONE_CODE => {
            }
            Some(first) => {
                let reply = client_reply(engine, prepared, &handle, first, replies).await?;
                return Ok(AgentReply { reply, agent: Some(handle), resume_points: Vec::new() });
            }
        }
        plan = plan_from_history(engine, request, prepared, agent, session_guard).await?.plan;
    }
    let AgentStart { mut slot, mut history, one_call_at_a_time } = match plan {
        AgentPlan::Start(start) => *start,
        AgentPlan::List { open, places: resume_points } => {
            let reply =
                open_calls_reply(&prepared.model, reply_seed(session_guard, prepared), &open);
            return Ok(AgentReply { reply, agent: None, resume_points });
        }
        // Such a plan is only made for an agent that existed before.
        AgentPlan::Continue { .. } => return Err(agent_gone_error()),
    };
    loop {
        let (chunks, mut replies) = mpsc::channel(REPLY_CHANNEL_SIZE);
        let tail = RequestTail {
            one_at_a_time: one_call_at_a_time,
            seed: reply_seed(session_guard, prepared),
            ..RequestTail::default()
        };
        let notes = side_channel.clone().map(note_recorder);
        let setup = slot.setup();
        let start_request = AgentStartRequest {
            agent: agent.clone(),
            body: history.clone(),
            model: agent_model(agent, prepared),
            request: AgentRequest { tail, chunks, run: run.clone(), notes },
        };
        let handle = engine.agents.start(slot, start_request)?;
        let first = handle.next_chunk(&mut replies).await.ok_or_else(agent_gone_error)?;
        // A reasoning block is signed over everything before it, including the agent's own prompt,
        // which clients do not have. Without its reasoning blocks a history can continue.
        if let BodyChunk::Failed(AgentError::Bridge(error)) = &first
            && is_about_reasoning(error)
            && remove_reasoning(&mut history)
        {
            slot =
                plan::reserve_seat(engine, request, prepared, agent, session_guard, setup).await?;
            continue;
        }
        let reply = client_reply(engine, prepared, &handle, first, replies).await?;
        return Ok(AgentReply { reply, agent: Some(handle), resume_points: Vec::new() });
    }
}

/// Records the notes of an agent in the run.
fn note_recorder(mut side_channel: SideChannel) -> NoteRecorder {
    NoteRecorder::new(move |note| side_channel.record_note(note))
}

/// The model to request from the agent.
fn agent_model(agent: &AgentConfig, prepared: &RoutedRequest) -> Option<String> {
    match &prepared.route.upstream_model {
        Some(rename) => Some(rename.to_string()),
        None => agent.kind.model(&prepared.requested_model).map(str::to_owned),
    }
}

/// The agent's reply: a stream, which is read to its end first if the client wants a whole reply.
async fn client_reply(
    engine: &EngineShared,
    prepared: &RoutedRequest,
    handle: &AgentHandle,
    first: BodyChunk,
    mut rest: mpsc::Receiver<BodyChunk>,
) -> Result<UpstreamResponse, ApiError> {
    let body = match (first, prepared.stream) {
        (BodyChunk::Failed(error), _) => return Err(error.into()),
        (first, true) => IncomingBody::from_local(ReplyChannel::new(first, rest)),
        (first, false) => {
            let max_bytes = engine.config().limits.whole_reply;
            IncomingBody::from_bytes(read_full_reply(handle, first, &mut rest, max_bytes).await?)
        }
    };
    Ok(upstream_reply("text/event-stream", body))
}

/// Reads a complete reply. Since nothing has been sent yet, an error at any time becomes a status.
async fn read_full_reply(
    handle: &AgentHandle,
    first: BodyChunk,
    rest: &mut mpsc::Receiver<BodyChunk>,
    max_bytes: usize,
) -> Result<Bytes, ApiError> {
    let mut body = BytesMut::new();
    let mut next = Some(first);
    loop {
        let is_last = match next.ok_or_else(agent_gone_error)? {
            BodyChunk::More(bytes) => {
                body.extend_from_slice(&bytes);
                false
            }
            BodyChunk::Last(bytes) => {
                body.extend_from_slice(&bytes);
                true
            }
            BodyChunk::Failed(error) => return Err(error.into()),
        };
        if body.len() > max_bytes {
            let message = "the agent's reply is too long";
            return Err(ApiError::new(ApiErrorKind::Upstream, "upstream_too_large", message));
        }
        if is_last {
            return Ok(body.freeze());
        }
        next = handle.next_chunk(rest).await;
    }
}

fn upstream_reply(content_type: &'static str, body: IncomingBody) -> UpstreamResponse {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    UpstreamResponse::Reply { status: StatusCode::OK, headers, body }
}

/// Lists the open calls of a history whose agent is gone once more. This needs no agent.
fn open_calls_reply(model: &str, seed: u128, open: &[ClientToolCall]) -> UpstreamResponse {
    let calls: Vec<Value> = open
        .iter()
        .map(|call| {
            json!({
                "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments,
            })
        })
        .collect();
    let message = json!({
        "id": format!("msg_{seed:032x}"),
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
    ApiError::new(ApiErrorKind::Upstream, AGENT_GONE_CODE, "the agent process ended")
}
