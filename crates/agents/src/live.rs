//! Live agents: processes that call the client's tools and get the tool results in later HTTP
//! requests.
//!
//! This is the I/O around `foxwedge_agents`: it starts processes, transports lines, applies timeouts
//! and counts. `foxwedge_agents` interprets the lines, ends replies and matches tool results.

mod cleanup;
mod process;
mod handle;
mod live;
mod pool;
mod reply_channel;

use http::StatusCode;

use crate::{ApiError, ApiErrorKind};

pub use handle::AgentQuestion;
pub(crate) use handle::{AgentHandle, AgentRequest};
pub(crate) use pool::{AgentPool, AgentSlot, AgentSlotOwner, AgentStartRequest};
pub(crate) use reply_channel::{BodyChunk, PING, ReplyChannel};

/// Converts an agent error to an API error.
pub(crate) fn to_api_error(error: foxwedge_agents::BridgeError) -> ApiError {
    let kind = match error.status {
        401 => ApiErrorKind::Credentials,
        403 => ApiErrorKind::Permission,
        404 => ApiErrorKind::NotFound,
        409 => ApiErrorKind::Conflict,
        413 => ApiErrorKind::TooLarge,
        429 => ApiErrorKind::RateLimit,
        400..500 => ApiErrorKind::InvalidRequest,
        503 | 529 => ApiErrorKind::Unavailable,
        504 => ApiErrorKind::UpstreamTimeout,
        _ => ApiErrorKind::Upstream,
    };
    let status = StatusCode::from_u16(error.status).ok().filter(|it| it.as_u16() >= 400);
    ApiError { status, ..ApiError::new(kind, error.code, error.message) }
}
