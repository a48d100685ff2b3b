//! `GET /v1/runs/{id}/events`: the events of a run, live and from any position, in a user
//! interface format.

use crate::ApiError;
use foxwedge_run::{
    RawJson,
    encode::{AcpRevision, AgUiRevision, EncoderOptions, FrameId, UiFormat, headers},
};
use foxwedge_store::{FeedItem, ListFilter, ListPage, RunRow, RunState, Store};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};

use super::owner::forward_to_owner;
use super::{
    follow::{FollowTarget, FrameEncoding, RunEventsBody},
    lookup, store_error,
};
use crate::{
    HttpReply, api_request::ApiRequest, error, gateway_state::GatewayState,
    response_body::ResponseBody, session::named_session_id, ui_chat::resumed_session_name,
};

pub(super) async fn events(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    stream(app, request, id, format(request)?).await
}

/// The open run of a chat of the AI SDK, for a client that reconnects to it. A run that waits for
/// results of the client has no reply to follow.
pub(super) async fn resume(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    chat: &str,
) -> Result<HttpReply, ApiError> {
    app.engine.recorder().flush().await;
    let owner = &request.principal.caller.owner;
    let session = named_session_id(owner, &resumed_session_name(chat));
    let filter = ListFilter {
        session: Some(session.to_string()),
        open: Some(true),
        ..ListFilter::default()
    };
    let page = ListPage { after: None, limit: 1 };
    let runs = app.store.runs(filter, page).await.map_err(store_error)?;
    let Some(run) = runs.first() else { return Ok(no_content()) };
    // Only the node that works on the run knows whether it waits.
    if let Some(reply) = forward_to_owner(app, request, run).await {
        return Ok(reply);
    }
    match app.engine.recorder().awaits_results(&session, &run.id) {
        true => Ok(no_content()),
        false => stream(app, request, &run.id, UiFormat::AiSdk).await,
    }
}

async fn stream(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    id: &str,
    format: UiFormat,
) -> Result<HttpReply, ApiError> {
    let options = options(request)?;
    let after = resume_position(request)?;
    app.engine.recorder().flush().await;
    let row = lookup::visible_run(app, request, id).await?;
    if request.method == Method::HEAD {
        return Ok(reply(request, format, ResponseBody::full("")));
    }
    // Text that is not stored is on the node that works on the run.
    if app.engine.recorder().live_text().is_some()
        && let Some(reply) = forward_to_owner(app, request, &row).await
    {
        return Ok(reply);
    }
    let replay = request.flag("replay")?.unwrap_or(false);
    if has_ended(&row) && format == UiFormat::AiSdk && after.is_none() && !replay {
        // A client that resumes a chat wants new events only, and there are none.
        return Ok(no_content());
    }
    let feeds = app.engine.recorder().feeds().clone();
    // Owners that follow their run live also get text that is not stored, even after a
    // reconnect. Later readers, and readers of other owners' runs, get what is stored. A position
    // before the first event is no reconnect.
    let reconnects = after.is_some_and(|position| position.seq > 0);
    let is_live = !has_ended(&row) || reconnects;
    let live_text = match is_live && lookup::owns_run(app, request, &row).await? {
        true => app.engine.recorder().live_text(),
        false => None,
    };
    let following = feeds.follow_with(id, format, options.clone(), after, live_text.clone());
    let mut follower = following.await.map_err(store_error)?;
    let mut first = None;
    if has_ended(&row) {
        match follower.next().await.map_err(store_error)? {
            // 204: a reader that has everything must not reconnect.
            FeedItem::Ended => return Ok(no_content()),
            item @ (FeedItem::Frame(_) | FeedItem::Lagged(_)) => first = Some(item),
        }
    }
    let encoding = frame_encoding(request, format);
    let target = FollowTarget { run: row.id, format, options, live_text };
    let follow = RunEventsBody::new(feeds, follower, first, target, encoding, app.draining.clone());
    Ok(reply(request, format, ResponseBody::stream(follow)))
}

fn format(request: &ApiRequest<'_>) -> Result<UiFormat, ApiError> {
    match request.parameter("format")? {
        None => Ok(UiFormat::AgUi),
        Some(name) => UiFormat::from_name(&name).ok_or_else(|| {
            error::bad_parameter("format", "must be one of agui, ai-sdk, acp or jsonl")
        }),
    }
}

fn options(request: &ApiRequest<'_>) -> Result<EncoderOptions, ApiError> {
    let agui = match request.parameter("agui_version")?.as_deref() {
        None | Some("1") => AgUiRevision::V1,
        Some("0") => AgUiRevision::V0,
        Some(_) => return Err(error::bad_parameter("agui_version", "must be 0 or 1")),
    };
    let acp = match request.parameter("acp_version")?.as_deref() {
        None | Some("1") => AcpRevision::V1,
        Some("2") => AcpRevision::V2,
        Some(_) => return Err(error::bad_parameter("acp_version", "must be 1 or 2")),
    };
    let prompt = match request.parameter("prompt")?.as_deref() {
        None => None,
        Some(text) => match text.parse::<u64>() {
            Ok(number) => RawJson::parse(&number.to_string()),
            Err(_) => Some(RawJson::string(text)),
        },
    };
    Ok(EncoderOptions { agui, acp, prompt, ..EncoderOptions::default() })
}

/// Where to resume: the id of a frame, or the sequence number of an event.
fn resume_position(request: &ApiRequest<'_>) -> Result<Option<FrameId>, ApiError> {
    let header = request.headers.get("last-event-id").map(HeaderValue::to_str);
    let (name, text) = match (header, request.parameter("after")?) {
        // The header is newer: a browser sends it when it reconnects to the same URL.
        (Some(Ok(text)), _) => ("last-event-id", text.to_owned()),
        (Some(Err(_)), _) => return Err(bad_position("last-event-id")),
        (None, Some(text)) => ("after", text.into_owned()),
        (None, None) => return Ok(None),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(seq) if plain => Ok(Some(FrameId { seq, part: u32::MAX })),
        _ => text.parse().map(Some).map_err(|_| bad_position(name)),
    }
}

fn bad_position(name: &str) -> ApiError {
    let problem = "must be a frame id such as 12.3, or the sequence number of an event";
    error::bad_parameter(name, problem)
}

/// JSON lines for `jsonl`, unless the client accepts server-sent events.
fn frame_encoding(request: &ApiRequest<'_>, format: UiFormat) -> FrameEncoding {
    let accept = request.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let wants_events = accept.is_some_and(|accept| accept.contains("text/event-stream"));
    match format {
        UiFormat::Jsonl if !wants_events => FrameEncoding::Lines,
        UiFormat::Jsonl | UiFormat::AgUi | UiFormat::AiSdk | UiFormat::Acp => FrameEncoding::Events,
    }
}

fn has_ended(row: &RunRow) -> bool {
    match row.state {
        RunState::Open => false,
        RunState::Ended { .. } => true,
    }
}

fn no_content() -> HttpReply {
    let mut reply = Response::new(ResponseBody::full(""));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply
}

fn reply(request: &ApiRequest<'_>, format: UiFormat, body: ResponseBody) -> HttpReply {
    let mut reply = Response::new(body);
    let out = reply.headers_mut();
    for (name, value) in headers(format) {
        // The server decides whether the connection is kept.
        if *name != "connection" {
            out.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
    if frame_encoding(request, format) == FrameEncoding::Events {
        out.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    }
    reply
}
