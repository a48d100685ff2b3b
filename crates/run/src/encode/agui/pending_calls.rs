//! Calls that a run leaves to the application.
//!
//! A call that was handed over has no result of its own: a person or the host answers it later. If
//! the run completes with it, clients of 1.0 get no result for it, and the end of the run names it
//! in `pendingToolCallIds`. So its result is held back until the run goes on or ends.

use crate::{
    SharedId, ToolStatus,
    encode::{
        FrameSink,
        tracker::{ToolEnding, TrackedTool},
    },
};

/// The results that are held back.
#[derive(Default)]
pub(super) struct PendingCalls(Vec<PendingCall>);

struct PendingCall {
    /// The position among the calls of the run.
    order: u64,
    id: SharedId,
    result: String,
}

impl PendingCalls {
    /// Whether the call may be left to the application. Calls of sub-agents are not: the
    /// application does not know their conversation.
    pub(super) fn may_be_pending(tool: &TrackedTool, ending: ToolEnding<'_>) -> bool {
        ending.status == ToolStatus::HandedOver && tool.parent.is_none()
    }

    pub(super) fn hold_back(&mut self, tool: &TrackedTool, result: String) {
        self.0.push(PendingCall { order: tool.order(), id: tool.id.clone(), result });
    }

    /// Writes the results that were held back: the model has seen them, or the run ends in a way
    /// that leaves no calls.
    pub(super) fn write_results(&mut self, sink: &mut FrameSink<'_>) {
        self.0.drain(..).for_each(|call| sink.push_frame(call.result));
    }

    /// Returns the ids of the calls, in the order in which they were made. They get no result.
    pub(super) fn take_ids(&mut self) -> Vec<SharedId> {
        self.0.sort_by_key(|call| call.order);
        self.0.drain(..).map(|call| call.id).collect()
    }
}
