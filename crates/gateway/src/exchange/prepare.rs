//! Parses a request, routes it and guards it, before it is sent.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use foxwedge_core::{Format, PartKind, Report};
use foxwedge_formats::{
    OutlinedDocument, ReadError, RequestEnvelope, outline_options, position, read, read_within,
    text,
};
use serde_json::json;

use super::{
    EngineShared,
    identity::{RequestIdentity, identify},
    nesting::check_nesting,
    opening::opening_digest,
    references::{reference_ids, refuse_other_owners},
};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest,
    active_config::ResponseStorage,
    api_error::shorten_name,
    config::{GatewayConfig, ModelRoute},
    guard::{GuardInput, GuardRefusal, GuardedRequest, count_rejected, guard_request, profile_of},
    ordered_id::OrderedId,
    session::ConversationTraits,
};
use foxwedge_upstream::{UpstreamTransport, send::UpstreamOperation};

/// Begins the ids of responses that upstreams of other APIs have made. No provider uses it.
pub(crate) const OWN_RESPONSE_PREFIX: &str = "resp_fox";

/// A request with its route and its guarded body.
pub(super) struct RoutedRequest {
    pub(super) route: Arc<ModelRoute>,
    /// The model name in the client's request.
    pub(super) requested_model: Arc<str>,
    /// The upstream's name of the model.
    pub(super) model: Arc<str>,
    /// The upstream's format.
    pub(super) format: Format,
    pub(super) stream: bool,
    pub(super) include_usage: bool,
    /// How many tokens the reply may have.
    pub(super) max_output: Option<u64>,
    pub(super) guarded: GuardedRequest,
    /// Ids of the response that the request continues and of the items it refers to, if the
    /// upstream has to know them.
    pub(super) references: Vec<Arc<str>>,
    /// The body, if later requests may refer to its reply by id; `None` if the upstream stores it
    /// itself.
    pub(super) referable_body: Option<Bytes>,
    /// The digests of the conversation, one per message.
    pub(super) chain: Vec<u128>,
    /// What tells the conversation from others under the same name.
    pub(super) traits: ConversationTraits,
    /// Ids of the calls whose results end the history.
    pub(super) answered_calls: Vec<Arc<str>>,
    /// Those of them whose result is marked as an error.
    pub(super) failed_calls: Vec<Arc<str>>,
    /// The id that the client gets for its reply; `None` if that of the upstream is passed on.
    pub(super) reply_id: Option<Arc<str>>,
    /// Whether the upstream is a fallback of the route.
    pub(super) is_fallback: bool,
    /// The identity of the request: session hint, scope and fingerprint.
    pub(super) identity: RequestIdentity,
}

pub(super) fn prepare(
    engine: &EngineShared,
    request: &GatewayRequest,
) -> Result<RoutedRequest, ApiError> {
    prepare_body(engine, request, request.body.clone(), References::ByUpstream, None)
}

/// The same, for a fallback of the model's route.
pub(super) fn prepare_for_route(
    engine: &EngineShared,
    request: &GatewayRequest,
    route: Arc<ModelRoute>,
) -> Result<RoutedRequest, ApiError> {
    prepare_body(engine, request, request.body.clone(), References::ByUpstream, Some(route))
}

/// The same request with the content of the responses and items that it refers to, for an upstream
/// that turned out not to have them. `None` if `references`, which it was sent, are not known here.
pub(super) fn prepare_resolved(
    engine: &EngineShared,
    request: &GatewayRequest,
    route: Arc<ModelRoute>,
    references: &[Arc<str>],
) -> Option<RoutedRequest> {
    let body = request.body.clone();
    let resolved = prepare_body(engine, request, body, References::ByGateway, Some(route)).ok()?;
    (*resolved.references != *references).then_some(resolved)
}

/// Who resolves references of a Responses request to earlier responses and items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum References {
    /// The upstream, if it has the same format and is not known to store nothing.
    ByUpstream,
    /// The gateway, as far as it knows them.
    ByGateway,
    /// They are resolved. What they lead to came from a client and may hold references again.
    Resolved,
}

/// Prepares a request with a body that may differ from the one received.
fn prepare_body(
    engine: &EngineShared,
    request: &GatewayRequest,
    body: Bytes,
    references: References,
    route: Option<Arc<ModelRoute>>,
) -> Result<RoutedRequest, ApiError> {
    let from = request.endpoint.format();
    let source = text(&body).map_err(|error| unreadable_body_error(&body, &error))?;
    refuse_list(source, from)?;
    // The route decides how closely to parse; most routes need the default.
    let default_options = outline_options(foxwedge_core::Profile::for_format(from));
    let active = engine.config.get();
    let config = &active.config;
    let mut reading = read_within(source, from, default_options, config.limits.history_messages)
        .map_err(|error| unreadable_body_error(&body, &error))?;
    check_nesting(source, &config.limits)?;
    if let Some(model) = &request.path_model {
        reading.draft.body.model = Some(Cow::Owned(model.to_string()));
    }
    let envelope = &reading.envelope;
    refuse_foreign(envelope)?;
    if from == Format::OpenaiResponses && !request.caller.is_admin {
        refuse_other_owners(engine, &request.caller.owner, &reading)?;
    }
    let requested_model: Arc<str> = reading.draft.body.model.as_deref().unwrap_or_default().into();
    if requested_model.is_empty() {
        let message = "you must provide a model parameter";
        return Err(
            ApiError::new(ApiErrorKind::InvalidRequest, "missing_model", message).at("model")
        );
    }
    let identity = {
        let replay_policy = config.sessions.retries;
        identify(request, envelope, &requested_model, replay_policy, &engine.sessions)?
    };
    let route = route
        .or_else(|| config.route(&requested_model))
        .ok_or_else(|| unknown_model_error(&requested_model, config))?;
    let model: Arc<str> =
        route.upstream_model.as_deref().map_or_else(|| requested_model.clone(), Arc::from);
    let format = route.upstream.request_format(&model, from);
    // Stored conversations exist only at the provider that stored them.
    let stored_upstream =
        from == format && matches!(route.upstream.transport, UpstreamTransport::Network(_));
    let storage = active.response_storage(&route.upstream.name);
    if !stored_upstream {
        refuse_stateful(&reading, from)?;
    }
    let is_ours = references == References::ByGateway || storage == ResponseStorage::NotStored;
    if references != References::Resolved && (!stored_upstream || is_ours) {
        let owner = &request.caller.owner;
        let resolved = match engine.response_items.resolve(owner, &reading, stored_upstream) {
            // The upstream may have what is not known here.
            Err(_) if stored_upstream => None,
            resolved => resolved?,
        };
        if let Some((body, left_out)) = resolved {
            let references = References::Resolved;
            let mut prepared = prepare_body(engine, request, body.into(), references, Some(route))?;
            if left_out > 0 {
                prepared.guarded.losses.push(format!(
                    "reasoning of earlier replies is left out ({left_out}): the upstream does not \
                     store it, and it has no encrypted content"
                ));
            }
            return Ok(prepared);
        }
    }

    let mut reading = reread_for_route(source, &route, &model, from, format, reading)?;
    // Gemini's clients choose between a reply and a stream by the path.
    reading.envelope.stream = request.endpoint.streams().or(reading.envelope.stream);
    let input = GuardInput {
        body: &body,
        reading: &reading,
        from,
        to: format,
        route: &route,
        model: &model,
    };
    let guarded = match &route.upstream.transport {
        UpstreamTransport::Network(_) | UpstreamTransport::Scripted => {
            guard_request(input, &engine.token_counters)
                .map_err(|refusal| refusal_error(refusal, &body))?
        }
        // An agent that continues has the history already; one that is started gets a valid one
        // later.
        UpstreamTransport::Agent => GuardedRequest::untouched(body.clone()),
    };

    let envelope = &reading.envelope;
    let counts_only = request.endpoint.operation() == UpstreamOperation::CountTokens;
    let chain = if counts_only { Vec::new() } else { reading.message_digests(identity.scope) };
    let answered_calls = answered_call_ids(&reading, |_| true);
    let traits = ConversationTraits {
        opening: opening_digest(&reading, envelope, &chain, identity.scope)
            .filter(|_| !envelope.is_stateful()),
        has_tools: envelope.tools,
        has_results: !answered_calls.is_empty(),
    };
    Ok(RoutedRequest {
        stream: envelope.stream.unwrap_or(false),
        include_usage: envelope.include_usage.unwrap_or(false) || from != Format::OpenaiChat,
        max_output: envelope.max_output,
        chain,
        traits,
        answered_calls,
        failed_calls: failed_call_ids(&reading, from),
        identity,
        // Ids of other APIs repeat in other conversations, and clients refer to these.
        reply_id: (from == Format::OpenaiResponses && format != from)
            .then(|| OrderedId::next().with_prefix(OWN_RESPONSE_PREFIX)),
        is_fallback: false,
        referable_body: ((!stored_upstream || storage != ResponseStorage::Stored)
            && from == Format::OpenaiResponses
            && envelope.store != Some(false))
        .then(|| body.clone()),
        references: reference_ids(&reading),
        route,
        requested_model,
        model,
        format,
        guarded,
    })
}

/// Parses the document again if the route's rules need other options. They apply to the model of
/// the upstream, whatever name the client gave it.
fn reread_for_route<'a>(
    source: &'a str,
    route: &ModelRoute,
    model: &str,
    from: Format,
    to: Format,
    reading: OutlinedDocument<'a>,
) -> Result<OutlinedDocument<'a>, ApiError> {
    let options = outline_options(profile_of(route, model, from, to));
    let mut reading = reading;
    if options != outline_options(foxwedge_core::Profile::for_format(from)) {
        reading = read(source, from, options)
            .map_err(|error| unreadable_body_error(source.as_bytes(), &error))?;
    }
    reading.draft.body.model = Some(Cow::Owned(model.to_owned()));
    Ok(reading)
}

/// Rejects a list in place of a request. Other readers of documents accept a list of messages.
fn refuse_list(source: &str, format: Format) -> Result<(), ApiError> {
    if !source.trim_start().starts_with('[') {
        return Ok(());
    }
    let field = match format {
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
        Format::OpenaiResponses | Format::GeminiInteractions => "input",
        Format::Gemini => "contents",
    };
    let message = format!("the body must be an object with `{field}`, not a list");
    Err(ApiError::new(ApiErrorKind::InvalidRequest, "invalid_body", message))
}

/// Rejects requests that try to choose their upstream, rather than ignore the field.
fn refuse_foreign(envelope: &RequestEnvelope<'_>) -> Result<(), ApiError> {
    let Some(key) = envelope.routing_field else { return Ok(()) };
    let message = format!("`{key}` is not allowed: upstreams are chosen by the operator");
    Err(ApiError::new(ApiErrorKind::InvalidRequest, "upstream_not_yours", message).at(key))
}

/// Rejects state that only some providers store. Clients that get this error send the whole
/// conversation again.
fn refuse_stateful(reading: &OutlinedDocument<'_>, from: Format) -> Result<(), ApiError> {
    let envelope = &reading.envelope;
    let has_input = reading.frame.list.is_some() || envelope.input.is_some();
    if envelope.prompt && !has_input && envelope.previous_response.is_none() {
        let message = "the stored prompt is not known to this model's upstream: send the \
                       conversation as `input`";
        return Err(
            ApiError::new(ApiErrorKind::InvalidRequest, "prompt_unsupported", message).at("prompt")
        );
    }
    let interaction = envelope.previous_response.as_deref();
    if let Some(id) = interaction.filter(|_| from == Format::GeminiInteractions) {
        let message = format!(
            "interaction `{}` is not stored here: send all its steps as `input`",
            shorten_name(id)
        );
        return Err(ApiError::new(ApiErrorKind::NotFound, "interaction_not_found", message)
            .at("previous_interaction_id"));
    }
    if envelope.cached_content {
        let message = "the cached content is not known to this model's upstream: send what it holds \
                       in `systemInstruction` and `contents`";
        let kind = ApiErrorKind::InvalidRequest;
        return Err(ApiError::new(kind, "cached_content_unsupported", message).at("cachedContent"));
    }
    if let Some(id) = &envelope.conversation {
        let message = format!("Conversation with id '{}' not found.", shorten_name(id));
        return Err(ApiError::new(ApiErrorKind::NotFound, "conversation_not_found", message)
            .at("conversation"));
    }
    if envelope.thread {
        let message = "message threads are not stored: send the whole conversation";
        return Err(ApiError::new(
            ApiErrorKind::InvalidRequest,
            "thread_unsupported_request",
            message,
        )
        .with("error_code", json!("thread_unsupported_request")));
    }
    if envelope.background == Some(true) {
        let message = "background responses are not supported";
        return Err(ApiError::new(ApiErrorKind::InvalidRequest, "background_unsupported", message)
            .at("background"));
    }
    Ok(())
}

/// Ids of the calls whose result is marked as an error. Only these formats have such a mark.
fn failed_call_ids(reading: &OutlinedDocument<'_>, format: Format) -> Vec<Arc<str>> {
    #[derive(serde::Deserialize)]
    struct ToolResultFlag {
        is_error: Option<bool>,
    }
    if !matches!(format, Format::Anthropic | Format::GeminiInteractions) {
        return Vec::new();
    }
    answered_call_ids(reading, |block| {
        // Most results have no mark; skip parsing them.
        block.contains("\"is_error\"")
            && serde_json::from_str(block)
                .is_ok_and(|block: ToolResultFlag| block.is_error == Some(true))
    })
}

/// Ids of the calls whose results end the history, filtered by the text of their block.
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
            | PartKind::Fallback
            | PartKind::Other
            | PartKind::Unknown => None,
        })
        .collect()
}

fn unknown_model_error(model: &str, config: &GatewayConfig) -> ApiError {
    let mut message = format!("no provider is configured for the model `{}`", shorten_name(model));
    let mut upstreams = config.upstreams.iter();
    if upstreams.all(|upstream| matches!(upstream.transport, UpstreamTransport::Scripted)) {
        message.push_str(
            ", only the built-in `scripted`: set the key of a provider, or start the gateway with \
             `--demo`",
        );
    }
    ApiError::new(ApiErrorKind::NotFound, "model_not_found", message).at("model")
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
    let message =
        format!("the body cannot be read: {error} (line {}, column {})", at.line, at.column);
    ApiError::new(ApiErrorKind::InvalidRequest, "invalid_body", message)
}

pub(super) fn refusal_error(refusal: GuardRefusal, body: &Bytes) -> ApiError {
    match refusal {
        GuardRefusal::Unreadable(error) => unreadable_body_error(body, &error),
        GuardRefusal::Findings(report) => findings_error(&report),
    }
}

/// The error of a strict route: every finding, with its rule, its location and its fix.
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
    let message = format!("{label} {}: {}", first.rule.name, first.message);
    let error = ApiError::new(ApiErrorKind::InvalidRequest, "invalid_history", message)
        .at(format!("messages[{}]", first.location.message))
        .with("rule", json!(label))
        .with("findings", json!(list));
    ApiError { findings: count_rejected(report).into(), ..error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_results_marked_as_errors_are_found() {
        let blocks = [
            r#"{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true}"#,
            r#"{"type":"tool_result","tool_use_id":"b","is_error": false,"content":"x"}"#,
            r#"{"type":"tool_result","tool_use_id":"c","content":"{\"is_error\":true}"}"#,
            r#"{"is_error" : true,"tool_use_id":"d","type":"tool_result","content":[]}"#,
        ];
        let body =
            format!(r#"{{"messages":[{{"role":"user","content":[{}]}}]}}"#, blocks.join(","));
        let options = outline_options(foxwedge_core::Profile::Anthropic);
        let reading = read(&body, Format::Anthropic, options).expect("a document");
        let joined = |ids: Vec<Arc<str>>| ids.join(" ");
        assert_eq!(joined(answered_call_ids(&reading, |_| true)), "a b c d");
        assert_eq!(joined(failed_call_ids(&reading, Format::Anthropic)), "a d");
    }
}
