//! The words of others for enums of ours, and how a call's end fits into two words.

use crate::{How, Reason, Status, TaskStatus, Verdict};

/// How a call ended and why, out of what its status and its reason say.
pub(super) fn how(how: How, reason: Option<Reason>) -> (How, Option<Reason>) {
    match (how, reason) {
        (How::Error, Some(Reason::TimedOut)) => (How::TimedOut, None),
        (How::Cancelled, Some(Reason::Skipped)) => (How::Skipped, None),
        said => said,
    }
}

/// The one word for how a call ended.
pub(super) fn how_name(how: How) -> &'static str {
    how.reason().map_or(how.status().name(), Reason::name)
}

/// How a call ended, out of one word: a final status, or what [`how_name`] says.
pub(super) fn how_from_name(name: &str) -> Option<How> {
    match name {
        "timed_out" | "timeout" => return Some(How::TimedOut),
        "skipped" => return Some(How::Skipped),
        _ => {}
    }
    match Status::from_name(name)? {
        Status::Succeeded => Some(How::Ok),
        Status::Failed => Some(How::Error),
        Status::Denied => Some(How::Denied),
        Status::Cancelled => Some(How::Cancelled),
        Status::Interrupted => Some(How::Interrupted),
        Status::HandedOver => Some(How::HandedOver),
        Status::Unknown | Status::Pending | Status::AwaitingApproval | Status::Running => None,
    }
}

/// Whether a reader that knows nothing else takes it for an error.
pub(super) fn is_error(how: How) -> bool {
    match how {
        How::Ok | How::HandedOver => false,
        How::Error
        | How::Denied
        | How::TimedOut
        | How::Cancelled
        | How::Interrupted
        | How::Skipped => true,
    }
}

/// The decision of a word. Only words that cannot mean anything else allow something.
pub(super) fn verdict(name: &str) -> Option<Verdict> {
    Some(match name {
        "allowed" | "allow" | "approved" | "approve" => Verdict::Allowed,
        "denied" | "deny" | "rejected" | "reject" => Verdict::Denied,
        "answered" | "answer" => Verdict::Answered,
        "cancelled" | "canceled" | "cancel" => Verdict::Cancelled,
        _ => return None,
    })
}

/// How far a task is, out of a word.
pub(super) fn task(name: &str) -> Option<TaskStatus> {
    Some(match name {
        "unknown" => TaskStatus::Unknown,
        "pending" | "todo" => TaskStatus::Pending,
        "in_progress" | "in-progress" | "inProgress" => TaskStatus::InProgress,
        "completed" | "complete" | "done" => TaskStatus::Completed,
        "paused" => TaskStatus::Paused,
        _ => return None,
    })
}
