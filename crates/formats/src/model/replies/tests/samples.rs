//! Sample bodies, as providers send them.

use foxwedge_core::Format;

/// A text with a citation, reasoning, two calls.
pub(super) const CHAT: &str = r#"{
    "id": "chatcmpl-9", "object": "chat.completion", "created": 1700000000, "model": "gpt-5",
    "choices": [{"index": 0, "message": {
        "role": "assistant", "content": "Let me \"look\". Paris it is.", "refusal": null,
        "reasoning_content": "The weather\nis asked for.",
        "annotations": [{"type": "url_citation", "url_citation": {
            "start_index": 15, "end_index": 20, "title": "Paris", "url": "https://a.example/paris"}}],
        "tool_calls": [
            {"id": "call_1", "type": "function",
             "function": {"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"}},
            {"id": "call_2", "type": "custom", "custom": {"name": "run", "input": "ls -la"}}]},
        "logprobs": null, "finish_reason": "tool_calls"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 20}}}"#;

/// Encrypted reasoning, a text with a citation, a refusal, two calls. A message item does not keep
/// its id, so it has the computed one.
pub(super) const RESPONSES: &str = r#"{
    "id": "resp_9", "object": "response", "created_at": 1700000000, "status": "completed",
    "error": null, "incomplete_details": null, "instructions": null, "metadata": {},
    "model": "gpt-5",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [
            {"type": "summary_text", "text": "The weather is asked for."}], "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg_xhNSuCI3oNKzIWdOnp4Ch4", "status": "completed", "role": "assistant", "content": [
            {"type": "output_text", "text": "Paris it is.", "annotations": [
                {"type": "url_citation", "start_index": 0, "end_index": 5,
                 "title": "Paris", "url": "https://a.example/paris"}], "logprobs": []},
            {"type": "refusal", "refusal": "Not that."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather",
         "arguments": "{\"city\":\"Paris\"}", "status": "completed"},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "run", "input": "ls -la"}],
    "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto", "tools": [], "top_p": null,
    "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 0},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 150}}"#;

/// Signed and redacted reasoning, texts with and without a citation, a call, a text after it.
pub(super) const ANTHROPIC: &str = r#"{
    "id": "msg_9", "type": "message", "role": "assistant", "model": "claude-opus-5",
    "content": [
        {"type": "thinking", "thinking": "The weather\nis asked for.", "signature": "EqQB"},
        {"type": "redacted_thinking", "data": "EmwK"},
        {"type": "text", "text": "Let me look. "},
        {"type": "text", "text": "Paris it is.", "citations": [
            {"type": "web_search_result_location", "url": "https://a.example/paris", "title": "Paris",
             "cited_text": "Paris is a city.", "encrypted_index": "Eo8B"}]},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
        {"type": "text", "text": "Wait."}],
    "stop_reason": "tool_use", "stop_sequence": null,
    "usage": {"input_tokens": 10, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 60,
        "output_tokens": 50}}"#;

/// Reasoning, a text, a signed call with an id, and a call without id and signature.
pub(super) const GEMINI: &str = r#"{
    "candidates": [{"content": {"parts": [
        {"text": "The weather is asked for.", "thought": true},
        {"text": "Paris it is.", "thoughtSignature": "CiQB"},
        {"functionCall": {"id": "fc-1", "name": "get_weather", "args": {"city": "Paris"}},
         "thoughtSignature": "CoMB"},
        {"functionCall": {"name": "get_time", "args": {}}}], "role": "model"},
        "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 30,
        "thoughtsTokenCount": 20, "totalTokenCount": 150},
    "modelVersion": "gemini-3-pro", "responseId": "r9"}"#;

/// A signed thought, a text with a citation, calls.
pub(super) const INTERACTIONS: &str = r#"{
    "id": "v1_9", "object": "interaction", "model": "gemini-3-pro", "status": "requires_action",
    "steps": [
        {"type": "thought", "signature": "CiQB",
         "summary": [{"type": "text", "text": "The weather is asked for."}]},
        {"type": "model_output", "content": [{"type": "text", "text": "Paris it is.", "annotations": [
            {"type": "url_citation", "url": "https://a.example/paris", "title": "Paris"}]}]},
        {"type": "function_call", "id": "fc-1", "name": "get_weather", "arguments": {"city": "Paris"}},
        {"type": "function_call", "id": "fc-2", "name": "get_time", "arguments": {}}],
    "usage": {"total_input_tokens": 100, "total_cached_tokens": 60, "total_output_tokens": 30,
        "total_thought_tokens": 20, "total_tokens": 150}}"#;

/// Signed and redacted reasoning, a text with a citation, a call.
pub(super) const BEDROCK: &str = r#"{
    "output": {"message": {"role": "assistant", "content": [
        {"reasoningContent": {"reasoningText": {"text": "The weather is asked for.", "signature": "EqQB"}}},
        {"reasoningContent": {"redactedContent": "RW13Sw=="}},
        {"text": "Let me look."},
        {"citationsContent": {"content": [{"text": "Paris it is."}], "citations": [
            {"title": "Paris", "sourceContent": [{"text": "Paris is a city."}],
             "location": {"web": {"url": "https://a.example/paris"}}}]}},
        {"toolUse": {"toolUseId": "tooluse_1", "name": "get_weather", "input": {"city": "Paris"}}}]}},
    "stopReason": "tool_use",
    "usage": {"inputTokens": 10, "outputTokens": 50, "totalTokens": 150,
        "cacheReadInputTokens": 60, "cacheWriteInputTokens": 30},
    "metrics": {"latencyMs": 0}}"#;

pub(super) fn rich(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat => CHAT,
        Format::OpenaiResponses => RESPONSES,
        Format::Anthropic => ANTHROPIC,
        Format::Gemini => GEMINI,
        Format::Bedrock => BEDROCK,
        Format::GeminiInteractions => INTERACTIONS,
    }
}
