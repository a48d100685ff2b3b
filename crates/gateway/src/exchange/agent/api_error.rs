//! Errors of live agents as errors of the API. This is the only place that maps them.

use foxwedge_agents::{AgentError, BridgeError};
use http::StatusCode;

use crate::{ApiError, ApiErrorKind};

/// Seconds after which a client should try again when all agents are busy.
const BUSY_RETRY_AFTER: u64 = 5;

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> ApiError {
        let message = error.to_string();
        match error {
            AgentError::Busy => {
                let error = ApiError::new(ApiErrorKind::Unavailable, "agents_busy", message);
                ApiError { retry_after: Some(BUSY_RETRY_AFTER), ..error }
            }
            AgentError::Draining => {
                let message = "the gateway is shutting down";
                ApiError::new(ApiErrorKind::Unavailable, "draining", message)
            }
            AgentError::NotStarted(_) => {
                ApiError::new(ApiErrorKind::Upstream, "agent_unavailable", message)
            }
            AgentError::Bridge(BridgeError { status, code, message }) => {
                let kind = error_kind(status);
                let status = StatusCode::from_u16(status).ok().filter(|it| it.as_u16() >= 400);
                ApiError { status, ..ApiError::new(kind, code, message) }
            }
        }
    }
}

fn error_kind(status: u16) -> ApiErrorKind {
    match status {
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_an_agent_has_a_status_and_a_code() {
        let bridge = |status, code| {
            AgentError::Bridge(BridgeError { status, code, message: "m".to_owned() })
        };
        for (error, expected) in [
            (
                AgentError::Busy,
                (503, "agents_busy", "the maximum number of agents is running", Some(5)),
            ),
            (AgentError::Draining, (503, "draining", "the gateway is shutting down", None)),
            (
                AgentError::NotStarted("`x`: no".to_owned()),
                (502, "agent_unavailable", "the agent cannot be started: `x`: no", None),
            ),
            (bridge(409, "agent_busy"), (409, "agent_busy", "m", None)),
            (bridge(529, "agent_failed"), (529, "agent_failed", "m", None)),
            (bridge(200, "agent_failed"), (502, "agent_failed", "m", None)),
        ] {
            let api_error = ApiError::from(error);
            let ApiError { code, message, retry_after, .. } = &api_error;
            let found = (api_error.status().as_u16(), *code, message.as_str(), *retry_after);
            assert_eq!(found, expected);
        }
    }
}
