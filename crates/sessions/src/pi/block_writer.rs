//! Writes a part of pi in the Anthropic format.

use foxwedge_core::{Part, PartKind, Span};

use foxwedge_json::{array_elements, field_text, field_value, quote};

/// Appends a part to a list of blocks. Returns `false` for reasoning, which is left out: its
/// signature is valid only for the model that wrote it.
pub(crate) fn write_block(out: &mut String, source: &str, part: &Part<'_>) -> bool {
    let value = |key: &str| field_value(source, part.span, key).map(|span| span.of(source));
    match &part.kind {
        PartKind::Reasoning(_) => return false,
        PartKind::Call(call) => {
            let id = quote(call.id.as_deref().unwrap_or(""));
            let name = quote(call.name.as_deref().unwrap_or(""));
            let input = value("arguments").unwrap_or("{}");
            out.push_str(&format!(
                "{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}"
            ));
        }
        PartKind::Answer(answer) => {
            let id = quote(answer.id.as_deref().unwrap_or(""));
            out.push_str(&format!("{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":"));
            write_content(out, source, answer.content);
            let failed = value("isError") == Some("true");
            out.push_str(if failed { ",\"is_error\":true}" } else { "}" });
        }
        PartKind::Media => write_image(out, source, part.span),
        PartKind::Text(_) if part.span.of(source).starts_with('"') => {
            out.push_str(&format!("{{\"type\":\"text\",\"text\":{}}}", part.span.of(source)));
        }
        // A command that the user ran.
        PartKind::Text(_) if value("role") == Some("\"bashExecution\"") => {
            let text = |key: &str| field_text(source, part.span, key).unwrap_or_default();
            let ran = format!("Ran `{}`\n```\n{}\n```", text("command"), text("output"));
            out.push_str(&format!("{{\"type\":\"text\",\"text\":{}}}", quote(&ran)));
        }
        PartKind::Text(_)
        | PartKind::ServerCall(_)
        | PartKind::ServerAnswer(_)
        | PartKind::Fallback
        | PartKind::Other
        | PartKind::Unknown => out.push_str(part.span.of(source)),
    }
    true
}

/// Writes the content of a tool result: a string, or a list of texts and images.
fn write_content(out: &mut String, source: &str, content: Span) {
    match content.of(source).chars().next() {
        Some('"') => out.push_str(content.of(source)),
        Some('[') if !array_elements(source, content).is_empty() => {
            let mut separator = "";
            out.push('[');
            for one in array_elements(source, content) {
                // pi passes on only what has a type.
                let Some(kind) = field_text(source, one, "type") else { continue };
                out.push_str(std::mem::replace(&mut separator, ","));
                match &*kind {
                    "image" => write_image(out, source, one),
                    _ => out.push_str(one.of(source)),
                }
            }
            out.push(']');
        }
        _ => out.push_str("\"\""),
    }
}

fn write_image(out: &mut String, source: &str, image: Span) {
    let text = |key: &str| field_value(source, image, key).map_or("\"\"", |at| at.of(source));
    out.push_str(&format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}}}",
        text("mimeType"),
        text("data")
    ));
}
