//! One session file: looked at, repaired, put back. The machine does it; here is only asked.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_engine::ApiError;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    CompactionAmount, CompactionPreviewOptions, CompactionSubject, LocalSessions, RecordFilter,
    json_reply, request, routes::SessionFileRoute, sessions,
};
use crate::{
    HttpReply, api, error, response_body::ResponseBody, routes::ApiRequest, serve::GatewayState,
};

/// Bytes of a line that are shown, if nobody says how many; and the most.
const DEFAULT_LINE_BYTES: usize = 16 << 10;
const MAX_LINE_BYTES: usize = 1 << 20;

/// Everything below `/v1/console/sessions/{id}`.
pub(super) async fn answer(
    app: &GatewayState,
    call: &ApiRequest<'_>,
    id: &str,
    what: SessionFileRoute,
) -> Result<HttpReply, ApiError> {
    let machine = request::allowed_sessions(app, call)?;
    if !api::is_id(id) {
        return Err(ApiError::new(
            foxwedge_engine::ApiErrorKind::NotFound,
            "session_not_found",
            "no such session",
        ));
    }
    let named = id.to_owned();
    let value = match what {
        SessionFileRoute::About => {
            let (file, more) =
                request::run_blocking(app, machine, move |machine| machine.session(&named)).await?;
            sessions::merge_objects(sessions::file_json(&file), more)
        }
        SessionFileRoute::Messages => {
            let (page, words) = (request::row_range(call, 0)?, request::text_parameter(call, "q")?);
            let look =
                move |machine: &dyn LocalSessions| machine.messages(&named, page, words.as_deref());
            request::run_blocking(app, machine, look).await?
        }
        SessionFileRoute::Tree => {
            let page = request::row_range(call, 0)?;
            let only = match call.parameter("kind")?.as_deref() {
                None | Some("all") => RecordFilter::All,
                Some("messages") => RecordFilter::Messages,
                Some(_) => return Err(error::bad_request("`kind` is `all` or `messages`")),
            };
            request::run_blocking(app, machine, move |machine| machine.tree(&named, page, only))
                .await?
        }
        SessionFileRoute::Records => {
            let page = request::row_range(call, 1)?;
            let most = match call.parameter("bytes")? {
                None => DEFAULT_LINE_BYTES,
                Some(text) => match text.parse::<usize>() {
                    Ok(0) | Err(_) => {
                        return Err(error::bad_request("`bytes` is a number from 1 on"));
                    }
                    Ok(most) => most.min(MAX_LINE_BYTES),
                },
            };
            request::run_blocking(app, machine, move |machine| machine.records(&named, page, most))
                .await?
        }
        SessionFileRoute::Findings => {
            let page = request::row_range(call, 0)?;
            request::run_blocking(app, machine, move |machine| machine.findings(&named, page))
                .await?
        }
        SessionFileRoute::Repair if call.method == Method::POST => {
            let wish: RepairBody =
                parse_body(call, "a repair needs the name of its plan: {\"plan\": …}")?;
            let plan = move |machine: &dyn LocalSessions| machine.repair(&named, &wish.plan);
            request::run_blocking(app, machine, plan).await?
        }
        SessionFileRoute::Repair => {
            let page = request::row_range(call, 0)?;
            request::run_blocking(app, machine, move |machine| machine.plan(&named, page)).await?
        }
        SessionFileRoute::RepairMarkdown => {
            let told =
                request::run_blocking(app, machine, move |machine| machine.plan_markdown(&named))
                    .await?;
            return Ok(ResponseBody::reply(StatusCode::OK, "text/markdown; charset=utf-8", told));
        }
        SessionFileRoute::Undo => {
            if !call.body.trim_ascii().is_empty() {
                let empty: Map<String, Value> =
                    parse_body(call, "an undo has no body, or an empty object")?;
                if !empty.is_empty() {
                    return Err(error::bad_request("an undo has no body, or an empty object"));
                }
            }
            request::run_blocking(app, machine, move |machine| machine.undo(&named)).await?
        }
        SessionFileRoute::Compaction => {
            let number = |name| call.parameter(name).map(|text| text.map(|text| text.into_owned()));
            let wish = compaction_request(
                number("fraction")?.map(|text| text.parse::<f64>().ok()),
                number("budget")?.map(|text| text.parse::<u64>().ok()),
                request::text_parameter(call, "model")?,
            )?;
            let of = CompactionSubject::File(named);
            request::run_blocking(app, machine, move |machine| machine.compaction(&of, &wish))
                .await?
        }
    };
    Ok(json_reply(&value))
}

/// `POST /v1/console/compaction`. What is in the body is the caller's own: no file is looked at.
pub(super) async fn compaction(
    app: &GatewayState,
    call: &ApiRequest<'_>,
) -> Result<HttpReply, ApiError> {
    const WANTED: &str = "a preview needs a conversation and a cut: {\"body\": …, \"fraction\": …}";
    let Some(machine) = &app.console.local_sessions else {
        let words = "this gateway cannot count tokens for a preview";
        return Err(ApiError::new(foxwedge_engine::ApiErrorKind::Permission, "files_off", words));
    };
    let asked: CompactionPreviewBody<'_> = parse_body(call, WANTED)?;
    let wire = match asked.format {
        None => None,
        Some(name) => Some(
            Format::parse(name).ok_or_else(|| error::bad_request("`format` is no known format"))?,
        ),
    };
    let wish = compaction_request(
        asked.fraction.map(|number| number.as_f64()),
        asked.budget.map(|number| number.as_u64()),
        asked.model,
    )?;
    let of = CompactionSubject::Body { text: asked.body.get().to_owned(), wire };
    let machine: &Arc<dyn LocalSessions> = machine;
    let value =
        request::run_blocking(app, machine, move |machine| machine.compaction(&of, &wish)).await?;
    Ok(json_reply(&value))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RepairBody {
    plan: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompactionPreviewBody<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(default)]
    format: Option<&'a str>,
    #[serde(default)]
    fraction: Option<Value>,
    #[serde(default)]
    budget: Option<Value>,
    #[serde(default)]
    model: Option<String>,
}

/// Nobody may believe that something was understood that was not.
fn parse_body<'a, T: Deserialize<'a>>(
    call: &'a ApiRequest<'_>,
    wanted: &'static str,
) -> Result<T, ApiError> {
    serde_json::from_slice(&call.body).map_err(|_| error::bad_request(wanted))
}

/// One of the two. The inner `None` is something that is no number.
fn compaction_request(
    fraction: Option<Option<f64>>,
    budget: Option<Option<u64>>,
    model: Option<String>,
) -> Result<CompactionPreviewOptions, ApiError> {
    let cut = match (fraction, budget) {
        (Some(Some(share)), None) if (0.0..=1.0).contains(&share) => {
            CompactionAmount::Fraction(share)
        }
        (None, Some(Some(tokens @ 1..))) => CompactionAmount::Budget(tokens),
        (Some(_), None) => return Err(error::bad_request("`fraction` is a number from 0 to 1")),
        (None, Some(_)) => return Err(error::bad_request("`budget` is a number of tokens")),
        (None, None) | (Some(_), Some(_)) => {
            return Err(error::bad_request("either `fraction` or `budget` has to be given"));
        }
    };
    Ok(CompactionPreviewOptions { cut, model })
}
