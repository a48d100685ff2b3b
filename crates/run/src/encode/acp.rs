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
    Acp, Options, Sink,
    json::{Object, escape, quoted},
    tracker::{Kind, Part, Told, Tool},
    words,
};
use crate::{Activity, AskKind, Id, Json, Problem, Task, TaskStatus, Verdict};

/// Speaks ACP for one run.
pub(super) struct Voice {
    version: Acp,
    session: Id,
    /// How every update begins.
    update: String,
    /// The id of the prompt, as JSON.
    prompt: String,
    /// Requests that nobody has answered, which hold the run up.
    requests: usize,
    /// Calls that are open: what they say last is theirs.
    open: std::collections::HashSet<Id>,
}

impl Voice {
    pub(super) fn new(run: &Id, options: &Options) -> Voice {
        let given = options.prompt.as_ref().filter(|prompt| is_request_id(prompt));
        let begins =
            "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":";
        Voice {
            version: options.acp,
            session: options.session.clone(),
            update: format!("{begins}{},\"update\":", quoted(&options.session)),
            prompt: given.map_or_else(|| quoted(run), |id| id.raw().to_owned()),
            requests: 0,
            open: std::collections::HashSet::new(),
        }
    }

    pub(super) fn tell(&mut self, told: Told<'_>, sink: &mut Sink<'_>) {
        match told {
            Told::Began { .. } => self.state("running", sink),
            // Neither version knows steps, nor where a text begins and ends.
            Told::StepBegan { .. } | Told::StepOver { .. } | Told::PartBegan(_) => {}
            Told::PartGrew(part, delta) => self.part_grew(part, delta, sink),
            Told::PartOver(part) => self.part_over(part, sink),
            Told::ToolBegan(tool) => {
                self.open.insert(tool.id.clone());
                sink.frame(self.update(tools::began(self.version, tool)));
            }
            // Arguments come whole.
            Told::ToolGrew(..) => {}
            Told::ToolReady(tool, input) => {
                if let Some(input) = input {
                    sink.frame(self.update(tools::ready(tool, input)));
                }
            }
            Told::ToolStatus(tool, status) => {
                sink.frame(self.update(tools::changed(tool, status)));
            }
            Told::ToolProgress(tool, content) => {
                sink.frame(self.update(tools::progress(tool, content)));
            }
            Told::Asked(tool, request) => {
                sink.frame(permission::request(self, tool, request));
                self.requests += 1;
                if self.requests == 1 {
                    self.state("requires_action", sink);
                }
            }
            Told::Replied(_, request, verdict) => {
                sink.frame(permission::withdrawn(request, verdict));
                self.requests = self.requests.saturating_sub(1);
                if self.requests == 0 {
                    self.state("running", sink);
                }
            }
            Told::ToolOver(tool, settled) => {
                self.open.remove(&tool.id);
                sink.frame(self.update(tools::over(self.version, tool, settled)));
            }
            Told::ToolCorrected(tool, settled) => {
                sink.frame(self.update(tools::over(self.version, tool, settled)));
            }
            Told::ToolsAvailable(tools) => {
                sink.frame(self.own("tools_available", words::tools(tools)));
            }
            Told::Tasks(id, tasks) => sink.frame(self.tasks(id, tasks)),
            Told::Usage(usage) => {
                sink.frame(self.own("usage", words::usage(Object::new(), usage)));
            }
            Told::Activity(id, activity) => sink.frame(self.activity(id, activity)),
            Told::Problem(problem) => sink.frame(self.problem(problem)),
            Told::Over(over) => sink.frame(end::message_of(self, &over)),
        }
    }

    fn part_grew(&self, part: &Part, delta: &str, sink: &mut Sink<'_>) {
        if part.parent.is_some() {
            return;
        }
        let kind = match part.kind {
            Kind::Text => "agent_message_chunk",
            Kind::Thought => "agent_thought_chunk",
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
        sink.frame(json);
    }

    /// What a sub-agent says must not look like the answer: the call it works for shows it, once it
    /// is whole.
    fn part_over(&self, part: &Part, sink: &mut Sink<'_>) {
        let Some(parent) = part.parent.as_ref().filter(|_| !part.said.is_empty()) else { return };
        if self.open.contains(parent) {
            sink.frame(self.update(tools::said(self.version, parent, part)));
            return;
        }
        let said = Object::sized(part.said.len())
            .text("parentToolCallId", parent)
            .text("kind", part.kind.name())
            .text("text", &part.said);
        sink.frame(self.own("subagent", said));
    }

    fn tasks(&self, id: &str, tasks: &[Task]) -> String {
        let entries = tasks.iter().map(entry);
        self.update(match self.version {
            Acp::V1 => Object::new().text("sessionUpdate", "plan").list("entries", entries),
            Acp::V2 => {
                let plan = Object::new().text("type", "items").text("planId", id);
                let update = Object::new().text("sessionUpdate", "plan_update");
                update.object("plan", plan.list("entries", entries))
            }
        })
    }

    fn activity(&self, id: &str, activity: &Activity) -> String {
        let about = Object::new()
            .text("id", id)
            .text("kind", &activity.kind)
            .json("content", &activity.content);
        // Version 1 allows it only to clients that asked for it.
        if self.version == Acp::V1 || &*activity.kind != "compaction" {
            return self.own("activity", about);
        }
        let told = activity.content.value();
        let known = ["in_progress", "completed", "failed", "cancelled"];
        let status = told.get("status").and_then(|status| status.as_str());
        let update = Object::new()
            .text("sessionUpdate", "compaction_update")
            .text("compactionId", id)
            .text("status", status.filter(|it| known.contains(it)).unwrap_or("completed"));
        self.update(update.object("_meta", meta(about)))
    }

    fn problem(&self, problem: &Problem) -> String {
        match self.version {
            Acp::V1 => self.own("error", words::problem(problem)),
            Acp::V2 => {
                let code = Object::new().maybe("code", problem.code.as_deref());
                let message = problem.message.as_str();
                let title = if message.is_empty() { "Something went wrong." } else { message };
                let notice = Object::new()
                    .text("sessionUpdate", "notice")
                    .text("severity", "warning")
                    .text("title", title);
                self.update(notice.object("_meta", meta(code)))
            }
        }
    }

    /// The state of the session, where there is one.
    fn state(&self, state: &str, sink: &mut Sink<'_>) {
        match self.version {
            Acp::V1 => {}
            Acp::V2 => {
                let update = Object::new().text("sessionUpdate", "state_update");
                sink.frame(self.update(update.text("state", state)));
            }
        }
    }

    fn update(&self, update: Object) -> String {
        format!("{}{}}}}}", self.update, update.end())
    }

    /// Something that only we know.
    fn own(&self, name: &str, about: Object) -> String {
        let params = Object::new().text("sessionId", &self.session).written("update", &about.end());
        notification(&format!("_foxwedge/{name}"), params)
    }
}

fn message() -> Object {
    Object::new().text("jsonrpc", "2.0")
}

fn notification(method: &str, params: Object) -> String {
    let params = params.end();
    let message = Object::sized(params.len()).text("jsonrpc", "2.0").text("method", method);
    message.written("params", &params).end()
}

/// What the protocol has no field for.
fn meta(about: Object) -> Object {
    Object::new().object("foxwedge", about)
}

fn is_request_id(id: &Json) -> bool {
    match id.value() {
        serde_json::Value::String(_) => true,
        serde_json::Value::Number(number) => number.is_i64(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => false,
    }
}

fn entry(task: &Task) -> String {
    let (status, is_all) = match task.status {
        TaskStatus::Pending => ("pending", true),
        TaskStatus::InProgress => ("in_progress", true),
        TaskStatus::Completed => ("completed", true),
        TaskStatus::Paused | TaskStatus::Unknown => ("pending", false),
    };
    let entry = Object::new()
        .text("content", &task.content)
        .text("priority", "medium")
        .text("status", status);
    if is_all {
        return entry.end();
    }
    let about = Object::new().text("status", words::task_status(task.status));
    entry.object("_meta", meta(about)).end()
}
