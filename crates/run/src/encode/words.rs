//! What the standards have in common: the words of our enums, and the objects that they all carry
//! beside their own fields.

use super::{
    json::{Object, array},
    tracker::{Over, Settled},
};
use crate::{Outcome, Problem, Summary, Task, TaskStatus, ToolsAvailable, Usage, Verdict};

pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allowed => "allowed",
        Verdict::Denied => "denied",
        Verdict::Answered => "answered",
        Verdict::Cancelled => "cancelled",
    }
}

pub(super) fn task_status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Unknown => "unknown",
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Paused => "paused",
    }
}

/// Tokens, in the names that AG-UI and the AI SDK give them.
pub(super) fn usage(object: Object, usage: &Usage) -> Object {
    object
        .number("inputTokens", usage.input)
        .number("outputTokens", usage.output)
        .number("totalTokens", usage.input.saturating_add(usage.output))
        .number("reasoningTokens", usage.reasoning)
        .number("cachedInputTokens", usage.cached)
}

pub(super) fn tasks(tasks: &[Task]) -> String {
    array(tasks.iter().map(|task| {
        Object::new()
            .maybe("id", task.id.as_deref())
            .text("content", &task.content)
            .text("status", task_status(task.status))
            .maybe("active", task.active.as_deref())
            .end()
    }))
}

pub(super) fn tools(tools: &ToolsAvailable) -> Object {
    let object = match tools.version {
        Some(version) => Object::new().number("version", version),
        None => Object::new(),
    };
    let names = tools.tools.iter().map(|name| super::json::quoted(name));
    object.flag("ready", tools.ready).list("tools", names)
}

pub(super) fn problem(problem: &Problem) -> Object {
    Object::new().text("message", &problem.message).maybe("code", problem.code.as_deref())
}

/// Calls by how they ended; those that no call has are left out.
pub(super) fn summary(summary: &Summary) -> Object {
    let mut object = Object::new().number("calls", summary.calls as u64);
    for status in crate::Status::ALL {
        let count = summary.count(status);
        if count > 0 {
            object = object.number(status.name(), count as u64);
        }
    }
    object
}

/// What a call's status is in our words, which say more than those of any standard.
pub(super) fn settled(object: Object, settled: Settled<'_>) -> Object {
    object
        .text("status", settled.status.name())
        .maybe("reason", settled.reason.map(crate::Reason::name))
}

/// What went wrong, for runs that failed.
pub(super) fn trouble<'a>(over: &Over<'a>) -> &'a str {
    let told = over.ended.problem.as_ref().map(|problem| problem.message.as_str());
    told.filter(|message| !message.is_empty()).unwrap_or(match over.outcome {
        Outcome::Interrupted => "The run was interrupted: whoever ran it is gone.",
        Outcome::Completed
        | Outcome::Stopped
        | Outcome::Failed
        | Outcome::NoText
        | Outcome::MaxTurns
        | Outcome::Refused
        | Outcome::Replaced => "The run failed.",
    })
}

/// The same in a word.
pub(super) fn trouble_code<'a>(over: &Over<'a>) -> &'a str {
    let told = over.ended.problem.as_ref().and_then(|problem| problem.code.as_deref());
    told.unwrap_or(over.outcome.name())
}
