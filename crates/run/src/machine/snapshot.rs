//! The state as JSON: what user interfaces are given, and what every implementation agrees on.

use serde_json::{Map, Value, json};

use super::{ApprovalState, Run, RunPhase, SessionMachine, TextItem, TextKind, ToolCallState};
use crate::{ApprovalKind, RawJson, RunProblem, RunSummary, RunUsage, TaskItem, ToolStatus};

impl SessionMachine {
    /// Everything, with the counts of what was thrown away.
    pub fn snapshot(&self) -> Value {
        let mut all = self.canonical_state();
        if let Some(object) = all.as_object_mut() {
            object.insert("waiting".into(), self.barrier.len().into());
            object.insert("dropped".into(), self.barrier.dropped.into());
        }
        let runs = all.get_mut("runs").and_then(Value::as_array_mut);
        for (told, run) in runs.into_iter().flatten().zip(&self.runs) {
            if let Some(object) = told.as_object_mut() {
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
        all
    }

    /// What is true, whatever the way on which the events came.
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
    /// The run alone.
    pub fn canonical_state(&self) -> Value {
        let flags = self.flags();
        let mut told = Map::new();
        told.insert("id".into(), (*self.id).into());
        told.insert("epoch".into(), self.epoch.into());
        let (phase, ended) = match &self.phase {
            RunPhase::Running => ("running", None),
            RunPhase::Stopping { ended, .. } => ("stopping", Some(ended)),
            RunPhase::Ended { ended, .. } => ("ended", Some(ended)),
        };
        told.insert("phase".into(), phase.into());
        if let Some(ended) = ended {
            put(&mut told, "outcome", ended.outcome.map(|outcome| outcome.name().into()));
            put(&mut told, "text", ended.text.clone().map(Value::from));
            put(&mut told, "error", ended.problem.as_ref().map(problem));
        }
        told.insert("turn".into(), self.turn.into());
        told.insert(
            "flags".into(),
            json!({
                "generating": flags.generating,
                "thinking": flags.thinking,
                "streaming": flags.streaming,
            }),
        );
        told.insert("tools".into(), self.tools().iter().map(tool).collect());
        told.insert("texts".into(), self.texts().iter().map(text).collect());
        told.insert("usage".into(), usage(&self.usage));
        told.insert("summary".into(), summary(&self.summary()));
        Value::Object(told)
    }
}

fn tool(tool: &ToolCallState) -> Value {
    let mut told = Map::new();
    told.insert("call".into(), (*tool.call).into());
    told.insert("turn".into(), tool.turn().into());
    put(&mut told, "name", tool.name.as_deref().map(Value::from));
    put(&mut told, "parent", tool.parent.as_deref().map(Value::from));
    put(&mut told, "title", tool.title.clone().map(Value::from));
    told.insert("called".into(), tool.was_called().into());
    told.insert("status".into(), tool.status().name().into());
    put(&mut told, "reason", tool.reason.map(|reason| reason.name().into()));
    put(&mut told, "input", tool.input.as_ref().map(RawJson::value));
    put(&mut told, "content", tool.content.as_ref().map(RawJson::value));
    if !tool.approvals.is_empty() {
        told.insert("asks".into(), tool.approvals.iter().map(approval).collect());
    }
    Value::Object(told)
}

fn approval(asked: &ApprovalState) -> Value {
    let mut told = Map::new();
    told.insert("id".into(), (*asked.id).into());
    let kind = match asked.kind {
        ApprovalKind::Approval => "approval",
        ApprovalKind::Question => "question",
    };
    told.insert("kind".into(), kind.into());
    put(&mut told, "verdict", asked.verdict.map(|verdict| verdict.name().into()));
    Value::Object(told)
}

fn text(item: &TextItem) -> Value {
    let mut told = Map::new();
    told.insert("id".into(), (*item.id).into());
    let kind = match item.kind {
        TextKind::Text => "text",
        TextKind::Thought => "thought",
    };
    told.insert("kind".into(), kind.into());
    put(&mut told, "parent", item.parent.as_deref().map(Value::from));
    told.insert("text".into(), item.text.clone().into());
    told.insert("complete".into(), item.complete.into());
    Value::Object(told)
}

fn task(task: &TaskItem) -> Value {
    let mut told = Map::new();
    put(&mut told, "id", task.id.as_deref().map(Value::from));
    told.insert("content".into(), task.content.clone().into());
    told.insert("status".into(), task.status.name().into());
    put(&mut told, "active", task.active.clone().map(Value::from));
    Value::Object(told)
}

fn problem(problem: &RunProblem) -> Value {
    let mut told = Map::new();
    told.insert("message".into(), problem.message.clone().into());
    put(&mut told, "code", problem.code.as_deref().map(Value::from));
    Value::Object(told)
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
    let mut told = Map::new();
    put(&mut told, "available", summary.available.map(Value::from));
    told.insert("calls".into(), summary.calls.into());
    told.insert("byStatus".into(), Value::Object(by_status));
    Value::Object(told)
}

fn put(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.into(), value);
    }
}
