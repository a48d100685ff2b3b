//! The words of others for enums of ours, and how a call's end fits into two words.

use crate::{ApprovalVerdict, TaskStatus, ToolOutcome, ToolStatus, ToolStatusReason};

/// How a call ended and why, out of what its status and its reason say.
pub(super) fn combine_outcome(
    how: ToolOutcome,
    reason: Option<ToolStatusReason>,
) -> (ToolOutcome, Option<ToolStatusReason>) {
    match (how, reason) {
        (ToolOutcome::Error, Some(ToolStatusReason::TimedOut)) => (ToolOutcome::TimedOut, None),
        (ToolOutcome::Cancelled, Some(ToolStatusReason::Skipped)) => (ToolOutcome::Skipped, None),
        said => said,
    }
}

/// The one word for how a call ended.
pub(super) fn outcome_name(how: ToolOutcome) -> &'static str {
    how.reason().map_or(how.status().name(), ToolStatusReason::name)
}

/// How a call ended, out of one word: a final status, or what [`how_name`] says.
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

/// Whether a reader that knows nothing else takes it for an error.
pub(super) fn is_error(how: ToolOutcome) -> bool {
    match how {
        ToolOutcome::Ok | ToolOutcome::HandedOver => false,
        ToolOutcome::Error
        | ToolOutcome::Denied
        | ToolOutcome::TimedOut
        | ToolOutcome::Cancelled
        | ToolOutcome::Interrupted
        | ToolOutcome::Skipped => true,
    }
}

/// The decision of a word. Only words that cannot mean anything else allow something.
pub(super) fn verdict_from_name(name: &str) -> Option<ApprovalVerdict> {
    Some(match name {
        "allowed" | "allow" | "approved" | "approve" => ApprovalVerdict::Allowed,
        "denied" | "deny" | "rejected" | "reject" => ApprovalVerdict::Denied,
        "answered" | "answer" => ApprovalVerdict::Answered,
        "cancelled" | "canceled" | "cancel" => ApprovalVerdict::Cancelled,
        _ => return None,
    })
}

/// How far a task is, out of a word.
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
