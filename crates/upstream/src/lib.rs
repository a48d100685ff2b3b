//! Sends requests to providers: an HTTP client, one retry loop, and models that a tool loop can
//! call.
//!
//! The I/O around the pure crates: it makes no decisions about conversations. [`send`] sends the
//! bytes of a client for the gateway; a [`model::ChatModel`] takes a valid request and returns the
//! deltas of its reply.
//!
//! ```
//! use foxwedge_upstream::model::{ChatModel, ModelEndpoint, ReplyDelta, ValidRequest};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model = ModelEndpoint::scripted("scripted");
//! let body = r#"{"model": "scripted", "stream": true, "max_tokens": 100,
//!     "messages": [{"role": "user", "content": "hello"}]}"#;
//! let request = ValidRequest::validate(body.into(), model.about().wire, &model.check_options())?;
//! let mut reply = model.send(request);
//! let mut text = String::new();
//! while let Some(delta) = reply.next_delta().await? {
//!     if let ReplyDelta::Text(more) = delta {
//!         text.push_str(&more);
//!     }
//! }
//! assert_eq!(text, "You said: hello");
//! # Ok(())
//! # }
//! ```

mod client_identity;
mod base_url;
mod counted_list;
pub mod http;
pub mod model;
mod request_path;
mod platform;
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
pub use platform::{
    CloudPlatform,
    access_token::{AccessTokenSource, CredentialsError, EntraAuthority},
    aws_signature::AwsCredentials,
    bedrock_url, vertex_url,
};
pub use repair_change::{RepairChange, changes_of};
pub use retry_repair::{
    RefusedRequest, RejectionClass, RepairedRetry, classify_rejection, repair_for_retry,
};
pub use secret::SecretText;
pub use send::{AuthScheme, ClientKey};
pub use token_counters::TokenCounters;
pub use upstream_config::{
    DEFAULT_ATTEMPTS, SCRIPTED_NAME, UpstreamConfig, UpstreamKey, UpstreamTransport,
    builtin_upstream, single_upstream,
};
pub use upstream_kind::UpstreamKind;
