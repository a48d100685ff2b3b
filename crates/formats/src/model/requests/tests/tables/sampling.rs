//! Sampling and stop sequences.

use super::*;

#[test]
fn numbers_are_written_where_they_are_supported() {
    let rows = vec![
        (
            Chat,
            json!({"temperature": 1.5}),
            Anthropic,
            json!({"temperature": 1}),
            "setting: `temperature` 1.5 becomes 1, the maximum in this format",
        ),
        (Chat, json!({"temperature": 1.0, "top_p": 1}), Anthropic, json!({}), ""),
        (Chat, json!({"temperature": 0.20}), Anthropic, json!({"temperature": 0.2}), ""),
        (
            Chat,
            json!({"temperature": 0.2, "top_p": 0.5}),
            Anthropic,
            json!({"temperature": 0.2}),
            "setting: `top_p` cannot be combined with `temperature` in this format",
        ),
        (
            Chat,
            json!({"model": "claude-3-5-haiku", "temperature": 0.2, "top_p": 0.5}),
            Anthropic,
            json!({"model": "claude-3-5-haiku", "temperature": 0.2, "top_p": 0.5}),
            "",
        ),
        (
            Gemini,
            json!({"model": "claude-opus-5", "generationConfig": {"temperature": 0, "topK": 3}}),
            Anthropic,
            json!({"model": "claude-opus-5"}),
            "setting: `temperature` is rejected by this model | setting: `topK` is rejected by this model",
        ),
        (
            Chat,
            json!({"model": "claude-opus-4-6", "temperature": 0, "top_p": 0.97, "reasoning_effort": "low"}),
            Anthropic,
            json!({"model": "claude-opus-4-6", "top_p": 0.97, "thinking": {"type": "adaptive"},
                   "output_config": {"effort": "low"}, "max_tokens": 8192}),
            "setting: `temperature` cannot be combined with reasoning in this format",
        ),
        (
            Chat,
            json!({"model": "amazon.nova-pro-v1:0", "temperature": 2, "top_p": 0.5, "top_k": 4}),
            Bedrock,
            json!({"modelId": "amazon.nova-pro-v1:0", "inferenceConfig": {"temperature": 1, "topP": 0.5}}),
            "setting: `top_k` is not supported in this format \
             | setting: `temperature` 2 becomes 1, the maximum in this format",
        ),
        (
            Anthropic,
            json!({"top_k": 5}),
            Bedrock,
            json!({"additionalModelRequestFields": {"top_k": 5}}),
            "",
        ),
        (Anthropic, json!({"top_k": 5}), Gemini, json!({"generationConfig": {"topK": 5}}), ""),
        (
            Anthropic,
            json!({"top_k": 5}),
            Chat,
            json!({}),
            "setting: `top_k` is not supported in this format",
        ),
        (
            Chat,
            json!({"n": 1, "presence_penalty": 0.0, "frequency_penalty": 0}),
            Anthropic,
            json!({}),
            "",
        ),
        (
            Chat,
            json!({"n": 2, "seed": 1, "frequency_penalty": 0.1}),
            Responses,
            json!({}),
            "setting: `seed` is not supported in this format \
             | setting: `frequency_penalty` is not supported in this format \
             | setting: `n` is not supported in this format",
        ),
        (
            Gemini,
            json!({"generation_config": {"max_output_tokens": 5, "candidate_count": 3, "stop_sequences": ["a"]}}),
            Chat,
            json!({"max_completion_tokens": 5, "n": 3, "stop": ["a"]}),
            "",
        ),
    ];
    check(rows, false);
}

#[test]
fn stop_sequences_are_written_where_they_are_supported() {
    let five = json!(["a", "b", "c", "d", "e"]);
    let rows = vec![
        (Chat, json!({"stop": "x"}), Anthropic, json!({"stop_sequences": ["x"]}), ""),
        (
            Chat,
            json!({"stop": ["x", "\n"]}),
            Gemini,
            json!({"generationConfig": {"stopSequences": ["x", "\n"]}}),
            "",
        ),
        (
            Chat,
            json!({"stop": ["x", "\n"]}),
            Anthropic,
            json!({"stop_sequences": ["x"]}),
            "setting: 1 of the texts in `stop` are not accepted by this format",
        ),
        (
            Anthropic,
            json!({"stop_sequences": five}),
            Chat,
            json!({"stop": ["a", "b", "c", "d"]}),
            "setting: 1 of the texts in `stop_sequences` are not accepted by this format",
        ),
        (
            Chat,
            json!({"stop": "x"}),
            Responses,
            json!({}),
            "setting: `stop` is not supported in this format",
        ),
        (Chat, json!({"stop": null}), Responses, json!({}), ""),
        (
            Chat,
            json!({"stop": [1]}),
            Anthropic,
            json!({}),
            "setting: `stop` is not supported in this format",
        ),
    ];
    check(rows, false);
}
