//! Names that other agents use for our enums, and how the outcome of a call maps to a status and a
//! reason.

use crate::{ApprovalVerdict, TaskStatus, ToolOutcome, ToolStatus, ToolStatusReason};

/// Combines the outcome and the reason that an event has separately.
pub(super) fn combine_outcome(
    outcome: ToolOutcome,
    reason: Option<ToolStatusReason>,
) -> (ToolOutcome, Option<ToolStatusReason>) {
    match (outcome, reason) {
        (ToolOutcome::Error, Some(ToolStatusReason::TimedOut)) => (ToolOutcome::TimedOut, None),
        (ToolOutcome::Cancelled, Some(ToolStatusReason::Skipped)) => (ToolOutcome::Skipped, None),
        other => other,
    }
}

/// The single name of an outcome.
pub(super) fn outcome_name(outcome: ToolOutcome) -> &'static str {
    outcome.reason().map_or(outcome.status().name(), ToolStatusReason::name)
}

/// Parses an outcome from a single name: a final status, or a name from [`outcome_name`].
pub(super) fn outcome_from_name(name: &str) -> Option<ToolOutcome> {
    match name {
        "timed_out" | "timeout" => return Some(ToolOutcome::TimedOut),
        "skipped" => return Some(ToolOutcome::Skipped),
        _ => {}
    }
    match ToolStatus::from_name(name)? {
        ToolStatus::Succeeded => Some(ToolOutcome::Ok),
        ToolStatus::Failed => Some(ToolOutcome::Error),
        ToolStatus::Denied => Some(ToolOutcome::Denied),
        ToolStatus::Cancelled => Some(ToolOutcome::Cancelled),
        ToolStatus::Interrupted => Some(ToolOutcome::Interrupted),
        ToolStatus::HandedOver => Some(ToolOutcome::HandedOver),
        ToolStatus::Unknown
        | ToolStatus::Pending
        | ToolStatus::AwaitingApproval
        | ToolStatus::Running => None,
    }
}

/// Whether a reader that knows only the `isError` flag should treat it as an error.
pub(super) fn is_error(outcome: ToolOutcome) -> bool {
    match outcome {
        ToolOutcome::Ok | ToolOutcome::HandedOver => false,
        ToolOutcome::Error
        | ToolOutcome::Denied
        | ToolOutcome::TimedOut
        | ToolOutcome::Cancelled
        | ToolOutcome::Interrupted
        | ToolOutcome::Skipped => true,
    }
}

/// Parses a verdict. Only unambiguous names allow something.
pub(super) fn verdict_from_name(name: &str) -> Option<ApprovalVerdict> {
    Some(match name {
        "allowed" | "allow" | "approved" | "approve" => ApprovalVerdict::Allowed,
        "denied" | "deny" | "rejected" | "reject" => ApprovalVerdict::Denied,
        "answered" | "answer" => ApprovalVerdict::Answered,
        "cancelled" | "canceled" | "cancel" => ApprovalVerdict::Cancelled,
        _ => return None,
    })
}

/// Parses the status of a task.
pub(super) fn task_status_from_name(name: &str) -> Option<TaskStatus> {
    Some(match name {
        "unknown" => TaskStatus::Unknown,
        "pending" | "todo" => TaskStatus::Pending,
        "in_progress" | "in-progress" | "inProgress" => TaskStatus::InProgress,
        "completed" | "complete" | "done" => TaskStatus::Completed,
        "paused" => TaskStatus::Paused,
        _ => return None,
    })
}
