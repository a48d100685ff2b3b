//! Tests of the public API: one suite for both backends, and what only one of them can do.

mod sample;
mod temporary;
mod server;
mod postgres_fixture;
#[cfg(unix)]
#[allow(dead_code, reason = "other test programs do more with it")]
mod relay;
mod postgres_race;
mod postgres_outage;
#[cfg(unix)]
mod postgres_frozen;
mod postgres_schema;
mod postgres_tls;
mod feed;
mod bursts;
mod conformance;
mod sqlite;
