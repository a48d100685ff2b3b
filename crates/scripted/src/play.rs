//! What the scripted model plays: a status, headers, and pieces of a body, each with its pause.

use std::time::Duration;

use foxwedge_core::Wire;
use serde_json::{Value, json};

use crate::{
    Ask, Endpoint, Provider,
    catalogue::models,
    faults::{Faults, Script},
    model::speak,
    refuse::{Purpose, Refusal, fault, judge, parse},
    reply::{Asked, frames, input_tokens, whole},
    request::Seen,
    seal::Seal,
    tree::text,
};

/// Bytes of a long line in one piece.
const LINE_PIECE: usize = 64 << 10;
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\
                    <body><h1>502 Bad Gateway</h1></body></html>\n";

/// A response, as a score: whoever performs it sends the head, then each piece after its pause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Play {
    /// The HTTP status.
    pub status: u16,
    /// The headers; always a content type.
    pub headers: Vec<(&'static str, String)>,
    /// The body, piece by piece: one event of a stream each, or all of it.
    pub pieces: Vec<Piece>,
    /// How it ends.
    pub end: End,
}

/// Wait, then these bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// How long to wait before.
    pub after: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// How a response ends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum End {
    /// As it should.
    Whole,
    /// The connection breaks.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Hang,
}

impl Play {
    /// All bytes, one piece behind the other.
    pub fn body(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|piece| piece.bytes.iter().copied()).collect()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

/// Plays the model. The same ask gives the same play.
pub fn play(ask: &Ask<'_>) -> Play {
    match ask.endpoint() {
        Endpoint::Models => json_body(200, models(ask.wire)),
        Endpoint::Unknown => json_body(404, fault(first_provider(ask.wire), 404)),
        Endpoint::Reply => answer(ask, Purpose::Reply),
        Endpoint::Count => answer(ask, Purpose::Count),
    }
}

/// The provider of a format, when no model is known.
fn first_provider(wire: Wire) -> Provider {
    Provider::of(wire, "").unwrap_or(Provider::OpenaiChat)
}

fn answer(ask: &Ask<'_>, purpose: Purpose) -> Play {
    let provider = first_provider(ask.wire);
    if ask.wire == Wire::Bedrock {
        return json_body(404, fault(provider, 404));
    }
    let mut request = match parse(provider, ask.body) {
        Ok(request) => request,
        Err(refusal) => return refused(provider, refusal),
    };
    if let (Some(model), Some(fields)) = (ask.model_in_path(), request.as_object_mut()) {
        fields.entry("model").or_insert_with(|| json!(decoded(model)));
    }
    let name = text(&request, "model").unwrap_or_default().to_owned();
    let script = match Script::read(&name, ask) {
        Ok(script) => script,
        Err(trouble) => return unknown_fault(provider, &trouble),
    };
    let provider = Provider::of(ask.wire, script.model).unwrap_or(provider);
    let mut play = perform(ask, &request, provider, &script, purpose);
    if let Some(first) = play.pieces.first_mut() {
        first.after = script.faults.delay;
    } else if !script.faults.delay.is_zero() {
        play.pieces.push(Piece { after: script.faults.delay, bytes: Vec::new() });
    }
    play.headers.push(request_id(provider, ask));
    play
}

/// A name in a path, with its `%3F` and `%3D`.
fn decoded(name: &str) -> String {
    let table = [("%3F", "?"), ("%3f", "?"), ("%3D", "="), ("%3d", "="), ("%26", "&")];
    table.iter().fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
}

fn perform(
    ask: &Ask<'_>,
    request: &Value,
    provider: Provider,
    script: &Script<'_>,
    purpose: Purpose,
) -> Play {
    let faults = &script.faults;
    if let Some(status) = faults.status {
        let mut play = json_body(status, fault(provider, status));
        play.headers.extend(faults.retry_after.map(|wait| ("retry-after", wait.to_string())));
        return play;
    }
    if faults.html {
        return whole_body(200, "text/html; charset=utf-8", PAGE.to_owned());
    }
    if faults.empty {
        return Play { pieces: Vec::new(), ..json_body(200, String::new()) };
    }
    if !faults.lenient
        && let Some(refusal) = judge(provider, request, ask.body, purpose)
    {
        return refused(provider, refusal);
    }
    if purpose == Purpose::Count {
        let count = input_tokens(ask.body);
        return json_body(
            200,
            match provider {
                Provider::Gemini => json!({"totalTokens": count}).to_string(),
                Provider::OpenaiResponses => {
                    json!({"object": "response.input_tokens", "input_tokens": count}).to_string()
                }
                Provider::Anthropic
                | Provider::OpenaiChat
                | Provider::Mistral
                | Provider::Deepseek => json!({"input_tokens": count}).to_string(),
            },
        );
    }
    let seen = Seen::new(ask, request);
    let speech = speak(&seen, faults.refuse);
    let created = ask.header("x-scripted-created").and_then(|time| time.trim().parse().ok());
    let asked = Asked { provider, model: script.model, request, body: ask.body, created };
    if !seen.stream {
        return spoil_whole(json_body(200, whole(&asked, &speech)), faults);
    }
    let mut pieces = frames(&asked, &speech, &seen);
    let mut kind = "text/event-stream; charset=utf-8";
    if provider == Provider::Gemini && !ask.wants_events() {
        kind = "application/json; charset=utf-8";
        pieces = as_list(&pieces);
    }
    spoil_stream(pieces, kind, faults)
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

fn spoil_stream(frames: Vec<String>, kind: &'static str, faults: &Faults) -> Play {
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
    let end = cut(&mut pieces, faults);
    let paced = |bytes| Piece { after: faults.pace, bytes };
    let headers = vec![("content-type", kind.to_owned()), ("cache-control", "no-cache".to_owned())];
    Play { status: 200, headers, pieces: pieces.into_iter().map(paced).collect(), end }
}

/// Breaks off after so many pieces.
fn cut(pieces: &mut Vec<Vec<u8>>, faults: &Faults) -> End {
    match (faults.cut, faults.hang) {
        (Some(most), _) => {
            pieces.truncate(most);
            End::Cut
        }
        (None, Some(most)) => {
            pieces.truncate(most);
            End::Hang
        }
        (None, None) => End::Whole,
    }
}

/// A whole body has no events: it breaks off in the middle, or before its first byte.
fn spoil_whole(play: Play, faults: &Faults) -> Play {
    let mut body = play.body();
    if faults.malformed {
        body.truncate(body.len() / 2);
        body.extend_from_slice(b"\x00nonsense");
    }
    let end = match (faults.cut, faults.hang) {
        (Some(most), _) => Some((most, End::Cut)),
        (None, Some(most)) => Some((most, End::Hang)),
        (None, None) => None,
    };
    let end = end.map_or(End::Whole, |(most, end)| {
        body.truncate(if most == 0 { 0 } else { body.len() / 2 });
        end
    });
    let pieces = if body.is_empty() {
        Vec::new()
    } else {
        vec![Piece { after: Duration::ZERO, bytes: body }]
    };
    Play { pieces, end, ..play }
}

/// A refusal, and whose rules it was judged by.
fn refused(provider: Provider, refusal: Refusal) -> Play {
    let mut play = json_body(refusal.status, refusal.body);
    play.headers.push(("x-scripted-refused", provider.name().to_owned()));
    play
}

fn unknown_fault(provider: Provider, trouble: &str) -> Play {
    let message = json!(format!("scripted: {trouble}"));
    let body = match provider {
        Provider::Anthropic => {
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        }
        Provider::Gemini => {
            json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
        }
        Provider::OpenaiChat
        | Provider::OpenaiResponses
        | Provider::Mistral
        | Provider::Deepseek => json!({"error": {
            "message": message, "type": "invalid_request_error", "param": "model", "code": null
        }}),
    };
    json_body(400, body.to_string())
}

fn request_id(provider: Provider, ask: &Ask<'_>) -> (&'static str, String) {
    let id = Seal::new("request").with(ask.body).letters(24);
    match provider {
        Provider::Anthropic => ("request-id", format!("req_{id}")),
        Provider::OpenaiChat
        | Provider::OpenaiResponses
        | Provider::Gemini
        | Provider::Mistral
        | Provider::Deepseek => ("x-request-id", format!("req_{id}")),
    }
}

fn json_body(status: u16, body: String) -> Play {
    whole_body(status, "application/json", body)
}

fn whole_body(status: u16, kind: &'static str, body: String) -> Play {
    let headers = vec![("content-type", kind.to_owned())];
    let pieces = vec![Piece { after: Duration::ZERO, bytes: body.into_bytes() }];
    Play { status, headers, pieces, end: End::Whole }
}
