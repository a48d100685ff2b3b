//! The gateway between broken providers and clients that disconnect: over real sockets, with a
//! provider that fails on demand. See `README.md` beside this file.

#[path = "../gateway/client.rs"]
#[allow(dead_code, reason = "other tests send other things")]
mod client;
mod stage;
mod judge;
mod raw;
mod cuts;
mod gone;
mod forwarded;
mod storms;
mod stored_responses;
mod strange;
