//! Sub-agents, which readers of 1.0 know: each is announced before it speaks, and ends with the
//! call that it works for.

use std::collections::HashMap;

use super::{attributed, event};
use crate::{
    Id, Status,
    encode::{
        AgUi, Sink,
        json::Object,
        tracker::{Settled, Tool},
    },
};

/// The sub-agents of a run, by the calls that they work for.
pub(super) struct Subagents {
    version: AgUi,
    /// Every call: its tool, and the call it was made for.
    calls: HashMap<Id, (Id, Option<Id>)>,
    known: HashMap<Id, Phase>,
}

enum Phase {
    Active,
    /// An id cannot be used again.
    Over,
}

impl Subagents {
    pub(super) fn new(version: AgUi) -> Subagents {
        Subagents { version, calls: HashMap::new(), known: HashMap::new() }
    }

    /// A call that a sub-agent may work for.
    pub(super) fn calls(&mut self, tool: &Tool) {
        if self.version == AgUi::V1 {
            self.calls.insert(tool.id.clone(), (tool.name.clone(), tool.parent.clone()));
        }
    }

    /// The sub-agent of a call is about to say something.
    pub(super) fn speaks(&mut self, parent: Option<&Id>, sink: &mut Sink<'_>) {
        let Some(parent) = parent.filter(|_| self.version == AgUi::V1) else { return };
        if self.known.contains_key(parent) {
            return;
        }
        let (name, above) = match self.calls.get(parent) {
            Some((name, above)) => (name.clone(), above.clone()),
            None => (Id::from("unknown"), None),
        };
        let above = above.filter(|above| self.known.contains_key(above));
        let started = event("SUBAGENT_STARTED")
            .text("subagentRunId", parent)
            .text("name", &name)
            .maybe("parentSubagentRunId", above.as_deref())
            .text("parentToolCallId", parent);
        sink.frame(started.end());
        self.known.insert(parent.clone(), Phase::Active);
    }

    /// Says which sub-agent an event belongs to, where a reader knows what that is.
    pub(super) fn tagged(&self, object: Object, parent: Option<&Id>) -> Object {
        match self.version {
            AgUi::V0 => object,
            AgUi::V1 => attributed(object, parent),
        }
    }

    /// A call comes to its end, and its sub-agent with it.
    pub(super) fn settles(&mut self, tool: &Tool, settled: Settled<'_>, sink: &mut Sink<'_>) {
        let Some(phase @ Phase::Active) = self.known.get_mut(&tool.id) else { return };
        *phase = Phase::Over;
        sink.frame(match settled.status {
            Status::Succeeded | Status::HandedOver => finished(&tool.id),
            Status::Unknown
            | Status::Pending
            | Status::AwaitingApproval
            | Status::Running
            | Status::Failed
            | Status::Denied
            | Status::Cancelled
            | Status::Interrupted => event("SUBAGENT_ERROR")
                .text("subagentRunId", &tool.id)
                .text("message", &settled.content.plain())
                .text("code", settled.status.name())
                .end(),
        });
    }

    /// The run comes to its end, and those with it whose call nobody saw.
    pub(super) fn over(&mut self, sink: &mut Sink<'_>) {
        let mut left: Vec<&Id> = Vec::new();
        for (id, phase) in &mut self.known {
            if let Phase::Active = phase {
                *phase = Phase::Over;
                left.push(id);
            }
        }
        left.sort();
        left.into_iter().for_each(|id| sink.frame(finished(id)));
    }
}

fn finished(id: &str) -> String {
    event("SUBAGENT_FINISHED").text("subagentRunId", id).end()
}
