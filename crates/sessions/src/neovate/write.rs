//! Writes records of Neovate.

use foxwedge_core::{
    ContentShape, DraftAnswer, PartKind, PartPatch, PartSource, RepairedPart, Role, Span,
};

use crate::{link_changes::NewLinkedRecord, linked_file::LinkedFileRewriter, values::last_call};
use foxwedge_formats::splice::{
    ArgumentsEncoding, BlockMessage, BlockSpliceFormat, ElementQuoting, encode_arguments,
    write_block_list,
};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter};
use foxwedge_json::{field_text, field_value, quote};

const SPELLING: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
    changes,
    answer,
    repeated: None,
    extra_media: |_, _| Vec::new(),
    element: |source, one| match field_text(source, one, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("image") => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    },
};

/// The changed content of a record.
pub(crate) fn content_changes(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    record: u32,
    role: Role,
    parts: &[RepairedPart<'_>],
) -> FieldChanges<'static> {
    let Some(fragment) = rewriter.fragment(record) else { return Vec::new() };
    let content = if parts.len() == 1 { fragment.content } else { ContentShape::List };
    let mut inner = out.inner();
    let message = BlockMessage { role, pieces: parts, content, role_changed: false };
    write_block_list(&mut inner, rewriter.draft(), Some(fragment), &message, &SPELLING);
    let mut changes: FieldChanges<'static> = vec![("content", FieldChange::Chunks(inner.finish()))];
    let tool = field_text(out.source, fragment.span, "role").as_deref() == Some("tool");
    if tool && !only_answers(parts) {
        changes.push(("role", FieldChange::Text("\"user\"".to_owned())));
    }
    changes
}

/// Writes a new record. An existing record is the template.
pub(crate) fn write_new_record(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &mut SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    parts: &[RepairedPart<'_>],
) {
    let role = match new.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        _ if only_answers(parts) => "tool",
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
    };
    let link = new.link;
    out.text(&format!("{{\"type\":\"message\",\"uuid\":{}", quote(&link.id)));
    out.text(&format!(",\"parentUuid\":{}", link.parent));
    if let Some(time) = &link.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    let template = rewriter.log().records[new.template as usize].span;
    if let Some(id) = field_value(out.source, template, "sessionId") {
        out.text(",\"sessionId\":");
        out.copy(id);
    }
    out.text(&format!(",\"role\":\"{role}\",\"content\":"));
    let mut inner = out.inner();
    let message = BlockMessage {
        role: new.role,
        pieces: parts,
        content: ContentShape::List,
        role_changed: false,
    };
    write_block_list(&mut inner, rewriter.draft(), None, &message, &SPELLING);
    out.append(with_inputs(rewriter, out, parts, inner.finish()));
    out.text("}");
}

/// Puts the input of its call into each new result, as Neovate does.
fn with_inputs(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    parts: &[RepairedPart<'_>],
    mut chunks: Vec<OutputChunk>,
) -> Vec<OutputChunk> {
    for repaired in parts.iter().filter(|repaired| matches!(repaired.source(), PartSource::Text(_)))
    {
        let PartKind::Answer(answer) = &repaired.part.kind else { continue };
        let Some(input) = answer.id.as_deref().and_then(|id| call_input(rewriter, id)) else {
            continue;
        };
        let head = head(answer);
        let blank = format!("{head}{{}}");
        let known =
            |chunk: &OutputChunk| matches!(chunk, OutputChunk::Text(text) if text.contains(&blank));
        let Some(at) = chunks.iter().position(known) else { continue };
        if let OutputChunk::Text(text) = chunks.remove(at)
            && let Some((before, after)) = text.split_once(&blank)
        {
            let mut copy = out.inner();
            copy.text(&format!("{before}{head}"));
            copy.copy(input);
            copy.text(after);
            chunks.splice(at..at, copy.finish());
        }
    }
    chunks
}

/// The input of the last call with an id.
fn call_input(rewriter: &LinkedFileRewriter<'_, '_>, id: &str) -> Option<Span> {
    let draft = rewriter.draft();
    let part = last_call(draft, id)?;
    field_value(draft.source, part.span, "input")
        .filter(|input| input.of(draft.source).starts_with('{'))
}

fn only_answers(parts: &[RepairedPart<'_>]) -> bool {
    parts.iter().all(|repaired| matches!(repaired.part.kind, PartKind::Answer(_)))
}

fn changes(
    source: &str,
    part: Span,
    patch: &PartPatch<'_>,
    kind: &PartKind<'_>,
) -> FieldChanges<'static> {
    let mut changes: FieldChanges<'static> = Vec::new();
    if let Some(id) = patch.new_id(kind) {
        let hyphen = field_text(source, part, "type").as_deref() == Some("tool-result");
        let key = if hyphen && matches!(kind, PartKind::Answer(_)) { "toolCallId" } else { "id" };
        changes.push((key, FieldChange::Text(quote(id))));
    }
    if let Some(fix) = patch.arguments {
        let value = field_value(source, part, "input");
        changes.push((
            "input",
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Object)),
        ));
    }
    changes
}

fn answer(answer: &DraftAnswer<'_>, words: &str) -> String {
    let (head, words) = (head(answer), quote(words));
    format!("{head}{{}},\"result\":{{\"llmContent\":{words},\"isError\":true}}}}")
}

/// The beginning of a tool result, up to the input of its call.
fn head(answer: &DraftAnswer<'_>) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let name = quote(answer.tool().unwrap_or(""));
    format!("{{\"type\":\"tool-result\",\"toolCallId\":{id},\"toolName\":{name},\"input\":")
}
