//! Calls a built-in tool in a folder that it cannot leave.
//!
//! ```sh
//! cargo run -p foxwedge-tools --example call_tool -- crates
//! ```

use std::{env, error::Error, path::PathBuf};

use foxwedge_tools::{
    OutputCapture, StopReceiver, ToolInvocation, ToolLimits, ToolResultContent, ToolWorkspace,
};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).map_or_else(env::temp_dir, PathBuf::from);
    let tools = ToolWorkspace::open(&folder)?.tools(ToolLimits::default());
    let list = tools.iter().find(|tool| tool.spec().name == "list").ok_or("no tool `list`")?;
    for path in [".", "../secret"] {
        let input = json!({ "path": path, "limit": 5 });
        let invocation = ToolInvocation {
            call_id: "call_1",
            input: &input,
            stop: StopReceiver::never(),
            output: OutputCapture::new(64 << 10),
        };
        let result = list.run(invocation).await;
        if let ToolResultContent::Text(text) = result.content {
            println!("{path}: {:?}\n{text}\n", result.completion);
        }
    }
    Ok(())
}
