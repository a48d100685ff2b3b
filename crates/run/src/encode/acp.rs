//! The Agent Client Protocol: JSON-RPC messages of an agent.
//!
//! In version 1 the response to the prompt ends the run, so every update comes before it. In
//! version 2 the prompt is answered when it is accepted, and the session state shows when
//! the run is over, and a call can be paused or cancelled. What neither version supports is sent as a notification of our own, whose name
//! starts with `_`; clients ignore notifications they do not know.

mod tools;
mod permission;
mod end;

use super::{
    AcpRevision, EncoderOptions, FrameSink, common_fields,
    json::{JsonObjectWriter, escape, quote},
    tracker::{TrackedChange, TrackedPart, TrackedPartKind, TrackedTool},
};
use crate::{
    ActivityCard, ApprovalKind, ApprovalVerdict, RawJson, RunProblem, SharedId, TaskItem,
    TaskStatus,
};

/// Encodes one run as ACP.
pub(super) struct AcpEncoder {
    version: AcpRevision,
    session: SharedId,
    /// The common start of every update.
    update: String,
    /// The id of the prompt, as JSON.
    prompt: String,
    /// The number of open requests, which block the run.
    requests: usize,
    /// Open calls. Text of a sub-agent is shown in its call while the call is open.
    open: std::collections::HashSet<SharedId>,
}

impl AcpEncoder {
    pub(super) fn new(run: &SharedId, options: &EncoderOptions) -> AcpEncoder {
        let prompt_id = options.prompt.as_ref().filter(|prompt| is_request_id(prompt));
        let begins =
            "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":";
        AcpEncoder {
            version: options.acp,
            session: options.session.clone(),
            update: format!("{begins}{},\"update\":", quote(&options.session)),
            prompt: prompt_id.map_or_else(|| quote(run), |id| id.raw().to_owned()),
            requests: 0,
            open: std::collections::HashSet::new(),
        }
    }

    pub(super) fn encode(&mut self, change: TrackedChange<'_>, sink: &mut FrameSink<'_>) {
        match change {
            TrackedChange::RunStarted { .. } => self.write_session_state("running", sink),
            // Neither version has steps, or the start and end of a text.
            TrackedChange::StepStarted { .. }
            | TrackedChange::StepEnded { .. }
            | TrackedChange::PartStarted(_) => {}
            TrackedChange::PartDelta(part, delta) => self.write_part_delta(part, delta, sink),
            TrackedChange::PartEnded(part) => self.write_part_end(part, sink),
            TrackedChange::ToolStarted(tool) => {
                self.open.insert(tool.id.clone());
                sink.push_frame(self.update(tools::tool_call_start(self.version, tool)));
            }
            // Arguments are sent complete.
            TrackedChange::ToolArguments(..) => {}
            TrackedChange::ToolReady(tool, input) => {
                if let Some(input) = input {
                    sink.push_frame(self.update(tools::arguments_update(tool, input)));
                }
            }
            TrackedChange::ToolStatus(tool, status) => {
                sink.push_frame(self.update(tools::status_update(self.version, tool, status)));
            }
            TrackedChange::ToolProgress(tool, content) => {
                sink.push_frame(self.update(tools::progress_update(tool, content)));
            }
            TrackedChange::ApprovalRequested(tool, request) => {
                sink.push_frame(permission::permission_request(self, tool, request));
                self.requests += 1;
                if self.requests == 1 {
                    self.write_session_state("requires_action", sink);
                }
            }
            TrackedChange::ApprovalReplied(_, request, verdict) => {
                sink.push_frame(permission::cancel_request(request, verdict));
                self.requests = self.requests.saturating_sub(1);
                if self.requests == 0 {
                    self.write_session_state("running", sink);
                }
            }
            TrackedChange::ToolEnded(tool, ending) => {
                self.open.remove(&tool.id);
                sink.push_frame(self.update(tools::tool_call_end(self.version, tool, ending)));
            }
            TrackedChange::ToolCorrected(tool, ending) => {
                sink.push_frame(self.update(tools::tool_call_end(self.version, tool, ending)));
            }
            TrackedChange::ToolsAvailable(tools) => {
                sink.push_frame(
                    self.own_notification("tools_available", common_fields::tools_object(tools)),
                );
            }
            TrackedChange::Tasks(id, tasks) => sink.push_frame(self.tasks_update(id, tasks)),
            TrackedChange::Usage(usage) => {
                sink.push_frame(self.own_notification(
                    "usage",
                    common_fields::add_usage(JsonObjectWriter::new(), usage),
                ));
            }
            TrackedChange::Activity(id, activity) => {
                sink.push_frame(self.activity_update(id, activity))
            }
            TrackedChange::Problem(problem) => sink.push_frame(self.problem_update(problem)),
            TrackedChange::RunEnded(ending) => sink.push_frame(end::end_message(self, &ending)),
        }
    }

    fn write_part_delta(&self, part: &TrackedPart, delta: &str, sink: &mut FrameSink<'_>) {
        if part.parent.is_some() {
            return;
        }
        let kind = match part.kind {
            TrackedPartKind::Text => "agent_message_chunk",
            TrackedPartKind::Thought => "agent_thought_chunk",
        };
        // This message is sent for every token, so it is written without intermediate values.
        let mut json =
            String::with_capacity(self.update.len() + part.quoted.len() + delta.len() + 128);
        json.push_str(&self.update);
        json.push_str("{\"sessionUpdate\":\"");
        json.push_str(kind);
        json.push_str("\",\"messageId\":");
        json.push_str(&part.quoted);
        json.push_str(",\"content\":{\"type\":\"text\",\"text\":");
        escape(&mut json, delta);
        json.push_str("}}}}");
        sink.push_frame(json);
    }

    /// Text of a sub-agent must not look like text of the run. The call that started the sub-agent
    /// shows it, once it is complete.
    fn write_part_end(&self, part: &TrackedPart, sink: &mut FrameSink<'_>) {
        let Some(parent) = part.parent.as_ref().filter(|_| !part.text.is_empty()) else { return };
        if self.open.contains(parent) {
            sink.push_frame(self.update(tools::subagent_text_update(self.version, parent, part)));
            return;
        }
        let fields = JsonObjectWriter::with_capacity(part.text.len())
            .text("parentToolCallId", parent)
            .text("kind", part.kind.name())
            .text("text", &part.text);
        sink.push_frame(self.own_notification("subagent", fields));
    }

    fn tasks_update(&self, id: &str, tasks: &[TaskItem]) -> String {
        let entries = tasks.iter().map(plan_entry);
        self.update(match self.version {
            AcpRevision::V1 => {
                JsonObjectWriter::new().text("sessionUpdate", "plan").list("entries", entries)
            }
            AcpRevision::V2 => {
                let plan = JsonObjectWriter::new().text("type", "items").text("planId", id);
                let update = JsonObjectWriter::new().text("sessionUpdate", "plan_update");
                update.object("plan", plan.list("entries", entries))
            }
        })
    }

    fn activity_update(&self, id: &str, activity: &ActivityCard) -> String {
        let fields = JsonObjectWriter::new()
            .text("id", id)
            .text("kind", &activity.kind)
            .json("content", &activity.content);
        // Version 1 allows it only for clients that opted in.
        if self.version == AcpRevision::V1 || &*activity.kind != "compaction" {
            return self.own_notification("activity", fields);
        }
        let content = activity.content.value();
        let statuses = ["in_progress", "completed", "failed", "cancelled"];
        let status = content.get("status").and_then(|status| status.as_str());
        let update = JsonObjectWriter::new()
            .text("sessionUpdate", "compaction_update")
            .text("compactionId", id)
            .text("status", status.filter(|it| statuses.contains(it)).unwrap_or("completed"));
        self.update(update.object("_meta", meta(fields)))
    }

    fn problem_update(&self, problem: &RunProblem) -> String {
        match self.version {
            AcpRevision::V1 => {
                self.own_notification("error", common_fields::problem_object(problem))
            }
            AcpRevision::V2 => {
                let code = JsonObjectWriter::new().optional_text("code", problem.code.as_deref());
                let message = problem.message.as_str();
                let title = if message.is_empty() { "Something went wrong." } else { message };
                let notice = JsonObjectWriter::new()
                    .text("sessionUpdate", "notice")
                    .text("severity", "warning")
                    .text("title", title);
                self.update(notice.object("_meta", meta(code)))
            }
        }
    }

    /// Sends the session state, in the version that has one.
    fn write_session_state(&self, state: &str, sink: &mut FrameSink<'_>) {
        match self.version {
            AcpRevision::V1 => {}
            AcpRevision::V2 => {
                let update = JsonObjectWriter::new().text("sessionUpdate", "state_update");
                sink.push_frame(self.update(update.text("state", state)));
            }
        }
    }

    fn update(&self, update: JsonObjectWriter) -> String {
        format!("{}{}}}}}", self.update, update.finish())
    }

    /// A notification of our own.
    fn own_notification(&self, name: &str, fields: JsonObjectWriter) -> String {
        let params = JsonObjectWriter::new()
            .text("sessionId", &self.session)
            .raw("update", &fields.finish());
        notification(&format!("_foxwedge/{name}"), params)
    }
}

fn message() -> JsonObjectWriter {
    JsonObjectWriter::new().text("jsonrpc", "2.0")
}

fn notification(method: &str, params: JsonObjectWriter) -> String {
    let params = params.finish();
    let message =
        JsonObjectWriter::with_capacity(params.len()).text("jsonrpc", "2.0").text("method", method);
    message.raw("params", &params).finish()
}

/// Wraps fields that the protocol does not have.
fn meta(fields: JsonObjectWriter) -> JsonObjectWriter {
    JsonObjectWriter::new().object("foxwedge", fields)
}

fn is_request_id(id: &RawJson) -> bool {
    match id.value() {
        serde_json::Value::String(_) => true,
        serde_json::Value::Number(number) => number.is_i64(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => false,
    }
}

fn plan_entry(task: &TaskItem) -> String {
    let (status, is_exact) = match task.status {
        TaskStatus::Pending => ("pending", true),
        TaskStatus::InProgress => ("in_progress", true),
        TaskStatus::Completed => ("completed", true),
        TaskStatus::Paused | TaskStatus::Unknown => ("pending", false),
    };
    let entry = JsonObjectWriter::new()
        .text("content", &task.content)
        .text("priority", "medium")
        .text("status", status);
    if is_exact {
        return entry.finish();
    }
    let fields =
        JsonObjectWriter::new().text("status", common_fields::task_status_name(task.status));
    entry.object("_meta", meta(fields)).finish()
}
