//! Reasoning settings.

use super::*;

#[test]
fn effort_and_budget_are_kept_or_reported_as_lost() {
    let effort = |word: &str| json!({"reasoning_effort": word});
    let thinking = |model: &str, most: u64, thinking: Value, config: Value| {
        let mut request = json!({"model": model, "max_tokens": most});
        for (key, value) in [("thinking", thinking), ("output_config", config)] {
            if !value.is_null() {
                request[key] = value;
            }
        }
        request
    };
    let chat = |model: &str, word: &str| json!({"model": model, "reasoning_effort": word});
    let adaptive = || json!({"type": "adaptive"});
    let enabled = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let config = |value: Value| json!({"generationConfig": {"thinkingConfig": value}});
    let claude = |value: Value| json!({"thinking": value, "max_tokens": 64000});
    let rows = vec![
        // Effort to Claude: newer models, older ones, and unknown ones.
        (
            Chat,
            effort("high"),
            Anthropic,
            json!({"thinking": adaptive(), "output_config": {"effort": "high"}, "max_tokens": 20480}),
            "",
        ),
        (
            Chat,
            chat("claude-opus-4-6", "low"),
            Anthropic,
            thinking("claude-opus-4-6", 8192, adaptive(), json!({"effort": "low"})),
            "",
        ),
        (
            Chat,
            chat("claude-opus-5", "minimal"),
            Anthropic,
            thinking("claude-opus-5", 8192, adaptive(), json!({"effort": "low"})),
            "setting: the effort `minimal` becomes `low`",
        ),
        (
            Chat,
            chat("claude-sonnet-4-5", "medium"),
            Anthropic,
            thinking("claude-sonnet-4-5", 12288, enabled(8192), Value::Null),
            "",
        ),
        (Chat, effort("none"), Anthropic, json!({"thinking": {"type": "disabled"}}), ""),
        (
            Chat,
            chat("claude-opus-4-7", "none"),
            Anthropic,
            thinking("claude-opus-4-7", 4096, Value::Null, Value::Null),
            "",
        ),
        (
            Chat,
            chat("claude-fable-5", "none"),
            Anthropic,
            thinking("claude-fable-5", 4096, Value::Null, Value::Null),
            "setting: reasoning cannot be switched off for this model",
        ),
        (
            Chat,
            effort("odd"),
            Anthropic,
            json!({}),
            "setting: the effort `odd` is not known in this format",
        ),
        // Budgets fit into the output limit.
        (
            Chat,
            json!({"model": "claude-3-7-sonnet", "reasoning_effort": "high", "max_tokens": 10000}),
            Anthropic,
            thinking("claude-3-7-sonnet", 10000, enabled(9999), Value::Null),
            "setting: a reasoning budget of 16384 tokens becomes 9999",
        ),
        (
            Chat,
            json!({"model": "claude-3-7-sonnet", "reasoning_effort": "high", "max_tokens": 1024}),
            Anthropic,
            thinking("claude-3-7-sonnet", 1024, Value::Null, Value::Null),
            "setting: a limit of 1024 output tokens leaves no room for reasoning",
        ),
        (
            Gemini,
            config(json!({"thinkingBudget": 128})),
            Anthropic,
            json!({"thinking": enabled(1024), "max_tokens": 5120}),
            "setting: a reasoning budget of 128 tokens becomes 1024",
        ),
        (
            Gemini,
            json!({"model": "claude-opus-4-8", "generationConfig": {"thinkingConfig": {"thinkingBudget": 8000}}}),
            Anthropic,
            thinking("claude-opus-4-8", 12288, adaptive(), json!({"effort": "medium"})),
            "setting: a reasoning budget of 8000 tokens becomes the effort `medium`",
        ),
        // Claude to effort.
        (
            Anthropic,
            claude(enabled(16384)),
            Chat,
            json!({"reasoning_effort": "high", "max_completion_tokens": 64000}),
            "",
        ),
        (
            Anthropic,
            claude(enabled(10000)),
            Responses,
            json!({"reasoning": {"effort": "medium"}, "max_output_tokens": 64000}),
            "setting: a reasoning budget of 10000 tokens becomes the effort `medium`",
        ),
        (
            Anthropic,
            claude(json!({"type": "disabled"})),
            Chat,
            json!({"reasoning_effort": "none", "max_completion_tokens": 64000}),
            "",
        ),
        (Anthropic, claude(adaptive()), Chat, json!({"max_completion_tokens": 64000}), ""),
        (
            Anthropic,
            json!({"thinking": adaptive(), "output_config": {"effort": "max"}}),
            Chat,
            effort("max"),
            "",
        ),
        (
            Anthropic,
            json!({"thinking": {"type": "between_tools"}}),
            Chat,
            json!({}),
            "setting: `thinking` is not supported in this format",
        ),
        // The words that a model knows.
        (
            Anthropic,
            json!({"model": "gpt-5", "thinking": enabled(31_999)}),
            Chat,
            chat("gpt-5", "high"),
            "setting: a reasoning budget of 31999 tokens becomes the effort `high`",
        ),
        (
            Anthropic,
            json!({"model": "gpt-5.2", "thinking": {"type": "disabled"}}),
            Responses,
            json!({"model": "gpt-5.2", "reasoning": {"effort": "none"}}),
            "",
        ),
        (
            Anthropic,
            json!({"model": "gpt-5", "thinking": {"type": "disabled"}}),
            Chat,
            chat("gpt-5", "minimal"),
            "setting: reasoning cannot be switched off for this model: the effort is `minimal`",
        ),
        (
            Anthropic,
            json!({"model": "qwen3", "thinking": {"type": "disabled"}}),
            Chat,
            json!({"model": "qwen3"}),
            "setting: reasoning cannot be switched off for this model",
        ),
        (
            Anthropic,
            json!({"model": "qwen3", "thinking": adaptive(), "output_config": {"effort": "max"}}),
            Chat,
            chat("qwen3", "high"),
            "setting: the effort `max` becomes `high`",
        ),
        (
            Anthropic,
            json!({"model": "gpt-4.1", "thinking": enabled(4096)}),
            Responses,
            json!({"model": "gpt-4.1"}),
            "setting: reasoning is left out: the model takes no effort",
        ),
        (
            Anthropic,
            json!({"model": "gpt-4.1", "thinking": {"type": "disabled"}}),
            Chat,
            json!({"model": "gpt-4.1"}),
            "",
        ),
        (
            Responses,
            json!({"model": "gpt-5", "reasoning": {"effort": "xhigh"}}),
            Chat,
            chat("gpt-5", "xhigh"),
            "",
        ),
        // Gemini, in both directions.
        (Chat, effort("low"), Gemini, config(json!({"thinkingLevel": "LOW"})), ""),
        (
            Chat,
            effort("xhigh"),
            Gemini,
            config(json!({"thinkingLevel": "HIGH"})),
            "setting: the effort `xhigh` becomes `high`",
        ),
        (
            Chat,
            chat("gemini-2.5-pro", "max"),
            Gemini,
            json!({"model": "gemini-2.5-pro", "generationConfig": {"thinkingConfig": {"thinkingBudget": 24576}}}),
            "setting: the effort `max` becomes a reasoning budget of 24576 tokens",
        ),
        (Chat, effort("none"), Gemini, config(json!({"thinkingBudget": 0})), ""),
        (
            Anthropic,
            json!({"thinking": adaptive()}),
            Gemini,
            config(json!({"thinkingBudget": -1})),
            "",
        ),
        (
            Gemini,
            config(json!({"thinking_budget": -1})),
            Anthropic,
            json!({"thinking": adaptive(), "max_tokens": 12288}),
            "",
        ),
        (
            Gemini,
            config(json!({"thinkingBudget": 0})),
            Responses,
            json!({"reasoning": {"effort": "none"}}),
            "",
        ),
        (Gemini, config(json!({"thinkingLevel": "HIGH"})), Chat, effort("high"), ""),
        // Bedrock uses Claude's settings, or an effort.
        (
            Chat,
            chat("anthropic.claude-sonnet-4-5-v1:0", "low"),
            Bedrock,
            json!({"modelId": "anthropic.claude-sonnet-4-5-v1:0", "additionalModelRequestFields": {"thinking": enabled(4096)}}),
            "",
        ),
        (
            Chat,
            chat("openai.gpt-oss-120b-1:0", "low"),
            Bedrock,
            json!({"modelId": "openai.gpt-oss-120b-1:0", "outputConfig": {"effort": "low"}}),
            "",
        ),
        (
            Anthropic,
            json!({"thinking": enabled(2048), "max_tokens": 3000}),
            Bedrock,
            json!({"inferenceConfig": {"maxTokens": 3000}, "additionalModelRequestFields": {"thinking": enabled(2048)}}),
            "",
        ),
        // Whether the response includes the reasoning.
        (
            Responses,
            json!({"reasoning": {"effort": "low", "summary": "auto"}}),
            Anthropic,
            json!({"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}, "max_tokens": 8192}),
            "",
        ),
        (
            Responses,
            json!({"reasoning": {"summary": "auto"}}),
            Gemini,
            config(json!({"includeThoughts": true})),
            "",
        ),
        (
            Responses,
            json!({"reasoning": {"summary": "auto"}}),
            Anthropic,
            json!({}),
            "setting: reasoning output cannot be requested while reasoning is off",
        ),
        (
            Gemini,
            config(json!({"includeThoughts": true})),
            Chat,
            json!({}),
            "setting: reasoning output cannot be requested in this format",
        ),
    ];
    check(rows, false);
}

#[test]
fn a_forced_call_disables_thinking_for_claude() {
    let lost = "setting: a forced call cannot be combined with reasoning in this format";
    let rows = vec![
        (
            Chat,
            json!({"tool_choice": "required", "reasoning_effort": "high"}),
            Anthropic,
            json!({"tool_choice": {"type": "any"}, "output_config": {"effort": "high"}}),
            lost,
        ),
        (
            Gemini,
            json!({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
                   "generationConfig": {"thinkingConfig": {"thinkingBudget": 2048}}}),
            Bedrock,
            json!({"toolConfig": {"toolChoice": {"any": {}}}}),
            lost,
        ),
    ];
    check(rows, true);
}
