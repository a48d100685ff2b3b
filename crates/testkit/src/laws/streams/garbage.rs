//! Law of garbage: whatever comes in, nothing panics, cuts do not matter, and what comes out
//! follows the protocol and ends with the truth.

use serde_json::Value;

use super::{
    Broken,
    convert::{converted, streamed},
    exchange::Exchange,
    judge::{cut, shown},
};
use crate::{
    answers::{self, Frame},
    random::Random,
};

const LAW: &str = "garbage";

/// Frames and bytes in disorder.
pub(super) fn garbage(exchange: &Exchange) -> Result<(), Broken> {
    let mut random = exchange.random(8);
    let frames = exchange.frames();
    let shuffled = answers::bytes(&in_disorder(&mut random, frames.clone()));
    let spoiled = spoilt(&mut random, answers::bytes(&frames));
    let both = spoilt(&mut random, shuffled.clone());
    for bytes in [shuffled, spoiled, both] {
        follows(exchange, &mut random, &bytes)?;
    }
    // Bodies are text, whatever else they are.
    let body = spoilt(&mut random, exchange.body().into_bytes());
    let answered = converted(exchange.from, exchange.to, &String::from_utf8_lossy(&body));
    match answered {
        Ok(answered) if !is_json(&answered.body) => {
            Err((LAW, format!("no JSON: {}\n{}", answered.body, shown(&body))))
        }
        _ => Ok(()),
    }
}

fn follows(exchange: &Exchange, random: &mut Random, bytes: &[u8]) -> Result<(), Broken> {
    let whole = streamed(exchange.from, exchange.to, [bytes]);
    let broken = |what: String| {
        (LAW, format!("{what}\n{:?}\n{}\n{}", whole.end, shown(&whole.out), shown(bytes)))
    };
    let pieces = streamed(exchange.from, exchange.to, cut(random, bytes, 30));
    if pieces != whole {
        return Err(broken(format!("in chunks {:?}\n{}", pieces.end, shown(&pieces.out))));
    }
    let cuts = answers::cut(exchange.to, &whole.out);
    if cuts.iter().any(|cut| is_huge(&cut.data)) {
        return Ok(());
    }
    let heard = answers::hear(exchange.to, &whole.out);
    // Whatever follows the end may be an error, and is none for the client.
    let complete = match &whole.end {
        Ok(end) => end.complete,
        Err(_) => heard.ended,
    };
    // Where a signature or a figure is lost or doubled, the rest is as odd as it came.
    let odd = |fault: &String| fault == answers::SIGNED || fault.starts_with(answers::SUM);
    if !heard.faults.iter().all(odd) || heard.unknown > 0 {
        return Err(broken(format!("{:?}", heard.faults)));
    }
    if heard.ended != complete || heard.error.is_some() == complete {
        return Err(broken(format!("it ends: {}, it fails: {:?}", heard.ended, heard.error)));
    }
    Ok(())
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok() || is_huge(text)
}

/// Whether it has a number that only the judge cannot hold.
fn is_huge(text: &str) -> bool {
    let read = serde_json::from_str::<Value>(text);
    read.is_err_and(|error| error.to_string().starts_with("number out of range"))
}

/// Frames that are lost, doubled, or in another place.
fn in_disorder(random: &mut Random, mut frames: Vec<Frame>) -> Vec<Frame> {
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

/// Bytes that are lost, doubled, or others.
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
