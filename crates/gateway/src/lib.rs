//! The gateway: an HTTP server with everything that a request passes on its way to an upstream and
//! back.
//!
//! The path of a request: accept → access → request_body → routes → exchange (guard → session →
//! upstream, recorded as a run) → response_body.

mod accept;
mod access;
mod agent;
mod agent_presence;
mod api;
mod api_error;
mod api_request;
mod body;
mod caller_limit;
pub mod config;
mod console;
mod decisions;
mod endpoint;
mod error;
mod exchange;
mod gateway_request;
mod gateway_state;
mod guard;
mod landing_page;
mod log;
pub mod metrics;
mod models;
pub mod record;
mod request_body;
mod request_context;
mod request_id;
mod request_monitor;
mod response_body;
mod routes;
mod scripted;
mod serve;
pub mod session;
pub mod trace;

pub use accept::{ConnectionAddresses, ConnectionRules, DrainReport, accept};
pub use agent::AgentQuestion;
pub use agent_presence::AgentCounts;
pub use api_error::{ApiError, ApiErrorKind};
pub use body::{BodyError, GatewayBody};
pub use endpoint::GatewayEndpoint;
pub use exchange::{EngineError, GatewayEngine};
pub use foxwedge_agent::{PermissionDecision, PermissionKind};
pub use gateway_request::{GatewayRequest, GatewayResponse, RequestCaller, RequestSummary};
pub use guard::{FindingTally, GuardAction, GuardedRequest};
pub use response_body::{HttpReply, ResponseBody};
pub use scripted::serve_scripted;
pub use serve::{GatewayServer, ServeError, serve};
