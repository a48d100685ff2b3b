//! Writes a history for a format.
//!
//! What the format spelled itself is written as it was. Everything else is spelled anew, in the
//! layout the format wants: answers directly behind their calls, neighbours joined where roles must
//! alternate. What the format cannot hold is left out and listed, never silently.

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

/// Something that a format cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What is not there any more.
    pub kind: LossKind,
    /// Where it was.
    pub location: LossLocation,
    /// One sentence about this very place.
    pub note: String,
}

/// Where something was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LossLocation {
    /// Beside the conversation.
    Request,
    /// In the message of this index, counted in the history.
    Message(usize),
    /// In an answer of the provider.
    Reply,
}

/// What is not there any more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum LossKind {
    /// Instructions: the bare list has no place for them.
    Instructions,
    /// Reasoning of another provider.
    Reasoning,
    /// The signature under reasoning or a call, or its encrypted form.
    Signature,
    /// An image, a file, a sound.
    Media,
    /// The mark of a failed answer.
    ErrorMark,
    /// The place of a text behind a call.
    Order,
    /// Arguments that are no JSON object, as they were.
    Arguments,
    /// Where the prompt is cached.
    CacheMark,
    /// Where a text comes from.
    Citation,
    /// That a text is a refusal.
    Refusal,
    /// A call that the provider ran itself, and its answer.
    ServerCall,
    /// A tool that the format cannot declare.
    Tool,
    /// How a tool is to be chosen.
    ToolChoice,
    /// A setting of the request.
    Setting,
    /// Why the model stopped, in so many words.
    StopReason,
    /// A figure of what it cost.
    Usage,
    /// All answers but the first.
    Candidates,
    /// Something we do not know.
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

/// For whom a history is written.
#[derive(Clone, Debug)]
pub(crate) struct EncodeTarget {
    /// The format.
    pub(crate) wire: Format,
    /// Whose ids and names are taken.
    pub(crate) profile: Profile,
    /// What stood for ids before, and the ids that come back.
    pub(crate) restored_ids: HashMap<String, String>,
    /// Reasoning of other models is wanted, as far as it can be read.
    pub(crate) reasoning: bool,
    /// Instructions stand beside the list, where the format wants them there.
    pub(crate) separate_instructions: bool,
}

impl EncodeTarget {
    pub(crate) fn new(profile: Profile, wire: Format) -> EncodeTarget {
        EncodeTarget {
            wire,
            profile,
            restored_ids: HashMap::new(),
            // Its models refuse calls without the reasoning behind them.
            reasoning: profile == Profile::Deepseek,
            separate_instructions: false,
        }
    }
}

/// A history in a format.
pub(crate) struct EncodedHistory<'h> {
    /// What was written, as a reader would see it.
    pub(crate) outline: OutlineRecorder<'h>,
    /// Where the list lies.
    pub(crate) list: Span,
    /// What is missing.
    pub(crate) losses: Vec<Loss>,
    /// Ids that the format does not take, and what stands for them.
    pub(crate) renamed: Vec<IdentifierReplacement>,
    /// Names of tools that the format does not take, and what stands for them.
    pub(crate) renamed_tools: Vec<IdentifierReplacement>,
}

/// Writes the bare list of messages, and tells what is missing in it.
pub fn encode(history: &ModelHistory<'_>, wire: Format) -> (String, Vec<Loss>) {
    let mut out = String::with_capacity(estimate_capacity(history));
    let target = EncodeTarget::new(Profile::for_format(wire), wire);
    let mut page = HistoryEncoder::new(history, &target, CallPairs::of(history));
    let span = write_list(&mut page, &mut out);
    (out, finish(page, span).losses)
}

/// Writes a history at the end of a request object: instructions that stand beside the list, and
/// the list under its name. Everything else of the object is written by `before`, which is told
/// whether there are such instructions.
pub(crate) fn write_history<'h, 'a>(
    history: &'h ModelHistory<'a>,
    target: &'h EncodeTarget,
    pairs: CallPairs,
    mut before: impl FnMut(&mut String, bool) -> bool,
) -> (String, EncodedHistory<'h>) {
    let mut page = HistoryEncoder::new(history, target, pairs);
    let system = system::encode_instructions(&mut page);
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
    let span = write_list(&mut page, &mut out);
    out.push_str(if object { "}" } else { "" });
    (out, finish(page, span))
}

fn write_list(page: &mut HistoryEncoder<'_, '_>, out: &mut String) -> Span {
    let start = out.len();
    out.push('[');
    match page.wire {
        Format::OpenaiChat => chat::write_messages(page, out),
        Format::OpenaiResponses => responses::write_items(page, out),
        Format::Anthropic => blocks::write_messages(page, &anthropic::ENCODE_FORMAT, out),
        Format::Gemini => blocks::write_messages(page, &gemini::ENCODE_FORMAT, out),
        Format::Bedrock => blocks::write_messages(page, &bedrock::ENCODE_FORMAT, out),
    }
    out.push(']');
    Span::new(start, out.len())
}

fn finish<'h>(page: HistoryEncoder<'h, '_>, list: Span) -> EncodedHistory<'h> {
    let mut losses = page.losses;
    losses.sort_by_key(|loss| loss.location);
    EncodedHistory {
        outline: page.outline,
        list,
        losses,
        renamed: page.call_ids.renamed,
        renamed_tools: page.call_ids.renamed_tools,
    }
}

/// About how long the text will be.
fn estimate_capacity(history: &ModelHistory<'_>) -> usize {
    let part = |part: &super::ModelPart<'_>| part.origin().map_or(0, |raw| raw.json.len()) + 64;
    let said = |said: &super::ModelMessage<'_>| said.parts.iter().map(part).sum::<usize>() + 64;
    history.messages.iter().map(said).sum()
}
