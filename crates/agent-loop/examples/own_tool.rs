//! An agent with a tool of its own: the model calls it, and every step is stored.
//!
//! ```sh
//! cargo run -p foxwedge-agent-loop --example own_tool
//! ```

use std::{error::Error, sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{ApproveAll, LoopSetup, SilentObserver, ToolLoop};
use foxwedge_store::{AnyStore, StoreUrl};
use foxwedge_tools::{
    Tool, ToolCallResult, ToolEffect, ToolFuture, ToolInvocation, ToolSpec, Toolbox,
};
use foxwedge_upstream::model::ModelEndpoint;
use serde_json::json;

/// Knows when high water is.
struct TideTable(ToolSpec);

impl Tool for TideTable {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        Box::pin(async move {
            match invocation.input["port"].as_str() {
                Some(port) => ToolCallResult::done(format!("high water in {port} is at 07:30")),
                None => ToolCallResult::failed("`port` is missing"),
            }
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let spec = ToolSpec {
        name: "tides".into(),
        description: "Says when high water is in a port.".into(),
        schema: json!({"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}),
        effect: ToolEffect::Reads,
        limit: Duration::from_secs(10),
    };
    let mut tools = Toolbox::new();
    tools.add(Arc::new(TideTable(spec)))?;
    let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await?);
    // `ModelEndpoint::anthropic(key, model)` and others reach a provider.
    let model = Arc::new(ModelEndpoint::scripted("scripted"));
    let setup = LoopSetup::new("tides");
    let mut agent = ToolLoop::open(store, setup, model, tools, Arc::new(ApproveAll)).await?;
    let prompt = r#"call tides with {"port": "Husum"}"#;
    let finished = agent.prompt(prompt, &mut SilentObserver).await?;
    println!("{:?}: {}", finished.ended.outcome, finished.ended.text.unwrap_or_default());
    assert_eq!(finished.summary.calls, 1);
    Ok(())
}
