//! What the mock says, made before anybody asks, so that its own cost is small and always the same.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{Format, lateness::stamp};

/// Pieces of text in a stream.
const PIECES: usize = 200;

/// The answers of one provider.
pub struct Answers {
    format: Format,
    /// The answer in one piece, about 640 bytes.
    pub whole: Bytes,
    /// The answer as a stream: one piece of text for each event in the middle.
    pub burst: Vec<Bytes>,
}

impl Answers {
    /// Those of a provider.
    pub fn of(format: Format) -> Answers {
        let text = "A brown fox sits on the wall and looks at the geese. ".repeat(8);
        let whole = match format {
            Format::Chat => json!({"id": "chatcmpl-mock", "object": "chat.completion",
                "created": 1_700_000_000, "model": "mock-model", "choices": [{"index": 0,
                "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 90, "total_tokens": 100}}),
            Format::Anthropic => json!({"id": "msg_mock", "type": "message", "role": "assistant",
                "model": "mock-model", "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 90}}),
        };
        let pieces = (0..PIECES).map(|number| piece(format, &format!("token {number} ")));
        let burst = opening(format).chain(pieces).chain(closing(format)).collect();
        Answers { format, whole: whole.to_string().into(), burst }
    }

    /// One event of a stream that takes its time: a piece of text says when it was sent.
    pub fn stamped(&self, index: usize) -> Option<Bytes> {
        let middle = opening(self.format).count()..opening(self.format).count() + PIECES;
        if middle.contains(&index) {
            return Some(piece(self.format, &stamp()));
        }
        self.burst.get(index).cloned()
    }
}

fn opening(format: Format) -> impl Iterator<Item = Bytes> {
    let events = match format {
        Format::Chat => vec![chat(&json!({"role": "assistant", "content": ""}), &Value::Null)],
        Format::Anthropic => vec![
            named(&json!({"type": "message_start", "message": {"id": "msg_mock",
                "type": "message", "role": "assistant", "model": "mock-model", "content": [],
                "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 1}}})),
            named(&json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "text", "text": ""}})),
        ],
    };
    events.into_iter()
}

fn piece(format: Format, text: &str) -> Bytes {
    match format {
        Format::Chat => chat(&json!({"content": text}), &Value::Null),
        Format::Anthropic => named(&json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}})),
    }
}

fn closing(format: Format) -> impl Iterator<Item = Bytes> {
    let events = match format {
        Format::Chat => {
            vec![chat(&json!({}), &json!("stop")), Bytes::from_static(b"data: [DONE]\n\n")]
        }
        Format::Anthropic => vec![
            named(&json!({"type": "content_block_stop", "index": 0})),
            named(&json!({"type": "message_delta",
                "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                "usage": {"output_tokens": 200}})),
            named(&json!({"type": "message_stop"})),
        ],
    };
    events.into_iter()
}

fn chat(delta: &Value, finish: &Value) -> Bytes {
    let event = json!({"id": "chatcmpl-mock", "object": "chat.completion.chunk",
        "created": 1_700_000_000, "model": "mock-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    format!("data: {event}\n\n").into()
}

fn named(event: &Value) -> Bytes {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_sizes_that_are_told_of_them() {
        for format in [Format::Chat, Format::Anthropic] {
            let answers = Answers::of(format);
            assert!((600..700).contains(&answers.whole.len()), "{}", answers.whole.len());
            let texts =
                answers.burst.iter().filter(|event| event.windows(6).any(|w| w == b"token "));
            assert_eq!(texts.count(), PIECES);
            assert_eq!(answers.stamped(answers.burst.len()), None);
            assert_eq!(answers.stamped(0).as_ref(), answers.burst.first());
        }
    }
}
