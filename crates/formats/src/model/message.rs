//! Model output as a message of its own format, for the next request.
//!
//! A provider requires more than the text back: signatures, encrypted reasoning, ids. The message
//! includes these. It omits what the provider would reject: unsigned reasoning where a signature is
//! required, and reasoning that nothing follows.

use foxwedge_core::Format;

use super::{
    decode::{decode, decode_message},
    encode::encode,
};
use crate::{
    anthropic,
    conversation::{
        ContentPart, ModelHistory, ModelMessage, ModelPart, ModelReply, ModelRole,
        ReasoningSignature, encode::BlockEncodeFormat,
    },
    error::ReadError,
    gemini, gemini_interactions, openai_chat, openai_responses,
};

/// Reads one turn: a message, or a list of messages. A turn of a Responses model is several items,
/// a turn of an Interactions model several steps.
///
/// # Errors
/// If the text is not JSON, is neither an object nor a list, or is a list with an element that is
/// not a message.
pub fn decode_turn(source: &str, format: Format) -> Result<Vec<ModelMessage<'_>>, ReadError> {
    match source.trim_start().starts_with('[') {
        true => Ok(decode(source, format)?.messages),
        false => Ok(vec![decode_message(source, format)?]),
    }
}

/// Writes a response as a message of `format`, which must be its own format; for Responses and
/// Interactions as a list of items. Returns `None` if the response holds nothing but reasoning. A call without an id
/// is written without one.
pub fn encode_turn(reply: &ModelReply<'_>, format: Format) -> Option<String> {
    let parts: Vec<&ModelPart<'_>> =
        reply.parts.iter().filter(|part| is_accepted_back(part, format)).collect();
    let has_output = |part: &&&ModelPart<'_>| !matches!(part.content(), ContentPart::Reasoning(_));
    // A Gemini signature may be the last part of a message.
    let last = match format {
        Format::Gemini | Format::OpenaiChat => parts.len(),
        _ => parts.len() - parts.iter().rev().take_while(|part| !has_output(part)).count(),
    };
    let parts = parts.get(..last).filter(|parts| parts.iter().any(|part| has_output(&part)))?;
    Some(match format {
        Format::OpenaiChat => openai_chat::encode::encode_turn(parts),
        Format::OpenaiResponses => openai_responses::encode::encode_turn(parts),
        Format::GeminiInteractions => gemini_interactions::encode::encode_turn(parts),
        Format::Anthropic => encode_blocks(
            &anthropic::encode::ENCODE_FORMAT,
            parts,
            anthropic::encode::write_turn_block,
        ),
        Format::Gemini => {
            encode_blocks(&gemini::encode::ENCODE_FORMAT, parts, gemini::encode::write_turn_part)
        }
        Format::Bedrock => {
            let parts = parts.iter().map(|part| ModelPart::new(part.content().clone())).collect();
            let messages = vec![ModelMessage::new(ModelRole::Assistant, parts)];
            let (list, _) = encode(&ModelHistory { messages }, format);
            list.strip_prefix('[')?.strip_suffix(']')?.to_owned()
        }
    })
}

/// Whether the provider accepts this part in a later request.
fn is_accepted_back(part: &ModelPart<'_>, format: Format) -> bool {
    match part.content() {
        ContentPart::Text(text) => match format {
            Format::Anthropic | Format::Bedrock => !text.trim().is_empty(),
            Format::OpenaiChat
            | Format::OpenaiResponses
            | Format::Gemini
            | Format::GeminiInteractions => !text.is_empty(),
        },
        ContentPart::ToolCall(_) => true,
        ContentPart::Reasoning(reasoning) => match (format, &reasoning.signature) {
            (Format::OpenaiChat, _) => !reasoning.text.is_empty(),
            (Format::OpenaiResponses, signature) => {
                matches!(signature, ReasoningSignature::Encrypted(_))
            }
            (Format::Anthropic, ReasoningSignature::Signed(value)) => !value.is_empty(),
            (Format::Anthropic, ReasoningSignature::Redacted(data)) => !data.is_empty(),
            (
                Format::Anthropic,
                ReasoningSignature::Unsigned | ReasoningSignature::Encrypted(_),
            ) => false,
            (Format::Gemini | Format::GeminiInteractions, ReasoningSignature::Signed(_)) => true,
            (Format::Gemini, _) => !reasoning.text.is_empty(),
            (Format::GeminiInteractions, _) => false,
            // Encoded again, the reasoning has no valid signature.
            (Format::Bedrock, _) => false,
        },
        ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => false,
    }
}

/// Writes a message that is a list of blocks.
fn encode_blocks(
    style: &BlockEncodeFormat,
    parts: &[&ModelPart<'_>],
    block: fn(&mut String, &ContentPart<'_>),
) -> String {
    let mut out = format!("{{\"role\":\"{}\",\"{}\":[", style.model_role, style.blocks);
    for part in parts {
        block(&mut out, part.content());
    }
    out.push_str("]}");
    out
}

#[cfg(test)]
mod tests;
