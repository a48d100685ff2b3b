//! The response parser with arbitrary and damaged bytes in arbitrary chunks: it never panics, reads
//! the same however the bytes are split, and keeps no more than its limits.

use bytes::{Buf as _, BytesMut};
use foxwedge_testkit::{Random, mutate};

use super::super::{
    decode::{BodyDecoder, ResponseReadError},
    head::ResponseHeadReader,
};
use super::*;

const MAX_HEAD: usize = 2_048;
const NO_HEAD: &str = "no head";

const RESPONSES: [&str; 9] = [
    "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nx-a: b\r\n\r\nhello world",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nt: u\r\n\r\n",
    "HTTP/1.0 200 OK\r\n\r\nuntil the end",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
    "HTTP/1.1 500 Oh\r\nconnection: close, x-y\r\nx-y: 1\r\ncontent-length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n\
     a\r\ndata: {}\n\n\r\nA \t\r\n0123456789\r\n0\r\n\r\n",
    "HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 2\r\n\r\nno",
    "HTTP/1.1 200\r\nContent-Length: 3\nx: y\r\n\nabc",
    "HTTP/1.1 304 Same\r\ncontent-length: 99\r\n\r\n",
];

/// How a response was read: its head, its content, and how it ended.
type ParsedResponse = (Option<(u16, HeaderMap)>, Vec<u8>, String);

/// Reads a response whose bytes arrive in chunks of these sizes, then the connection closes.
fn parse(bytes: &[u8], method: &Method, mut next_size: impl FnMut() -> usize) -> ParsedResponse {
    let describe = |error: ResponseReadError| format!("{:?}", error);
    let mut reader = ResponseHeadReader::new(MAX_HEAD);
    let (mut buffer, mut rest) = (BytesMut::new(), bytes);
    let mut head: Option<(u16, HeaderMap, BodyDecoder)> = None;
    let mut content = Vec::new();
    loop {
        let size = next_size().clamp(1, rest.len().max(1)).min(rest.len());
        let (chunk, after) = rest.split_at(size);
        buffer.extend_from_slice(chunk);
        rest = after;
        if head.is_none() && !buffer.is_empty() {
            match reader.read(&mut buffer, method) {
                Ok(None) => assert!(buffer.len() <= MAX_HEAD, "an unfinished head is kept"),
                Ok(Some(read)) => head = Some((read.status.as_u16(), read.headers, read.body)),
                // A split head is parsed once its end arrived, so a mistake may be found before or
                // after the connection closes. Either way there is no response.
                Err(_) => return (None, content, NO_HEAD.to_owned()),
            }
        }
        let Some((status, headers, decoder)) = &mut head else {
            if rest.is_empty() {
                return (None, content, NO_HEAD.to_owned());
            }
            continue;
        };
        // As the body of the client does: content before an error comes first.
        let end = loop {
            if buffer.is_empty() || *decoder == BodyDecoder::Ended {
                break (*decoder == BodyDecoder::Ended).then_some(Ok(()));
            }
            match decoder.decode(&mut buffer) {
                Ok(found) => {
                    assert!(found.start <= found.end && found.end <= found.used);
                    assert!(found.used <= buffer.len() && found.used > 0, "no progress");
                    content.extend_from_slice(&buffer[found.start..found.end]);
                    buffer.advance(found.used);
                }
                Err(error) => break Some(Err(error)),
            }
        };
        let end = end.or_else(|| rest.is_empty().then(|| decoder.close()));
        if let Some(end) = end {
            let text = end.map_or_else(describe, |()| "complete".to_owned());
            return (Some((*status, std::mem::take(headers))), content, text);
        }
    }
}

fn assert_same_in_all_chunks(bytes: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    for method in [Method::POST, Method::HEAD, Method::CONNECT] {
        let whole = parse(bytes, &method, || usize::MAX);
        let by_byte = parse(bytes, &method, || 1);
        let at_random = parse(bytes, &method, || 1 + random.below(9));
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(by_byte, whole, "seed {seed}, {method}, by byte: {text:?}");
        assert_eq!(at_random, whole, "seed {seed}, {method}, in chunks: {text:?}");
        assert!(whole.1.len() <= bytes.len());
    }
}

#[test]
fn whole_responses_are_the_same_in_all_chunks() {
    for (seed, response) in (0..).zip(RESPONSES) {
        assert_same_in_all_chunks(response.as_bytes(), seed);
    }
}

#[test]
fn damaged_responses_are_the_same_in_all_chunks() {
    for seed in 0..6_000 {
        let mut random = Random::new(seed);
        let response = random.pick(&RESPONSES).as_bytes();
        assert_same_in_all_chunks(&mutate(response, seed), seed);
    }
}

#[test]
fn responses_of_random_pieces_are_the_same_in_all_chunks() {
    const PIECES: [&str; 22] = [
        "HTTP/1.1 ",
        "HTTP/1.0 ",
        "HTTP/2",
        "200 OK",
        "100",
        "101 X",
        "204",
        "\r\n",
        "\n",
        "\r",
        " ",
        ":",
        "content-length: 5",
        "content-length: 18446744073709551616",
        "transfer-encoding: chunked",
        "connection: close",
        "0",
        "5",
        "ffffffffffffffff",
        ";x",
        "hello",
        "\u{0}",
    ];
    for seed in 0..6_000 {
        let mut random = Random::new(seed);
        let mut bytes = b"HTTP/1.1 200 OK\r\n".to_vec();
        bytes.truncate(random.below(18).max(1));
        for _ in 0..random.below(24) {
            match random.chance(90) {
                true => bytes.extend_from_slice(random.pick(&PIECES).as_bytes()),
                false => bytes.push(random.bits() as u8),
            }
        }
        assert_same_in_all_chunks(&bytes, seed);
    }
}

#[test]
fn an_endless_head_is_refused_at_its_limit() {
    for piece in ["x: y\r\n", "x", "\u{1}"] {
        let head = format!("HTTP/1.1 200 OK\r\n{}", piece.repeat(10_000));
        let (mut reader, mut buffer) = (ResponseHeadReader::new(MAX_HEAD), BytesMut::new());
        let refused = head.as_bytes().chunks(100).find_map(|chunk| {
            buffer.extend_from_slice(chunk);
            reader.read(&mut buffer, &Method::POST).err()
        });
        assert!(refused.is_some() && buffer.len() <= MAX_HEAD + 100, "{piece:?}");
    }
}
