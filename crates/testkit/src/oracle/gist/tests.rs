use serde_json::{Value, json};

use super::*;
use crate::DIALECTS;

/// The same conversation in every dialect.
fn told() -> Vec<(&'static str, Value)> {
    let arguments = "{\"path\":\"a\"}";
    vec![
        (
            "openai-chat",
            json!([
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Read a"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
                {"role": "assistant", "content": "Reading.", "tool_calls": [
                    {"id": "x", "type": "function", "function": {"name": "read", "arguments": arguments}}]},
                {"role": "tool", "tool_call_id": "x", "content": "words"},
                {"role": "assistant", "content": "Done."}
            ]),
        ),
        (
            "openai-responses",
            json!({"instructions": "Be brief.", "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "Read a"}, {"type": "input_image", "image_url": "data:image/png;base64,AA=="}]},
                {"role": "assistant", "content": [{"type": "output_text", "text": "Reading."}]},
                {"type": "function_call", "call_id": "x", "name": "read", "arguments": arguments},
                {"type": "function_call_output", "call_id": "x", "output": "words"},
                {"role": "assistant", "content": "Done."}
            ]}),
        ),
        (
            "anthropic",
            json!({"system": "Be brief.", "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Read a"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]},
                {"role": "assistant", "content": [{"type": "text", "text": "Reading."}, {"type": "tool_use", "id": "x", "name": "read", "input": {"path": "a"}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "words"}]},
                {"role": "assistant", "content": "Done."}
            ]}),
        ),
        (
            "gemini",
            json!({"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": [
                {"role": "user", "parts": [{"text": "Read a"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]},
                {"role": "model", "parts": [{"text": "Reading."}, {"functionCall": {"id": "x", "name": "read", "args": {"path": "a"}}}]},
                {"role": "user", "parts": [{"functionResponse": {"id": "x", "name": "read", "response": {"output": "words"}}}]},
                {"role": "model", "parts": [{"text": "Done."}]}
            ]}),
        ),
        (
            "bedrock",
            json!({"system": [{"text": "Be brief."}], "messages": [
                {"role": "user", "content": [{"text": "Read a"}, {"image": {"format": "png", "source": {"bytes": "AA=="}}}]},
                {"role": "assistant", "content": [{"text": "Reading."}, {"toolUse": {"toolUseId": "x", "name": "read", "input": {"path": "a"}}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "x", "content": [{"text": "words"}]}}]},
                {"role": "assistant", "content": [{"text": "Done."}]}
            ]}),
        ),
    ]
}

#[test]
fn the_same_conversation_says_the_same_in_every_dialect() {
    let all = told();
    let first = gist(all[0].0, &all[0].1);
    assert_eq!(first.beats.len(), 6, "{first:?}");
    for (dialect, document) in &all {
        let gist = gist(dialect, document);
        assert_eq!(difference(&first, &gist), None, "{dialect}");
        assert_eq!(unsaid(&first, document), Vec::<String>::new(), "{dialect}");
    }
    assert_eq!(all.len(), DIALECTS.len());
}

#[test]
fn whatever_is_changed_is_seen_and_can_be_forgiven() {
    let call = |name: &str, id: &str, input: Value, error: bool| {
        json!([
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "w", "is_error": error}]}
        ])
    };
    let before = gist("anthropic", &call("f", "x", json!({"a": 1}), true));
    let table = [
        (call("f", "y", json!({"a": 1}), true), Facet::Ids),
        (call("g", "x", json!({"a": 1}), true), Facet::Names),
        (call("f", "x", json!({"a": 2}), true), Facet::Arguments),
        (call("f", "x", json!({"a": 1}), false), Facet::ErrorMarks),
    ];
    for (document, facet) in table {
        let after = gist("anthropic", &document);
        assert!(difference(&before, &after).is_some(), "{facet:?}");
        let (old, new) = (before.clone().without(facet), after.without(facet));
        assert_eq!(difference(&old, &new), None, "{facet:?}");
    }
}

#[test]
fn our_own_words_say_nothing_and_moved_media_is_at_home() {
    let plain = json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "shoot", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": [
            {"type": "text", "text": "taken"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]}]},
        {"role": "user", "content": "And?"}
    ]);
    let moved = json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "x", "type": "function", "function": {"name": "shoot", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "x", "content": [
            {"type": "text", "text": "taken"}, {"type": "text", "text": "(the media follows behind the answers)"}]},
        {"role": "user", "content": [
            {"type": "text", "text": "[foxwedge] Media from the answer to tool call x:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
        {"role": "assistant", "content": "Understood."},
        {"role": "user", "content": "And?"}
    ]);
    let (before, after) = (gist("anthropic", &plain), gist("openai-chat", &moved));
    assert_eq!(difference(&before, &after), None);
    assert_eq!(missing(&before, &after, Facet::Media), 0);
    let without = json!([{"role": "user", "content": "Look. taken And?"}]);
    assert_eq!(missing(&before, &gist("openai-chat", &without), Facet::Media), 1);
    assert_eq!(unsaid(&before, &without), Vec::<String>::new());
}

#[test]
fn thoughts_and_what_is_counted_are_missed() {
    let before = json!([
        {"role": "user", "content": [{"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "So.", "citations": [{"url": "u"}]}]}
    ]);
    let after = json!([
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "So.", "reasoning_content": "hm"}
    ]);
    let (before, after) = (gist("anthropic", &before), gist("openai-chat", &after));
    assert_eq!(difference(&before, &after), None);
    for (facet, gone) in
        [(Facet::Thoughts, 0), (Facet::Seals, 1), (Facet::CacheMarks, 1), (Facet::Citations, 1)]
    {
        assert_eq!(missing(&before, &after, facet), gone, "{facet:?}");
    }
    let nothing = Gist { thoughts: Vec::new(), ..after };
    assert_eq!(missing(&before, &nothing, Facet::Thoughts), 1);
    assert!(difference(&before, &nothing).is_some());
}
