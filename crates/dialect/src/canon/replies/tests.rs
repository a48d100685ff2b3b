//! Response bodies of all formats, there and back, and into each other.

mod samples;
mod same;
mod stories;
mod details;
mod losses;
mod failures;
mod hostile;

use foxwedge_core::Wire;
use serde_json::Value as Json;

use super::{Encoded, Told, decode_reply, encode_reply};
use crate::canon::{Bit, Loss, Lost, Outcome, Part, Reply, Spot};

const WIRES: [Wire; 5] =
    [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Anthropic, Wire::Gemini, Wire::Bedrock];

/// A body that is read.
fn told(body: &str, wire: Wire) -> Told<'_> {
    decode_reply(body, wire).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// An answer that is read.
fn reply(body: &str, wire: Wire) -> Reply<'_> {
    match told(body, wire).outcome {
        Outcome::Reply(reply) => reply,
        Outcome::Failure(failure) => panic!("{failure:?}: {body}"),
    }
}

/// A body and what it says in another format.
fn converted(body: &str, from: Wire, to: Wire) -> Encoded {
    encode_reply(&told(body, from).outcome, to, "seed")
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// An answer of nobody, written for a format.
fn written<'a>(bits: impl IntoIterator<Item = Bit<'a>>, wire: Wire) -> Encoded {
    let parts = bits.into_iter().map(Part::new).collect();
    encode_reply(&Outcome::Reply(Reply { parts, ..Reply::default() }), wire, "seed")
}

/// What is lost, by name.
fn names(losses: &[Loss]) -> Vec<&'static str> {
    assert!(losses.iter().all(|loss| loss.at == Spot::Reply));
    losses.iter().map(|loss| loss.what.name()).collect()
}

fn lost(losses: &[Loss]) -> Vec<Lost> {
    losses.iter().map(|loss| loss.what).collect()
}
