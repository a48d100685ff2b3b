//! A reply that comes in pieces, on its way to the client: passed on as it is, or told anew, and
//! read in passing. It is polled by whoever writes to the client: no task and no channel between.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use foxwedge_core::Wire;
use foxwedge_dialect::{
    digest,
    stream::{Collection, Converter, Ending, Limits, Options, Watcher, event::Head},
};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::{Inner, Work, prepare::Prepared};
use crate::{
    Asked, BodyError,
    body::Coming,
    http::{Incoming, PING},
    record::Ended,
    session::Stored,
};

/// Replies up to this size are kept for clients that ask again.
const KEPT: usize = 256 << 10;

pub(super) struct Relay {
    incoming: Incoming,
    way: Way,
    /// Taken when the reply has ended.
    work: Option<Work>,
    /// The client's format.
    to: Wire,
    /// The conversation up to the reply.
    before: u128,
    kept: Option<Vec<u8>>,
    headers: HeaderMap,
    /// The request, if it and its reply may be named later, and by whom.
    named_later: Option<(Arc<Inner>, Arc<str>, Bytes)>,
}

/// How the bytes get through.
enum Way {
    /// As they are.
    Same(Option<Box<Watcher>>),
    /// Told in another format.
    Other(Box<Converter>),
}

impl Relay {
    pub(super) fn new(
        engine: &Arc<Inner>,
        asked: &Asked,
        prepared: &Prepared,
        incoming: Incoming,
        work: Work,
        headers: &HeaderMap,
    ) -> Relay {
        let (from, to) = (prepared.wire, asked.face.wire());
        let limits = Limits { frame: engine.config.limits.event, held: engine.config.limits.reply };
        let way = if from == to {
            Way::Same(Some(Box::new(Watcher::new(from, limits))))
        } else {
            Way::Other(Box::new(Converter::watched(from, to, options(asked, prepared, limits))))
        };
        Relay {
            incoming,
            way,
            work: Some(work),
            to,
            before: prepared.chain.last().copied().unwrap_or_default(),
            kept: Some(Vec::new()),
            headers: headers.clone(),
            named_later: prepared
                .named_later
                .clone()
                .map(|body| (engine.clone(), asked.caller.owner.clone(), body)),
        }
    }

    /// Bytes of the upstream: what the client gets for them.
    fn take(&mut self, bytes: Bytes) -> Bytes {
        let Some(work) = &mut self.work else { return Bytes::new() };
        // Somebody is still at work: that is no part of the reply, and said in every format.
        if bytes == PING {
            return bytes;
        }
        let recording = &mut work.recording;
        let out = match &mut self.way {
            Way::Same(watcher) => {
                if let Some(watcher) = watcher {
                    watcher.push(&bytes, &mut |event| recording.see(event));
                }
                bytes
            }
            Way::Other(converter) => {
                let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 2);
                // Trouble is told to the client by the converter itself, and to us at the end.
                let _ = converter.push_seen(&bytes, &mut out, &mut |event| recording.see(event));
                out.into()
            }
        };
        self.keep(&out);
        out
    }

    /// The upstream has ended, well or not: what is left to say.
    fn finish(&mut self) -> Bytes {
        let Some(mut work) = self.work.take() else { return Bytes::new() };
        let recording = &mut work.recording;
        let mut out = Vec::new();
        let collection = match &mut self.way {
            Way::Same(watcher) => {
                let watched = watcher.take().map(|it| it.finish(&mut |event| recording.see(event)));
                watched.map(|watched| watched.collection)
            }
            Way::Other(converter) => {
                let _ = converter.finish_seen(&mut out, &mut |event| recording.see(event));
                converter.collection()
            }
        };
        let ending = collection.as_ref().map(|collection| &collection.ending);
        let ended = match ending {
            Some(Ending::Whole) => Ended::Replied,
            Some(Ending::Failed(_)) => Ended::Failed,
            Some(Ending::Cut) | None => Ended::Cut,
        };
        if ended == Ended::Cut {
            let id = collection.as_ref().and_then(|collection| collection.reply.id.as_deref());
            out = broken_off(self.to, self.events(), id.unwrap_or_default()).into_bytes();
        }
        self.keep(&out);
        self.settle(work, collection, ended);
        out.into()
    }

    fn settle(&mut self, mut work: Work, collection: Option<Collection>, ended: Ended) {
        if let Some(collection) = &collection {
            work.span.told(&collection.reply);
        }
        work.span.ended(ended);
        let tip = match (&collection, ended) {
            (Some(collection), Ended::Replied) if !collection.truncated => {
                let reply = &collection.reply;
                let tip = digest::reply(reply, self.before);
                self.remember();
                let body = self.kept.take().map(Bytes::from);
                let headers = std::mem::take(&mut self.headers);
                let stored = body.map(|body| Stored { status: StatusCode::OK, headers, body });
                Some(work.settle(tip, reply.id.as_deref(), stored))
            }
            (_, Ended::Replied | Ended::Failed | Ended::Cut) => None,
        };
        work.recording.ended(ended, tip);
    }

    /// A client may name what it heard instead of repeating it.
    fn remember(&self) {
        let (Some((engine, owner, asked)), Some(kept)) = (&self.named_later, &self.kept) else {
            return;
        };
        let last = String::from_utf8_lossy(kept);
        let last = last.rsplit("data: ").find(|data| data.contains("\"response.completed\""));
        let told = last.and_then(|data| serde_json::from_str::<Value>(data.trim()).ok());
        if let Some(told) = told {
            engine.recall.remember(owner, asked, &told["response"]);
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        match &mut self.kept {
            Some(kept) if kept.len() + bytes.len() <= KEPT => kept.extend_from_slice(bytes),
            kept => *kept = None,
        }
    }
}

impl Coming for Relay {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(work) = &mut self.work else { return Poll::Ready(None) };
            if Pin::new(&mut work.running.stop).poll(context).is_ready() {
                let out = self.stop();
                return Poll::Ready((!out.is_empty()).then_some(Ok(out)));
            }
            let out = match self.incoming.poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(bytes))) => self.take(bytes),
                Poll::Ready(Some(Err(_))) => self.finish(),
                Poll::Ready(None) => self.finish(),
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out)));
            }
        }
    }
}

impl Relay {
    /// Somebody stopped the run.
    fn stop(&mut self) -> Bytes {
        let Some(work) = self.work.take() else { return Bytes::new() };
        work.recording.stopped();
        broken_off(self.to, self.events(), "").into()
    }

    /// About how many events the client has heard.
    fn events(&self) -> usize {
        let ends = |kept: &Vec<u8>| kept.windows(2).filter(|pair| *pair == b"\n\n").count();
        self.kept.as_ref().map_or(KEPT, ends)
    }
}

fn options(asked: &Asked, prepared: &Prepared, limits: Limits) -> Options {
    Options {
        seed: asked.id.to_string(),
        usage: prepared.include_usage,
        limits,
        head: Head { created: Some(super::whole::now()), ..Head::default() },
        model: Some(prepared.asked_model.to_string()),
        names: prepared.guarded.names.clone(),
    }
}

/// How a stream says that it breaks off: a client must not take it for the end.
fn broken_off(wire: Wire, events: usize, id: &str) -> String {
    const WORDS: &str = "the upstream's reply broke off";
    let error =
        json!({ "message": WORDS, "type": "server_error", "param": null, "code": "upstream_cut" });
    match wire {
        Wire::OpenaiChat => format!("\n\ndata: {}\n\n", json!({ "error": error })),
        // Some clients look at the event, some for an object of that name, and some for the last
        // event of a response.
        Wire::OpenaiResponses => {
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
        Wire::Anthropic | Wire::Gemini | Wire::Bedrock => {
            let error = json!({ "type": "api_error", "message": WORDS });
            let event = json!({ "type": "error", "error": error });
            format!("\n\nevent: error\ndata: {event}\n\n")
        }
    }
}
