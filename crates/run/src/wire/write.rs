//! An event, field by field. The order of the fields is fixed, so the same event is always the
//! same text.

use super::{pen::Pen, words};
use crate::{
    AskKind, Body, Call, CallRef, Ended, Event, Problem, Reply, Text, ToolResult, Usage, Verdict,
};

/// The last place in a run that every reader can hold exactly.
pub(super) const LAST_PLACE: u64 = 1 << 53;

pub(super) fn event(event: &Event, out: &mut String) {
    let mut pen = Pen::open(out);
    pen.text("type", kind(&event.body));
    pen.text("runId", &event.run);
    pen.number_if("epoch", event.epoch);
    // Places count from 1 on. What is no place would be read as none, so it is none.
    pen.number_if("seq", event.seq.filter(|seq| (1..=LAST_PLACE).contains(seq)));
    pen.number_if("at", event.at);
    body(&event.body, &mut pen);
    pen.id("odd", event.odd.as_ref());
    pen.close();
}

/// The type of an event, as it is written.
fn kind(body: &Body) -> &'static str {
    match body {
        Body::Started(_) => "run-started",
        Body::ToolsAvailable(_) => "tools-available",
        Body::Turn(_) => "turn-started",
        Body::Text(_) => "text",
        Body::Thought(_) => "thought",
        Body::Call(_) => "tool-call",
        Body::Arguments { .. } => "tool-arguments",
        Body::Progress { .. } => "tool-progress",
        Body::Result(_) => "tool-result",
        Body::Cancelled { .. } => "tool-cancelled",
        Body::Asked(ask) => match ask.kind {
            AskKind::Approval => "approval-asked",
            AskKind::Question => "question-asked",
        },
        Body::Replied(reply) => match reply.verdict {
            Verdict::Allowed | Verdict::Denied => "approval-answered",
            Verdict::Answered | Verdict::Cancelled => "question-answered",
        },
        Body::Tasks(_) => "tasks",
        Body::Usage(_) => "usage",
        Body::Activity(_) => "activity",
        Body::Problem(_) => "error",
        Body::Stop(_) => "stop",
        Body::TimedOut { .. } => "timed-out",
        Body::Ended(_) => "run-ended",
        Body::Unknown { .. } => "unknown",
    }
}

fn body(body: &Body, pen: &mut Pen<'_>) {
    match body {
        Body::Started(started) => {
            pen.id("sessionId", started.session.as_ref());
            pen.id("parentRunId", started.parent.as_ref());
            pen.id("agent", started.agent.as_ref());
            pen.id("model", started.model.as_ref());
        }
        Body::ToolsAvailable(available) => {
            pen.number_if("version", available.version);
            pen.flag("ready", available.ready);
            pen.texts("tools", &available.tools);
        }
        Body::Turn(turn) => {
            pen.number_if("turn", turn.turn.map(u64::from));
            pen.id("messageId", turn.message.as_ref());
        }
        Body::Text(said) | Body::Thought(said) => text(said, pen),
        Body::Call(made) => call(made, pen),
        Body::Arguments { call, delta } => {
            which(call, pen);
            pen.text("delta", delta);
        }
        Body::Progress { call, content } => {
            which(call, pen);
            pen.raw_if("content", Some(content));
        }
        Body::Result(answer) => result(answer, pen),
        Body::Cancelled { call } => which(call, pen),
        Body::Asked(ask) => {
            which(&ask.call, pen);
            pen.id("requestId", ask.id.as_ref());
            pen.text_if("prompt", ask.prompt.as_deref());
            pen.raw_if("choices", ask.choices.as_ref());
        }
        Body::Replied(reply) => decision(reply, pen),
        Body::Tasks(tasks) => pen.objects("tasks", tasks, |pen, task| {
            pen.id("id", task.id.as_ref());
            pen.text("content", &task.content);
            pen.text("status", task.status.name());
            pen.text_if("activeForm", task.active.as_deref());
        }),
        Body::Usage(cost) => usage(cost, pen),
        Body::Activity(activity) => {
            pen.text("kind", &activity.kind);
            pen.id("activityId", activity.id.as_ref());
            pen.raw_if("content", Some(&activity.content));
        }
        Body::Problem(went_wrong) => problem(went_wrong, pen),
        Body::Stop(stop) => pen.number("grace", stop.grace),
        Body::TimedOut { call: None } => {}
        Body::TimedOut { call: Some(call) } => {
            if call.turn.is_none() && call.id.as_ref().is_none_or(|id| id.is_empty()) {
                // Some call, and not the run: the empty id says so.
                pen.text("toolCallId", "");
                pen.text("toolId", "");
            }
            which(call, pen);
        }
        Body::Ended(told) => ended(told, pen),
        Body::Unknown { kind, raw } => {
            pen.text("kind", kind);
            pen.raw("raw", raw);
        }
    }
}

fn text(text: &Text, pen: &mut Pen<'_>) {
    pen.id("messageId", text.message.as_ref());
    pen.id("parentToolCallId", text.parent.as_ref());
    pen.text_if("delta", text.delta.as_deref());
    pen.text_if("full", text.full.as_deref());
}

/// A call under both names that readers know.
fn which(call: &CallRef, pen: &mut Pen<'_>) {
    pen.id("toolCallId", call.id.as_ref());
    pen.id("toolId", call.id.as_ref());
    pen.number_if("turn", call.turn.map(u64::from));
}

fn call(call: &Call, pen: &mut Pen<'_>) {
    which(&call.call, pen);
    pen.id("name", call.name.as_ref());
    pen.id("parentToolCallId", call.parent.as_ref());
    pen.raw_if("input", call.input.as_ref());
    pen.text_if("title", call.title.as_deref());
    // A final status comes with the result.
    let open = call.status.filter(|status| !status.is_final());
    pen.text_if("status", open.map(|status| status.name()));
}

fn result(result: &ToolResult, pen: &mut Pen<'_>) {
    which(&result.call, pen);
    pen.id("name", result.name.as_ref());
    pen.text("status", result.how.status().name());
    pen.flag("isError", words::is_error(result.how));
    let said = (result.how, result.reason);
    let plain = match result.reason {
        None => true,
        // Status and reason alone would be read as something else.
        Some(_) => result.how.reason().is_none() && words::how(result.how, result.reason) == said,
    };
    if !plain {
        pen.text("how", words::how_name(result.how));
    }
    pen.text_if("reason", result.reason.or(result.how.reason()).map(|reason| reason.name()));
    pen.raw_if("content", result.content.as_ref());
}

fn decision(reply: &Reply, pen: &mut Pen<'_>) {
    which(&reply.call, pen);
    pen.id("requestId", reply.id.as_ref());
    pen.text("verdict", reply.verdict.name());
    pen.raw_if("answer", reply.answer.as_ref());
}

fn usage(usage: &Usage, pen: &mut Pen<'_>) {
    pen.object("tokenUsage");
    pen.number("input", usage.input);
    pen.number("output", usage.output);
    pen.number("cached", usage.cached);
    pen.number("reasoning", usage.reasoning);
    pen.close();
}

fn problem(problem: &Problem, pen: &mut Pen<'_>) {
    pen.text("message", &problem.message);
    pen.id("code", problem.code.as_ref());
    pen.flag("fatal", problem.fatal);
}

fn ended(ended: &Ended, pen: &mut Pen<'_>) {
    pen.text_if("reason", ended.outcome.map(|outcome| outcome.name()));
    pen.text_if("finalContent", ended.text.as_deref());
    if let Some(went_wrong) = &ended.problem {
        pen.object("error");
        problem(went_wrong, pen);
        pen.close();
    }
    if let Some(cost) = &ended.usage {
        usage(cost, pen);
    }
}
