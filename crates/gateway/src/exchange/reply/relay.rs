//! Relays a streamed reply to the client: forwards or converts it, and records it on the way. The
//! writer of the client connection polls it directly, without a task or a channel in between.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use bytes::Bytes;
use foxwedge_agents::PING;
use foxwedge_core::Format;
use foxwedge_formats::{
    digest,
    stream::{
        CollectedEnding, CollectedReply, StreamConverter, StreamLimitSettings, StreamLimits,
        StreamOptions, StreamWatcher,
        event::{ReplyHead, StreamEvent},
    },
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use super::{stream_repair::StreamRepair, unix_seconds, whole_frames::WholeFrames};
use crate::{
    ApiErrorKind, BodyError, GatewayRequest,
    api_error::google_status,
    body::BodyStream,
    exchange::{
        EngineShared, ReplyInFlight, final_response::FinalResponseReader, prepare::RoutedRequest,
    },
    metrics::Metrics,
    record::ReplyCompletion,
    session::{CachedReply, list_headers},
};
use foxwedge_upstream::http::IncomingBody;

/// Replies up to this size are cached for retries.
const MAX_CACHED_BYTES: usize = 256 << 10;

pub(super) struct ResponseRelay {
    incoming: IncomingBody,
    /// Repairs calls, if the route wants that.
    repair: Option<Box<StreamRepair>>,
    metrics: Metrics,
    mode: RelayMode,
    /// Taken when the reply has ended.
    in_flight: Option<ReplyInFlight>,
    /// The client's format.
    to: Format,
    /// The name of the upstream, if it may store the response.
    response_upstream: Option<Arc<str>>,
    /// Reads the items that later requests may refer to.
    final_response: Option<FinalResponseReader>,
    /// The digest of the conversation before the reply.
    prefix_digest: u128,
    sent: Option<Vec<u8>>,
    headers: Box<[(HeaderName, HeaderValue)]>,
    /// The id of the reply, as the client has it.
    reply_id: Option<String>,
    /// Whether the bytes that were passed on end with a line, as events do.
    ends_line: bool,
    /// The error code for the log.
    error_code: Arc<OnceLock<&'static str>>,
}

/// How the bytes are relayed.
enum RelayMode {
    /// Unchanged.
    Forward { watcher: Option<Box<StreamWatcher>>, frames: WholeFrames },
    /// Converted to another format.
    Convert(Box<StreamConverter>),
}

/// How the body of the upstream's reply ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    /// As HTTP ends it.
    Clean,
    /// With an error of the transport.
    Broken,
}

impl ResponseRelay {
    pub(super) fn new(
        engine: &Arc<EngineShared>,
        request: &GatewayRequest,
        prepared: &RoutedRequest,
        incoming: IncomingBody,
        work: ReplyInFlight,
        headers: &HeaderMap,
        error_code: Arc<OnceLock<&'static str>>,
    ) -> ResponseRelay {
        let (from, to) = (prepared.format, request.endpoint.format());
        let limits = engine.config().limits;
        let limits = StreamLimits { frame: limits.stream_event, held: limits.whole_reply };
        let mode = if from == to {
            RelayMode::Forward {
                watcher: Some(Box::new(StreamWatcher::new(from, limits))),
                frames: WholeFrames::default(),
            }
        } else {
            RelayMode::Convert(Box::new(StreamConverter::with_collection(
                from,
                to,
                converter_options(request, prepared, limits),
            )))
        };
        let is_response = from == to && to == Format::OpenaiResponses;
        let final_response = (is_response && work.referable_body.is_some())
            .then(|| FinalResponseReader::new(limits.frame));
        let repair = prepared.route.guard.repair_streams;
        let repair = repair.then(|| StreamRepair::new(from, &request.id, limits.frame)).flatten();
        ResponseRelay {
            incoming,
            repair: repair.map(Box::new),
            metrics: engine.metrics.clone(),
            mode,
            in_flight: Some(work),
            to,
            response_upstream: is_response.then(|| prepared.route.upstream.name.clone()),
            final_response,
            prefix_digest: prepared.chain.last().copied().unwrap_or_default(),
            sent: Some(Vec::new()),
            headers: list_headers(headers),
            reply_id: None,
            ends_line: false,
            error_code,
        }
    }

    /// Takes bytes from the upstream and returns the bytes for the client.
    fn relay_bytes(&mut self, bytes: Bytes) -> Bytes {
        // A keep-alive is not part of the reply, and is the same in every format.
        if bytes == PING {
            return bytes;
        }
        let Some(repair) = &mut self.repair else { return self.pass_on(bytes) };
        let mut repaired = Vec::with_capacity(bytes.len());
        repair.push(&bytes, &mut repaired);
        self.pass_on(repaired.into())
    }

    /// Takes what a repair held back at the end of the stream.
    fn flush_repair(&mut self) -> Bytes {
        let Some(mut repair) = self.repair.take() else { return Bytes::new() };
        let mut rest = Vec::new();
        repair.finish(&mut rest);
        self.metrics.count_repaired_calls(repair.repairs());
        self.pass_on(rest.into())
    }

    fn pass_on(&mut self, bytes: Bytes) -> Bytes {
        let Some(work) = &mut self.in_flight else { return Bytes::new() };
        let recording = &mut work.recording;
        let out = match &mut self.mode {
            RelayMode::Forward { watcher, frames } => {
                let mut response_id = None;
                if let Some(watcher) = watcher {
                    watcher.push(&bytes, &mut |event| {
                        if let StreamEvent::Start(head) = event {
                            response_id = head.id.as_ref().map(|id| id.to_string());
                        }
                        recording.record_event(event);
                    });
                }
                if let Some(id) = response_id {
                    if let Some(upstream) = &self.response_upstream {
                        work.remember_creator(&id, upstream);
                    }
                    self.reply_id = Some(id);
                }
                if let Some(reader) = &mut self.final_response {
                    reader.push(&bytes);
                }
                self.ends_line = bytes.last().map_or(self.ends_line, |last| *last == b'\n');
                frames.push(bytes)
            }
            RelayMode::Convert(converter) => {
                let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 2);
                let reply_id = &mut self.reply_id;
                // The converter writes errors into the client's stream itself; the recording gets
                // them at the end.
                let _ = converter.push_observed(&bytes, &mut out, &mut |event| {
                    if let StreamEvent::Start(head) = event {
                        *reply_id = head.id.as_ref().map(|id| id.to_string());
                    }
                    recording.record_event(event);
                });
                out.into()
            }
        };
        self.keep_sent(&out);
        out
    }

    fn end(&mut self, body_end: BodyEnd) -> Bytes {
        let rest = self.flush_repair();
        let end = self.finish(body_end);
        if rest.is_empty() { end } else { [rest, end].concat().into() }
    }

    /// Handles the end of the upstream's reply, successful or not. Returns the remaining bytes.
    fn finish(&mut self, body_end: BodyEnd) -> Bytes {
        let Some(mut work) = self.in_flight.take() else { return Bytes::new() };
        let recording = &mut work.recording;
        let mut out = Vec::new();
        let mut is_unread = false;
        let collection = match &mut self.mode {
            RelayMode::Forward { watcher, .. } => {
                let observed =
                    watcher.take().map(|it| it.finish(&mut |event| recording.record_event(event)));
                observed.map(|observed| {
                    // The watcher stopped at an event, but the client got all of them.
                    is_unread =
                        observed.error.is_some() && body_end == BodyEnd::Clean && self.ends_line;
                    observed.collection
                })
            }
            RelayMode::Convert(converter) => {
                let _ =
                    converter.finish_observed(&mut out, &mut |event| recording.record_event(event));
                converter.take_collection()
            }
        };
        let ending = collection.as_ref().map(|collection| &collection.ending);
        let completion = match ending {
            Some(CollectedEnding::Complete) => ReplyCompletion::Complete,
            Some(CollectedEnding::Failed(_)) => ReplyCompletion::Failed,
            Some(CollectedEnding::Truncated) if is_unread => ReplyCompletion::Unread,
            Some(CollectedEnding::Truncated) | None => ReplyCompletion::Cut,
        };
        match completion {
            ReplyCompletion::Failed => drop(self.error_code.set("upstream")),
            ReplyCompletion::Unread => drop(self.error_code.set("upstream_unreadable")),
            ReplyCompletion::Complete | ReplyCompletion::Cut => {}
        }
        if completion == ReplyCompletion::Cut {
            let _ = self.error_code.set(StreamCut::Upstream.code());
            let id = collection.as_ref().and_then(|collection| collection.reply.id.as_deref());
            let number = self.next_event_number();
            let end = StreamCut::Upstream;
            let events = end.events(self.to, number, id.unwrap_or_default());
            // In place of the end that a converter writes: these events are for every client.
            out = self.unfinished_frame(true).into();
            out.extend(events.into_bytes());
        } else {
            out.extend(self.unfinished_frame(false));
        }
        self.keep_sent(&out);
        self.commit_reply(work, collection, completion);
        out.into()
    }

    /// What was held back of a frame that has not ended.
    fn unfinished_frame(&mut self, is_cut: bool) -> Bytes {
        match &mut self.mode {
            RelayMode::Forward { frames, .. } => frames.finish(is_cut),
            RelayMode::Convert(_) => Bytes::new(),
        }
    }

    fn commit_reply(
        &mut self,
        mut work: ReplyInFlight,
        collection: Option<CollectedReply>,
        completion: ReplyCompletion,
    ) {
        if let Some(collection) = &collection {
            work.span.set_reply(&collection.reply);
        }
        work.span.set_completion(completion);
        let tip = match (&collection, completion) {
            (Some(collection), ReplyCompletion::Complete) if !collection.truncated => {
                let reply = &collection.reply;
                let tip = digest::reply(reply, self.prefix_digest);
                let reader = self.final_response.take();
                work.remember_reply(
                    reply,
                    || reader.and_then(FinalResponseReader::finish),
                    self.response_upstream.as_ref(),
                );
                work.note_calls(reply);
                let body = self.sent.take().map(|sent| Bytes::from(sent.into_boxed_slice()));
                let headers = std::mem::take(&mut self.headers);
                let cached = body.map(|body| CachedReply { status: StatusCode::OK, headers, body });
                Some(work.commit_reply(tip, reply.id.as_deref(), cached))
            }
            (
                _,
                ReplyCompletion::Complete
                | ReplyCompletion::Failed
                | ReplyCompletion::Cut
                | ReplyCompletion::Unread,
            ) => None,
        };
        work.recording.finish(completion, tip);
    }

    fn keep_sent(&mut self, bytes: &[u8]) {
        match &mut self.sent {
            Some(sent) if sent.len() + bytes.len() <= MAX_CACHED_BYTES => {
                sent.extend_from_slice(bytes)
            }
            sent => *sent = None,
        }
    }
}

impl BodyStream for ResponseRelay {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let Some(work) = &mut self.in_flight else { return Poll::Ready(None) };
            if let Poll::Ready(stopped) = Pin::new(&mut work.stop_guard.stop).poll(context) {
                let out = self.stop(match stopped {
                    Ok(()) => StreamCut::Stopped,
                    Err(_) => StreamCut::Shutdown,
                });
                return Poll::Ready((!out.is_empty()).then_some(Ok(out)));
            }
            let out = match self.incoming.poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(bytes))) => self.relay_bytes(bytes),
                Poll::Ready(Some(Err(_))) => self.end(BodyEnd::Broken),
                Poll::Ready(None) => self.end(BodyEnd::Clean),
            };
            if !out.is_empty() {
                return Poll::Ready(Some(Ok(out)));
            }
        }
    }
}

impl ResponseRelay {
    /// Handles a stop of the run from outside.
    fn stop(&mut self, cut: StreamCut) -> Bytes {
        let Some(work) = self.in_flight.take() else { return Bytes::new() };
        work.recording.stop();
        if cut == StreamCut::Shutdown {
            let _ = self.error_code.set(cut.code());
        }
        let id = self.reply_id.as_deref().unwrap_or_default();
        cut.events(self.to, self.next_event_number(), id).into()
    }

    /// A number that is higher than those of all events that the client has received.
    fn next_event_number(&self) -> usize {
        const KEY: &[u8] = b"\"sequence_number\":";
        let Some(sent) = &self.sent else { return MAX_CACHED_BYTES };
        let events = memchr::memmem::find_iter(sent, b"\n\n").count();
        let last = memchr::memmem::rfind(sent, KEY).and_then(|at| {
            let digits = sent.get(at + KEY.len()..)?.trim_ascii_start();
            let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
            std::str::from_utf8(digits.get(..end)?).ok()?.parse::<usize>().ok()
        });
        last.map_or(events, |last| events.max(last.saturating_add(1)))
    }
}

fn converter_options(
    request: &GatewayRequest,
    prepared: &RoutedRequest,
    limits: StreamLimits,
) -> StreamOptions {
    StreamOptions {
        seed: request.id.to_string(),
        usage: prepared.include_usage,
        limits,
        limit_settings: Some(StreamLimitSettings {
            frame: "limits.stream_event",
            held: "limits.whole_reply",
        }),
        head: ReplyHead { created: Some(unix_seconds()), ..ReplyHead::default() },
        model: Some(prepared.requested_model.to_string()),
        reply_id: prepared.reply_id.as_deref().map(str::to_owned),
        renamed_tools: prepared.guarded.names.clone(),
        free_text_tools: prepared.guarded.free_text_tools.clone(),
    }
}

/// Why a stream ends before its reply is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamCut {
    /// The upstream broke off.
    Upstream,
    /// The run was stopped.
    Stopped,
    /// The gateway shuts down.
    Shutdown,
}

impl StreamCut {
    fn message(self) -> &'static str {
        match self {
            StreamCut::Upstream => "the upstream's reply was interrupted",
            StreamCut::Stopped => "the run was stopped",
            StreamCut::Shutdown => "the gateway is shutting down",
        }
    }

    fn code(self) -> &'static str {
        match self {
            StreamCut::Upstream => "upstream_cut",
            StreamCut::Stopped => "run_stopped",
            StreamCut::Shutdown => "shutting_down",
        }
    }

    /// The error kind that the formats write.
    fn kind(self) -> ApiErrorKind {
        match self {
            StreamCut::Upstream => ApiErrorKind::Upstream,
            StreamCut::Stopped => ApiErrorKind::Conflict,
            StreamCut::Shutdown => ApiErrorKind::Unavailable,
        }
    }

    /// The events for the client. `number` is the first free number of an event.
    fn events(self, format: Format, number: usize, id: &str) -> String {
        let (message, code, kind) = (self.message(), self.code(), self.kind());
        let openai_type = kind.openai_type();
        let error = json!({ "message": message, "type": openai_type, "param": null, "code": code });
        match format {
            Format::OpenaiChat => format!("\n\ndata: {}\n\n", json!({ "error": error })),
            // Some clients read the event type, some an `error` object, and some the last event of
            // a response.
            Format::OpenaiResponses => {
                let first = json!({
                    "type": "error", "sequence_number": number, "code": code,
                    "message": message, "param": null, "error": error,
                });
                let code = match self {
                    StreamCut::Upstream | StreamCut::Shutdown => "server_error",
                    StreamCut::Stopped => code,
                };
                let last = json!({
                    "type": "response.failed", "sequence_number": number + 1,
                    "response": {
                        "id": id, "object": "response", "status": "failed", "output": [],
                        "error": { "code": code, "message": message },
                    },
                });
                format!(
                    "\n\nevent: error\ndata: {first}\n\nevent: response.failed\ndata: {last}\n\n"
                )
            }
            Format::GeminiInteractions => {
                let error = json!({ "message": message, "code": code });
                let event = json!({ "event_type": "error", "error": error });
                format!("\n\nevent: error\ndata: {event}\n\n")
            }
            Format::Gemini => {
                let (status, name) = (kind.status(), google_status(kind.status()));
                let error = json!({ "code": status.as_u16(), "message": message, "status": name });
                format!("\n\ndata: {}\n\n", json!({ "error": error }))
            }
            Format::Anthropic | Format::Bedrock => {
                let error = json!({ "type": kind.anthropic_type(), "message": message });
                let event = json!({ "type": "error", "error": error });
                format!("\n\nevent: error\ndata: {event}\n\n")
            }
        }
    }
}
