//! Decides what a request for a live agent will do, before anything changes and before anything is
//! recorded: a request that is refused leaves everything as it was.

use std::sync::Arc;

use bytes::Bytes;
use foxwedge_agent::{ClientToolCall, RequestTail, merge_history};
use foxwedge_core::Format;
use foxwedge_dialect::{outline_options, read, text};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::{
    super::{
        EngineShared,
        prepare::{RoutedRequest, refusal_error, shorten_name, unreadable_body_error},
    },
    AGENT_GONE_CODE,
    setup::setup_digest,
};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest,
    agent::{self, AgentHandle, AgentSlot, AgentSlotOwner},
    config::{self, GuardMode},
    guard::{GuardInput, guard_request, profile_of},
    session::SessionGuard,
};

/// What a request will do, and which of its tool results are of no use.
pub(in super::super) struct PlannedRequest {
    pub(super) plan: AgentPlan,
    /// Why (`unknown`, `duplicate` or `late`), and the id of the call.
    pub(in super::super) ignored: Vec<(&'static str, String)>,
}

pub(super) enum AgentPlan {
    /// A live agent hears what is new.
    Continue { handle: Arc<AgentHandle>, tail: RequestTail },
    /// Calls are open, and their agent is gone: they are listed once more. The conversation may
    /// also go on behind these values.
    List { open: Vec<ClientToolCall>, places: Vec<u128> },
    /// An agent is started from the history.
    Start(Box<AgentStart>),
}

pub(super) struct AgentStart {
    pub(super) seat: AgentSlot,
    /// A valid request in Anthropic's format.
    pub(super) history: Value,
    pub(super) one_call_at_a_time: bool,
}

/// Plans a request. It has its session for itself.
pub(in super::super) async fn plan_request(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &mut RoutedRequest,
    agent: &Arc<config::AgentConfig>,
    held: &SessionGuard,
) -> Result<PlannedRequest, ApiError> {
    let body = prepared.guarded.body.clone();
    let wire = asked.endpoint.wire();
    let source = text(&body).map_err(|error| unreadable_body_error(&body, &error))?;
    let broken = |error| unreadable_body_error(&body, &error);
    if let Some(handle) = engine.agents.find_by_session(held.session())
        && let Some(tail) =
            input_for_agent(&handle, prepared, source, wire, setup_digest(source, wire))
                .map_err(broken)?
    {
        let tail = RequestTail { seed: reply_seed(held, prepared), ..tail };
        if let Some((check, tail)) = handle.check(tail).await {
            match check.fault {
                None => {
                    let plan = AgentPlan::Continue { handle, tail };
                    return Ok(PlannedRequest { plan, ignored: check.ignored });
                }
                Some(fault) if fault.code == AGENT_GONE_CODE => {}
                Some(fault) => return Err(agent::to_api_error(fault)),
            }
        }
    }
    plan_from_history(engine, asked, prepared, agent, held).await
}

/// Plans a request that no live agent can take.
pub(super) async fn plan_from_history(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &mut RoutedRequest,
    agent: &Arc<config::AgentConfig>,
    held: &SessionGuard,
) -> Result<PlannedRequest, ApiError> {
    let body = prepared.guarded.body.clone();
    let wire = asked.endpoint.wire();
    let source = text(&body).map_err(|error| unreadable_body_error(&body, &error))?;
    let broken = |error| unreadable_body_error(&body, &error);
    let setup = setup_digest(source, wire);
    let merged = merge_history(source, wire).map_err(broken)?;
    let new = RequestTail::read(source, wire, merged.known_messages).map_err(broken)?;
    if !merged.open.is_empty() {
        let useful = new.answers.iter().any(|answer| !merged.unknown.contains(&answer.call));
        if let (Some(id), false) = (merged.unknown.first(), useful) {
            return Err(unknown_call_error(id));
        }
        let places = merged.listed.iter().filter_map(|at| prepared.chain.get(*at).copied());
        let plan = AgentPlan::List { places: places.collect(), open: merged.open };
        let ignored = merged.unknown.into_iter().map(|id| ("unknown", id)).collect();
        return Ok(PlannedRequest { plan, ignored });
    }
    if new.answers.is_empty() && new.user_content.iter().all(is_blank) {
        return Err(nothing_new_error(wire, prepared.chain.is_empty()));
    }
    let whole = merged.body.map_or(body, Bytes::from);
    guard_history(engine, wire, prepared, &whole)?;
    let history = serde_json::from_slice(&prepared.guarded.body).map_err(|_| {
        ApiError::new(ApiErrorKind::Server, "unreadable_history", "the history cannot be told anew")
    })?;
    let seat = reserve_seat(engine, asked, prepared, agent, held, setup).await?;
    let start = AgentStart { seat, history, one_call_at_a_time: new.one_at_a_time };
    let plan = AgentPlan::Start(Box::new(start));
    Ok(PlannedRequest { plan, ignored: Vec::new() })
}

/// A place for an agent of this conversation.
pub(super) async fn reserve_seat(
    engine: &EngineShared,
    asked: &GatewayRequest,
    prepared: &RoutedRequest,
    agent: &config::AgentConfig,
    held: &SessionGuard,
    setup: u128,
) -> Result<AgentSlot, ApiError> {
    let of = AgentSlotOwner {
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
fn input_for_agent(
    handle: &AgentHandle,
    prepared: &RoutedRequest,
    source: &str,
    wire: Format,
    setup: u128,
) -> Result<Option<RequestTail>, foxwedge_dialect::ReadError> {
    let Some(seen) = handle.known_messages(&prepared.chain) else { return Ok(None) };
    let tail = RequestTail::read(source, wire, seen)?;
    let waits = handle.has_open_calls() || handle.has_undelivered_reply();
    let says_nothing = tail.answers.is_empty() && tail.user_content.iter().all(is_blank);
    if tail.foreign || (!waits && (setup != handle.setup || says_nothing)) {
        return Ok(None);
    }
    Ok(Some(tail))
}

/// What ids of messages are made of that no agent has begun: the same request of the same
/// conversation gets the same one, and no other does.
pub(super) fn reply_seed(held: &SessionGuard, prepared: &RoutedRequest) -> u128 {
    xxh3_128(format!("{} {:032x}", held.session(), prepared.identity.fingerprint).as_bytes())
}

/// Repairs a history from which an agent starts. It is always sound: an agent reads it as its own
/// past.
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
    let wanted = outline_options(profile_of(&route, from, prepared.wire));
    let reading =
        read(source, from, wanted).map_err(|error| unreadable_body_error(body, &error))?;
    let judging = GuardInput {
        body,
        reading: &reading,
        from,
        to: prepared.wire,
        route: &route,
        model: &prepared.model,
    };
    prepared.guarded =
        guard_request(judging, &engine.token_counters).map_err(|it| refusal_error(it, body))?;
    Ok(())
}

/// Whether a block says nothing.
fn is_blank(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

fn unknown_call_error(id: &str) -> ApiError {
    let words = format!("no open call has the id `{}`", shorten_name(id));
    ApiError::new(ApiErrorKind::InvalidRequest, "unknown_call", words)
}

/// An agent is asked by somebody: nothing is put into the mouth of a user who said nothing.
fn nothing_new_error(wire: Format, empty: bool) -> ApiError {
    let field = match wire {
        Format::OpenaiResponses => "input",
        Format::OpenaiChat | Format::Anthropic | Format::Gemini | Format::Bedrock => "messages",
    };
    let words = match empty {
        true => format!("`{field}` is empty: at least one message is required"),
        false => format!(
            "`{field}` ends without anything new: a live agent needs words of the user or tool \
             results behind its last message"
        ),
    };
    ApiError::new(ApiErrorKind::InvalidRequest, "nothing_new", words).at(field)
}
