//! `GET /v1/runs/{id}/events`: the events of a run, live and from any place, in the words of a user
//! interface.

use foxwedge_engine::ApiError;
use foxwedge_run::{
    RawJson,
    encode::{AcpRevision, AgUiRevision, EncoderOptions, FrameId, UiFormat, headers},
};
use foxwedge_store::{FeedItem, RunRow, RunState};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};

use super::{
    follow::{FollowTarget, FrameEncoding, RunEventsBody},
    lookup, store_error,
};
use crate::{
    HttpReply, error, response_body::ResponseBody, routes::ApiRequest, serve::GatewayState,
};

pub(super) async fn events(
    app: &GatewayState,
    call: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    let format = format(call)?;
    let options = options(call)?;
    let after = resume_position(call)?;
    app.engine.recorder().flush().await;
    let row = lookup::visible_run(app, call, id).await?;
    if call.method == Method::HEAD {
        return Ok(reply(call, format, ResponseBody::full("")));
    }
    let replay = call.flag("replay")?.unwrap_or(false);
    if has_ended(&row) && format == UiFormat::AiSdk && after.is_none() && !replay {
        // Whoever resumes a chat wants what is still coming, and hears that nothing is.
        return Ok(no_content());
    }
    let feeds = app.engine.recorder().feeds().clone();
    // Whoever follows its own run live hears what is not stored, also if it was cut off meanwhile. Who
    // comes when all is over, or looks at the runs of others, sees what is stored.
    let lives = !has_ended(&row) || after.is_some();
    let words = match lives && lookup::owns_run(app, call, &row).await? {
        true => app.engine.recorder().live_text(),
        false => None,
    };
    let following = feeds.follow_with(id, format, options.clone(), after, words.clone());
    let mut follower = following.await.map_err(store_error)?;
    let mut first = None;
    if has_ended(&row) {
        match follower.next().await.map_err(store_error)? {
            // A reader that has everything must not come back.
            FeedItem::Ended => return Ok(no_content()),
            told @ (FeedItem::Frame(_) | FeedItem::Lagged(_)) => first = Some(told),
        }
    }
    let spelling = frame_encoding(call, format);
    let what = FollowTarget { run: row.id, format, options, words };
    let follow = RunEventsBody::new(feeds, follower, first, what, spelling, app.draining.clone());
    Ok(reply(call, format, ResponseBody::stream(follow)))
}

fn format(call: &ApiRequest<'_>) -> Result<UiFormat, ApiError> {
    match call.parameter("format")? {
        None => Ok(UiFormat::AgUi),
        Some(name) => UiFormat::from_name(&name)
            .ok_or_else(|| error::bad_request("`format` is one of agui, ai-sdk, acp and jsonl")),
    }
}

fn options(call: &ApiRequest<'_>) -> Result<EncoderOptions, ApiError> {
    let agui = match call.parameter("agui_version")?.as_deref() {
        None | Some("0") => AgUiRevision::V0,
        Some("1") => AgUiRevision::V1,
        Some(_) => return Err(error::bad_request("`agui_version` is 0 or 1")),
    };
    let acp = match call.parameter("acp_version")?.as_deref() {
        None | Some("1") => AcpRevision::V1,
        Some("2") => AcpRevision::V2,
        Some(_) => return Err(error::bad_request("`acp_version` is 1 or 2")),
    };
    let prompt = match call.parameter("prompt")?.as_deref() {
        None => None,
        Some(text) => match text.parse::<u64>() {
            Ok(number) => RawJson::parse(&number.to_string()),
            Err(_) => Some(RawJson::string(text)),
        },
    };
    Ok(EncoderOptions { agui, acp, prompt, ..EncoderOptions::default() })
}

/// Where a reader was: the id of a frame, or the place of an event.
fn resume_position(call: &ApiRequest<'_>) -> Result<Option<FrameId>, ApiError> {
    let header = call.headers.get("last-event-id").map(HeaderValue::to_str);
    let text = match (header, call.parameter("after")?) {
        // The header is newer: a browser sends it when it comes back to the same address.
        (Some(Ok(text)), _) => text.to_owned(),
        (Some(Err(_)), _) => return Err(bad_position()),
        (None, Some(text)) => text.into_owned(),
        (None, None) => return Ok(None),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(seq) if plain => Ok(Some(FrameId { seq, part: u32::MAX })),
        _ => text.parse().map(Some).map_err(|_| bad_position()),
    }
}

fn bad_position() -> ApiError {
    error::bad_request("`last-event-id` is the id of a frame, as 12.3, or the place of an event")
}

/// Lines only for those who want lines.
fn frame_encoding(call: &ApiRequest<'_>, format: UiFormat) -> FrameEncoding {
    let accept = call.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
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

fn reply(call: &ApiRequest<'_>, format: UiFormat, body: ResponseBody) -> HttpReply {
    let mut reply = Response::new(body);
    let out = reply.headers_mut();
    for (name, value) in headers(format) {
        // Whether the connection stays is for the server to say.
        if *name != "connection" {
            out.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
    if frame_encoding(call, format) == FrameEncoding::Events {
        out.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    }
    reply
}
