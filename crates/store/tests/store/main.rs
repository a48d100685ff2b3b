//! The store, from outside: one suite for both backends, and what only one of them can do.

mod sample;
mod temporary;
mod server;
mod postgres_fixture;
mod postgres_race;
mod conformance;
mod sqlite;
