//! Splits bytes into frames, always from the beginning of the complete stream.

use std::{ops::Range, sync::LazyLock};

use foxwedge_core::Format;

/// A frame of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CutFrame {
    /// The name of the event.
    pub name: Option<String>,
    /// Its data.
    pub data: String,
    /// Its position in the stream.
    pub range: Range<usize>,
    /// What is wrong with the frame itself.
    pub fault: Option<String>,
}

/// Splits a stream into its frames. Bytes left over at the end are a violation.
pub fn cut(format: Format, bytes: &[u8]) -> Vec<CutFrame> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Vec::new(),
        Some(b'[' | b'{') => objects(bytes),
        Some(0) if format == Format::Bedrock => messages(bytes),
        Some(_) => events(bytes),
    }
}

/// The events of an SSE stream.
fn events(bytes: &[u8]) -> Vec<CutFrame> {
    let mut found = Vec::new();
    let (mut start, mut name, mut data) = (0, None, None::<Vec<u8>>);
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let Some(length) = length else { break };
        let line = &bytes[at..at + length];
        at += length + 1;
        if bytes.get(at - 1) == Some(&b'\r') && bytes.get(at) == Some(&b'\n') {
            at += 1;
        }
        if line.is_empty() {
            found.extend(event(start..at, name.take(), data.take(), None));
            start = at;
        } else {
            field(line, &mut name, &mut data);
        }
    }
    // An event without its blank line counts if its data is complete.
    if at < bytes.len() {
        field(&bytes[at..], &mut name, &mut data);
    }
    let whole = data.as_deref().is_some_and(|data| {
        data == b"[DONE]" || serde_json::from_slice::<serde_json::Value>(data).is_ok()
    });
    if start < bytes.len() {
        let fault = Some("the last event has no end".to_owned());
        let data = data.filter(|_| whole).or(Some(Vec::new()));
        found.extend(event(start..bytes.len(), name, data, fault));
    }
    found
}

fn field(line: &[u8], name: &mut Option<String>, data: &mut Option<Vec<u8>>) {
    let value = |key: &str| {
        let rest = line.strip_prefix(key.as_bytes())?.strip_prefix(b":")?;
        Some(rest.strip_prefix(b" ").unwrap_or(rest))
    };
    if let Some(value) = value("data") {
        let data = data.get_or_insert_default();
        if !data.is_empty() {
            data.push(b'\n');
        }
        data.extend_from_slice(value);
    } else if let Some(value) = value("event") {
        *name = Some(String::from_utf8_lossy(value).into_owned());
    }
}

fn event(
    range: Range<usize>,
    name: Option<String>,
    data: Option<Vec<u8>>,
    fault: Option<String>,
) -> Option<CutFrame> {
    match String::from_utf8(data?) {
        Ok(data) => Some(CutFrame { name, data, range, fault }),
        Err(_) => {
            let fault = Some("not UTF-8".to_owned());
            Some(CutFrame { name, data: String::new(), range, fault })
        }
    }
}

/// A sequence of objects, with or without a list around them.
fn objects(bytes: &[u8]) -> Vec<CutFrame> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| *byte == b'{') {
        let start = at + next;
        let mut values =
            serde_json::Deserializer::from_slice(&bytes[start..]).into_iter::<serde_json::Value>();
        let Some(Ok(_)) = values.next() else {
            let fault = Some("the last object has no end".to_owned());
            found.push(CutFrame {
                name: None,
                data: String::new(),
                range: start..bytes.len(),
                fault,
            });
            break;
        };
        at = start + values.byte_offset();
        let data = String::from_utf8_lossy(&bytes[start..at]).into_owned();
        found.push(CutFrame { name: None, data, range: start..at, fault: None });
    }
    found
}

/// Amazon's messages: two lengths with their checksum, headers, a payload, and a checksum of
/// everything.
fn messages(bytes: &[u8]) -> Vec<CutFrame> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let number = |from: usize| {
            let four = bytes.get(from..from + 4)?;
            Some(four.iter().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)))
        };
        let total = number(at).filter(|total| *total >= 16 && at + total <= bytes.len());
        let (Some(total), Some(headers)) = (total, number(at + 4)) else {
            let fault = Some("the last message has no end".to_owned());
            found.push(CutFrame { name: None, data: String::new(), range: at..bytes.len(), fault });
            break;
        };
        let end = at + total - 4;
        let sums = number(at + 8) == Some(checksum(&bytes[at..at + 8]) as usize)
            && number(end) == Some(checksum(&bytes[at..end]) as usize);
        let (name, kind) = named(&bytes[at + 12..at + 12 + headers]);
        let fault = match (sums, kind.as_deref()) {
            (false, _) => Some("a checksum is wrong".to_owned()),
            (true, Some("event" | "exception")) => None,
            (true, kind) => Some(format!("a message of type {kind:?}")),
        };
        let data = String::from_utf8_lossy(&bytes[at + 12 + headers..end]).into_owned();
        found.push(CutFrame { name, data, range: at..at + total, fault });
        at += total;
    }
    found
}

/// The name of the event and the type of the message, from the headers.
fn named(mut headers: &[u8]) -> (Option<String>, Option<String>) {
    let (mut name, mut kind) = (None, None);
    while let Some((length, rest)) = headers.split_first() {
        let (key, rest) = rest.split_at(usize::from(*length));
        // All headers are strings: type 7, and two bytes of length.
        let length = usize::from(rest[1]) << 8 | usize::from(rest[2]);
        let (value, rest) = rest[3..].split_at(length);
        let value = Some(String::from_utf8_lossy(value).into_owned());
        match key {
            b":event-type" | b":exception-type" => name = value,
            b":message-type" => kind = value,
            _ => {}
        }
        headers = rest;
    }
    (name, kind)
}

/// A binary message: an event or an exception, with its name and payload.
pub fn message(kind: &str, name: &str, payload: &[u8]) -> Vec<u8> {
    let mut headers = Vec::new();
    let texts = [
        (format!(":{kind}-type"), name),
        (":content-type".to_owned(), "application/json"),
        (":message-type".to_owned(), kind),
    ];
    for (key, value) in texts {
        headers.push(key.len() as u8);
        headers.extend_from_slice(key.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let total = 12 + headers.len() + payload.len() + 4;
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&(total as u32).to_be_bytes());
    bytes.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes.extend_from_slice(&headers);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&checksum(&bytes).to_be_bytes());
    bytes
}

/// CRC-32.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ (sum >> 8);
    !bytes.iter().fold(u32::MAX, step)
}

/// The table for one byte of a checksum.
static TABLE: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let shifted = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
    (0..256).map(|byte| (0..8).fold(byte, |sum, _| shifted(sum))).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn events_end_with_a_blank_line_of_any_kind() {
        for end in ["\n", "\r\n", "\r"] {
            let text =
                format!(": c{end}{end}event: a{end}data: [1,{end}data: 2]{end}{end}data: {{}}");
            let parsed: Vec<_> = cut(Format::Anthropic, text.as_bytes())
                .into_iter()
                .map(|cut| (cut.name, cut.data, cut.fault.is_some()))
                .collect();
            let first = (Some("a".to_owned()), "[1,\n2]".to_owned(), false);
            assert_eq!(parsed, [first, (None, "{}".to_owned(), true)], "{end:?}");
        }
    }
}
