//! Tests of the public API: one suite for both backends, and what only one of them can do.

mod sample;
mod temporary;
mod server;
mod postgres_fixture;
mod postgres_race;
mod postgres_outage;
mod postgres_schema;
mod postgres_tls;
mod feed;
mod bursts;
mod conformance;
mod sqlite;
