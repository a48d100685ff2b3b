//! `foxwedge serve` with live agents behind it, as clients see it. The agent is the one of this
//! workspace, which speaks as Claude Code does and shows every history to a judge; its own tests
//! are in `crates/scripted-agent/tests`.

#![cfg(unix)]

#[path = "../../../store/tests/store/temporary.rs"]
mod temporary;
#[path = "../serve/wire.rs"]
mod wire;
mod agent_binary;
mod chat;
mod stories;
mod stage;
mod told;
mod answers;
mod apart;
mod habits;
mod histories;
mod faces;
mod deaths;
mod people;
mod hostile;
mod thoughts;
mod recordings;
mod records;
