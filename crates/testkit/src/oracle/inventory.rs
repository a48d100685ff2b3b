//! What a repair must not lose: user texts and tool results.

use serde_json::Value;

use super::reading::{DocumentReading, OracleBlockKind, OracleMessage, OracleRole, field, text};
use crate::dialect::TestFormat;

/// The texts of a document that must survive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInventory {
    /// Every text of a user message. Blank ones are not listed.
    pub user_texts: Vec<String>,
    /// Every text of a client tool result, one entry per text part; in the Gemini format the
    /// compact JSON of `response`. Blank and empty ones are not listed.
    pub answers: Vec<String>,
}

/// Lists what must survive a repair of `document`. An unknown format has nothing to keep.
pub fn inventory(format: &str, document: &Value) -> TextInventory {
    let mut inventory = TextInventory::default();
    let Some(format) = TestFormat::named(format) else { return inventory };
    let reading = DocumentReading::new(format, document);
    let has_input = matches!(format, TestFormat::Responses | TestFormat::Interactions);
    if let (true, Some(input)) = (has_input, text(document, "input")) {
        inventory.user_texts.push(input.to_owned());
    }
    for message in &reading.messages {
        if message.role == OracleRole::User {
            inventory.user_texts.extend(user_texts(format, message));
        }
        for block in message.blocks.iter().filter(|block| block.kind == OracleBlockKind::Answer) {
            inventory.answers.extend(answer_texts(format, block.body));
        }
    }
    inventory.user_texts.retain(|text| !text.trim().is_empty());
    inventory.answers.retain(|text| !text.trim().is_empty());
    inventory
}

/// The texts of `before` that `after` does not contain anywhere.
///
/// A text may be moved, joined or quoted, but not changed. Gemini's structured results are searched
/// as compact JSON, or by each of their strings.
pub fn lost(format: &str, before: &TextInventory, after: &Value) -> Vec<String> {
    let mut after_text = all_text(after);
    for answer in inventory(format, after).answers {
        after_text.push('\n');
        after_text.push_str(&answer);
    }
    let written = after.to_string();
    let texts = strings(after);
    let is_kept = |wanted: &str| {
        let parsed = serde_json::from_str::<Value>(wanted).ok().filter(Value::is_object);
        let strings = parsed.as_ref().map(strings).unwrap_or_default();
        let in_pieces = !strings.is_empty() && strings.iter().all(|leaf| after_text.contains(leaf));
        let as_value = parsed.is_some() && strings.is_empty() && written.contains(wanted);
        // Quoted, in the order of its own keys, perhaps behind the words of a quotation.
        let is_quoted = |text: &&str| {
            let start = text.find('{').unwrap_or(text.len());
            serde_json::from_str::<Value>(&text[start..]).ok() == parsed
        };
        let as_text = || parsed.is_some() && texts.iter().any(is_quoted);
        // White space at the end of a text is not text.
        let is_trimmed = || texts.contains(&wanted.trim_end());
        after_text.contains(wanted) || in_pieces || as_value || as_text() || is_trimmed()
    };
    let all = before.user_texts.iter().chain(&before.answers);
    all.filter(|wanted| !is_kept(wanted)).cloned().collect()
}

/// Every string value of the document, one per line.
pub fn all_text(document: &Value) -> String {
    strings(document).join("\n")
}

fn user_texts(format: TestFormat, message: &OracleMessage<'_>) -> Vec<String> {
    match format {
        TestFormat::Responses => plain_or_parts(field(message.value, "content")),
        TestFormat::Interactions => {
            let own = text(message.value, "text").map(str::to_owned);
            own.into_iter().chain(plain_or_parts(field(message.value, "content"))).collect()
        }
        TestFormat::Chat | TestFormat::Anthropic | TestFormat::Gemini | TestFormat::Bedrock => {
            message.blocks.iter().filter_map(|block| block.text()).map(str::to_owned).collect()
        }
    }
}

fn answer_texts(format: TestFormat, body: &Value) -> Vec<String> {
    if let Some((_, key)) = super::foreign::result(format, body) {
        return plain_or_parts(field(body, key));
    }
    match format {
        TestFormat::Chat | TestFormat::Anthropic | TestFormat::Bedrock => {
            plain_or_parts(field(body, "content"))
        }
        TestFormat::Responses => plain_or_parts(field(body, "output")),
        TestFormat::Interactions => plain_or_parts(field(body, "result")),
        TestFormat::Gemini => {
            let response = field(body, "response").filter(|response| !is_hollow(response));
            let as_text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
            response.map(as_text).into_iter().collect()
        }
    }
}

/// A string, or the texts of a list of parts. The shell tool calls its text `stdout`.
fn plain_or_parts(content: Option<&Value>) -> Vec<String> {
    match content {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| text(part, "text").or_else(|| text(part, "stdout")))
            .map(str::to_owned)
            .collect(),
        // The image counts, whatever holds it.
        Some(shot) if text(shot, "type") == Some("computer_screenshot") => {
            let image = ["image_url", "file_id"].into_iter().filter_map(|key| text(shot, key));
            image.map(str::to_owned).collect()
        }
        // A value of a wrong type counts as its JSON.
        Some(other @ (Value::Object(_) | Value::Number(_) | Value::Bool(_)))
            if !is_hollow(other) =>
        {
            vec![other.to_string()]
        }
        _ => Vec::new(),
    }
}

/// Whether the value has nothing that could be lost.
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

    fn of_shape(format: &str) -> (Value, TextInventory) {
        let document = Value::Array(crate::shape::messages(format, "s u a[x y] r[x y] u a"));
        let listed = inventory(format, &document);
        (document, listed)
    }

    #[test]
    fn inventory_lists_only_user_texts_and_tool_results() {
        for format in ["openai-chat", "openai-responses", "anthropic", "bedrock"] {
            let listed = of_shape(format).1;
            assert_eq!(listed.user_texts, ["user text 2", "user text 5"], "{format}");
            assert_eq!(listed.answers, ["result of x #4", "result of y #4"], "{format}");
        }
        let answers = of_shape("gemini").1.answers;
        assert_eq!(answers, [r#"{"output":"result of x #4"}"#, r#"{"output":"result of y #4"}"#]);
    }

    #[test]
    fn a_quoted_answer_is_kept_and_a_dropped_one_is_lost() {
        for format in crate::DIALECTS {
            let (document, listed) = of_shape(format);
            assert_eq!(lost(format, &listed, &document), Vec::<String>::new(), "{format}");
            let quoted = json!([{"role": "user", "content": "system text 1 user text 2 user text 5 result of y #4"}]);
            let missing = lost(format, &listed, &quoted);
            assert_eq!(missing, [listed.answers[0].clone()], "{format}");
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
