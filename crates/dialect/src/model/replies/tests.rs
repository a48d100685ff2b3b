//! Response bodies of all formats, there and back, and into each other.

mod samples;
mod same;
mod stories;
mod details;
mod losses;
mod failures;
mod hostile;

use foxwedge_core::Format;
use serde_json::Value as Json;

use super::{DecodedReply, EncodedReply, decode_reply, encode_reply};
use crate::model::{
    ContentPart, Loss, LossKind, LossLocation, ModelPart, ModelReply, ModelResponse,
};

const WIRES: [Format; 5] = [
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Anthropic,
    Format::Gemini,
    Format::Bedrock,
];

/// A body that is read.
fn told(body: &str, wire: Format) -> DecodedReply<'_> {
    decode_reply(body, wire).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// An answer that is read.
fn reply(body: &str, wire: Format) -> ModelReply<'_> {
    match told(body, wire).outcome {
        ModelResponse::Reply(reply) => reply,
        ModelResponse::Error(failure) => panic!("{failure:?}: {body}"),
    }
}

/// A body and what it says in another format.
fn converted(body: &str, from: Format, to: Format) -> EncodedReply {
    encode_reply(&told(body, from).outcome, to, "seed")
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// An answer of nobody, written for a format.
fn written<'a>(bits: impl IntoIterator<Item = ContentPart<'a>>, wire: Format) -> EncodedReply {
    let parts = bits.into_iter().map(ModelPart::new).collect();
    encode_reply(&ModelResponse::Reply(ModelReply { parts, ..ModelReply::default() }), wire, "seed")
}

/// What is lost, by name.
fn names(losses: &[Loss]) -> Vec<&'static str> {
    assert!(losses.iter().all(|loss| loss.location == LossLocation::Reply));
    losses.iter().map(|loss| loss.kind.name()).collect()
}

fn lost(losses: &[Loss]) -> Vec<LossKind> {
    losses.iter().map(|loss| loss.kind).collect()
}
