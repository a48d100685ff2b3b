//! Helpers shared by the tests.

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

/// No test takes this long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A server process: this test program again, with a behavior of the fake server.
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
    connect(&server(habit), &McpEnvironment::default()).await.unwrap()
}

pub(crate) async fn connect(
    server: &McpServer,
    environment: &McpEnvironment,
) -> Result<McpConnection, McpError> {
    timeout(LONG, mcp::connect(server, environment)).await.expect("it hangs")
}

/// A tool by its name at the server.
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
    let invocation = ToolInvocation { call_id: "call", input: &input, stop, output };
    timeout(LONG, tool.run(invocation)).await.expect("it hangs")
}

/// Starts a call in its own task. Returns its task, its stop sender and its output.
pub(crate) fn start_call(
    connected: &McpConnection,
    name: &str,
    input: Value,
) -> (tokio::task::JoinHandle<ToolCallResult>, StopSender, OutputCapture) {
    let (interrupt, output) = (StopSender::new(), OutputCapture::new(10_000));
    let (tool, stop, capture) = (tool(connected, name), interrupt.receiver(), output.clone());
    let running = tokio::spawn(async move { call_with(&tool, input, stop, capture).await });
    (running, interrupt, output)
}

/// Completion and text of a tool result.
pub(crate) fn describe(result: &ToolCallResult) -> String {
    match &result.content {
        ToolResultContent::Text(text) => format!("{:?}: {text}", result.completion),
        ToolResultContent::Blocks(blocks) => {
            format!("{:?}: {}", result.completion, Value::Array(blocks.clone()))
        }
    }
}

/// Waits until the output contains a text.
pub(crate) async fn wait_for_output(output: &OutputCapture, text: &str) {
    let wait = async {
        while !output.capture().text.contains(text) {
            output.wait_for_output().await;
        }
    };
    timeout(LONG, wait).await.unwrap_or_else(|_| panic!("the output never contains {text}"));
}

/// Whether a process runs and is not a zombie.
pub(crate) fn is_alive(number: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = state.rsplit(')').next().map(str::trim_start).unwrap_or_default().to_owned();
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

/// Waits until a process has ended.
pub(crate) async fn wait_for_exit(number: &str) {
    for _ in 0..1_000 {
        if !is_alive(number) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("process {number} is still running");
}
