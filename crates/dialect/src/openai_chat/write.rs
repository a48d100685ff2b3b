//! Spells chat messages.

use foxwedge_core::{Draft, Kind, Marks, Message, Piece, Role, Slot, Source, Span};

use super::read::{custom_type, is_media};
use crate::{
    json::{elements, escape_into, field, quote, says},
    splice::{Change, Changes, Element, Encoding, Quoted, Writer, patch, respelled, told},
};

fn role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Developer => "developer",
        Role::Answer => "tool",
        Role::User | Role::Neutral | Role::Unknown => "user",
    }
}

/// Writes a message on the envelope of the original.
pub(crate) fn rewritten(
    out: &mut Writer<'_>,
    draft: &Draft<'_>,
    message: &Message,
    slot: &Slot<'_>,
) {
    let mut changes: Changes<'_> = Vec::new();
    if slot.recast {
        changes.push(("role", Change::Text(quote(role(slot.role)))));
    }
    let old = draft.parts_of(message);
    if let Some(answer) =
        slot.pieces.iter().find(|piece| matches!(piece.part.kind, Kind::Answer(_)))
    {
        answer_changes(out, answer, &mut changes);
    } else {
        let before = old.iter().filter(|part| is_content(&part.kind)).map(|part| part.span);
        let now = || slot.pieces.iter().filter(|piece| is_content(&piece.part.kind));
        if !same(before, now()) {
            let write = |out: &mut Writer<'_>| write_content(out, &content_of(slot));
            changes.push(("content", Change::Written(Box::new(write))));
        }
        reasoning_changes(draft, message, slot, &mut changes);
    }
    let before = old.iter().filter(|part| matches!(part.kind, Kind::Call(_))).map(|part| part.span);
    let now = || slot.pieces.iter().filter(|piece| matches!(piece.part.kind, Kind::Call(_)));
    let emptied = message.marks.has(Marks::EMPTY_CALLS) && !slot.marks.has(Marks::EMPTY_CALLS);
    if emptied || !same(before, now()) {
        let change = match now().next() {
            Some(_) => Change::Written(Box::new(|out| write_calls(out, slot))),
            None => Change::Remove,
        };
        changes.push(("tool_calls", change));
    }
    patch(out, message.span, changes);
}

/// Writes a new message.
pub(crate) fn written(out: &mut Writer<'_>, slot: &Slot<'_>) {
    out.text(&format!("{{\"role\":{},", quote(role(slot.role))));
    if let Some(answer) =
        slot.pieces.iter().find(|piece| matches!(piece.part.kind, Kind::Answer(_)))
    {
        let Kind::Answer(outline) = &answer.part.kind else { return };
        let id = quote(outline.id.as_deref().unwrap_or(""));
        let words = match &answer.source {
            Source::Words(words) => quote(words),
            _ => quote(""),
        };
        out.text(&format!("\"tool_call_id\":{id},\"content\":{words}}}"));
        return;
    }
    out.text("\"content\":");
    write_content(out, &content_of(slot));
    if slot.pieces.iter().any(|piece| matches!(piece.part.kind, Kind::Call(_))) {
        out.text(",\"tool_calls\":");
        write_calls(out, slot);
    }
    out.text("}");
}

fn content_of<'p, 'a>(slot: &'p Slot<'a>) -> Vec<&'p Piece<'a>> {
    slot.pieces.iter().filter(|piece| is_content(&piece.part.kind)).collect()
}

fn is_content(kind: &Kind<'_>) -> bool {
    !matches!(kind, Kind::Call(_) | Kind::Reasoning(_) | Kind::Answer(_))
}

/// Whether the pieces are those of the original, unchanged and in order.
fn same<'p, 'a: 'p>(
    mut before: impl Iterator<Item = Span>,
    now: impl Iterator<Item = &'p Piece<'a>>,
) -> bool {
    for piece in now {
        let kept = piece.source == Source::Kept && piece.patch.is_empty();
        if !kept || before.next() != Some(piece.part.span) {
            return false;
        }
    }
    before.next().is_none()
}

fn answer_changes(out: &Writer<'_>, piece: &Piece<'_>, changes: &mut Changes<'_>) {
    let id = piece.patch.new_id(&piece.part.kind);
    changes.extend(id.map(|id| ("tool_call_id", Change::Text(quote(id)))));
    changes.extend(piece.patch.output().map(|words| ("content", Change::Text(quote(words)))));
    let Kind::Answer(answer) = &piece.part.kind else { return };
    let whole = || {
        elements(out.source, answer.content).into_iter().filter(|&one| !is_hole(out.source, one))
    };
    if let Some(pointer) = piece.patch.pointer() {
        // Media went, all else stays; the pointer says where to.
        let mut content = out.inner();
        content.text("[");
        for one in whole() {
            if element(out.source, one) != Element::Whole {
                content.copy(one);
                content.text(",");
            }
        }
        content.text(&format!("{{\"type\":\"text\",\"text\":{}}}]", quote(pointer)));
        changes.push(("content", Change::Chunks(content.finish())));
    } else if piece.patch.told && piece.patch.output().is_none() {
        let mut content = out.inner();
        if answer.content.of(out.source).starts_with('[') {
            for (index, one) in whole().enumerate() {
                content.text(if index == 0 { "[" } else { "," });
                content.copy(one);
            }
            content.text("]");
        } else {
            content.text(&quote(&told(out.source, answer.content)));
        }
        changes.push(("content", Change::Chunks(content.finish())));
    }
}

/// Whether a part is a text without text.
fn is_hole(source: &str, part: Span) -> bool {
    let words = field(source, part, "text").map(|words| words.of(source));
    says(source, part, "type").as_deref() == Some("text") && matches!(words, None | Some("null"))
}

fn reasoning_changes<'s>(
    draft: &Draft<'_>,
    message: &Message,
    slot: &'s Slot<'_>,
    changes: &mut Changes<'s>,
) {
    let is_reasoning = |kind: &Kind<'_>| matches!(kind, Kind::Reasoning(_));
    let before = draft.parts_of(message).iter().filter(|part| is_reasoning(&part.kind));
    let now = || slot.pieces.iter().filter(|piece| is_reasoning(&piece.part.kind));
    if same(before.map(|part| part.span), now()) {
        return;
    }
    let change = if now().next().is_none() {
        Change::Remove
    } else {
        let own: Vec<&Piece<'_>> = now().collect();
        Change::Written(Box::new(move |out| write_joined(out, &own)))
    };
    changes.push(("reasoning_content", change));
}

fn write_calls(out: &mut Writer<'_>, slot: &Slot<'_>) {
    let calls = slot.pieces.iter().filter(|piece| matches!(piece.part.kind, Kind::Call(_)));
    for (index, piece) in calls.enumerate() {
        out.text(if index == 0 { "[" } else { "," });
        let changes = call_changes(out.source, piece);
        if changes.is_empty() {
            out.copy(piece.part.span);
        } else {
            patch(out, piece.part.span, changes);
        }
    }
    out.text("]");
}

fn call_changes(source: &str, piece: &Piece<'_>) -> Changes<'static> {
    let span = piece.part.span;
    let mut changes: Changes<'static> = Vec::new();
    let (id, name) = (piece.patch.new_id(&piece.part.kind), piece.patch.new_name(&piece.part.kind));
    changes.extend(id.map(|id| ("id", Change::Text(quote(id)))));
    let outer = if is_custom(source, span) { "custom" } else { "function" };
    if piece.patch.typed {
        changes.push(("type", Change::Text(quote(outer))));
    }
    let mut inside: Changes<'static> = Vec::new();
    inside.extend(name.map(|name| ("name", Change::Text(quote(name)))));
    if let Some(fix) = piece.patch.arguments {
        let function = field(source, span, outer);
        let key = if outer == "custom" { "input" } else { "arguments" };
        let value = function.and_then(|function| field(source, function, key));
        inside.push((key, Change::Text(respelled(source, value, fix, Encoding::Text))));
    }
    if !inside.is_empty() {
        changes.push((outer, Change::Inside(inside)));
    }
    changes
}

/// Whether a call is a custom one: it says so, or it holds nothing else.
fn is_custom(source: &str, call: Span) -> bool {
    let said = says(source, call, "type").and_then(|kind| custom_type(&kind));
    let holds = |key| field(source, call, key).is_some_and(|body| body.of(source).starts_with('{'));
    said.unwrap_or_else(|| holds("custom") && !holds("function"))
}

/// Writes a content field: a string where every piece is one, else a list of parts.
fn write_content(out: &mut Writer<'_>, pieces: &[&Piece<'_>]) {
    let plain = pieces.iter().all(|piece| match &piece.source {
        Source::Kept => piece.part.span.of(out.source).starts_with('"'),
        Source::Words(_) => true,
        Source::Quote(quote) => {
            let content = quote.content(piece.part.span);
            Quoted::new(out.source, content, element).whole.is_empty()
        }
        Source::Media(_) => false,
    });
    if plain {
        return write_joined(out, pieces);
    }
    for (index, piece) in pieces.iter().enumerate() {
        out.text(if index == 0 { "[" } else { "," });
        let span = piece.part.span;
        match &piece.source {
            Source::Kept if !span.of(out.source).starts_with('"') => out.copy(span),
            Source::Kept | Source::Words(_) => {
                out.text("{\"type\":\"text\",\"text\":");
                write_joined(out, &[piece]);
                out.text("}");
            }
            Source::Quote(quote) => {
                let quoted = Quoted::new(out.source, quote.content(span), element);
                out.text("{\"type\":\"text\",\"text\":\"");
                quoted.write(out, &quote.heading());
                out.text("\"}");
                copy_all(out, &quoted.whole);
            }
            Source::Media(media) => {
                let heading = quote(&media.heading());
                out.text(&format!("{{\"type\":\"text\",\"text\":{heading}}}"));
                let media: Vec<Span> = elements(out.source, media.content(span))
                    .into_iter()
                    .filter(|&one| element(out.source, one) == Element::Whole)
                    .collect();
                copy_all(out, &media);
            }
        }
    }
    out.text("]");
}

fn copy_all(out: &mut Writer<'_>, spans: &[Span]) {
    for &span in spans {
        out.text(",");
        out.copy(span);
    }
}

/// Writes pieces as one string, a blank line between them.
fn write_joined(out: &mut Writer<'_>, pieces: &[&Piece<'_>]) {
    out.text("\"");
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 {
            out.text("\\n\\n");
        }
        match &piece.source {
            Source::Kept => {
                let span = piece.part.span;
                out.copy(Span { start: span.start + 1, end: span.end - 1 });
            }
            Source::Words(words) => {
                let mut text = String::new();
                escape_into(&mut text, words);
                out.text(&text);
            }
            Source::Quote(quote) | Source::Media(quote) => {
                let content = quote.content(piece.part.span);
                Quoted::new(out.source, content, element).write(out, &quote.heading());
            }
        }
    }
    out.text("\"");
}

fn element(source: &str, one: Span) -> Element {
    match says(source, one, "type").as_deref() {
        Some("text") => Element::Text("text"),
        Some("refusal") => Element::Text("refusal"),
        Some(kind) if is_media(kind) => Element::Whole,
        _ => Element::Told,
    }
}
