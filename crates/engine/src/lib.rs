//! The gateway engine. It takes a request on any endpoint, checks and repairs it, finds its
//! session, sends it to an upstream and returns the reply, as bytes and as a run in the store.
//!
//! The I/O around the pure crates: it makes no decisions about conversations. A request takes one
//! path: [`GatewayRequest`] → guard → session → upstream → [`GatewayResponse`].

pub mod config;
mod secret;
mod batch;
mod endpoint;
mod gateway_request;
mod body;
mod api_error;
mod guard;
pub mod http;
mod upstream;
mod child;
mod agent;
pub mod session;
pub mod record;
pub mod metrics;
pub mod trace;
mod exchange;
pub mod model;
pub mod tool_loop;
#[cfg(feature = "mcp")]
pub mod mcp;

pub use agent::{AgentCounts, AgentQuestion};
pub use api_error::{ApiError, ApiErrorKind};
pub use batch::take_ready;
pub use body::{BodyError, GatewayBody};
pub use endpoint::GatewayEndpoint;
pub use exchange::{EngineError, GatewayEngine};
pub use foxwedge_agent::{PermissionDecision, PermissionKind};
pub use gateway_request::{
    AuthScheme, ClientKey, GatewayRequest, GatewayResponse, RequestCaller, RequestSummary,
};
pub use guard::{CountedList, FindingTally, GuardAction, GuardedRequest, RepairChange};
pub use secret::SecretText;

/// The example in the manual, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/chat/library.md")]
struct Manual;
