//! Writes repaired messages of a `ModelMessage` list.

use std::borrow::Cow;

use foxwedge_core::{
    ContentShape, Draft, DraftAnswer, Message, MessageFlags, PartKind, Repair, RepairedMessage,
    RepairedPart, Role, Span,
};
use foxwedge_formats::splice::{
    BlockMessage, BlockSpliceFormat, ElementQuoting, MediaType, write_block_list, write_blocks,
};
use foxwedge_json::{SpliceWriter, field_text, quote};

use super::approval::ListApprovals;

const SPLICE_FORMAT: BlockSpliceFormat = BlockSpliceFormat {
    parts: "content",
    assistant: "assistant",
    text: ("{\"type\":\"text\",\"text\":", "}"),
    changes: |_, _, _, _| Vec::new(),
    answer: new_result,
    repeated: None,
    extra_media: |_, _| Vec::new(),
    element: quote_element,
};

/// Media of a result has names of its own. A file needs its media type.
fn quote_element(source: &str, element: Span) -> ElementQuoting {
    let has = |key| field_text(source, element, key).is_some();
    let retyped = |name, renamed| ElementQuoting::Retyped(MediaType { name, renamed });
    match field_text(source, element, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("file") if has("mediaType") => ElementQuoting::Verbatim,
        Some("media" | "file-data" | "image-data") if has("data") && has("mediaType") => {
            retyped("file", None)
        }
        Some("image-url") if has("url") => retyped("image", Some(("url", "image"))),
        Some("file-url") if has("url") && has("mediaType") => {
            retyped("file", Some(("url", "data")))
        }
        _ => ElementQuoting::AsJson,
    }
}

fn new_result(answer: &DraftAnswer<'_>, text: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let (name, text) = (quote(answer.tool().unwrap_or("")), quote(text));
    format!(
        "{{\"type\":\"tool-result\",\"toolCallId\":{id},\"toolName\":{name},\
         \"output\":{{\"type\":\"error-text\",\"value\":{text}}}}}"
    )
}

/// The messages of a repair. Text beside results becomes a message of the user: a message with the
/// role `tool` cannot hold it.
pub(crate) fn split_messages<'r, 'a>(
    draft: &Draft<'a>,
    repair: &'r Repair<'a>,
) -> Vec<Cow<'r, RepairedMessage<'a>>> {
    let mut messages = Vec::with_capacity(repair.messages.len());
    let approvals = ListApprovals::of(draft);
    for message in repair.messages.iter() {
        let changed = message.is_touched() || message.origin().is_none();
        if !changed || !holds_results(message) {
            messages.push(Cow::Borrowed(message));
            continue;
        }
        let mut results = message.with_parts(draft).into_owned();
        approvals.correct_placeholders(&mut results);
        let (text, remaining): (Vec<_>, Vec<_>) = results.parts.iter().cloned().partition(is_text);
        if text.is_empty() || remaining.is_empty() {
            messages.push(Cow::Owned(results));
            continue;
        }
        let mut quoted = results.clone();
        quoted.clear_origin();
        quoted.set_content(ContentShape::List);
        (quoted.parts, results.parts) = (text.into(), remaining.into());
        messages.extend([Cow::Owned(results), Cow::Owned(quoted)]);
    }
    messages
}

/// Whether a message has the role `tool`, or is new.
fn holds_results(message: &RepairedMessage<'_>) -> bool {
    message.role == Role::User && !message.flags.has(MessageFlags::NO_RESULTS)
}

fn is_text(part: &RepairedPart<'_>) -> bool {
    matches!(part.part.kind, PartKind::Text(_))
}

/// Writes a changed or new message.
pub(crate) fn write_message(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    origin: Option<&Message>,
    message: &RepairedMessage<'_>,
) {
    let is_user = message.parts.iter().all(is_text);
    let block = BlockMessage {
        role_changed: message.has_new_role() || is_user && holds_results(message),
        ..BlockMessage::of(message)
    };
    if origin.is_none() && holds_results(message) && !is_user {
        out.text("{\"role\":\"tool\",\"content\":");
        write_block_list(out, draft, None, &block, &SPLICE_FORMAT);
        return out.text("}");
    }
    write_blocks(out, draft, origin, &block, &SPLICE_FORMAT);
}
