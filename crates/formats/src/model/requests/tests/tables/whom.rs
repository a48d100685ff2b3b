//! User, and transport options.

use super::*;

#[test]
fn other_fields_are_converted_where_they_mean_the_same() {
    let rows = vec![
        (Chat, json!({"user": "u"}), Anthropic, json!({"metadata": {"user_id": "u"}}), ""),
        (Anthropic, json!({"metadata": {"user_id": "u"}}), Responses, json!({"user": "u"}), ""),
        (
            Chat,
            json!({"safety_identifier": "s"}),
            Anthropic,
            json!({"metadata": {"user_id": "s"}}),
            "",
        ),
        (
            Chat,
            json!({"user": "u"}),
            Gemini,
            json!({}),
            "setting: `user` is not supported in this format",
        ),
        (
            Anthropic,
            json!({"metadata": {"user_id": "u"}}),
            Bedrock,
            json!({}),
            "setting: `metadata.user_id` is not supported in this format",
        ),
        // Transport options.
        (
            Chat,
            json!({"stream": true, "stream_options": {"include_usage": true}}),
            Gemini,
            json!({}),
            "",
        ),
        (
            Anthropic,
            json!({"stream": true}),
            Chat,
            json!({"stream": true, "stream_options": {"include_usage": true}}),
            "",
        ),
        (Responses, json!({"stream": false}), Chat, json!({"stream": false}), ""),
        // Settings that both OpenAI formats support.
        (
            Chat,
            json!({"metadata": {"a": "b"}, "store": true, "service_tier": "flex", "verbosity": "low", "prompt_cache_key": "k"}),
            Responses,
            json!({"metadata": {"a": "b"}, "store": true, "service_tier": "flex", "text": {"verbosity": "low"}, "prompt_cache_key": "k"}),
            "",
        ),
        (Chat, json!({"store": null}), Responses, json!({"store": false}), ""),
        // References to state on the server.
        (
            Responses,
            json!({"previous_response_id": "r", "store": true, "include": ["reasoning.encrypted_content"], "text": {"verbosity": "high"}}),
            Anthropic,
            json!({}),
            "setting: `text.verbosity` is not supported in this format \
             | setting: `previous_response_id` is not supported in this format: the state it names on the server is not in the request",
        ),
        (
            Gemini,
            json!({"cachedContent": "c", "safetySettings": []}),
            Chat,
            json!({}),
            "setting: `cachedContent` is not supported in this format: the state it names on the server is not in the request",
        ),
        (
            Anthropic,
            json!({"cache_control": {"type": "ephemeral"}, "mcp_servers": [{"name": "m"}], "speed": "fast", "service_tier": "auto"}),
            Chat,
            json!({}),
            "cache-mark: `cache_control` is not supported in this format \
             | tool: `mcp_servers` is not supported in this format \
             | setting: `speed` is not supported in this format",
        ),
        // Defaults.
        (
            Chat,
            json!({"temperature": null, "logprobs": false, "logit_bias": {}, "modalities": ["text"]}),
            Bedrock,
            json!({}),
            "",
        ),
    ];
    check(rows, false);
}
