use foxwedge_dialect::canon::{self, Stop};
use serde_json::{Value, json};

use super::*;
use crate::{Noted, record::Ended};

/// What a collector gets from what is done with a tracer.
async fn collected(work: impl FnOnce(&Tracer)) -> Vec<Value> {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = bodies.clone();
    let tracer = Tracer::over(Meter::new(), move |body: Bytes| {
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        kept.lock().expect("nobody panicked").push(body);
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
    attributes.iter().find(|one| one["key"] == key).map(|one| &one["value"])
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn a_span_says_who_was_asked_and_what_it_cost() {
    let spans = collected(|tracer| {
        let mut span = tracer.chat(&with_parent(PARENT), "anthropic", "claude");
        let header = span.header().expect("a trace");
        assert!(header.starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{header}");
        assert!(!header.contains("b7ad6b7169203331"), "{header}");
        span.of("s1", "r1");
        span.repaired(&[Noted { code: 101, strategy: "insert-answer", count: 2 }]);
        let mut reply = canon::Reply { stop: Some(Stop::Calls), ..canon::Reply::default() };
        reply.usage.input = Some(7);
        span.told(&reply);
        span.ended(Ended::Replied);
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
async fn a_client_that_goes_away_is_no_error_and_a_failure_is() {
    let spans = collected(|tracer| {
        let headers = HeaderMap::new();
        drop(tracer.chat(&headers, "p", "gone"));
        tracer.chat(&headers, "p", "refused").failed(429);
        tracer.chat(&headers, "p", "cut").ended(Ended::Cut);
        tracer.chat(&headers, "p", "failed").ended(Ended::Failed);
    })
    .await;
    let told: Vec<_> = spans
        .iter()
        .map(|span| {
            let error = attribute(span, "error.type").map(|value| &value["stringValue"]);
            (span["name"].as_str(), span["status"]["code"].as_u64(), error.and_then(Value::as_str))
        })
        .collect();
    assert_eq!(
        told,
        [
            (Some("chat gone"), None, None),
            (Some("chat refused"), Some(2), Some("429")),
            (Some("chat cut"), Some(2), Some("cut_off")),
            (Some("chat failed"), Some(2), Some("provider_error")),
        ]
    );
}

#[tokio::test]
async fn a_trace_that_nobody_wants_to_see_goes_on_without_a_span() {
    let unsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
    let spans = collected(|tracer| {
        let span = tracer.chat(&with_parent(unsampled), "p", "m");
        assert_eq!(span.header().as_deref(), Some(unsampled));
    })
    .await;
    assert_eq!(spans, [] as [Value; 0]);
}

#[test]
fn without_a_collector_nothing_is_made_and_a_trace_goes_on() {
    let tracer = Tracer::off();
    assert_eq!(tracer.chat(&with_parent(PARENT), "p", "m").header().as_deref(), Some(PARENT));
    assert_eq!(tracer.chat(&with_parent("nonsense"), "p", "m").header(), None);
    assert_eq!(tracer.chat(&HeaderMap::new(), "p", "m").header(), None);
}

#[tokio::test]
async fn spans_that_cannot_be_kept_or_sent_are_counted() {
    let meter = Meter::new();
    let tracer = Tracer::over(meter.clone(), |_| async { Err(()) });
    for _ in 0..export::MOST + 5 {
        drop(tracer.chat(&HeaderMap::new(), "p", "m"));
    }
    tracer.drain().await;
    drop(tracer.chat(&HeaderMap::new(), "p", "m"));
    let lost = export::MOST + 6;
    let line = format!(r#"foxwedge_dropped_total{{what="spans"}} {lost}"#);
    assert!(meter.render().lines().any(|one| one == line), "{}", meter.render());
}
