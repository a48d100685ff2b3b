//! Upstreams of clouds: paths, bodies, keys, tokens and signatures, at a provider that records what
//! it gets.

pub(crate) mod provider;

use foxwedge_gateway::{GatewayEndpoint, GatewayEngine};
use serde_json::{Value, json};

use crate::stand::{ACCOUNT_FILE, ask, engine_with_account};
use provider::{CannedReply, CloudProvider, CloudRequest};

const TWO_CALLS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/conversion/responses/two-calls.bedrock.json"
));
const TWO_CALLS_STREAM: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/conversion/streams/two-calls.bedrock.bin"
));
const CHAT_STREAM: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/conversion/streams/two-calls.openai-chat.sse"
));
const CLAUDE_STREAM: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/conversion/streams/two-calls.anthropic.sse"
));
const GEMINI_REPLY: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/conversion/responses/text.gemini.json"
));
const BEDROCK_STREAM: &str = "application/vnd.amazon.eventstream";

/// An engine with one upstream, which serves every model.
async fn engine_at(provider: &CloudProvider, kind: &str, settings: &str) -> GatewayEngine {
    let url = &provider.url;
    let config = format!(
        "[[upstream]]\nname = \"cloud\"\nkind = \"{kind}\"\nbase_url = \"{url}\"\n{settings}\n\
         [[route]]\nmodel = \"*\"\nupstream = \"cloud\"\n"
    );
    // A service account whose tokens come from the provider.
    let account = json!({
        "type": "service_account", "client_email": "fox@p.iam.gserviceaccount.com",
        "private_key_id": "kid-1", "private_key": include_str!("clouds/account.pem"),
        "token_uri": format!("{url}/token"),
    });
    engine_with_account(&config, Some(account.to_string())).await
}

fn chat(model: &str, stream: bool) -> Value {
    json!({"model": model, "stream": stream, "max_tokens": 300, "messages": [
        {"role": "user", "content": "tide and wind?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "get_tide", "arguments": "{}"}},
        ]},
        // The result is missing.
        {"role": "user", "content": "go on"},
    ], "tools": [{"type": "function", "function": {"name": "get_tide",
        "parameters": {"type": "object", "properties": {}}}}]})
}

fn messages(model: &str, stream: bool) -> Value {
    json!({"model": model, "stream": stream, "max_tokens": 300,
        "messages": [{"role": "user", "content": "tide and wind?"}]})
}

#[tokio::test]
async fn azure_has_a_path_for_each_deployment_or_those_of_openai() {
    let table = [
        (
            "api_version = \"2024-10-21\"",
            "",
            "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21",
        ),
        ("", "", "/openai/v1/chat/completions"),
        // The address may hold a part of the path already.
        ("", "/openai/v1/", "/openai/v1/chat/completions"),
    ];
    for (settings, path, expected) in table {
        let mut provider = CloudProvider::start(vec![CannedReply::stream(CHAT_STREAM)]).await;
        provider.url += path;
        let settings = format!("key = \"azure-key-1\"\n{settings}");
        let engine = engine_at(&provider, "azure", &settings).await;
        let reply = ask(&engine, GatewayEndpoint::Chat, &chat("my-gpt", true)).await;
        assert_eq!((reply.status.as_u16(), &*reply.body), (200, CHAT_STREAM));
        let CloudRequest { path, headers, body } = provider.next().await;
        assert_eq!(path, expected);
        assert_eq!(headers["api-key"], "azure-key-1");
        assert!(!headers.contains_key("authorization"));
        // The call without a result was repaired.
        assert_eq!(body["messages"].as_array().map(Vec::len), Some(4));
        assert_eq!(reply.header("x-foxwedge-action"), "fixed");
    }
}

#[tokio::test]
async fn azure_takes_a_token_of_entra() {
    let provider = CloudProvider::start(vec![CannedReply::stream(CHAT_STREAM)]).await;
    let engine = engine_at(&provider, "azure", "key = \"eyJhbGciOi.eyJhdWQi.c2ln\"").await;
    ask(&engine, GatewayEndpoint::Chat, &chat("my-gpt", true)).await;
    let request = provider.next().await;
    assert_eq!(request.headers["authorization"], "Bearer eyJhbGciOi.eyJhdWQi.c2ln");
    assert!(!request.headers.contains_key("api-key"));
}

#[tokio::test]
async fn azure_fetches_tokens_of_entra() {
    const FIRST: &str = "eyJhbGciOi.eyJhdWQi.c2ln";
    const SECOND: &str = "eyJhbGciOi.eyJhdWQj.c2ln";
    let token = |name| CannedReply::json(200, &json!({"access_token": name}).to_string());
    let provider = CloudProvider::start(vec![
        token(FIRST),
        CannedReply::stream(CHAT_STREAM),
        // The first token was revoked.
        CannedReply::json(401, r#"{"error":{"code":"401","message":"Access denied"}}"#),
        token(SECOND),
        CannedReply::stream(CHAT_STREAM),
    ])
    .await;
    let settings = format!(
        "tenant = \"fox.example\"\nclient_id = \"app-1\"\nclient_secret = \"a+b/c=\"\n\
         authority = \"{}/\"",
        provider.url
    );
    let engine = engine_at(&provider, "azure", &settings).await;
    for tokens in [["", FIRST], [FIRST, SECOND]] {
        let reply = ask(&engine, GatewayEndpoint::Chat, &chat("my-gpt", true)).await;
        assert_eq!((reply.status.as_u16(), &*reply.body), (200, CHAT_STREAM));
        let [refused, accepted] = tokens;
        if !refused.is_empty() {
            let request = provider.next().await;
            assert_eq!(request.headers["authorization"], format!("Bearer {refused}"));
        }
        let grant = provider.next().await;
        assert_eq!(grant.path, "/fox.example/oauth2/v2.0/token");
        assert_eq!(grant.headers["content-type"], "application/x-www-form-urlencoded");
        let form = "grant_type=client%5Fcredentials&client_id=app%2D1&client_secret=a%2Bb%2Fc%3D&\
                    scope=https%3A%2F%2Fcognitiveservices%2Eazure%2Ecom%2F%2Edefault";
        assert_eq!(grant.body.as_str(), Some(form));
        let request = provider.next().await;
        assert_eq!(request.headers["authorization"], format!("Bearer {accepted}"));
        assert!(!request.headers.contains_key("api-key"));
    }
}

#[tokio::test]
async fn vertex_serves_each_model_in_the_format_of_its_maker() {
    let provider = CloudProvider::start(vec![
        CannedReply::json(200, r#"{"access_token":"token-1","expires_in":3599}"#),
        CannedReply::stream(CLAUDE_STREAM),
        CannedReply::json(200, GEMINI_REPLY),
        // The first token was revoked.
        CannedReply::json(
            401,
            r#"{"error":{"code":401,"message":"no","status":"UNAUTHENTICATED"}}"#,
        ),
        CannedReply::json(200, r#"{"access_token":"token-2","expires_in":3599}"#),
        CannedReply::json(200, r#"{"input_tokens":7}"#),
    ])
    .await;
    let settings = format!(
        "project = \"my-project\"\nregion = \"us-east5\"\ncredentials_file = \"{ACCOUNT_FILE}\""
    );
    let engine = engine_at(&provider, "vertex", &settings).await;
    let root = "/v1/projects/my-project/locations/us-east5";

    let claude = "claude-sonnet-4-5@20250929";
    let reply = ask(&engine, GatewayEndpoint::Messages, &messages(claude, true)).await;
    assert_eq!((reply.status.as_u16(), &*reply.body), (200, CLAUDE_STREAM));
    let grant = provider.next().await;
    assert_eq!(grant.path, "/token");
    provider::check_assertion(&grant, &provider.url);
    let request = provider.next().await;
    let expected = format!("{root}/publishers/anthropic/models/{claude}:streamRawPredict");
    assert_eq!(request.path, expected);
    assert_eq!(request.headers["authorization"], "Bearer token-1");
    assert_eq!(request.body["anthropic_version"], "vertex-2023-10-16");
    assert_eq!(request.body["stream"], true);
    assert!(request.body.get("model").is_none(), "{}", request.body);

    // The token is used again, for another format.
    let reply = ask(&engine, GatewayEndpoint::Chat, &chat("gemini-3-pro", false)).await;
    assert_eq!(reply.status.as_u16(), 200, "{}", reply.body);
    assert_eq!(reply.json()["object"], "chat.completion");
    let request = provider.next().await;
    assert_eq!(
        request.path,
        format!("{root}/publishers/google/models/gemini-3-pro:generateContent")
    );
    assert_eq!(request.headers["authorization"], "Bearer token-1");
    assert!(request.body["contents"].is_array());

    let reply = ask(&engine, GatewayEndpoint::CountTokens, &messages(claude, false)).await;
    assert_eq!((reply.status.as_u16(), &*reply.body), (200, r#"{"input_tokens":7}"#));
    let (refused, grant, counted) =
        (provider.next().await, provider.next().await, provider.next().await);
    assert_eq!((&*grant.path, &refused.path), ("/token", &counted.path));
    assert_eq!(counted.path, format!("{root}/publishers/anthropic/models/count-tokens:rawPredict"));
    assert_eq!(counted.headers["authorization"], "Bearer token-2");
    assert_eq!(counted.body["model"], claude);
}

#[tokio::test]
async fn a_refused_account_is_an_error_without_its_secrets() {
    let body = r#"{"error":"invalid_grant","error_description":"canary"}"#;
    let provider = CloudProvider::start(vec![CannedReply::json(400, body)]).await;
    let settings = format!("project = \"p\"\ncredentials_file = \"{ACCOUNT_FILE}\"");
    let engine = engine_at(&provider, "vertex", &settings).await;
    let reply = ask(&engine, GatewayEndpoint::Chat, &chat("gemini-3-pro", false)).await;
    assert_eq!(reply.status.as_u16(), 502);
    assert!(reply.body.contains("the token service replied 400 invalid_grant"), "{}", reply.body);
    assert!(!reply.body.contains("canary"));
}

#[tokio::test]
async fn bedrock_gets_signed_requests_and_its_streams_are_converted() {
    let provider = CloudProvider::start(vec![
        CannedReply::json(200, TWO_CALLS),
        CannedReply { content_type: BEDROCK_STREAM, ..CannedReply::bytes(TWO_CALLS_STREAM) },
        CannedReply::json(400, r#"{"message":"The model returned: canary"}"#),
    ])
    .await;
    let settings = "region = \"us-east-1\"\naccess_key_id = \"AKIDEXAMPLE\"\n\
                    secret_access_key = \"wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY\"\n\
                    session_token = \"session-1\"";
    let engine = engine_at(&provider, "bedrock", settings).await;
    let model = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
    let reply = ask(&engine, GatewayEndpoint::Chat, &chat(model, false)).await;
    assert_eq!(reply.status.as_u16(), 200, "{}", reply.body);
    let calls = &reply.json()["choices"][0]["message"]["tool_calls"];
    assert_eq!(calls.as_array().map(Vec::len), Some(2));
    let request = provider.next().await;
    let path = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0";
    assert_eq!(request.path, format!("{path}/converse"));
    assert!(request.body.get("modelId").is_none(), "{}", request.body);
    assert_eq!(request.body["messages"].as_array().map(Vec::len), Some(3));
    let authorization = request.headers["authorization"].to_str().expect("text");
    let date = request.headers["x-amz-date"].to_str().expect("text");
    let day = &date[..8];
    let scope =
        format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{day}/us-east-1/bedrock/aws4_request, ");
    assert!(authorization.starts_with(&scope), "{authorization}");
    let signed = "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(authorization.contains(signed), "{authorization}");
    assert_eq!(request.headers["x-amz-security-token"], "session-1");

    let reply = ask(&engine, GatewayEndpoint::Messages, &messages(model, true)).await;
    assert_eq!(reply.status.as_u16(), 200, "{}", reply.body);
    assert!(reply.header("content-type").starts_with("text/event-stream"));
    assert!(reply.body.contains("event: message_stop"), "{}", reply.body);
    assert_eq!(reply.body.matches("\"type\":\"tool_use\"").count(), 2, "{}", reply.body);
    let request = provider.next().await;
    assert_eq!(request.path, format!("{path}/converse-stream"));
    assert_eq!(request.headers["accept"], BEDROCK_STREAM);

    let reply = ask(&engine, GatewayEndpoint::Chat, &chat(model, false)).await;
    assert_eq!(reply.status.as_u16(), 400);
    assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
}

#[tokio::test]
async fn bedrock_takes_an_api_key() {
    let provider = CloudProvider::start(vec![CannedReply::json(200, TWO_CALLS)]).await;
    let settings = "region = \"eu-central-1\"\nkey = \"bedrock-api-key-1\"";
    let engine = engine_at(&provider, "bedrock", settings).await;
    ask(&engine, GatewayEndpoint::Chat, &chat("amazon.nova-pro-v1:0", false)).await;
    let request = provider.next().await;
    assert_eq!(request.headers["authorization"], "Bearer bedrock-api-key-1");
    assert!(!request.headers.contains_key("x-amz-date"));
}

/// What OpenRouter and Ollama send that OpenAI does not.
#[tokio::test]
async fn habits_of_compatible_providers_reach_clients_of_every_format() {
    let chunk = |delta: Value, end: Value| {
        let choice =
            json!({"index": 0, "delta": delta, "finish_reason": end, "native_finish_reason": end});
        let chunk = json!({"id": "gen-1", "object": "chat.completion.chunk", "created": 1,
            "model": "m", "provider": "P", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let comment = ": OPENROUTER PROCESSING\n\n";
    let details = json!([{"type": "reasoning.text", "text": "hm", "index": 0}]);
    let thought = chunk(json!({"reasoning": "hm", "reasoning_details": details}), Value::Null);
    // Ollama sends whole calls, and says `stop` or `tool_calls` behind them.
    let call = json!({"id": "call_1", "index": 0, "type": "function",
        "function": {"name": "get_tide", "arguments": "{}"}});
    let calls = chunk(json!({"content": "", "tool_calls": [call]}), Value::Null);
    let end = chunk(json!({}), "stop".into()) + "data: [DONE]\n\n";
    let whole = format!("{comment}{comment}{thought}{comment}{calls}{end}");
    let error = json!({"code": 502, "message": "Provider disconnected", "metadata": {"provider_name": "P"}});
    let failed = json!({"id": "gen-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "error": error, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]});
    let failed = format!("{comment}{thought}data: {failed}\n\n");
    let body = json!({"error": error, "user_id": "u"}).to_string();
    let provider = CloudProvider::start(vec![
        CannedReply::stream(&whole),
        CannedReply::stream(&whole),
        CannedReply::stream(&failed),
        CannedReply::json(200, &body),
        CannedReply::json(200, &body),
    ])
    .await;
    let engine = engine_at(&provider, "openai-compatible", "attempts = 1").await;
    let same = ask(&engine, GatewayEndpoint::Chat, &chat("m", true)).await;
    assert_eq!(same.body, whole);
    let converted = ask(&engine, GatewayEndpoint::Messages, &messages("m", true)).await.body;
    for part in ["thinking_delta", "\"tool_use\"", "get_tide", "event: message_stop"] {
        assert!(converted.contains(part), "{part}: {converted}");
    }
    assert!(!converted.contains("OPENROUTER"), "{converted}");
    let broken = ask(&engine, GatewayEndpoint::Messages, &messages("m", true)).await.body;
    assert!(
        broken.contains("event: error") && broken.contains("Provider disconnected"),
        "{broken}"
    );
    assert!(!broken.contains("message_stop"), "{broken}");
    // An error with the status 200 is no reply, streamed or not.
    for stream in [false, true] {
        let reply = ask(&engine, GatewayEndpoint::Chat, &chat("m", stream)).await;
        assert!(reply.status.is_server_error(), "{reply:?}");
        assert_eq!(reply.header("content-type"), "application/json");
        assert_eq!(reply.json()["error"]["message"], "Provider disconnected");
    }
}
