//! Writes Responses items.

use foxwedge_core::{
    CallFamily, DraftAnswer, Message, PartKind, PartSource, RepairedMessage, RepairedPart, Role,
    Span,
};

use super::encode::encode_media;
use crate::foreign_result::write_foreign_content;
use crate::splice::{
    ArgumentsEncoding, ElementQuoting, MediaType, QuotedContent, encode_arguments, recode_result,
    value_as_text, write_answer,
};
use foxwedge_json::{FieldChange, FieldChanges, SpliceWriter, write_patched};
use foxwedge_json::{array_elements, field_text, field_value, quote};

/// What stands before and behind the string of a text block of an output.
const TEXT_BLOCK: (&str, &str) = ("{\"type\":\"input_text\",\"text\":", "}");

/// Writes a repaired item. Keeps the other fields of the original.
pub(crate) fn rewrite_item(
    out: &mut SpliceWriter<'_>,
    original: &Message,
    message: &RepairedMessage<'_>,
) {
    let mut changes: FieldChanges<'_> = Vec::new();
    if message.has_new_role() {
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Developer => "developer",
            Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
        };
        changes.push(("role", FieldChange::Text(quote(role))));
        // An item of an unknown type becomes a message.
        if field_value(out.source, original.span, "type").is_some() {
            changes.push(("type", FieldChange::Text(quote("message"))));
        }
    }
    if message.loses_id() {
        changes.push(("id", FieldChange::Remove));
    }
    for repaired in &message.parts {
        changes.extend(item_changes(out.source, original.span, repaired));
    }
    write_patched(out, original.span, changes);
}

fn item_changes(source: &str, item: Span, repaired: &RepairedPart<'_>) -> FieldChanges<'static> {
    let mut changes: FieldChanges<'static> = Vec::new();
    let patch = &repaired.patch;
    if let Some(id) = patch.new_id(&repaired.part.kind) {
        changes.push(("call_id", FieldChange::Text(quote(id))));
    }
    if let PartKind::Answer(answer) = &repaired.part.kind
        && patch.typed
    {
        changes.extend(retyped_output(source, answer));
    }
    let name = patch.new_name(&repaired.part.kind);
    changes.extend(name.map(|name| ("name", FieldChange::Text(quote(name)))));
    if let Some(fix) = patch.arguments {
        let key = match &repaired.part.kind {
            PartKind::Call(call) if call.family == CallFamily::Custom => "input",
            _ => "arguments",
        };
        let value = field_value(source, item, key);
        changes.push((
            key,
            FieldChange::Text(encode_arguments(source, value, fix, ArgumentsEncoding::Text)),
        ));
    }
    changes.extend(patch.output().map(|text| ("output", FieldChange::Text(quote(text)))));
    if let PartKind::Answer(answer) = &repaired.part.kind
        && patch.recode_content
        && patch.output().is_none()
    {
        changes.push(("output", recode_result(answer.content, TEXT_BLOCK)));
    }
    changes
}

/// The output of a function or of a free-text tool, as that of a call of another family.
fn retyped_output(source: &str, answer: &DraftAnswer<'_>) -> FieldChanges<'static> {
    let elements = array_elements(source, answer.content);
    let texts = || match answer.content.of(source).starts_with('[') {
        true => elements.iter().map(|element| element_text(source, *element)).collect(),
        false => vec![value_as_text(source, answer.content)],
    };
    let (kind, output) = match answer.family {
        CallFamily::Shell => {
            let chunk = |text: String| {
                let text = quote(&text);
                format!(
                    "{{\"stdout\":{text},\"stderr\":\"\",\"outcome\":{{\"type\":\"exit\",\"exit_code\":0}}}}"
                )
            };
            let chunks: Vec<String> = texts().into_iter().map(chunk).collect();
            ("shell_call_output", FieldChange::Text(format!("[{}]", chunks.join(","))))
        }
        CallFamily::ApplyPatch => {
            ("apply_patch_call_output", FieldChange::Text(quote(&texts().join("\n"))))
        }
        CallFamily::Computer => {
            let Some(&image) = elements.first() else { return Vec::new() };
            let write = move |out: &mut SpliceWriter<'_>| {
                let kind = FieldChange::Text(quote("computer_screenshot"));
                write_patched(out, image, vec![("type", kind), ("detail", FieldChange::Remove)]);
            };
            ("computer_call_output", FieldChange::WriteWith(Box::new(write)))
        }
        CallFamily::Function
        | CallFamily::Custom
        | CallFamily::LocalShell
        | CallFamily::ToolSearch => {
            return vec![("type", FieldChange::Text(quote(plain_output(answer))))];
        }
    };
    let mut changes = vec![("type", FieldChange::Text(quote(kind))), ("output", output)];
    if answer.family == CallFamily::ApplyPatch {
        changes.push(("status", FieldChange::Text(quote("completed"))));
    }
    changes
}

/// The text of an element of an output; anything else as JSON.
fn element_text(source: &str, element: Span) -> String {
    let text = field_value(source, element, "text").filter(|it| it.of(source).starts_with('"'));
    value_as_text(source, text.unwrap_or(element))
}

/// The type of an output with text.
fn plain_output(answer: &DraftAnswer<'_>) -> &'static str {
    match answer.family {
        CallFamily::Custom => "custom_tool_call_output",
        _ => "function_call_output",
    }
}

/// Writes a new item.
pub(crate) fn write_new_item(out: &mut SpliceWriter<'_>, message: &RepairedMessage<'_>) {
    for repaired in &message.parts {
        match (&repaired.part.kind, repaired.source()) {
            (PartKind::Answer(answer), PartSource::Text(text)) => {
                let caller = repaired.patch.repeated().map(|value| ("caller", value));
                write_answer(out, &output_json(answer, text), caller)
            }
            (_, PartSource::Text(text)) => out.text(&message_json(message.role, &quote(text))),
            (_, PartSource::Quote(quote) | PartSource::Media(quote)) => {
                let content = quote.content(repaired.part.span);
                let quoted = QuotedContent::new(out.source, content, quote_element);
                out.text("{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"");
                quoted.write(out, &quote.heading());
                out.text("\"}");
                for element in quoted.media {
                    out.text(",");
                    element.write(out);
                }
                out.text("]}");
            }
            (PartKind::Answer(answer), PartSource::Input) if repaired.patch.is_rewritten() => {
                let (kind, id) = (plain_output(answer), quote(answer.id.as_deref().unwrap_or("")));
                out.text(&format!("{{\"type\":\"{kind}\",\"call_id\":{id},\"output\":"));
                match repaired.patch.output() {
                    Some(text) => out.text(&quote(text)),
                    None => write_foreign_content(out, answer.content, TEXT_BLOCK, encode_media),
                }
                out.text("}");
            }
            (_, PartSource::Input) => out.copy(repaired.part.span),
        }
    }
}

fn message_json(role: Role, text: &str) -> String {
    if role.is_assistant() {
        return format!("{{\"type\":\"message\",\"role\":\"assistant\",\"content\":{text}}}");
    }
    format!(
        "{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":{text}}}]}}"
    )
}

/// A new tool output, in the shape of its call family.
fn output_json(answer: &DraftAnswer<'_>, text: &str) -> String {
    let id = quote(answer.id.as_deref().unwrap_or(""));
    let text = quote(text);
    match answer.family {
        CallFamily::Custom => {
            format!("{{\"type\":\"custom_tool_call_output\",\"call_id\":{id},\"output\":{text}}}")
        }
        CallFamily::LocalShell => {
            format!(
                "{{\"type\":\"local_shell_call_output\",\"call_id\":{id},\"id\":{id},\"output\":{text}}}"
            )
        }
        CallFamily::Shell => format!(
            "{{\"type\":\"shell_call_output\",\"call_id\":{id},\"output\":[{{\"stdout\":\"\",\"stderr\":{text},\"outcome\":{{\"type\":\"timeout\"}}}}]}}"
        ),
        CallFamily::ApplyPatch => format!(
            "{{\"type\":\"apply_patch_call_output\",\"call_id\":{id},\"status\":\"failed\",\"output\":{text}}}"
        ),
        // It lists tools and has no place for text.
        CallFamily::ToolSearch => format!(
            "{{\"type\":\"tool_search_output\",\"call_id\":{id},\"execution\":\"client\",\"status\":\"completed\",\"tools\":[]}}"
        ),
        CallFamily::Function | CallFamily::Computer => {
            format!("{{\"type\":\"function_call_output\",\"call_id\":{id},\"output\":{text}}}")
        }
    }
}

fn quote_element(source: &str, element: Span) -> ElementQuoting {
    match field_text(source, element, "type").as_deref() {
        Some("input_text" | "output_text" | "text") => ElementQuoting::Text("text"),
        Some("input_image" | "input_file") => ElementQuoting::Verbatim,
        Some("computer_screenshot") if holds_image(source, element) => {
            ElementQuoting::Retyped(MediaType { name: "input_image", renamed: None })
        }
        _ => ElementQuoting::AsJson,
    }
}

/// Whether a screenshot says where its image is.
fn holds_image(source: &str, screenshot: Span) -> bool {
    let text = |key| field_text(source, screenshot, key).is_some_and(|text| !text.is_empty());
    text("image_url") || text("file_id")
}
