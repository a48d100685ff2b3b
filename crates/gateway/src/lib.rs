//! The gateway as an HTTP server: who may come in, what they may ask, how it is answered, and what
//! a log says about it. What a request means is decided in the engine.
//!
//! One request goes one way: accept → access → intake → routes → engine → reply.

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
