//! What is known about a tool call, in one word.

/// The status of a call. What is final stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ToolStatus {
    /// Somebody used a word for it that we do not know; it counts as open.
    Unknown,
    /// Announced: its arguments are coming, or it waits for its turn.
    Pending,
    /// Somebody has to say yes, or to answer a question.
    AwaitingApproval,
    /// At work.
    Running,
    /// It did its work.
    Succeeded,
    /// It ended in an error.
    Failed,
    /// Somebody said no; it did not run.
    Denied,
    /// It never started, and will not.
    Cancelled,
    /// It was at work when the work ended: it may have had its effect.
    Interrupted,
    /// A question that went over to a person.
    HandedOver,
}

impl ToolStatus {
    /// Every status, in the order in which counts are told.
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

    /// Whether nothing can change it any more.
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

    /// The word that logs, stores and user interfaces see.
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

    /// The status of a word, in our spelling or in one that agents use.
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

/// Why a call came to its final status, where the status alone does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ToolStatusReason {
    /// It took too long.
    TimedOut,
    /// An earlier call ended the turn.
    Skipped,
    /// The call that it worked for was called off.
    ParentClosed,
    /// The run ended before it did.
    RunEnded,
    /// Somebody called off this one call.
    CallCancelled,
    /// An answer came, and never the call it belongs to.
    NeverCalled,
}

impl ToolStatusReason {
    /// The word that logs, stores and user interfaces see.
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

    /// The reason of a word.
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
