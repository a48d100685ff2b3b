//! The gateway as an HTTP server: who may come in, what they may ask, how it is answered, and what
//! a log says about it. What a request means is decided in the engine.
//!
//! One request goes one way: accept → access → intake → routes → engine → reply.

mod accept;
mod access;
mod api;
pub mod console;
mod error;
mod intake;
mod log;
mod models;
mod outgoing;
mod owners;
mod page;
mod request_id;
mod routes;
mod scripted;
mod serve;
mod work;

pub use accept::{Peer, Rules, Served, accept};
pub use outgoing::{Outgoing, Reply};
pub use scripted::serve_scripted;
pub use serve::{Gateway, ServeError, serve};
