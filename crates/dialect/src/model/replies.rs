//! Whole answers of providers: response bodies, read into an [`Outcome`] and written for any
//! format.
//!
//! What a format spelled itself is written as it was; everything else is spelled anew, with the
//! fields that strict readers of the format insist on. What a provider says about itself and about
//! the request (fingerprints, tiers, settings, ratings) is no part of an answer and is not kept.

mod reader;
mod writer;
mod part_losses;
mod citations;
mod chat;
mod responses;
mod anthropic;
mod gemini;
mod bedrock;

use std::borrow::Cow;

use foxwedge_core::{Format, Profile, fresh_id};

use super::{IdentifierReplacement, Loss, LossKind, LossLocation, ModelResponse, provider_errors};
use crate::{
    document::DocumentError,
    error::ReadError,
    json::{JsonObject, JsonTape, JsonValue, ScanError},
};
use reader::ReplyBodyReader;
use writer::ReplyBodyWriter;

/// What a response body says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodedReply<'a> {
    /// An answer, or a failure.
    pub outcome: ModelResponse<'a>,
    /// What the body says beyond that. Blocks that only their own format knows are still parts of
    /// the answer, and are lost when it is written for another.
    pub losses: Vec<Loss>,
}

/// A response body for a format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedReply {
    /// The body.
    pub body: String,
    /// What the format cannot hold.
    pub losses: Vec<Loss>,
    /// The ids of calls that the format does not take, and what stands for them.
    pub renamed: Vec<IdentifierReplacement>,
}

/// Reads a response body that came in one piece.
///
/// # Errors
/// If the text is not JSON, or neither an answer nor a failure in that format.
pub fn decode_reply(source: &str, wire: Format) -> Result<DecodedReply<'_>, ReadError> {
    let refused = |trouble| {
        ReadError::from_document_error(DocumentError {
            error: trouble,
            place: None,
            exceeded_limit: None,
        })
    };
    let tape = JsonTape::read(source).map_err(refused)?;
    let root = tape.root(source);
    let body = unwrap_object(root, wire).ok_or_else(|| {
        refused(ScanError::new(root.span().start as usize, "a response is not an object"))
    })?;
    let mut reader = ReplyBodyReader::default();
    let read = match wire {
        Format::OpenaiChat => chat::read,
        Format::OpenaiResponses => responses::read,
        Format::Anthropic => anthropic::read,
        Format::Gemini => gemini::read,
        Format::Bedrock => bedrock::read,
    };
    let outcome = read(&mut reader, &body)
        .map_err(|what| refused(ScanError::new(root.span().start as usize, what)))?;
    Ok(DecodedReply { outcome, losses: reader.losses })
}

/// Writes a response body in one piece. The seed tells answers apart that have no id.
pub fn encode_reply(outcome: &ModelResponse<'_>, wire: Format, seed: &str) -> EncodedReply {
    match outcome {
        ModelResponse::Reply(reply) => {
            let mut writer = ReplyBodyWriter::new(reply, wire, seed);
            match wire {
                Format::OpenaiChat => chat::write(&mut writer),
                Format::OpenaiResponses => responses::write(&mut writer),
                Format::Anthropic => anthropic::write(&mut writer),
                Format::Gemini => gemini::write(&mut writer),
                Format::Bedrock => bedrock::write(&mut writer),
            }
            writer.finish()
        }
        ModelResponse::Error(failure) => {
            let mut body = String::with_capacity(failure.message.len() + 128);
            provider_errors::write(wire, failure, &mut body);
            let code =
                failure.code.as_deref().filter(|_| provider_errors::loses_name(wire, failure));
            let losses = code.map(|code| {
                let name = provider_errors::error_name(wire, failure);
                let note = format!("the failure `{code}` is called `{name}` in this format");
                Loss { kind: LossKind::Unknown, location: LossLocation::Reply, note }
            });
            EncodedReply { body, losses: losses.into_iter().collect(), renamed: Vec::new() }
        }
    }
}

/// The id of an answer: its own, or one that is computed from the seed.
pub(crate) fn reply_id<'i>(wire: Format, id: Option<&'i str>, seed: &str) -> Cow<'i, str> {
    let prefix = match wire {
        Format::OpenaiChat => "chatcmpl-",
        Format::OpenaiResponses => "resp_",
        Format::Anthropic => "msg_",
        Format::Gemini | Format::Bedrock => "",
    };
    match id.filter(|id| !id.is_empty()) {
        Some(id) => Cow::Borrowed(id),
        None => Cow::Owned(format!("{prefix}{}", seed_digits(&format!("reply {seed}")))),
    }
}

/// The id of an item of a Responses answer: `msg`, `fc`, `ctc` or `rs`, and what comes of the id of
/// the answer and the index of the item in its output.
pub(crate) fn item_id(prefix: &str, reply: &str, index: usize) -> String {
    format!("{prefix}_{}", seed_digits(&format!("item {index} {reply}")))
}

/// Whether a signature under reasoning means anything in a format. Only its maker can check it;
/// Anthropic and Bedrock serve the same models.
pub(crate) fn carries_signature(from: Option<Format>, to: Format) -> bool {
    let claude = |wire| matches!(wire, Format::Anthropic | Format::Bedrock);
    from.is_some_and(|from| from == to || claude(from) && claude(to))
}

/// Google wraps failures into a list where answers would be a list.
fn unwrap_object<'t, 'a>(root: JsonValue<'t, 'a>, wire: Format) -> Option<JsonObject<'t, 'a>> {
    let mut list = root.list();
    match (list.next(), list.next()) {
        (Some(only), None) if wire == Format::Gemini => {
            only.object().filter(|body| body.object("error").is_some())
        }
        _ => root.object(),
    }
}

fn seed_digits(seed: &str) -> String {
    let wire = Format::OpenaiResponses;
    let id = fresh_id(wire, Profile::for_format(wire).id_rule(), seed);
    id.rsplit('_').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
