//! A reply that comes in one piece, and one that comes in another way than it was asked for.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_dialect::{
    convert, digest,
    model::{self, ModelResponse, decode_reply, encode_reply},
    stream::{self, CollectedEnding, event::ReplyHead, write_stream},
};
use http::{HeaderMap, StatusCode};

use super::{ReplyInFlight, reply::ResponseBuilder};
use crate::{
    ApiError, ApiErrorKind, GatewayBody, http::IncomingBody, record::ReplyCompletion,
    session::CachedReply, upstream::is_stream,
};

/// Seconds since 1970.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Reads a reply to its end, and gives it the client's form.
pub(super) async fn read_full_reply(
    reply: &ResponseBuilder<'_>,
    status: StatusCode,
    theirs: &HeaderMap,
    ours: &HeaderMap,
    incoming: IncomingBody,
    mut work: ReplyInFlight,
) -> Result<GatewayBody, ApiError> {
    let most = reply.engine.config.limits.reply;
    let read = tokio::select! {
        biased;
        _ = &mut work.stop_guard.stop => None,
        read = incoming.read_all(most) => Some(read),
    };
    let bytes = match read {
        None => {
            work.recording.stop();
            return Err(super::send::run_stopped_error());
        }
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => {
            work.span.set_failure(502);
            work.recording.finish(ReplyCompletion::Cut, None);
            let words = format!("the upstream's reply broke off: {error}");
            return Err(ApiError::new(ApiErrorKind::Upstream, "upstream_cut", words));
        }
    };
    let before = reply.routed_request.chain.last().copied().unwrap_or_default();
    let mut settled = None;
    let recording = &mut work.recording;
    let span = &mut work.span;
    let mut hear = |told: &model::ModelReply<'_>| {
        recording.record_reply(told);
        span.set_reply(told);
        let id = told.id.as_ref().map(|id| id.to_string());
        settled = Some((digest::reply(told, before), id));
    };
    let shaped = match is_stream(theirs) {
        true => collect_stream(reply, &bytes, &mut hear),
        false => convert_body(reply, bytes, &mut hear),
    };
    let Some(body) = shaped else {
        work.span.set_failure(502);
        work.recording.finish(ReplyCompletion::Failed, None);
        let words = "the upstream's reply cannot be read";
        return Err(ApiError::new(ApiErrorKind::Upstream, "upstream_unreadable", words));
    };
    let ended = if settled.is_some() { ReplyCompletion::Complete } else { ReplyCompletion::Failed };
    if let Some(asked) = &reply.routed_request.referable_body
        && settled.is_some()
        && let Ok(told) = serde_json::from_slice(&body)
    {
        reply.engine.response_items.remember(&reply.request.caller.owner, asked, &told);
    }
    let tip = settled.map(|(tip, id)| {
        let stored = CachedReply { status, headers: ours.clone(), body: body.clone() };
        work.commit_reply(tip, id.as_deref(), Some(stored))
    });
    work.span.set_completion(ended);
    work.recording.finish(ended, tip);
    Ok(GatewayBody::full(body))
}

/// Whoever hears what a reply says.
type ReplyCallback<'h> = dyn FnMut(&model::ModelReply<'_>) + 'h;

/// A reply in one piece, as the client wants it; `None` if nobody understands it.
fn convert_body(
    reply: &ResponseBuilder<'_>,
    bytes: Bytes,
    hear: &mut ReplyCallback<'_>,
) -> Option<Bytes> {
    let prepared = reply.routed_request;
    let (from, to) = (prepared.wire, reply.request.endpoint.wire());
    let text = std::str::from_utf8(&bytes).ok()?;
    let told = |outcome: &ModelResponse<'_>, hear: &mut ReplyCallback<'_>| {
        if let ModelResponse::Reply(told) = outcome {
            hear(told);
        }
    };
    if from == to && !prepared.stream {
        told(&decode_reply(text, from).ok()?.outcome, hear);
        return Some(bytes);
    }
    let options = convert::ConversionOptions {
        model: Some(prepared.requested_model.to_string()),
        renamed_tools: prepared.guarded.names.clone(),
        seed: reply.request.id.to_string(),
        created: Some(unix_seconds()),
        ..convert::ConversionOptions::default()
    };
    let answered = convert::response(text, from, to, &options).ok()?;
    let outcome = decode_reply(&answered.body, to).ok()?.outcome;
    told(&outcome, hear);
    if prepared.stream {
        return Some(encode_as_stream(reply, &outcome, to));
    }
    drop(outcome);
    Some(answered.body.into())
}

/// A stream that nobody asked for.
fn collect_stream(
    reply: &ResponseBuilder<'_>,
    bytes: &[u8],
    hear: &mut ReplyCallback<'_>,
) -> Option<Bytes> {
    let collection = stream::collect(reply.routed_request.wire, bytes).ok()?;
    let outcome = match collection.ending {
        CollectedEnding::Complete => {
            hear(&collection.reply);
            ModelResponse::Reply(collection.reply)
        }
        CollectedEnding::Failed(failure) => ModelResponse::Error(failure),
        CollectedEnding::Truncated => return None,
    };
    Some(encode_reply(&outcome, reply.request.endpoint.wire(), &reply.request.id).body.into())
}

/// A whole reply for a client that asked for pieces.
fn encode_as_stream(reply: &ResponseBuilder<'_>, outcome: &ModelResponse<'_>, to: Format) -> Bytes {
    let options = stream::StreamOptions {
        seed: reply.request.id.to_string(),
        usage: reply.routed_request.include_usage,
        head: ReplyHead { created: Some(unix_seconds()), ..ReplyHead::default() },
        ..stream::StreamOptions::default()
    };
    write_stream(outcome, to, options).0.into()
}
