//! Turns a repair into bytes: copies what is unchanged and writes the rest.

use std::{io, sync::Arc};

use foxwedge_core::{Draft, Format, MessageLayout, Repair, RepairedMessage, Span, TextReplacement};

use crate::{
    anthropic, bedrock,
    document::{DocumentFrame, is_thinking_edit},
    envelope::list_key,
    gemini, gemini_interactions, openai_chat, openai_responses,
    splice::{BlockMessage, write_blocks},
};
use foxwedge_json::{
    FieldChange, FieldChanges, SpliceWriter, array_elements, field_value, object_fields, quote,
    write_patched,
};

/// A repaired document: the input and its changes. Copies nothing until it is written, and then
/// writes chunk by chunk.
#[derive(Clone, Debug)]
pub struct PatchedDocument<'a> {
    source: &'a str,
    /// `None` if the document is unchanged.
    splice: Option<DocumentSplice<'a>>,
}

/// The changes of a repair to a document.
#[derive(Clone, Debug)]
struct DocumentSplice<'a> {
    draft: &'a Draft<'a>,
    frame: DocumentFrame,
    messages: Arc<Vec<RepairedMessage<'a>>>,
    surrogates: Arc<Vec<Span>>,
    replacements: Arc<Vec<TextReplacement>>,
    thinking_off: bool,
    declare: Vec<String>,
}

impl<'a> PatchedDocument<'a> {
    /// The unchanged input.
    pub fn unchanged(source: &'a str) -> PatchedDocument<'a> {
        PatchedDocument { source, splice: None }
    }

    /// Passes its text to `sink`, chunk by chunk.
    pub fn for_each(&self, mut sink: impl FnMut(&str)) {
        match &self.splice {
            None => sink(self.source),
            Some(splice) => splice.write(&mut sink),
        }
    }

    /// Length in bytes. Runs the whole write to count them.
    pub fn len(&self) -> usize {
        let mut length = 0;
        self.for_each(|chunk| length += chunk.len());
        length
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the text.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_to(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut result = Ok(());
        self.for_each(|chunk| {
            if result.is_ok() {
                result = out.write_all(chunk.as_bytes());
            }
        });
        result
    }
}

impl std::fmt::Display for PatchedDocument<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut result = Ok(());
        self.for_each(|chunk| {
            if result.is_ok() {
                result = f.write_str(chunk);
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
        messages: repair.messages.clone(),
        surrogates: repair.surrogates.clone(),
        replacements: repair.replacements.clone(),
        thinking_off: repair.body.thinking_off,
        declare: repair.body.declare.clone(),
    });
    PatchedDocument { source: draft.source, splice }
}

impl<'a> DocumentSplice<'a> {
    /// Passes the text of the document to `sink`, chunk by chunk.
    fn write(&self, sink: &mut dyn FnMut(&str)) {
        let (source, frame, document) = (self.draft.source, self.frame, self.frame.document);
        let mut out =
            SpliceWriter::to_sink(source, &self.surrogates, sink).replacing(&self.replacements);
        out.copy(Span { start: 0, end: document.start });
        let write =
            |out: &mut SpliceWriter<'_>, list| write_list(out, self.draft, list, &self.messages);
        let only_list = !self.thinking_off && self.declare.is_empty();
        match frame.list {
            // Only the list changes, and its position is known.
            Some(list) if frame.object && only_list => {
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
                    changes.extend(switch_off_thinking(source, document, self.draft.format));
                }
                if !self.declare.is_empty() {
                    let tools = FieldChange::Text(tool_declarations(&self.declare));
                    changes.push(("toolConfig", FieldChange::Nested(vec![("tools", tools)])));
                }
                write_patched(&mut out, document, changes);
            }
            list => list.into_iter().for_each(|list| write(&mut out, list)),
        }
        out.copy(Span::new(document.end as usize, source.len()));
        out.finish();
    }
}

/// Switches thinking off, with the edits of the context that require it.
fn switch_off_thinking<'c>(source: &str, document: Span, format: Format) -> FieldChanges<'c> {
    const BEDROCK_SETTINGS: &str = "additionalModelRequestFields";
    let settings = match format {
        Format::Bedrock => field_value(source, document, BEDROCK_SETTINGS),
        _ => Some(document),
    };
    let off = FieldChange::Text("{\"type\":\"disabled\"}".to_owned());
    let mut changes: FieldChanges<'_> = vec![("thinking", off)];
    let management =
        settings.and_then(|settings| field_value(source, settings, "context_management"));
    if let Some(management) = management
        && let Some(edits) = field_value(source, management, "edits")
    {
        let edits = array_elements(source, edits);
        let kept: Vec<&str> = edits
            .iter()
            .filter(|edit| !is_thinking_edit(source, **edit))
            .map(|edit| edit.of(source))
            .collect();
        let change = if kept.len() == edits.len() {
            None
        } else if kept.is_empty() && object_fields(source, management).len() == 1 {
            Some(FieldChange::Remove)
        } else {
            let edits = FieldChange::Text(format!("[{}]", kept.join(",")));
            Some(FieldChange::Nested(vec![("edits", edits)]))
        };
        changes.extend(change.map(|change| ("context_management", change)));
    }
    match format {
        Format::Bedrock => vec![(BEDROCK_SETTINGS, FieldChange::Nested(changes))],
        _ => changes,
    }
}

/// Writes the list with its brackets, in the spacing of the original. A message in place of the list
/// gets brackets unless it is still the only one.
fn write_list<'a>(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'a>,
    list: Span,
    messages: &[RepairedMessage<'a>],
) {
    let is_list = list.of(draft.source).starts_with('[');
    match messages {
        _ if is_list => write_elements(out, draft, list, messages),
        [only] => write_message(out, draft, only),
        _ => {
            out.text("[");
            write_elements(out, draft, list, messages);
            out.text("]");
        }
    }
}

/// Writes the messages, and what stands around and between them.
fn write_elements<'a>(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'a>,
    list: Span,
    messages: &[RepairedMessage<'a>],
) {
    let originals = &draft.messages;
    let gap = |previous: usize| -> Option<Span> {
        let (one, two) = (originals.get(previous)?, originals.get(previous + 1)?);
        Some(Span { start: one.span.end, end: two.span.start })
    };
    let default_gap = gap(0);
    out.copy(Span {
        start: list.start,
        end: originals.first().map_or(list.start + 1, |first| first.span.start),
    });
    let mut previous: Option<Option<usize>> = None;
    for message in messages {
        if let Some(previous) = previous {
            let adjacent = previous.is_some() && previous.map(|at| at + 1) == message.origin();
            match previous.filter(|_| adjacent).and_then(gap).or(default_gap) {
                Some(gap) => out.copy(gap),
                None => out.text(","),
            }
        }
        previous = Some(message.origin());
        write_message(out, draft, message);
    }
    let end = originals.last().map_or(list.end - 1, |last| last.span.end);
    out.copy(Span { start: end, end: list.end });
}

/// Writes one message of the list.
fn write_message<'a>(out: &mut SpliceWriter<'_>, draft: &Draft<'a>, message: &RepairedMessage<'a>) {
    let original = message.origin().filter(|_| !message.is_touched());
    match original.and_then(|at| draft.messages.get(at)) {
        Some(original) => out.copy(original.span),
        None => write_slot(out, draft, message),
    }
}

/// Writes one message of a repaired history.
pub fn write_slot<'a>(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'a>,
    message: &RepairedMessage<'a>,
) {
    let message = &*message.with_parts(draft);
    let origin = message.origin().and_then(|at| draft.messages.get(at));
    match (draft.format, origin) {
        (Format::OpenaiChat, Some(original)) => {
            openai_chat::rewrite_message(out, draft, original, message)
        }
        (Format::OpenaiChat, None) => openai_chat::write_new_message(out, message),
        (Format::OpenaiResponses, Some(original)) => {
            openai_responses::rewrite_item(out, original, message)
        }
        (Format::OpenaiResponses, None) => openai_responses::write_new_item(out, message),
        (Format::GeminiInteractions, Some(original)) => {
            gemini_interactions::rewrite_step(out, original, message)
        }
        (Format::GeminiInteractions, None) => gemini_interactions::write_new_step(out, message),
        (Format::Anthropic, _) => {
            write_blocks(out, draft, origin, &BlockMessage::of(message), &anthropic::SPLICE_FORMAT)
        }
        (Format::Gemini, _) => {
            write_blocks(out, draft, origin, &BlockMessage::of(message), &gemini::SPLICE_FORMAT)
        }
        (Format::Bedrock, _) => {
            write_blocks(out, draft, origin, &BlockMessage::of(message), &bedrock::SPLICE_FORMAT)
        }
    }
    debug_assert!(
        draft.layout() != MessageLayout::Blocks || message.role != foxwedge_core::Role::Answer
    );
}

/// Inert tool declarations, so that the provider accepts a history with tool blocks.
fn tool_declarations(names: &[String]) -> String {
    let tools: Vec<String> = names
        .iter()
        .map(|name| {
            let name = quote(name);
            format!("{{\"toolSpec\":{{\"name\":{name},\"inputSchema\":{{\"json\":{{\"type\":\"object\"}}}}}}}}")
        })
        .collect();
    format!("[{}]", tools.join(","))
}
