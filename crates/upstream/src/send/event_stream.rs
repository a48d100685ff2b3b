//! Recognizes event streams whose content type does not say what they are.

use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{UpstreamRequest, headers::is_stream};
use crate::http::IncomingBody;
use foxwedge_core::Format;

/// How many bytes are read until it is clear what a reply is. Some servers send empty lines first.
const MAX_START: usize = 4 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How the lines of an event stream begin.
const LINE_STARTS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// Gives a reply the content type of event streams, if a stream was requested and its first bytes
/// are those of one. Returns its body, with all of its bytes still to be read.
pub(super) async fn recognize_stream(
    sending: UpstreamRequest<'_>,
    status: StatusCode,
    headers: &mut HeaderMap,
    body: IncomingBody,
) -> IncomingBody {
    let is_known =
        is_stream(headers) || is_json(headers) || headers.contains_key(header::CONTENT_ENCODING);
    // Bedrock's streams are binary.
    if !sending.stream || !status.is_success() || is_known || sending.format == Format::Bedrock {
        return body;
    }
    let (is_stream, body) = body.read_start(MAX_START, begins_stream).await;
    if is_stream == Some(true) {
        let value = HeaderValue::from_static("text/event-stream");
        headers.insert(header::CONTENT_TYPE, value);
    }
    body
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    matches!(&*kind, "application/json" | "text/json") || kind.ends_with("+json")
}

/// Whether bytes are the beginning of an event stream; `None` if more of them are needed.
fn begins_stream(start: &[u8]) -> Option<bool> {
    if BYTE_ORDER_MARK.starts_with(start) {
        return None;
    }
    let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start).trim_ascii_start();
    if LINE_STARTS.iter().any(|line| text.starts_with(line)) {
        return Some(true);
    }
    let may_follow = LINE_STARTS.iter().any(|line| line.starts_with(text));
    if may_follow { None } else { Some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stream_is_known_by_its_first_bytes() {
        for (start, expected) in [
            ("", None),
            ("\u{feff}", None),
            ("\r\n", None),
            ("dat", None),
            ("data:", Some(true)),
            ("data: {}", Some(true)),
            ("\u{feff}event: x", Some(true)),
            ("\n\n: ping", Some(true)),
            ("id:7", Some(true)),
            ("retry: 3", Some(true)),
            ("{\"a\"", Some(false)),
            ("  [", Some(false)),
            ("database is gone", Some(false)),
            ("<html>", Some(false)),
        ] {
            assert_eq!(begins_stream(start.as_bytes()), expected, "{start:?}");
        }
        assert_eq!(begins_stream(b"\xef\xbb"), None);
    }

    #[test]
    fn json_is_known_by_its_type() {
        let with = |kind: &'static str| {
            [(header::CONTENT_TYPE, HeaderValue::from_static(kind))].into_iter().collect()
        };
        for kind in ["application/json", "Application/JSON; charset=utf-8", "application/a+json"] {
            assert!(is_json(&with(kind)), "{kind}");
        }
        for kind in ["application/x-ndjson", "text/plain", "application/octet-stream", ""] {
            assert!(!is_json(&with(kind)), "{kind}");
        }
    }
}
