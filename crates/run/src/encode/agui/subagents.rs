//! Sub-agents, which clients of 1.0 support: each is announced before its first event, and ends
//! with the call that started it.

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

/// The sub-agents of a run, by the calls that started them.
pub(super) struct SubagentTracker {
    version: AgUiRevision,
    /// Every call: its tool, and its parent call.
    calls: HashMap<SharedId, (SharedId, Option<SharedId>)>,
    known: HashMap<SharedId, SubagentPhase>,
}

enum SubagentPhase {
    Active,
    /// Kept, because an id cannot be reused.
    Ended,
}

impl SubagentTracker {
    pub(super) fn new(version: AgUiRevision) -> SubagentTracker {
        SubagentTracker { version, calls: HashMap::new(), known: HashMap::new() }
    }

    /// Adds a call that may start a sub-agent.
    pub(super) fn add_call(&mut self, tool: &TrackedTool) {
        if self.version == AgUiRevision::V1 {
            self.calls.insert(tool.id.clone(), (tool.name.clone(), tool.parent.clone()));
        }
    }

    /// Announces the sub-agent of a call before its first event.
    pub(super) fn announce_subagent(
        &mut self,
        parent: Option<&SharedId>,
        sink: &mut FrameSink<'_>,
    ) {
        let Some(parent) = parent.filter(|_| self.version == AgUiRevision::V1) else { return };
        if self.known.contains_key(parent) {
            return;
        }
        let (name, grandparent) = match self.calls.get(parent) {
            Some((name, grandparent)) => (name.clone(), grandparent.clone()),
            None => (SharedId::from("unknown"), None),
        };
        let grandparent = grandparent.filter(|grandparent| self.known.contains_key(grandparent));
        let started = event("SUBAGENT_STARTED")
            .text("subagentRunId", parent)
            .text("name", &name)
            .optional_text("parentSubagentRunId", grandparent.as_deref())
            .text("parentToolCallId", parent);
        sink.push_frame(started.finish());
        self.known.insert(parent.clone(), SubagentPhase::Active);
    }

    /// Adds the sub-agent that an event belongs to, for clients that support it.
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

    /// Ends the sub-agent of a call that ended.
    pub(super) fn end_call(
        &mut self,
        tool: &TrackedTool,
        ending: ToolEnding<'_>,
        sink: &mut FrameSink<'_>,
    ) {
        let Some(phase @ SubagentPhase::Active) = self.known.get_mut(&tool.id) else { return };
        *phase = SubagentPhase::Ended;
        sink.push_frame(match ending.status {
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
                .text("message", &ending.content.plain())
                .text("code", ending.status.name())
                .finish(),
        });
    }

    /// Ends the sub-agents that are still active at the end of the run.
    pub(super) fn end_all(&mut self, sink: &mut FrameSink<'_>) {
        let mut active: Vec<&SharedId> = Vec::new();
        for (id, phase) in &mut self.known {
            if let SubagentPhase::Active = phase {
                *phase = SubagentPhase::Ended;
                active.push(id);
            }
        }
        active.sort();
        active.into_iter().for_each(|id| sink.push_frame(finished_event(id)));
    }
}

fn finished_event(id: &str) -> String {
    event("SUBAGENT_FINISHED").text("subagentRunId", id).finish()
}
