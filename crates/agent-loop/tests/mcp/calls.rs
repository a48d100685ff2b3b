//! Calls that succeed, fail, are stopped or dropped.

use std::time::Duration;

use foxwedge_agent_loop::mcp::McpEnvironment;
use foxwedge_tools::{OutputCapture, StopLevel, StopReceiver, StopSender, ToolEffect};
use serde_json::{Value, json};

use crate::support::{
    call, call_with, connect, connected, describe, server, start_call, tool, wait_for_output,
};

#[tokio::test]
async fn tools_are_listed_and_called() {
    let fake = connected("").await;
    assert_eq!(fake.tools().len(), crate::fake::tools().len());
    assert_eq!(fake.notes(), [""; 0]);
    let echo = tool(&fake, "echo");
    let about = echo.spec();
    assert_eq!((about.description.as_ref(), about.effect), ("does echo", ToolEffect::Reads));
    assert_eq!(tool(&fake, "fail").spec().effect, ToolEffect::Writes);
    let odd =
        json!({"text": "a\nb\u{1}é", "more": [1, {"x": null}], "big": 12345678901234567890_u64});
    let table = [
        ("echo", odd.clone(), format!("Done: {odd}")),
        ("echo", json!({}), "Done: {}".to_owned()),
        ("fail", json!({}), "Failed: it did not work".to_owned()),
        ("refuse", json!({}), "Failed: no such number".to_owned()),
        ("structured", json!({}), r#"Done: {"a":[1]}"#.to_owned()),
        (
            "picture",
            json!({}),
            concat!(
                r#"Done: [{"text":"a picture","type":"text"},"#,
                r#"{"source":{"data":"AAAA","media_type":"image/png","type":"base64"},"type":"image"},"#,
                r#"{"text":"[content of kind `hologram`, not shown]","type":"text"}]"#
            )
            .to_owned(),
        ),
    ];
    for (name, input, expected) in table {
        assert_eq!(describe(&call(&fake, name, input).await), expected, "{name}");
    }
    fake.close().await;
}

#[tokio::test]
async fn a_read_only_hint_of_an_untrusted_server_is_ignored() {
    let mut server = server("");
    server.trust_read_only = false;
    server.allow = Some(vec!["echo".to_owned()]);
    let fake = connect(&server, &McpEnvironment::default()).await.unwrap();
    assert_eq!(fake.tools().len(), 1);
    assert_eq!(tool(&fake, "echo").spec().effect, ToolEffect::Writes);
}

#[tokio::test]
async fn progress_arrives_in_order() {
    let fake = connected("").await;
    let output = OutputCapture::new(10_000);
    let result =
        call_with(&tool(&fake, "steps"), json!({}), StopReceiver::never(), output.clone()).await;
    assert_eq!(describe(&result), "Done: all steps");
    assert_eq!(output.capture().text, "1/3 step\n2/3 step\n3/3 step\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_run_in_parallel() {
    let fake = connected("").await;
    let (slow, interrupt, output) = start_call(&fake, "slow", json!({}));
    wait_for_output(&output, "begun").await;
    let calls: Vec<_> = (0..50).map(|n| start_call(&fake, "echo", json!({ "n": n })).0).collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(describe(&call.await.unwrap()), format!(r#"Done: {{"n":{n}}}"#));
    }
    interrupt.raise(StopLevel::Graceful);
    assert_eq!(
        describe(&slow.await.unwrap()),
        "Stopped: the call was stopped before a result arrived"
    );
}

/// The cancellations that the server received.
async fn stopped(fake: &foxwedge_agent_loop::mcp::McpConnection) -> Vec<Value> {
    for _ in 0..500 {
        let result = describe(&call(fake, "stopped", json!({})).await);
        let all: Vec<Value> = serde_json::from_str(result.strip_prefix("Done: ").unwrap()).unwrap();
        if !all.is_empty() {
            return all;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the server received no cancellation");
}

#[tokio::test]
async fn a_stopped_call_is_cancelled_at_the_server() {
    let fake = connected("").await;
    let (slow, interrupt, output) = start_call(&fake, "slow", json!({}));
    wait_for_output(&output, "begun").await;
    interrupt.raise(StopLevel::Graceful);
    assert_eq!(
        describe(&slow.await.unwrap()),
        "Stopped: the call was stopped before a result arrived"
    );
    assert_eq!(stopped(&fake).await[0]["reason"], "the client stopped the call");
}

#[tokio::test]
async fn a_late_result_of_a_stopped_call_counts() {
    let fake = connected("").await;
    let (late, interrupt, output) = start_call(&fake, "late", json!({}));
    wait_for_output(&output, "begun").await;
    interrupt.raise(StopLevel::Graceful);
    assert_eq!(describe(&late.await.unwrap()), "Done: finished all the same");
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let fake = connected("").await;
    let (slow, _interrupt, output) = start_call(&fake, "slow", json!({}));
    wait_for_output(&output, "begun").await;
    slow.abort();
    assert_eq!(stopped(&fake).await[0]["reason"], "the client no longer waits for the result");
    assert_eq!(describe(&call(&fake, "echo", json!({})).await), "Done: {}");
}

#[tokio::test]
async fn a_call_stopped_before_its_start_is_not_sent() {
    let fake = connected("").await;
    let interrupt = StopSender::new();
    interrupt.raise(StopLevel::Kill);
    let result =
        call_with(&tool(&fake, "die"), json!({}), interrupt.receiver(), OutputCapture::new(10))
            .await;
    assert_eq!(describe(&result), "Stopped: the call was stopped before it started");
    assert_eq!(describe(&call(&fake, "echo", json!({})).await), "Done: {}");
}

#[tokio::test]
async fn requests_from_the_server_get_responses() {
    let root = std::env::temp_dir().join("a b");
    let environment = McpEnvironment { root: Some(root.clone()), ..McpEnvironment::default() };
    let fake = connect(&server(""), &environment).await.unwrap();
    let result = describe(&call(&fake, "ask", json!({})).await);
    let uri = format!("file://{}", root.display()).replace(' ', "%20");
    let expected = [
        "Done: elicitation/create \"asking a person is not supported here\"".to_owned(),
        "nobody/knows \"nobody/knows\"".to_owned(),
        "ping {}".to_owned(),
        format!(r#"roots/list {{"roots":[{{"uri":"{uri}"}}]}}"#),
        "sampling/createMessage \"asking a model is not supported here\"".to_owned(),
    ];
    assert_eq!(result, expected.join("\n"));
}

#[tokio::test]
async fn a_server_sees_its_variables_and_no_other_keys() {
    let fake = connected("").await;
    let result = describe(&call(&fake, "variables", json!({})).await);
    let names: Vec<&str> = result.strip_prefix("Done: ").unwrap().split(' ').collect();
    for name in ["PATH", "CANARY_KEY"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    // Cargo sets this for tests; it is not on our list.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"), "{names:?}");
}
