//! What the programs share that measure the gateway: `mock` is a provider, `floor` relays as cheaply
//! as this language and this HTTP stack allow, `load` sends requests. `cargo xtask bench` runs them
//! together.
//!
//! For development only; nothing here is part of the gateway, and nothing of the gateway is used
//! here, so that neither can hide a mistake of the other.

mod http1;
mod history;
mod request;
mod responses;
mod rewrite;
mod histogram;
mod delay;
mod process;
mod options;

pub use delay::DelayReader;
pub use histogram::Histogram;
pub use http1::{WholeBody, collect, connect, serve};
pub use options::CommandOptions;
pub use process::MeasuredProcess;
pub use request::{RequestFormat, RequestKind};
pub use responses::MockResponses;
pub use rewrite::{RewrittenStream, rewritten};

/// Any error in a program that only measures.
pub type BenchError = Box<dyn std::error::Error + Send + Sync>;
