//! The `tracing` events of a request.

use foxwedge_gateway::config::GatewayLogFormat;
use foxwedge_testkit::EventRecorder;
use serde_json::Value;

use crate::{
    client::{post, send},
    server::{Server, TOKEN, config},
};

const CHAT: &str =
    r#"{"model":"scripted","messages":[{"role":"user","content":"canary-content"}]}"#;

/// The names of the fields of an event. No value in these tests has a space and a `=` in it.
fn names(event: &str) -> Vec<&str> {
    let fields = event.split(' ').filter_map(|part| part.split_once('='));
    fields.map(|(name, _)| name).collect()
}

#[tokio::test]
async fn a_request_is_an_event_with_the_fields_of_its_log_line() {
    let recorder = EventRecorder::default();
    let _guard = recorder.listen();
    let server = Server::start_default().await;
    let headers =
        format!("authorization: Bearer {TOKEN}\r\nx-canary: canary-header\r\nuser-agent: py/1\r\n");
    let answer = send(server.address, post("/v1/chat/completions", &headers, CHAT)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let refused = send(server.address, post("/v1/chat/completions", "", CHAT)).await;
    assert_eq!(refused.status, 401, "{}", refused.body);
    let (_, log) = server.end().await;
    let events = recorder.events();
    let [served, refused] = events.as_slice() else { panic!("{events:?}") };
    assert!(served.starts_with("INFO foxwedge::request message=request served"), "{served}");
    assert!(
        served.contains(r#" method="POST" path="/v1/chat/completions" status=200 "#),
        "{served}"
    );
    assert!(served.contains(r#" owner="ann" model="scripted" upstream="scripted" "#), "{served}");
    assert!(refused.starts_with("WARN foxwedge::request message=request served"), "{refused}");
    for (event, line) in events.iter().zip(log.lines()) {
        let line: Value = serde_json::from_str(line).expect("a line is an object");
        let line = line.as_object().expect("a line is an object");
        let mut expected: Vec<&str> = line.keys().map(String::as_str).collect();
        expected.retain(|name| !["time", "level"].contains(name));
        let mut found = names(event);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    assert!(!events.concat().contains("canary"), "{events:?}");
}

#[tokio::test]
async fn events_do_not_need_the_log() {
    let recorder = EventRecorder::default();
    let _guard = recorder.listen();
    let mut silent = config();
    silent.telemetry.log = GatewayLogFormat::Off;
    let server = Server::start(silent).await;
    let headers = format!("authorization: Bearer {TOKEN}\r\n");
    send(server.address, post("/v1/chat/completions", &headers, CHAT)).await;
    let (_, log) = server.end().await;
    assert_eq!((recorder.events().len(), log.as_str()), (1, ""));
}
