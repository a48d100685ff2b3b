//! Spells chat messages.

use foxwedge_core::{
    Draft, Message, MessageFlags, PartKind, PartSource, RepairedMessage, RepairedPart, Role, Span,
};

use super::read::{is_custom_type, is_media};
use crate::{
    json::{array_elements, escape_into, field_text, field_value, quote},
    splice::{
        ArgumentsEncoding, ElementQuoting, FieldChange, FieldChanges, QuotedContent, SpliceWriter,
        encode_arguments, value_as_text, write_patched,
    },
};

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
        Role::Answer => "tool",
        Role::User | Role::Neutral | Role::Unknown => "user",
    }
}

/// Writes a message on the envelope of the original.
pub(crate) fn rewrite_message(
    out: &mut SpliceWriter<'_>,
    draft: &Draft<'_>,
    message: &Message,
    slot: &RepairedMessage<'_>,
) {
    let mut changes: FieldChanges<'_> = Vec::new();
    if slot.role_changed {
        changes.push(("role", FieldChange::Text(quote(role_name(slot.role)))));
    }
    let old = draft.parts_of(message);
    if let Some(answer) =
        slot.parts.iter().find(|piece| matches!(piece.part.kind, PartKind::Answer(_)))
    {
        answer_changes(out, answer, &mut changes);
    } else {
        let before = old.iter().filter(|part| is_content(&part.kind)).map(|part| part.span);
        let now = || slot.parts.iter().filter(|piece| is_content(&piece.part.kind));
        if !is_unchanged(before, now()) {
            let write = |out: &mut SpliceWriter<'_>| write_content(out, &content_pieces(slot));
            changes.push(("content", FieldChange::WriteWith(Box::new(write))));
        }
        reasoning_changes(draft, message, slot, &mut changes);
    }
    let before =
        old.iter().filter(|part| matches!(part.kind, PartKind::Call(_))).map(|part| part.span);
    let now = || slot.parts.iter().filter(|piece| matches!(piece.part.kind, PartKind::Call(_)));
    let emptied =
        message.flags.has(MessageFlags::EMPTY_CALLS) && !slot.flags.has(MessageFlags::EMPTY_CALLS);
    if emptied || !is_unchanged(before, now()) {
        let change = match now().next() {
            Some(_) => FieldChange::WriteWith(Box::new(|out| write_calls(out, slot))),
            None => FieldChange::Remove,
        };
        changes.push(("tool_calls", change));
    }
    write_patched(out, message.span, changes);
}

/// Writes a new message.
pub(crate) fn write_new_message(out: &mut SpliceWriter<'_>, slot: &RepairedMessage<'_>) {
    out.text(&format!("{{\"role\":{},", quote(role_name(slot.role))));
    if let Some(answer) =
        slot.parts.iter().find(|piece| matches!(piece.part.kind, PartKind::Answer(_)))
    {
        let PartKind::Answer(outline) = &answer.part.kind else { return };
        let id = quote(outline.id.as_deref().unwrap_or(""));
        let words = match &answer.source {
            PartSource::Text(words) => quote(words),
            _ => quote(""),
        };
        out.text(&format!("\"tool_call_id\":{id},\"content\":{words}}}"));
        return;
    }
    out.text("\"content\":");
    write_content(out, &content_pieces(slot));
    if slot.parts.iter().any(|piece| matches!(piece.part.kind, PartKind::Call(_))) {
        out.text(",\"tool_calls\":");
        write_calls(out, slot);
    }
    out.text("}");
}

fn content_pieces<'p, 'a>(slot: &'p RepairedMessage<'a>) -> Vec<&'p RepairedPart<'a>> {
    slot.parts.iter().filter(|piece| is_content(&piece.part.kind)).collect()
}

fn is_content(kind: &PartKind<'_>) -> bool {
    !matches!(kind, PartKind::Call(_) | PartKind::Reasoning(_) | PartKind::Answer(_))
}

/// Whether the pieces are those of the original, unchanged and in order.
fn is_unchanged<'p, 'a: 'p>(
    mut before: impl Iterator<Item = Span>,
    now: impl Iterator<Item = &'p RepairedPart<'a>>,
) -> bool {
    for piece in now {
        let kept = piece.source == PartSource::Input && piece.patch.is_empty();
        if !kept || before.next() != Some(piece.part.span) {
            return false;
        }
    }
    before.next().is_none()
}

fn answer_changes(
    out: &SpliceWriter<'_>,
    piece: &RepairedPart<'_>,
    changes: &mut FieldChanges<'_>,
) {
    let id = piece.patch.new_id(&piece.part.kind);
    changes.extend(id.map(|id| ("tool_call_id", FieldChange::Text(quote(id)))));
    changes.extend(piece.patch.output().map(|words| ("content", FieldChange::Text(quote(words)))));
    let PartKind::Answer(answer) = &piece.part.kind else { return };
    let whole = || {
        array_elements(out.source, answer.content)
            .into_iter()
            .filter(|&one| !is_empty_text(out.source, one))
    };
    if let Some(pointer) = piece.patch.pointer() {
        // Media went, all else stays; the pointer says where to.
        let mut content = out.inner();
        content.text("[");
        for one in whole() {
            if quote_element(out.source, one) != ElementQuoting::Verbatim {
                content.copy(one);
                content.text(",");
            }
        }
        content.text(&format!("{{\"type\":\"text\",\"text\":{}}}]", quote(pointer)));
        changes.push(("content", FieldChange::Chunks(content.finish())));
    } else if piece.patch.recode_content && piece.patch.output().is_none() {
        let mut content = out.inner();
        if answer.content.of(out.source).starts_with('[') {
            for (index, one) in whole().enumerate() {
                content.text(if index == 0 { "[" } else { "," });
                content.copy(one);
            }
            content.text("]");
        } else {
            content.text(&quote(&value_as_text(out.source, answer.content)));
        }
        changes.push(("content", FieldChange::Chunks(content.finish())));
    }
}

/// Whether a part is a text without text.
fn is_empty_text(source: &str, part: Span) -> bool {
    let words = field_value(source, part, "text").map(|words| words.of(source));
    field_text(source, part, "type").as_deref() == Some("text")
        && matches!(words, None | Some("null"))
}

fn reasoning_changes<'s>(
    draft: &Draft<'_>,
    message: &Message,
    slot: &'s RepairedMessage<'_>,
    changes: &mut FieldChanges<'s>,
) {
    let is_reasoning = |kind: &PartKind<'_>| matches!(kind, PartKind::Reasoning(_));
    let before = draft.parts_of(message).iter().filter(|part| is_reasoning(&part.kind));
    let now = || slot.parts.iter().filter(|piece| is_reasoning(&piece.part.kind));
    if is_unchanged(before.map(|part| part.span), now()) {
        return;
    }
    let change = if now().next().is_none() {
        FieldChange::Remove
    } else {
        let own: Vec<&RepairedPart<'_>> = now().collect();
        FieldChange::WriteWith(Box::new(move |out| write_joined(out, &own)))
    };
    changes.push(("reasoning_content", change));
}

fn write_calls(out: &mut SpliceWriter<'_>, slot: &RepairedMessage<'_>) {
    let calls = slot.parts.iter().filter(|piece| matches!(piece.part.kind, PartKind::Call(_)));
    for (index, piece) in calls.enumerate() {
        out.text(if index == 0 { "[" } else { "," });
        let changes = call_changes(out.source, piece);
        if changes.is_empty() {
            out.copy(piece.part.span);
        } else {
            write_patched(out, piece.part.span, changes);
        }
    }
    out.text("]");
}

fn call_changes(source: &str, piece: &RepairedPart<'_>) -> FieldChanges<'static> {
    let span = piece.part.span;
    let mut changes: FieldChanges<'static> = Vec::new();
    let (id, name) = (piece.patch.new_id(&piece.part.kind), piece.patch.new_name(&piece.part.kind));
    changes.extend(id.map(|id| ("id", FieldChange::Text(quote(id)))));
    let outer = if is_custom(source, span) { "custom" } else { "function" };
    if piece.patch.typed {
        changes.push(("type", FieldChange::Text(quote(outer))));
    }
    let mut inside: FieldChanges<'static> = Vec::new();
    inside.extend(name.map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = piece.patch.arguments {
        let function = field_value(source, span, outer);
        let key = if outer == "custom" { "input" } else { "arguments" };
        let value = function.and_then(|function| field_value(source, function, key));
        inside.push((
            key,
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Text)),
        ));
    }
    if !inside.is_empty() {
        changes.push((outer, FieldChange::Nested(inside)));
    }
    changes
}

/// Whether a call is a custom one: it says so, or it holds nothing else.
fn is_custom(source: &str, call: Span) -> bool {
    let said = field_text(source, call, "type").and_then(|kind| is_custom_type(&kind));
    let holds =
        |key| field_value(source, call, key).is_some_and(|body| body.of(source).starts_with('{'));
    said.unwrap_or_else(|| holds("custom") && !holds("function"))
}

/// Writes a content field: a string where every piece is one, else a list of parts.
fn write_content(out: &mut SpliceWriter<'_>, pieces: &[&RepairedPart<'_>]) {
    let plain = pieces.iter().all(|piece| match &piece.source {
        PartSource::Input => piece.part.span.of(out.source).starts_with('"'),
        PartSource::Text(_) => true,
        PartSource::Quote(quote) => {
            let content = quote.content(piece.part.span);
            QuotedContent::new(out.source, content, quote_element).verbatim.is_empty()
        }
        PartSource::Media(_) => false,
    });
    if plain {
        return write_joined(out, pieces);
    }
    for (index, piece) in pieces.iter().enumerate() {
        out.text(if index == 0 { "[" } else { "," });
        let span = piece.part.span;
        match &piece.source {
            PartSource::Input if !span.of(out.source).starts_with('"') => out.copy(span),
            PartSource::Input | PartSource::Text(_) => {
                out.text("{\"type\":\"text\",\"text\":");
                write_joined(out, &[piece]);
                out.text("}");
            }
            PartSource::Quote(quote) => {
                let quoted = QuotedContent::new(out.source, quote.content(span), quote_element);
                out.text("{\"type\":\"text\",\"text\":\"");
                quoted.write(out, &quote.heading());
                out.text("\"}");
                copy_all(out, &quoted.verbatim);
            }
            PartSource::Media(media) => {
                let heading = quote(&media.heading());
                out.text(&format!("{{\"type\":\"text\",\"text\":{heading}}}"));
                let media: Vec<Span> = array_elements(out.source, media.content(span))
                    .into_iter()
                    .filter(|&one| quote_element(out.source, one) == ElementQuoting::Verbatim)
                    .collect();
                copy_all(out, &media);
            }
        }
    }
    out.text("]");
}

fn copy_all(out: &mut SpliceWriter<'_>, spans: &[Span]) {
    for &span in spans {
        out.text(",");
        out.copy(span);
    }
}

/// Writes pieces as one string, a blank line between them.
fn write_joined(out: &mut SpliceWriter<'_>, pieces: &[&RepairedPart<'_>]) {
    out.text("\"");
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            out.text("\\n\\n");
        }
        match &piece.source {
            PartSource::Input => {
                let span = piece.part.span;
                out.copy(Span { start: span.start + 1, end: span.end - 1 });
            }
            PartSource::Text(words) => {
                let mut text = String::new();
                escape_into(&mut text, words);
                out.text(&text);
            }
            PartSource::Quote(quote) | PartSource::Media(quote) => {
                let content = quote.content(piece.part.span);
                QuotedContent::new(out.source, content, quote_element).write(out, &quote.heading());
            }
        }
    }
    out.text("\"");
}

fn quote_element(source: &str, one: Span) -> ElementQuoting {
    match field_text(source, one, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some("refusal") => ElementQuoting::Text("refusal"),
        Some(kind) if is_media(kind) => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    }
}
