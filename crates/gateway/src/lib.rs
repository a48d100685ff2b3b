//! The gateway as an HTTP server: connections, access control, routing, replies and the request
//! log. The engine decides what a request means and how it is handled.
//!
//! The path of a request: accept → access → request_body → routes → engine → response_body.

mod accept;
mod access;
mod api;
pub mod console;
mod error;
mod request_body;
mod log;
mod models;
mod response_body;
mod caller_limit;
mod landing_page;
mod request_id;
mod routes;
mod scripted;
mod serve;
mod request_context;

pub use accept::{ConnectionAddresses, ConnectionRules, DrainReport, accept};
pub use response_body::{HttpReply, ResponseBody};
pub use scripted::serve_scripted;
pub use serve::{GatewayServer, ServeError, serve};
