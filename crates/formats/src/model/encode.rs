//! Writes a history for a format.
//!
//! A part that was read from the target format is written unchanged. All other parts are encoded
//! again in the layout of the format: tool results directly after their calls, and adjacent
//! messages merged where roles must alternate. Content that the format cannot represent is omitted
//! and reported as a loss.

use foxwedge_core::sorting::sort_by_key;
use foxwedge_core::{Format, Profile, Span};

use crate::{
    anthropic, bedrock,
    conversation::{
        CallPairs, IdentifierReplacement, Loss, ModelHistory, ModelMessage, ModelPart,
        encode::{
            BlockEncodeFormat, EncodeTarget, HistoryEncoder, ItemEncodeFormat, OutlineRecorder,
            encode_instructions, write_items, write_messages,
        },
    },
    envelope::list_key,
    gemini, gemini_interactions, openai_chat, openai_responses,
};

/// A history encoded in a format.
pub(crate) struct EncodedHistory<'h> {
    /// Outline of the written text.
    pub(crate) outline: OutlineRecorder<'h>,
    /// Span of the list of messages.
    pub(crate) list: Span,
    /// What the format cannot represent.
    pub(crate) losses: Vec<Loss>,
    /// Ids that the format does not accept, with their replacements.
    pub(crate) renamed: Vec<IdentifierReplacement>,
    /// Tool names that the format does not accept, with their replacements.
    pub(crate) renamed_tools: Vec<IdentifierReplacement>,
}

/// Writes the bare list of messages and returns its losses.
pub fn encode(history: &ModelHistory<'_>, format: Format) -> (String, Vec<Loss>) {
    let mut out = String::with_capacity(estimate_capacity(history));
    let target = EncodeTarget::new(Profile::for_format(format), format);
    let mut encoder = HistoryEncoder::new(history, &target, CallPairs::of(history));
    let span = write_list(&mut encoder, &mut out);
    (out, finish(encoder, span).losses)
}

/// Writes a history at the end of a request object: separate instructions, then the list of
/// messages. `before` writes all other fields; its argument is whether there are separate
/// instructions.
pub(crate) fn write_history<'h, 'a>(
    history: &'h ModelHistory<'a>,
    target: &'h EncodeTarget,
    pairs: CallPairs,
    mut before: impl FnMut(&mut String, bool) -> bool,
) -> (String, EncodedHistory<'h>) {
    let mut encoder = HistoryEncoder::new(history, target, pairs);
    let instructions = match list_encoder(target.wire) {
        ListEncoder::Blocks(style) => encode_instructions(&mut encoder, style),
        ListEncoder::Items(_) if target.wire == Format::GeminiInteractions => {
            gemini_interactions::encode::encode_instructions(&mut encoder)
        }
        ListEncoder::Items(_) | ListEncoder::Messages(_) => None,
    };
    let mut out = String::with_capacity(estimate_capacity(history));
    let object = before(&mut out, instructions.is_some());
    if let (true, Some(instructions)) = (object, instructions) {
        out.push_str(&instructions);
        out.push(',');
    }
    if object {
        for piece in ["\"", list_key(target.wire), "\":"] {
            out.push_str(piece);
        }
    }
    let span = write_list(&mut encoder, &mut out);
    out.push_str(if object { "}" } else { "" });
    (out, finish(encoder, span))
}

fn write_list(encoder: &mut HistoryEncoder<'_, '_>, out: &mut String) -> Span {
    let start = out.len();
    out.push('[');
    match list_encoder(encoder.wire) {
        ListEncoder::Blocks(style) => write_messages(encoder, style, out),
        ListEncoder::Items(style) => write_items(encoder, style, out),
        ListEncoder::Messages(write) => write(encoder, out),
    }
    out.push(']');
    Span::new(start, out.len())
}

/// How a format encodes its list of messages.
enum ListEncoder {
    /// Every message is a list of blocks.
    Blocks(&'static BlockEncodeFormat),
    /// Every call and every result is an item.
    Items(&'static ItemEncodeFormat),
    /// With a function of its own.
    Messages(fn(&mut HistoryEncoder<'_, '_>, &mut String)),
}

fn list_encoder(format: Format) -> ListEncoder {
    match format {
        Format::OpenaiChat => ListEncoder::Messages(openai_chat::encode::write_messages),
        Format::OpenaiResponses => ListEncoder::Items(&openai_responses::encode::ENCODE_FORMAT),
        Format::Anthropic => ListEncoder::Blocks(&anthropic::encode::ENCODE_FORMAT),
        Format::Gemini => ListEncoder::Blocks(&gemini::encode::ENCODE_FORMAT),
        Format::Bedrock => ListEncoder::Blocks(&bedrock::encode::ENCODE_FORMAT),
        Format::GeminiInteractions => {
            ListEncoder::Items(&gemini_interactions::encode::ENCODE_FORMAT)
        }
    }
}

fn finish<'h>(encoder: HistoryEncoder<'h, '_>, list: Span) -> EncodedHistory<'h> {
    let mut losses = encoder.losses;
    sort_by_key(&mut losses, |loss| loss.location);
    EncodedHistory {
        outline: encoder.outline,
        list,
        losses,
        renamed: encoder.call_ids.renamed,
        renamed_tools: encoder.call_ids.renamed_tools,
    }
}

/// Estimates the length of the encoded text.
fn estimate_capacity(history: &ModelHistory<'_>) -> usize {
    let part = |part: &ModelPart<'_>| part.origin().map_or(0, |raw| raw.json.len()) + 64;
    let message = |message: &ModelMessage<'_>| message.parts.iter().map(part).sum::<usize>() + 64;
    history.messages.iter().map(message).sum()
}
