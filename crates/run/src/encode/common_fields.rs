//! What the formats have in common: names of our enums, and objects that all formats carry besides
//! their own fields.

use super::{
    json::{JsonObjectWriter, array},
    tracker::{RunEnding, ToolEnding},
};
use crate::{
    ApprovalVerdict, Outcome, RunProblem, RunSummary, RunUsage, TaskItem, TaskStatus,
    ToolsAvailable,
};

pub(super) fn verdict_name(verdict: ApprovalVerdict) -> &'static str {
    match verdict {
        ApprovalVerdict::Allowed => "allowed",
        ApprovalVerdict::Denied => "denied",
        ApprovalVerdict::Answered => "answered",
        ApprovalVerdict::Cancelled => "cancelled",
    }
}

pub(super) fn task_status_name(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Unknown => "unknown",
        TaskStatus::Pending => "pending",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Completed => "completed",
        TaskStatus::Paused => "paused",
    }
}

/// Adds token counts under the names that AG-UI and the AI SDK use.
pub(super) fn add_usage(object: JsonObjectWriter, usage: &RunUsage) -> JsonObjectWriter {
    object
        .number("inputTokens", usage.input)
        .number("outputTokens", usage.output)
        .number("totalTokens", usage.input.saturating_add(usage.output))
        .number("reasoningTokens", usage.reasoning)
        .number("cachedInputTokens", usage.cached)
}

pub(super) fn task_list(tasks: &[TaskItem]) -> String {
    array(tasks.iter().map(|task| {
        JsonObjectWriter::new()
            .optional_text("id", task.id.as_deref())
            .text("content", &task.content)
            .text("status", task_status_name(task.status))
            .optional_text("active", task.active.as_deref())
            .finish()
    }))
}

pub(super) fn tools_object(tools: &ToolsAvailable) -> JsonObjectWriter {
    let object = match tools.version {
        Some(version) => JsonObjectWriter::new().number("version", version),
        None => JsonObjectWriter::new(),
    };
    let names = tools.tools.iter().map(|name| super::json::quote(name));
    object.flag("ready", tools.ready).list("tools", names)
}

pub(super) fn problem_object(problem: &RunProblem) -> JsonObjectWriter {
    JsonObjectWriter::new()
        .text("message", &problem.message)
        .optional_text("code", problem.code.as_deref())
}

/// Counts of calls by status. Statuses without calls are left out.
pub(super) fn summary_object(summary: &RunSummary) -> JsonObjectWriter {
    let mut object = JsonObjectWriter::new().number("calls", summary.calls as u64);
    for status in crate::ToolStatus::ALL {
        let count = summary.count(status);
        if count > 0 {
            object = object.number(status.name(), count as u64);
        }
    }
    object
}

/// Adds our own status and reason, which are more precise than those of any format.
pub(super) fn add_tool_ending(
    object: JsonObjectWriter,
    ending: ToolEnding<'_>,
) -> JsonObjectWriter {
    object
        .text("status", ending.status.name())
        .optional_text("reason", ending.reason.map(crate::ToolStatusReason::name))
}

/// The error message of a failed run.
pub(super) fn problem_message<'a>(ending: &RunEnding<'a>) -> &'a str {
    let message = ending.ended.problem.as_ref().map(|problem| problem.message.as_str());
    message.filter(|message| !message.is_empty()).unwrap_or(match ending.outcome {
        Outcome::Interrupted => "The run was interrupted: its process is gone.",
        Outcome::Completed
        | Outcome::Stopped
        | Outcome::Failed
        | Outcome::NoText
        | Outcome::MaxTurns
        | Outcome::Refused
        | Outcome::Replaced => "The run failed.",
    })
}

/// The error code of a failed run.
pub(super) fn problem_code<'a>(ending: &RunEnding<'a>) -> &'a str {
    let code = ending.ended.problem.as_ref().and_then(|problem| problem.code.as_deref());
    code.unwrap_or(ending.outcome.name())
}
