use serde_json::{Value, json};

use super::*;
use crate::DIALECTS;

/// The same conversation in every format.
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
        (
            "gemini-interactions",
            json!({"system_instruction": "Be brief.", "input": [
                {"type": "user_input", "content": [{"type": "text", "text": "Read a"}, {"type": "image", "data": "AA==", "mime_type": "image/png"}]},
                {"type": "model_output", "content": [{"type": "text", "text": "Reading."}]},
                {"type": "function_call", "id": "x", "name": "read", "arguments": {"path": "a"}},
                {"type": "function_result", "call_id": "x", "name": "read", "result": "words"},
                {"type": "model_output", "content": [{"type": "text", "text": "Done."}]}
            ]}),
        ),
    ]
}

#[test]
fn the_same_conversation_has_the_same_content_in_every_format() {
    let all = told();
    let first = gist(all[0].0, &all[0].1);
    assert_eq!(first.beats.len(), 6, "{first:?}");
    for (format, document) in &all {
        let gist = gist(format, document);
        assert_eq!(difference(&first, &gist), None, "{format}");
        assert_eq!(unsaid(&first, document), Vec::<String>::new(), "{format}");
    }
    assert_eq!(all.len(), DIALECTS.len());
}

#[test]
fn every_difference_is_detected_and_can_be_excluded() {
    let call = |name: &str, id: &str, input: Value, error: bool| {
        json!([
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": input}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "w", "is_error": error}]}
        ])
    };
    let before = gist("anthropic", &call("f", "x", json!({"a": 1}), true));
    let table = [
        (call("f", "y", json!({"a": 1}), true), GistFacet::Ids),
        (call("g", "x", json!({"a": 1}), true), GistFacet::Names),
        (call("f", "x", json!({"a": 2}), true), GistFacet::Arguments),
        (call("f", "x", json!({"a": 1}), false), GistFacet::ErrorMarks),
    ];
    for (document, facet) in table {
        let after = gist("anthropic", &document);
        assert!(difference(&before, &after).is_some(), "{facet:?}");
        let (old, new) = (before.clone().without(facet), after.without(facet));
        assert_eq!(difference(&old, &new), None, "{facet:?}");
    }
}

#[test]
fn engine_text_is_ignored_and_moved_media_belongs_to_its_result() {
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
    assert_eq!(missing(&before, &after, GistFacet::Media), 0);
    let without = json!([{"role": "user", "content": "Look. taken And?"}]);
    assert_eq!(missing(&before, &gist("openai-chat", &without), GistFacet::Media), 1);
    assert_eq!(unsaid(&before, &without), Vec::<String>::new());
}

#[test]
fn missing_reasoning_and_counted_facets_are_detected() {
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
    for (facet, expected) in [
        (GistFacet::Thoughts, 0),
        (GistFacet::Seals, 1),
        (GistFacet::CacheMarks, 1),
        (GistFacet::Citations, 1),
    ] {
        assert_eq!(missing(&before, &after, facet), expected, "{facet:?}");
    }
    let nothing = DocumentGist { thoughts: Vec::new(), ..after };
    assert_eq!(missing(&before, &nothing, GistFacet::Thoughts), 1);
    assert!(difference(&before, &nothing).is_some());
}
