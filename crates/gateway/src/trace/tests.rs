use foxwedge_formats::model::{self, StopReason};
use serde_json::{Value, json};

use super::*;
use crate::{FindingTally, record::ReplyCompletion};

/// The spans that a collector receives while `work` uses a tracer.
async fn collected(work: impl FnOnce(&ChatTracer)) -> Vec<Value> {
    collected_with(SpanContent::Omitted, work).await
}

async fn collected_with(content: SpanContent, work: impl FnOnce(&ChatTracer)) -> Vec<Value> {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let received = bodies.clone();
    let tracer = ChatTracer::with_sender(Metrics::new(), content, move |body: Bytes| {
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        received.lock().expect("nobody panicked").push(body);
        async { Ok(()) }
    });
    work(&tracer);
    tracer.drain().await;
    let bodies = bodies.lock().expect("nobody panicked").clone();
    bodies
        .iter()
        .flat_map(|body| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned())
        .flatten()
        .collect()
}

fn with_parent(text: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(
        http::HeaderName::from_static(TRACEPARENT),
        HeaderValue::from_static(text),
    )])
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a Value> {
    let attributes = span["attributes"].as_array()?;
    attributes
        .iter()
        .find(|attribute_entry| attribute_entry["key"] == key)
        .map(|attribute_entry| &attribute_entry["value"])
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn a_span_has_provider_model_usage_and_repairs() {
    let spans = collected(|tracer| {
        let mut span = tracer.start_span(&with_parent(PARENT), "anthropic", "claude");
        let header = span.traceparent().expect("a trace");
        assert!(header.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{header}");
        assert!(!header.contains("b7ad6b7169203331"), "{header}");
        span.set_run("s1", "r1");
        span.add_repairs(&[FindingTally { code: 101, strategy: "insert-answer", count: 2 }]);
        let mut reply =
            model::ModelReply { stop: Some(StopReason::ToolCalls), ..model::ModelReply::default() };
        reply.usage.input = Some(7);
        span.set_reply(&reply);
        span.set_completion(ReplyCompletion::Complete);
    })
    .await;
    let [span] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(span["name"], "chat claude");
    assert_eq!(span["kind"], 3);
    assert_eq!(span["traceId"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span["parentSpanId"], "b7ad6b7169203331");
    assert_eq!(span["status"], json!({}));
    for (key, value) in [
        ("gen_ai.operation.name", json!({"stringValue": "chat"})),
        ("gen_ai.provider.name", json!({"stringValue": "anthropic"})),
        ("gen_ai.request.model", json!({"stringValue": "claude"})),
        ("gen_ai.conversation.id", json!({"stringValue": "s1"})),
        ("foxwedge.run.id", json!({"stringValue": "r1"})),
        (
            "gen_ai.response.finish_reasons",
            json!({"arrayValue": {"values": [{"stringValue": "tool_calls"}]}}),
        ),
        ("gen_ai.usage.input_tokens", json!({"intValue": "7"})),
        ("foxwedge.terminal_reason", json!({"stringValue": "completed"})),
    ] {
        assert_eq!(attribute(span, key), Some(&value), "{key}");
    }
    assert_eq!(attribute(span, "gen_ai.usage.output_tokens"), None);
    assert_eq!(span["events"][0]["name"], "foxwedge.repair");
    assert_eq!(
        span["events"][0]["attributes"],
        json!([
            {"key": "code", "value": {"stringValue": "FW101"}},
            {"key": "strategy", "value": {"stringValue": "insert-answer"}},
            {"key": "count", "value": {"intValue": "2"}},
        ])
    );
}

#[tokio::test]
async fn messages_are_included_only_if_the_configuration_says_so() {
    let work = |tracer: &ChatTracer| {
        let mut span = tracer.start_span(&HeaderMap::new(), "openai", "m");
        span.set_upstream("own");
        span.set_input_messages(|| Some("[{\"role\":\"user\",\"parts\":[]}]".to_owned()));
        let part = model::ContentPart::Text(model::JsonText::from("canary"));
        let mut reply = model::ModelReply {
            id: Some("chatcmpl-1".into()),
            model: Some("m-2026".into()),
            parts: vec![part.into()],
            stop: Some(StopReason::End),
            ..model::ModelReply::default()
        };
        reply.usage.cache_read = Some(3);
        reply.usage.reasoning = Some(2);
        span.set_reply(&reply);
        span.set_completion(ReplyCompletion::Complete);
        let mut large = tracer.start_span(&HeaderMap::new(), "openai", "large");
        large.set_input_messages(|| Some("x".repeat((1 << 20) + 1)));
    };
    let spans = collected(work).await;
    assert!(!spans.iter().any(|span| span.to_string().contains("messages")), "{spans:?}");
    assert!(!spans.iter().any(|span| span.to_string().contains("canary")), "{spans:?}");
    let spans = collected_with(SpanContent::Included, work).await;
    let output = "[{\"role\":\"assistant\",\"parts\":[{\"type\":\"text\",\"content\":\"canary\"}],\
                  \"finish_reason\":\"stop\"}]";
    for (key, value) in [
        ("foxwedge.upstream", json!({"stringValue": "own"})),
        ("gen_ai.response.id", json!({"stringValue": "chatcmpl-1"})),
        ("gen_ai.response.model", json!({"stringValue": "m-2026"})),
        ("gen_ai.usage.cache_read.input_tokens", json!({"intValue": "3"})),
        ("gen_ai.usage.reasoning.output_tokens", json!({"intValue": "2"})),
        ("gen_ai.input.messages", json!({"stringValue": "[{\"role\":\"user\",\"parts\":[]}]"})),
        ("gen_ai.output.messages", json!({"stringValue": output})),
    ] {
        let of_model = |name: &str| spans.iter().find(|span| span["name"] == name);
        assert_eq!(attribute(of_model("chat m").expect("a span"), key), Some(&value), "{key}");
        let omitted = attribute(of_model("chat large").expect("a span"), "foxwedge.omitted");
        assert_eq!(omitted, Some(&json!({"stringValue": "gen_ai.input.messages"})));
    }
}

#[tokio::test]
async fn waiting_messages_take_a_limited_number_of_bytes() {
    let spans = collected_with(SpanContent::Included, |tracer| {
        for _ in 0..20 {
            let mut span = tracer.start_span(&HeaderMap::new(), "openai", "m");
            span.set_input_messages(|| Some("x".repeat(1 << 20)));
        }
    })
    .await;
    let with_messages =
        spans.iter().filter(|span| attribute(span, "gen_ai.input.messages").is_some()).count();
    assert_eq!((spans.len(), with_messages), (20, 8));
}

#[tokio::test]
async fn a_disconnect_is_no_error_and_a_failure_is_one() {
    let spans = collected(|tracer| {
        let headers = HeaderMap::new();
        drop(tracer.start_span(&headers, "p", "gone"));
        tracer.start_span(&headers, "p", "refused").set_failure(429);
        tracer.start_span(&headers, "p", "cut").set_completion(ReplyCompletion::Cut);
        tracer.start_span(&headers, "p", "unread").set_completion(ReplyCompletion::Unread);
        tracer.start_span(&headers, "p", "failed").set_completion(ReplyCompletion::Failed);
    })
    .await;
    let summaries: Vec<_> = spans
        .iter()
        .map(|span| {
            let error = attribute(span, "error.type").map(|value| &value["stringValue"]);
            (span["name"].as_str(), span["status"]["code"].as_u64(), error.and_then(Value::as_str))
        })
        .collect();
    assert_eq!(
        summaries,
        [
            (Some("chat gone"), None, None),
            (Some("chat refused"), Some(2), Some("429")),
            (Some("chat cut"), Some(2), Some("cut_off")),
            (Some("chat unread"), Some(2), Some("unreadable")),
            (Some("chat failed"), Some(2), Some("provider_error")),
        ]
    );
}

#[tokio::test]
async fn an_unsampled_trace_is_passed_on_without_a_span() {
    let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let spans = collected(|tracer| {
        let span = tracer.start_span(&with_parent(unsampled), "p", "m");
        assert_eq!(span.traceparent().as_deref(), Some(unsampled));
    })
    .await;
    assert_eq!(spans, [] as [Value; 0]);
}

#[test]
fn without_a_collector_the_trace_is_passed_on_without_a_span() {
    let tracer = ChatTracer::disabled();
    assert_eq!(
        tracer.start_span(&with_parent(PARENT), "p", "m").traceparent().as_deref(),
        Some(PARENT)
    );
    assert_eq!(tracer.start_span(&with_parent("nonsense"), "p", "m").traceparent(), None);
    assert_eq!(tracer.start_span(&HeaderMap::new(), "p", "m").traceparent(), None);
}

#[tokio::test]
async fn dropped_spans_are_counted() {
    let metrics = Metrics::new();
    let tracer =
        ChatTracer::with_sender(metrics.clone(), SpanContent::Omitted, |_| async { Err(()) });
    for _ in 0..export::MAX_QUEUED_SPANS + 5 {
        drop(tracer.start_span(&HeaderMap::new(), "p", "m"));
    }
    tracer.drain().await;
    drop(tracer.start_span(&HeaderMap::new(), "p", "m"));
    let dropped = export::MAX_QUEUED_SPANS + 6;
    let line = format!(r#"foxwedge_dropped_total{{what="spans"}} {dropped}"#);
    assert!(metrics.render().lines().any(|other| other == line), "{}", metrics.render());
}
