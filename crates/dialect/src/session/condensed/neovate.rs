//! Neovate: what is left begins a new root, and is a chain of its own. The first record says in
//! `uiContent` what the agent shows instead of it, as the agent's own compaction does.

use foxwedge_core::Span;

use super::{
    Session, all,
    linked::{Links, Made, Said},
    mark,
    partners::Partners,
};
use crate::{
    json::{elements, field, quote, says},
    splice::{Change, Writer, patch},
};

/// The records that a message becomes: answers stand in a message of their own, directly behind
/// their calls.
pub(super) fn pieces(
    json: &str,
    message: usize,
    partners: &Partners<'_>,
) -> Vec<(&'static str, String)> {
    let own = match says(json, all(json), "role").as_deref() {
        Some("assistant") => "assistant",
        Some("system") => "system",
        _ => "user",
    };
    let Some(content) = field(json, all(json), "content") else { return Vec::new() };
    if !content.of(json).starts_with('[') {
        return vec![(own, content.of(json).to_owned())];
    }
    let (mut answers, mut rest) = (Vec::new(), Vec::new());
    for (at, block) in elements(json, content).into_iter().enumerate() {
        let answer = own == "user" && says(json, block, "type").as_deref() == Some("tool_result");
        let part = part(json, block, partners.tool(message, at).unwrap_or(""));
        if answer { answers.push(part) } else { rest.push(part) }
    }
    let mut pieces = Vec::new();
    if !answers.is_empty() {
        pieces.push(("tool", format!("[{}]", answers.join(","))));
    }
    if !rest.is_empty() || pieces.is_empty() {
        pieces.push((own, format!("[{}]", rest.join(","))));
    }
    pieces
}

/// A block as Neovate spells it; `tool` is whose answer it is.
fn part(json: &str, block: Span, tool: &str) -> String {
    let said = |key: &str| says(json, block, key);
    match said("type").as_deref() {
        Some("tool_result") => {
            let id = said("tool_use_id").unwrap_or_default();
            let failed = field(json, block, "is_error").map(|error| error.of(json));
            let error = if failed == Some("true") { ",\"isError\":true" } else { "" };
            format!(
                "{{\"type\":\"tool-result\",\"toolCallId\":{},\"toolName\":{},\"input\":{{}},\
                 \"result\":{{\"llmContent\":{}{error}}}}}",
                quote(&id),
                quote(tool),
                output(json, field(json, block, "content"))
            )
        }
        Some("image") => image(json, block),
        _ => block.of(json).to_owned(),
    }
}

/// What an answer says.
fn output(json: &str, content: Option<Span>) -> String {
    let Some(content) = content else { return "\"\"".to_owned() };
    if !content.of(json).starts_with('[') {
        return content.of(json).to_owned();
    }
    let parts =
        elements(json, content).into_iter().map(|one| match says(json, one, "type").as_deref() {
            Some("image") => image(json, one),
            _ => one.of(json).to_owned(),
        });
    format!("[{}]", parts.collect::<Vec<_>>().join(","))
}

fn image(json: &str, image: Span) -> String {
    let source = field(json, image, "source");
    let text = |key: &str| source.and_then(|source| field(json, source, key));
    match (text("data"), text("media_type")) {
        (Some(data), Some(kind)) => format!(
            "{{\"type\":\"image\",\"data\":{},\"mimeType\":{}}}",
            data.of(json),
            kind.of(json)
        ),
        _ => image.of(json).to_owned(),
    }
}

/// Writes a record of the new chain.
pub(super) fn write(session: &Session<'_>, out: &mut Writer<'_>, made: &Made, links: &Links<'_>) {
    match made {
        Made::Copy(record, _) => {
            let mut changes = links.changes();
            changes.extend(links.marker.map(|marker| ("uiContent", Change::Text(quote(marker)))));
            patch(out, session.span(*record), changes);
        }
        Made::Said(said) if said.role == "assistant" && said.known => {
            let mut changes = links.changes();
            changes.push(("content", Change::Text(said.content.clone())));
            let like = session.span(said.template);
            if field(out.source, like, "text").is_some() {
                changes.push(("text", Change::Text(quote(&texts(&said.content)))));
            }
            changes.extend(links.marker.map(|marker| ("uiContent", Change::Text(quote(marker)))));
            patch(out, like, changes);
        }
        Made::Said(said) => new(session, out, said, links),
    }
}

/// All texts of a content.
fn texts(content: &str) -> String {
    let texts = elements(content, all(content)).into_iter();
    texts.filter_map(|part| says(content, part, "text")).collect()
}

fn new(session: &Session<'_>, out: &mut Writer<'_>, said: &Said, links: &Links<'_>) {
    let parent = links.parent.map_or("null".to_owned(), quote);
    out.text(&format!(
        "{{\"type\":\"message\",\"uuid\":{},\"parentUuid\":{parent}",
        quote(links.id)
    ));
    if let Some(time) = &links.time {
        out.text(&format!(",\"timestamp\":{}", quote(time)));
    }
    if let Some(id) = field(out.source, session.span(said.template), "sessionId") {
        out.text(",\"sessionId\":");
        out.copy(id);
    }
    out.text(&format!(",\"role\":{},\"content\":{}", quote(said.role), said.content));
    if let Some(marker) = links.marker {
        out.text(&format!(",\"uiContent\":{}", quote(marker)));
    }
    out.text(&format!(",\"{}\":{}}}", mark::MARK, links.mark));
}

#[cfg(test)]
mod tests {
    use foxwedge_core::Wire;

    use super::*;
    use crate::session::condensed::Shown;

    #[test]
    fn messages_become_records_in_the_words_of_the_agent() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"grep","input":{}}]}"#;
        let answer = r#"{"type":"tool_result","tool_use_id":"x","content":"so"}"#;
        let spelled = r#"{"type":"tool-result","toolCallId":"x","toolName":"grep","input":{},"result":{"llmContent":"so"}}"#;
        let text = r#"{"type":"text","text":"hm"}"#;
        let image =
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}"#;
        let kept = r#"{"type":"image","data":"aGk=","mimeType":"image/png"}"#;
        let table: [(String, Vec<(&str, String)>); 5] = [
            (r#"{"role":"user","content":"hi"}"#.to_owned(), vec![("user", "\"hi\"".to_owned())]),
            (
                format!("{{\"role\":\"user\",\"content\":[{text},{answer}]}}"),
                vec![("tool", format!("[{spelled}]")), ("user", format!("[{text}]"))],
            ),
            (
                format!("{{\"role\":\"user\",\"content\":[{image}]}}"),
                vec![("user", format!("[{kept}]"))],
            ),
            (
                format!("{{\"role\":\"assistant\",\"content\":[{text}]}}"),
                vec![("assistant", format!("[{text}]"))],
            ),
            (
                r#"{"role":"assistant","content":[]}"#.to_owned(),
                vec![("assistant", "[]".to_owned())],
            ),
        ];
        for (json, expected) in table {
            let shown = [call, &*json].map(|json| Shown { origin: None, kept: false, json });
            let partners = Partners::of(&shown, Wire::Anthropic);
            assert_eq!(pieces(&json, 1, &partners), expected, "{json}");
        }
    }
}
