//! Spells Responses items.

use foxwedge_core::{Answer, Family, Kind, Message, Piece, Role, Slot, Source, Span};

use crate::{
    json::{field, quote, says},
    splice::{Change, Changes, Element, Encoding, Quoted, Writer, patch, respelled, told},
};

/// Writes an item on the envelope of the original.
pub(crate) fn rewritten(out: &mut Writer<'_>, message: &Message, slot: &Slot<'_>) {
    let mut changes: Changes<'_> = Vec::new();
    if slot.recast {
        let role = match slot.role {
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Developer => "developer",
            Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
        };
        changes.push(("role", Change::Text(quote(role))));
        // An item of an unknown type becomes a message.
        if field(out.source, message.span, "type").is_some() {
            changes.push(("type", Change::Text(quote("message"))));
        }
    }
    if slot.without_id {
        changes.push(("id", Change::Remove));
    }
    for piece in &slot.pieces {
        changes.extend(item_changes(out.source, message.span, piece));
    }
    patch(out, message.span, changes);
}

fn item_changes(source: &str, item: Span, piece: &Piece<'_>) -> Changes<'static> {
    let mut changes: Changes<'static> = Vec::new();
    let change = &piece.patch;
    if let Some(id) = change.new_id(&piece.part.kind) {
        changes.push(("call_id", Change::Text(quote(id))));
    }
    let name = change.new_name(&piece.part.kind);
    changes.extend(name.map(|name| ("name", Change::Text(quote(name)))));
    if let Some(fix) = change.arguments {
        let key = match &piece.part.kind {
            Kind::Call(call) if call.family == Family::Custom => "input",
            _ => "arguments",
        };
        let value = field(source, item, key);
        changes.push((key, Change::Text(respelled(source, value, fix, Encoding::Text))));
    }
    changes.extend(change.output().map(|words| ("output", Change::Text(quote(words)))));
    if let Kind::Answer(answer) = &piece.part.kind
        && change.told
        && change.output().is_none()
    {
        changes.push(("output", Change::Text(quote(&told(source, answer.content)))));
    }
    changes
}

/// Writes a new item.
pub(crate) fn written(out: &mut Writer<'_>, slot: &Slot<'_>) {
    for piece in &slot.pieces {
        match (&piece.part.kind, &piece.source) {
            (Kind::Answer(answer), Source::Words(words)) => out.text(&output(answer, words)),
            (_, Source::Words(words)) => out.text(&said(slot.role, &quote(words))),
            (_, Source::Quote(quote) | Source::Media(quote)) => {
                let content = quote.content(piece.part.span);
                let quoted = Quoted::new(out.source, content, element);
                out.text("{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"");
                quoted.write(out, &quote.heading());
                out.text("\"}");
                for whole in quoted.whole {
                    out.text(",");
                    out.copy(whole);
                }
                out.text("]}");
            }
            (_, Source::Kept) => out.copy(piece.part.span),
        }
    }
}

fn said(role: Role, words: &str) -> String {
    if role.is_assistant() {
        return format!("{{\"type\":\"message\",\"role\":\"assistant\",\"content\":{words}}}");
    }
    format!(
        "{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":{words}}}]}}"
    )
}

/// A new answer, in the form of its family.
fn output(answer: &Answer<'_>, words: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let words = quote(words);
    match answer.family {
        Family::Custom => {
            format!("{{\"type\":\"custom_tool_call_output\",\"call_id\":{id},\"output\":{words}}}")
        }
        Family::LocalShell => {
            format!(
                "{{\"type\":\"local_shell_call_output\",\"call_id\":{id},\"id\":{id},\"output\":{words}}}"
            )
        }
        Family::Shell => format!(
            "{{\"type\":\"shell_call_output\",\"call_id\":{id},\"output\":[{{\"stdout\":\"\",\"stderr\":{words},\"outcome\":{{\"type\":\"timeout\"}}}}]}}"
        ),
        Family::ApplyPatch => format!(
            "{{\"type\":\"apply_patch_call_output\",\"call_id\":{id},\"status\":\"failed\",\"output\":{words}}}"
        ),
        Family::Function | Family::Computer | Family::ToolSearch => {
            format!("{{\"type\":\"function_call_output\",\"call_id\":{id},\"output\":{words}}}")
        }
    }
}

fn element(source: &str, one: Span) -> Element {
    match says(source, one, "type").as_deref() {
        Some("input_text" | "output_text" | "text") => Element::Text("text"),
        Some("input_image" | "input_file") => Element::Whole,
        _ => Element::Told,
    }
}
