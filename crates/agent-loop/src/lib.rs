//! The tool loop: sends a conversation to a model, runs the tools that it calls, and stores every
//! step as a run. MCP servers are tools of the loop.
//!
//! ```
//! use std::sync::Arc;
//!
//! use foxwedge_agent_loop::tool_loop::{ApproveAll, LoopSetup, SilentObserver, ToolLoop};
//! use foxwedge_store::{AnyStore, StoreUrl};
//! use foxwedge_tools::Toolbox;
//! use foxwedge_upstream::model::ModelEndpoint;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Arc::new(AnyStore::open(&StoreUrl::Memory).await?);
//! let model = Arc::new(ModelEndpoint::scripted("scripted"));
//! let setup = LoopSetup::new("s1");
//! let mut agent = ToolLoop::open(store, setup, model, Toolbox::new(), Arc::new(ApproveAll)).await?;
//! let finished = agent.prompt("hello", &mut SilentObserver).await?;
//! assert_eq!(finished.ended.text.as_deref(), Some("You said: hello"));
//! # Ok(())
//! # }
//! ```

mod batch;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod tool_loop;

pub use batch::take_ready;

/// The example in the manual, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/chat/library.md")]
struct Manual;
