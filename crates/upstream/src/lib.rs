//! Sends requests to providers: an HTTP client, one retry loop, and models that a tool loop can
//! call.
//!
//! The I/O around the pure crates: it makes no decisions about conversations. [`send`] sends the
//! bytes of a client for the gateway; a [`model::ChatModel`] takes a valid request and returns the
//! deltas of its reply.

mod base_url;
mod counted_list;
pub mod http;
pub mod model;
mod repair_change;
mod retry_repair;
mod secret;
pub mod send;
mod token_counters;
mod upstream_config;
mod upstream_kind;

pub use base_url::{
    AddressError, AddressPolicy, BaseUrl, BaseUrlStyle, NetworkTarget, UrlParts, format_base_url,
    is_host_byte, is_loopback_host, parse_base_url, parse_url,
};
pub use counted_list::CountedList;
pub use repair_change::{RepairChange, changes_of};
pub use retry_repair::{RejectionClass, RepairedRetry, classify_rejection, repair_for_retry};
pub use secret::SecretText;
pub use send::{AuthScheme, ClientKey};
pub use token_counters::TokenCounters;
pub use upstream_config::{
    DEFAULT_ATTEMPTS, SCRIPTED_NAME, UpstreamConfig, UpstreamKey, UpstreamTransport,
    builtin_upstream, single_upstream,
};
pub use upstream_kind::UpstreamKind;
