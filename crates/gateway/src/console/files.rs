//! One session file: view, repair, undo. [`LocalSessions`] does the work.

use crate::ApiError;
use foxwedge_core::Format;
use foxwedge_local::console::{
    CompactionAmount, CompactionPreviewOptions, CompactionSubject, LocalSessions, RecordFilter,
};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{json_reply, request, routes::SessionFileRoute, sessions};
use crate::{
    HttpReply, api, api_request::ApiRequest, error, gateway_state::GatewayState,
    response_body::ResponseBody,
};

/// Default and maximum number of bytes shown of a line.
const DEFAULT_LINE_BYTES: usize = 16 << 10;
const MAX_LINE_BYTES: usize = 1 << 20;

/// Everything below `/v1/console/sessions/{id}`.
pub(super) async fn answer(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
    id: &str,
    route: SessionFileRoute,
) -> Result<HttpReply, ApiError> {
    let local_sessions = request::allowed_sessions(app, http_request)?;
    if !api::is_id(id) {
        return Err(ApiError::new(
            crate::ApiErrorKind::NotFound,
            "session_not_found",
            "no such session",
        ));
    }
    let file_id = id.to_owned();
    let value = match route {
        SessionFileRoute::About => {
            let (file, more) =
                request::run_blocking(app, local_sessions, move |files| files.session(&file_id))
                    .await?;
            sessions::merge_objects(sessions::file_json(&file), more)
        }
        SessionFileRoute::Messages => {
            let (page, words) =
                (request::row_range(http_request, 0)?, request::text_parameter(http_request, "q")?);
            let read =
                move |files: &LocalSessions| files.messages(&file_id, page, words.as_deref());
            request::run_blocking(app, local_sessions, read).await?
        }
        SessionFileRoute::Tree => {
            let page = request::row_range(http_request, 0)?;
            let filter = match http_request.parameter("kind")?.as_deref() {
                None | Some("all") => RecordFilter::All,
                Some("messages") => RecordFilter::Messages,
                Some(_) => return Err(error::bad_request("`kind` is `all` or `messages`")),
            };
            request::run_blocking(app, local_sessions, move |files| {
                files.tree(&file_id, page, filter)
            })
            .await?
        }
        SessionFileRoute::Records => {
            let page = request::row_range(http_request, 1)?;
            let max_bytes = match http_request.parameter("bytes")? {
                None => DEFAULT_LINE_BYTES,
                Some(text) => match text.parse::<usize>() {
                    Ok(0) | Err(_) => {
                        return Err(error::bad_request("`bytes` is a number from 1 on"));
                    }
                    Ok(max_bytes) => max_bytes.min(MAX_LINE_BYTES),
                },
            };
            request::run_blocking(app, local_sessions, move |files| {
                files.records(&file_id, page, max_bytes)
            })
            .await?
        }
        SessionFileRoute::Findings => {
            let page = request::row_range(http_request, 0)?;
            request::run_blocking(app, local_sessions, move |files| files.findings(&file_id, page))
                .await?
        }
        SessionFileRoute::Repair if http_request.method == Method::POST => {
            let body: RepairBody =
                parse_body(http_request, "a repair needs the name of its plan: {\"plan\": …}")?;
            let repair = move |files: &LocalSessions| files.repair(&file_id, &body.plan);
            request::run_blocking(app, local_sessions, repair).await?
        }
        SessionFileRoute::Repair => {
            let page = request::row_range(http_request, 0)?;
            request::run_blocking(app, local_sessions, move |files| files.plan(&file_id, page))
                .await?
        }
        SessionFileRoute::RepairMarkdown => {
            let markdown = request::run_blocking(app, local_sessions, move |files| {
                files.plan_markdown(&file_id)
            })
            .await?;
            return Ok(ResponseBody::reply(
                StatusCode::OK,
                "text/markdown; charset=utf-8",
                markdown,
            ));
        }
        SessionFileRoute::Undo => {
            if !http_request.body.trim_ascii().is_empty() {
                let empty: Map<String, Value> =
                    parse_body(http_request, "an undo has no body, or an empty object")?;
                if !empty.is_empty() {
                    return Err(error::bad_request("an undo has no body, or an empty object"));
                }
            }
            request::run_blocking(app, local_sessions, move |files| files.undo(&file_id)).await?
        }
        SessionFileRoute::Compaction => {
            let number =
                |name| http_request.parameter(name).map(|text| text.map(|text| text.into_owned()));
            let options = compaction_request(
                number("fraction")?.map(|text| text.parse::<f64>().ok()),
                number("budget")?.map(|text| text.parse::<u64>().ok()),
                request::text_parameter(http_request, "model")?,
            )?;
            let subject = CompactionSubject::File(file_id);
            request::run_blocking(app, local_sessions, move |files| {
                files.compaction(&subject, &options)
            })
            .await?
        }
    };
    Ok(json_reply(&value))
}

/// `POST /v1/console/compaction`. The caller sends the conversation; no file is read.
pub(super) async fn compaction(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
) -> Result<HttpReply, ApiError> {
    const EXPECTED: &str =
        "a preview needs a conversation and a cut: {\"body\": …, \"fraction\": …}";
    let Some(local_sessions) = &app.console.local_sessions else {
        let message = "this gateway cannot count tokens for a preview";
        return Err(ApiError::new(crate::ApiErrorKind::Permission, "files_off", message));
    };
    let preview: CompactionPreviewBody<'_> = parse_body(http_request, EXPECTED)?;
    let wire = match preview.format {
        None => None,
        Some(name) => Some(
            Format::parse(name).ok_or_else(|| error::bad_request("`format` is no known format"))?,
        ),
    };
    let options = compaction_request(
        preview.fraction.map(|number| number.as_f64()),
        preview.budget.map(|number| number.as_u64()),
        preview.model,
    )?;
    let subject = CompactionSubject::Body { text: preview.body.get().to_owned(), wire };
    let value = request::run_blocking(app, local_sessions, move |files| {
        files.compaction(&subject, &options)
    })
    .await?;
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

/// Unknown fields are rejected, so that no option is silently ignored.
fn parse_body<'a, T: Deserialize<'a>>(
    http_request: &'a ApiRequest<'_>,
    expected: &'static str,
) -> Result<T, ApiError> {
    serde_json::from_slice(&http_request.body).map_err(|_| error::bad_request(expected))
}

/// Requires exactly one of the two. An inner `None` is a value that is not a number.
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
