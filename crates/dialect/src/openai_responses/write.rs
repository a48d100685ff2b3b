//! Spells Responses items.

use foxwedge_core::{
    CallFamily, DraftAnswer, Message, PartKind, PartSource, RepairedMessage, RepairedPart, Role,
    Span,
};

use crate::{
    json::{field_text, field_value, quote},
    splice::{
        ArgumentsEncoding, ElementQuoting, FieldChange, FieldChanges, QuotedContent, SpliceWriter,
        encode_arguments, value_as_text, write_patched,
    },
};

/// Writes an item on the envelope of the original.
pub(crate) fn rewrite_item(
    out: &mut SpliceWriter<'_>,
    message: &Message,
    slot: &RepairedMessage<'_>,
) {
    let mut changes: FieldChanges<'_> = Vec::new();
    if slot.role_changed {
        let role = match slot.role {
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Developer => "developer",
            Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
        };
        changes.push(("role", FieldChange::Text(quote(role))));
        // An item of an unknown type becomes a message.
        if field_value(out.source, message.span, "type").is_some() {
            changes.push(("type", FieldChange::Text(quote("message"))));
        }
    }
    if slot.without_id {
        changes.push(("id", FieldChange::Remove));
    }
    for piece in &slot.parts {
        changes.extend(item_changes(out.source, message.span, piece));
    }
    write_patched(out, message.span, changes);
}

fn item_changes(source: &str, item: Span, piece: &RepairedPart<'_>) -> FieldChanges<'static> {
    let mut changes: FieldChanges<'static> = Vec::new();
    let change = &piece.patch;
    if let Some(id) = change.new_id(&piece.part.kind) {
        changes.push(("call_id", FieldChange::Text(quote(id))));
    }
    let name = change.new_name(&piece.part.kind);
    changes.extend(name.map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = change.arguments {
        let key = match &piece.part.kind {
            PartKind::Call(call) if call.family == CallFamily::Custom => "input",
            _ => "arguments",
        };
        let value = field_value(source, item, key);
        changes.push((
            key,
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Text)),
        ));
    }
    changes.extend(change.output().map(|words| ("output", FieldChange::Text(quote(words)))));
    if let PartKind::Answer(answer) = &piece.part.kind
        && change.recode_content
        && change.output().is_none()
    {
        changes.push(("output", FieldChange::Text(quote(&value_as_text(source, answer.content)))));
    }
    changes
}

/// Writes a new item.
pub(crate) fn write_new_item(out: &mut SpliceWriter<'_>, slot: &RepairedMessage<'_>) {
    for piece in &slot.parts {
        match (&piece.part.kind, &piece.source) {
            (PartKind::Answer(answer), PartSource::Text(words)) => {
                out.text(&output_json(answer, words))
            }
            (_, PartSource::Text(words)) => out.text(&message_json(slot.role, &quote(words))),
            (_, PartSource::Quote(quote) | PartSource::Media(quote)) => {
                let content = quote.content(piece.part.span);
                let quoted = QuotedContent::new(out.source, content, quote_element);
                out.text("{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"");
                quoted.write(out, &quote.heading());
                out.text("\"}");
                for whole in quoted.verbatim {
                    out.text(",");
                    out.copy(whole);
                }
                out.text("]}");
            }
            (_, PartSource::Input) => out.copy(piece.part.span),
        }
    }
}

fn message_json(role: Role, words: &str) -> String {
    if role.is_assistant() {
        return format!("{{\"type\":\"message\",\"role\":\"assistant\",\"content\":{words}}}");
    }
    format!(
        "{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":{words}}}]}}"
    )
}

/// A new answer, in the form of its family.
fn output_json(answer: &DraftAnswer<'_>, words: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let words = quote(words);
    match answer.family {
        CallFamily::Custom => {
            format!("{{\"type\":\"custom_tool_call_output\",\"call_id\":{id},\"output\":{words}}}")
        }
        CallFamily::LocalShell => {
            format!(
                "{{\"type\":\"local_shell_call_output\",\"call_id\":{id},\"id\":{id},\"output\":{words}}}"
            )
        }
        CallFamily::Shell => format!(
            "{{\"type\":\"shell_call_output\",\"call_id\":{id},\"output\":[{{\"stdout\":\"\",\"stderr\":{words},\"outcome\":{{\"type\":\"timeout\"}}}}]}}"
        ),
        CallFamily::ApplyPatch => format!(
            "{{\"type\":\"apply_patch_call_output\",\"call_id\":{id},\"status\":\"failed\",\"output\":{words}}}"
        ),
        CallFamily::Function | CallFamily::Computer | CallFamily::ToolSearch => {
            format!("{{\"type\":\"function_call_output\",\"call_id\":{id},\"output\":{words}}}")
        }
    }
}

fn quote_element(source: &str, one: Span) -> ElementQuoting {
    match field_text(source, one, "type").as_deref() {
        Some("input_text" | "output_text" | "text") => ElementQuoting::Text("text"),
        Some("input_image" | "input_file") => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    }
}
