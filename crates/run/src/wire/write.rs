//! An event, field by field. The order of the fields is fixed, so the same event is always the
//! same text.

use super::{enum_names, field_writer::JsonFieldWriter};
use crate::{
    ApprovalKind, ApprovalReply, ApprovalVerdict, CallRef, EventPayload, RunEnd, RunEvent,
    RunProblem, RunUsage, TextUpdate, ToolCallUpdate, ToolResult,
};

/// The last place in a run that every reader can hold exactly.
pub(super) const LAST_PLACE: u64 = 1 << 53;

pub(super) fn write_event(event: &RunEvent, out: &mut String) {
    let mut pen = JsonFieldWriter::open(out);
    pen.text("type", type_name(&event.body));
    pen.text("runId", &event.run);
    pen.number_if("epoch", event.epoch);
    // Places count from 1 on. What is no place would be read as none, so it is none.
    pen.number_if("seq", event.seq.filter(|seq| (1..=LAST_PLACE).contains(seq)));
    pen.number_if("at", event.at);
    write_payload(&event.body, &mut pen);
    pen.id("odd", event.unknown_word.as_ref());
    pen.close();
}

/// The type of an event, as it is written.
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
        EventPayload::ApprovalRequested(ask) => match ask.kind {
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

fn write_payload(body: &EventPayload, pen: &mut JsonFieldWriter<'_>) {
    match body {
        EventPayload::Started(started) => {
            pen.id("sessionId", started.session.as_ref());
            pen.id("parentRunId", started.parent.as_ref());
            pen.id("agent", started.agent.as_ref());
            pen.id("model", started.model.as_ref());
        }
        EventPayload::ToolsAvailable(available) => {
            pen.number_if("version", available.version);
            pen.flag("ready", available.ready);
            pen.texts("tools", &available.tools);
        }
        EventPayload::TurnStarted(turn) => {
            pen.number_if("turn", turn.turn.map(u64::from));
            pen.id("messageId", turn.message.as_ref());
        }
        EventPayload::Text(said) | EventPayload::Thought(said) => write_text(said, pen),
        EventPayload::ToolCall(made) => write_call(made, pen),
        EventPayload::ToolArguments { call, delta } => {
            write_call_ref(call, pen);
            pen.text("delta", delta);
        }
        EventPayload::ToolProgress { call, content } => {
            write_call_ref(call, pen);
            pen.raw_if("content", Some(content));
        }
        EventPayload::ToolResult(answer) => write_result(answer, pen),
        EventPayload::ToolCancelled { call } => write_call_ref(call, pen),
        EventPayload::ApprovalRequested(ask) => {
            write_call_ref(&ask.call, pen);
            pen.id("requestId", ask.id.as_ref());
            pen.text_if("prompt", ask.prompt.as_deref());
            pen.raw_if("choices", ask.choices.as_ref());
        }
        EventPayload::ApprovalReplied(reply) => write_reply(reply, pen),
        EventPayload::Tasks(tasks) => pen.objects("tasks", tasks, |pen, task| {
            pen.id("id", task.id.as_ref());
            pen.text("content", &task.content);
            pen.text("status", task.status.name());
            pen.text_if("activeForm", task.active.as_deref());
        }),
        EventPayload::Usage(cost) => write_usage(cost, pen),
        EventPayload::Activity(activity) => {
            pen.text("kind", &activity.kind);
            pen.id("activityId", activity.id.as_ref());
            pen.raw_if("content", Some(&activity.content));
        }
        EventPayload::Problem(went_wrong) => write_problem(went_wrong, pen),
        EventPayload::Stop(stop) => pen.number("grace", stop.grace),
        EventPayload::TimedOut { call: None } => {}
        EventPayload::TimedOut { call: Some(call) } => {
            if call.turn.is_none() && call.id.as_ref().is_none_or(|id| id.is_empty()) {
                // Some call, and not the run: the empty id says so.
                pen.text("toolCallId", "");
                pen.text("toolId", "");
            }
            write_call_ref(call, pen);
        }
        EventPayload::Ended(told) => write_end(told, pen),
        EventPayload::Unknown { kind, raw } => {
            pen.text("kind", kind);
            pen.raw("raw", raw);
        }
    }
}

fn write_text(text: &TextUpdate, pen: &mut JsonFieldWriter<'_>) {
    pen.id("messageId", text.message.as_ref());
    pen.id("parentToolCallId", text.parent.as_ref());
    pen.text_if("delta", text.delta.as_deref());
    pen.text_if("full", text.full.as_deref());
}

/// A call under both names that readers know.
fn write_call_ref(call: &CallRef, pen: &mut JsonFieldWriter<'_>) {
    pen.id("toolCallId", call.id.as_ref());
    pen.id("toolId", call.id.as_ref());
    pen.number_if("turn", call.turn.map(u64::from));
}

fn write_call(call: &ToolCallUpdate, pen: &mut JsonFieldWriter<'_>) {
    write_call_ref(&call.call, pen);
    pen.id("name", call.name.as_ref());
    pen.id("parentToolCallId", call.parent.as_ref());
    pen.raw_if("input", call.input.as_ref());
    pen.text_if("title", call.title.as_deref());
    // A final status comes with the result.
    let open = call.status.filter(|status| !status.is_final());
    pen.text_if("status", open.map(|status| status.name()));
}

fn write_result(result: &ToolResult, pen: &mut JsonFieldWriter<'_>) {
    write_call_ref(&result.call, pen);
    pen.id("name", result.name.as_ref());
    pen.text("status", result.outcome.status().name());
    pen.flag("isError", enum_names::is_error(result.outcome));
    let said = (result.outcome, result.reason);
    let plain = match result.reason {
        None => true,
        // Status and reason alone would be read as something else.
        Some(_) => {
            result.outcome.reason().is_none()
                && enum_names::combine_outcome(result.outcome, result.reason) == said
        }
    };
    if !plain {
        pen.text("how", enum_names::outcome_name(result.outcome));
    }
    pen.text_if("reason", result.reason.or(result.outcome.reason()).map(|reason| reason.name()));
    pen.raw_if("content", result.content.as_ref());
}

fn write_reply(reply: &ApprovalReply, pen: &mut JsonFieldWriter<'_>) {
    write_call_ref(&reply.call, pen);
    pen.id("requestId", reply.id.as_ref());
    pen.text("verdict", reply.verdict.name());
    pen.raw_if("answer", reply.answer.as_ref());
}

fn write_usage(usage: &RunUsage, pen: &mut JsonFieldWriter<'_>) {
    pen.object("tokenUsage");
    pen.number("input", usage.input);
    pen.number("output", usage.output);
    pen.number("cached", usage.cached);
    pen.number("reasoning", usage.reasoning);
    pen.close();
}

fn write_problem(problem: &RunProblem, pen: &mut JsonFieldWriter<'_>) {
    pen.text("message", &problem.message);
    pen.id("code", problem.code.as_ref());
    pen.flag("fatal", problem.fatal);
}

fn write_end(ended: &RunEnd, pen: &mut JsonFieldWriter<'_>) {
    pen.text_if("reason", ended.outcome.map(|outcome| outcome.name()));
    pen.text_if("finalContent", ended.text.as_deref());
    if let Some(went_wrong) = &ended.problem {
        pen.object("error");
        write_problem(went_wrong, pen);
        pen.close();
    }
    if let Some(cost) = &ended.usage {
        write_usage(cost, pen);
    }
}
