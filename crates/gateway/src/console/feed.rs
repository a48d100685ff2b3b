//! `GET /v1/console/feed`: the newest requests, and what the guard did with each.

use std::{collections::HashMap, sync::Arc};

use crate::request_monitor::{ACTIONS, RequestEntry};
use crate::{ApiError, ApiErrorKind, GatewayEngine, record::RepairRecord};
use foxwedge_core::rules;
use foxwedge_local::console::request_repair_rows;
use serde_json::{Map, Value, json};

use super::{json_reply as reply, localize_texts, reader_language, request, sessions};
use crate::{
    HttpReply, api, api_request::ApiRequest, error, gateway_state::GatewayState,
    log::DeliveryOutcome,
};

/// `GET /v1/console/feed`.
pub(super) fn list(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
) -> Result<HttpReply, ApiError> {
    let limit = http_request.limit()?;
    let filter = RequestFilter::from_request(http_request)?;
    let after = http_request
        .parameter("after")?
        .map(|id| RequestEntry::number(&id).ok_or_else(request_not_found));
    let matches = |entry: &RequestEntry| filter.matches(entry);
    let rows = app.console.monitor.ring().before(after.transpose()?, limit + 1, matches);
    let repairs = KnownRepairs::from_state(app, http_request.owner());
    let page = api::shape::page(rows, limit, |entry| entry.id(), |entry| repairs.entry_json(entry));
    Ok(reply(&page))
}

/// `GET /v1/console/feed/{id}`.
pub(super) fn one(
    app: &GatewayState,
    http_request: &ApiRequest<'_>,
    id: &str,
) -> Result<HttpReply, ApiError> {
    let number = RequestEntry::number(id).ok_or_else(request_not_found)?;
    let entry = app.console.monitor.ring().get(number);
    let visible =
        entry.filter(|entry| http_request.owner().is_none_or(|owner| *entry.owner == *owner));
    let entry = visible.ok_or_else(request_not_found)?;
    let repairs = KnownRepairs::from_state(app, http_request.owner());
    let repair = repairs.repair_of(&entry);
    let mut detail = repair.map(|repair| repair.detail()).unwrap_or_default();
    if let Some(rows) = repair.and_then(|repair| repair_rows(repair)) {
        detail["rows"] = rows;
    }
    localize_texts(reader_language(http_request), &mut detail, "losses");
    const DETAIL_KEYS: [&str; 8] =
        ["mode", "format", "changes", "rows", "losses", "compacted", "body_before", "body_after"];
    let more =
        DETAIL_KEYS.map(|key| (key.to_owned(), detail.get(key).cloned().unwrap_or_default()));
    Ok(reply(&sessions::merge_objects(
        repairs.entry_json(&entry),
        Value::Object(Map::from_iter(more)),
    )))
}

/// The messages before and after a repair, if the bodies are kept.
fn repair_rows(repair: &RepairRecord) -> Option<Value> {
    let (before, after) = repair.bodies.as_ref()?;
    let (before, after) = (std::str::from_utf8(before).ok()?, std::str::from_utf8(after).ok()?);
    let edited: Vec<usize> = repair.changes.iter().map(|change| change.message).collect();
    request_repair_rows(before, after, repair.format, &edited)
}

fn request_not_found() -> ApiError {
    ApiError::new(
        ApiErrorKind::NotFound,
        "request_not_found",
        "no such request, or it is no longer kept",
    )
}

/// The repairs still in memory, by request and run.
pub(super) struct KnownRepairs(HashMap<(Arc<str>, Arc<str>), Arc<RepairRecord>>);

impl KnownRepairs {
    fn from_state(app: &GatewayState, owner: Option<&str>) -> KnownRepairs {
        KnownRepairs::from_engine(&app.engine, owner)
    }

    pub(super) fn from_engine(engine: &GatewayEngine, owner: Option<&str>) -> KnownRepairs {
        let repairs = engine.recorder().repairs().list(owner, None, usize::MAX).into_iter();
        KnownRepairs(repairs.map(|it| ((it.request.clone(), it.run.clone()), it)).collect())
    }

    fn repair_of(&self, entry: &RequestEntry) -> Option<&Arc<RepairRecord>> {
        self.0.get(&(Arc::from(&*entry.request), entry.run.clone()?))
    }

    /// A request as JSON.
    pub(super) fn entry_json(&self, entry: &RequestEntry) -> Value {
        let milliseconds = |time: std::time::Duration| (time.as_secs_f64() * 1e4).round() / 1e1;
        let findings = entry.findings.iter().map(|it| (format!("FW{}", it.code), json!(it.count)));
        let ended = match entry.ended {
            DeliveryOutcome::Complete => "whole",
            DeliveryOutcome::ClientGone => "gone",
            DeliveryOutcome::Failed | DeliveryOutcome::Shutdown => "broken",
        };
        json!({
            "id": entry.id(),
            "request": entry.request,
            "at": entry.at,
            "owner": &*entry.owner,
            "face": entry.face.name(),
            "agent": entry.agent,
            "model": entry.model,
            "upstream": entry.upstream.as_deref(),
            "match": entry.matched,
            "action": entry.action,
            "findings": Map::from_iter(findings),
            "status": entry.status.as_u16(),
            "error": entry.error_code,
            "ended": ended,
            "first_ms": milliseconds(entry.until_first_byte),
            "ms": milliseconds(entry.until_end),
            "bytes_in": entry.bytes_in,
            "bytes_out": entry.bytes_out,
            "session": entry.session,
            "run": entry.run.as_deref(),
            "repair": self.repair_of(entry).map(|repair| repair.id()),
        })
    }
}

/// Selects requests.
pub(super) struct RequestFilter {
    owner: Option<String>,
    face: Option<String>,
    model: Option<String>,
    upstream: Option<String>,
    matched: Option<String>,
    action: Option<String>,
    rule: Option<u16>,
    status: Option<StatusFilter>,
    session: Option<String>,
    run: Option<String>,
    words: Option<String>,
}

/// A status code or a class of codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StatusFilter {
    One(u16),
    Class(u16),
}

impl RequestFilter {
    pub(super) fn from_request(http_request: &ApiRequest<'_>) -> Result<RequestFilter, ApiError> {
        let text = |name| request::text_parameter(http_request, name);
        let rule = match text("rule")? {
            None => None,
            Some(name) => Some(
                rules::find_rule(&name)
                    .ok_or_else(|| error::bad_request("`rule` is no known rule"))?
                    .code,
            ),
        };
        let action = text("action")?;
        if action.as_ref().is_some_and(|action| !ACTIONS.contains(&action.as_str())) {
            return Err(error::bad_request("`action` is no known action"));
        }
        let status = match text("status")? {
            None => None,
            Some(value) => {
                let invalid = || error::bad_request("`status` is a status, or a class such as 4xx");
                Some(StatusFilter::parse(&value).ok_or_else(invalid)?)
            }
        };
        Ok(RequestFilter {
            owner: http_request.owner().map(str::to_owned),
            face: text("face")?,
            model: text("model")?,
            upstream: text("upstream")?,
            matched: text("match")?,
            action,
            rule,
            status,
            session: text("session")?,
            run: text("run")?,
            words: text("q")?.map(|words| words.to_lowercase()),
        })
    }

    pub(super) fn matches(&self, entry: &RequestEntry) -> bool {
        let equals = |wanted: &Option<String>, value: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| value == Some(wanted))
        };
        equals(&self.owner, Some(&entry.owner))
            && equals(&self.face, Some(entry.face.name()))
            && equals(&self.model, entry.model.as_deref())
            && equals(&self.upstream, entry.upstream.as_deref())
            && equals(&self.matched, entry.matched)
            && equals(&self.action, Some(entry.action))
            && equals(&self.session, entry.session.as_deref())
            && equals(&self.run, entry.run.as_deref())
            && self
                .rule
                .is_none_or(|rule| entry.findings.iter().any(|finding| finding.code == rule))
            && self.status.is_none_or(|status| status.matches(entry.status.as_u16()))
            && self.words.as_ref().is_none_or(|words| contains_words(entry, words))
    }
}

fn contains_words(entry: &RequestEntry, words: &str) -> bool {
    let names = [
        Some(&*entry.request),
        entry.model.as_deref(),
        entry.upstream.as_deref(),
        entry.session.as_deref(),
        entry.run.as_deref(),
        entry.agent.as_deref(),
    ];
    names.into_iter().flatten().any(|name| name.to_lowercase().contains(words))
}

impl StatusFilter {
    fn parse(text: &str) -> Option<StatusFilter> {
        match text.strip_suffix("xx") {
            Some(class) => class.parse().ok().filter(|class| (1..=5).contains(class)),
            None => return text.parse().ok().map(StatusFilter::One),
        }
        .map(StatusFilter::Class)
    }

    fn matches(self, status: u16) -> bool {
        match self {
            StatusFilter::One(wanted) => status == wanted,
            StatusFilter::Class(class) => status / 100 == class,
        }
    }
}
