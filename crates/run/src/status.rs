//! What is known about a tool call, in one word.

/// The status of a call. What is final stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
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

impl Status {
    /// Every status, in the order in which counts are told.
    pub const ALL: [Status; 10] = [
        Status::Unknown,
        Status::Pending,
        Status::AwaitingApproval,
        Status::Running,
        Status::Succeeded,
        Status::Failed,
        Status::Denied,
        Status::Cancelled,
        Status::Interrupted,
        Status::HandedOver,
    ];

    /// Whether nothing can change it any more.
    pub fn is_final(self) -> bool {
        match self {
            Status::Unknown | Status::Pending | Status::AwaitingApproval | Status::Running => false,
            Status::Succeeded
            | Status::Failed
            | Status::Denied
            | Status::Cancelled
            | Status::Interrupted
            | Status::HandedOver => true,
        }
    }

    /// The word that logs, stores and user interfaces see.
    pub fn name(self) -> &'static str {
        match self {
            Status::Unknown => "unknown",
            Status::Pending => "pending",
            Status::AwaitingApproval => "awaiting_approval",
            Status::Running => "running",
            Status::Succeeded => "succeeded",
            Status::Failed => "failed",
            Status::Denied => "denied",
            Status::Cancelled => "cancelled",
            Status::Interrupted => "interrupted",
            Status::HandedOver => "handed_over",
        }
    }

    /// The status of a word, in our spelling or in one that agents use.
    pub fn from_name(name: &str) -> Option<Status> {
        Some(match name {
            "unknown" => Status::Unknown,
            "pending" | "scheduled" | "queued" | "validating" | "input-streaming"
            | "input_streaming" => Status::Pending,
            "awaiting_approval" | "waiting_approval" | "approval-requested" | "requires_action" => {
                Status::AwaitingApproval
            }
            "running" | "executing" | "in_progress" | "working" | "input-available" => {
                Status::Running
            }
            "succeeded" | "success" | "completed" | "complete" | "output-available" => {
                Status::Succeeded
            }
            "failed" | "error" | "errored" | "output-error" => Status::Failed,
            "denied" | "rejected" | "output-denied" => Status::Denied,
            "cancelled" | "canceled" => Status::Cancelled,
            "interrupted" | "aborted" => Status::Interrupted,
            "handed_over" => Status::HandedOver,
            _ => return None,
        })
    }
}

/// Why a call came to its final status, where the status alone does not say it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// It took too long.
    TimedOut,
    /// An earlier call ended the turn.
    Skipped,
    /// The call that it worked for was called off.
    ParentClosed,
    /// The run ended before it did.
    RunEnded,
    /// Somebody called off this one call.
    CalledOff,
    /// An answer came, and never the call it belongs to.
    NeverCalled,
}

impl Reason {
    /// The word that logs, stores and user interfaces see.
    pub fn name(self) -> &'static str {
        match self {
            Reason::TimedOut => "timed_out",
            Reason::Skipped => "skipped",
            Reason::ParentClosed => "parent_closed",
            Reason::RunEnded => "run_ended",
            Reason::CalledOff => "called_off",
            Reason::NeverCalled => "never_called",
        }
    }

    /// The reason of a word.
    pub fn from_name(name: &str) -> Option<Reason> {
        [
            Reason::TimedOut,
            Reason::Skipped,
            Reason::ParentClosed,
            Reason::RunEnded,
            Reason::CalledOff,
            Reason::NeverCalled,
        ]
        .into_iter()
        .find(|reason| reason.name() == name)
    }
}
