//! The responses of the mock, made beforehand, so that its own cost is small and always the same.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::{RequestFormat, delay::stamp};

/// Chunks of text in a stream.
const CHUNKS: usize = 200;

/// The responses in one format.
pub struct MockResponses {
    format: RequestFormat,
    /// The whole response, about 640 bytes.
    pub whole: Bytes,
    /// The response as a stream: one chunk of text for each event in the middle.
    pub burst: Vec<Bytes>,
}

impl MockResponses {
    /// Those in a format.
    pub fn of(format: RequestFormat) -> MockResponses {
        let text = "A brown fox sits on the wall and looks at the geese. ".repeat(8);
        let whole = match format {
            RequestFormat::Chat => json!({"id": "chatcmpl-mock", "object": "chat.completion",
                "created": 1_700_000_000, "model": "mock-model", "choices": [{"index": 0,
                "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 90, "total_tokens": 100}}),
            RequestFormat::Anthropic => {
                json!({"id": "msg_mock", "type": "message", "role": "assistant",
                "model": "mock-model", "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 90}})
            }
        };
        let chunks = (0..CHUNKS).map(|number| chunk(format, &format!("token {number} ")));
        let burst = opening(format).chain(chunks).chain(closing(format)).collect();
        MockResponses { format, whole: whole.to_string().into(), burst }
    }

    /// One event of a stream that takes its time: a chunk of text says when it was sent.
    pub fn stamped(&self, index: usize) -> Option<Bytes> {
        let middle = opening(self.format).count()..opening(self.format).count() + CHUNKS;
        if middle.contains(&index) {
            return Some(chunk(self.format, &stamp()));
        }
        self.burst.get(index).cloned()
    }
}

fn opening(format: RequestFormat) -> impl Iterator<Item = Bytes> {
    let events = match format {
        RequestFormat::Chat => {
            vec![chat(&json!({"role": "assistant", "content": ""}), &Value::Null)]
        }
        RequestFormat::Anthropic => vec![
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

fn chunk(format: RequestFormat, text: &str) -> Bytes {
    match format {
        RequestFormat::Chat => chat(&json!({"content": text}), &Value::Null),
        RequestFormat::Anthropic => named(&json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}})),
    }
}

fn closing(format: RequestFormat) -> impl Iterator<Item = Bytes> {
    let events = match format {
        RequestFormat::Chat => {
            vec![chat(&json!({}), &json!("stop")), Bytes::from_static(b"data: [DONE]\n\n")]
        }
        RequestFormat::Anthropic => vec![
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
    fn responses_have_their_documented_sizes() {
        for format in [RequestFormat::Chat, RequestFormat::Anthropic] {
            let responses = MockResponses::of(format);
            assert!((600..700).contains(&responses.whole.len()), "{}", responses.whole.len());
            let texts =
                responses.burst.iter().filter(|event| event.windows(6).any(|w| w == b"token "));
            assert_eq!(texts.count(), CHUNKS);
            assert_eq!(responses.stamped(responses.burst.len()), None);
            assert_eq!(responses.stamped(0).as_ref(), responses.burst.first());
        }
    }
}
