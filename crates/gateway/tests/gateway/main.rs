//! The gateway over real sockets: who comes in, what hostile clients get, and that nothing of it
//! stops the others.

mod client;
mod server;

mod access;
mod api;
mod bodies;
mod connections;
mod console;
mod console_feed;
mod machine;
mod drain;
mod replies;
mod secrets;
mod words;
