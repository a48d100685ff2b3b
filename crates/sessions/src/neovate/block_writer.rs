//! Writes a part of Neovate in the Anthropic format.

use foxwedge_core::{Part, PartKind, Span};

use foxwedge_json::{JsonScanner, JsonShape, array_elements, field_text, field_value, quote};

/// Appends a part to a list of blocks. Returns `false` for reasoning, which is left out because it
/// has no signature.
pub(crate) fn write_block(out: &mut String, source: &str, part: &Part<'_>) -> bool {
    let value = |key: &str| field_value(source, part.span, key).map(|span| span.of(source));
    match &part.kind {
        PartKind::Reasoning(_) => return false,
        PartKind::Call(call) => {
            let id = quote(call.id.as_deref().unwrap_or(""));
            let name = quote(call.name.as_deref().unwrap_or(""));
            let input = value("input").unwrap_or("{}");
            out.push_str(&format!(
                "{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}"
            ));
        }
        PartKind::Answer(answer) => {
            let id = quote(answer.id.as_deref().unwrap_or(""));
            out.push_str(&format!("{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":"));
            write_content(out, source, answer.content);
            let error = field_value(source, part.span, "result")
                .and_then(|result| field_value(source, result, "isError"))
                .is_some_and(|error| error.of(source) == "true");
            out.push_str(if error { ",\"is_error\":true}" } else { "}" });
        }
        PartKind::Media => write_image(out, source, part.span),
        PartKind::Text(_) if part.span.of(source).starts_with('"') => {
            out.push_str("{\"type\":\"text\",\"text\":");
            out.push_str(part.span.of(source));
            out.push('}');
        }
        PartKind::Text(_)
        | PartKind::ServerCall(_)
        | PartKind::ServerAnswer(_)
        | PartKind::Fallback
        | PartKind::Other
        | PartKind::Unknown => {
            out.push_str(part.span.of(source));
        }
    }
    true
}

/// Writes the content of a tool result: a string, or a list of texts and images.
fn write_content(out: &mut String, source: &str, content: Span) {
    let shape = JsonScanner::within(source, content).shape();
    match shape {
        Ok(JsonShape::String) => out.push_str(content.of(source)),
        Ok(JsonShape::Array) => {
            for (at, one) in array_elements(source, content).into_iter().enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                if field_text(source, one, "type").as_deref() == Some("image") {
                    write_image(out, source, one);
                } else {
                    out.push_str(one.of(source));
                }
            }
            out.push_str(if array_elements(source, content).is_empty() { "\"\"" } else { "]" });
        }
        Ok(JsonShape::Null) | Err(_) => out.push_str("\"\""),
        Ok(JsonShape::Object | JsonShape::Number | JsonShape::Bool) => {
            out.push_str(&quote(content.of(source)))
        }
    }
}

fn write_image(out: &mut String, source: &str, image: Span) {
    let text = |key: &str| {
        field_value(source, image, key).map_or("\"\"", |value| value.of(source)).to_owned()
    };
    let data = text("data");
    // Some versions store a data URL.
    let plain = data.split_once("base64,").map_or(data.clone(), |(_, rest)| format!("\"{rest}"));
    out.push_str(&format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":{},\"data\":{plain}}}}}",
        text("mimeType")
    ));
}
