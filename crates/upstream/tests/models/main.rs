//! Models behind the loop's trait: the built-in one in every format, and endpoints over HTTP.

mod stand;
mod server;
mod turns;
mod faults;
mod network;
