//! The law of garbage: for any input nothing panics, chunking does not matter, and the output
//! follows the protocol and ends with the correct status.

use serde_json::Value;

use super::{
    StreamBreach,
    convert::{converted, streamed},
    exchange::StreamExchange,
    judge::{cut, shown},
};
use crate::{
    answers::{self, GeneratedFrame},
    random::Random,
};

const LAW: &str = "garbage";

/// Checks streams with frames and bytes in disorder.
pub(super) fn garbage(exchange: &StreamExchange) -> Result<(), StreamBreach> {
    let mut random = exchange.random(8);
    let frames = exchange.frames();
    let shuffled = answers::bytes(&in_disorder(&mut random, frames.clone()));
    let spoiled = spoilt(&mut random, answers::bytes(&frames));
    let both = spoilt(&mut random, shuffled.clone());
    for bytes in [shuffled, spoiled, both] {
        follows(exchange, &mut random, &bytes)?;
    }
    // Bodies are always UTF-8.
    let body = spoilt(&mut random, exchange.body().into_bytes());
    let response = converted(exchange.from, exchange.to, &String::from_utf8_lossy(&body));
    match response {
        Ok(response) if !is_json(&response.body) => {
            Err((LAW, format!("no JSON: {}\n{}", response.body, shown(&body))))
        }
        _ => Ok(()),
    }
}

fn follows(
    exchange: &StreamExchange,
    random: &mut Random,
    bytes: &[u8],
) -> Result<(), StreamBreach> {
    let whole = streamed(exchange.from, exchange.to, [bytes]);
    let broken = |what: String| {
        (LAW, format!("{what}\n{:?}\n{}\n{}", whole.end, shown(&whole.out), shown(bytes)))
    };
    let chunked = streamed(exchange.from, exchange.to, cut(random, bytes, 30));
    if chunked != whole {
        return Err(broken(format!("in chunks {:?}\n{}", chunked.end, shown(&chunked.out))));
    }
    let cuts = answers::cut(exchange.to, &whole.out);
    if cuts.iter().any(|cut| is_huge(&cut.data)) {
        return Ok(());
    }
    let parsed = answers::hear(exchange.to, &whole.out);
    // An error after the end of the response is not an error for the client.
    let complete = match &whole.end {
        Ok(end) => end.complete,
        Err(_) => parsed.ended,
    };
    // If a signature or a token count is lost or repeated, the output may be inconsistent in the
    // same way.
    let odd = |fault: &String| fault == answers::SIGNED || fault.starts_with(answers::SUM);
    if !parsed.faults.iter().all(odd) || parsed.unknown > 0 {
        return Err(broken(format!("{:?}", parsed.faults)));
    }
    if parsed.ended != complete || parsed.error.is_some() == complete {
        return Err(broken(format!("it ends: {}, it fails: {:?}", parsed.ended, parsed.error)));
    }
    Ok(())
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok() || is_huge(text)
}

/// Whether it has a number that serde_json cannot hold.
fn is_huge(text: &str) -> bool {
    let read = serde_json::from_str::<Value>(text);
    read.is_err_and(|error| error.to_string().starts_with("number out of range"))
}

/// Removes, repeats or moves frames.
fn in_disorder(random: &mut Random, mut frames: Vec<GeneratedFrame>) -> Vec<GeneratedFrame> {
    for _ in 0..1 + random.below(4) {
        let at = random.below(frames.len());
        match random.below(4) {
            0 if frames.len() > 1 => {
                frames.remove(at);
            }
            1 => frames.insert(at, frames[at].clone()),
            2 => {
                let to = random.below(frames.len());
                frames.swap(at, to);
            }
            _ => {
                let to = random.below(frames.len());
                let frame = frames.remove(at);
                frames.insert(to.min(frames.len()), frame);
            }
        }
    }
    frames
}

/// Removes, repeats or changes bytes.
fn spoilt(random: &mut Random, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(20)).min(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.bits() as u8,
            1 => bytes[at] = *random.pick(b"{}[]\",:\\ \n0e-"),
            2 => {
                bytes.drain(at..end);
            }
            3 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let text = *random.pick(&["null", "{}\n\n", "[]", "\"\"", "\\u", "1e9"]);
                bytes.splice(at..at, text.bytes());
            }
        }
    }
    bytes
}
