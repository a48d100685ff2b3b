//! Observers of a loop, and approvers of tool calls.

use std::time::Duration;

use foxwedge_run::RunEffect;
use foxwedge_tools::{ToolFuture, ToolSpec};
use serde_json::Value;

use foxwedge_upstream::{CountedList, RepairChange};

/// Receives the events of a loop. Every run event is in the store before.
pub trait LoopObserver: Send {
    /// Handles an event. Must not block.
    fn on_event(&mut self, event: LoopEvent);
}

/// An event for an observer.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "almost all events are run effects")]
pub enum LoopEvent {
    /// An effect of the run machine: a stored event, or a change of what is shown.
    Run(RunEffect),
    /// A notice that is not part of the run.
    Notice(LoopNotice),
}

/// A notice that is not part of the run.
#[derive(Clone, PartialEq, Debug)]
pub enum LoopNotice {
    /// The request is retried after a transient error.
    Retrying {
        /// The pause before the next attempt.
        pause: Duration,
        /// The error.
        why: String,
    },
    /// The history was repaired, and the repair stored.
    Repaired(CountedList<RepairChange>),
    /// The provider refused the number of tools: fewer are offered from now on.
    FewerTools {
        /// How many are offered.
        offered: usize,
        /// How many there are.
        all: usize,
    },
    /// The history is being compacted.
    Compacting,
    /// It was compacted: tokens before and after.
    Compacted(u64, u64),
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentObserver;

impl LoopObserver for SilentObserver {
    fn on_event(&mut self, _: LoopEvent) {}
}

impl<F: FnMut(LoopEvent) + Send> LoopObserver for F {
    fn on_event(&mut self, event: LoopEvent) {
        self(event);
    }
}

/// Decides whether a call may run.
pub trait ToolApprover: Send + Sync + 'static {
    /// Whether the call needs approval; else it runs at once.
    fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool;

    /// Decides about a call. The future is dropped if the run is stopped meanwhile.
    fn decide<'a>(&'a self, request: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision>;
}

/// A tool call that needs a decision.
#[derive(Clone, Copy, Debug)]
pub struct ToolApprovalRequest<'a> {
    /// The id of the call.
    pub call: &'a str,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments.
    pub input: &'a Value,
}

/// The decision about a tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolDecision {
    /// The call may run.
    Allow,
    /// The call may not run; the model gets the reason.
    Deny(Option<String>),
}

/// Approves every call.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApproveAll;

impl ToolApprover for ApproveAll {
    fn needs_approval(&self, _: &ToolApprovalRequest<'_>) -> bool {
        false
    }

    fn decide<'a>(&'a self, _: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async { ToolDecision::Allow })
    }
}

/// Approves tools that only read, and denies all others.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApproveReadOnly;

impl ToolApprover for ApproveReadOnly {
    fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool {
        request.tool.effect == foxwedge_tools::ToolEffect::Writes
    }

    fn decide<'a>(&'a self, _: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async { ToolDecision::Deny(Some("only reading is allowed here".to_owned())) })
    }
}
