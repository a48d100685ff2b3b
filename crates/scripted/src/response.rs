//! The HTTP response of the scripted model: a status, headers, and chunks of a body, each with its
//! delay.

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

/// Bytes of a long line in one chunk.
const LINE_PIECE: usize = 64 << 10;
const ERROR_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\
                    <body><h1>502 Bad Gateway</h1></body></html>\n";

/// A response. The server sends the head, then each chunk after its delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers; always a content type.
    pub headers: Vec<(&'static str, String)>,
    /// The body in chunks: one for each event of a stream, or a single one.
    pub chunks: Vec<ScriptedChunk>,
    /// How the response ends.
    pub end: ResponseEnding,
}

/// A chunk of the body with its delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScriptedChunk {
    /// The delay before the chunk.
    pub delay: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// How a response ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ResponseEnding {
    /// Normally.
    Complete,
    /// The connection is closed early.
    Cut,
    /// No more data is sent, and the connection stays open.
    Hang,
}

impl ScriptedResponse {
    /// All bytes of the body.
    pub fn body(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// Responds to a request. The same request gives the same response.
pub fn respond(http_request: &ScriptedRequest<'_>) -> ScriptedResponse {
    match http_request.endpoint() {
        ScriptedEndpoint::Models => json_response(200, models(http_request.format)),
        ScriptedEndpoint::Unknown => {
            json_response(404, fault(first_provider(http_request.format), 404))
        }
        ScriptedEndpoint::Reply => respond_to(http_request, RequestPurpose::Reply),
        ScriptedEndpoint::Count => respond_to(http_request, RequestPurpose::Count),
    }
}

/// The provider of a format, if no model is known.
fn first_provider(format: Format) -> ScriptedProvider {
    ScriptedProvider::of(format, "").unwrap_or(ScriptedProvider::OpenaiChat)
}

fn respond_to(http_request: &ScriptedRequest<'_>, purpose: RequestPurpose) -> ScriptedResponse {
    let provider = first_provider(http_request.format);
    if http_request.format == Format::Bedrock {
        return json_response(404, fault(provider, 404));
    }
    let mut request = match parse(provider, http_request.body) {
        Ok(request) => request,
        Err(refusal) => return refusal_response(provider, refusal),
    };
    if let (Some(model), Some(fields)) = (http_request.model_in_path(), request.as_object_mut()) {
        fields.entry("model").or_insert_with(|| json!(decode_name(model)));
    }
    let name = text(&request, "model").unwrap_or_default().to_owned();
    let script = match ModelScript::read(&name, http_request) {
        Ok(script) => script,
        Err(fault_name) => return unknown_fault_response(provider, &fault_name),
    };
    let provider = ScriptedProvider::of(http_request.format, script.model).unwrap_or(provider);
    let mut response = build_response(http_request, &request, provider, &script, purpose);
    if let Some(first) = response.chunks.first_mut() {
        first.delay = script.faults.delay;
    } else if !script.faults.delay.is_zero() {
        response.chunks.push(ScriptedChunk { delay: script.faults.delay, bytes: Vec::new() });
    }
    response.headers.push(request_id(provider, http_request));
    response
}

/// A percent-decoded name from a path.
fn decode_name(name: &str) -> String {
    let table = [("%3F", "?"), ("%3f", "?"), ("%3D", "="), ("%3d", "="), ("%26", "&")];
    table.iter().fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
}

fn build_response(
    http_request: &ScriptedRequest<'_>,
    request: &Value,
    provider: ScriptedProvider,
    script: &ModelScript<'_>,
    purpose: RequestPurpose,
) -> ScriptedResponse {
    let faults = &script.faults;
    if let Some(status) = faults.status {
        let mut response = json_response(status, fault(provider, status));
        response.headers.extend(faults.retry_after.map(|wait| ("retry-after", wait.to_string())));
        return response;
    }
    if faults.html {
        return whole_response(200, "text/html; charset=utf-8", ERROR_PAGE.to_owned());
    }
    if faults.empty {
        return ScriptedResponse { chunks: Vec::new(), ..json_response(200, String::new()) };
    }
    if !faults.lenient
        && let Some(refusal) = judge(provider, request, http_request.body, purpose)
    {
        return refusal_response(provider, refusal);
    }
    if purpose == RequestPurpose::Count {
        let count = input_tokens(http_request.body);
        return json_response(
            200,
            match provider {
                ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions => {
                    json!({"totalTokens": count}).to_string()
                }
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
    let outline = RequestOutline::new(http_request, request);
    let reply = decide_reply(&outline, faults.refuse);
    let created =
        http_request.header("x-scripted-created").and_then(|time| time.trim().parse().ok());
    let context =
        ReplyContext { provider, model: script.model, request, body: http_request.body, created };
    if !outline.stream {
        return body_with_faults(json_response(200, encode_whole(&context, &reply)), faults);
    }
    let mut chunks = encode_frames(&context, &reply, &outline);
    let mut kind = "text/event-stream; charset=utf-8";
    if provider == ScriptedProvider::Gemini && !http_request.wants_events() {
        kind = "application/json; charset=utf-8";
        chunks = as_list(&chunks);
    }
    stream_with_faults(chunks, kind, faults)
}

/// Google's other form of a stream: a list, element by element.
fn as_list(frames: &[String]) -> Vec<String> {
    let datas = frames.iter().filter_map(|frame| frame.split_once("data: "));
    let mut chunks: Vec<String> = datas
        .enumerate()
        .map(|(index, (_, data))| {
            format!("{}{}", if index == 0 { "[" } else { ",\n" }, data.trim())
        })
        .collect();
    chunks.push("]".to_owned());
    chunks
}

fn stream_with_faults(
    frames: Vec<String>,
    kind: &'static str,
    faults: &ScriptedFaults,
) -> ScriptedResponse {
    let mut chunks: Vec<Vec<u8>> = frames.into_iter().map(String::into_bytes).collect();
    let middle = chunks.len() / 2;
    if faults.malformed {
        chunks.insert(middle, b"data: {\"broken\": [1, 2\nnonsense\n\n".to_vec());
    }
    if let Some(length) = faults.long_line {
        let mut line = vec![b"data: ".to_vec()];
        let mut left = length.saturating_sub(6);
        while left > 0 {
            let next = left.min(LINE_PIECE);
            line.push(vec![b'x'; next]);
            left -= next;
        }
        let rest = chunks.split_off(middle);
        chunks.extend(line);
        chunks.extend(rest);
    }
    let end = apply_cut(&mut chunks, faults);
    let paced = |bytes| ScriptedChunk { delay: faults.pace, bytes };
    let headers = vec![("content-type", kind.to_owned()), ("cache-control", "no-cache".to_owned())];
    ScriptedResponse { status: 200, headers, chunks: chunks.into_iter().map(paced).collect(), end }
}

/// Truncates the response after this many chunks.
fn apply_cut(chunks: &mut Vec<Vec<u8>>, faults: &ScriptedFaults) -> ResponseEnding {
    match (faults.cut, faults.hang) {
        (Some(limit), _) => {
            chunks.truncate(limit);
            ResponseEnding::Cut
        }
        (None, Some(limit)) => {
            chunks.truncate(limit);
            ResponseEnding::Hang
        }
        (None, None) => ResponseEnding::Complete,
    }
}

/// A body has no events: it is truncated in the middle, or before its first byte.
fn body_with_faults(response: ScriptedResponse, faults: &ScriptedFaults) -> ScriptedResponse {
    let mut body = response.body();
    if faults.malformed {
        body.truncate(body.len() / 2);
        body.extend_from_slice(b"\x00nonsense");
    }
    let end = match (faults.cut, faults.hang) {
        (Some(limit), _) => Some((limit, ResponseEnding::Cut)),
        (None, Some(limit)) => Some((limit, ResponseEnding::Hang)),
        (None, None) => None,
    };
    let end = end.map_or(ResponseEnding::Complete, |(limit, end)| {
        body.truncate(if limit == 0 { 0 } else { body.len() / 2 });
        end
    });
    let chunks = if body.is_empty() {
        Vec::new()
    } else {
        vec![ScriptedChunk { delay: Duration::ZERO, bytes: body }]
    };
    ScriptedResponse { chunks, end, ..response }
}

/// A refusal, with the provider whose rules it was judged by.
fn refusal_response(provider: ScriptedProvider, refusal: ProviderRefusal) -> ScriptedResponse {
    let mut response = json_response(refusal.status, refusal.body);
    response.headers.push(("x-scripted-refused", provider.name().to_owned()));
    response
}

fn unknown_fault_response(provider: ScriptedProvider, fault_name: &str) -> ScriptedResponse {
    let message = json!(format!("scripted: {fault_name}"));
    let body = match provider {
        ScriptedProvider::Anthropic => {
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        }
        ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions => {
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

fn request_id(
    provider: ScriptedProvider,
    http_request: &ScriptedRequest<'_>,
) -> (&'static str, String) {
    let id = StableHasher::new("request").with_field(http_request.body).letters(24);
    match provider {
        ScriptedProvider::Anthropic => ("request-id", format!("req_{id}")),
        ScriptedProvider::OpenaiChat
        | ScriptedProvider::OpenaiResponses
        | ScriptedProvider::Gemini
        | ScriptedProvider::GeminiInteractions
        | ScriptedProvider::Mistral
        | ScriptedProvider::Deepseek => ("x-request-id", format!("req_{id}")),
    }
}

fn json_response(status: u16, body: String) -> ScriptedResponse {
    whole_response(status, "application/json", body)
}

fn whole_response(status: u16, kind: &'static str, body: String) -> ScriptedResponse {
    let headers = vec![("content-type", kind.to_owned())];
    let chunks = vec![ScriptedChunk { delay: Duration::ZERO, bytes: body.into_bytes() }];
    ScriptedResponse { status, headers, chunks, end: ResponseEnding::Complete }
}
