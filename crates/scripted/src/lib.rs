//! A model that needs no key: it answers by rule, in the form of every provider, and refuses what
//! the provider refuses, in the provider's words.
//!
//! Pure: no clock, no chance, no files, no network, and no memory. The same request gives the same
//! bytes. The judges behind [`refusal`] share no code with the engine that checks and repairs: a mistake
//! made once must not be able to hide itself.

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
