//! Converts responses.

use foxwedge_core::Format;

use super::{ConversionOptions, tool_names};
use crate::{
    error::ReadError,
    model::{
        ContentPart, IdentifierReplacement, JsonText, Loss, LossKind, ModelResponse, StopReason,
        decode_reply, encode_reply,
    },
    stream::free_text,
};

/// A converted response.
#[derive(Clone, Debug)]
pub struct ConvertedResponse {
    /// The body.
    pub body: String,
    /// What the target format cannot represent.
    pub losses: Vec<Loss>,
    /// Call ids that the target does not accept, with their replacements.
    pub renamed: Vec<IdentifierReplacement>,
    /// Whether the body is a provider error.
    pub failed: bool,
}

/// Converts a complete response body.
///
/// # Errors
/// If the text is not JSON, or not a response of that format.
pub fn response(
    source: &str,
    from: Format,
    to: Format,
    options: &ConversionOptions,
) -> Result<ConvertedResponse, ReadError> {
    let decoded = decode_reply(source, from)?;
    // A stop reason that is no word of the format is written as the format has it.
    let keeps_stop = decoded.losses.iter().all(|loss| loss.kind != LossKind::StopReason);
    let stays = from == to && keeps_stop && stays_unchanged(&decoded.outcome, options);
    let mut converted = decoded_response(decoded.outcome, to, options);
    if stays && converted.renamed.is_empty() {
        return Ok(ConvertedResponse { body: source.to_owned(), losses: Vec::new(), ..converted });
    }
    converted.losses.splice(..0, decoded.losses);
    Ok(converted)
}

/// Whether a response needs no change in its own format, except perhaps for the ids of its calls.
fn stays_unchanged(outcome: &ModelResponse<'_>, options: &ConversionOptions) -> bool {
    let ModelResponse::Reply(reply) = outcome else { return false };
    let is_given = |text: &Option<JsonText<'_>>| text.as_ref().is_some_and(|text| !text.is_empty());
    // Bedrock's responses have neither.
    let has_head =
        reply.wire == Some(Format::Bedrock) || is_given(&reply.id) && is_given(&reply.model);
    let has_time = reply.created.is_some() || options.created.is_none();
    let has_calls =
        reply.parts.iter().any(|part| matches!(part.content(), ContentPart::ToolCall(_)));
    let has_stop = match reply.stop {
        Some(StopReason::End) => !has_calls,
        Some(StopReason::ToolCalls) => has_calls,
        Some(StopReason::Length) => true,
        // A word of one provider is written as the format has it.
        Some(_) | None => false,
    };
    let as_sent =
        options.model.is_none() && options.reply_id.is_none() && options.renamed_tools.is_empty();
    let as_sent = as_sent && options.free_text_tools.is_empty();
    as_sent && has_head && has_time && has_stop
}

/// Converts a response that is decoded already.
pub fn decoded_response(
    outcome: ModelResponse<'_>,
    to: Format,
    options: &ConversionOptions,
) -> ConvertedResponse {
    let mut outcome = outcome;
    if let ModelResponse::Reply(reply) = &mut outcome {
        free_text::restore_free_text(&mut reply.parts, &options.free_text_tools);
    }
    let mut outcome = tool_names::restore_tool_names(outcome, &options.renamed_tools);
    if let ModelResponse::Reply(reply) = &mut outcome {
        reply.created = reply.created.or(options.created);
        if let Some(model) = &options.model {
            reply.model = Some(JsonText::from(model.as_str()));
        }
        if let Some(id) = &options.reply_id {
            reply.id = Some(JsonText::from(id.as_str()));
        }
    }
    let encoded = encode_reply(&outcome, to, &options.seed);
    let failed = matches!(outcome, ModelResponse::Error(_));
    ConvertedResponse {
        body: encoded.body,
        losses: encoded.losses,
        renamed: encoded.renamed,
        failed,
    }
}
