//! The Agent Client Protocol: JSON-RPC messages of an agent.
//!
//! In version 1 the answer to the prompt ends the run, so every update comes before it. In the
//! draft of version 2 the prompt was answered when it was taken, and the state of the session says
//! when it is over. What neither has a word for is a notification of ours, whose name begins with
//! `_`; clients pass over those they do not know.

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

/// Speaks ACP for one run.
pub(super) struct AcpEncoder {
    version: AcpRevision,
    session: SharedId,
    /// How every update begins.
    update: String,
    /// The id of the prompt, as JSON.
    prompt: String,
    /// Requests that nobody has answered, which hold the run up.
    requests: usize,
    /// Calls that are open: what they say last is theirs.
    open: std::collections::HashSet<SharedId>,
}

impl AcpEncoder {
    pub(super) fn new(run: &SharedId, options: &EncoderOptions) -> AcpEncoder {
        let given = options.prompt.as_ref().filter(|prompt| is_request_id(prompt));
        let begins =
            "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":";
        AcpEncoder {
            version: options.acp,
            session: options.session.clone(),
            update: format!("{begins}{},\"update\":", quote(&options.session)),
            prompt: given.map_or_else(|| quote(run), |id| id.raw().to_owned()),
            requests: 0,
            open: std::collections::HashSet::new(),
        }
    }

    pub(super) fn encode(&mut self, told: TrackedChange<'_>, sink: &mut FrameSink<'_>) {
        match told {
            TrackedChange::RunStarted { .. } => self.write_session_state("running", sink),
            // Neither version knows steps, nor where a text begins and ends.
            TrackedChange::StepStarted { .. }
            | TrackedChange::StepEnded { .. }
            | TrackedChange::PartStarted(_) => {}
            TrackedChange::PartDelta(part, delta) => self.write_part_delta(part, delta, sink),
            TrackedChange::PartEnded(part) => self.write_part_end(part, sink),
            TrackedChange::ToolStarted(tool) => {
                self.open.insert(tool.id.clone());
                sink.push_frame(self.update(tools::tool_call_start(self.version, tool)));
            }
            // Arguments come whole.
            TrackedChange::ToolArguments(..) => {}
            TrackedChange::ToolReady(tool, input) => {
                if let Some(input) = input {
                    sink.push_frame(self.update(tools::arguments_update(tool, input)));
                }
            }
            TrackedChange::ToolStatus(tool, status) => {
                sink.push_frame(self.update(tools::status_update(tool, status)));
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
            TrackedChange::ToolEnded(tool, settled) => {
                self.open.remove(&tool.id);
                sink.push_frame(self.update(tools::tool_call_end(self.version, tool, settled)));
            }
            TrackedChange::ToolCorrected(tool, settled) => {
                sink.push_frame(self.update(tools::tool_call_end(self.version, tool, settled)));
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
            TrackedChange::RunEnded(over) => sink.push_frame(end::end_message(self, &over)),
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
        // The one message that comes for every token is written in one go.
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

    /// What a sub-agent says must not look like the answer: the call it works for shows it, once it
    /// is whole.
    fn write_part_end(&self, part: &TrackedPart, sink: &mut FrameSink<'_>) {
        let Some(parent) = part.parent.as_ref().filter(|_| !part.text.is_empty()) else { return };
        if self.open.contains(parent) {
            sink.push_frame(self.update(tools::subagent_text_update(self.version, parent, part)));
            return;
        }
        let said = JsonObjectWriter::with_capacity(part.text.len())
            .text("parentToolCallId", parent)
            .text("kind", part.kind.name())
            .text("text", &part.text);
        sink.push_frame(self.own_notification("subagent", said));
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
        let about = JsonObjectWriter::new()
            .text("id", id)
            .text("kind", &activity.kind)
            .json("content", &activity.content);
        // Version 1 allows it only to clients that asked for it.
        if self.version == AcpRevision::V1 || &*activity.kind != "compaction" {
            return self.own_notification("activity", about);
        }
        let told = activity.content.value();
        let known = ["in_progress", "completed", "failed", "cancelled"];
        let status = told.get("status").and_then(|status| status.as_str());
        let update = JsonObjectWriter::new()
            .text("sessionUpdate", "compaction_update")
            .text("compactionId", id)
            .text("status", status.filter(|it| known.contains(it)).unwrap_or("completed"));
        self.update(update.object("_meta", meta(about)))
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

    /// The state of the session, where there is one.
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

    /// Something that only we know.
    fn own_notification(&self, name: &str, about: JsonObjectWriter) -> String {
        let params =
            JsonObjectWriter::new().text("sessionId", &self.session).raw("update", &about.finish());
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

/// What the protocol has no field for.
fn meta(about: JsonObjectWriter) -> JsonObjectWriter {
    JsonObjectWriter::new().object("foxwedge", about)
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
    let (status, is_all) = match task.status {
        TaskStatus::Pending => ("pending", true),
        TaskStatus::InProgress => ("in_progress", true),
        TaskStatus::Completed => ("completed", true),
        TaskStatus::Paused | TaskStatus::Unknown => ("pending", false),
    };
    let entry = JsonObjectWriter::new()
        .text("content", &task.content)
        .text("priority", "medium")
        .text("status", status);
    if is_all {
        return entry.finish();
    }
    let about =
        JsonObjectWriter::new().text("status", common_fields::task_status_name(task.status));
    entry.object("_meta", meta(about)).finish()
}
