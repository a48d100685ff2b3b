//! A reply that comes in one piece, and one that comes in another way than it was asked for.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use foxwedge_core::Wire;
use foxwedge_dialect::{
    canon::{self, Outcome, decode_reply, encode_reply},
    convert, digest,
    stream::{self, Ending, event::Head, write_stream},
};
use http::{HeaderMap, StatusCode};

use super::{Work, reply::Reply};
use crate::{
    Body, Fault, Kind, http::Incoming, record::Ended, session::Stored, upstream::is_stream,
};

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Reads a reply to its end, and gives it the client's form.
pub(super) async fn whole(
    reply: &Reply<'_>,
    status: StatusCode,
    theirs: &HeaderMap,
    ours: &HeaderMap,
    incoming: Incoming,
    mut work: Work,
) -> Result<Body, Fault> {
    let most = reply.engine.config.limits.reply;
    let read = tokio::select! {
        biased;
        _ = &mut work.running.stop => None,
        read = incoming.whole(most) => Some(read),
    };
    let bytes = match read {
        None => {
            work.recording.stopped();
            return Err(super::ask::stopped());
        }
        Some(Ok(bytes)) => bytes,
        Some(Err(error)) => {
            work.span.failed(502);
            work.recording.ended(Ended::Cut, None);
            let words = format!("the upstream's reply broke off: {error}");
            return Err(Fault::new(Kind::Upstream, "upstream_cut", words));
        }
    };
    let before = reply.prepared.chain.last().copied().unwrap_or_default();
    let mut settled = None;
    let recording = &mut work.recording;
    let span = &mut work.span;
    let mut hear = |told: &canon::Reply<'_>| {
        recording.whole(told);
        span.told(told);
        let id = told.id.as_ref().map(|id| id.to_string());
        settled = Some((digest::reply(told, before), id));
    };
    let shaped = match is_stream(theirs) {
        true => from_pieces(reply, &bytes, &mut hear),
        false => from_one(reply, bytes, &mut hear),
    };
    let Some(body) = shaped else {
        work.span.failed(502);
        work.recording.ended(Ended::Failed, None);
        let words = "the upstream's reply cannot be read";
        return Err(Fault::new(Kind::Upstream, "upstream_unreadable", words));
    };
    let ended = if settled.is_some() { Ended::Replied } else { Ended::Failed };
    if let Some(asked) = &reply.prepared.named_later
        && settled.is_some()
        && let Ok(told) = serde_json::from_slice(&body)
    {
        reply.engine.recall.remember(&reply.asked.caller.owner, asked, &told);
    }
    let tip = settled.map(|(tip, id)| {
        let stored = Stored { status, headers: ours.clone(), body: body.clone() };
        work.settle(tip, id.as_deref(), Some(stored))
    });
    work.span.ended(ended);
    work.recording.ended(ended, tip);
    Ok(Body::whole(body))
}

/// Whoever hears what a reply says.
type Hear<'h> = dyn FnMut(&canon::Reply<'_>) + 'h;

/// A reply in one piece, as the client wants it; `None` if nobody understands it.
fn from_one(reply: &Reply<'_>, bytes: Bytes, hear: &mut Hear<'_>) -> Option<Bytes> {
    let prepared = reply.prepared;
    let (from, to) = (prepared.wire, reply.asked.face.wire());
    let text = std::str::from_utf8(&bytes).ok()?;
    let told = |outcome: &Outcome<'_>, hear: &mut Hear<'_>| {
        if let Outcome::Reply(told) = outcome {
            hear(told);
        }
    };
    if from == to && !prepared.stream {
        told(&decode_reply(text, from).ok()?.outcome, hear);
        return Some(bytes);
    }
    let options = convert::Options {
        model: Some(prepared.asked_model.to_string()),
        names: prepared.guarded.names.clone(),
        seed: reply.asked.id.to_string(),
        created: Some(now()),
        ..convert::Options::default()
    };
    let answered = convert::response(text, from, to, &options).ok()?;
    let outcome = decode_reply(&answered.body, to).ok()?.outcome;
    told(&outcome, hear);
    if prepared.stream {
        return Some(in_pieces(reply, &outcome, to));
    }
    drop(outcome);
    Some(answered.body.into())
}

/// A stream that nobody asked for.
fn from_pieces(reply: &Reply<'_>, bytes: &[u8], hear: &mut Hear<'_>) -> Option<Bytes> {
    let collection = stream::collect(reply.prepared.wire, bytes).ok()?;
    let outcome = match collection.ending {
        Ending::Whole => {
            hear(&collection.reply);
            Outcome::Reply(collection.reply)
        }
        Ending::Failed(failure) => Outcome::Failure(failure),
        Ending::Cut => return None,
    };
    Some(encode_reply(&outcome, reply.asked.face.wire(), &reply.asked.id).body.into())
}

/// A whole reply for a client that asked for pieces.
fn in_pieces(reply: &Reply<'_>, outcome: &Outcome<'_>, to: Wire) -> Bytes {
    let options = stream::Options {
        seed: reply.asked.id.to_string(),
        usage: reply.prepared.include_usage,
        head: Head { created: Some(now()), ..Head::default() },
        ..stream::Options::default()
    };
    write_stream(outcome, to, options).0.into()
}
