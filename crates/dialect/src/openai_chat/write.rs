//! Spells chat messages.

use foxwedge_core::{Draft, Kind, Marks, Message, Piece, Role, Slot, Source, Span};

use super::read::custom_type;
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
            let mut content = out.inner();
            write_content(&mut content, &now().collect::<Vec<_>>());
            changes.push(("content", Change::Chunks(content.finish())));
        }
        reasoning_changes(out, draft, message, slot, &mut changes);
    }
    let before = old.iter().filter(|part| matches!(part.kind, Kind::Call(_))).map(|part| part.span);
    let now = || slot.pieces.iter().filter(|piece| matches!(piece.part.kind, Kind::Call(_)));
    let emptied = message.marks.has(Marks::EMPTY_CALLS) && !slot.marks.has(Marks::EMPTY_CALLS);
    if emptied || !same(before, now()) {
        let change = match write_calls(out, now()) {
            Some(calls) => calls,
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
    let content = slot.pieces.iter().filter(|piece| is_content(&piece.part.kind));
    write_content(out, &content.collect::<Vec<_>>());
    let calls = slot.pieces.iter().filter(|piece| matches!(piece.part.kind, Kind::Call(_)));
    if let Some(Change::Chunks(calls)) = write_calls(out, calls) {
        out.text(",\"tool_calls\":");
        out.append(calls);
    }
    out.text("}");
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
    changes.extend(piece.patch.id.as_deref().map(|id| ("tool_call_id", Change::Text(quote(id)))));
    changes
        .extend(piece.patch.output.as_deref().map(|words| ("content", Change::Text(quote(words)))));
    let Kind::Answer(answer) = &piece.part.kind else { return };
    let whole = || {
        elements(out.source, answer.content).into_iter().filter(|&one| !is_hole(out.source, one))
    };
    if let Some(pointer) = piece.patch.pointer {
        // Text stays, media went; the pointer says where to.
        let mut content = out.inner();
        content.text("[");
        for one in whole() {
            if let Element::Text(_) = element(out.source, one) {
                content.copy(one);
                content.text(",");
            }
        }
        content.text(&format!("{{\"type\":\"text\",\"text\":{}}}]", quote(pointer)));
        changes.push(("content", Change::Chunks(content.finish())));
    } else if piece.patch.told && piece.patch.output.is_none() {
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
    says(source, part, "type").as_deref() == Some("text") && field(source, part, "text").is_none()
}

fn reasoning_changes(
    out: &Writer<'_>,
    draft: &Draft<'_>,
    message: &Message,
    slot: &Slot<'_>,
    changes: &mut Changes<'_>,
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
        let mut value = out.inner();
        write_joined(&mut value, &now().collect::<Vec<_>>());
        Change::Chunks(value.finish())
    };
    changes.push(("reasoning_content", change));
}

fn write_calls<'p, 'a: 'p>(
    out: &Writer<'_>,
    calls: impl Iterator<Item = &'p Piece<'a>>,
) -> Option<Change<'static>> {
    let mut list = out.inner();
    let mut any = false;
    for piece in calls {
        list.text(if any { "," } else { "[" });
        any = true;
        let changes = call_changes(out.source, piece);
        if changes.is_empty() {
            list.copy(piece.part.span);
        } else {
            patch(&mut list, piece.part.span, changes);
        }
    }
    list.text("]");
    any.then(|| Change::Chunks(list.finish()))
}

fn call_changes(source: &str, piece: &Piece<'_>) -> Changes<'static> {
    let span = piece.part.span;
    let mut changes: Changes<'static> = Vec::new();
    changes.extend(piece.patch.id.as_deref().map(|id| ("id", Change::Text(quote(id)))));
    let outer = if is_custom(source, span) { "custom" } else { "function" };
    if piece.patch.typed {
        changes.push(("type", Change::Text(quote(outer))));
    }
    let mut inside: Changes<'static> = Vec::new();
    inside.extend(piece.patch.name.as_deref().map(|name| ("name", Change::Text(quote(name)))));
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
        Source::Quote { content, .. } => {
            Quoted::new(out.source, *content, element).whole.is_empty()
        }
        Source::Media { .. } => false,
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
            Source::Quote { heading, content } => {
                let quoted = Quoted::new(out.source, *content, element);
                out.text("{\"type\":\"text\",\"text\":\"");
                quoted.write(out, heading);
                out.text("\"}");
                copy_all(out, &quoted.whole);
            }
            Source::Media { heading, content } => {
                out.text(&format!("{{\"type\":\"text\",\"text\":{}}}", quote(heading)));
                let media: Vec<Span> = elements(out.source, *content)
                    .into_iter()
                    .filter(|&one| !matches!(element(out.source, one), Element::Text(_)))
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
            Source::Quote { heading, content } | Source::Media { heading, content } => {
                Quoted::new(out.source, *content, element).write(out, heading);
            }
        }
    }
    out.text("\"");
}

fn element(source: &str, one: Span) -> Element {
    match says(source, one, "type").as_deref() {
        Some("text") => Element::Text("text"),
        Some("refusal") => Element::Text("refusal"),
        Some("image_url" | "input_audio" | "file" | "image" | "video_url") => Element::Whole,
        _ => Element::Told,
    }
}
