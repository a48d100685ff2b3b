//! Chat models: the built-in one in every format, and endpoints over HTTP.

mod conversation;
mod server;
mod turns;
mod faults;
mod network;
mod reused_connections;
