//! What the scripted model plays: a status, headers, and pieces of a body, each with its pause.

use std::time::Duration;

use foxwedge_core::Format;
use serde_json::{Value, json};

use crate::{
    ScriptedEndpoint, ScriptedProvider, ScriptedRequest,
    faults::{ModelScript, ScriptedFaults},
    json_fields::text,
    judges::{ProviderRefusal, RequestPurpose, fault, judge, parse},
    model::decide_reply,
    model_list::models,
    reply::{ReplyContext, encode_frames, encode_whole, input_tokens},
    request::RequestOutline,
    stable_hasher::StableHasher,
};

/// Bytes of a long line in one piece.
const LINE_PIECE: usize = 64 << 10;
const ERROR_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\
                    <body><h1>502 Bad Gateway</h1></body></html>\n";

/// A response, as a score: whoever performs it sends the head, then each piece after its pause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers; always a content type.
    pub headers: Vec<(&'static str, String)>,
    /// The body, piece by piece: one event of a stream each, or all of it.
    pub chunks: Vec<ScriptedChunk>,
    /// How it ends.
    pub end: ResponseEnding,
}

/// Wait, then these bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptedChunk {
    /// How long to wait before.
    pub delay: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// How a response ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResponseEnding {
    /// As it should.
    Complete,
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Hang,
}

impl ScriptedResponse {
    /// All bytes, one piece behind the other.
    pub fn body(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|piece| piece.bytes.iter().copied()).collect()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// Plays the model. The same ask gives the same play.
pub fn respond(ask: &ScriptedRequest<'_>) -> ScriptedResponse {
    match ask.endpoint() {
        ScriptedEndpoint::Models => json_response(200, models(ask.format)),
        ScriptedEndpoint::Unknown => json_response(404, fault(first_provider(ask.format), 404)),
        ScriptedEndpoint::Reply => respond_to(ask, RequestPurpose::Reply),
        ScriptedEndpoint::Count => respond_to(ask, RequestPurpose::Count),
    }
}

/// The provider of a format, when no model is known.
fn first_provider(wire: Format) -> ScriptedProvider {
    ScriptedProvider::of(wire, "").unwrap_or(ScriptedProvider::OpenaiChat)
}

fn respond_to(ask: &ScriptedRequest<'_>, purpose: RequestPurpose) -> ScriptedResponse {
    let provider = first_provider(ask.format);
    if ask.format == Format::Bedrock {
        return json_response(404, fault(provider, 404));
    }
    let mut request = match parse(provider, ask.body) {
        Ok(request) => request,
        Err(refusal) => return refusal_response(provider, refusal),
    };
    if let (Some(model), Some(fields)) = (ask.model_in_path(), request.as_object_mut()) {
        fields.entry("model").or_insert_with(|| json!(decode_name(model)));
    }
    let name = text(&request, "model").unwrap_or_default().to_owned();
    let script = match ModelScript::read(&name, ask) {
        Ok(script) => script,
        Err(trouble) => return unknown_fault_response(provider, &trouble),
    };
    let provider = ScriptedProvider::of(ask.format, script.model).unwrap_or(provider);
    let mut play = build_response(ask, &request, provider, &script, purpose);
    if let Some(first) = play.chunks.first_mut() {
        first.delay = script.faults.delay;
    } else if !script.faults.delay.is_zero() {
        play.chunks.push(ScriptedChunk { delay: script.faults.delay, bytes: Vec::new() });
    }
    play.headers.push(request_id(provider, ask));
    play
}

/// A name in a path, with its `%3F` and `%3D`.
fn decode_name(name: &str) -> String {
    let table = [("%3F", "?"), ("%3f", "?"), ("%3D", "="), ("%3d", "="), ("%26", "&")];
    table.iter().fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
}

fn build_response(
    ask: &ScriptedRequest<'_>,
    request: &Value,
    provider: ScriptedProvider,
    script: &ModelScript<'_>,
    purpose: RequestPurpose,
) -> ScriptedResponse {
    let faults = &script.faults;
    if let Some(status) = faults.status {
        let mut play = json_response(status, fault(provider, status));
        play.headers.extend(faults.retry_after.map(|wait| ("retry-after", wait.to_string())));
        return play;
    }
    if faults.html {
        return whole_response(200, "text/html; charset=utf-8", ERROR_PAGE.to_owned());
    }
    if faults.empty {
        return ScriptedResponse { chunks: Vec::new(), ..json_response(200, String::new()) };
    }
    if !faults.lenient
        && let Some(refusal) = judge(provider, request, ask.body, purpose)
    {
        return refusal_response(provider, refusal);
    }
    if purpose == RequestPurpose::Count {
        let count = input_tokens(ask.body);
        return json_response(
            200,
            match provider {
                ScriptedProvider::Gemini => json!({"totalTokens": count}).to_string(),
                ScriptedProvider::OpenaiResponses => {
                    json!({"object": "response.input_tokens", "input_tokens": count}).to_string()
                }
                ScriptedProvider::Anthropic
                | ScriptedProvider::OpenaiChat
                | ScriptedProvider::Mistral
                | ScriptedProvider::Deepseek => json!({"input_tokens": count}).to_string(),
            },
        );
    }
    let seen = RequestOutline::new(ask, request);
    let speech = decide_reply(&seen, faults.refuse);
    let created = ask.header("x-scripted-created").and_then(|time| time.trim().parse().ok());
    let asked = ReplyContext { provider, model: script.model, request, body: ask.body, created };
    if !seen.stream {
        return body_with_faults(json_response(200, encode_whole(&asked, &speech)), faults);
    }
    let mut pieces = encode_frames(&asked, &speech, &seen);
    let mut kind = "text/event-stream; charset=utf-8";
    if provider == ScriptedProvider::Gemini && !ask.wants_events() {
        kind = "application/json; charset=utf-8";
        pieces = as_list(&pieces);
    }
    stream_with_faults(pieces, kind, faults)
}

/// Google's other form of a stream: a list, element by element.
fn as_list(frames: &[String]) -> Vec<String> {
    let datas = frames.iter().filter_map(|frame| frame.split_once("data: "));
    let mut pieces: Vec<String> = datas
        .enumerate()
        .map(|(index, (_, data))| {
            format!("{}{}", if index == 0 { "[" } else { ",\n" }, data.trim())
        })
        .collect();
    pieces.push("]".to_owned());
    pieces
}

fn stream_with_faults(
    frames: Vec<String>,
    kind: &'static str,
    faults: &ScriptedFaults,
) -> ScriptedResponse {
    let mut pieces: Vec<Vec<u8>> = frames.into_iter().map(String::into_bytes).collect();
    let middle = pieces.len() / 2;
    if faults.malformed {
        pieces.insert(middle, b"data: {\"broken\": [1, 2\nnonsense\n\n".to_vec());
    }
    if let Some(length) = faults.long_line {
        let mut line = vec![b"data: ".to_vec()];
        let mut left = length.saturating_sub(6);
        while left > 0 {
            let next = left.min(LINE_PIECE);
            line.push(vec![b'x'; next]);
            left -= next;
        }
        let rest = pieces.split_off(middle);
        pieces.extend(line);
        pieces.extend(rest);
    }
    let end = apply_cut(&mut pieces, faults);
    let paced = |bytes| ScriptedChunk { delay: faults.pace, bytes };
    let headers = vec![("content-type", kind.to_owned()), ("cache-control", "no-cache".to_owned())];
    ScriptedResponse { status: 200, headers, chunks: pieces.into_iter().map(paced).collect(), end }
}

/// Breaks off after so many pieces.
fn apply_cut(pieces: &mut Vec<Vec<u8>>, faults: &ScriptedFaults) -> ResponseEnding {
    match (faults.cut, faults.hang) {
        (Some(most), _) => {
            pieces.truncate(most);
            ResponseEnding::Cut
        }
        (None, Some(most)) => {
            pieces.truncate(most);
            ResponseEnding::Hang
        }
        (None, None) => ResponseEnding::Complete,
    }
}

/// A whole body has no events: it breaks off in the middle, or before its first byte.
fn body_with_faults(play: ScriptedResponse, faults: &ScriptedFaults) -> ScriptedResponse {
    let mut body = play.body();
    if faults.malformed {
        body.truncate(body.len() / 2);
        body.extend_from_slice(b"\x00nonsense");
    }
    let end = match (faults.cut, faults.hang) {
        (Some(most), _) => Some((most, ResponseEnding::Cut)),
        (None, Some(most)) => Some((most, ResponseEnding::Hang)),
        (None, None) => None,
    };
    let end = end.map_or(ResponseEnding::Complete, |(most, end)| {
        body.truncate(if most == 0 { 0 } else { body.len() / 2 });
        end
    });
    let pieces = if body.is_empty() {
        Vec::new()
    } else {
        vec![ScriptedChunk { delay: Duration::ZERO, bytes: body }]
    };
    ScriptedResponse { chunks: pieces, end, ..play }
}

/// A refusal, and whose rules it was judged by.
fn refusal_response(provider: ScriptedProvider, refusal: ProviderRefusal) -> ScriptedResponse {
    let mut play = json_response(refusal.status, refusal.body);
    play.headers.push(("x-scripted-refused", provider.name().to_owned()));
    play
}

fn unknown_fault_response(provider: ScriptedProvider, trouble: &str) -> ScriptedResponse {
    let message = json!(format!("scripted: {trouble}"));
    let body = match provider {
        ScriptedProvider::Anthropic => {
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        }
        ScriptedProvider::Gemini => {
            json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
        }
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::OpenaiResponses
        | ScriptedProvider::Mistral
        | ScriptedProvider::Deepseek => json!({"error": {
            "message": message, "type": "invalid_request_error", "param": "model", "code": null
        }}),
    };
    json_response(400, body.to_string())
}

fn request_id(provider: ScriptedProvider, ask: &ScriptedRequest<'_>) -> (&'static str, String) {
    let id = StableHasher::new("request").with_field(ask.body).letters(24);
    match provider {
        ScriptedProvider::Anthropic => ("request-id", format!("req_{id}")),
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::OpenaiResponses
        | ScriptedProvider::Gemini
        | ScriptedProvider::Mistral
        | ScriptedProvider::Deepseek => ("x-request-id", format!("req_{id}")),
    }
}

fn json_response(status: u16, body: String) -> ScriptedResponse {
    whole_response(status, "application/json", body)
}

fn whole_response(status: u16, kind: &'static str, body: String) -> ScriptedResponse {
    let headers = vec![("content-type", kind.to_owned())];
    let pieces = vec![ScriptedChunk { delay: Duration::ZERO, bytes: body.into_bytes() }];
    ScriptedResponse { status, headers, chunks: pieces, end: ResponseEnding::Complete }
}
