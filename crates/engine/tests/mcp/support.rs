//! What the tests share.

use std::{sync::Arc, time::Duration};

use foxwedge_engine::mcp::{self, Connected, How, McpError, Server, Surroundings};
use foxwedge_tools::{Answer, Content, Interrupt, Output, Stop, Tool, Work};
use serde_json::Value;
use tokio::time::timeout;

/// Nothing here takes that long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A process of this very test, which is a server with a habit.
pub(crate) fn server(habit: &str) -> Server {
    let here = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let command = [&here, "fake::serve", "--exact", "--nocapture"].map(str::to_owned).to_vec();
    let env = vec![
        (crate::fake::HABIT.to_owned(), habit.to_owned()),
        ("CANARY_KEY".to_owned(), "canary-canary".to_owned()),
    ];
    Server::new("fake", How::Stdio { command, env, folder: None })
}

pub(crate) async fn connected(habit: &str) -> Connected {
    connected_to(&server(habit), &Surroundings::default()).await.unwrap()
}

pub(crate) async fn connected_to(
    server: &Server,
    around: &Surroundings,
) -> Result<Connected, McpError> {
    timeout(LONG, mcp::connect(server, around)).await.expect("it hangs")
}

/// A tool by the name that the server gave it.
pub(crate) fn tool(connected: &Connected, name: &str) -> Arc<dyn Tool> {
    let full = format!("mcp__{}__{name}", connected.name());
    let found = connected.tools().into_iter().find(|tool| tool.about().name == full);
    found.unwrap_or_else(|| panic!("no tool {full}"))
}

pub(crate) async fn call(connected: &Connected, name: &str, input: Value) -> Answer {
    call_with(&tool(connected, name), input, Stop::never(), Output::new(10_000)).await
}

pub(crate) async fn call_with(
    tool: &Arc<dyn Tool>,
    input: Value,
    stop: Stop,
    output: Output,
) -> Answer {
    let work = Work { call: "call", input: &input, stop, output };
    timeout(LONG, tool.run(work)).await.expect("it hangs")
}

/// A call in a task of its own, with what stops it and what it says.
pub(crate) fn begin(
    connected: &Connected,
    name: &str,
    input: Value,
) -> (tokio::task::JoinHandle<Answer>, Interrupt, Output) {
    let (interrupt, output) = (Interrupt::new(), Output::new(10_000));
    let (tool, stop, said) = (tool(connected, name), interrupt.stop(), output.clone());
    let running = tokio::spawn(async move { call_with(&tool, input, stop, said).await });
    (running, interrupt, output)
}

/// How it went, and the text.
pub(crate) fn told(answer: &Answer) -> String {
    match &answer.content {
        Content::Text(text) => format!("{:?}: {text}", answer.how),
        Content::Blocks(blocks) => format!("{:?}: {}", answer.how, Value::Array(blocks.clone())),
    }
}

/// Waits until something was said that holds a text.
pub(crate) async fn heard(output: &Output, text: &str) {
    let hearing = async {
        while !output.captured().text.contains(text) {
            output.news().await;
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
