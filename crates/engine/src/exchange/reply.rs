//! From what an upstream says to what the client hears: status, headers, and the body in its form.

use std::sync::Arc;

use foxwedge_core::Wire;
use foxwedge_dialect::canon::{Outcome, Trouble, decode_reply, encode_reply};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde_json::Value;

use super::{Inner, Work, prepare::Prepared, relay::Relay, whole};
use crate::{
    Action, Answered, Asked, Body, Face, Fault, Kind, Noted, Told,
    http::Incoming,
    session::Stored,
    upstream::{UpstreamTries, back, is_stream},
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// SDKs of OpenAI and Anthropic ask again by themselves, unless a reply says that it is of no use.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

/// What a reply is made from.
pub(super) struct Reply<'a> {
    pub(super) engine: &'a Arc<Inner>,
    pub(super) asked: &'a Asked,
    pub(super) prepared: &'a Prepared,
    pub(super) told: &'a mut Told,
}

impl Reply<'_> {
    /// An upstream replies: in pieces or whole, as it was asked or not.
    pub(super) async fn begin(
        self,
        status: StatusCode,
        theirs: &HeaderMap,
        body: Incoming,
        work: Work,
    ) -> Result<Answered, Fault> {
        if is_stream(theirs) && self.prepared.stream {
            let headers = self.headers(theirs, EVENTS);
            let relay = Relay::new(self.engine, self.asked, self.prepared, body, work, &headers);
            let told = std::mem::take(self.told);
            return Ok(Answered { status, headers, body: Body::coming(relay), told });
        }
        let headers = self.headers(theirs, JSON);
        let body = whole::whole(&self, status, theirs, &headers, body, work).await?;
        let headers = if self.prepared.stream { self.headers(theirs, EVENTS) } else { headers };
        Ok(Answered { status, headers, body, told: std::mem::take(self.told) })
    }

    /// An upstream refuses, or is in trouble: its own words, in the client's form.
    pub(super) fn error(
        self,
        status: StatusCode,
        theirs: &HeaderMap,
        body: &[u8],
        tries: UpstreamTries,
    ) -> Answered {
        let (from, to) = (self.prepared.wire, self.asked.face.wire());
        self.told.trouble = Some("upstream");
        let mut headers = self.headers(theirs, JSON);
        if tries == UpstreamTries::Done {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        let text = String::from_utf8_lossy(body);
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let body = if from == to && is_json {
            Body::whole(body.to_vec())
        } else {
            match crossed(&text, from, to, status) {
                Some(body) => Body::whole(body),
                None => Body::whole(unclear(status).body(to, &self.asked.id)),
            }
        };
        let told = std::mem::take(self.told);
        Answered { status, headers, body, told }
    }

    pub(super) fn headers(&self, theirs: &HeaderMap, kind: HeaderValue) -> HeaderMap {
        let crosses = self.prepared.wire != self.asked.face.wire();
        let mut headers = back(theirs, crosses);
        headers.insert(header::CONTENT_TYPE, kind);
        ours(self.told, &mut headers);
        let guarded = &self.prepared.guarded;
        if let Some((before, after)) = guarded.compacted {
            put(&mut headers, "x-foxwedge-compacted", &format!("{before}->{after}"));
        }
        if !guarded.losses.is_empty() {
            put(&mut headers, "x-foxwedge-losses", &guarded.losses.len().to_string());
        }
        headers
    }
}

/// A fault, as a reply.
pub(super) fn fault(fault: &Fault, face: Face, request: &str, mut told: Told) -> Answered {
    told.trouble = Some(fault.code);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, JSON);
    ours(&told, &mut headers);
    if let Some(seconds) = fault.retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    if fault.tried_enough {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    let body = Body::whole(fault.body(face.wire(), request));
    Answered { status: fault.status(), headers, body, told }
}

/// A reply that was given before.
pub(super) fn again(stored: &Stored, told: &mut Told) -> Answered {
    let mut headers = stored.headers.clone();
    headers.insert("x-foxwedge-replayed", HeaderValue::from_static("true"));
    let told = std::mem::take(told);
    Answered { status: stored.status, headers, body: Body::whole(stored.body.clone()), told }
}

/// What a strict route found, out of the fault that says so.
pub(super) fn rejected(fault: &Fault) -> Vec<Noted> {
    let mut all: Vec<Noted> = Vec::new();
    let list = fault.details.get("findings").and_then(Value::as_array);
    for finding in list.into_iter().flatten() {
        let label = finding.get("code").and_then(Value::as_str).unwrap_or_default();
        let Some(code) = label.strip_prefix("FW").and_then(|code| code.parse().ok()) else {
            continue;
        };
        match all.iter_mut().find(|noted| noted.code == code) {
            Some(noted) => noted.count += 1,
            None => all.push(Noted { code, strategy: "none", count: 1 }),
        }
    }
    all
}

/// What we say about a request.
fn ours(told: &Told, headers: &mut HeaderMap) {
    let action = told.action.unwrap_or(Action::None);
    headers.insert("x-foxwedge-action", HeaderValue::from_static(action.name()));
    if !told.findings.is_empty() {
        put(headers, "x-foxwedge-findings", &Noted::header(&told.findings));
    }
    if let Some(session) = &told.session {
        put(headers, "x-foxwedge-session", session);
    }
    if let Some(run) = &told.run {
        put(headers, "x-foxwedge-run", run);
    }
    if let Some(ignored) = &told.ignored {
        put(headers, "x-foxwedge-ignored-results", ignored);
    }
    if let Some(matched) = told.matched {
        headers.insert("x-foxwedge-match", HeaderValue::from_static(matched));
    }
}

fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

/// An error in another form. What kind of trouble it is, the status says best: some formats have one
/// name for many.
fn crossed(text: &str, from: Wire, to: Wire, status: StatusCode) -> Option<String> {
    let Outcome::Failure(mut failure) = decode_reply(text, from).ok()?.outcome else {
        return None;
    };
    failure.kind = match status.as_u16() {
        401 => Trouble::Credentials,
        403 => Trouble::Permission,
        404 => Trouble::NotFound,
        408 | 504 => Trouble::Timeout,
        413 => Trouble::TooLarge,
        429 => Trouble::RateLimit,
        503 | 529 => Trouble::Overloaded,
        _ => failure.kind,
    };
    Some(encode_reply(&Outcome::Failure(failure), to, "").body)
}

/// An upstream failed and did not say why in a way that can be read.
fn unclear(status: StatusCode) -> Fault {
    let kind = match status.as_u16() {
        401 => Kind::Credentials,
        403 => Kind::Permission,
        404 => Kind::NotFound,
        413 => Kind::TooLarge,
        429 => Kind::RateLimit,
        400..500 => Kind::Request,
        _ => Kind::Upstream,
    };
    Fault::new(kind, "upstream_error", format!("the upstream answered with status {status}"))
}
