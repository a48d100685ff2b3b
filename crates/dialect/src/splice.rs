//! Turns a repair back into bytes: what is not touched is copied, the rest is spelled anew.

use std::io;

use foxwedge_core::{Draft, Layout, Repair, Slot, Span, Wire};

use crate::{
    anthropic, bedrock,
    document::{Frame, list_key},
    gemini,
    json::quote,
    openai_chat, openai_responses,
};

mod writer;
mod patch;
mod blocks;
mod quoted;
mod arguments;

pub(crate) use arguments::{Encoding, respelled, told};
pub(crate) use blocks::{Spelling, Spoken, write as write_blocks, write_parts as write_block_list};
pub(crate) use patch::{Change, Changes, patch, patched};
pub(crate) use quoted::{Element, Quoted};
pub(crate) use writer::{Chunk, Writer, replaced};

/// A repaired document: pieces of the input and a few words of our own. Nothing is copied until
/// it is written.
#[derive(Clone, Debug)]
pub struct Patched<'a> {
    source: &'a str,
    chunks: Vec<Chunk>,
}

impl<'a> Patched<'a> {
    /// The input, untouched.
    pub fn whole(source: &'a str) -> Patched<'a> {
        Patched { source, chunks: vec![Chunk::Copy(Span::new(0, source.len()))] }
    }

    /// The pieces in order.
    pub fn pieces(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().flat_map(|chunk| chunk.pieces(self.source))
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.pieces().map(str::len).sum()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes it out.
    ///
    /// # Errors
    /// Whatever the writer reports.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        self.pieces().try_for_each(|piece| out.write_all(piece.as_bytes()))
    }
}

impl std::fmt::Display for Patched<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pieces().try_for_each(|piece| f.write_str(piece))
    }
}

/// Splices a repair into the document it was made for.
pub(crate) fn apply<'a>(draft: &Draft<'a>, frame: Frame, repair: &Repair<'a>) -> Patched<'a> {
    let source = draft.source;
    if repair.is_untouched() {
        return Patched::whole(source);
    }
    let mut out = Writer::new(source, &repair.surrogates);
    let document = frame.document;
    out.copy(Span { start: 0, end: document.start });
    let list = frame.list.map(|list| {
        let mut out = Writer::new(source, &repair.surrogates);
        write_list(&mut out, draft, list, &repair.slots);
        out.finish()
    });
    let alone = !repair.body.thinking_off && repair.body.declare.is_empty();
    if let (true, true, Some(place)) = (frame.object, alone, frame.list) {
        // Only the list changes, and where it lies is known.
        out.copy(Span { start: document.start, end: place.start });
        out.append(list.unwrap_or_default());
        out.copy(Span { start: place.end, end: document.end });
    } else if frame.object {
        let mut changes: Changes<'_> = Vec::new();
        changes.extend(list.map(|list| (list_key(draft.wire), Change::Chunks(list))));
        if repair.body.thinking_off {
            changes.push(("thinking", Change::Text("{\"type\":\"disabled\"}".to_owned())));
        }
        if !repair.body.declare.is_empty() {
            changes.push(("toolConfig", Change::Text(tool_config(&repair.body.declare))));
        }
        patch(&mut out, document, changes);
    } else {
        out.append(list.unwrap_or_default());
    }
    out.copy(Span::new(document.end as usize, source.len()));
    Patched { source, chunks: out.finish() }
}

/// Writes the list with its brackets, in the spacing of the original.
fn write_list(out: &mut Writer<'_>, draft: &Draft<'_>, list: Span, slots: &[Slot<'_>]) {
    let spans: Vec<Span> = draft.messages.iter().map(|message| message.span).collect();
    let gap = |before: usize| -> Option<Span> {
        let (one, two) = (spans.get(before)?, spans.get(before + 1)?);
        Some(Span { start: one.end, end: two.start })
    };
    let usual = gap(0);
    out.copy(Span {
        start: list.start,
        end: spans.first().map_or(list.start + 1, |first| first.start),
    });
    let mut before: Option<Option<usize>> = None;
    for slot in slots {
        if let Some(before) = before {
            let follows = before.is_some() && before.map(|at| at + 1) == slot.origin;
            match before.filter(|_| follows).and_then(gap).or(usual) {
                Some(gap) => out.copy(gap),
                None => out.text(","),
            }
        }
        before = Some(slot.origin);
        match slot.origin.filter(|_| !slot.touched).and_then(|at| spans.get(at)) {
            Some(&span) => out.copy(span),
            None => write_slot(out, draft, slot),
        }
    }
    out.copy(Span { start: spans.last().map_or(list.end - 1, |last| last.end), end: list.end });
}

/// Writes one message of a repaired history.
pub(crate) fn write_slot(out: &mut Writer<'_>, draft: &Draft<'_>, slot: &Slot<'_>) {
    let origin = slot.origin.and_then(|at| draft.messages.get(at));
    match (draft.wire, origin) {
        (Wire::OpenaiChat, Some(message)) => openai_chat::rewritten(out, draft, message, slot),
        (Wire::OpenaiChat, None) => openai_chat::written(out, slot),
        (Wire::OpenaiResponses, Some(message)) => openai_responses::rewritten(out, message, slot),
        (Wire::OpenaiResponses, None) => openai_responses::written(out, slot),
        (Wire::Anthropic, _) => {
            blocks::write(out, draft, origin, &Spoken::of(slot), &anthropic::SPELLING)
        }
        (Wire::Gemini, _) => {
            blocks::write(out, draft, origin, &Spoken::of(slot), &gemini::SPELLING)
        }
        (Wire::Bedrock, _) => {
            blocks::write(out, draft, origin, &Spoken::of(slot), &bedrock::SPELLING)
        }
    }
    debug_assert!(draft.layout() != Layout::Blocks || slot.role != foxwedge_core::Role::Answer);
}

/// Inert declarations of tools, so that a history with tool blocks is taken.
fn tool_config(names: &[String]) -> String {
    let tools: Vec<String> = names
        .iter()
        .map(|name| {
            let name = quote(name);
            format!("{{\"toolSpec\":{{\"name\":{name},\"inputSchema\":{{\"json\":{{\"type\":\"object\"}}}}}}}}")
        })
        .collect();
    format!("{{\"tools\":[{}]}}", tools.join(","))
}
