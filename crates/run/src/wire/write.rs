//! Writes an event field by field. The order of the fields is fixed, so the same event always gives
//! the same text.

use super::{enum_names, field_writer::JsonFieldWriter};
use crate::{
    ApprovalKind, ApprovalReply, ApprovalVerdict, CallRef, EventPayload, RunEnd, RunEvent,
    RunProblem, RunUsage, TextUpdate, ToolCallUpdate, ToolResult,
};

/// The highest sequence number: the largest integer that every JSON reader holds exactly.
pub(super) const LAST_PLACE: u64 = 1 << 53;

pub(super) fn write_event(event: &RunEvent, epoch: Option<u64>, at: Option<u64>, out: &mut String) {
    let mut writer = JsonFieldWriter::open(out);
    writer.text("type", type_name(&event.body));
    writer.text("runId", &event.run);
    writer.number_if("epoch", epoch);
    // Sequence numbers start at 1. A reader would ignore any other number, so it is left out.
    writer.number_if("seq", event.seq.filter(|seq| (1..=LAST_PLACE).contains(seq)));
    writer.number_if("at", at);
    write_payload(&event.body, &mut writer);
    writer.id("odd", event.unknown_word.as_ref());
    writer.close();
}

/// The `type` of an event.
fn type_name(body: &EventPayload) -> &'static str {
    match body {
        EventPayload::Started(_) => "run-started",
        EventPayload::ToolsAvailable(_) => "tools-available",
        EventPayload::TurnStarted(_) => "turn-started",
        EventPayload::Text(_) => "text",
        EventPayload::Thought(_) => "thought",
        EventPayload::ToolCall(_) => "tool-call",
        EventPayload::ToolArguments { .. } => "tool-arguments",
        EventPayload::ToolProgress { .. } => "tool-progress",
        EventPayload::ToolResult(_) => "tool-result",
        EventPayload::ToolCancelled { .. } => "tool-cancelled",
        EventPayload::ApprovalRequested(request) => match request.kind {
            ApprovalKind::Approval => "approval-asked",
            ApprovalKind::Question => "question-asked",
        },
        EventPayload::ApprovalReplied(reply) => match reply.verdict {
            ApprovalVerdict::Allowed | ApprovalVerdict::Denied => "approval-answered",
            ApprovalVerdict::Answered | ApprovalVerdict::Cancelled => "question-answered",
        },
        EventPayload::Tasks(_) => "tasks",
        EventPayload::Usage(_) => "usage",
        EventPayload::Activity(_) => "activity",
        EventPayload::Problem(_) => "error",
        EventPayload::Stop(_) => "stop",
        EventPayload::TimedOut { .. } => "timed-out",
        EventPayload::Ended(_) => "run-ended",
        EventPayload::Unknown { .. } => "unknown",
    }
}

fn write_payload(body: &EventPayload, writer: &mut JsonFieldWriter<'_>) {
    match body {
        EventPayload::Started(started) => {
            writer.id("sessionId", started.session.as_ref());
            writer.id("parentRunId", started.parent.as_ref());
            writer.id("agent", started.agent.as_ref());
            writer.id("model", started.model.as_ref());
        }
        EventPayload::ToolsAvailable(available) => {
            writer.number_if("version", available.version);
            writer.flag("ready", available.ready);
            writer.texts("tools", &available.tools);
        }
        EventPayload::TurnStarted(turn) => {
            writer.number_if("turn", turn.turn.map(u64::from));
            writer.id("messageId", turn.message.as_ref());
        }
        EventPayload::Text(text) | EventPayload::Thought(text) => write_text(text, writer),
        EventPayload::ToolCall(call) => write_call(call, writer),
        EventPayload::ToolArguments { call, delta } => {
            write_call_ref(call, writer);
            writer.text("delta", delta);
        }
        EventPayload::ToolProgress { call, content } => {
            write_call_ref(call, writer);
            writer.raw_if("content", Some(content));
        }
        EventPayload::ToolResult(result) => write_result(result, writer),
        EventPayload::ToolCancelled { call } => write_call_ref(call, writer),
        EventPayload::ApprovalRequested(request) => {
            write_call_ref(&request.call, writer);
            writer.id("requestId", request.id.as_ref());
            writer.text_if("prompt", request.prompt.as_deref());
            writer.raw_if("choices", request.choices.as_ref());
        }
        EventPayload::ApprovalReplied(reply) => write_reply(reply, writer),
        EventPayload::Tasks(tasks) => writer.objects("tasks", tasks, |writer, task| {
            writer.id("id", task.id.as_ref());
            writer.text("content", &task.content);
            writer.text("status", task.status.name());
            writer.text_if("activeForm", task.active.as_deref());
        }),
        EventPayload::Usage(usage) => write_usage(usage, writer),
        EventPayload::Activity(activity) => {
            writer.text("kind", &activity.kind);
            writer.id("activityId", activity.id.as_ref());
            writer.raw_if("content", Some(&activity.content));
        }
        EventPayload::Problem(problem) => write_problem(problem, writer),
        EventPayload::Stop(stop) => writer.number("grace", stop.grace),
        EventPayload::TimedOut { call: None } => {}
        EventPayload::TimedOut { call: Some(call) } => {
            if call.turn.is_none() && call.id.as_ref().is_none_or(|id| id.is_empty()) {
                // The empty id marks a call without an id; no id at all would mean the run.
                writer.text("toolCallId", "");
                writer.text("toolId", "");
            }
            write_call_ref(call, writer);
        }
        EventPayload::Ended(ended) => write_end(ended, writer),
        EventPayload::Unknown { kind, raw } => {
            writer.text("kind", kind);
            writer.raw("raw", raw);
        }
    }
}

fn write_text(text: &TextUpdate, writer: &mut JsonFieldWriter<'_>) {
    writer.id("messageId", text.message.as_ref());
    writer.id("parentToolCallId", text.parent.as_ref());
    writer.text_if("delta", text.delta.as_deref());
    writer.text_if("full", text.full.as_deref());
}

/// A call id, under both field names that readers know.
fn write_call_ref(call: &CallRef, writer: &mut JsonFieldWriter<'_>) {
    writer.id("toolCallId", call.id.as_ref());
    writer.id("toolId", call.id.as_ref());
    writer.number_if("turn", call.turn.map(u64::from));
}

fn write_call(call: &ToolCallUpdate, writer: &mut JsonFieldWriter<'_>) {
    write_call_ref(&call.call, writer);
    writer.id("name", call.name.as_ref());
    writer.id("parentToolCallId", call.parent.as_ref());
    writer.raw_if("input", call.input.as_ref());
    writer.text_if("title", call.title.as_deref());
    // A final status comes with the result.
    let open = call.status.filter(|status| !status.is_final());
    writer.text_if("status", open.map(|status| status.name()));
}

fn write_result(result: &ToolResult, writer: &mut JsonFieldWriter<'_>) {
    write_call_ref(&result.call, writer);
    writer.id("name", result.name.as_ref());
    writer.text("status", result.outcome.status().name());
    writer.flag("isError", enum_names::is_error(result.outcome));
    let pair = (result.outcome, result.reason);
    let is_plain = match result.reason {
        None => true,
        // Readers would misinterpret the status and the reason alone.
        Some(_) => {
            result.outcome.reason().is_none()
                && enum_names::combine_outcome(result.outcome, result.reason) == pair
        }
    };
    if !is_plain {
        writer.text("how", enum_names::outcome_name(result.outcome));
    }
    writer.text_if("reason", result.reason.or(result.outcome.reason()).map(|reason| reason.name()));
    writer.raw_if("content", result.content.as_ref());
}

fn write_reply(reply: &ApprovalReply, writer: &mut JsonFieldWriter<'_>) {
    write_call_ref(&reply.call, writer);
    writer.id("requestId", reply.id.as_ref());
    writer.text("verdict", reply.verdict.name());
    writer.raw_if("answer", reply.answer.as_ref());
}

fn write_usage(usage: &RunUsage, writer: &mut JsonFieldWriter<'_>) {
    writer.object("tokenUsage");
    writer.number("input", usage.input);
    writer.number("output", usage.output);
    writer.number("cached", usage.cached);
    writer.number("reasoning", usage.reasoning);
    writer.close();
}

fn write_problem(problem: &RunProblem, writer: &mut JsonFieldWriter<'_>) {
    writer.text("message", &problem.message);
    writer.id("code", problem.code.as_ref());
    writer.flag("fatal", problem.fatal);
}

fn write_end(ended: &RunEnd, writer: &mut JsonFieldWriter<'_>) {
    writer.text_if("reason", ended.outcome.map(|outcome| outcome.name()));
    writer.text_if("finalContent", ended.text.as_deref());
    if let Some(problem) = &ended.problem {
        writer.object("error");
        write_problem(problem, writer);
        writer.close();
    }
    if let Some(usage) = &ended.usage {
        write_usage(usage, writer);
    }
}
