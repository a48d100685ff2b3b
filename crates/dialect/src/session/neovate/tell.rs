//! Tells a part of Neovate's as Anthropic spells it.

use foxwedge_core::{Kind, Part, Span};

use crate::json::{Scanner, Shape, elements, field, quote, says};

/// Adds a part to a list of blocks; reasoning is left out, since nobody signed it.
pub(in crate::session) fn tell(out: &mut String, source: &str, part: &Part<'_>) -> bool {
    let value = |key: &str| field(source, part.span, key).map(|span| span.of(source));
    match &part.kind {
        Kind::Reasoning(_) => return false,
        Kind::Call(call) => {
            let id = quote(call.id.as_deref().unwrap_or(""));
            let name = quote(call.name.as_deref().unwrap_or(""));
            let input = value("input").unwrap_or("{}");
            out.push_str(&format!(
                "{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}"
            ));
        }
        Kind::Answer(answer) => {
            let id = quote(answer.id.as_deref().unwrap_or(""));
            out.push_str(&format!("{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":"));
            content(out, source, answer.content);
            let error = field(source, part.span, "result")
                .and_then(|result| field(source, result, "isError"))
                .is_some_and(|error| error.of(source) == "true");
            out.push_str(if error { ",\"is_error\":true}" } else { "}" });
        }
        Kind::Media => image(out, source, part.span),
        Kind::Text(_) if part.span.of(source).starts_with('"') => {
            out.push_str("{\"type\":\"text\",\"text\":");
            out.push_str(part.span.of(source));
            out.push('}');
        }
        Kind::Text(_) | Kind::ServerCall(_) | Kind::ServerAnswer(_) | Kind::Other => {
            out.push_str(part.span.of(source));
        }
    }
    true
}

/// What an answer says: a string, or a list of texts and images.
fn content(out: &mut String, source: &str, content: Span) {
    let shape = Scanner::within(source, content).shape();
    match shape {
        Ok(Shape::String) => out.push_str(content.of(source)),
        Ok(Shape::Array) => {
            for (at, one) in elements(source, content).into_iter().enumerate() {
                out.push(if at == 0 { '[' } else { ',' });
                if says(source, one, "type").as_deref() == Some("image") {
                    image(out, source, one);
                } else {
                    out.push_str(one.of(source));
                }
            }
            out.push_str(if elements(source, content).is_empty() { "\"\"" } else { "]" });
        }
        Ok(Shape::Null) | Err(_) => out.push_str("\"\""),
        Ok(Shape::Object | Shape::Number | Shape::Bool) => out.push_str(&quote(content.of(source))),
    }
}

fn image(out: &mut String, source: &str, image: Span) {
    let text =
        |key: &str| field(source, image, key).map_or("\"\"", |value| value.of(source)).to_owned();
    let data = text("data");
    // Some versions keep a data URL.
    let plain = data.split_once("base64,").map_or(data.clone(), |(_, rest)| format!("\"{rest}"));
    out.push_str(&format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":{},\"data\":{plain}}}}}",
        text("mimeType")
    ));
}
