//! Requests made to hurt: each is refused, takes little memory, and the next one is served.

use std::fmt::Write as _;

use crate::{
    gateway::{Gateway, TOKEN, config},
    provider::Provider,
    settings::turn,
    temporary::Temporary,
    wire::{Framing, get, post, send},
};

const PATH: &str = "/v1/chat/completions";

/// How much more than before a hostile request may take.
const MOST: u64 = 64 << 20;

fn head(headers: &str) -> String {
    format!("x-foxwedge-token: {TOKEN}\r\n{headers}")
}

/// A thousand mebibytes of zeros, packed by hand as repetitions of one byte: 258 bytes in 13 bits.
fn gzip_bomb() -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let (mut held, mut bits) = (0_u64, 0_u32);
    let mut put = |value: u64, count: u32, bytes: &mut Vec<u8>| {
        held |= value << bits;
        bits += count;
        while bits >= 8 {
            bytes.push((held & 0xff) as u8);
            (held, bits) = (held >> 8, bits - 8);
        }
    };
    // The last block, with fixed codes; a zero; and then "258 bytes, from one byte ago".
    put(0b011, 3, &mut bytes);
    put(u64::from(0x30_u8.reverse_bits()), 8, &mut bytes);
    for _ in 0..(1_u64 << 30) / 258 {
        put(u64::from(0b1100_0101_u8.reverse_bits()), 8, &mut bytes);
        put(0, 5, &mut bytes);
    }
    put(0, 7 + 8, &mut bytes);
    bytes
}

/// Four gibibytes of zeros, packed by hand: blocks that say "this byte, 128 KiB of it".
fn zstd_bomb() -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for _ in 0..1 << 15 {
        let block: u32 = (128 << 10) << 3 | 0b010;
        bytes.extend_from_slice(&block.to_le_bytes()[..3]);
        bytes.push(0);
    }
    bytes
}

fn chunked(size: usize) -> Vec<u8> {
    let mut bytes = format!(
        "POST {PATH} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         transfer-encoding: chunked\r\n{}\r\n",
        head("")
    )
    .into_bytes();
    let chunk = vec![b' '; 1 << 20];
    for _ in 0..size >> 20 {
        bytes.extend_from_slice(b"100000\r\n");
        bytes.extend_from_slice(&chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

fn messages(count: usize) -> String {
    let mut body = r#"{"model":"scripted","messages":["#.to_owned();
    for number in 0..count {
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(body, r#"{comma}{{"role":"user","content":""}}"#);
    }
    body + "]}"
}

/// A message that calls.
const CALLS: &str = r#"{"role":"assistant","tool_calls":["#;

/// A list of nothing, inside of something.
fn empty(inside: &str, count: usize) -> String {
    let close = if inside.is_empty() { "" } else { "]}" };
    let list = vec!["{}"; count].join(",");
    format!(r#"{{"model":"chat-scripted","messages":[{inside}{list}{close}]}}"#)
}

/// Half characters, in one string or in many.
fn halves(between: &str, count: usize) -> String {
    let halves = vec!["\\ud83d"; count].join(between);
    format!(
        r#"{{"model":"chat-scripted","messages":[{{"role":"user","content":"hi","x":["{halves}"]}}]}}"#
    )
}

fn deep(open: &str, close: &str, depth: usize) -> String {
    let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
    format!(r#"{{"model":"scripted","messages":[{{"role":"user","content":{nested}}}]}}"#)
}

#[test]
fn hostile_requests_are_refused_and_the_next_one_is_served() {
    let _turn = turn();
    let (provider, folder) = (Provider::scripted(), Temporary::folder());
    let gateway = Gateway::start(&folder, &config(&folder, provider.address, ""));
    gateway.serves();
    let gzip = head("content-encoding: gzip\r\n");
    let zstd = head("content-encoding: zstd\r\n");
    let large_header = head(&format!("x-filler: {}\r\n", "x".repeat(1 << 20)));
    let many: String = (0..10_000).map(|number| format!("x-{number}: 1\r\n")).collect();
    let table: [(&str, Vec<u8>, &[u16]); 18] = [
        ("a body of 64 MiB", post(PATH, &head(""), vec![b' '; 64 << 20]), &[413]),
        ("64 MiB in chunks", chunked(64 << 20), &[413]),
        ("a gzip bomb", post(PATH, &gzip, gzip_bomb()), &[413]),
        ("a zstd bomb", post(PATH, &zstd, zstd_bomb()), &[413]),
        ("a torn gzip", post(PATH, &gzip, &gzip_bomb()[..1_000]), &[400, 413]),
        ("lists in lists", post(PATH, &head(""), deep("[", "]", 10_000)), &[400]),
        ("objects in objects", post(PATH, &head(""), deep("{\"a\":", "}", 10_000)), &[400]),
        ("lists without end", post(PATH, &head(""), "[".repeat(8 << 20)), &[400]),
        ("a million messages", post(PATH, &head(""), messages(1_000_000)), &[400, 413]),
        ("ten million empty messages", post(PATH, &head(""), empty("", 10_000_000)), &[400, 413]),
        ("ten million empty calls", post(PATH, &head(""), empty(CALLS, 10_000_000)), &[400, 413]),
        ("as many calls as may be", post(PATH, &head(""), empty(CALLS, 11_900)), &[200]),
        ("a million half characters", post(PATH, &head(""), halves("", 1_000_000)), &[200]),
        ("half a million broken strings", post(PATH, &head(""), halves("\",\"", 500_000)), &[200]),
        ("a body of zeros", post(PATH, &head(""), vec![0; 16 << 20]), &[400]),
        ("a header of 1 MiB", get("/v1/models", &large_header), &[431]),
        ("ten thousand headers", get("/v1/models", &head(&many)), &[431]),
        ("a path of 1 MiB", get(&format!("/{}", "x".repeat(1 << 20)), &head("")), &[414, 431]),
    ];
    let mut worst = 0;
    for (name, request, statuses) in table {
        let before = gateway.memory().now;
        gateway.forget_peak();
        let answer = send(&gateway.address, &request).expect("a connection");
        let rise = gateway.memory().peak.saturating_sub(before);
        println!("{name}: {} and {:.1} MiB", answer.status, rise as f64 / f64::from(1 << 20));
        // Closed at once is an answer as well.
        let closed = answer.status == 0 && answer.head.is_empty();
        assert!(closed || statuses.contains(&answer.status), "{name}: {answer:?}");
        if !closed {
            assert_eq!(answer.framing, Framing::Whole, "{name}: {answer:?}");
        }
        assert!(rise < MOST, "{name}: {rise}");
        let kept = gateway.memory().now.saturating_sub(before);
        assert!(kept < MOST, "{name}: {kept} bytes are still held");
        worst = worst.max(rise);
        gateway.serves();
    }
    println!("at most {:.1} MiB more", worst as f64 / f64::from(1 << 20));
    gateway.rests();
}
