//! What came since the model last spoke.

use foxwedge_core::Wire;
use serde_json::Value;

use crate::tree::{given, list, said, text};

/// The end of a conversation, behind the model's last turn.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tail {
    /// What the user says there.
    pub(crate) words: String,
    /// What tools say there.
    pub(crate) answers: Vec<String>,
}

/// Something that was said.
enum Said {
    Model,
    Words(String),
    Answer(String),
    Nothing,
}

/// Reads the end of a request.
pub(super) fn read(wire: Wire, request: &Value) -> Tail {
    let (key, each): (_, fn(&Value) -> Vec<Said>) = match wire {
        Wire::OpenaiChat => ("messages", chat),
        Wire::OpenaiResponses => ("input", item),
        Wire::Anthropic | Wire::Bedrock => ("messages", anthropic),
        Wire::Gemini => ("contents", gemini),
    };
    let mut tail = Tail::default();
    if let Some(Value::String(words)) = request.get(key) {
        tail.words = words.clone();
        return tail;
    }
    let mut rest = Vec::new();
    for message in list(request, key).iter().rev() {
        let said = each(message);
        if said.iter().any(|one| matches!(one, Said::Model)) {
            break;
        }
        rest.push(said);
    }
    let mut words = Vec::new();
    for one in rest.into_iter().rev().flatten() {
        match one {
            Said::Words(text) => words.push(text),
            Said::Answer(text) => tail.answers.push(text),
            Said::Model | Said::Nothing => {}
        }
    }
    tail.words = words.join("\n");
    tail
}

fn chat(message: &Value) -> Vec<Said> {
    let content = message.get("content").unwrap_or(&Value::Null);
    vec![match text(message, "role") {
        Some("assistant") => Said::Model,
        Some("user") => Said::Words(said(content)),
        Some("tool" | "function") => Said::Answer(said(content)),
        _ => Said::Nothing,
    }]
}

fn item(item: &Value) -> Vec<Said> {
    let content = item.get("content").unwrap_or(&Value::Null);
    vec![match (text(item, "type"), text(item, "role")) {
        (None | Some("message"), Some("user")) => Said::Words(said(content)),
        (None | Some("message"), Some("assistant")) => Said::Model,
        (None | Some("message"), _) => Said::Nothing,
        (Some(kind), _) if kind.ends_with("_output") => {
            let output = item.get("output").unwrap_or(&Value::Null);
            let words = said(output);
            Said::Answer(if words.is_empty() && !output.is_string() {
                output.to_string()
            } else {
                words
            })
        }
        (Some("item_reference" | "mcp_approval_response"), _) => Said::Nothing,
        (Some(_), _) => Said::Model,
    }]
}

fn anthropic(message: &Value) -> Vec<Said> {
    match text(message, "role") {
        Some("assistant") => vec![Said::Model],
        Some("user") => match message.get("content") {
            Some(Value::Array(blocks)) => blocks
                .iter()
                .map(|block| match text(block, "type") {
                    Some("text") => words(text(block, "text").unwrap_or_default()),
                    Some("tool_result") => {
                        Said::Answer(said(given(block, "content").unwrap_or(&Value::Null)))
                    }
                    _ => Said::Nothing,
                })
                .collect(),
            Some(content) => vec![Said::Words(said(content))],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What the user says. Agents put reminders of their own between the user's words.
fn words(text: &str) -> Said {
    let inner = text.trim().strip_prefix("<system-reminder>");
    match inner.and_then(|inner| inner.strip_suffix("</system-reminder>")) {
        Some(_) => Said::Nothing,
        None => Said::Words(text.to_owned()),
    }
}

fn gemini(content: &Value) -> Vec<Said> {
    if text(content, "role") == Some("model") {
        return vec![Said::Model];
    }
    let parts = list(content, "parts").iter().map(|part| {
        let answer = given(part, "functionResponse").or_else(|| given(part, "function_response"));
        match answer.map(|answer| answer.get("response").unwrap_or(&Value::Null)) {
            Some(response) => {
                let only = ["output", "result"].iter().find_map(|key| text(response, key));
                Said::Answer(only.map_or_else(|| response.to_string(), str::to_owned))
            }
            None => match text(part, "text") {
                Some(words) => Said::Words(words.to_owned()),
                None => Said::Nothing,
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
            assert_eq!(read(Wire::Anthropic, &request).words, expected);
        }
    }
}
