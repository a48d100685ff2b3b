//! Encodes a run for the user interface of a desktop agent, which knows `agent:*` events.
//!
//! That interface has fewer words: a call that was denied is an `error` there, one that was
//! interrupted is `cancelled`, and a question that was handed over is a `success`. Where its word
//! says less, `how` and `outcome` hold the exact one. Events that it has no word for are left out.
//! So are sequence numbers, because a reader would wait for the missing ones.

use crate::{
    ApprovalKind, ApprovalRequest, ApprovalVerdict, CallRef, EventPayload, Outcome, RawJson,
    RunEffect, RunEnd, RunEvent, RunProblem, RunStart, RunUsage, SharedId, TextUpdate,
    ToolCallUpdate, ToolRef, ToolStatus, ToolStatusReason, ToolsAvailable, UiChange,
};

use super::json::{JsonObjectWriter, quote};

/// Encodes the effects of a session as `agent:*` events. `docs/runs/events.md` lists the words.
#[derive(Default)]
pub struct DesktopEncoder {
    /// When the run started.
    started: Option<u64>,
    /// An error that ends the run was encoded.
    has_failed: bool,
    /// The number of the run, and when its last event happened.
    last: (Option<u64>, Option<u64>),
}

impl DesktopEncoder {
    /// Encodes an effect and appends its events: JSON objects, one line each.
    pub fn push(&mut self, effect: &RunEffect, out: &mut Vec<String>) {
        match effect {
            RunEffect::Emit(event) => self.encode_event(event, out),
            RunEffect::Show { run, change } => self.encode_change(run, change, out),
            RunEffect::Resolve { .. }
            | RunEffect::CancelTool { .. }
            | RunEffect::Announce { .. }
            | RunEffect::Drain { .. }
            | RunEffect::Warn(_) => {}
        }
    }

    fn encode_event(&mut self, event: &RunEvent, out: &mut Vec<String>) {
        self.last = (event.epoch, event.at);
        let run = &event.run;
        match &event.body {
            EventPayload::Started(started) => {
                self.started = event.at;
                self.has_failed = false;
                out.push(add_start(self.open("agent:run-start", run, "startedAt"), started));
            }
            EventPayload::ToolsAvailable(tools) => {
                out.push(add_tools(self.open("agent:tools-available", run, "emittedAt"), tools));
            }
            EventPayload::Text(text) => {
                out.push(add_message(self.open("agent:message", run, "timestamp"), text));
            }
            EventPayload::Thought(TextUpdate { message, parent, full: Some(text), .. }) => {
                let thought = add_id(JsonObjectWriter::new(), "id", message.as_ref())
                    .text("type", "thinking")
                    .text("content", text);
                let event = self.open("agent:thought", run, "timestamp");
                let event = add_id(event, "parentToolCallId", parent.as_ref());
                out.push(event.object("thought", thought).finish());
            }
            EventPayload::ToolCall(call) => {
                out.push(add_call(self.open("agent:tool-call", run, "timestamp"), call));
            }
            EventPayload::ApprovalRequested(request) => {
                out.push(add_request(self.open("agent:tool-call", run, "timestamp"), request));
            }
            EventPayload::ApprovalReplied(reply) => match reply.verdict {
                ApprovalVerdict::Allowed | ApprovalVerdict::Answered => {
                    let event = self.open("agent:tool-call", run, "timestamp");
                    out.push(add_call_id(event, &reply.call).text("status", "running").finish());
                }
                // The call ends, which is a change of its own.
                ApprovalVerdict::Denied | ApprovalVerdict::Cancelled => {}
            },
            EventPayload::Problem(problem) if problem.fatal => {
                self.has_failed = true;
                out.push(add_problem(self.open("agent:error", run, "timestamp"), problem));
            }
            EventPayload::Ended(ended) => self.encode_end(run, ended, out),
            // An interface shows a thought when it is complete, and results as the machine decides.
            EventPayload::Thought(TextUpdate { full: None, .. })
            | EventPayload::ToolResult(_)
            | EventPayload::ToolCancelled { .. }
            | EventPayload::Problem(_)
            | EventPayload::TurnStarted(_)
            | EventPayload::ToolArguments { .. }
            | EventPayload::ToolProgress { .. }
            | EventPayload::Tasks(_)
            | EventPayload::Usage(_)
            | EventPayload::Activity(_)
            | EventPayload::Stop(_)
            | EventPayload::TimedOut { .. }
            | EventPayload::Unknown { .. } => {}
        }
    }

    /// Calls end in changes: a denial ends a call before its result comes.
    fn encode_change(&mut self, run: &SharedId, change: &UiChange, out: &mut Vec<String>) {
        let (UiChange::ToolSettled { tool, status, reason, content }
        | UiChange::ToolCorrected { tool, status, reason, content }) = change
        else {
            return;
        };
        let event = self.open("agent:tool-result", run, "timestamp");
        out.push(add_result(event, tool, (*status, *reason), content));
    }

    /// The interface shows the error of `agent:error`, and ends the run at `agent:complete`.
    fn encode_end(&mut self, run: &SharedId, ended: &RunEnd, out: &mut Vec<String>) {
        if let Some(problem) = ended.problem.as_ref().filter(|_| !self.has_failed) {
            out.push(add_problem(self.open("agent:error", run, "timestamp"), problem));
        }
        let mut event = self.open("agent:complete", run, "terminalAt");
        if let Some(outcome) = ended.outcome {
            let (word, exact) = (outcome_word(outcome), outcome.name());
            event = event.text("reason", word);
            event = event.optional_text("outcome", Some(exact).filter(|exact| *exact != word));
        }
        let (_, at) = self.last;
        if let Some(duration) = at.zip(self.started).and_then(|(at, from)| at.checked_sub(from)) {
            event = event.number("duration", duration);
        }
        event = event.optional_text("finalContent", ended.text.as_deref());
        if let Some(usage) = &ended.usage {
            event = event.object("tokenUsage", usage_object(usage));
        }
        out.push(event.finish());
    }

    /// An event with its type, its run, and its time under the name that the type has for it.
    fn open(&self, kind: &str, run: &SharedId, time: &str) -> JsonObjectWriter {
        let (epoch, at) = self.last;
        let event = JsonObjectWriter::new().unescaped("type", kind).text("runId", run);
        let event = add_number(event, "runEpoch", epoch);
        add_number(event, time, at)
    }
}

fn add_number(event: JsonObjectWriter, key: &str, number: Option<u64>) -> JsonObjectWriter {
    match number {
        Some(number) => event.number(key, number),
        None => event,
    }
}

/// An empty id counts as missing.
fn add_id(event: JsonObjectWriter, key: &str, id: Option<&SharedId>) -> JsonObjectWriter {
    event.optional_text(key, id.map(|id| &**id).filter(|id| !id.is_empty()))
}

fn add_json(event: JsonObjectWriter, key: &str, json: Option<&RawJson>) -> JsonObjectWriter {
    match json {
        Some(json) => event.json(key, json),
        None => event,
    }
}

fn add_start(event: JsonObjectWriter, started: &RunStart) -> String {
    let event = add_id(event, "conversationId", started.session.as_ref());
    let event = add_id(event, "parentRunId", started.parent.as_ref());
    let event = add_id(event, "agent", started.agent.as_ref());
    add_id(event, "model", started.model.as_ref()).finish()
}

fn add_tools(event: JsonObjectWriter, tools: &ToolsAvailable) -> String {
    add_number(event, "snapshotVersion", tools.version)
        .text("phase", if tools.ready { "ready" } else { "initializing" })
        .list("tools", tools.tools.iter().map(|name| quote(name)))
        .number("toolCount", tools.tools.len() as u64)
        .finish()
}

/// A delta, or the whole text.
fn add_message(event: JsonObjectWriter, text: &TextUpdate) -> String {
    let event = add_id(event, "messageId", text.message.as_ref());
    let event = add_id(event, "parentToolCallId", text.parent.as_ref());
    let event = match (&text.full, &text.delta) {
        (Some(full), _) => event.text("content", full),
        (None, delta) => event.text("delta", delta.as_deref().unwrap_or_default()),
    };
    let is_complete = text.full.is_some();
    event.flag("isComplete", is_complete).flag("isStreaming", !is_complete).finish()
}

/// A call's id under all its names.
fn add_call_id(event: JsonObjectWriter, call: &CallRef) -> JsonObjectWriter {
    let id = call.id.as_ref();
    let event = add_id(add_id(event, "toolCallId", id), "toolId", id);
    add_number(add_id(event, "id", id), "turn", call.turn.map(u64::from))
}

fn add_call(event: JsonObjectWriter, call: &ToolCallUpdate) -> String {
    let event = add_id(add_call_id(event, &call.call), "name", call.name.as_ref());
    let event = add_id(event, "parentToolCallId", call.parent.as_ref());
    let event = add_json(event, "input", call.input.as_ref());
    let event = event.optional_text("description", call.title.as_deref());
    // A final status comes with the result.
    let open = call.status.filter(|status| !status.is_final());
    event.optional_text("status", open.map(open_status_word)).finish()
}

/// A call that waits for a person.
fn add_request(event: JsonObjectWriter, request: &ApprovalRequest) -> String {
    let event = add_call_id(event, &request.call)
        .text("status", open_status_word(ToolStatus::AwaitingApproval))
        .flag("requiresApproval", request.kind == ApprovalKind::Approval);
    let event = add_id(event, "requestId", request.id.as_ref());
    let event = event.optional_text("description", request.prompt.as_deref());
    add_json(event, "choices", request.choices.as_ref()).finish()
}

fn add_result(
    event: JsonObjectWriter,
    tool: &ToolRef,
    (status, reason): (ToolStatus, Option<ToolStatusReason>),
    content: &RawJson,
) -> String {
    let call = CallRef { id: Some(tool.call.clone()), turn: Some(tool.turn) };
    let (word, is_exact) = result_word(status);
    add_call_id(event, &call)
        .text("status", word)
        .flag("isError", !matches!(status, ToolStatus::Succeeded | ToolStatus::HandedOver))
        .optional_text("how", Some(status.name()).filter(|_| !is_exact))
        .optional_text("reason", reason.map(ToolStatusReason::name))
        .json("result", content)
        .finish()
}

fn add_problem(event: JsonObjectWriter, problem: &RunProblem) -> String {
    add_id(event.text("error", &problem.message), "code", problem.code.as_ref()).finish()
}

fn usage_object(usage: &RunUsage) -> JsonObjectWriter {
    JsonObjectWriter::new()
        .number("inputTokens", usage.input)
        .number("outputTokens", usage.output)
        .number("cacheReadTokens", usage.cached)
        .number("reasoningTokens", usage.reasoning)
}

fn open_status_word(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::AwaitingApproval => "waiting_approval",
        other => other.name(),
    }
}

/// The interface's word for how a call ended, and whether it says everything.
fn result_word(status: ToolStatus) -> (&'static str, bool) {
    match status {
        ToolStatus::Succeeded => ("success", true),
        ToolStatus::HandedOver => ("success", false),
        ToolStatus::Failed => ("error", true),
        ToolStatus::Denied => ("error", false),
        ToolStatus::Cancelled => ("cancelled", true),
        ToolStatus::Interrupted
        | ToolStatus::Unknown
        | ToolStatus::Pending
        | ToolStatus::AwaitingApproval
        | ToolStatus::Running => ("cancelled", false),
    }
}

/// The interface's word for how a run ended.
fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::NoText => "no_text",
        Outcome::Stopped | Outcome::Replaced => "stopped",
        Outcome::Failed | Outcome::MaxTurns | Outcome::Refused | Outcome::Interrupted => "error",
    }
}
