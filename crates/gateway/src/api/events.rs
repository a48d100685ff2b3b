//! `GET /v1/runs/{id}/events`: the events of a run, live and from any place, in the words of a user
//! interface.

use foxwedge_engine::Fault;
use foxwedge_run::{
    Json,
    encode::{Acp, AgUi, Format, FrameId, Options, headers},
};
use foxwedge_store::{RunRow, RunState, Told};
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};

use super::{
    ask,
    follow::{Follow, Followed, Spelling},
    trouble,
};
use crate::{Reply, error, outgoing::Outgoing, routes::Call, serve::App};

pub(super) async fn events(app: &App, call: &Call<'_>, id: &str) -> Result<Reply, Fault> {
    let format = format(call)?;
    let options = options(call)?;
    let after = after(call)?;
    app.engine.recorder().flush().await;
    let row = ask::run(app, call, id).await?;
    if call.method == Method::HEAD {
        return Ok(reply(call, format, Outgoing::whole("")));
    }
    let replay = call.flag("replay")?.unwrap_or(false);
    if is_over(&row) && format == Format::AiSdk && after.is_none() && !replay {
        // Whoever resumes a chat wants what is still coming, and hears that nothing is.
        return Ok(nothing());
    }
    let feeds = app.engine.recorder().feeds().clone();
    // Whoever follows its own run live hears what is not stored, also if it was cut off meanwhile. Who
    // comes when all is over, or looks at the runs of others, sees what is stored.
    let lives = !is_over(&row) || after.is_some();
    let words = match lives && ask::is_own(app, call, &row).await? {
        true => app.engine.recorder().words(),
        false => None,
    };
    let following = feeds.follow_with(id, format, options.clone(), after, words.clone());
    let mut follower = following.await.map_err(trouble)?;
    let mut first = None;
    if is_over(&row) {
        match follower.next().await.map_err(trouble)? {
            // A reader that has everything must not come back.
            Told::Over => return Ok(nothing()),
            told @ (Told::Frame(_) | Told::Lagged(_)) => first = Some(told),
        }
    }
    let spelling = spelling(call, format);
    let what = Followed { run: row.id, format, options, words };
    let follow = Follow::new(feeds, follower, first, what, spelling, app.draining.clone());
    Ok(reply(call, format, Outgoing::stream(follow)))
}

fn format(call: &Call<'_>) -> Result<Format, Fault> {
    match call.parameter("format")? {
        None => Ok(Format::AgUi),
        Some(name) => Format::from_name(&name)
            .ok_or_else(|| error::bad_request("`format` is one of agui, ai-sdk, acp and jsonl")),
    }
}

fn options(call: &Call<'_>) -> Result<Options, Fault> {
    let agui = match call.parameter("agui_version")?.as_deref() {
        None | Some("0") => AgUi::V0,
        Some("1") => AgUi::V1,
        Some(_) => return Err(error::bad_request("`agui_version` is 0 or 1")),
    };
    let acp = match call.parameter("acp_version")?.as_deref() {
        None | Some("1") => Acp::V1,
        Some("2") => Acp::V2,
        Some(_) => return Err(error::bad_request("`acp_version` is 1 or 2")),
    };
    let prompt = match call.parameter("prompt")?.as_deref() {
        None => None,
        Some(text) => match text.parse::<u64>() {
            Ok(number) => Json::parse(&number.to_string()),
            Err(_) => Some(Json::string(text)),
        },
    };
    Ok(Options { agui, acp, prompt, ..Options::default() })
}

/// Where a reader was: the id of a frame, or the place of an event.
fn after(call: &Call<'_>) -> Result<Option<FrameId>, Fault> {
    let header = call.headers.get("last-event-id").map(HeaderValue::to_str);
    let text = match (header, call.parameter("after")?) {
        // The header is newer: a browser sends it when it comes back to the same address.
        (Some(Ok(text)), _) => text.to_owned(),
        (Some(Err(_)), _) => return Err(odd_place()),
        (None, Some(text)) => text.into_owned(),
        (None, None) => return Ok(None),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u64>() {
        Ok(seq) if plain => Ok(Some(FrameId { seq, part: u32::MAX })),
        _ => text.parse().map(Some).map_err(|_| odd_place()),
    }
}

fn odd_place() -> Fault {
    error::bad_request("`last-event-id` is the id of a frame, as 12.3, or the place of an event")
}

/// Lines only for those who want lines.
fn spelling(call: &Call<'_>, format: Format) -> Spelling {
    let accept = call.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let wants_events = accept.is_some_and(|accept| accept.contains("text/event-stream"));
    match format {
        Format::Jsonl if !wants_events => Spelling::Lines,
        Format::Jsonl | Format::AgUi | Format::AiSdk | Format::Acp => Spelling::Events,
    }
}

fn is_over(row: &RunRow) -> bool {
    match row.state {
        RunState::Open => false,
        RunState::Ended { .. } => true,
    }
}

fn nothing() -> Reply {
    let mut reply = Response::new(Outgoing::whole(""));
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply
}

fn reply(call: &Call<'_>, format: Format, body: Outgoing) -> Reply {
    let mut reply = Response::new(body);
    let out = reply.headers_mut();
    for (name, value) in headers(format) {
        // Whether the connection stays is for the server to say.
        if *name != "connection" {
            out.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
    }
    if spelling(call, format) == Spelling::Events {
        out.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    }
    reply
}
