//! Servers that misbehave. Nothing hangs, panics or uses unbounded memory.

use std::time::Duration;

use foxwedge_agent_loop::mcp::{McpEnvironment, McpError, McpServer, McpTransport};
use foxwedge_tools::{OutputCapture, StopLevel, ToolResultContent};
use serde_json::json;

use crate::support::{call, connect, connected, describe, server, start_call, tool};

fn start_within(seconds: u64) -> McpEnvironment {
    McpEnvironment { start_timeout: Duration::from_secs(seconds), ..McpEnvironment::default() }
}

#[tokio::test]
async fn a_failed_start_is_reported() {
    let table = [
        (
            "mute",
            "MCP server `fake` did not get ready within 5 s; stderr: I say nothing with [secret]",
        ),
        ("hangs-listing", "MCP server `fake` did not get ready within 5 s"),
        ("flood", "MCP server `fake` is gone: it writes text that is not a message"),
        ("endless", "MCP server `fake` is gone: it writes a line without an end"),
        ("endless-message", "MCP server `fake` is gone: it writes a line without an end"),
        (
            "dies",
            "MCP server `fake` is gone: it ended with exit status: 7; stderr: no licence for [secret]",
        ),
        ("refuses", "MCP server `fake` cannot be used: not today"),
        (
            "wrong-ids",
            "MCP server `fake` cannot be used: it responds to a request that was not sent",
        ),
        (
            "no-answer",
            "MCP server `fake` cannot be used: its response to `initialize` is not that of an MCP server",
        ),
        ("bad-list", "MCP server `fake` cannot be used: its list of tools cannot be read"),
    ];
    for (habit, expected) in table {
        let start = if expected.contains("within 5 s") { 5 } else { 60 };
        let error = connect(&server(habit), &start_within(start)).await.expect_err(habit);
        assert_eq!(error.to_string(), expected, "{habit}");
    }
}

#[tokio::test]
async fn a_missing_program_is_reported() {
    let transport = McpTransport::Stdio {
        command: vec!["/nowhere/server".to_owned()],
        env: Vec::new(),
        folder: None,
    };
    let error = connect(&McpServer::new("gone", transport), &start_within(60))
        .await
        .expect_err("missing program");
    assert!(matches!(error, McpError::Start { .. }), "{error}");
    assert!(error.to_string().contains("`/nowhere/server`"), "{error}");
}

#[tokio::test]
async fn invalid_tool_lists_are_cut_with_a_note() {
    let table = [
        ("many", 512, "9488 more tools are left out: it has too many"),
        ("forever", 101, "its list has more than 100 pages"),
        ("circle", 2, "its tool list repeats a page"),
        ("pages", 4, ""),
        ("twins", 1, "a second tool `a` is left out"),
        (
            "bad-schemas",
            1,
            concat!(
                "tool `number` is left out: its schema is not an object\n",
                "tool `none` is left out: it has no schema\n",
                "tool `list` is left out: its schema is not an object\n",
                "a tool without a name is left out\na tool without a name is left out"
            ),
        ),
        ("no-list", 0, "it has no tools"),
    ];
    for (habit, tools, notes) in table {
        let fake = connected(habit).await;
        assert_eq!(
            (fake.tools().len(), fake.notes().join("\n").as_str()),
            (tools, notes),
            "{habit}"
        );
    }
}

#[tokio::test]
async fn the_newest_handshake_is_supported() {
    let fake = connected("modern").await;
    assert_eq!(describe(&call(&fake, "echo", json!({"a": 1})).await), r#"Done: {"a":1}"#);
}

#[tokio::test]
async fn unreadable_responses_fail_the_call_and_keep_the_server() {
    let fake = connected("").await;
    let torn = describe(&call(&fake, "torn", json!({})).await);
    assert!(torn.starts_with("Failed: its response cannot be read: recursion limit"), "{torn}");
    let strange = describe(&call(&fake, "strange", json!({})).await);
    assert_eq!(strange, "Done: (no output)");
    let huge = describe(&call(&fake, "huge", json!({"size": 17 << 20})).await);
    assert_eq!(huge, "Failed: its response has more than 16777216 bytes");
    assert_eq!(describe(&call(&fake, "echo", json!({})).await), "Done: {}");
}

#[tokio::test]
async fn a_long_result_is_truncated() {
    let environment = McpEnvironment { max_result_text: 1_000, ..McpEnvironment::default() };
    let fake = connect(&server(""), &environment).await.unwrap();
    let ToolResultContent::Text(text) = call(&fake, "huge", json!({"size": 1 << 20})).await.content
    else {
        panic!("no text");
    };
    assert!(text.contains("[… 1047576 bytes left out …]") && text.len() < 1_100, "{text}");
}

#[tokio::test]
async fn a_response_with_an_unknown_id_is_ignored() {
    let fake = connected("").await;
    let (wrong, interrupt, _) = start_call(&fake, "wrong", json!({}));
    assert_eq!(describe(&call(&fake, "echo", json!({})).await), "Done: {}");
    assert!(!wrong.is_finished());
    interrupt.raise(StopLevel::Graceful);
    assert_eq!(
        describe(&wrong.await.unwrap()),
        "Stopped: the call was stopped before a result arrived"
    );
}

#[tokio::test]
async fn a_server_that_does_not_read_is_killed_at_the_limit() {
    let environment = McpEnvironment { max_unread_input: 4 << 20, ..McpEnvironment::default() };
    let fake = connect(&server("deaf"), &environment).await.unwrap();
    let echo = tool(&fake, "echo");
    let text = "x".repeat(1 << 19);
    let calls: Vec<_> = (0..9)
        .map(|_| {
            let (echo, input) = (echo.clone(), json!({ "text": text }));
            tokio::spawn(async move {
                let stop = foxwedge_tools::StopReceiver::never();
                crate::support::call_with(&echo, input, stop, OutputCapture::new(10)).await
            })
        })
        .collect();
    for call in calls {
        let result = describe(&call.await.unwrap());
        assert_eq!(result, "Failed: the MCP server `fake` is gone: it does not read its input");
    }
}
