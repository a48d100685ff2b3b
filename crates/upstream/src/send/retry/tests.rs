use foxwedge_core::Format;
use foxwedge_testkit::EventRecorder;

use super::*;
use crate::{
    UpstreamTransport, builtin_upstream,
    http::HttpSettings,
    send::{RetryPolicy, UpstreamOperation},
};

/// Repairs a refused request by replacing it.
struct ReplacingObserver(&'static str);

impl AttemptObserver for ReplacingObserver {
    fn attempt_finished(&mut self, _: Option<StatusCode>) {}

    fn request_refused(&mut self, _: RejectionClass) {}

    fn repair_request(&mut self, _: &Bytes, _: &str, _: &ErrorExplanation<'_>) -> Option<Bytes> {
        Some(Bytes::from_static(self.0.as_bytes()))
    }

    fn retrying(&mut self, _: RetryCause<'_>) {}
}

/// The events of a request in the Chat format to the built-in model.
async fn events_of(transport: UpstreamTransport, sent: &'static str) -> Vec<String> {
    const VALID: &str = r#"{"model":"scripted","messages":[{"role":"user","content":"canary"}]}"#;
    let recorder = EventRecorder::default();
    let _guard = recorder.listen();
    let format = Format::OpenaiChat;
    let upstream = crate::UpstreamConfig { transport, ..builtin_upstream(format) };
    let mut headers = HeaderMap::new();
    headers.insert("x-canary", http::HeaderValue::from_static("canary"));
    let request = UpstreamRequest {
        upstream: &upstream,
        operation: UpstreamOperation::Generate,
        format,
        client_format: format,
        model: "canary",
        stream: false,
        headers: &headers,
        client_key: None,
        trace: None,
    };
    let client = HttpClient::new(HttpSettings::default());
    let plan = RetryPlan { policy: RetryPolicy::new(2), budget: None };
    let mut observer = ReplacingObserver(VALID);
    let body = Bytes::from_static(sent.as_bytes());
    // Only the events matter here.
    let _ = send_with_retry(&client, request, body, plan, &mut observer).await;
    let events = recorder.events();
    assert!(!events.concat().contains("canary"), "{events:?}");
    events
}

#[tokio::test(start_paused = true)]
async fn retries_repairs_and_unreachable_upstreams_are_events_without_content() {
    let failing =
        r#"{"model":"scripted?status=503","messages":[{"role":"user","content":"canary"}]}"#;
    let events = events_of(UpstreamTransport::Scripted, failing).await;
    let [event] = events.as_slice() else { panic!("{events:?}") };
    let expected = r#"DEBUG foxwedge::upstream message=request retried upstream="scripted" attempt=1 status=503 pause_ms="#;
    assert!(event.starts_with(expected), "{event}");
    let orphan = r#"{"model":"scripted","messages":[{"role":"user","content":"canary"},
        {"role":"tool","tool_call_id":"canary","content":"canary"}]}"#;
    assert_eq!(
        events_of(UpstreamTransport::Scripted, orphan).await,
        [
            r#"DEBUG foxwedge::upstream message=refused history repaired upstream="scripted" attempt=1 status=400 rule=FW102"#
        ]
    );
    assert_eq!(
        events_of(UpstreamTransport::Agent, orphan).await,
        [
            r#"DEBUG foxwedge::upstream message=upstream unreachable upstream="scripted" attempt=1 stage="address" kind="forbidden""#
        ]
    );
}
