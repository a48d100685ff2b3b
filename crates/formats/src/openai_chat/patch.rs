//! Writes chat messages.

use foxwedge_core::{
    ArgumentsFix, ContentShape, Draft, Message, MessageFlags, PartKind, PartSource,
    RepairedMessage, RepairedPart, Role, Span,
};

use super::{
    FLAT_ARGUMENTS,
    encode::encode_media,
    outline::{is_custom_type, is_media},
};
use crate::foreign_result::write_foreign_content;
use crate::splice::{
    ArgumentsEncoding, ElementQuoting, QuotedContent, encode_arguments, has_content,
    recode_result_without, write_element,
};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, write_patched};
use foxwedge_json::{array_elements, escape_into, field_text, field_value, quote};

/// What stands before and behind the string of a text part.
const TEXT_BLOCK: (&str, &str) = ("{\"type\":\"text\",\"text\":", "}");

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
        Role::Answer => "tool",
        Role::User | Role::Neutral | Role::Unknown => "user",
    }
}

/// Writes a repaired message. Keeps the other fields of the original.
pub(crate) fn rewrite_message(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    original: &Message,
    message: &RepairedMessage<'_>,
) {
    let mut changes: FieldChanges<'_> = Vec::new();
    if message.has_new_role() {
        changes.push(("role", FieldChange::Text(quote(role_name(message.role)))));
    }
    let old = draft.parts_of(original);
    if let Some(answer) =
        message.parts.iter().find(|repaired| matches!(repaired.part.kind, PartKind::Answer(_)))
    {
        answer_changes(out, answer, &mut changes);
    } else {
        // Results of another format are elements of the content.
        let was_content = |kind: &PartKind<'_>| is_content(kind) || kind.is_foreign_answer();
        let old_parts = old.iter().filter(|part| was_content(&part.kind)).map(|part| part.span);
        let new_parts = || message.parts.iter().filter(|repaired| is_content(&repaired.part.kind));
        if !is_unchanged(old_parts, new_parts()) {
            let write = |out: &mut SpliceWriter<'_>| match message.parts.is_empty() {
                // A message that lost its content, but has to stay, is as empty as before.
                true if message.content() == ContentShape::List => out.text("[]"),
                _ => write_content(out, &content_parts(message)),
            };
            changes.push(("content", FieldChange::WriteWith(Box::new(write))));
        }
        reasoning_changes(draft, original, message, &mut changes);
    }
    let old_parts =
        old.iter().filter(|part| matches!(part.kind, PartKind::Call(_))).map(|part| part.span);
    let new_parts =
        || message.parts.iter().filter(|repaired| matches!(repaired.part.kind, PartKind::Call(_)));
    let emptied = original.flags.has(MessageFlags::EMPTY_CALLS)
        && !message.flags.has(MessageFlags::EMPTY_CALLS);
    if emptied || !is_unchanged(old_parts, new_parts()) {
        let change = match new_parts().next() {
            Some(_) => FieldChange::WriteWith(Box::new(|out| write_calls(out, message))),
            None => FieldChange::Remove,
        };
        changes.push(("tool_calls", change));
    }
    write_patched(out, original.span, changes);
}

/// Writes a new message.
pub(crate) fn write_new_message(out: &mut SpliceWriter<'_>, message: &RepairedMessage<'_>) {
    out.text(&format!("{{\"role\":{},", quote(role_name(message.role))));
    if let Some(repaired) =
        message.parts.iter().find(|repaired| matches!(repaired.part.kind, PartKind::Answer(_)))
    {
        let PartKind::Answer(answer) = &repaired.part.kind else { return };
        let id = quote(answer.id.as_deref().unwrap_or(""));
        out.text(&format!("\"tool_call_id\":{id},\"content\":"));
        match (repaired.source(), repaired.patch.output()) {
            (PartSource::Text(text), _) => out.text(&quote(text)),
            (_, Some(text)) => out.text(&quote(text)),
            (_, None) if repaired.patch.is_rewritten() => {
                write_foreign_content(out, answer.content, TEXT_BLOCK, encode_media);
            }
            (_, None) => out.text(&quote("")),
        }
        return out.text("}");
    }
    out.text("\"content\":");
    write_content(out, &content_parts(message));
    if message.parts.iter().any(|repaired| matches!(repaired.part.kind, PartKind::Call(_))) {
        out.text(",\"tool_calls\":");
        write_calls(out, message);
    }
    out.text("}");
}

fn content_parts<'p, 'a>(message: &'p RepairedMessage<'a>) -> Vec<&'p RepairedPart<'a>> {
    message.parts.iter().filter(|repaired| is_content(&repaired.part.kind)).collect()
}

fn is_content(kind: &PartKind<'_>) -> bool {
    !matches!(kind, PartKind::Call(_) | PartKind::Reasoning(_) | PartKind::Answer(_))
}

/// Whether the parts are those of the original, unchanged and in order.
fn is_unchanged<'p, 'a: 'p>(
    mut old_spans: impl Iterator<Item = Span>,
    new_parts: impl Iterator<Item = &'p RepairedPart<'a>>,
) -> bool {
    for repaired in new_parts {
        let unchanged = *repaired.source() == PartSource::Input && repaired.patch.is_empty();
        if !unchanged || old_spans.next() != Some(repaired.part.span) {
            return false;
        }
    }
    old_spans.next().is_none()
}

fn answer_changes(
    out: &SpliceWriter<'_>,
    repaired: &RepairedPart<'_>,
    changes: &mut FieldChanges<'_>,
) {
    let id = repaired.patch.new_id(&repaired.part.kind);
    changes.extend(id.map(|id| ("tool_call_id", FieldChange::Text(quote(id)))));
    changes.extend(repaired.patch.output().map(|text| ("content", FieldChange::Text(quote(text)))));
    let PartKind::Answer(answer) = &repaired.part.kind else { return };
    if let Some(pointer) = repaired.patch.pointer() {
        // The media moved to another message, and the pointer names it. Everything else stays.
        let mut content = out.inner();
        content.text("[");
        let (source, (before, behind)) = (out.source, TEXT_BLOCK);
        for element in array_elements(source, answer.content) {
            let is_media = quote_element(source, element) == ElementQuoting::Verbatim;
            if !is_media && has_content(source, element) && !is_empty_text(source, element) {
                write_element(&mut content, element, TEXT_BLOCK);
                content.text(",");
            }
        }
        content.text(&format!("{before}{}{behind}]", quote(pointer)));
        changes.push(("content", FieldChange::Chunks(content.finish())));
    } else if repaired.patch.recode_content && repaired.patch.output().is_none() {
        let content = recode_result_without(answer.content, TEXT_BLOCK, is_empty_text);
        changes.push(("content", content));
    }
}

/// Whether a part is a text part without text.
fn is_empty_text(source: &str, part: Span) -> bool {
    let text = field_value(source, part, "text").map(|text| text.of(source));
    field_text(source, part, "type").as_deref() == Some("text")
        && matches!(text, None | Some("null"))
}

fn reasoning_changes<'s>(
    draft: &Draft<'_>,
    original: &Message,
    message: &'s RepairedMessage<'_>,
    changes: &mut FieldChanges<'s>,
) {
    let is_reasoning = |kind: &PartKind<'_>| matches!(kind, PartKind::Reasoning(_));
    let old_parts = draft.parts_of(original).iter().filter(|part| is_reasoning(&part.kind));
    let new_parts = || message.parts.iter().filter(|repaired| is_reasoning(&repaired.part.kind));
    if is_unchanged(old_parts.map(|part| part.span), new_parts()) {
        return;
    }
    let change = if new_parts().next().is_none() {
        FieldChange::Remove
    } else {
        let parts: Vec<&RepairedPart<'_>> = new_parts().collect();
        FieldChange::WriteWith(Box::new(move |out| write_joined(out, &parts)))
    };
    changes.push(("reasoning_content", change));
}

fn write_calls(out: &mut SpliceWriter<'_>, message: &RepairedMessage<'_>) {
    let calls =
        message.parts.iter().filter(|repaired| matches!(repaired.part.kind, PartKind::Call(_)));
    for (index, repaired) in calls.enumerate() {
        out.text(if index == 0 { "[" } else { "," });
        let changes = call_changes(out.source, repaired);
        if changes.is_empty() {
            out.copy(repaired.part.span);
        } else {
            write_patched(out, repaired.part.span, changes);
        }
    }
    out.text("]");
}

fn call_changes(source: &str, repaired: &RepairedPart<'_>) -> FieldChanges<'static> {
    let span = repaired.part.span;
    let mut changes: FieldChanges<'static> = Vec::new();
    let (id, name) =
        (repaired.patch.new_id(&repaired.part.kind), repaired.patch.new_name(&repaired.part.kind));
    changes.extend(id.map(|id| ("id", FieldChange::Text(quote(id)))));
    let outer = if is_custom(source, span) { "custom" } else { "function" };
    if repaired.patch.typed {
        changes.push(("type", FieldChange::Text(quote(outer))));
    }
    let mut nested: FieldChanges<'static> = Vec::new();
    nested.extend(name.map(|name| ("name", FieldChange::Text(quote(name)))));
    let tool = field_value(source, span, outer).filter(|tool| tool.of(source).starts_with('{'));
    // Without an object of its own, the tool is in fields of the call. They move into the object.
    if tool.is_none() && name.is_some() {
        changes.push(("name", FieldChange::Remove));
    }
    if let Some(fix) = repaired.patch.arguments {
        let key = if outer == "custom" { "input" } else { "arguments" };
        let flat = FLAT_ARGUMENTS.into_iter().filter_map(|key| {
            let value = field_value(source, span, key).filter(|_| tool.is_none())?;
            (value.of(source) != "null").then_some((key, value))
        });
        let (value, fix) = match (tool, flat.clone().next()) {
            (None, Some((_, value))) if outer == "custom" => (Some(value), ArgumentsFix::ToText),
            (None, Some((_, value))) => (Some(value), ArgumentsFix::CompleteObject),
            (tool, _) => (tool.and_then(|tool| field_value(source, tool, key)), fix),
        };
        nested.push((
            key,
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Text)),
        ));
        changes.extend(flat.take(1).map(|(key, _)| (key, FieldChange::Remove)));
    }
    if !nested.is_empty() {
        changes.push((outer, FieldChange::Nested(nested)));
    }
    changes
}

/// Whether a call is custom: by its type, else by its only field.
fn is_custom(source: &str, call: Span) -> bool {
    let declared = field_text(source, call, "type").and_then(|kind| is_custom_type(&kind));
    let holds =
        |key| field_value(source, call, key).is_some_and(|body| body.of(source).starts_with('{'));
    declared.unwrap_or_else(|| holds("custom") && !holds("function"))
}

/// Writes a content field: a string if all parts are text, else a list of parts.
fn write_content(out: &mut SpliceWriter<'_>, parts: &[&RepairedPart<'_>]) {
    let all_text = parts.iter().all(|repaired| match repaired.source() {
        PartSource::Input => repaired.part.span.of(out.source).starts_with('"'),
        PartSource::Text(_) => true,
        PartSource::Quote(quote) => {
            let content = quote.content(repaired.part.span);
            QuotedContent::new(out.source, content, quote_element).media.is_empty()
        }
        PartSource::Media(_) => false,
    });
    if all_text {
        return write_joined(out, parts);
    }
    for (index, repaired) in parts.iter().enumerate() {
        out.text(if index == 0 { "[" } else { "," });
        let span = repaired.part.span;
        match repaired.source() {
            PartSource::Input if !span.of(out.source).starts_with('"') => out.copy(span),
            PartSource::Input | PartSource::Text(_) => {
                out.text("{\"type\":\"text\",\"text\":");
                write_joined(out, &[repaired]);
                out.text("}");
            }
            PartSource::Quote(quote) => {
                let quoted = QuotedContent::new(out.source, quote.content(span), quote_element);
                out.text("{\"type\":\"text\",\"text\":\"");
                quoted.write(out, &quote.heading());
                out.text("\"}");
                for element in quoted.media {
                    out.text(",");
                    element.write(out);
                }
            }
            PartSource::Media(media) => {
                let heading = quote(&media.heading());
                out.text(&format!("{{\"type\":\"text\",\"text\":{heading}}}"));
                for element in array_elements(out.source, media.content(span)) {
                    if quote_element(out.source, element) == ElementQuoting::Verbatim {
                        out.text(",");
                        out.copy(element);
                    }
                }
            }
        }
    }
    out.text("]");
}

/// Writes text parts as one string, with a blank line between them.
fn write_joined(out: &mut SpliceWriter<'_>, parts: &[&RepairedPart<'_>]) {
    out.text("\"");
    for (index, repaired) in parts.iter().enumerate() {
        if index > 0 {
            out.text("\\n\\n");
        }
        match repaired.source() {
            PartSource::Input => {
                let span = repaired.part.span;
                out.copy(Span { start: span.start + 1, end: span.end - 1 });
            }
            PartSource::Text(text) => {
                let mut escaped = String::new();
                escape_into(&mut escaped, text);
                out.text(&escaped);
            }
            PartSource::Quote(quote) | PartSource::Media(quote) => {
                let content = quote.content(repaired.part.span);
                QuotedContent::new(out.source, content, quote_element).write(out, &quote.heading());
            }
        }
    }
    out.text("\"");
}

fn quote_element(source: &str, element: Span) -> ElementQuoting {
    match field_text(source, element, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("refusal") => ElementQuoting::Text("refusal"),
        Some(kind) if is_media(kind) => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    }
}
