//! What came since the model last spoke.

use foxwedge_core::Format;
use serde_json::Value;

use crate::json_fields::{content_text, list, non_null, text};

/// The end of a conversation, behind the model's last turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ConversationTail {
    /// What the user says there.
    pub(crate) user_text: String,
    /// What tools say there.
    pub(crate) tool_results: Vec<String>,
}

/// Something that was said.
enum TailItem {
    ModelTurn,
    UserText(String),
    ToolResult(String),
    Nothing,
}

/// Reads the end of a request.
pub(super) fn read_tail(wire: Format, request: &Value) -> ConversationTail {
    let (key, each): (_, fn(&Value) -> Vec<TailItem>) = match wire {
        Format::OpenaiChat => ("messages", chat),
        Format::OpenaiResponses => ("input", item),
        Format::Anthropic | Format::Bedrock => ("messages", anthropic),
        Format::Gemini => ("contents", gemini),
    };
    let mut tail = ConversationTail::default();
    if let Some(Value::String(words)) = request.get(key) {
        tail.user_text = words.clone();
        return tail;
    }
    let mut rest = Vec::new();
    for message in list(request, key).iter().rev() {
        let said = each(message);
        if said.iter().any(|one| matches!(one, TailItem::ModelTurn)) {
            break;
        }
        rest.push(said);
    }
    let mut words = Vec::new();
    for one in rest.into_iter().rev().flatten() {
        match one {
            TailItem::UserText(text) => words.push(text),
            TailItem::ToolResult(text) => tail.tool_results.push(text),
            TailItem::ModelTurn | TailItem::Nothing => {}
        }
    }
    tail.user_text = words.join("\n");
    tail
}

fn chat(message: &Value) -> Vec<TailItem> {
    let content = message.get("content").unwrap_or(&Value::Null);
    vec![match text(message, "role") {
        Some("assistant") => TailItem::ModelTurn,
        Some("user") => TailItem::UserText(content_text(content)),
        Some("tool" | "function") => TailItem::ToolResult(content_text(content)),
        _ => TailItem::Nothing,
    }]
}

fn item(item: &Value) -> Vec<TailItem> {
    let content = item.get("content").unwrap_or(&Value::Null);
    vec![match (text(item, "type"), text(item, "role")) {
        (None | Some("message"), Some("user")) => TailItem::UserText(content_text(content)),
        (None | Some("message"), Some("assistant")) => TailItem::ModelTurn,
        (None | Some("message"), _) => TailItem::Nothing,
        (Some(kind), _) if kind.ends_with("_output") => {
            let output = item.get("output").unwrap_or(&Value::Null);
            let words = content_text(output);
            TailItem::ToolResult(if words.is_empty() && !output.is_string() {
                output.to_string()
            } else {
                words
            })
        }
        (Some("item_reference" | "mcp_approval_response"), _) => TailItem::Nothing,
        (Some(_), _) => TailItem::ModelTurn,
    }]
}

fn anthropic(message: &Value) -> Vec<TailItem> {
    match text(message, "role") {
        Some("assistant") => vec![TailItem::ModelTurn],
        Some("user") => match message.get("content") {
            Some(Value::Array(blocks)) => blocks
                .iter()
                .map(|block| match text(block, "type") {
                    Some("text") => user_words(text(block, "text").unwrap_or_default()),
                    Some("tool_result") => TailItem::ToolResult(content_text(
                        non_null(block, "content").unwrap_or(&Value::Null),
                    )),
                    _ => TailItem::Nothing,
                })
                .collect(),
            Some(content) => vec![TailItem::UserText(content_text(content))],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What the user says. Agents put reminders of their own between the user's words.
fn user_words(text: &str) -> TailItem {
    let inner = text.trim().strip_prefix("<system-reminder>");
    match inner.and_then(|inner| inner.strip_suffix("</system-reminder>")) {
        Some(_) => TailItem::Nothing,
        None => TailItem::UserText(text.to_owned()),
    }
}

fn gemini(content: &Value) -> Vec<TailItem> {
    if text(content, "role") == Some("model") {
        return vec![TailItem::ModelTurn];
    }
    let parts = list(content, "parts").iter().map(|part| {
        let answer =
            non_null(part, "functionResponse").or_else(|| non_null(part, "function_response"));
        match answer.map(|answer| answer.get("response").unwrap_or(&Value::Null)) {
            Some(response) => {
                let only = ["output", "result"].iter().find_map(|key| text(response, key));
                TailItem::ToolResult(only.map_or_else(|| response.to_string(), str::to_owned))
            }
            None => match text(part, "text") {
                Some(words) => TailItem::UserText(words.to_owned()),
                None => TailItem::Nothing,
            },
        }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reminders_of_agents_are_not_what_the_user_says() {
        let reminder = "<system-reminder>\nit is Sunday\n</system-reminder>\n";
        let table = [
            (json!([{ "type": "text", "text": reminder }, { "type": "text", "text": "hi" }]), "hi"),
            (json!([{ "type": "text", "text": "<system-reminder> hi" }]), "<system-reminder> hi"),
        ];
        for (content, expected) in table {
            let request = json!({ "messages": [{ "role": "user", "content": content }] });
            assert_eq!(read_tail(Format::Anthropic, &request).user_text, expected);
        }
    }
}
