//! What a repair may not lose: the words of the user and the answers of the tools.

use serde_json::Value;

use super::reading::{Kind, Message, Reading, Role, field, text};
use crate::dialect::Dialect;

/// The texts of a document that conservation is judged by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Every text of a user message. Blank ones are not listed.
    pub user_texts: Vec<String>,
    /// Every text of a client answer, one entry per text part; in the Gemini dialect the
    /// compact JSON of `response`. Blank and empty ones are not listed.
    pub answers: Vec<String>,
}

/// Lists what must survive a repair of `document`; an unknown dialect has nothing to keep.
pub fn inventory(dialect: &str, document: &Value) -> Inventory {
    let mut inventory = Inventory::default();
    let Some(dialect) = Dialect::named(dialect) else { return inventory };
    let reading = Reading::new(dialect, document);
    if let (Dialect::Responses, Some(input)) = (dialect, text(document, "input")) {
        inventory.user_texts.push(input.to_owned());
    }
    for message in &reading.messages {
        if message.role == Role::User {
            inventory.user_texts.extend(user_texts(dialect, message));
        }
        for block in message.blocks.iter().filter(|block| block.kind == Kind::Answer) {
            inventory.answers.extend(answer_texts(dialect, block.body));
        }
    }
    inventory.user_texts.retain(|text| !text.trim().is_empty());
    inventory.answers.retain(|text| !text.trim().is_empty());
    inventory
}

/// The texts of `before` that `after` no longer holds anywhere.
///
/// A text may move, be joined with others or be quoted; it may not be changed. The structured
/// answers of Gemini are found as compact JSON, or by every string in them.
pub fn lost(dialect: &str, before: &Inventory, after: &Value) -> Vec<String> {
    let mut kept = all_text(after);
    for answer in inventory(dialect, after).answers {
        kept.push('\n');
        kept.push_str(&answer);
    }
    let written = after.to_string();
    let is_kept = |wanted: &str| {
        let parsed = serde_json::from_str::<Value>(wanted).ok().filter(Value::is_object);
        let strings = parsed.as_ref().map(strings).unwrap_or_default();
        let in_pieces = !strings.is_empty() && strings.iter().all(|leaf| kept.contains(leaf));
        let as_value = parsed.is_some() && strings.is_empty() && written.contains(wanted);
        kept.contains(wanted) || in_pieces || as_value
    };
    let all = before.user_texts.iter().chain(&before.answers);
    all.filter(|wanted| !is_kept(wanted)).cloned().collect()
}

/// Every string value of the document, one per line.
pub fn all_text(document: &Value) -> String {
    strings(document).join("\n")
}

fn user_texts(dialect: Dialect, message: &Message<'_>) -> Vec<String> {
    match dialect {
        Dialect::Responses => plain_or_parts(field(message.value, "content")),
        Dialect::Chat | Dialect::Anthropic | Dialect::Gemini | Dialect::Bedrock => {
            message.blocks.iter().filter_map(|block| block.text()).map(str::to_owned).collect()
        }
    }
}

fn answer_texts(dialect: Dialect, body: &Value) -> Vec<String> {
    match dialect {
        Dialect::Chat | Dialect::Anthropic | Dialect::Bedrock => {
            plain_or_parts(field(body, "content"))
        }
        Dialect::Responses => plain_or_parts(field(body, "output")),
        Dialect::Gemini => {
            let response = field(body, "response").filter(|response| !is_hollow(response));
            let told = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            response.map(told).into_iter().collect()
        }
    }
}

/// A string, or the texts of a list of parts; the shell tool calls its text `stdout`.
fn plain_or_parts(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| text(part, "text").or_else(|| text(part, "stdout")))
            .map(str::to_owned)
            .collect(),
        // Of a wrong type: its JSON says what it says.
        Some(other @ (Value::Object(_) | Value::Number(_) | Value::Bool(_)))
            if !is_hollow(other) =>
        {
            vec![other.to_string()]
        }
        _ => Vec::new(),
    }
}

/// True when there is nothing in the value that could be lost.
fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(elements) => elements.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_shape(dialect: &str) -> (Value, Inventory) {
        let document = Value::Array(crate::shape::messages(dialect, "s u a[x y] r[x y] u a"));
        let listed = inventory(dialect, &document);
        (document, listed)
    }

    #[test]
    fn users_and_tools_are_listed_and_nobody_else() {
        for dialect in ["openai-chat", "openai-responses", "anthropic", "bedrock"] {
            let listed = of_shape(dialect).1;
            assert_eq!(listed.user_texts, ["user text 2", "user text 5"], "{dialect}");
            assert_eq!(listed.answers, ["result of x #4", "result of y #4"], "{dialect}");
        }
        let answers = of_shape("gemini").1.answers;
        assert_eq!(answers, [r#"{"output":"result of x #4"}"#, r#"{"output":"result of y #4"}"#]);
    }

    #[test]
    fn a_quoted_answer_is_kept_and_a_dropped_one_is_lost() {
        for dialect in crate::DIALECTS {
            let (document, listed) = of_shape(dialect);
            assert_eq!(lost(dialect, &listed, &document), Vec::<String>::new(), "{dialect}");
            let quoted =
                json!([{"role": "user", "content": "user text 2 user text 5 result of y #4"}]);
            let gone = lost(dialect, &listed, &quoted);
            assert_eq!(gone, [listed.answers[0].clone()], "{dialect}");
        }
    }

    #[test]
    fn parts_and_plain_input_count_as_text() {
        let parts = json!([{"type": "function_call_output", "call_id": "x", "output": [
            {"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": "i"},
            {"type": "input_text", "text": "two"}
        ]}]);
        assert_eq!(inventory("openai-responses", &parts).answers, ["one", "two"]);
        let plain = json!({"input": "hello", "model": "m"});
        assert_eq!(inventory("openai-responses", &plain).user_texts, ["hello"]);
    }
}
