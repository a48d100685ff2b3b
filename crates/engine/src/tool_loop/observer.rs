//! Who is told what happens, and who decides whether a tool may run.

use std::time::Duration;

use foxwedge_run::RunEffect;
use foxwedge_tools::{ToolFuture, ToolSpec};
use serde_json::Value;

use crate::{CountedList, RepairChange};

/// Is told what happens. Everything it is told is in the store.
pub trait LoopObserver: Send {
    /// Something happened. Must not wait.
    fn on_event(&mut self, told: LoopEvent);
}

/// What a listener is told.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly everything that is told is a run's")]
pub enum LoopEvent {
    /// What the run machine says: events of the log, and changes of what is shown.
    Run(RunEffect),
    /// Something beside the run.
    Notice(LoopNotice),
}

/// Something beside the run.
#[derive(Clone, PartialEq, Debug)]
pub enum LoopNotice {
    /// Passing trouble of the model is waited out.
    Retrying {
        /// How long.
        pause: Duration,
        /// Why.
        why: String,
    },
    /// The history was repaired, for good.
    Repaired(CountedList<RepairChange>),
    /// The provider refused so many tools: fewer are offered from now on.
    FewerTools {
        /// How many.
        offered: usize,
        /// How many there are.
        all: usize,
    },
    /// The history is being made shorter.
    Compacting,
    /// It was made shorter: tokens before and after.
    Compacted(u64, u64),
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct SilentObserver;

impl LoopObserver for SilentObserver {
    fn on_event(&mut self, _: LoopEvent) {}
}

impl<F: FnMut(LoopEvent) + Send> LoopObserver for F {
    fn on_event(&mut self, told: LoopEvent) {
        self(told);
    }
}

/// Decides whether a call may run.
pub trait ToolApprover: Send + Sync + 'static {
    /// Whether somebody has to be asked at all; else the call runs at once.
    fn needs_approval(&self, asking: &ToolApprovalRequest<'_>) -> bool;

    /// Asks. May be dropped while it waits: then nobody wants to know any more.
    fn decide<'a>(&'a self, asking: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision>;
}

/// A call that wants to run.
#[derive(Clone, Copy, Debug)]
pub struct ToolApprovalRequest<'a> {
    /// The id of the call.
    pub call: &'a str,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments.
    pub input: &'a Value,
}

/// What was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToolDecision {
    /// It may.
    Allow,
    /// It may not; what the person said about it goes to the model.
    Deny(Option<String>),
}

/// Lets everything run.
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

/// Lets run what only reads, and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct ApproveReadOnly;

impl ToolApprover for ApproveReadOnly {
    fn needs_approval(&self, asking: &ToolApprovalRequest<'_>) -> bool {
        asking.tool.effect == foxwedge_tools::ToolEffect::Writes
    }

    fn decide<'a>(&'a self, _: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async { ToolDecision::Deny(Some("only reading is allowed here".to_owned())) })
    }
}
