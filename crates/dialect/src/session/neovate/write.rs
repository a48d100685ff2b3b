//! Spells records of Neovate.

use foxwedge_core::{Answer, Content, Kind, Patch, Piece, Role, Source, Span};

use crate::{
    json::{field, quote, says},
    session::desk::{Desk, New},
    splice::{
        Change, Changes, Chunk, Element, Encoding, Spelling, Spoken, Writer, respelled,
        write_block_list,
    },
};

const SPELLING: Spelling = Spelling {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
    changes,
    answer,
    beside: |_, _| Vec::new(),
    element: |source, one| match says(source, one, "type").as_deref() {
        Some("text") => Element::Text("text"),
        Some("image") => Element::Whole,
        _ => Element::Told,
    },
};

/// The content of a record, said anew.
pub(in crate::session) fn changed(
    desk: &Desk<'_, '_>,
    out: &Writer<'_>,
    record: u32,
    role: Role,
    pieces: &[Piece<'_>],
) -> Changes<'static> {
    let Some(fragment) = desk.fragment(record) else { return Vec::new() };
    let content = if pieces.len() == 1 { fragment.content } else { Content::List };
    let mut inner = out.inner();
    let spoken = Spoken { role, pieces, content, recast: false };
    write_block_list(&mut inner, desk.draft(), Some(fragment), &spoken, &SPELLING);
    let mut changes: Changes<'static> = vec![("content", Change::Chunks(inner.finish()))];
    let tool = says(out.source, fragment.span, "role").as_deref() == Some("tool");
    if tool && !only_answers(pieces) {
        changes.push(("role", Change::Text("\"user\"".to_owned())));
    }
    changes
}

/// A new record, shaped like another one.
pub(in crate::session) fn new(
    desk: &Desk<'_, '_>,
    out: &mut Writer<'_>,
    new: &New<'_>,
    pieces: &[Piece<'_>],
) {
    let role = match new.role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        _ if only_answers(pieces) => "tool",
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
    };
    let fresh = new.fresh;
    out.text(&format!("{{\"type\":\"message\",\"uuid\":{}", quote(&fresh.id)));
    out.text(&format!(",\"parentUuid\":{}", fresh.parent));
    if let Some(time) = &fresh.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    let like = desk.log().records[new.template as usize].span;
    if let Some(id) = field(out.source, like, "sessionId") {
        out.text(",\"sessionId\":");
        out.copy(id);
    }
    out.text(&format!(",\"role\":\"{role}\",\"content\":"));
    let mut inner = out.inner();
    let spoken = Spoken { role: new.role, pieces, content: Content::List, recast: false };
    write_block_list(&mut inner, desk.draft(), None, &spoken, &SPELLING);
    out.append(with_inputs(desk, out, pieces, inner.finish()));
    out.text("}");
}

/// Puts the input of its call into each answer of ours, as Neovate does.
fn with_inputs(
    desk: &Desk<'_, '_>,
    out: &Writer<'_>,
    pieces: &[Piece<'_>],
    mut chunks: Vec<Chunk>,
) -> Vec<Chunk> {
    for piece in pieces.iter().filter(|piece| matches!(piece.source, Source::Words(_))) {
        let Kind::Answer(outline) = &piece.part.kind else { continue };
        let Some(input) = outline.id.as_deref().and_then(|id| input(desk, id)) else { continue };
        let head = head(outline);
        let blank = format!("{head}{{}}");
        let known = |chunk: &Chunk| matches!(chunk, Chunk::Text(text) if text.contains(&blank));
        let Some(at) = chunks.iter().position(known) else { continue };
        if let Chunk::Text(text) = chunks.remove(at)
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
fn input(desk: &Desk<'_, '_>, id: &str) -> Option<Span> {
    let draft = desk.draft();
    let is_call =
        |kind: &Kind<'_>| matches!(kind, Kind::Call(call) if call.id.as_deref() == Some(id));
    let part = draft.parts.iter().rev().find(|part| is_call(&part.kind))?;
    field(draft.source, part.span, "input").filter(|input| input.of(draft.source).starts_with('{'))
}

fn only_answers(pieces: &[Piece<'_>]) -> bool {
    pieces.iter().all(|piece| matches!(piece.part.kind, Kind::Answer(_)))
}

fn changes(source: &str, part: Span, patch: &Patch, kind: &Kind<'_>) -> Changes<'static> {
    let mut changes: Changes<'static> = Vec::new();
    if let Some(id) = patch.new_id(kind) {
        let hyphen = says(source, part, "type").as_deref() == Some("tool-result");
        let key = if hyphen && matches!(kind, Kind::Answer(_)) { "toolCallId" } else { "id" };
        changes.push((key, Change::Text(quote(id))));
    }
    if let Some(fix) = patch.arguments {
        let value = field(source, part, "input");
        changes.push(("input", Change::Text(respelled(source, value, fix, Encoding::Object))));
    }
    changes
}

fn answer(answer: &Answer<'_>, words: &str) -> String {
    let (head, words) = (head(answer), quote(words));
    format!("{head}{{}},\"result\":{{\"llmContent\":{words},\"isError\":true}}}}")
}

/// An answer up to the input of its call.
fn head(answer: &Answer<'_>) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let name = quote(answer.tool().unwrap_or(""));
    format!("{{\"type\":\"tool-result\",\"toolCallId\":{id},\"toolName\":{name},\"input\":")
}
