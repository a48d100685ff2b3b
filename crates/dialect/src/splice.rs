//! Turns a repair back into bytes: what is not touched is copied, the rest is spelled anew.

use std::{io, sync::Arc};

use foxwedge_core::{Draft, Format, MessageLayout, Repair, RepairedMessage, Span};

use crate::{
    anthropic, bedrock,
    document::{DocumentFrame, list_key},
    gemini,
    json::quote,
    openai_chat, openai_responses,
};

mod writer;
mod patch;
mod blocks;
mod quoted_content;
mod arguments;

pub(crate) use arguments::{ArgumentsEncoding, encode_arguments, value_as_text};
pub(crate) use blocks::{
    BlockMessage, BlockSpliceFormat, write as write_blocks, write_parts as write_block_list,
};
pub(crate) use patch::{FieldChange, FieldChanges, patched_text, write_patched};
pub(crate) use quoted_content::{ElementQuoting, QuotedContent};
pub(crate) use writer::{OutputChunk, SpliceWriter, replace_surrogates};

/// A repaired document: the input and what becomes of it. Nothing is copied until it is written,
/// and then one piece after the other.
#[derive(Clone, Debug)]
pub struct PatchedDocument<'a> {
    source: &'a str,
    /// Nothing if the document stays as it is.
    splice: Option<DocumentSplice<'a>>,
}

/// What a repair makes of a document.
#[derive(Clone, Debug)]
struct DocumentSplice<'a> {
    draft: &'a Draft<'a>,
    frame: DocumentFrame,
    slots: Arc<Vec<RepairedMessage<'a>>>,
    surrogates: Arc<Vec<Span>>,
    thinking_off: bool,
    declare: Vec<String>,
}

impl<'a> PatchedDocument<'a> {
    /// The input, untouched.
    pub fn unchanged(source: &'a str) -> PatchedDocument<'a> {
        PatchedDocument { source, splice: None }
    }

    /// Hands over its text, piece by piece.
    pub fn for_each(&self, mut piece: impl FnMut(&str)) {
        match &self.splice {
            None => piece(self.source),
            Some(splice) => splice.write(&mut piece),
        }
    }

    /// Length in bytes. What changes is written for it, and thrown away.
    pub fn len(&self) -> usize {
        let mut length = 0;
        self.for_each(|piece| length += piece.len());
        length
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
        let mut result = Ok(());
        self.for_each(|piece| {
            if result.is_ok() {
                result = out.write_all(piece.as_bytes());
            }
        });
        result
    }
}

impl std::fmt::Display for PatchedDocument<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut result = Ok(());
        self.for_each(|piece| {
            if result.is_ok() {
                result = f.write_str(piece);
            }
        });
        result
    }
}

/// Splices a repair into the document it was made for.
pub(crate) fn apply<'a>(
    draft: &'a Draft<'a>,
    frame: DocumentFrame,
    repair: &Repair<'a>,
) -> PatchedDocument<'a> {
    let splice = (!repair.is_untouched()).then(|| DocumentSplice {
        draft,
        frame,
        slots: repair.messages.clone(),
        surrogates: repair.surrogates.clone(),
        thinking_off: repair.body.thinking_off,
        declare: repair.body.declare.clone(),
    });
    PatchedDocument { source: draft.source, splice }
}

impl<'a> DocumentSplice<'a> {
    /// Hands over the text of the document, piece by piece.
    fn write(&self, piece: &mut dyn FnMut(&str)) {
        let (source, frame, document) = (self.draft.source, self.frame, self.frame.document);
        let mut out = SpliceWriter::to_sink(source, &self.surrogates, piece);
        out.copy(Span { start: 0, end: document.start });
        let write =
            |out: &mut SpliceWriter<'_>, list| write_list(out, self.draft, list, &self.slots);
        let alone = !self.thinking_off && self.declare.is_empty();
        match frame.list {
            // Only the list changes, and where it lies is known.
            Some(list) if frame.object && alone => {
                out.copy(Span { start: document.start, end: list.start });
                write(&mut out, list);
                out.copy(Span { start: list.end, end: document.end });
            }
            list if frame.object => {
                let mut changes: FieldChanges<'_> = Vec::new();
                changes.extend(list.map(|list| {
                    let list = FieldChange::WriteWith(Box::new(move |out| write(out, list)));
                    (list_key(self.draft.format), list)
                }));
                if self.thinking_off {
                    changes.push((
                        "thinking",
                        FieldChange::Text("{\"type\":\"disabled\"}".to_owned()),
                    ));
                }
                if !self.declare.is_empty() {
                    changes.push(("toolConfig", FieldChange::Text(tool_config(&self.declare))));
                }
                write_patched(&mut out, document, changes);
            }
            list => list.into_iter().for_each(|list| write(&mut out, list)),
        }
        out.copy(Span::new(document.end as usize, source.len()));
        out.finish();
    }
}

/// Writes the list with its brackets, in the spacing of the original.
fn write_list<'a>(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'a>,
    list: Span,
    slots: &[RepairedMessage<'a>],
) {
    let messages = &draft.messages;
    let gap = |before: usize| -> Option<Span> {
        let (one, two) = (messages.get(before)?, messages.get(before + 1)?);
        Some(Span { start: one.span.end, end: two.span.start })
    };
    let usual = gap(0);
    out.copy(Span {
        start: list.start,
        end: messages.first().map_or(list.start + 1, |first| first.span.start),
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
        match slot.origin.filter(|_| !slot.touched).and_then(|at| messages.get(at)) {
            Some(message) => out.copy(message.span),
            None => write_slot(out, draft, slot),
        }
    }
    let end = messages.last().map_or(list.end - 1, |last| last.span.end);
    out.copy(Span { start: end, end: list.end });
}

/// Writes one message of a repaired history.
pub(crate) fn write_slot<'a>(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'a>,
    slot: &RepairedMessage<'a>,
) {
    let slot = &*slot.with_parts(draft);
    let origin = slot.origin.and_then(|at| draft.messages.get(at));
    match (draft.format, origin) {
        (Format::OpenaiChat, Some(message)) => {
            openai_chat::rewrite_message(out, draft, message, slot)
        }
        (Format::OpenaiChat, None) => openai_chat::write_new_message(out, slot),
        (Format::OpenaiResponses, Some(message)) => {
            openai_responses::rewrite_item(out, message, slot)
        }
        (Format::OpenaiResponses, None) => openai_responses::write_new_item(out, slot),
        (Format::Anthropic, _) => {
            blocks::write(out, draft, origin, &BlockMessage::of(slot), &anthropic::SPLICE_FORMAT)
        }
        (Format::Gemini, _) => {
            blocks::write(out, draft, origin, &BlockMessage::of(slot), &gemini::SPLICE_FORMAT)
        }
        (Format::Bedrock, _) => {
            blocks::write(out, draft, origin, &BlockMessage::of(slot), &bedrock::SPLICE_FORMAT)
        }
    }
    debug_assert!(
        draft.layout() != MessageLayout::Blocks || slot.role != foxwedge_core::Role::Answer
    );
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
