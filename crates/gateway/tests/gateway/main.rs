//! The gateway over real sockets: access, hostile clients, and that they do not affect others.

mod client;
mod server;

mod access;
mod api;
mod bodies;
mod connections;
mod console;
mod console_feed;
mod detached;
mod documents;
mod machine;
mod drain;
mod events;
mod reload;
mod replies;
mod secrets;
mod ui_chat;
mod words;
