//! `foxwedge serve` as a process among hostile ones: killed, asked to end, crowded, and looked
//! through for secrets afterwards. `crates/gateway/tests/chaos/README.md` says what each of these proves, and
//! how to run more of it.

#![cfg(unix)]

#[path = "../../../store/tests/chaos/random.rs"]
#[allow(dead_code, reason = "others need more kinds of chance")]
mod random;
#[path = "../../../store/tests/chaos/settings.rs"]
mod settings;
#[path = "../../../store/tests/store/temporary.rs"]
mod temporary;
#[path = "../../../store/tests/store/server.rs"]
#[allow(dead_code, reason = "other tests ask more of a server")]
mod server;
mod wire;
mod provider;
mod gateway;
mod conversation;
mod kills;
mod nodes;
mod ending;
mod reload;
mod crowds;
mod bodies;
mod floods;
mod canaries;
