//! Writes messages of Gemini CLI in the Gemini API format.

use foxwedge_core::{Message, Part, PartKind, Role, Span};

use foxwedge_json::{array_elements, field_value, quote};

/// Appends a content to a list of contents.
pub(crate) fn write_content(out: &mut String, source: &str, message: &Message, parts: &[Part<'_>]) {
    let role = if message.role == Role::Assistant { "model" } else { "user" };
    out.push_str(&format!("{{\"role\":\"{role}\",\"parts\":["));
    let start = out.len();
    for part in parts {
        if out.len() > start {
            out.push(',');
        }
        let raw = part.span.of(source);
        match &part.kind {
            _ if raw.starts_with('"') && matches!(part.kind, PartKind::Text(_)) => {
                out.push_str(&format!("{{\"text\":{raw}}}"));
            }
            PartKind::Call(_) if field_value(source, part.span, "functionCall").is_none() => {
                let value = |key: &str, none: &'static str| {
                    field_value(source, part.span, key).map_or(none, |value| value.of(source))
                };
                out.push_str(&format!(
                    "{{\"functionCall\":{{\"id\":{},\"name\":{},\"args\":{}}}}}",
                    value("id", "\"\""),
                    value("name", "\"\""),
                    value("args", "{}")
                ));
            }
            PartKind::Answer(answer) if answer.content == part.span => {
                let id = quote(answer.id.as_deref().unwrap_or(""));
                let name = quote(answer.tool().unwrap_or(""));
                write_result(out, source, part.span, &id, &name);
            }
            _ => out.push_str(raw),
        }
    }
    out.push_str("]}");
}

/// Writes a result: existing parts unchanged, anything else as the output of its call.
fn write_result(out: &mut String, source: &str, result: Span, id: &str, name: &str) {
    let is_part = |part: Span| field_value(source, part, "functionResponse").is_some();
    let raw = result.of(source);
    let output = |raw: &str| {
        format!(
            "{{\"functionResponse\":{{\"id\":{id},\"name\":{name},\"response\":{{\"output\":{raw}}}}}}}"
        )
    };
    if raw.starts_with('[') {
        let parts = array_elements(source, result);
        if parts.iter().any(|part| is_part(*part)) {
            let parts: Vec<&str> = parts.iter().map(|part| part.of(source)).collect();
            out.push_str(&parts.join(","));
            return;
        }
    }
    if raw.starts_with('{') && is_part(result) {
        out.push_str(raw);
    } else {
        out.push_str(&output(raw));
    }
}
