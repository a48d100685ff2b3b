//! A scripted model that needs no API key. It replies by rule in the format of every provider, and
//! refuses what the provider refuses, with the provider's error messages.
//!
//! Pure: no clock, no randomness, no files, no network, and no state. The same request gives the
//! same bytes. The judges behind [`check_request`] share no code with the engine that checks and
//! repairs, so the same mistake cannot hide in both.
//!
//! ```
//! use foxwedge_core::Format;
//! use foxwedge_scripted::{ScriptedRequest, respond};
//!
//! let response = respond(&ScriptedRequest {
//!     format: Format::OpenaiChat,
//!     path: "/v1/chat/completions",
//!     headers: &[],
//!     body: br#"{"model": "scripted", "messages": [{"role": "user", "content": "hello"}]}"#,
//! });
//! assert_eq!(response.status, 200);
//! assert!(String::from_utf8_lossy(&response.body()).contains("You said: hello"));
//! ```

mod http_request;
mod response;
mod stable_hasher;
mod faults;
mod request;
mod model;
mod reply;
mod model_list;
mod json_fields;
mod judges;

pub use http_request::{ScriptedEndpoint, ScriptedRequest};
pub use judges::{ProviderRefusal, ScriptedProvider, check_request};
pub use model_list::{MODELS, models};
pub use response::{ResponseEnding, ScriptedChunk, ScriptedResponse, respond};
