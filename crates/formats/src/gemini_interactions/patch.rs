//! Writes Interactions steps.

use foxwedge_core::{Message, PartKind, PartSource, RepairedMessage, RepairedPart, Role, Span};

use super::{StepKind, open_result};
use crate::splice::{
    ArgumentsEncoding, ElementQuoting, QuotedContent, encode_arguments, recode_result, write_answer,
};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, write_patched};
use foxwedge_json::{field_text, field_value, quote};

/// Writes a repaired step. Keeps the other fields of the original.
pub(crate) fn rewrite_step(
    out: &mut SpliceWriter<'_>,
    original: &Message,
    message: &RepairedMessage<'_>,
) {
    let mut changes: FieldChanges<'_> = Vec::new();
    for repaired in &message.parts {
        changes.extend(step_changes(out.source, original.span, repaired));
    }
    write_patched(out, original.span, changes);
}

fn step_changes(source: &str, step: Span, repaired: &RepairedPart<'_>) -> FieldChanges<'static> {
    let mut changes: FieldChanges<'static> = Vec::new();
    let (patch, kind) = (&repaired.patch, &repaired.part.kind);
    if let Some(id) = patch.new_id(kind) {
        let key = if matches!(kind, PartKind::Answer(_)) { "call_id" } else { "id" };
        changes.push((key, FieldChange::Text(quote(id))));
    }
    changes.extend(patch.new_name(kind).map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let value = field_value(source, step, "arguments");
        let arguments = encode_arguments(source, value, fix, ArgumentsEncoding::Object);
        changes.push(("arguments", FieldChange::Text(arguments)));
    }
    changes.extend(patch.output().map(|text| ("result", FieldChange::Text(quote(text)))));
    if let PartKind::Answer(answer) = kind
        && patch.recode_content
        && patch.output().is_none()
    {
        let text_block = ("{\"type\":\"text\",\"text\":", "}");
        changes.push(("result", recode_result(answer.content, text_block)));
    }
    changes
}

/// Writes a new step.
pub(crate) fn write_new_step(out: &mut SpliceWriter<'_>, message: &RepairedMessage<'_>) {
    for repaired in &message.parts {
        match (&repaired.part.kind, repaired.source()) {
            (PartKind::Answer(answer), PartSource::Text(text)) => {
                let mut json = String::new();
                let name = answer.tool().unwrap_or_default();
                open_result(&mut json, answer.id.as_deref(), name, true);
                json.push_str(&quote(text));
                json.push('}');
                write_answer(out, &json, None);
            }
            (_, PartSource::Text(text)) => {
                out.text(open_content(message.role));
                out.text(&quote(text));
                out.text("}]}");
            }
            (_, PartSource::Quote(quote) | PartSource::Media(quote)) => {
                let content = quote.content(repaired.part.span);
                let quoted = QuotedContent::new(out.source, content, quote_element);
                out.text(open_content(Role::User));
                out.text("\"");
                quoted.write(out, &quote.heading());
                out.text("\"}");
                for element in quoted.media {
                    out.text(",");
                    element.write(out);
                }
                out.text("]}");
            }
            (_, PartSource::Input) => out.copy(repaired.part.span),
        }
    }
}

/// The start of a step with one text, up to that text.
fn open_content(role: Role) -> &'static str {
    match role.is_assistant() {
        true => "{\"type\":\"model_output\",\"content\":[{\"type\":\"text\",\"text\":",
        false => "{\"type\":\"user_input\",\"content\":[{\"type\":\"text\",\"text\":",
    }
}

fn quote_element(source: &str, element: Span) -> ElementQuoting {
    match field_text(source, element, "type").as_deref() {
        Some("text") => ElementQuoting::Text("text"),
        Some(kind) if StepKind::of(kind) == StepKind::Media => ElementQuoting::Verbatim,
        _ => ElementQuoting::AsJson,
    }
}
