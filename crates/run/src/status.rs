//! The status of a tool call.

/// The status of a tool call. A final status does not change.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ToolStatus {
    /// The source reported a status we do not know. The call counts as open.
    Unknown,
    /// Announced: its arguments are still arriving, or it waits to be executed.
    Pending,
    /// A person must approve it or answer a question.
    AwaitingApproval,
    /// Running.
    Running,
    /// It succeeded.
    Succeeded,
    /// It ended in an error.
    Failed,
    /// It was denied and did not run.
    Denied,
    /// It never started, and will not.
    Cancelled,
    /// It was running when the run ended. It may have had its effect.
    Interrupted,
    /// The question was handed over to a person.
    HandedOver,
}

impl ToolStatus {
    /// Every status, in the order of the counts in a summary.
    pub const ALL: [ToolStatus; 10] = [
        ToolStatus::Unknown,
        ToolStatus::Pending,
        ToolStatus::AwaitingApproval,
        ToolStatus::Running,
        ToolStatus::Succeeded,
        ToolStatus::Failed,
        ToolStatus::Denied,
        ToolStatus::Cancelled,
        ToolStatus::Interrupted,
        ToolStatus::HandedOver,
    ];

    /// Whether the status is final.
    pub fn is_final(self) -> bool {
        match self {
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running => false,
            ToolStatus::Succeeded
            | ToolStatus::Failed
            | ToolStatus::Denied
            | ToolStatus::Cancelled
            | ToolStatus::Interrupted
            | ToolStatus::HandedOver => true,
        }
    }

    /// The name in logs, stores and user interfaces.
    pub fn name(self) -> &'static str {
        match self {
            ToolStatus::Unknown => "unknown",
            ToolStatus::Pending => "pending",
            ToolStatus::AwaitingApproval => "awaiting_approval",
            ToolStatus::Running => "running",
            ToolStatus::Succeeded => "succeeded",
            ToolStatus::Failed => "failed",
            ToolStatus::Denied => "denied",
            ToolStatus::Cancelled => "cancelled",
            ToolStatus::Interrupted => "interrupted",
            ToolStatus::HandedOver => "handed_over",
        }
    }

    /// Parses a status, in our spelling or in one that agents use.
    pub fn from_name(name: &str) -> Option<ToolStatus> {
        Some(match name {
            "unknown" => ToolStatus::Unknown,
            "pending" | "scheduled" | "queued" | "validating" | "input-streaming"
            | "input_streaming" => ToolStatus::Pending,
            "awaiting_approval" | "waiting_approval" | "approval-requested" | "requires_action" => {
                ToolStatus::AwaitingApproval
            }
            "running" | "executing" | "in_progress" | "working" | "input-available" => {
                ToolStatus::Running
            }
            "succeeded" | "success" | "completed" | "complete" | "output-available" => {
                ToolStatus::Succeeded
            }
            "failed" | "error" | "errored" | "output-error" => ToolStatus::Failed,
            "denied" | "rejected" | "output-denied" => ToolStatus::Denied,
            "cancelled" | "canceled" => ToolStatus::Cancelled,
            "interrupted" | "aborted" => ToolStatus::Interrupted,
            "handed_over" => ToolStatus::HandedOver,
            _ => return None,
        })
    }
}

/// The reason for a final status, where the status alone does not give it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ToolStatusReason {
    /// It took too long.
    TimedOut,
    /// An earlier call ended the turn.
    Skipped,
    /// The call whose sub-agent made it was cancelled.
    ParentClosed,
    /// The run ended before the call did.
    RunEnded,
    /// This one call was cancelled.
    CallCancelled,
    /// A tool result came, but never its call.
    NeverCalled,
}

impl ToolStatusReason {
    /// The name in logs, stores and user interfaces.
    pub fn name(self) -> &'static str {
        match self {
            ToolStatusReason::TimedOut => "timed_out",
            ToolStatusReason::Skipped => "skipped",
            ToolStatusReason::ParentClosed => "parent_closed",
            ToolStatusReason::RunEnded => "run_ended",
            ToolStatusReason::CallCancelled => "called_off",
            ToolStatusReason::NeverCalled => "never_called",
        }
    }

    /// Parses a reason.
    pub fn from_name(name: &str) -> Option<ToolStatusReason> {
        [
            ToolStatusReason::TimedOut,
            ToolStatusReason::Skipped,
            ToolStatusReason::ParentClosed,
            ToolStatusReason::RunEnded,
            ToolStatusReason::CallCancelled,
            ToolStatusReason::NeverCalled,
        ]
        .into_iter()
        .find(|reason| reason.name() == name)
    }
}
