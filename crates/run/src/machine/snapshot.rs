//! The state as JSON, for user interfaces and for comparing implementations.

use serde_json::{Map, Value, json};

use super::{ApprovalState, Run, RunPhase, SessionMachine, TextItem, TextKind, ToolCallState};
use crate::{ApprovalKind, RawJson, RunProblem, RunSummary, RunUsage, TaskItem, ToolStatus};

impl SessionMachine {
    /// Returns the whole state, with the counts of dropped events.
    pub fn snapshot(&self) -> Value {
        let mut snapshot = self.canonical_state();
        if let Some(object) = snapshot.as_object_mut() {
            object.insert("waiting".into(), self.barrier.len().into());
            object.insert("dropped".into(), self.barrier.dropped.into());
        }
        let runs = snapshot.get_mut("runs").and_then(Value::as_array_mut);
        for (value, run) in runs.into_iter().flatten().zip(&self.runs) {
            if let Some(object) = value.as_object_mut() {
                let counts = run.counts();
                let counts = json!({
                    "accepted": counts.accepted,
                    "repeated": counts.repeated,
                    "late": counts.late,
                    "missing": counts.missing,
                });
                object.insert("counts".into(), counts);
            }
        }
        snapshot
    }

    /// Returns the part of the state that does not depend on how the events arrived.
    pub fn canonical_state(&self) -> Value {
        json!({
            "epoch": self.epoch,
            "active": self.active.as_deref(),
            "runs": self.runs.iter().map(Run::canonical_state).collect::<Vec<_>>(),
            "tasks": self.tasks().iter().map(task).collect::<Vec<_>>(),
        })
    }
}

impl Run {
    /// Returns the state of this run alone.
    pub fn canonical_state(&self) -> Value {
        let flags = self.flags();
        let mut object = Map::new();
        object.insert("id".into(), (*self.id).into());
        object.insert("epoch".into(), self.epoch.into());
        let (phase, ended) = match &self.phase {
            RunPhase::Running => ("running", None),
            RunPhase::Stopping { ended, .. } => ("stopping", Some(ended)),
            RunPhase::Ended { ended, .. } => ("ended", Some(ended)),
        };
        object.insert("phase".into(), phase.into());
        if let Some(ended) = ended {
            put(&mut object, "outcome", ended.outcome.map(|outcome| outcome.name().into()));
            put(&mut object, "text", ended.text.clone().map(Value::from));
            put(&mut object, "error", ended.problem.as_ref().map(problem));
        }
        object.insert("turn".into(), self.turn.into());
        object.insert(
            "flags".into(),
            json!({
                "generating": flags.generating,
                "thinking": flags.thinking,
                "streaming": flags.streaming,
            }),
        );
        object.insert("tools".into(), self.tools().iter().map(tool).collect());
        object.insert("texts".into(), self.texts().iter().map(text).collect());
        object.insert("usage".into(), usage(&self.usage));
        object.insert("summary".into(), summary(&self.summary()));
        Value::Object(object)
    }
}

fn tool(tool: &ToolCallState) -> Value {
    let mut object = Map::new();
    object.insert("call".into(), (*tool.call).into());
    object.insert("turn".into(), tool.turn().into());
    put(&mut object, "name", tool.name.as_deref().map(Value::from));
    put(&mut object, "parent", tool.parent.as_deref().map(Value::from));
    put(&mut object, "title", tool.title.clone().map(Value::from));
    object.insert("called".into(), tool.was_called().into());
    object.insert("status".into(), tool.status().name().into());
    put(&mut object, "reason", tool.reason.map(|reason| reason.name().into()));
    put(&mut object, "input", tool.input.as_ref().map(RawJson::value));
    put(&mut object, "content", tool.content.as_ref().map(RawJson::value));
    if !tool.approvals.is_empty() {
        object.insert("asks".into(), tool.approvals.iter().map(approval).collect());
    }
    Value::Object(object)
}

fn approval(approval: &ApprovalState) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), (*approval.id).into());
    let kind = match approval.kind {
        ApprovalKind::Approval => "approval",
        ApprovalKind::Question => "question",
    };
    object.insert("kind".into(), kind.into());
    put(&mut object, "verdict", approval.verdict.map(|verdict| verdict.name().into()));
    Value::Object(object)
}

fn text(item: &TextItem) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), (*item.id).into());
    let kind = match item.kind {
        TextKind::Text => "text",
        TextKind::Thought => "thought",
    };
    object.insert("kind".into(), kind.into());
    put(&mut object, "parent", item.parent.as_deref().map(Value::from));
    object.insert("text".into(), item.text.clone().into());
    object.insert("complete".into(), item.complete.into());
    Value::Object(object)
}

fn task(task: &TaskItem) -> Value {
    let mut object = Map::new();
    put(&mut object, "id", task.id.as_deref().map(Value::from));
    object.insert("content".into(), task.content.clone().into());
    object.insert("status".into(), task.status.name().into());
    put(&mut object, "active", task.active.clone().map(Value::from));
    Value::Object(object)
}

fn problem(problem: &RunProblem) -> Value {
    let mut object = Map::new();
    object.insert("message".into(), problem.message.clone().into());
    put(&mut object, "code", problem.code.as_deref().map(Value::from));
    Value::Object(object)
}

fn usage(usage: &RunUsage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
    })
}

fn summary(summary: &RunSummary) -> Value {
    let counts = ToolStatus::ALL.into_iter().map(|status| (status, summary.count(status)));
    let counts = counts.filter(|(_, count)| *count > 0);
    let by_status: Map<String, Value> =
        counts.map(|(status, count)| (status.name().to_owned(), count.into())).collect();
    let mut object = Map::new();
    put(&mut object, "available", summary.available.map(Value::from));
    object.insert("calls".into(), summary.calls.into());
    object.insert("byStatus".into(), Value::Object(by_status));
    Value::Object(object)
}

fn put(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.into(), value);
    }
}
