//! Response bodies of all formats: round trips, and conversions between formats.

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

/// Decodes a body.
fn decoded(body: &str, format: Format) -> DecodedReply<'_> {
    decode_reply(body, format).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// Decodes a body that is a response.
fn reply(body: &str, format: Format) -> ModelReply<'_> {
    match decoded(body, format).outcome {
        ModelResponse::Reply(reply) => reply,
        ModelResponse::Error(failure) => panic!("{failure:?}: {body}"),
    }
}

/// Converts a body to another format.
fn converted(body: &str, from: Format, to: Format) -> EncodedReply {
    encode_reply(&decoded(body, from).outcome, to, "seed")
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Writes a response without an origin in a format.
fn written<'a>(
    contents: impl IntoIterator<Item = ContentPart<'a>>,
    format: Format,
) -> EncodedReply {
    let parts = contents.into_iter().map(ModelPart::new).collect();
    encode_reply(
        &ModelResponse::Reply(ModelReply { parts, ..ModelReply::default() }),
        format,
        "seed",
    )
}

/// Names of the losses.
fn names(losses: &[Loss]) -> Vec<&'static str> {
    assert!(losses.iter().all(|loss| loss.location == LossLocation::Reply));
    losses.iter().map(|loss| loss.kind.name()).collect()
}

fn lost(losses: &[Loss]) -> Vec<LossKind> {
    losses.iter().map(|loss| loss.kind).collect()
}
