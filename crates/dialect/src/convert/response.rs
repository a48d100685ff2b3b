//! Answers: read, and spelled in another format.

use foxwedge_core::Format;

use super::{ConversionOptions, tool_names};
use crate::{
    error::ReadError,
    model::{IdentifierReplacement, JsonText, Loss, ModelResponse, decode_reply, encode_reply},
};

/// An answer in another format.
#[derive(Clone, Debug)]
pub struct ConvertedResponse {
    /// The body.
    pub body: String,
    /// What could not be carried.
    pub losses: Vec<Loss>,
    /// Ids that the target does not take, and what stands for them.
    pub renamed: Vec<IdentifierReplacement>,
    /// The provider failed; the body says so.
    pub failed: bool,
}

/// Converts a whole response body.
///
/// # Errors
/// If the text is not JSON, or no response of that format.
pub fn response(
    source: &str,
    from: Format,
    to: Format,
    options: &ConversionOptions,
) -> Result<ConvertedResponse, ReadError> {
    let told = decode_reply(source, from)?;
    let mut outcome = tool_names::restore_tool_names(told.outcome, &options.renamed_tools);
    if let ModelResponse::Reply(reply) = &mut outcome {
        reply.created = reply.created.or(options.created);
        if let Some(model) = &options.model {
            reply.model = Some(JsonText::from(model.as_str()));
        }
    }
    let encoded = encode_reply(&outcome, to, &options.seed);
    let mut losses = told.losses;
    losses.extend(encoded.losses);
    let failed = matches!(outcome, ModelResponse::Error(_));
    Ok(ConvertedResponse { body: encoded.body, losses, renamed: encoded.renamed, failed })
}
