//! The messages since the last model turn.

use foxwedge_core::Format;
use serde_json::Value;

use crate::json_fields::{content_text, non_null, one_or_more, text};

/// The end of a conversation, after the last model turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ConversationTail {
    /// The text of the user.
    pub(crate) user_text: String,
    /// The texts of tool results.
    pub(crate) tool_results: Vec<String>,
}

/// One element of the tail.
enum TailItem {
    ModelTurn,
    UserText(String),
    ToolResult(String),
    Nothing,
}

/// Reads the end of a request.
pub(super) fn read_tail(format: Format, request: &Value) -> ConversationTail {
    let (key, each): (_, fn(&Value) -> Vec<TailItem>) = match format {
        Format::OpenaiChat => ("messages", chat),
        Format::OpenaiResponses => ("input", item),
        Format::Anthropic | Format::Bedrock => ("messages", anthropic),
        Format::Gemini => ("contents", gemini),
        Format::GeminiInteractions => ("input", step),
    };
    let mut tail = ConversationTail::default();
    if let Some(Value::String(user_text)) = request.get(key) {
        tail.user_text = user_text.clone();
        return tail;
    }
    let mut rest = Vec::new();
    for message in one_or_more(request, key).iter().rev() {
        let items = each(message);
        if items.iter().any(|one| matches!(one, TailItem::ModelTurn)) {
            break;
        }
        rest.push(items);
    }
    let mut user_texts = Vec::new();
    for one in rest.into_iter().rev().flatten() {
        match one {
            TailItem::UserText(text) => user_texts.push(text),
            TailItem::ToolResult(text) => tail.tool_results.push(text),
            TailItem::ModelTurn | TailItem::Nothing => {}
        }
    }
    tail.user_text = user_texts.join("\n");
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
            let output_text = content_text(output);
            TailItem::ToolResult(if output_text.is_empty() && !output.is_string() {
                output.to_string()
            } else {
                output_text
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

/// The text of a user message. Agents insert their own reminders into it.
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
    let parts = one_or_more(content, "parts").iter().map(|part| {
        let answer =
            non_null(part, "functionResponse").or_else(|| non_null(part, "function_response"));
        match answer.map(|answer| answer.get("response").unwrap_or(&Value::Null)) {
            Some(response) => {
                let only = ["output", "result"].iter().find_map(|key| text(response, key));
                TailItem::ToolResult(only.map_or_else(|| response.to_string(), str::to_owned))
            }
            None => match text(part, "text") {
                Some(user_text) => TailItem::UserText(user_text.to_owned()),
                None => TailItem::Nothing,
            },
        }
    });
    parts.collect()
}

fn step(step: &Value) -> Vec<TailItem> {
    vec![match text(step, "type") {
        Some("user_input") => {
            TailItem::UserText(content_text(step.get("content").unwrap_or(&Value::Null)))
        }
        Some("text") => TailItem::UserText(text(step, "text").unwrap_or_default().to_owned()),
        Some("function_result") => {
            let result = step.get("result").unwrap_or(&Value::Null);
            let only = result.is_object().then(|| result.to_string());
            TailItem::ToolResult(only.unwrap_or_else(|| content_text(result)))
        }
        Some("image" | "audio" | "document" | "video") | None => TailItem::Nothing,
        Some(_) => TailItem::ModelTurn,
    }]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn agent_reminders_are_not_user_text() {
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
