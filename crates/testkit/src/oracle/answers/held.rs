//! What a format can hold of another format's response, and what is lost.
//!
//! Everything that is not in this list must arrive:
//!
//! - A seal of reasoning is only valid for its provider. Anthropic and Bedrock serve the same
//!   models and accept each other's signatures and redacted blocks; all other formats lose the
//!   signature, the redacted block, or the encrypted reasoning.
//! - Google's signature of a call exists in Chat and in Gemini only.
//! - Only OpenAI's formats can mark a refusal and call a tool with free text. Elsewhere a refusal
//!   is text, and free text is the only field of an object.
//! - Chat has one reasoning text, one text, and then calls; blocks in another order move. A refusal
//!   is a separate field without a position.
//! - In Gemini, consecutive texts are one text, and so is consecutive reasoning.
//! - A format without a given stop reason uses the nearest one. OpenAI and Google use the same
//!   value for the end and for a stop sequence. An unknown value becomes the end, even in its own
//!   format, or the limit of tokens if a call is incomplete.
//! - Google does not count tokens written to a cache; Bedrock does not count reasoning.
//! - Interactions have no status for a refusal.
//! - Bedrock has neither an id for a response nor a name for its model.

use std::collections::BTreeSet;

use foxwedge_core::Format;

use super::{OracleReply, ReasoningSeal, ReplyBlock, ReplyCall, ReplyCallInput, ReplyStop, stops};

/// The expected result of a conversion.
#[derive(Clone, PartialEq, Debug)]
pub struct ExpectedReply {
    /// The response. A call whose id must be replaced has none.
    pub answer: OracleReply,
    /// The kinds of losses.
    pub lost: BTreeSet<&'static str>,
}

/// How a response is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyForm {
    /// As one body.
    Body,
    /// As a stream.
    Stream,
}

/// The expected result of converting a response.
pub fn expected(answer: &OracleReply, from: Format, to: Format) -> ExpectedReply {
    let mut lost = BTreeSet::new();
    let mut blocks: Vec<ReplyBlock> =
        answer.blocks.iter().filter_map(|block| held(block, from, to, &mut lost)).collect();
    if to == Format::OpenaiChat && is_moved(&blocks) {
        lost.insert("order");
    }
    ids(&mut blocks, to);
    let has_calls = blocks.iter().any(|block| matches!(block, ReplyBlock::Call(_)));
    let mut usage = answer.usage;
    let uncounted = match to {
        Format::Gemini | Format::GeminiInteractions => std::mem::take(&mut usage.stored),
        Format::Bedrock => std::mem::take(&mut usage.reasoning),
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic => 0,
    };
    if uncounted > 0 {
        lost.insert("usage");
    }
    let is_half = |call: &ReplyCall| matches!(call.input, ReplyCallInput::Broken(_));
    let has_half_call = answer.calls().any(is_half);
    let stop = answer.stop.as_ref().map(|stop| {
        let (reason, less) = match stop {
            ReplyStop::Other(_) if has_half_call => (ReplyStop::Length, true),
            stop => nearest(stop, to),
        };
        if less {
            lost.insert("stop-reason");
        }
        match reason {
            // A response with calls waits for results; in Chat, a forced call may have the reason
            // for a normal end.
            ReplyStop::End if has_calls && *stop == ReplyStop::End && to != Format::OpenaiChat => {
                ReplyStop::Calls
            }
            ReplyStop::End if has_calls && !names_calls(to) => ReplyStop::Calls,
            ReplyStop::Calls if !has_calls => ReplyStop::End,
            reason => reason,
        }
    });
    let named = to != Format::Bedrock;
    let answer = OracleReply {
        id: answer.id.clone().filter(|_| named),
        model: answer.model.clone().filter(|_| named),
        blocks: normal(blocks, to),
        stop,
        usage,
    };
    ExpectedReply { answer, lost }
}

/// The blocks as a format shows them: empty blocks are removed, and blocks that the format joins
/// are one.
pub fn normal(blocks: Vec<ReplyBlock>, format: Format) -> Vec<ReplyBlock> {
    let says = |block: &ReplyBlock| match block {
        ReplyBlock::Text(text) | ReplyBlock::Refusal(text) => !text.is_empty(),
        ReplyBlock::Reasoning(text, seal) => !text.is_empty() || *seal != ReasoningSeal::Open,
        ReplyBlock::Call(_) => true,
    };
    let blocks = blocks.into_iter().filter(says);
    match format {
        Format::OpenaiChat => in_chat(blocks),
        Format::Gemini => {
            let mut joined: Vec<ReplyBlock> = Vec::new();
            for block in blocks {
                match (joined.last_mut(), block) {
                    (Some(ReplyBlock::Text(last)), ReplyBlock::Text(text)) => last.push_str(&text),
                    (
                        Some(ReplyBlock::Reasoning(last, open @ ReasoningSeal::Open)),
                        ReplyBlock::Reasoning(text, seal),
                    ) => {
                        last.push_str(&text);
                        *open = seal;
                    }
                    (_, block) => joined.push(block),
                }
            }
            joined
        }
        Format::OpenaiResponses
        | Format::Anthropic
        | Format::Bedrock
        | Format::GeminiInteractions => blocks.collect(),
    }
}

fn in_chat(blocks: impl Iterator<Item = ReplyBlock>) -> Vec<ReplyBlock> {
    let (mut thoughts, mut texts, mut refusals) = (Vec::new(), String::new(), String::new());
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            ReplyBlock::Text(text) => texts.push_str(&text),
            ReplyBlock::Refusal(text) => refusals.push_str(&text),
            ReplyBlock::Reasoning(text, _) => thoughts.push(text),
            call @ ReplyBlock::Call(_) => calls.push(call),
        }
    }
    let thought = ReplyBlock::Reasoning(thoughts.join("\n\n"), ReasoningSeal::Open);
    let mut all = Vec::new();
    all.extend((!thoughts.is_empty()).then_some(thought));
    all.extend((!texts.is_empty()).then_some(ReplyBlock::Text(texts)));
    all.extend((!refusals.is_empty()).then_some(ReplyBlock::Refusal(refusals)));
    all.extend(calls);
    all
}

/// Whether Chat changes the order of the blocks.
fn is_moved(blocks: &[ReplyBlock]) -> bool {
    let rank = |block: &ReplyBlock| match block {
        ReplyBlock::Reasoning(..) => Some(0),
        ReplyBlock::Text(text) => (!text.is_empty()).then_some(1),
        ReplyBlock::Refusal(_) => None,
        ReplyBlock::Call(_) => Some(2),
    };
    let ranks: Vec<i32> = blocks.iter().filter_map(rank).collect();
    ranks.windows(2).any(|pair| pair[0] > pair[1])
}

fn held(
    block: &ReplyBlock,
    from: Format,
    to: Format,
    lost: &mut BTreeSet<&'static str>,
) -> Option<ReplyBlock> {
    let openai = matches!(to, Format::OpenaiChat | Format::OpenaiResponses);
    Some(match block {
        ReplyBlock::Text(text) => ReplyBlock::Text(text.clone()),
        ReplyBlock::Refusal(text) if openai => ReplyBlock::Refusal(text.clone()),
        ReplyBlock::Refusal(text) => {
            if !text.is_empty() {
                lost.insert("refusal");
            }
            ReplyBlock::Text(text.clone())
        }
        ReplyBlock::Reasoning(text, seal) => {
            let stays = match seal {
                ReasoningSeal::Open => true,
                ReasoningSeal::Signed(_) => takes_seals(from, to) && to != Format::OpenaiChat,
                ReasoningSeal::Redacted(_) => matches!(to, Format::Anthropic | Format::Bedrock),
                ReasoningSeal::Encrypted(_) => to == Format::OpenaiResponses,
            };
            if !stays {
                let redacted = matches!(seal, ReasoningSeal::Redacted(_));
                lost.insert(if redacted { "reasoning" } else { "signature" });
            }
            let seal = if stays { seal.clone() } else { ReasoningSeal::Open };
            if text.is_empty() && seal == ReasoningSeal::Open {
                return None;
            }
            ReplyBlock::Reasoning(text.clone(), seal)
        }
        ReplyBlock::Call(call) => {
            let mut call = call.clone();
            if !openai && let ReplyCallInput::Free(_) = &call.input {
                call.input = ReplyCallInput::Json(call.input.object());
            }
            let signs = matches!(to, Format::OpenaiChat | Format::Gemini);
            if !signs && call.signature.take().is_some() {
                lost.insert("signature");
            }
            ReplyBlock::Call(call)
        }
    })
}

/// Whether a seal of one format is valid in another.
fn takes_seals(from: Format, to: Format) -> bool {
    let claude = |format| matches!(format, Format::Anthropic | Format::Bedrock);
    from == to || claude(from) && claude(to)
}

/// Removes the ids that cannot stay: illegal ones, and those that an earlier call has.
fn ids(blocks: &mut [ReplyBlock], to: Format) {
    let mut given = BTreeSet::new();
    for block in blocks {
        if let ReplyBlock::Call(ReplyCall { id, .. }) = block {
            *id = id.take().filter(|id| legal_id(to, id) && given.insert(id.clone()));
        }
    }
}

/// Whether an id of a call is legal in a format.
pub fn legal_id(format: Format, id: &str) -> bool {
    let length = id.chars().count();
    let made_of = |also: &str| id.chars().all(|it| it.is_ascii_alphanumeric() || also.contains(it));
    length > 0
        && match format {
            Format::OpenaiChat => length <= 40,
            Format::OpenaiResponses => length <= 64,
            Format::Anthropic => made_of("_-"),
            Format::Gemini | Format::GeminiInteractions => true,
            Format::Bedrock => made_of("_.:-") && length <= 64,
        }
}

/// Whether the format has a stop reason for tool calls.
fn names_calls(format: Format) -> bool {
    matches!(
        format,
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock | Format::GeminiInteractions
    )
}

/// The nearest stop reason that a format has, and whether information is lost.
fn nearest(stop: &ReplyStop, to: Format) -> (ReplyStop, bool) {
    let claude = matches!(to, Format::Anthropic | Format::Bedrock);
    match stop {
        ReplyStop::Refusal if to == Format::GeminiInteractions => (ReplyStop::End, true),
        ReplyStop::End | ReplyStop::Length | ReplyStop::Refusal => (stop.clone(), false),
        ReplyStop::Calls if names_calls(to) => (ReplyStop::Calls, false),
        ReplyStop::Calls => (ReplyStop::End, false),
        ReplyStop::ContextFull if claude => (stop.clone(), false),
        ReplyStop::ContextFull => (ReplyStop::Length, true),
        ReplyStop::Sequence(_) if claude => (stop.clone(), false),
        ReplyStop::Sequence(text) => (ReplyStop::End, text.is_some()),
        ReplyStop::Pause if matches!(to, Format::Anthropic | Format::GeminiInteractions) => {
            (stop.clone(), false)
        }
        ReplyStop::Malformed if matches!(to, Format::Gemini | Format::Bedrock) => {
            (stop.clone(), false)
        }
        ReplyStop::Malformed => (ReplyStop::Length, true),
        ReplyStop::Pause => (ReplyStop::End, true),
        ReplyStop::Other(value) if stops::is_kept(to, value) => (stop.clone(), false),
        ReplyStop::Other(value) => match stops::plain(value) {
            ReplyStop::Refusal if to == Format::GeminiInteractions => (ReplyStop::End, true),
            plain => (plain, true),
        },
    }
}
