//! Spells records of Neovate.

use foxwedge_core::{
    ContentShape, DraftAnswer, PartKind, PartPatch, PartSource, RepairedPart, Role, Span,
};

use crate::{
    json::{field_text, field_value, quote},
    session::linked_rewriter::{LinkedFileRewriter, NewLinkedRecord},
    splice::{
        ArgumentsEncoding, BlockMessage, BlockSpliceFormat, ElementQuoting, FieldChange,
        FieldChanges, OutputChunk, SpliceWriter, encode_arguments, write_block_list,
    },
};

const SPELLING: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
    changes,
    answer,
    extra_media: |_, _| Vec::new(),
    element: |source, one| match field_text(source, one, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("image") => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    },
};

/// The content of a record, said anew.
pub(in crate::session) fn content_changes(
    desk: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    record: u32,
    role: Role,
    pieces: &[RepairedPart<'_>],
) -> FieldChanges<'static> {
    let Some(fragment) = desk.fragment(record) else { return Vec::new() };
    let content = if pieces.len() == 1 { fragment.content } else { ContentShape::List };
    let mut inner = out.inner();
    let spoken = BlockMessage { role, pieces, content, role_changed: false };
    write_block_list(&mut inner, desk.draft(), Some(fragment), &spoken, &SPELLING);
    let mut changes: FieldChanges<'static> = vec![("content", FieldChange::Chunks(inner.finish()))];
    let tool = field_text(out.source, fragment.span, "role").as_deref() == Some("tool");
    if tool && !only_answers(pieces) {
        changes.push(("role", FieldChange::Text("\"user\"".to_owned())));
    }
    changes
}

/// A new record, shaped like another one.
pub(in crate::session) fn write_new_record(
    desk: &LinkedFileRewriter<'_, '_>,
    out: &mut SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    pieces: &[RepairedPart<'_>],
) {
    let role = match new.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        _ if only_answers(pieces) => "tool",
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
    };
    let fresh = new.link;
    out.text(&format!("{{\"type\":\"message\",\"uuid\":{}", quote(&fresh.id)));
    out.text(&format!(",\"parentUuid\":{}", fresh.parent));
    if let Some(time) = &fresh.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    let like = desk.log().records[new.template as usize].span;
    if let Some(id) = field_value(out.source, like, "sessionId") {
        out.text(",\"sessionId\":");
        out.copy(id);
    }
    out.text(&format!(",\"role\":\"{role}\",\"content\":"));
    let mut inner = out.inner();
    let spoken =
        BlockMessage { role: new.role, pieces, content: ContentShape::List, role_changed: false };
    write_block_list(&mut inner, desk.draft(), None, &spoken, &SPELLING);
    out.append(with_inputs(desk, out, pieces, inner.finish()));
    out.text("}");
}

/// Puts the input of its call into each answer of ours, as Neovate does.
fn with_inputs(
    desk: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    pieces: &[RepairedPart<'_>],
    mut chunks: Vec<OutputChunk>,
) -> Vec<OutputChunk> {
    for piece in pieces.iter().filter(|piece| matches!(piece.source, PartSource::Text(_))) {
        let PartKind::Answer(outline) = &piece.part.kind else { continue };
        let Some(input) = outline.id.as_deref().and_then(|id| call_input(desk, id)) else {
            continue;
        };
        let head = head(outline);
        let blank = format!("{head}{{}}");
        let known =
            |chunk: &OutputChunk| matches!(chunk, OutputChunk::Text(text) if text.contains(&blank));
        let Some(at) = chunks.iter().position(known) else { continue };
        if let OutputChunk::Text(text) = chunks.remove(at)
            && let Some((before, behind)) = text.split_once(&blank)
        {
            let mut copy = out.inner();
            copy.text(&format!("{before}{head}"));
            copy.copy(input);
            copy.text(behind);
            chunks.splice(at..at, copy.finish());
        }
    }
    chunks
}

/// The input of the last call of an id.
fn call_input(desk: &LinkedFileRewriter<'_, '_>, id: &str) -> Option<Span> {
    let draft = desk.draft();
    let is_call = |kind: &PartKind<'_>| matches!(kind, PartKind::Call(call) if call.id.as_deref() == Some(id));
    let part = draft.parts.iter().rev().find(|part| is_call(&part.kind))?;
    field_value(draft.source, part.span, "input")
        .filter(|input| input.of(draft.source).starts_with('{'))
}

fn only_answers(pieces: &[RepairedPart<'_>]) -> bool {
    pieces.iter().all(|piece| matches!(piece.part.kind, PartKind::Answer(_)))
}

fn changes(
    source: &str,
    part: Span,
    patch: &PartPatch,
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

/// An answer up to the input of its call.
fn head(answer: &DraftAnswer<'_>) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let name = quote(answer.tool().unwrap_or(""));
    format!("{{\"type\":\"tool-result\",\"toolCallId\":{id},\"toolName\":{name},\"input\":")
}
