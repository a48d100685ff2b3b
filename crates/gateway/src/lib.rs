//! The gateway: an HTTP server with everything that a request passes on its way to an upstream and
//! back.
//!
//! The path of a request: accept → access → request_body → routes → exchange (guard → session →
//! upstream, recorded as a run) → response_body.
//!
//! # Events
//!
//! A program that embeds the gateway can subscribe to `tracing` events. Every request is an event of
//! the target `foxwedge::request`, with the fields of its log line, whether the log is on or off: at
//! `INFO`, at `WARN` if the client made an error, at `ERROR` if the gateway or an upstream did.
//! Retries, unreachable upstreams and repairs of refused histories are `DEBUG` events of the target
//! `foxwedge::upstream`. No event holds message content or a header other than `user-agent`.
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use tracing::{Event, Level, Metadata, Subscriber, span};
//!
//! /// Counts the requests that failed.
//! struct FailureCounter(AtomicU64);
//!
//! impl Subscriber for FailureCounter {
//!     fn enabled(&self, metadata: &Metadata<'_>) -> bool {
//!         metadata.target() == "foxwedge::request" && *metadata.level() == Level::ERROR
//!     }
//!
//!     fn event(&self, _: &Event<'_>) {
//!         self.0.fetch_add(1, Ordering::Relaxed);
//!     }
//!
//!     // The gateway has no spans of this kind.
//! #   fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
//! #   fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
//! #   fn enter(&self, _: &span::Id) {}
//! #   fn exit(&self, _: &span::Id) {}
//!     fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
//!         span::Id::from_u64(1)
//!     }
//! }
//!
//! tracing::subscriber::set_global_default(FailureCounter(AtomicU64::new(0)))?;
//! # Ok::<(), tracing::subscriber::SetGlobalDefaultError>(())
//! ```

mod accept;
mod access;
mod active_config;
mod api;
mod api_error;
mod api_request;
mod body;
mod caller_limit;
mod cluster;
pub mod config;
mod console;
mod decisions;
mod detached;
mod endpoint;
mod error;
mod exchange;
mod exposed_headers;
mod forward;
mod gateway_request;
mod gateway_state;
mod guard;
mod landing_page;
mod log;
pub mod metrics;
mod models;
mod node_forward;
mod ordered_id;
pub mod record;
mod reload;
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
mod ui_chat;

pub use accept::{ConnectionAddresses, ConnectionRules, DrainReport, accept};
pub use api_error::{AllowedMethods, ApiError, ApiErrorKind};
pub use body::{BodyError, GatewayBody};
pub use endpoint::GatewayEndpoint;
pub use exchange::{EngineError, GatewayEngine};
pub use foxwedge_agents::{AgentCounts, AgentQuestion, PermissionDecision, PermissionKind};
pub use gateway_request::{GatewayRequest, GatewayResponse, RequestCaller, RequestSummary};
pub use guard::{FindingTally, GuardAction, GuardedRequest};
pub use reload::{ConfigReloader, ReloadOutcome};
pub use response_body::{HttpReply, ResponseBody};
pub use scripted::serve_scripted;
pub use serve::{GatewayServer, ServeError, serve};
