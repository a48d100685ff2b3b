//! Replies that are read completely, and replies that are streamed or not against the request.

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::{
    convert, digest,
    model::{self, ModelResponse, decode_reply, encode_reply},
    stream::{self, CollectedEnding, event::ReplyHead, write_stream},
};
use http::{HeaderMap, StatusCode};

use super::{ResponseBuilder, unix_seconds};
use crate::{
    ApiError, ApiErrorKind, GatewayBody,
    exchange::{ReplyInFlight, send::run_stopped_error},
    record::ReplyCompletion,
    session::CachedReply,
};
use foxwedge_upstream::{http::IncomingBody, send::is_stream};

/// Reads a complete reply, and converts it to the client's format.
pub(super) async fn read_full_reply(
    reply: &ResponseBuilder<'_>,
    status: StatusCode,
    upstream_headers: &HeaderMap,
    headers: &HeaderMap,
    incoming: IncomingBody,
    mut work: ReplyInFlight,
) -> Result<GatewayBody, ApiError> {
    let max_bytes = reply.engine.config.limits.whole_reply;
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
    let recording = &mut work.recording;
    let span = &mut work.span;
    let mut on_reply = |reply_value: &model::ModelReply<'_>| {
        recording.record_reply(reply_value);
        span.set_reply(reply_value);
        let id = reply_value.id.as_ref().map(|id| id.to_string());
        committed = Some((digest::reply(reply_value, prefix_digest), id));
    };
    let converted = match is_stream(upstream_headers) {
        true => collect_stream(reply, &bytes, &mut on_reply),
        false => convert_body(reply, bytes, &mut on_reply),
    };
    let Some(body) = converted else {
        work.span.set_failure(502);
        work.recording.finish(ReplyCompletion::Failed, None);
        let message = "the upstream's reply cannot be read";
        return Err(ApiError::new(ApiErrorKind::Upstream, "upstream_unreadable", message));
    };
    let completion =
        if committed.is_some() { ReplyCompletion::Complete } else { ReplyCompletion::Failed };
    if let Some(request) = &reply.routed_request.referable_body
        && committed.is_some()
        && let Ok(reply_value) = serde_json::from_slice(&body)
    {
        reply.engine.response_items.remember(&reply.request.caller.owner, request, &reply_value);
    }
    let tip = committed.map(|(tip, id)| {
        let cached = CachedReply { status, headers: headers.clone(), body: body.clone() };
        work.commit_reply(tip, id.as_deref(), Some(cached))
    });
    work.span.set_completion(completion);
    work.recording.finish(completion, tip);
    Ok(GatewayBody::full(body))
}

/// Called with the parsed reply.
type ReplyCallback<'h> = dyn FnMut(&model::ModelReply<'_>) + 'h;

/// Converts a complete reply for the client; `None` if it cannot be read.
fn convert_body(
    reply: &ResponseBuilder<'_>,
    bytes: Bytes,
    on_reply: &mut ReplyCallback<'_>,
) -> Option<Bytes> {
    let prepared = reply.routed_request;
    let (from, to) = (prepared.format, reply.request.endpoint.format());
    let text = std::str::from_utf8(&bytes).ok()?;
    let notify = |outcome: &ModelResponse<'_>, on_reply: &mut ReplyCallback<'_>| {
        if let ModelResponse::Reply(reply) = outcome {
            on_reply(reply);
        }
    };
    if from == to && !prepared.stream {
        notify(&decode_reply(text, from).ok()?.outcome, on_reply);
        return Some(bytes);
    }
    let options = convert::ConversionOptions {
        model: Some(prepared.requested_model.to_string()),
        renamed_tools: prepared.guarded.names.clone(),
        seed: reply.request.id.to_string(),
        created: Some(unix_seconds()),
        ..convert::ConversionOptions::default()
    };
    let converted = convert::response(text, from, to, &options).ok()?;
    let outcome = decode_reply(&converted.body, to).ok()?.outcome;
    notify(&outcome, on_reply);
    if prepared.stream {
        return Some(encode_as_stream(reply, &outcome, to));
    }
    drop(outcome);
    Some(converted.body.into())
}

/// Collects a stream for a client that did not request one.
fn collect_stream(
    reply: &ResponseBuilder<'_>,
    bytes: &[u8],
    on_reply: &mut ReplyCallback<'_>,
) -> Option<Bytes> {
    let collection = stream::collect(reply.routed_request.format, bytes).ok()?;
    let outcome = match collection.ending {
        CollectedEnding::Complete => {
            on_reply(&collection.reply);
            ModelResponse::Reply(collection.reply)
        }
        CollectedEnding::Failed(failure) => ModelResponse::Error(failure),
        CollectedEnding::Truncated => return None,
    };
    Some(encode_reply(&outcome, reply.request.endpoint.format(), &reply.request.id).body.into())
}

/// Encodes a complete reply as a stream, for a client that requested one.
fn encode_as_stream(reply: &ResponseBuilder<'_>, outcome: &ModelResponse<'_>, to: Format) -> Bytes {
    let options = stream::StreamOptions {
        seed: reply.request.id.to_string(),
        usage: reply.routed_request.include_usage,
        head: ReplyHead { created: Some(unix_seconds()), ..ReplyHead::default() },
        ..stream::StreamOptions::default()
    };
    write_stream(outcome, to, options).0.into()
}
