//! Writes records of pi.

use foxwedge_core::{
    ContentShape, DraftAnswer, PartKind, PartPatch, PartSource, RepairedPart, Role, Span,
};

use crate::{link_changes::NewLinkedRecord, linked_file::LinkedFileRewriter};
use foxwedge_formats::splice::{
    ArgumentsEncoding, BlockMessage, BlockSpliceFormat, ElementQuoting, encode_arguments,
    write_block_list,
};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{field_text, field_value, quote};

const SPELLING: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
    changes,
    answer: |answer, words| new_result(answer, words, "0"),
    repeated: None,
    extra_media: |_, _| Vec::new(),
    element: |source, one| match field_text(source, one, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("image") => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    },
};

/// What a new reply needs besides its content: pi adds up the usage of all replies.
const NEW_REPLY: &str = ",\"api\":\"\",\"provider\":\"\",\"model\":\"\",\"usage\":{\"input\":0,\
    \"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":0,\"cost\":{\"input\":0,\
    \"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}},\"stopReason\":\"stop\"";

/// The changed message of a record.
pub(crate) fn content_changes(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    record: u32,
    role: Role,
    parts: &[RepairedPart<'_>],
) -> FieldChanges<'static> {
    let Some(fragment) = rewriter.fragment(record) else { return Vec::new() };
    let own = rewriter.log().records[record as usize].span;
    // A result is its message: the part has the same bytes.
    if let [repaired] = parts
        && repaired.part.span == fragment.span
        && matches!(repaired.part.kind, PartKind::Answer(_))
        && *repaired.source() == PartSource::Input
    {
        let inner = changes(out.source, fragment.span, &repaired.patch, &repaired.part.kind);
        return vec![("message", FieldChange::Nested(inner))];
    }
    let content = if parts.len() == 1 { fragment.content } else { ContentShape::List };
    let list = content_list(rewriter, out, role, parts, content);
    if fragment.span == own {
        let key =
            if field_value(out.source, own, "summary").is_some() { "summary" } else { "content" };
        return if key == "content" { vec![(key, FieldChange::Chunks(list))] } else { Vec::new() };
    }
    let mut inner: FieldChanges<'static> = vec![("content", FieldChange::Chunks(list))];
    if field_text(out.source, fragment.span, "role").as_deref() == Some("toolResult") {
        inner.push(("role", FieldChange::Text("\"user\"".to_owned())));
        let result = ["toolCallId", "toolName", "isError", "details", "durationMs", "usage"];
        inner.extend(result.map(|key| (key, FieldChange::Remove)));
    }
    vec![("message", FieldChange::Nested(inner))]
}

fn content_list(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &SpliceWriter<'_>,
    role: Role,
    parts: &[RepairedPart<'_>],
    content: ContentShape,
) -> Vec<OutputChunk> {
    let mut inner = out.inner();
    let message = BlockMessage { role, pieces: parts, content, role_changed: false };
    write_block_list(&mut inner, rewriter.draft(), None, &message, &SPELLING);
    inner.finish()
}

/// Writes a new record. An existing record is the template.
pub(crate) fn write_new_record(
    rewriter: &LinkedFileRewriter<'_, '_>,
    out: &mut SpliceWriter<'_>,
    new: &NewLinkedRecord<'_>,
    parts: &[RepairedPart<'_>],
) {
    let link = new.link;
    out.text(&format!("{{\"type\":\"message\",\"id\":{}", quote(&link.id)));
    out.text(&format!(",\"parentId\":{}", link.parent));
    if let Some(time) = &link.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    out.text(",\"message\":");
    let template = rewriter.log().records[new.template as usize].span;
    let message = field_value(out.source, template, "message");
    let time = message.and_then(|message| field_value(out.source, message, "timestamp"));
    let time = time.map_or("0", |time| time.of(out.source));
    match parts {
        [repaired] if matches!(repaired.part.kind, PartKind::Answer(_)) => {
            write_result(out, repaired, time)
        }
        _ => {
            let (role, more) = match new.role {
                Role::Assistant => ("assistant", NEW_REPLY),
                _ => ("user", ""),
            };
            out.text(&format!("{{\"role\":\"{role}\",\"content\":"));
            out.append(content_list(rewriter, out, new.role, parts, ContentShape::List));
            out.text(&format!("{more},\"timestamp\":{time}}}"));
        }
    }
    out.text("}");
}

/// Writes the message of a result: a new one, or one that moves to another record.
fn write_result(out: &mut SpliceWriter<'_>, repaired: &RepairedPart<'_>, time: &str) {
    let PartKind::Answer(answer) = &repaired.part.kind else { return };
    match repaired.source() {
        PartSource::Text(words) => out.text(&new_result(answer, words, time)),
        _ => {
            let span = repaired.part.span;
            let changes = changes(out.source, span, &repaired.patch, &repaired.part.kind);
            if changes.is_empty() { out.copy(span) } else { write_patched(out, span, changes) }
        }
    }
}

fn new_result(answer: &DraftAnswer<'_>, words: &str, time: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let name = quote(answer.tool().unwrap_or(""));
    let words = quote(words);
    format!(
        "{{\"role\":\"toolResult\",\"toolCallId\":{id},\"toolName\":{name},\
         \"content\":[{{\"type\":\"text\",\"text\":{words}}}],\"isError\":true,\
         \"timestamp\":{time}}}"
    )
}

/// The changes to a compaction whose kept records become ordinary ones after it: pi would follow its
/// parent back to them, without end.
pub(crate) fn cut_changes(id: &str) -> [(&'static str, FieldChange<'static>); 2] {
    [
        ("parentId", FieldChange::Text("null".to_owned())),
        ("firstKeptEntryId", FieldChange::Text(quote(id))),
    ]
}

fn changes(
    source: &str,
    part: Span,
    patch: &PartPatch<'_>,
    kind: &PartKind<'_>,
) -> FieldChanges<'static> {
    let mut changes: FieldChanges<'static> = Vec::new();
    if let Some(id) = patch.new_id(kind) {
        let key = if matches!(kind, PartKind::Answer(_)) { "toolCallId" } else { "id" };
        changes.push((key, FieldChange::Text(quote(id))));
    }
    if let Some(fix) = patch.arguments {
        let value = field_value(source, part, "arguments");
        changes.push((
            "arguments",
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Object)),
        ));
    }
    changes
}
