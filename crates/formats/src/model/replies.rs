//! Complete provider responses: reads a response body into a [`ModelResponse`] and writes it for
//! any format.
//!
//! A part that was read from the target format is written unchanged. All other parts are encoded
//! again, with the fields that strict clients of the format require. Metadata about the provider
//! and the request (fingerprints, tiers, settings, ratings) is not part of a response and is
//! dropped.

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
use crate::{document::DocumentError, error::ReadError};
use foxwedge_json::{JsonObject, JsonTape, JsonValue, ScanError};
use reader::ReplyBodyReader;
use writer::ReplyBodyWriter;

/// A decoded response body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodedReply<'a> {
    /// A model response or a provider error.
    pub outcome: ModelResponse<'a>,
    /// Content of the body that the model cannot hold. Blocks that only their own format knows are
    /// still parts of the response; they are lost when it is written for another format.
    pub losses: Vec<Loss>,
}

/// An encoded response body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncodedReply {
    /// The body.
    pub body: String,
    /// What the format cannot represent.
    pub losses: Vec<Loss>,
    /// Call ids that the format does not accept, with their replacements.
    pub renamed: Vec<IdentifierReplacement>,
}

/// Reads a complete response body.
///
/// # Errors
/// If the text is not JSON, or neither a response nor an error of that format.
pub fn decode_reply(source: &str, format: Format) -> Result<DecodedReply<'_>, ReadError> {
    let read_error = |error| {
        ReadError::from_document_error(DocumentError { error, place: None, exceeded_limit: None })
    };
    let tape = JsonTape::read(source).map_err(read_error)?;
    let root = tape.root(source);
    let body = unwrap_object(root, format).ok_or_else(|| {
        read_error(ScanError::new(root.span().start as usize, "a response is not an object"))
    })?;
    let mut reader = ReplyBodyReader::default();
    let read = match format {
        Format::OpenaiChat => chat::read,
        Format::OpenaiResponses => responses::read,
        Format::Anthropic => anthropic::read,
        Format::Gemini => gemini::read,
        Format::Bedrock => bedrock::read,
    };
    let outcome = read(&mut reader, &body)
        .map_err(|message| read_error(ScanError::new(root.span().start as usize, message)))?;
    Ok(DecodedReply { outcome, losses: reader.losses })
}

/// Writes a complete response body. The seed distinguishes responses that have no id.
pub fn encode_reply(outcome: &ModelResponse<'_>, format: Format, seed: &str) -> EncodedReply {
    match outcome {
        ModelResponse::Reply(reply) => {
            let mut writer = ReplyBodyWriter::new(reply, format, seed);
            match format {
                Format::OpenaiChat => chat::write(&mut writer),
                Format::OpenaiResponses => responses::write(&mut writer),
                Format::Anthropic => anthropic::write(&mut writer),
                Format::Gemini => gemini::write(&mut writer),
                Format::Bedrock => bedrock::write(&mut writer),
            }
            writer.finish()
        }
        ModelResponse::Error(error) => {
            let mut body = String::with_capacity(error.message.len() + 128);
            provider_errors::write(format, error, &mut body);
            let code = error.code.as_deref().filter(|_| provider_errors::loses_name(format, error));
            let losses = code.map(|code| {
                let name = provider_errors::error_name(format, error);
                let note = format!("the error `{code}` becomes `{name}` in this format");
                Loss { kind: LossKind::Unknown, location: LossLocation::Reply, note }
            });
            EncodedReply { body, losses: losses.into_iter().collect(), renamed: Vec::new() }
        }
    }
}

/// The id of a response: its own, or one derived from the seed.
pub(crate) fn reply_id<'i>(format: Format, id: Option<&'i str>, seed: &str) -> Cow<'i, str> {
    let prefix = match format {
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

/// The id of an item of a Responses body: the prefix `msg`, `fc`, `ctc` or `rs`, and a hash of the
/// response id and the index of the item in the output.
pub(crate) fn item_id(prefix: &str, reply: &str, index: usize) -> String {
    format!("{prefix}_{}", seed_digits(&format!("item {index} {reply}")))
}

/// Whether a reasoning signature is valid in a format. Only the provider that made it can verify
/// it; Anthropic and Bedrock serve the same models.
pub(crate) fn carries_signature(from: Option<Format>, to: Format) -> bool {
    let claude = |format| matches!(format, Format::Anthropic | Format::Bedrock);
    from.is_some_and(|from| from == to || claude(from) && claude(to))
}

/// Unwraps the list that Google puts around an error where a response would be a list.
fn unwrap_object<'t, 'a>(root: JsonValue<'t, 'a>, format: Format) -> Option<JsonObject<'t, 'a>> {
    let mut list = root.list();
    match (list.next(), list.next()) {
        (Some(only), None) if format == Format::Gemini => {
            only.object().filter(|body| body.object("error").is_some())
        }
        _ => root.object(),
    }
}

fn seed_digits(seed: &str) -> String {
    let format = Format::OpenaiResponses;
    let id = fresh_id(format, Profile::for_format(format).id_rule(), seed);
    id.rsplit('_').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
