//! A reply that comes in pieces, on its way to the client: passed on as it is, or told anew, and
//! read in passing. It is polled by whoever writes to the client: no task and no channel between.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_dialect::{
    digest,
    stream::{
        CollectedEnding, CollectedReply, StreamConverter, StreamLimits, StreamOptions,
        StreamWatcher, event::ReplyHead,
    },
};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::{EngineShared, ReplyInFlight, prepare::RoutedRequest};
use crate::{
    BodyError, GatewayRequest,
    body::BodyStream,
    http::{IncomingBody, PING},
    record::ReplyCompletion,
    session::CachedReply,
};

/// Replies up to this size are kept for clients that ask again.
const MAX_CACHED_BYTES: usize = 256 << 10;

pub(super) struct ResponseRelay {
    incoming: IncomingBody,
    mode: RelayMode,
    /// Taken when the reply has ended.
    in_flight: Option<ReplyInFlight>,
    /// The client's format.
    to: Format,
    /// The conversation up to the reply.
    prefix_digest: u128,
    sent: Option<Vec<u8>>,
    headers: HeaderMap,
    /// The request, if it and its reply may be named later, and by whom.
    referable: Option<(Arc<EngineShared>, Arc<str>, Bytes)>,
}

/// How the bytes get through.
enum RelayMode {
    /// As they are.
    Forward(Option<Box<StreamWatcher>>),
    /// Told in another format.
    Convert(Box<StreamConverter>),
}

impl ResponseRelay {
    pub(super) fn new(
        engine: &Arc<EngineShared>,
        asked: &GatewayRequest,
        prepared: &RoutedRequest,
        incoming: IncomingBody,
        work: ReplyInFlight,
        headers: &HeaderMap,
    ) -> ResponseRelay {
        let (from, to) = (prepared.wire, asked.endpoint.wire());
        let limits =
            StreamLimits { frame: engine.config.limits.event, held: engine.config.limits.reply };
        let way = if from == to {
            RelayMode::Forward(Some(Box::new(StreamWatcher::new(from, limits))))
        } else {
            RelayMode::Convert(Box::new(StreamConverter::with_collection(
                from,
                to,
                converter_options(asked, prepared, limits),
            )))
        };
        ResponseRelay {
            incoming,
            mode: way,
            in_flight: Some(work),
            to,
            prefix_digest: prepared.chain.last().copied().unwrap_or_default(),
            sent: Some(Vec::new()),
            headers: headers.clone(),
            referable: prepared
                .referable_body
                .clone()
                .map(|body| (engine.clone(), asked.caller.owner.clone(), body)),
        }
    }

    /// Bytes of the upstream: what the client gets for them.
    fn relay_bytes(&mut self, bytes: Bytes) -> Bytes {
        let Some(work) = &mut self.in_flight else { return Bytes::new() };
        // Somebody is still at work: that is no part of the reply, and said in every format.
        if bytes == PING {
            return bytes;
        }
        let recording = &mut work.recording;
        let out = match &mut self.mode {
            RelayMode::Forward(watcher) => {
                if let Some(watcher) = watcher {
                    watcher.push(&bytes, &mut |event| recording.record_event(event));
                }
                bytes
            }
            RelayMode::Convert(converter) => {
                let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 2);
                // Trouble is told to the client by the converter itself, and to us at the end.
                let _ = converter
                    .push_observed(&bytes, &mut out, &mut |event| recording.record_event(event));
                out.into()
            }
        };
        self.keep_sent(&out);
        out
    }

    /// The upstream has ended, well or not: what is left to say.
    fn finish(&mut self) -> Bytes {
        let Some(mut work) = self.in_flight.take() else { return Bytes::new() };
        let recording = &mut work.recording;
        let mut out = Vec::new();
        let collection = match &mut self.mode {
            RelayMode::Forward(watcher) => {
                let watched =
                    watcher.take().map(|it| it.finish(&mut |event| recording.record_event(event)));
                watched.map(|watched| watched.collection)
            }
            RelayMode::Convert(converter) => {
                let _ =
                    converter.finish_observed(&mut out, &mut |event| recording.record_event(event));
                converter.take_collection()
            }
        };
        let ending = collection.as_ref().map(|collection| &collection.ending);
        let ended = match ending {
            Some(CollectedEnding::Complete) => ReplyCompletion::Complete,
            Some(CollectedEnding::Failed(_)) => ReplyCompletion::Failed,
            Some(CollectedEnding::Truncated) | None => ReplyCompletion::Cut,
        };
        if ended == ReplyCompletion::Cut {
            let id = collection.as_ref().and_then(|collection| collection.reply.id.as_deref());
            out = cut_off_events(self.to, self.sent_events(), id.unwrap_or_default()).into_bytes();
        }
        self.keep_sent(&out);
        self.commit_reply(work, collection, ended);
        out.into()
    }

    fn commit_reply(
        &mut self,
        mut work: ReplyInFlight,
        collection: Option<CollectedReply>,
        ended: ReplyCompletion,
    ) {
        if let Some(collection) = &collection {
            work.span.set_reply(&collection.reply);
        }
        work.span.set_completion(ended);
        let tip = match (&collection, ended) {
            (Some(collection), ReplyCompletion::Complete) if !collection.truncated => {
                let reply = &collection.reply;
                let tip = digest::reply(reply, self.prefix_digest);
                self.remember_reply();
                let body = self.sent.take().map(Bytes::from);
                let headers = std::mem::take(&mut self.headers);
                let stored = body.map(|body| CachedReply { status: StatusCode::OK, headers, body });
                Some(work.commit_reply(tip, reply.id.as_deref(), stored))
            }
            (_, ReplyCompletion::Complete | ReplyCompletion::Failed | ReplyCompletion::Cut) => None,
        };
        work.recording.finish(ended, tip);
    }

    /// A client may name what it heard instead of repeating it.
    fn remember_reply(&self) {
        let (Some((engine, owner, asked)), Some(kept)) = (&self.referable, &self.sent) else {
            return;
        };
        let last = String::from_utf8_lossy(kept);
        let last = last.rsplit("data: ").find(|data| data.contains("\"response.completed\""));
        let told = last.and_then(|data| serde_json::from_str::<Value>(data.trim()).ok());
        if let Some(told) = told {
            engine.response_items.remember(owner, asked, &told["response"]);
        }
    }

    fn keep_sent(&mut self, bytes: &[u8]) {
        match &mut self.sent {
            Some(kept) if kept.len() + bytes.len() <= MAX_CACHED_BYTES => {
                kept.extend_from_slice(bytes)
            }
            kept => *kept = None,
        }
    }
}

impl BodyStream for ResponseRelay {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(work) = &mut self.in_flight else { return Poll::Ready(None) };
            if Pin::new(&mut work.stop_guard.stop).poll(context).is_ready() {
                let out = self.stop();
                return Poll::Ready((!out.is_empty()).then_some(Ok(out)));
            }
            let out = match self.incoming.poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(bytes))) => self.relay_bytes(bytes),
                Poll::Ready(Some(Err(_))) => self.finish(),
                Poll::Ready(None) => self.finish(),
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out)));
            }
        }
    }
}

impl ResponseRelay {
    /// Somebody stopped the run.
    fn stop(&mut self) -> Bytes {
        let Some(work) = self.in_flight.take() else { return Bytes::new() };
        work.recording.stop();
        cut_off_events(self.to, self.sent_events(), "").into()
    }

    /// About how many events the client has heard.
    fn sent_events(&self) -> usize {
        let ends = |kept: &Vec<u8>| kept.windows(2).filter(|pair| *pair == b"\n\n").count();
        self.sent.as_ref().map_or(MAX_CACHED_BYTES, ends)
    }
}

fn converter_options(
    asked: &GatewayRequest,
    prepared: &RoutedRequest,
    limits: StreamLimits,
) -> StreamOptions {
    StreamOptions {
        seed: asked.id.to_string(),
        usage: prepared.include_usage,
        limits,
        head: ReplyHead {
            created: Some(super::full_reply::unix_seconds()),
            ..ReplyHead::default()
        },
        model: Some(prepared.requested_model.to_string()),
        renamed_tools: prepared.guarded.names.clone(),
    }
}

/// How a stream says that it breaks off: a client must not take it for the end.
fn cut_off_events(wire: Format, events: usize, id: &str) -> String {
    const WORDS: &str = "the upstream's reply broke off";
    let error =
        json!({ "message": WORDS, "type": "server_error", "param": null, "code": "upstream_cut" });
    match wire {
        Format::OpenaiChat => format!("\n\ndata: {}\n\n", json!({ "error": error })),
        // Some clients look at the event, some for an object of that name, and some for the last
        // event of a response.
        Format::OpenaiResponses => {
            let first = json!({
                "type": "error", "sequence_number": events, "code": "upstream_cut",
                "message": WORDS, "param": null, "error": error,
            });
            let last = json!({
                "type": "response.failed", "sequence_number": events + 1,
                "response": {
                    "id": id, "object": "response", "status": "failed", "output": [],
                    "error": { "code": "server_error", "message": WORDS },
                },
            });
            format!("\n\nevent: error\ndata: {first}\n\nevent: response.failed\ndata: {last}\n\n")
        }
        Format::Anthropic | Format::Gemini | Format::Bedrock => {
            let error = json!({ "type": "api_error", "message": WORDS });
            let event = json!({ "type": "error", "error": error });
            format!("\n\nevent: error\ndata: {event}\n\n")
        }
    }
}
