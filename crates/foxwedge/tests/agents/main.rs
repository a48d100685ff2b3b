//! `foxwedge serve` with live agents behind it: the agent of this workspace, which speaks as Claude
//! Code does and shows every history to a judge. First the agent alone, over its pipe; then the
//! gateway in front of it, as clients see it.

#![cfg(unix)]

#[path = "../../../store/tests/store/temporary.rs"]
mod temporary;
#[path = "../serve/wire.rs"]
mod wire;
mod host;
mod fake;
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
