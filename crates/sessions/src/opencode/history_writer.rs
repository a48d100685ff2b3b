//! Writes the parts of a message in the Anthropic format, as the agent sends them.

use foxwedge_core::{Part, PartKind};
use foxwedge_json::quote;

use super::RowFields;

/// Appends a part to a list of blocks. Returns `false` for a part that has no equivalent.
pub(crate) fn write_block(out: &mut String, source: &str, part: &Part<'_>) -> bool {
    let fields = RowFields::of(source, part.span);
    let raw = |key: &str| fields.get(key).map(|value| value.of(source));
    match &part.kind {
        PartKind::Text(_) => {
            let text = match fields.text("type").as_deref() {
                Some("compaction") => "\"What did we do so far?\"",
                Some("subtask") => "\"The following tool was executed by the user\"",
                _ => match raw("text").filter(|text| text.starts_with('"')) {
                    Some(text) => text,
                    None => return false,
                },
            };
            out.push_str(&format!("{{\"type\":\"text\",\"text\":{text}}}"));
        }
        PartKind::Media => match media_block(&fields) {
            Some(block) => out.push_str(&block),
            None => return false,
        },
        PartKind::Reasoning(_) => {
            let signature = fields.inner("metadata").inner("anthropic").get("signature");
            let (Some(signature), Some(text)) = (signature, raw("text")) else { return false };
            let signature = signature.of(source);
            out.push_str(&format!(
                "{{\"type\":\"thinking\",\"thinking\":{text},\"signature\":{signature}}}"
            ));
        }
        PartKind::Call(call) => {
            let id = quote(call.id.as_deref().unwrap_or_default());
            let name = quote(call.name.as_deref().unwrap_or_default());
            // A call without an input is sent without one.
            let input = fields.inner("state").get("input");
            let input = input.map(|it| format!(",\"input\":{}", it.of(source))).unwrap_or_default();
            out.push_str(&format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name}{input}}}"));
        }
        PartKind::Answer(answer) => {
            let state = fields.inner("state");
            let id = quote(answer.id.as_deref().unwrap_or_default());
            let is_error = state.text("status").as_deref() == Some("error");
            let is_cleared = state.inner("time").get("compacted").is_some();
            let content = if is_error { state.get("error") } else { state.get("output") };
            let content = content.map_or("\"\"", |content| content.of(source));
            let content = match content.starts_with('"') {
                _ if is_cleared => quote("[Old tool result content cleared]"),
                true => content.to_owned(),
                false => quote(content),
            };
            let error = if is_error { ",\"is_error\":true" } else { "" };
            out.push_str(&format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":{content}{error}}}"
            ));
        }
        PartKind::ServerCall(_)
        | PartKind::ServerAnswer(_)
        | PartKind::Other
        | PartKind::Fallback
        | PartKind::Unknown => return false,
    }
    true
}

/// An image or a document, from a data URL or a link.
fn media_block(fields: &RowFields<'_>) -> Option<String> {
    let (mime, url) = (fields.text("mime")?, fields.text("url")?);
    let kind = match &*mime {
        "application/pdf" => "document",
        mime if mime.starts_with("image/") => "image",
        _ => return None,
    };
    let source = match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((_, data)) => format!(
            "{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}",
            quote(&mime),
            quote(data)
        ),
        None if url.starts_with("http") => {
            format!("{{\"type\":\"url\",\"url\":{}}}", quote(&url))
        }
        None => return None,
    };
    Some(format!("{{\"type\":\"{kind}\",\"source\":{source}}}"))
}
