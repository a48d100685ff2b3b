//! Reads a request and decides what to do with it, before anybody is asked.

use std::sync::Arc;

use bytes::Bytes;
use foxwedge_core::{Format, PartKind, Report};
use foxwedge_dialect::{
    OutlinedDocument, ReadError, RequestEnvelope, outline_options, position, read, read_within,
    text,
};
use serde_json::json;

use super::{
    EngineShared,
    identity::{RequestIdentity, identify},
};
use crate::{
    ApiError, ApiErrorKind, GatewayEndpoint, GatewayRequest,
    config::{ModelRoute, UpstreamTransport},
    guard::{GuardInput, GuardRefusal, GuardedRequest, guard_request, profile_of},
};

/// A request, understood.
pub(super) struct RoutedRequest {
    pub(super) route: Arc<ModelRoute>,
    /// The client's name of the model.
    pub(super) requested_model: Arc<str>,
    /// The upstream's.
    pub(super) model: Arc<str>,
    /// The upstream's format.
    pub(super) wire: Format,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    /// How many tokens the reply may have.
    pub(super) max_output: Option<u64>,
    pub(super) guarded: GuardedRequest,
    /// The request whose reply may be named later; `None` if the upstream keeps it itself.
    pub(super) referable_body: Option<Bytes>,
    /// The conversation, as a chain of digests.
    pub(super) chain: Vec<u128>,
    /// Ids of the calls that the end of the history answers.
    pub(super) answered_calls: Vec<Arc<str>>,
    /// Those of them whose answer says that the tool failed.
    pub(super) failed_calls: Vec<Arc<str>>,
    /// What tells the request from all others.
    pub(super) identity: RequestIdentity,
}

pub(super) fn prepare(
    engine: &EngineShared,
    asked: &GatewayRequest,
) -> Result<RoutedRequest, ApiError> {
    prepare_body(engine, asked, asked.body.clone())
}

/// Prepares a request whose body may be another than what came: everything it named is in it.
fn prepare_body(
    engine: &EngineShared,
    asked: &GatewayRequest,
    body: Bytes,
) -> Result<RoutedRequest, ApiError> {
    let from = asked.endpoint.wire();
    let source = text(&body).map_err(|error| unreadable_body_error(&body, &error))?;
    // The route decides what has to be looked at; most routes want the same.
    let usual = outline_options(foxwedge_core::Profile::for_format(from));
    let reading = read_within(source, from, usual, engine.config.limits.messages)
        .map_err(|error| unreadable_body_error(&body, &error))?;
    let envelope = &reading.envelope;
    refuse_foreign(envelope)?;
    let asked_model: Arc<str> = reading.draft.body.model.as_deref().unwrap_or_default().into();
    if asked_model.is_empty() {
        let words = "you must provide a model parameter";
        return Err(ApiError::new(ApiErrorKind::InvalidRequest, "missing_model", words).at("model"));
    }
    let identity = {
        let again = engine.config.sessions.again;
        identify(asked, envelope, &asked_model, again, &engine.sessions)?
    };
    let route =
        engine.config.route(&asked_model).ok_or_else(|| unknown_model_error(&asked_model))?;
    let model: Arc<str> = route.rename.as_deref().map_or_else(|| asked_model.clone(), Arc::from);
    let wire = upstream_wire(&route, from);
    // What lies on a provider's server is only there.
    let keeps = from == wire && matches!(route.upstream.transport, UpstreamTransport::Network(_));
    if !keeps {
        refuse_stateful(envelope)?;
        if let Some(body) = engine.response_items.resolve(&asked.caller.owner, &reading)? {
            return prepare_body(engine, asked, body.into());
        }
    }

    let reading = reread_for_route(source, &route, from, wire, reading)?;
    let judging =
        GuardInput { body: &body, reading: &reading, from, to: wire, route: &route, model: &model };
    let guarded = match &route.upstream.transport {
        UpstreamTransport::Network(_) | UpstreamTransport::Scripted => {
            guard_request(judging, &engine.token_counters)
                .map_err(|refusal| refusal_error(refusal, &body))?
        }
        // An agent that goes on has the history; one that has to be started gets a sound one.
        UpstreamTransport::Agent(_) => GuardedRequest::untouched(body.clone()),
    };

    let envelope = &reading.envelope;
    let counts = asked.endpoint == GatewayEndpoint::CountTokens;
    Ok(RoutedRequest {
        stream: envelope.stream.unwrap_or(false) && !counts,
        include_usage: envelope.include_usage.unwrap_or(false) || from != Format::OpenaiChat,
        max_output: envelope.max_output,
        chain: if counts { Vec::new() } else { reading.message_digests(identity.scope) },
        answered_calls: answered_call_ids(&reading, |_| true),
        failed_calls: failed_call_ids(&reading, from),
        identity,
        referable_body: (!keeps
            && from == Format::OpenaiResponses
            && envelope.store != Some(false))
        .then(|| body.clone()),
        route,
        requested_model: asked_model,
        model,
        wire,
        guarded,
    })
}

/// The format in which an upstream is asked: the client's own, if it speaks that.
fn upstream_wire(route: &ModelRoute, from: Format) -> Format {
    let speaks = &route.upstream.speaks;
    if speaks.contains(&from) { from } else { speaks.first().copied().unwrap_or(from) }
}

/// The same document, read as closely as the route's rules want.
fn reread_for_route<'a>(
    source: &'a str,
    route: &ModelRoute,
    from: Format,
    to: Format,
    reading: OutlinedDocument<'a>,
) -> Result<OutlinedDocument<'a>, ApiError> {
    let wanted = outline_options(profile_of(route, from, to));
    if wanted == outline_options(foxwedge_core::Profile::for_format(from)) {
        return Ok(reading);
    }
    read(source, from, wanted).map_err(|error| unreadable_body_error(source.as_bytes(), &error))
}

/// A request never chooses where it goes, and a wish to do so is not passed over in silence.
fn refuse_foreign(envelope: &RequestEnvelope<'_>) -> Result<(), ApiError> {
    let Some(key) = envelope.routing_field else { return Ok(()) };
    let words = format!("`{key}` is not allowed: upstreams are chosen by the operator");
    Err(ApiError::new(ApiErrorKind::InvalidRequest, "upstream_not_yours", words).at(key))
}

/// Conversations and threads are kept by some providers. Clients that hear otherwise send
/// everything again.
fn refuse_stateful(envelope: &RequestEnvelope<'_>) -> Result<(), ApiError> {
    if let Some(id) = &envelope.conversation {
        let words = format!("Conversation with id '{}' not found.", shorten_name(id));
        return Err(ApiError::new(ApiErrorKind::NotFound, "conversation_not_found", words)
            .at("conversation"));
    }
    if envelope.thread {
        let words = "message threads are not kept here: send the whole conversation";
        return Err(ApiError::new(
            ApiErrorKind::InvalidRequest,
            "thread_unsupported_request",
            words,
        )
        .with("error_code", json!("thread_unsupported_request")));
    }
    if envelope.background == Some(true) {
        let words = "replies are not made in the background here";
        return Err(ApiError::new(ApiErrorKind::InvalidRequest, "background_unsupported", words)
            .at("background"));
    }
    Ok(())
}

/// Ids of the calls whose answer is marked as a failure. Only one format has a mark for that.
fn failed_call_ids(reading: &OutlinedDocument<'_>, wire: Format) -> Vec<Arc<str>> {
    #[derive(serde::Deserialize)]
    struct ToolResultFlag {
        is_error: Option<bool>,
    }
    if wire != Format::Anthropic {
        return Vec::new();
    }
    answered_call_ids(reading, |block| {
        // Most answers have no mark, and need no closer look.
        block.contains("\"is_error\"")
            && serde_json::from_str(block)
                .is_ok_and(|block: ToolResultFlag| block.is_error == Some(true))
    })
}

/// Ids of the calls that the end of the history answers, if their block is wanted.
fn answered_call_ids(
    reading: &OutlinedDocument<'_>,
    wanted: impl Fn(&str) -> bool,
) -> Vec<Arc<str>> {
    let draft = &reading.draft;
    let last = draft.messages.iter().rposition(|message| message.role.is_assistant());
    let tail = draft.messages.iter().skip(last.map_or(0, |last| last + 1));
    let parts = tail.flat_map(|message| draft.parts_of(message));
    parts
        .filter_map(|part| match &part.kind {
            PartKind::Answer(answer) => {
                let id = answer.id.as_deref().filter(|_| wanted(part.span.of(draft.source)));
                id.map(Arc::from)
            }
            PartKind::Text(_)
            | PartKind::Media
            | PartKind::Reasoning(_)
            | PartKind::Call(_)
            | PartKind::ServerCall(_)
            | PartKind::ServerAnswer(_)
            | PartKind::Other => None,
        })
        .collect()
}

fn unknown_model_error(model: &str) -> ApiError {
    let words = format!("the model `{}` is not known here", shorten_name(model));
    ApiError::new(ApiErrorKind::NotFound, "model_not_found", words).at("model")
}

pub(super) fn unreadable_body_error(body: &[u8], error: &ReadError) -> ApiError {
    if let ReadError::TooMany { .. } = error {
        return ApiError::new(
            ApiErrorKind::TooLarge,
            "too_many_messages",
            format!("the request has {error}"),
        );
    }
    let at = position(body, error.at());
    let words =
        format!("the body cannot be read: {error} (line {}, column {})", at.line, at.column);
    ApiError::new(ApiErrorKind::InvalidRequest, "invalid_body", words)
}

pub(super) fn refusal_error(refusal: GuardRefusal, body: &Bytes) -> ApiError {
    match refusal {
        GuardRefusal::Unreadable(error) => unreadable_body_error(body, &error),
        GuardRefusal::Findings(report) => findings_error(&report),
    }
}

/// Strict: every finding, with its rule, its place and what would repair it.
fn findings_error(report: &Report) -> ApiError {
    let list: Vec<_> = report
        .findings
        .iter()
        .take(100)
        .map(|finding| {
            json!({
                "code": finding.rule.label(),
                "name": finding.rule.name,
                "message": finding.message,
                "message_index": finding.location.message,
                "call_ids": finding.ids,
                "fix": { "applicability": finding.fix.applicability.name(),
                         "strategy": finding.fix.strategy.name() },
            })
        })
        .collect();
    let Some(first) = report.findings.first() else {
        return ApiError::new(ApiErrorKind::Server, "no_finding", "refused without a finding");
    };
    let label = first.rule.label();
    let words = format!("{label} {}: {}", first.rule.name, first.message);
    ApiError::new(ApiErrorKind::InvalidRequest, "invalid_history", words)
        .at(format!("messages[{}]", first.location.message))
        .with("rule", json!(label))
        .with("findings", json!(list))
}

/// A name as it may stand in an error: short and printable.
pub(super) fn shorten_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_marked_as_failures_are_told() {
        let blocks = [
            r#"{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true}"#,
            r#"{"type":"tool_result","tool_use_id":"b","is_error": false,"content":"x"}"#,
            r#"{"type":"tool_result","tool_use_id":"c","content":"{\"is_error\":true}"}"#,
            r#"{"is_error" : true,"tool_use_id":"d","type":"tool_result","content":[]}"#,
        ];
        let body =
            format!(r#"{{"messages":[{{"role":"user","content":[{}]}}]}}"#, blocks.join(","));
        let wanted = outline_options(foxwedge_core::Profile::Anthropic);
        let reading = read(&body, Format::Anthropic, wanted).expect("a document");
        let told = |ids: Vec<Arc<str>>| ids.join(" ");
        assert_eq!(told(answered_call_ids(&reading, |_| true)), "a b c d");
        assert_eq!(told(failed_call_ids(&reading, Format::Anthropic)), "a d");
    }
}
