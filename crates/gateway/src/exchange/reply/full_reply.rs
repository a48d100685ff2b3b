//! Replies that are read completely, and replies that are streamed or not against the request.

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::{
    convert, digest,
    model::{self, ModelResponse, ProviderError, decode_reply},
    stream::{self, CollectedEnding, event::ReplyHead, write_stream},
    text,
};
use http::{HeaderMap, StatusCode, header};

use super::{ResponseBuilder, client_error, unix_seconds};
use crate::{
    ApiError, ApiErrorKind, GatewayBody, GatewayRequest,
    api_error::shorten_name,
    exchange::{EngineShared, ReplyInFlight, prepare::RoutedRequest, send::run_stopped_error},
    record::ReplyCompletion,
    session::{CachedReply, list_headers},
};
use foxwedge_upstream::{
    http::{HttpErrorKind, IncomingBody},
    send::{RetryPolicy, content_encoding, embedded_status, is_failed_response, is_stream},
};

/// A complete reply, as the client gets it.
pub(super) struct FullReply {
    pub(super) status: StatusCode,
    pub(super) body: GatewayBody,
}

/// A reply's body in the client's format.
struct ConvertedBody {
    body: Bytes,
    /// The status of an error. OpenRouter sends errors of a model with the status 200, which
    /// clients take for replies without content.
    error_status: Option<StatusCode>,
}

/// Reads a complete reply, and converts it to the client's format.
pub(super) async fn read_full_reply(
    reply: &ResponseBuilder<'_>,
    status: StatusCode,
    upstream_headers: &HeaderMap,
    headers: &HeaderMap,
    incoming: IncomingBody,
    mut work: ReplyInFlight,
) -> Result<FullReply, ApiError> {
    let max_bytes = reply.engine.config().limits.whole_reply;
    let read = tokio::select! {
        biased;
        _ = &mut work.stop_guard.stop => None,
        read = incoming.read_all(max_bytes) => Some(read),
    };
    let bytes = match read {
        None => {
            work.recording.stop();
            return Err(run_stopped_error());
        }
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => {
            work.span.set_failure(502);
            work.recording.finish(ReplyCompletion::Cut, None);
            let message = format!("the upstream's reply was interrupted: {error}");
            return Err(ApiError::new(ApiErrorKind::Upstream, "upstream_cut", message));
        }
    };
    let prefix_digest = reply.routed_request.chain.last().copied().unwrap_or_default();
    let mut committed = None;
    let prepared = reply.routed_request;
    let to = reply.request.endpoint.format();
    let mut on_reply = |reply_value: &model::ModelReply<'_>, body: &[u8]| {
        work.recording.record_reply(reply_value);
        work.span.set_reply(reply_value);
        let id = reply_value.id.as_ref().map(|id| id.to_string());
        if to == Format::OpenaiResponses {
            let creator = (prepared.format == to).then_some(&prepared.route.upstream.name);
            work.remember_reply(reply_value, || serde_json::from_slice(body).ok(), creator);
            if let (Some(id), Some(creator)) = (&id, creator) {
                work.remember_creator(id, creator);
            }
        }
        work.note_calls(reply_value);
        committed = Some((digest::reply(reply_value, prefix_digest), id));
    };
    let converted = convert_body(reply, &bytes, is_stream(upstream_headers), &mut on_reply);
    let ConvertedBody { body, error_status } = match converted {
        Ok(converted) => converted,
        Err(cause) => {
            work.span.set_failure(502);
            work.recording.finish(ReplyCompletion::Failed, None);
            return Err(unreadable_error(&cause, upstream_headers));
        }
    };
    let completion =
        if committed.is_some() { ReplyCompletion::Complete } else { ReplyCompletion::Failed };
    let tip = committed.map(|(tip, id)| {
        let cached = CachedReply { status, headers: list_headers(headers), body: body.clone() };
        work.commit_reply(tip, id.as_deref(), Some(cached))
    });
    work.span.set_completion(completion);
    work.recording.finish(completion, tip);
    Ok(FullReply { status: error_status.unwrap_or(status), body: GatewayBody::full(body) })
}

/// Reads a reply that the client gets as a whole, while a fallback can still take its place.
/// Returns its body, with all of its bytes still to be read, and whether it is a failure of the
/// upstream: it breaks off, or is no reply. Streams are returned unread.
pub(in crate::exchange) async fn read_ahead(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &RoutedRequest,
    headers: &HeaderMap,
    incoming: IncomingBody,
) -> (IncomingBody, bool) {
    if content_encoding(headers).is_some() {
        return (incoming, true);
    }
    let is_stream = is_stream(headers);
    if is_stream && prepared.stream {
        let is_empty = incoming.remaining_length() == Some(0);
        return (incoming, is_empty);
    }
    let bytes = match incoming.read_all(engine.config().limits.whole_reply).await {
        Ok(bytes) => bytes,
        Err(error) => {
            // A reply that is too long for the gateway is one.
            let is_failure = error.kind != HttpErrorKind::TooLarge;
            return (IncomingBody::from_error(error), is_failure);
        }
    };
    let is_failure = match read_outcome(prepared.format, &bytes, is_stream) {
        Ok(ModelResponse::Reply(_)) => false,
        Ok(ModelResponse::Error(_)) if passes_failed(prepared, request, &bytes) => false,
        Ok(ModelResponse::Error(error)) => {
            let status = embedded_status(error.kind);
            status.is_server_error() || RetryPolicy::is_retryable(status)
        }
        Err(_) => true,
    };
    (IncomingBody::from_bytes(bytes), is_failure)
}

/// The error for a reply that cannot be read.
pub(super) fn unreadable_error(cause: &str, headers: &HeaderMap) -> ApiError {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = match content_type {
        Some(name) => format!("its content type is `{}`", shorten_name(name)),
        None => "it has no content type".to_owned(),
    };
    let message = format!("the upstream's reply cannot be read: {cause} ({content_type})");
    ApiError::new(ApiErrorKind::Upstream, "upstream_unreadable", message)
}

/// Reads a body in the upstream's format, or says why it is no reply, without its content.
fn read_outcome(
    format: Format,
    bytes: &[u8],
    is_stream: bool,
) -> Result<ModelResponse<'_>, String> {
    if is_stream {
        let collection = stream::collect(format, bytes).map_err(|error| error.to_string())?;
        return match collection.ending {
            CollectedEnding::Complete => Ok(ModelResponse::Reply(collection.reply)),
            CollectedEnding::Failed(failure) => Ok(ModelResponse::Error(failure)),
            CollectedEnding::Truncated => Err("its stream ended early".to_owned()),
        };
    }
    let source = text(bytes).map_err(|error| error.to_string())?;
    match source.trim_start_matches('\u{feff}').trim_start() {
        "" => Err("it is empty".to_owned()),
        page if page.starts_with('<') => Err("it is a web page".to_owned()),
        _ => match decode_reply(source, format) {
            Ok(decoded) => Ok(decoded.outcome),
            Err(error) => Err(error.to_string()),
        },
    }
}

/// Whether a failed response passes as it came, with the status 200 that OpenAI sends.
fn passes_failed(prepared: &RoutedRequest, request: &GatewayRequest, body: &[u8]) -> bool {
    prepared.format == Format::OpenaiResponses
        && request.endpoint.format() == Format::OpenaiResponses
        && !prepared.stream
        && is_failed_response(body)
}

/// Converts a complete reply, or a stream for a client that did not request one. Passes what the
/// client gets to `on_reply`, with its body. If the reply cannot be read, returns why.
fn convert_body(
    reply: &ResponseBuilder<'_>,
    bytes: &Bytes,
    is_stream: bool,
    on_reply: &mut dyn FnMut(&model::ModelReply<'_>, &[u8]),
) -> Result<ConvertedBody, String> {
    let prepared = reply.routed_request;
    let (from, to) = (prepared.format, reply.request.endpoint.format());
    let outcome = match read_outcome(from, bytes, is_stream)? {
        ModelResponse::Reply(outcome) if from == to && !is_stream && !prepared.stream => {
            on_reply(&outcome, bytes);
            return Ok(ConvertedBody { body: bytes.clone(), error_status: None });
        }
        ModelResponse::Reply(outcome) => ModelResponse::Reply(outcome),
        ModelResponse::Error(failure) => {
            return Ok(convert_failure(reply, bytes, is_stream, failure));
        }
    };
    let options = || convert::ConversionOptions {
        model: (from != to || !is_stream).then(|| prepared.requested_model.to_string()),
        reply_id: prepared.reply_id.as_deref().map(str::to_owned),
        renamed_tools: prepared.guarded.names.clone(),
        free_text_tools: prepared.guarded.free_text_tools.clone(),
        seed: reply.request.id.to_string(),
        created: Some(unix_seconds()),
        ..convert::ConversionOptions::default()
    };
    let body: Bytes = if from == to && !is_stream {
        let source = text(bytes).map_err(|error| error.to_string())?;
        let converted = convert::response(source, from, to, &options());
        converted.map_err(|error| error.to_string())?.body.into()
    } else {
        convert::decoded_response(outcome, to, &options()).body.into()
    };
    // What the client gets: with the ids and names that it will send back.
    let source = text(&body).map_err(|error| error.to_string())?;
    let outcome = decode_reply(source, to).map_err(|error| error.to_string())?.outcome;
    if let ModelResponse::Reply(sent) = &outcome {
        on_reply(sent, &body);
    }
    if !prepared.stream {
        return Ok(ConvertedBody { body, error_status: None });
    }
    let options = stream::StreamOptions {
        seed: reply.request.id.to_string(),
        usage: prepared.include_usage,
        head: ReplyHead { created: Some(unix_seconds()), ..ReplyHead::default() },
        ..stream::StreamOptions::default()
    };
    let stream = write_stream(&outcome, to, options).0;
    Ok(ConvertedBody { body: stream.into(), error_status: None })
}

/// Converts an error that came as a success.
fn convert_failure(
    reply: &ResponseBuilder<'_>,
    bytes: &Bytes,
    is_stream: bool,
    failure: ProviderError<'_>,
) -> ConvertedBody {
    let prepared = reply.routed_request;
    if !is_stream && passes_failed(prepared, reply.request, bytes) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let body = prepared.route.upstream.redact_secrets(text).into();
        return ConvertedBody { body, error_status: None };
    }
    let status = embedded_status(failure.kind);
    let (status, body) = if is_stream {
        let to = reply.request.endpoint.format();
        let (status, body) = client_error::encode_error(failure, prepared.format, to, status);
        (status, prepared.route.upstream.redact_secrets(body).into())
    } else {
        client_error::client_error(reply, status, bytes)
    };
    ConvertedBody { body, error_status: Some(status) }
}
