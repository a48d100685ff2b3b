//! Transcripts written as their shape, so that a test is the sentence it proves.
//!
//! | token | meaning |
//! |---|---|
//! | `u` | a user message with text |
//! | `s` | a system message |
//! | `a` | an assistant message with text |
//! | `a[x y]` | an assistant message that calls `x` and `y` |
//! | `a"t"[x]` | the same with the text `t` before the call |
//! | `r[x y]` | the results of `x` and `y`, in one message if the format allows it |
//!
//! Tokens are separated by spaces. Texts are numbered by the place of their token, so that no
//! two agree.

use serde_json::{Value, json};

use crate::dialect::TestFormat;
use crate::generate::draft::{
    GeneratedCall, GeneratedDraft, GeneratedPart, GeneratedResult, GeneratedTurn, TurnSpeaker,
};
use crate::generate::render;

/// The bare message list of `shape`, as JSON text.
///
/// # Panics
///
/// On an unknown format or token, which is a mistake in the test.
pub fn body(format: &str, shape: &str) -> String {
    Value::Array(messages(format, shape)).to_string()
}

/// The messages of `shape` as values that a test can change.
///
/// # Panics
///
/// As [`body`].
pub fn messages(format: &str, shape: &str) -> Vec<Value> {
    let format = TestFormat::named(format).expect("the test names a known dialect");
    let mut draft = GeneratedDraft::new();
    for (at, token) in tokens(shape).iter().enumerate() {
        draft.turns.push(turn(token, at + 1));
    }
    render::list(format, &draft)
}

fn tokens(shape: &str) -> Vec<String> {
    let mut tokens = vec![String::new()];
    let (mut depth, mut quoted) = (0_i32, false);
    for character in shape.chars() {
        match character {
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth -= 1,
            _ => {}
        }
        if character.is_whitespace() && depth == 0 && !quoted {
            tokens.push(String::new());
        } else if let Some(token) = tokens.last_mut() {
            token.push(character);
        }
    }
    tokens.retain(|token| !token.is_empty());
    tokens
}

fn turn(token: &str, number: usize) -> GeneratedTurn {
    let (head, ids) = match token.strip_suffix(']').and_then(|token| token.rsplit_once('[')) {
        Some((head, ids)) => (head, ids.split_whitespace().collect()),
        None => (token, Vec::new()),
    };
    let text = head.split('"').nth(1);
    match (head.chars().next(), ids.is_empty()) {
        (Some('u'), true) => say(TurnSpeaker::User, text, "user text", number),
        (Some('s'), true) => say(TurnSpeaker::System, text, "system text", number),
        (Some('a'), true) => say(TurnSpeaker::Assistant, text, "assistant text", number),
        (Some('a'), false) => {
            let text = text.map(|text| GeneratedPart::Text(text.to_owned()));
            let parts = text.into_iter().chain(ids.into_iter().map(call)).collect();
            GeneratedTurn::new(TurnSpeaker::Assistant, parts)
        }
        (Some('r'), false) => {
            let parts = ids.into_iter().map(|id| answer(id, number)).collect();
            GeneratedTurn::new(TurnSpeaker::User, parts)
        }
        _ => panic!("the shape holds an unknown token: `{token}`"),
    }
}

fn say(speaker: TurnSpeaker, text: Option<&str>, what: &str, number: usize) -> GeneratedTurn {
    let text = text.map_or_else(|| format!("{what} {number}"), str::to_owned);
    GeneratedTurn::new(speaker, vec![GeneratedPart::Text(text)])
}

fn call(id: &str) -> GeneratedPart {
    GeneratedPart::Call(GeneratedCall {
        id: Some(json!(id)),
        name: "look".to_owned(),
        arguments: json!({"at": id}),
        family: "function_call",
        item: None,
        signature: None,
    })
}

fn answer(id: &str, number: usize) -> GeneratedPart {
    GeneratedPart::Answer(GeneratedResult {
        id: Some(json!(id)),
        name: "look".to_owned(),
        text: format!("result of {id} #{number}"),
        parts: false,
        family: "function_call",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(format: &str, shape: &str) -> Value {
        serde_json::from_str(&body(format, shape)).expect("a shape renders as JSON")
    }

    #[test]
    fn results_share_a_message_where_the_format_allows_it() {
        let counts = |shape: &str| {
            crate::DIALECTS.map(|format| parsed(format, shape).as_array().map_or(0, Vec::len))
        };
        assert_eq!(counts("u a[x y] r[x y]"), [4, 5, 3, 3, 3, 5]);
        assert_eq!(counts("u a[x y] r[x] r[y]"), [4, 5, 4, 4, 4, 5]);
        assert_eq!(counts("s u a"), [3, 3, 3, 3, 3, 3]);
    }

    #[test]
    fn a_chat_shape_reads_as_it_is_written() {
        let look = json!({"name": "look", "arguments": "{\"at\":\"x\"}"});
        let expected = json!([
            {"role": "user", "content": "user text 1"},
            {"role": "assistant", "content": "so be it", "tool_calls": [
                {"id": "x", "type": "function", "function": look}
            ]},
            {"role": "tool", "tool_call_id": "x", "content": "result of x #3"},
        ]);
        assert_eq!(parsed("openai-chat", "u a\"so be it\"[x] r[x]"), expected);
    }

    #[test]
    fn a_gemini_answer_carries_its_id_and_its_name() {
        let expected = json!([{"role": "user", "parts": [{"functionResponse": {
            "id": "x", "name": "look", "response": {"output": "result of x #1"}
        }}]}]);
        assert_eq!(parsed("gemini", "r[x]"), expected);
    }
}
