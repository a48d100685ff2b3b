//! Converts responses.

use foxwedge_core::Format;

use super::{ConversionOptions, tool_names};
use crate::{
    error::ReadError,
    model::{IdentifierReplacement, JsonText, Loss, ModelResponse, decode_reply, encode_reply},
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
    let mut converted = decoded_response(decoded.outcome, to, options);
    converted.losses.splice(..0, decoded.losses);
    Ok(converted)
}

/// Converts a response that is decoded already.
pub fn decoded_response(
    outcome: ModelResponse<'_>,
    to: Format,
    options: &ConversionOptions,
) -> ConvertedResponse {
    let mut outcome = tool_names::restore_tool_names(outcome, &options.renamed_tools);
    if let ModelResponse::Reply(reply) = &mut outcome {
        reply.created = reply.created.or(options.created);
        if let Some(model) = &options.model {
            reply.model = Some(JsonText::from(model.as_str()));
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
