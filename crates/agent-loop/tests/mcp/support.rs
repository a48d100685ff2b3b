//! What the tests share.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::mcp::{
    self, McpConnection, McpEnvironment, McpError, McpServer, McpTransport,
};
use foxwedge_tools::{
    OutputCapture, StopReceiver, StopSender, Tool, ToolCallResult, ToolInvocation,
    ToolResultContent,
};
use serde_json::Value;
use tokio::time::timeout;

/// Nothing here takes that long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A process of this very test, which is a server with a habit.
pub(crate) fn server(habit: &str) -> McpServer {
    let here = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let command = [&here, "fake::serve", "--exact", "--nocapture"].map(str::to_owned).to_vec();
    let env = vec![
        (crate::fake::HABIT.to_owned(), habit.to_owned()),
        ("CANARY_KEY".to_owned(), "canary-canary".to_owned()),
    ];
    McpServer::new("fake", McpTransport::Stdio { command, env, folder: None })
}

pub(crate) async fn connected(habit: &str) -> McpConnection {
    connected_to(&server(habit), &McpEnvironment::default()).await.unwrap()
}

pub(crate) async fn connected_to(
    server: &McpServer,
    around: &McpEnvironment,
) -> Result<McpConnection, McpError> {
    timeout(LONG, mcp::connect(server, around)).await.expect("it hangs")
}

/// A tool by the name that the server gave it.
pub(crate) fn tool(connected: &McpConnection, name: &str) -> Arc<dyn Tool> {
    let full = format!("mcp__{}__{name}", connected.name());
    let found = connected.tools().into_iter().find(|tool| tool.spec().name == full);
    found.unwrap_or_else(|| panic!("no tool {full}"))
}

pub(crate) async fn call(connected: &McpConnection, name: &str, input: Value) -> ToolCallResult {
    call_with(&tool(connected, name), input, StopReceiver::never(), OutputCapture::new(10_000))
        .await
}

pub(crate) async fn call_with(
    tool: &Arc<dyn Tool>,
    input: Value,
    stop: StopReceiver,
    output: OutputCapture,
) -> ToolCallResult {
    let work = ToolInvocation { call_id: "call", input: &input, stop, output };
    timeout(LONG, tool.run(work)).await.expect("it hangs")
}

/// A call in a task of its own, with what stops it and what it says.
pub(crate) fn begin(
    connected: &McpConnection,
    name: &str,
    input: Value,
) -> (tokio::task::JoinHandle<ToolCallResult>, StopSender, OutputCapture) {
    let (interrupt, output) = (StopSender::new(), OutputCapture::new(10_000));
    let (tool, stop, said) = (tool(connected, name), interrupt.receiver(), output.clone());
    let running = tokio::spawn(async move { call_with(&tool, input, stop, said).await });
    (running, interrupt, output)
}

/// How it went, and the text.
pub(crate) fn told(answer: &ToolCallResult) -> String {
    match &answer.content {
        ToolResultContent::Text(text) => format!("{:?}: {text}", answer.completion),
        ToolResultContent::Blocks(blocks) => {
            format!("{:?}: {}", answer.completion, Value::Array(blocks.clone()))
        }
    }
}

/// Waits until something was said that holds a text.
pub(crate) async fn heard(output: &OutputCapture, text: &str) {
    let hearing = async {
        while !output.capture().text.contains(text) {
            output.wait_for_output().await;
        }
    };
    timeout(LONG, hearing).await.unwrap_or_else(|_| panic!("nobody says {text}"));
}

/// Whether a process is there and is no corpse.
pub(crate) fn lives(number: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = state.rsplit(')').next().map(str::trim_start).unwrap_or_default().to_owned();
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

/// Waits until a process is no more.
pub(crate) async fn dies(number: &str) {
    for _ in 0..1_000 {
        if !lives(number) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("process {number} lives on");
}
