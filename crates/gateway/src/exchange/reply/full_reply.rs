//! Replies that are read completely, and replies that are streamed or not against the request.

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::{
    convert, digest,
    model::{self, ModelResponse, decode_reply},
    stream::{self, CollectedEnding, event::ReplyHead, write_stream},
};
use http::{HeaderMap, StatusCode};

use super::{ResponseBuilder, unix_seconds};
use crate::{
    ApiError, ApiErrorKind, GatewayBody,
    exchange::{ReplyInFlight, send::run_stopped_error},
    record::ReplyCompletion,
    session::{CachedReply, list_headers},
};
use foxwedge_upstream::{
    http::IncomingBody,
    send::{embedded_status, is_stream},
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
    let converted = convert_body(reply, bytes, is_stream(upstream_headers), &mut on_reply);
    let Some(ConvertedBody { body, error_status }) = converted else {
        work.span.set_failure(502);
        work.recording.finish(ReplyCompletion::Failed, None);
        let message = "the upstream's reply cannot be read";
        return Err(ApiError::new(ApiErrorKind::Upstream, "upstream_unreadable", message));
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

/// Converts a complete reply, or a stream for a client that did not request one. Passes what the
/// client gets to `on_reply`, with its body. `None` if the reply cannot be read.
fn convert_body(
    reply: &ResponseBuilder<'_>,
    bytes: Bytes,
    is_stream: bool,
    on_reply: &mut dyn FnMut(&model::ModelReply<'_>, &[u8]),
) -> Option<ConvertedBody> {
    let prepared = reply.routed_request;
    let (from, to) = (prepared.format, reply.request.endpoint.format());
    let options = || convert::ConversionOptions {
        model: (from != to || !is_stream).then(|| prepared.requested_model.to_string()),
        reply_id: prepared.reply_id.as_deref().map(str::to_owned),
        renamed_tools: prepared.guarded.names.clone(),
        free_text_tools: prepared.guarded.free_text_tools.clone(),
        seed: reply.request.id.to_string(),
        created: Some(unix_seconds()),
        ..convert::ConversionOptions::default()
    };
    let body: Bytes = if is_stream {
        let collection = stream::collect(from, &bytes).ok()?;
        let outcome = match collection.ending {
            CollectedEnding::Complete => ModelResponse::Reply(collection.reply),
            CollectedEnding::Failed(failure) => ModelResponse::Error(failure),
            CollectedEnding::Truncated => return None,
        };
        convert::decoded_response(outcome, to, &options()).body.into()
    } else if from == to && !prepared.stream {
        bytes
    } else {
        convert::response(std::str::from_utf8(&bytes).ok()?, from, to, &options()).ok()?.body.into()
    };
    // What the client gets: with the ids and names that it will send back.
    let outcome = decode_reply(std::str::from_utf8(&body).ok()?, to).ok()?.outcome;
    let error_status = match &outcome {
        ModelResponse::Reply(reply) => {
            on_reply(reply, &body);
            None
        }
        ModelResponse::Error(error) => Some(embedded_status(error.kind)),
    };
    if error_status.is_some() {
        let text = String::from_utf8_lossy(&body).into_owned();
        let body = prepared.route.upstream.redact_secrets(text).into();
        return Some(ConvertedBody { body, error_status });
    }
    if !prepared.stream {
        return Some(ConvertedBody { body, error_status });
    }
    let options = stream::StreamOptions {
        seed: reply.request.id.to_string(),
        usage: prepared.include_usage,
        head: ReplyHead { created: Some(unix_seconds()), ..ReplyHead::default() },
        ..stream::StreamOptions::default()
    };
    Some(ConvertedBody { body: write_stream(&outcome, to, options).0.into(), error_status })
}
