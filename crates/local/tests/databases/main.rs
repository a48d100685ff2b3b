//! Sessions in databases: damaged in many ways, repaired, undone; nothing else changes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod store;
mod test_home;
mod damaged;
mod discipline;
mod legacy;
mod row_store;
mod message_rows;
