//! Exits and restarts: no process is left behind, and a server that died is restarted.

use foxwedge_agent_loop::mcp::McpConnection;
use serde_json::json;

use crate::support::{
    call, connected, describe, is_alive, start_call, tool, wait_for_exit, wait_for_output,
};

/// The process ids of the server and of a process that it started.
async fn process_ids(fake: &McpConnection) -> Vec<String> {
    let result = describe(&call(fake, "child", json!({})).await);
    result.strip_prefix("Done: ").unwrap().split(' ').map(str::to_owned).collect()
}

#[tokio::test]
async fn a_server_that_dies_fails_its_calls_and_is_restarted() {
    let fake = connected("").await;
    let (slow, _interrupt, output) = start_call(&fake, "slow", json!({}));
    wait_for_output(&output, "begun").await;
    let expected = concat!(
        "Failed: the MCP server `fake` is gone: it ended with exit status: 3; ",
        "stderr: my last words, with [secret]"
    );
    assert_eq!(describe(&call(&fake, "die", json!({})).await), expected);
    assert_eq!(describe(&slow.await.unwrap()), expected);
    assert_eq!(describe(&call(&fake, "echo", json!({"n": 1})).await), r#"Done: {"n":1}"#);
    assert!(fake.has_changed_tools(), "its tools may have changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_restarted_once_for_all_calls() {
    let fake = connected("").await;
    let old = process_ids(&fake).await;
    let (slow, _interrupt, output) = start_call(&fake, "slow", json!({}));
    wait_for_output(&output, "begun").await;
    let status = std::process::Command::new("kill").args(["-9", &old[0]]).status().unwrap();
    assert!(status.success());
    let last_result = describe(&slow.await.unwrap());
    assert!(
        last_result.starts_with("Failed: the MCP server `fake` is gone: it ended with signal: 9")
    );
    wait_for_exit(&old[1]).await;
    let calls: Vec<_> = (0..4).map(|_| start_call(&fake, "child", json!({})).0).collect();
    let mut servers = Vec::new();
    for call in calls {
        let result = describe(&call.await.unwrap());
        let process_ids = result.strip_prefix("Done: ").unwrap_or_else(|| panic!("{result}"));
        servers.push(process_ids.split(' ').next().unwrap().to_owned());
    }
    servers.dedup();
    assert_eq!(servers.len(), 1, "one server for all: {servers:?}");
}

#[tokio::test]
async fn a_failed_restart_fails_every_call() {
    let folder = std::env::temp_dir().join(format!("foxwedge-mcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut server = crate::support::server("");
    let foxwedge_agent_loop::mcp::McpTransport::Stdio { folder: working_folder, .. } =
        &mut server.transport
    else {
        unreachable!("a process");
    };
    *working_folder = Some(folder.clone());
    let fake = crate::support::connect(&server, &Default::default()).await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    call(&fake, "die", json!({})).await;
    for _ in 0..2 {
        let result = describe(&call(&fake, "echo", json!({})).await);
        assert!(result.starts_with("Failed: MCP server `fake` cannot be started"), "{result}");
    }
}

#[tokio::test]
async fn closing_ends_all_processes() {
    let fake = connected("").await;
    let process_ids = process_ids(&fake).await;
    assert!(process_ids.iter().all(|process_id| is_alive(process_id)));
    let echo = tool(&fake, "echo");
    fake.close().await;
    for process_id in &process_ids {
        wait_for_exit(process_id).await;
    }
    let stop = foxwedge_tools::StopReceiver::never();
    let output = foxwedge_tools::OutputCapture::new(10);
    let result = crate::support::call_with(&echo, json!({}), stop, output).await;
    assert_eq!(describe(&result), "Failed: MCP server `fake` was closed");
}

#[tokio::test]
async fn dropping_kills_all_processes_during_a_call() {
    let fake = connected("").await;
    let process_ids = process_ids(&fake).await;
    let (slow, _interrupt, output) = start_call(&fake, "slow", json!({}));
    wait_for_output(&output, "begun").await;
    drop(fake);
    for process_id in &process_ids {
        wait_for_exit(process_id).await;
    }
    let result = describe(&slow.await.unwrap());
    assert!(result.starts_with("Failed: the MCP server `fake` is gone"), "{result}");
}

#[test]
fn dropping_kills_all_processes_without_a_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (fake, process_ids) = runtime.block_on(async {
        let fake = connected("").await;
        let process_ids = process_ids(&fake).await;
        (fake, process_ids)
    });
    drop(runtime);
    drop(fake);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for process_id in &process_ids {
        runtime.block_on(wait_for_exit(process_id));
    }
}

#[tokio::test]
async fn a_changed_tool_list_is_noticed() {
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
