//! Complete provider responses: reads a response body into a [`ModelResponse`] and writes it for
//! any format.
//!
//! A part that was read from the target format is written unchanged. All other parts are encoded
//! again, with the fields that strict clients of the format require. Metadata about the provider
//! and the request (fingerprints, tiers, settings, ratings) is not part of a response and is
//! dropped.

use foxwedge_core::Format;

use crate::{
    anthropic, bedrock,
    conversation::{
        Loss, LossKind, LossLocation, ModelResponse, provider_errors,
        response::{EncodedReply, ReplyBodyReader, ReplyBodyWriter},
    },
    error::ReadError,
    gemini, gemini_interactions, openai_chat, openai_responses,
};
use foxwedge_json::{JsonObject, JsonTape, JsonValue, ScanError};

/// A decoded response body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodedReply<'a> {
    /// A model response or a provider error.
    pub outcome: ModelResponse<'a>,
    /// Content of the body that the model cannot hold. Blocks that only their own format knows are
    /// still parts of the response; they are lost when it is written for another format.
    pub losses: Vec<Loss>,
}

/// Reads a complete response body.
///
/// # Errors
/// If the text is not JSON, or neither a response nor an error of that format.
pub fn decode_reply(source: &str, format: Format) -> Result<DecodedReply<'_>, ReadError> {
    let read_error = |error| ReadError::from_scan(error, None);
    let tape = JsonTape::read(source).map_err(read_error)?;
    let root = tape.root(source);
    let body = unwrap_object(root, format).ok_or_else(|| {
        read_error(ScanError::new(root.span().start as usize, "a response is not an object"))
    })?;
    let mut reader = ReplyBodyReader::default();
    let read = match format {
        Format::OpenaiChat => openai_chat::response::read,
        Format::OpenaiResponses => openai_responses::response::read,
        Format::Anthropic => anthropic::response::read,
        Format::Gemini => gemini::response::read,
        Format::Bedrock => bedrock::response::read,
        Format::GeminiInteractions => gemini_interactions::response::read,
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
                Format::OpenaiChat => openai_chat::response::write(&mut writer),
                Format::OpenaiResponses => openai_responses::response::write(&mut writer),
                Format::Anthropic => anthropic::response::write(&mut writer),
                Format::Gemini => gemini::response::write(&mut writer),
                Format::Bedrock => bedrock::response::write(&mut writer),
                Format::GeminiInteractions => gemini_interactions::response::write(&mut writer),
            }
            writer.finish()
        }
        ModelResponse::Error(error) => {
            let mut body = String::with_capacity(error.message.len() + 128);
            provider_errors::write(format, error, &mut body);
            let losses = provider_errors::loss_note(format, error).map(|note| Loss {
                kind: LossKind::Unknown,
                location: LossLocation::Reply,
                note,
            });
            EncodedReply { body, losses: losses.into_iter().collect(), renamed: Vec::new() }
        }
    }
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

#[cfg(test)]
mod tests;
