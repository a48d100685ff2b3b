//! What servers and models refuse beyond their format.

use super::*;

/// A request as Claude Code sends it.
fn claude_request() -> Value {
    let mark = || json!({"type": "ephemeral"});
    json!({
        "model": "claude-sonnet-4-5", "max_tokens": 100, "stream": true,
        "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "Be kind.", "cache_control": mark()}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": mark()}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": mark()}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "why", "signature": "sig"},
                {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]}],
    })
}

fn sent(source: &Value, from: Format, to: Format, options: &ConversionOptions) -> String {
    request(&source.to_string(), from, to, options).expect("readable").body
}

fn for_model(model: &str) -> ConversionOptions {
    ConversionOptions { model: Some(model.to_owned()), ..ConversionOptions::default() }
}

#[test]
fn models_on_bedrock_get_only_the_fields_of_their_maker() {
    let marks = |body: &str| body.matches("\"cachePoint\"").count();
    for (model, expected, thinks) in [
        ("anthropic.claude-sonnet-4-5-20250929-v1:0", 3, true),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/x", 3, true),
        // Nova takes no mark after a tool.
        ("us.amazon.nova-pro-v1:0", 2, false),
        ("meta.llama3-3-70b-instruct-v1:0", 0, false),
    ] {
        let options = for_model(model);
        let source = claude_request().to_string();
        let done =
            request(&source, Format::Anthropic, Format::Bedrock, &options).expect("readable");
        assert_eq!(marks(&done.body), expected, "{model}: {}", done.body);
        assert_eq!(done.body.contains("reasoningContent"), thinks, "{model}: {}", done.body);
        let lost = |kind: LossKind| done.losses.iter().filter(|loss| loss.kind == kind).count();
        assert_eq!(lost(LossKind::CacheMark), 3 - expected, "{model}: {:?}", done.losses);
        assert_eq!(lost(LossKind::Reasoning), usize::from(!thinks), "{model}: {:?}", done.losses);
    }
}

#[test]
fn servers_of_chat_get_the_token_limit_and_the_reasoning_that_they_know() {
    let mut source = claude_request();
    source["messages"][1]["content"][0]["signature"] = json!("");
    let with = |chat_server: ChatServer| {
        let options = ConversionOptions { chat_server, ..for_model("m") };
        let body = sent(&source, Format::Anthropic, Format::OpenaiChat, &options);
        serde_json::from_str::<Value>(&body).expect("JSON")
    };
    let plain = with(ChatServer::default());
    assert_eq!(
        (&plain["max_completion_tokens"], &plain["max_tokens"]),
        (&json!(100), &Value::Null)
    );
    assert_eq!(plain["messages"][2]["reasoning_content"], "why", "{plain}");
    let older = with(ChatServer { older_token_limit: true, refuses_reasoning: true });
    assert_eq!(
        (&older["max_tokens"], &older["max_completion_tokens"]),
        (&json!(100), &Value::Null)
    );
    assert_eq!(older["messages"][2].get("reasoning_content"), None, "{older}");
}

#[test]
fn mistral_gets_no_setting_that_it_does_not_know() {
    let options =
        ConversionOptions { profile: Some(Profile::Mistral), ..for_model("devstral-medium") };
    let keys = |source: &Value, from: Format| {
        let body = sent(source, from, Format::OpenaiChat, &options);
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let mut keys: Vec<String> = body.as_object().expect("an object").keys().cloned().collect();
        keys.retain(|key| key != "messages" && key != "tools");
        keys
    };
    let mut claude = claude_request();
    claude["thinking"] = json!({"type": "enabled", "budget_tokens": 2048});
    claude["max_tokens"] = json!(4096);
    assert_eq!(keys(&claude, Format::Anthropic), ["max_tokens", "model", "stream"]);
    let responses = json!({
        "model": "m", "input": "hi", "store": false, "user": "u", "service_tier": "auto",
        "prompt_cache_key": "k", "text": {"verbosity": "low"}, "reasoning": {"effort": "high"},
        "metadata": {"a": "b"}, "stream": true, "max_output_tokens": 7,
    });
    assert_eq!(
        keys(&responses, Format::OpenaiResponses),
        ["max_tokens", "metadata", "model", "reasoning_effort", "stream"]
    );
    let seeded = json!({"model": "m", "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "generationConfig": {"seed": 7}});
    assert_eq!(keys(&seeded, Format::Gemini), ["model", "random_seed"]);
}
