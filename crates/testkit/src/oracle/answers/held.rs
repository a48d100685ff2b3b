//! What a format can hold of another format's answer, and what is lost on the way.
//!
//! Everything that is not on this list has to arrive:
//!
//! - A seal of reasoning means something to its maker only. Anthropic and Bedrock serve the same
//!   models and take each other's signatures and redacted blocks; everybody else loses the
//!   signature, the redacted block, or the encrypted form of it.
//! - Google's signature of a call stands in Chat and in Gemini only.
//! - Only OpenAI's formats can mark a refusal and call a tool with free text. Elsewhere a refusal is
//!   text, and free text is the only field of an object.
//! - Chat has one reasoning, one text, and then calls: what stands elsewhere moves. A refusal stands
//!   beside them, and has no place among them.
//!   In Gemini, texts in a row are one text, and so is reasoning.
//! - A format without a word for why the model stopped says the nearest one. OpenAI's and Google's
//!   words for the end are also their words for a stop sequence. A word that nobody knows is told
//!   as the end, even in its own format.
//! - Gemini does not count what was put into a cache, Bedrock does not count reasoning.
//! - Bedrock has neither a name for an answer nor for its model.

use std::collections::BTreeSet;

use foxwedge_core::Format;

use super::{Answer, Block, Call, Input, Seal, Stop, stops};

/// What is to come out.
#[derive(Clone, PartialEq, Debug)]
pub struct Expected {
    /// The answer. A call whose id cannot stay has none.
    pub answer: Answer,
    /// The names of what is lost.
    pub lost: BTreeSet<&'static str>,
}

/// In which form an answer goes over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In one piece.
    Body,
    /// In pieces.
    Stream,
}

/// What a format has to say of another format's answer.
pub fn expected(answer: &Answer, from: Format, to: Format) -> Expected {
    let mut lost = BTreeSet::new();
    let mut blocks: Vec<Block> =
        answer.blocks.iter().filter_map(|block| held(block, from, to, &mut lost)).collect();
    if to == Format::OpenaiChat && is_moved(&blocks) {
        lost.insert("order");
    }
    ids(&mut blocks, to);
    let has_calls = blocks.iter().any(|block| matches!(block, Block::Call(_)));
    let mut usage = answer.usage;
    let uncounted = match to {
        Format::Gemini => std::mem::take(&mut usage.stored),
        Format::Bedrock => std::mem::take(&mut usage.reasoning),
        Format::OpenaiChat | Format::OpenaiResponses | Format::Anthropic => 0,
    };
    if uncounted > 0 {
        lost.insert("usage");
    }
    let stop = answer.stop.as_ref().map(|stop| {
        let (told, less) = nearest(stop, to);
        if less {
            lost.insert("stop-reason");
        }
        match told {
            // What waits for answers says so; in Chat, a call that was asked for may just end.
            Stop::End if has_calls && *stop == Stop::End && to != Format::OpenaiChat => Stop::Calls,
            Stop::End if has_calls && !names_calls(to) => Stop::Calls,
            Stop::Calls if !has_calls => Stop::End,
            told => told,
        }
    });
    let named = to != Format::Bedrock;
    let answer = Answer {
        id: answer.id.clone().filter(|_| named),
        model: answer.model.clone().filter(|_| named),
        blocks: normal(blocks, to),
        stop,
        usage,
    };
    Expected { answer, lost }
}

/// The blocks as their format shows them: what says nothing is not there, and what is one is one.
pub fn normal(blocks: Vec<Block>, wire: Format) -> Vec<Block> {
    let says = |block: &Block| match block {
        Block::Text(text) | Block::Refusal(text) => !text.is_empty(),
        Block::Reasoning(text, seal) => !text.is_empty() || *seal != Seal::Open,
        Block::Call(_) => true,
    };
    let blocks = blocks.into_iter().filter(says);
    match wire {
        Format::OpenaiChat => in_chat(blocks),
        Format::Gemini => {
            let mut joined: Vec<Block> = Vec::new();
            for block in blocks {
                match (joined.last_mut(), block) {
                    (Some(Block::Text(last)), Block::Text(text)) => last.push_str(&text),
                    (
                        Some(Block::Reasoning(last, open @ Seal::Open)),
                        Block::Reasoning(text, seal),
                    ) => {
                        last.push_str(&text);
                        *open = seal;
                    }
                    (_, block) => joined.push(block),
                }
            }
            joined
        }
        Format::OpenaiResponses | Format::Anthropic | Format::Bedrock => blocks.collect(),
    }
}

fn in_chat(blocks: impl Iterator<Item = Block>) -> Vec<Block> {
    let (mut thoughts, mut texts, mut refusals) = (Vec::new(), String::new(), String::new());
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            Block::Text(text) => texts.push_str(&text),
            Block::Refusal(text) => refusals.push_str(&text),
            Block::Reasoning(text, _) => thoughts.push(text),
            call @ Block::Call(_) => calls.push(call),
        }
    }
    let thought = Block::Reasoning(thoughts.join("\n\n"), Seal::Open);
    let mut all = Vec::new();
    all.extend((!thoughts.is_empty()).then_some(thought));
    all.extend((!texts.is_empty()).then_some(Block::Text(texts)));
    all.extend((!refusals.is_empty()).then_some(Block::Refusal(refusals)));
    all.extend(calls);
    all
}

/// Whether Chat shows the blocks in another order.
fn is_moved(blocks: &[Block]) -> bool {
    let rank = |block: &Block| match block {
        Block::Reasoning(..) => Some(0),
        Block::Text(text) => (!text.is_empty()).then_some(1),
        Block::Refusal(_) => None,
        Block::Call(_) => Some(2),
    };
    let ranks: Vec<i32> = blocks.iter().filter_map(rank).collect();
    ranks.windows(2).any(|pair| pair[0] > pair[1])
}

fn held(
    block: &Block,
    from: Format,
    to: Format,
    lost: &mut BTreeSet<&'static str>,
) -> Option<Block> {
    let openai = matches!(to, Format::OpenaiChat | Format::OpenaiResponses);
    Some(match block {
        Block::Text(text) => Block::Text(text.clone()),
        Block::Refusal(text) if openai => Block::Refusal(text.clone()),
        Block::Refusal(text) => {
            if !text.is_empty() {
                lost.insert("refusal");
            }
            Block::Text(text.clone())
        }
        Block::Reasoning(text, seal) => {
            let stays = match seal {
                Seal::Open => true,
                Seal::Signed(_) => takes_seals(from, to) && to != Format::OpenaiChat,
                Seal::Redacted(_) => matches!(to, Format::Anthropic | Format::Bedrock),
                Seal::Encrypted(_) => to == Format::OpenaiResponses,
            };
            if !stays {
                let redacted = matches!(seal, Seal::Redacted(_));
                lost.insert(if redacted { "reasoning" } else { "signature" });
            }
            let seal = if stays { seal.clone() } else { Seal::Open };
            if text.is_empty() && seal == Seal::Open {
                return None;
            }
            Block::Reasoning(text.clone(), seal)
        }
        Block::Call(call) => {
            let mut call = call.clone();
            if !openai && let Input::Free(_) = &call.input {
                call.input = Input::Json(call.input.object());
            }
            let signs = matches!(to, Format::OpenaiChat | Format::Gemini);
            if !signs && call.signature.take().is_some() {
                lost.insert("signature");
            }
            Block::Call(call)
        }
    })
}

/// Whether a seal of one format means anything in another.
fn takes_seals(from: Format, to: Format) -> bool {
    let claude = |wire| matches!(wire, Format::Anthropic | Format::Bedrock);
    from == to || claude(from) && claude(to)
}

/// Takes away the ids that cannot stay: illegal ones, and those that a call before has.
fn ids(blocks: &mut [Block], to: Format) {
    let mut given = BTreeSet::new();
    for block in blocks {
        if let Block::Call(Call { id, .. }) = block {
            *id = id.take().filter(|id| legal_id(to, id) && given.insert(id.clone()));
        }
    }
}

/// Whether a format takes an id of a call.
pub fn legal_id(wire: Format, id: &str) -> bool {
    let length = id.chars().count();
    let made_of = |also: &str| id.chars().all(|it| it.is_ascii_alphanumeric() || also.contains(it));
    length > 0
        && match wire {
            Format::OpenaiChat => length <= 40,
            Format::OpenaiResponses => length <= 64,
            Format::Anthropic => made_of("_-"),
            Format::Gemini => true,
            Format::Bedrock => made_of("_.:-") && length <= 64,
        }
}

/// Whether the format has a word for an answer that waits for answers.
fn names_calls(wire: Format) -> bool {
    matches!(wire, Format::OpenaiChat | Format::Anthropic | Format::Bedrock)
}

/// The nearest reason that a format can tell, and whether that says less.
fn nearest(stop: &Stop, to: Format) -> (Stop, bool) {
    let claude = matches!(to, Format::Anthropic | Format::Bedrock);
    match stop {
        Stop::End | Stop::Length | Stop::Refusal => (stop.clone(), false),
        Stop::Calls if names_calls(to) => (Stop::Calls, false),
        Stop::Calls => (Stop::End, false),
        Stop::ContextFull if claude => (stop.clone(), false),
        Stop::ContextFull => (Stop::Length, true),
        Stop::Sequence(_) if claude => (stop.clone(), false),
        Stop::Sequence(text) => (Stop::End, text.is_some()),
        Stop::Pause if to == Format::Anthropic => (stop.clone(), false),
        Stop::Malformed if matches!(to, Format::Gemini | Format::Bedrock) => (stop.clone(), false),
        Stop::Pause | Stop::Malformed => (Stop::End, true),
        Stop::Other(word) if stops::is_kept(to, word) => (stop.clone(), false),
        Stop::Other(word) => (stops::plain(word), true),
    }
}
