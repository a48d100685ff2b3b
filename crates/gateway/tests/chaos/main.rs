//! The gateway between broken providers and clients that leave: over real sockets, with a provider
//! behind it that breaks on demand. `docs/gateway/reliability.md` says what each of these proves.

#[path = "../gateway/client.rs"]
#[allow(dead_code, reason = "other tests send other things")]
mod client;
mod stage;
mod judge;
mod raw;
mod cuts;
mod gone;
mod storms;
mod strange;
