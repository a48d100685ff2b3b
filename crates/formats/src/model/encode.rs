//! Writes a history for a format.
//!
//! A part that was read from the target format is written unchanged. All other parts are encoded
//! again in the layout of the format: tool results directly after their calls, and adjacent
//! messages merged where roles must alternate. Content that the format cannot represent is omitted
//! and reported as a loss.

pub(crate) mod json_writer;
mod outline;
mod history_encoder;
mod turns;
mod system;
mod chat;
mod responses;
mod blocks;
mod anthropic;
mod gemini;
mod bedrock;

use std::collections::HashMap;

use foxwedge_core::{Format, Profile, Span};

use super::{CallPairs, IdentifierReplacement, ModelHistory};
use crate::document::list_key;
use history_encoder::HistoryEncoder;
pub(crate) use history_encoder::{MEDIA_FOLLOWS, write_arguments_object};
pub(crate) use outline::OutlineRecorder;

/// Content that a format cannot represent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What was lost.
    pub kind: LossKind,
    /// Where it was.
    pub location: LossLocation,
    /// One sentence that describes this loss.
    pub note: String,
}

/// Where a loss occurred.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LossLocation {
    /// In the request settings.
    Request,
    /// In the message at this index of the history.
    Message(usize),
    /// In a provider response.
    Reply,
}

/// What was lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LossKind {
    /// Instructions: a bare list of messages cannot hold them.
    Instructions,
    /// Reasoning of another provider.
    Reasoning,
    /// The signature of reasoning or of a call, or the encrypted form.
    Signature,
    /// An image, a file, audio or video.
    Media,
    /// The error flag of a tool result.
    ErrorMark,
    /// The position of a text after a call.
    Order,
    /// Arguments that are not a JSON object.
    Arguments,
    /// A prompt cache marker.
    CacheMark,
    /// The source of a text.
    Citation,
    /// The mark of a text as a refusal.
    Refusal,
    /// A call that the provider ran itself, and its result.
    ServerCall,
    /// A tool that the format cannot declare.
    Tool,
    /// The tool choice.
    ToolChoice,
    /// A setting of the request.
    Setting,
    /// The exact stop reason.
    StopReason,
    /// A token count of the usage.
    Usage,
    /// All candidates but the first.
    Candidates,
    /// Content of an unknown type.
    Unknown,
}

impl LossKind {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            LossKind::Instructions => "instructions",
            LossKind::Reasoning => "reasoning",
            LossKind::Signature => "signature",
            LossKind::Media => "media",
            LossKind::ErrorMark => "error-mark",
            LossKind::Order => "order",
            LossKind::Arguments => "arguments",
            LossKind::CacheMark => "cache-mark",
            LossKind::Citation => "citation",
            LossKind::Refusal => "refusal",
            LossKind::ServerCall => "server-call",
            LossKind::Tool => "tool",
            LossKind::ToolChoice => "tool-choice",
            LossKind::Setting => "setting",
            LossKind::StopReason => "stop-reason",
            LossKind::Usage => "usage",
            LossKind::Candidates => "candidates",
            LossKind::Unknown => "unknown",
        }
    }
}

/// The target that a history is written for.
#[derive(Clone, Debug)]
pub(crate) struct EncodeTarget {
    /// The format.
    pub(crate) wire: Format,
    /// The profile whose rules for ids and names apply.
    pub(crate) profile: Profile,
    /// Maps replacements of an earlier conversion to the original ids.
    pub(crate) restored_ids: HashMap<String, String>,
    /// Whether readable reasoning of other models is written.
    pub(crate) reasoning: bool,
    /// Whether instructions go into a separate field, where the format has one.
    pub(crate) separate_instructions: bool,
}

impl EncodeTarget {
    pub(crate) fn new(profile: Profile, format: Format) -> EncodeTarget {
        EncodeTarget {
            wire: format,
            profile,
            restored_ids: HashMap::new(),
            // DeepSeek's models reject calls without their reasoning.
            reasoning: profile == Profile::Deepseek,
            separate_instructions: false,
        }
    }
}

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
    let system = system::encode_instructions(&mut encoder);
    let mut out = String::with_capacity(estimate_capacity(history));
    let object = before(&mut out, system.is_some());
    if let (true, Some(system)) = (object, system) {
        let key = if target.wire == Format::Gemini { "systemInstruction" } else { "system" };
        for piece in ["\"", key, "\":", &system, ","] {
            out.push_str(piece);
        }
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
    match encoder.wire {
        Format::OpenaiChat => chat::write_messages(encoder, out),
        Format::OpenaiResponses => responses::write_items(encoder, out),
        Format::Anthropic => blocks::write_messages(encoder, &anthropic::ENCODE_FORMAT, out),
        Format::Gemini => blocks::write_messages(encoder, &gemini::ENCODE_FORMAT, out),
        Format::Bedrock => blocks::write_messages(encoder, &bedrock::ENCODE_FORMAT, out),
    }
    out.push(']');
    Span::new(start, out.len())
}

fn finish<'h>(encoder: HistoryEncoder<'h, '_>, list: Span) -> EncodedHistory<'h> {
    let mut losses = encoder.losses;
    losses.sort_by_key(|loss| loss.location);
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
    let part = |part: &super::ModelPart<'_>| part.origin().map_or(0, |raw| raw.json.len()) + 64;
    let message =
        |message: &super::ModelMessage<'_>| message.parts.iter().map(part).sum::<usize>() + 64;
    history.messages.iter().map(message).sum()
}
