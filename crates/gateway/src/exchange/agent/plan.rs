//! Decides what a request for a live agent will do, before anything is changed or recorded: a
//! refused request has no effect.

use std::sync::Arc;

use bytes::Bytes;
use foxwedge_agents::{
    AgentConfig, AgentError, AgentHandle, AgentSlot, AgentSlotOwner, ClientToolCall, RequestTail,
    merge_history,
};
use foxwedge_core::Format;
use foxwedge_formats::{outline_options, read, text};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::{
    super::{
        EngineShared,
        prepare::{RoutedRequest, refusal_error, unreadable_body_error},
    },
    AGENT_GONE_CODE,
    setup::setup_digest,
};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest,
    api_error::shorten_name,
    config::GuardMode,
    guard::{GuardInput, guard_request, profile_of},
    session::SessionGuard,
};

/// The plan of a request, and the tool results that it ignores.
pub(in super::super) struct PlannedRequest {
    pub(super) plan: AgentPlan,
    /// The reason (`unknown`, `duplicate` or `late`) and the id of each call.
    pub(in super::super) ignored: Vec<(&'static str, String)>,
}

pub(super) enum AgentPlan {
    /// Send the new part of the conversation to a live agent.
    Continue { handle: Arc<AgentHandle>, tail: RequestTail },
    /// Calls are open and their agent is gone: list them once more. The conversation may also
    /// continue after the digests in `places`.
    List { open: Vec<ClientToolCall>, places: Vec<u128> },
    /// Start an agent from the history.
    Start(Box<AgentStart>),
}

pub(super) struct AgentStart {
    pub(super) slot: AgentSlot,
    /// A valid request in Anthropic's format.
    pub(super) history: Value,
    pub(super) one_call_at_a_time: bool,
}

/// Plans a request that has claimed its session.
pub(in super::super) async fn plan_request(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    agent: &Arc<AgentConfig>,
    session_guard: &SessionGuard,
) -> Result<PlannedRequest, ApiError> {
    let body = prepared.guarded.body.clone();
    let format = request.endpoint.format();
    let source = text(&body).map_err(|error| unreadable_body_error(&body, &error))?;
    let read_error = |error| unreadable_body_error(&body, &error);
    if let Some(handle) = engine.agents.find_by_session(session_guard.session())
        && let Some(tail) =
            input_for_agent(&handle, prepared, source, format, setup_digest(source, format))
                .map_err(read_error)?
    {
        let tail = RequestTail { seed: reply_seed(session_guard, prepared), ..tail };
        if let Some((check, tail)) = handle.check(tail).await {
            match check.fault {
                None => {
                    let plan = AgentPlan::Continue { handle, tail };
                    return Ok(PlannedRequest { plan, ignored: check.ignored });
                }
                Some(error) if error.code == AGENT_GONE_CODE => {}
                Some(error) => return Err(AgentError::Bridge(error).into()),
            }
        }
    }
    plan_from_history(engine, request, prepared, agent, session_guard).await
}

/// Plans a request for which there is no live agent.
pub(super) async fn plan_from_history(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
    agent: &Arc<AgentConfig>,
    session_guard: &SessionGuard,
) -> Result<PlannedRequest, ApiError> {
    let body = prepared.guarded.body.clone();
    let format = request.endpoint.format();
    let source = text(&body).map_err(|error| unreadable_body_error(&body, &error))?;
    let read_error = |error| unreadable_body_error(&body, &error);
    let setup = setup_digest(source, format);
    let merged = merge_history(source, format).map_err(read_error)?;
    let new = RequestTail::read(source, format, merged.known_messages).map_err(read_error)?;
    if !merged.open.is_empty() {
        let has_known_result =
            new.answers.iter().any(|answer| !merged.unknown.contains(&answer.call));
        if let (Some(id), false) = (merged.unknown.first(), has_known_result) {
            return Err(unknown_call_error(id));
        }
        let places = merged.listed.iter().filter_map(|at| prepared.chain.get(*at).copied());
        let plan = AgentPlan::List { places: places.collect(), open: merged.open };
        let ignored = merged.unknown.into_iter().map(|id| ("unknown", id)).collect();
        return Ok(PlannedRequest { plan, ignored });
    }
    if new.answers.is_empty() && new.user_content.iter().all(is_blank) {
        return Err(nothing_new_error(format, prepared.chain.is_empty()));
    }
    let full_body = merged.body.map_or(body, Bytes::from);
    guard_history(engine, format, prepared, &full_body)?;
    let history = serde_json::from_slice(&prepared.guarded.body).map_err(|_| {
        ApiError::new(
            ApiErrorKind::Server,
            "unreadable_history",
            "the history cannot be converted for the agent",
        )
    })?;
    let slot = reserve_seat(engine, request, prepared, agent, session_guard, setup).await?;
    let start = AgentStart { slot, history, one_call_at_a_time: new.one_at_a_time };
    let plan = AgentPlan::Start(Box::new(start));
    Ok(PlannedRequest { plan, ignored: Vec::new() })
}

/// Reserves a slot for an agent of this conversation.
pub(super) async fn reserve_seat(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &RoutedRequest,
    agent: &AgentConfig,
    session_guard: &SessionGuard,
    setup: u128,
) -> Result<AgentSlot, ApiError> {
    let slot_owner = AgentSlotOwner {
        upstream: prepared.route.upstream.name.clone(),
        owner: request.caller.owner.clone(),
        session: session_guard.session().clone(),
        setup,
        names: prepared.guarded.names.clone(),
    };
    Ok(engine.agents.reserve(slot_owner, agent.max_processes).await?)
}

/// The new input for a live agent; `None` if it cannot continue: its history differs, or it was
/// started with other tools or instructions and has no open calls.
fn input_for_agent(
    handle: &AgentHandle,
    prepared: &RoutedRequest,
    source: &str,
    format: Format,
    setup: u128,
) -> Result<Option<RequestTail>, foxwedge_formats::ReadError> {
    let Some(known_messages) = handle.known_messages(&prepared.chain) else { return Ok(None) };
    let tail = RequestTail::read(source, format, known_messages)?;
    let is_waiting = handle.has_open_calls() || handle.has_undelivered_reply();
    let is_empty = tail.answers.is_empty() && tail.user_content.iter().all(is_blank);
    if tail.foreign || (!is_waiting && (setup != handle.setup || is_empty)) {
        return Ok(None);
    }
    Ok(Some(tail))
}

/// The seed of message ids that do not come from an agent. It is equal only for the same request of
/// the same conversation.
pub(super) fn reply_seed(session_guard: &SessionGuard, prepared: &RoutedRequest) -> u128 {
    xxh3_128(
        format!("{} {:032x}", session_guard.session(), prepared.identity.fingerprint).as_bytes(),
    )
}

/// Repairs the history from which an agent starts. It must always be valid: the agent reads it as
/// its own past.
fn guard_history(
    engine: &EngineShared,
    from: Format,
    prepared: &mut RoutedRequest,
    body: &Bytes,
) -> Result<(), ApiError> {
    let mut route = (*prepared.route).clone();
    route.guard.mode = match route.guard.mode {
        GuardMode::Strict => GuardMode::Strict,
        GuardMode::Off | GuardMode::Observe | GuardMode::Fix => GuardMode::Fix,
    };
    let source = text(body).map_err(|error| unreadable_body_error(body, &error))?;
    let options = outline_options(profile_of(&route, &prepared.model, from, prepared.format));
    let reading =
        read(source, from, options).map_err(|error| unreadable_body_error(body, &error))?;
    let input = GuardInput {
        body,
        reading: &reading,
        from,
        to: prepared.format,
        route: &route,
        model: &prepared.model,
    };
    prepared.guarded = guard_request(input, &engine.token_counters)
        .map_err(|refusal| refusal_error(refusal, body))?;
    Ok(())
}

/// Whether a block has no content.
fn is_blank(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

fn unknown_call_error(id: &str) -> ApiError {
    let message = format!("no open call has the id `{}`", shorten_name(id));
    ApiError::new(ApiErrorKind::InvalidRequest, "unknown_call", message)
}

/// The error for a request without new content: the gateway does not invent a user message.
fn nothing_new_error(format: Format, empty: bool) -> ApiError {
    let field = match format {
        Format::OpenaiResponses | Format::GeminiInteractions => "input",
        Format::OpenaiChat | Format::Anthropic | Format::Gemini | Format::Bedrock => "messages",
    };
    let message = match empty {
        true => format!("`{field}` is empty: at least one message is required"),
        false => format!(
            "`{field}` contains nothing new: a live agent needs user text or tool results \
             after its last message"
        ),
    };
    ApiError::new(ApiErrorKind::InvalidRequest, "nothing_new", message).at(field)
}
