//! Live agents: processes that think, call the client's tools, wait for the answers over one HTTP
//! request after the other, and go on.
//!
//! The shell around `foxwedge_agent`: it starts processes, carries lines, looks at the time and
//! counts. What a line means, when a reply ends and what an answer belongs to is decided there.

mod lines;
mod cleanup;
mod process;
mod handle;
mod live;
mod pool;

use http::StatusCode;

use crate::{ApiError, ApiErrorKind};

pub use handle::AgentQuestion;
pub(crate) use handle::{AgentHandle, AgentPresence, AgentRequest};
pub use pool::AgentCounts;
pub(crate) use pool::{AgentPool, AgentSlot, AgentSlotOwner, AgentStartRequest};

/// A fault of a conversation with an agent, as every other.
pub(crate) fn to_api_error(fault: foxwedge_agent::BridgeError) -> ApiError {
    let kind = match fault.status {
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
    let status = StatusCode::from_u16(fault.status).ok().filter(|it| it.as_u16() >= 400);
    ApiError { status, ..ApiError::new(kind, fault.code, fault.message) }
}
