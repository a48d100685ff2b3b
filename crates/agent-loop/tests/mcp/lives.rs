//! Death and new lives: nothing is left behind, and whoever died begins again.

use foxwedge_agent_loop::mcp::McpConnection;
use serde_json::json;

use crate::support::{begin, call, connected, dies, heard, lives, told, tool};

/// The numbers of the server and of a process that it started.
async fn numbers(fake: &McpConnection) -> Vec<String> {
    let answer = told(&call(fake, "child", json!({})).await);
    answer.strip_prefix("Done: ").unwrap().split(' ').map(str::to_owned).collect()
}

#[tokio::test]
async fn a_server_that_dies_fails_its_calls_and_begins_again() {
    let fake = connected("").await;
    let (slow, _interrupt, output) = begin(&fake, "slow", json!({}));
    heard(&output, "begun").await;
    let expected = concat!(
        "Failed: the MCP server `fake` is gone: it ended with exit status: 3; ",
        "it said: my last words, with [secret]"
    );
    assert_eq!(told(&call(&fake, "die", json!({})).await), expected);
    assert_eq!(told(&slow.await.unwrap()), expected);
    assert_eq!(told(&call(&fake, "echo", json!({"n": 1})).await), r#"Done: {"n":1}"#);
    assert!(fake.has_changed_tools(), "its tools may be others now");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_killed_begins_again_once_for_all_that_ask() {
    let fake = connected("").await;
    let old = numbers(&fake).await;
    let (slow, _interrupt, output) = begin(&fake, "slow", json!({}));
    heard(&output, "begun").await;
    let status = std::process::Command::new("kill").args(["-9", &old[0]]).status().unwrap();
    assert!(status.success());
    let told_last = told(&slow.await.unwrap());
    assert!(
        told_last.starts_with("Failed: the MCP server `fake` is gone: it ended with signal: 9")
    );
    dies(&old[1]).await;
    let calls: Vec<_> = (0..4).map(|_| begin(&fake, "child", json!({})).0).collect();
    let mut servers = Vec::new();
    for call in calls {
        let told = told(&call.await.unwrap());
        let numbers = told.strip_prefix("Done: ").unwrap_or_else(|| panic!("{told}"));
        servers.push(numbers.split(' ').next().unwrap().to_owned());
    }
    servers.dedup();
    assert_eq!(servers.len(), 1, "one server for all: {servers:?}");
}

#[tokio::test]
async fn a_server_that_cannot_begin_again_is_told_every_time() {
    let folder = std::env::temp_dir().join(format!("foxwedge-mcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut server = crate::support::server("");
    let foxwedge_agent_loop::mcp::McpTransport::Stdio { folder: works, .. } = &mut server.transport
    else {
        unreachable!("a process");
    };
    *works = Some(folder.clone());
    let fake = crate::support::connected_to(&server, &Default::default()).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    call(&fake, "die", json!({})).await;
    for _ in 0..2 {
        let told = told(&call(&fake, "echo", json!({})).await);
        assert!(told.starts_with("Failed: MCP server `fake` cannot be started"), "{told}");
    }
}

#[tokio::test]
async fn closing_ends_everything() {
    let fake = connected("").await;
    let numbers = numbers(&fake).await;
    assert!(numbers.iter().all(|number| lives(number)));
    let echo = tool(&fake, "echo");
    fake.close().await;
    for number in &numbers {
        dies(number).await;
    }
    let stop = foxwedge_tools::StopReceiver::never();
    let output = foxwedge_tools::OutputCapture::new(10);
    let answer = crate::support::call_with(&echo, json!({}), stop, output).await;
    assert_eq!(told(&answer), "Failed: MCP server `fake` was closed");
}

#[tokio::test]
async fn dropping_kills_everything_also_under_a_call() {
    let fake = connected("").await;
    let numbers = numbers(&fake).await;
    let (slow, _interrupt, output) = begin(&fake, "slow", json!({}));
    heard(&output, "begun").await;
    drop(fake);
    for number in &numbers {
        dies(number).await;
    }
    let told = told(&slow.await.unwrap());
    assert!(told.starts_with("Failed: the MCP server `fake` is gone"), "{told}");
}

#[test]
fn dropping_kills_everything_without_a_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (fake, numbers) = runtime.block_on(async {
        let fake = connected("").await;
        let numbers = numbers(&fake).await;
        (fake, numbers)
    });
    drop(runtime);
    drop(fake);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for number in &numbers {
        runtime.block_on(dies(number));
    }
}

#[tokio::test]
async fn a_new_list_of_tools_is_noticed() {
    let fake = connected("").await;
    let before = fake.tools().len();
    assert!(!fake.has_changed_tools());
    call(&fake, "grow", json!({})).await;
    assert!(fake.has_changed_tools());
    assert_eq!(fake.tools().len(), before, "nothing changes by itself");
    fake.refresh().await.unwrap();
    assert!(!fake.has_changed_tools());
    assert_eq!(fake.tools().len(), before + 1);
    assert_eq!(tool(&fake, "new0").spec().name, "mcp__fake__new0");
}
