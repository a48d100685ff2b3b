//! Sub-agents, which readers of 1.0 know: each is announced before it speaks, and ends with the
//! call that it works for.

use std::collections::HashMap;

use super::{event, with_subagent};
use crate::{
    SharedId, ToolStatus,
    encode::{
        AgUiRevision, FrameSink,
        json::JsonObjectWriter,
        tracker::{ToolEnding, TrackedTool},
    },
};

/// The sub-agents of a run, by the calls that they work for.
pub(super) struct SubagentTracker {
    version: AgUiRevision,
    /// Every call: its tool, and the call it was made for.
    calls: HashMap<SharedId, (SharedId, Option<SharedId>)>,
    known: HashMap<SharedId, SubagentPhase>,
}

enum SubagentPhase {
    Active,
    /// An id cannot be used again.
    Ended,
}

impl SubagentTracker {
    pub(super) fn new(version: AgUiRevision) -> SubagentTracker {
        SubagentTracker { version, calls: HashMap::new(), known: HashMap::new() }
    }

    /// A call that a sub-agent may work for.
    pub(super) fn add_call(&mut self, tool: &TrackedTool) {
        if self.version == AgUiRevision::V1 {
            self.calls.insert(tool.id.clone(), (tool.name.clone(), tool.parent.clone()));
        }
    }

    /// The sub-agent of a call is about to say something.
    pub(super) fn announce_subagent(
        &mut self,
        parent: Option<&SharedId>,
        sink: &mut FrameSink<'_>,
    ) {
        let Some(parent) = parent.filter(|_| self.version == AgUiRevision::V1) else { return };
        if self.known.contains_key(parent) {
            return;
        }
        let (name, above) = match self.calls.get(parent) {
            Some((name, above)) => (name.clone(), above.clone()),
            None => (SharedId::from("unknown"), None),
        };
        let above = above.filter(|above| self.known.contains_key(above));
        let started = event("SUBAGENT_STARTED")
            .text("subagentRunId", parent)
            .text("name", &name)
            .optional_text("parentSubagentRunId", above.as_deref())
            .text("parentToolCallId", parent);
        sink.push_frame(started.finish());
        self.known.insert(parent.clone(), SubagentPhase::Active);
    }

    /// Says which sub-agent an event belongs to, where a reader knows what that is.
    pub(super) fn with_subagent(
        &self,
        object: JsonObjectWriter,
        parent: Option<&SharedId>,
    ) -> JsonObjectWriter {
        match self.version {
            AgUiRevision::V0 => object,
            AgUiRevision::V1 => with_subagent(object, parent),
        }
    }

    /// A call comes to its end, and its sub-agent with it.
    pub(super) fn end_call(
        &mut self,
        tool: &TrackedTool,
        settled: ToolEnding<'_>,
        sink: &mut FrameSink<'_>,
    ) {
        let Some(phase @ SubagentPhase::Active) = self.known.get_mut(&tool.id) else { return };
        *phase = SubagentPhase::Ended;
        sink.push_frame(match settled.status {
            ToolStatus::Succeeded | ToolStatus::HandedOver => finished_event(&tool.id),
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running
            | ToolStatus::Failed
            | ToolStatus::Denied
            | ToolStatus::Cancelled
            | ToolStatus::Interrupted => event("SUBAGENT_ERROR")
                .text("subagentRunId", &tool.id)
                .text("message", &settled.content.plain())
                .text("code", settled.status.name())
                .finish(),
        });
    }

    /// The run comes to its end, and those with it whose call nobody saw.
    pub(super) fn end_all(&mut self, sink: &mut FrameSink<'_>) {
        let mut left: Vec<&SharedId> = Vec::new();
        for (id, phase) in &mut self.known {
            if let SubagentPhase::Active = phase {
                *phase = SubagentPhase::Ended;
                left.push(id);
            }
        }
        left.sort();
        left.into_iter().for_each(|id| sink.push_frame(finished_event(id)));
    }
}

fn finished_event(id: &str) -> String {
    event("SUBAGENT_FINISHED").text("subagentRunId", id).finish()
}
