//! Writes a history for a format.
//!
//! What the format spelled itself is written as it was. Everything else is spelled anew, in the
//! layout the format wants: answers directly behind their calls, neighbours joined where roles must
//! alternate. What the format cannot hold is left out and listed, never silently.

pub(crate) mod pen;
mod outline;
mod page;
mod turns;
mod system;
mod chat;
mod responses;
mod blocks;
mod anthropic;
mod gemini;
mod bedrock;

use std::collections::HashMap;

use foxwedge_core::{Profile, Span, Wire};

use super::{History, Pairs, Renamed};
use crate::document::list_key;
pub(crate) use outline::Outline;
use page::Page;
pub(crate) use page::{BEHIND, object};

/// Something that a format cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What is not there any more.
    pub what: Lost,
    /// Where it was.
    pub at: Spot,
    /// One sentence about this very place.
    pub note: String,
}

/// Where something was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Spot {
    /// Beside the conversation.
    Request,
    /// In the message of this index, counted in the history.
    Message(usize),
    /// In an answer of the provider.
    Reply,
}

/// What is not there any more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Lost {
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

impl Lost {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Lost::Instructions => "instructions",
            Lost::Reasoning => "reasoning",
            Lost::Signature => "signature",
            Lost::Media => "media",
            Lost::ErrorMark => "error-mark",
            Lost::Order => "order",
            Lost::Arguments => "arguments",
            Lost::CacheMark => "cache-mark",
            Lost::Citation => "citation",
            Lost::Refusal => "refusal",
            Lost::ServerCall => "server-call",
            Lost::Tool => "tool",
            Lost::ToolChoice => "tool-choice",
            Lost::Setting => "setting",
            Lost::StopReason => "stop-reason",
            Lost::Usage => "usage",
            Lost::Candidates => "candidates",
            Lost::Unknown => "unknown",
        }
    }
}

/// For whom a history is written.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The format.
    pub(crate) wire: Wire,
    /// Whose ids and names are taken.
    pub(crate) profile: Profile,
    /// What stood for ids before, and the ids that come back.
    pub(crate) restore: HashMap<String, String>,
    /// Reasoning of other models is wanted, as far as it can be read.
    pub(crate) reasoning: bool,
    /// Instructions stand beside the list, where the format wants them there.
    pub(crate) beside: bool,
}

impl Target {
    pub(crate) fn new(profile: Profile, wire: Wire) -> Target {
        Target {
            wire,
            profile,
            restore: HashMap::new(),
            // Its models refuse calls without the reasoning behind them.
            reasoning: profile == Profile::Deepseek,
            beside: false,
        }
    }
}

/// A history in a format.
pub(crate) struct Written<'h> {
    /// What was written, as a reader would see it.
    pub(crate) outline: Outline<'h>,
    /// Where the list lies.
    pub(crate) list: Span,
    /// What is missing.
    pub(crate) losses: Vec<Loss>,
    /// Ids that the format does not take, and what stands for them.
    pub(crate) renamed: Vec<Renamed>,
    /// Names of tools that the format does not take, and what stands for them.
    pub(crate) names: Vec<Renamed>,
}

/// Writes the bare list of messages, and tells what is missing in it.
pub fn encode(history: &History<'_>, wire: Wire) -> (String, Vec<Loss>) {
    let mut out = String::with_capacity(capacity(history));
    let target = Target::new(Profile::of(wire), wire);
    let mut page = Page::new(history, &target, Pairs::of(history));
    let span = list(&mut page, &mut out);
    (out, finish(page, span).losses)
}

/// Writes a history at the end of a request object: instructions that stand beside the list, and
/// the list under its name. Everything else of the object is written by `before`, which is told
/// whether there are such instructions.
pub(crate) fn write<'h, 'a>(
    history: &'h History<'a>,
    target: &'h Target,
    pairs: Pairs,
    mut before: impl FnMut(&mut String, bool) -> bool,
) -> (String, Written<'h>) {
    let mut page = Page::new(history, target, pairs);
    let system = system::beside(&mut page);
    let mut out = String::with_capacity(capacity(history));
    let object = before(&mut out, system.is_some());
    if let (true, Some(system)) = (object, system) {
        let key = if target.wire == Wire::Gemini { "systemInstruction" } else { "system" };
        for piece in ["\"", key, "\":", &system, ","] {
            out.push_str(piece);
        }
    }
    if object {
        for piece in ["\"", list_key(target.wire), "\":"] {
            out.push_str(piece);
        }
    }
    let span = list(&mut page, &mut out);
    out.push_str(if object { "}" } else { "" });
    (out, finish(page, span))
}

fn list(page: &mut Page<'_, '_>, out: &mut String) -> Span {
    let start = out.len();
    out.push('[');
    match page.wire {
        Wire::OpenaiChat => chat::messages(page, out),
        Wire::OpenaiResponses => responses::items(page, out),
        Wire::Anthropic => blocks::messages(page, &anthropic::SPELLING, out),
        Wire::Gemini => blocks::messages(page, &gemini::SPELLING, out),
        Wire::Bedrock => blocks::messages(page, &bedrock::SPELLING, out),
    }
    out.push(']');
    Span::new(start, out.len())
}

fn finish<'h>(page: Page<'h, '_>, list: Span) -> Written<'h> {
    let mut losses = page.losses;
    losses.sort_by_key(|loss| loss.at);
    Written {
        outline: page.outline,
        list,
        losses,
        renamed: page.ledger.renamed,
        names: page.ledger.names,
    }
}

/// About how long the text will be.
fn capacity(history: &History<'_>) -> usize {
    let part = |part: &super::Part<'_>| part.raw().map_or(0, |raw| raw.json.len()) + 64;
    let said = |said: &super::Said<'_>| said.parts.iter().map(part).sum::<usize>() + 64;
    history.messages.iter().map(said).sum()
}
