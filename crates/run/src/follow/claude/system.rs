//! The `system` lines, and the progress of tools.

use std::collections::BTreeSet;

use crate::{
    EventPayload, RawJson, RunProblem, SharedId, ToolsAvailable,
    follow::{
        calls::CallStage,
        claude::{ClaudeCodeReader, HostState, card, reply::error_code},
        emitter::EmitterPhase,
        fields::LineFields,
    },
};

/// Background tasks of the agent.
#[derive(Default)]
pub(super) struct BackgroundTasks {
    tasks: BTreeSet<SharedId>,
    /// Tasks of earlier runs, which this run does not wait for.
    inherited: BTreeSet<SharedId>,
    /// All tasks that ever ran in the background.
    known: BTreeSet<SharedId>,
    /// Finished tasks that the model does not know of yet.
    notices: u32,
}

impl BackgroundTasks {
    /// Whether a task of this run is still running.
    pub(super) fn is_busy(&self) -> bool {
        self.tasks.difference(&self.inherited).next().is_some()
    }

    /// Starts a new run.
    pub(super) fn inherit(&mut self) {
        self.inherited.clone_from(&self.tasks);
        self.notices = 0;
    }
}

impl ClaudeCodeReader {
    pub(super) fn read_system_line(&mut self, line: &str, fields: &LineFields<'_>) {
        let kind = fields.text("subtype").unwrap_or_default();
        match kind.as_str() {
            "init" => self.read_init(fields),
            "session_state_changed" => {
                self.ending.state_events = true;
                if fields.text("state").as_deref() == Some("idle") {
                    self.end_when_idle();
                }
            }
            "status" => self.read_status(line, fields),
            "compact_boundary" => {
                let content = fields.json("compact_metadata").or_else(|| RawJson::parse(line));
                self.emit_compaction(content, false);
            }
            "permission_denied" => {
                let number = self.emitter.calls.find(fields.id("tool_use_id").as_ref());
                let known = number.and_then(|number| self.emitter.calls.get_mut(number));
                if let Some(known) = known {
                    known.refused = true;
                }
            }
            "api_retry" => self.read_retry(fields),
            "background_tasks_changed" => {
                let tasks = fields.list("tasks").into_iter();
                let tasks = tasks.filter_map(|raw| LineFields::read(raw.get())?.id("task_id"));
                self.background.tasks = tasks.collect();
                self.background.known.extend(self.background.tasks.iter().cloned());
            }
            "task_started" | "task_progress" | "task_updated" | "task_notification" => {
                self.read_task(&kind, line, fields);
            }
            // Estimates and hints for the agent's own user interface.
            "thinking_tokens" | "ui_invalidate" => {}
            "hook_started"
            | "hook_progress"
            | "hook_response"
            | "files_persisted"
            | "local_command_output"
            | "elicitation_complete" => {
                self.emit_card(&kind, fields.id("uuid"), line);
            }
            _ => self.emitter.emit_unknown(format!("system:{kind}"), line),
        }
    }

    /// A turn of the agent begins. It belongs to the next run if only a prompt can have caused it.
    fn read_init(&mut self, fields: &LineFields<'_>) {
        let continues = self.background.notices > 0 || self.background.is_busy();
        self.background.notices = self.background.notices.saturating_sub(1);
        if self.host == HostState::Unknown && !self.ending.state_events && !continues {
            self.end_before_new_turn();
        }
        if self.emitter.phase() == EmitterPhase::Ended {
            self.reset();
        }
        if fields.raw("qwen_code_version").is_some() {
            self.emitter.start.agent = Some("qwen-code".into());
        }
        if let Some(model) = fields.id("model") {
            self.emitter.start.model = Some(model);
        }
        self.emitter.begin();
        self.ending.resume();
        if fields.is_list("tools") {
            self.read_tools(fields);
        }
    }

    fn read_tools(&mut self, fields: &LineFields<'_>) {
        let tools = fields.list("tools").into_iter();
        let tools: Vec<SharedId> =
            tools.filter_map(|raw| Some(crate::follow::fields::text_of(raw)?.into())).collect();
        let servers = fields.list("mcp_servers").into_iter();
        let mut servers = servers.filter_map(|raw| LineFields::read(raw.get())?.text("status"));
        let ready = servers.all(|status| status != "pending");
        let reported = Some((ready, tools.clone()));
        if self.tools.last != reported {
            self.tools.last = reported;
            self.tools.version += 1;
            let version = Some(self.tools.version);
            self.emitter.emit(EventPayload::ToolsAvailable(ToolsAvailable {
                version,
                ready,
                tools,
            }));
        }
    }

    fn read_status(&mut self, line: &str, fields: &LineFields<'_>) {
        let status = fields.text("status");
        let result = fields.text("compact_result");
        match (status.as_deref(), result.as_deref()) {
            (Some("compacting"), _) => self.emit_compaction(RawJson::parse(line), true),
            (_, Some(result)) if result != "success" => {
                self.emit_compaction(RawJson::parse(line), false)
            }
            (None | Some("requesting"), _) => {}
            (Some(_), _) => self.emit_card("status", Some("status".into()), line),
        }
    }

    /// Emits one card per compaction, for its start and its end.
    fn emit_compaction(&mut self, content: Option<RawJson>, begins: bool) {
        if begins || !self.compacting {
            self.compactions += 1;
        }
        self.compacting = begins;
        let id = format!("compaction-{}", self.compactions);
        if let Some(content) = content {
            self.emitter.emit(card("compaction", Some(id.into()), content));
        }
    }

    fn read_retry(&mut self, fields: &LineFields<'_>) {
        let number = |name: &str| fields.number(name).unwrap_or(0);
        let message = format!(
            "the model request failed: attempt {} of {}, next attempt in {} ms",
            number("attempt"),
            number("max_retries"),
            number("retry_delay_ms"),
        );
        let problem = RunProblem { message, code: error_code(fields), fatal: false };
        self.emitter.emit(EventPayload::Problem(problem));
    }

    /// Reads a task line. A task belongs to the call that started it while the call waits for it.
    fn read_task(&mut self, kind: &str, line: &str, fields: &LineFields<'_>) {
        let id = fields.id("task_id");
        if let Some(id) = id.clone().filter(|_| fields.is_true("is_backgrounded")) {
            self.background.known.insert(id);
        }
        let in_background = id.as_ref().is_some_and(|id| self.background.known.contains(id));
        if in_background && kind == "task_notification" {
            self.background.notices += 1;
        }
        let call = fields.id("tool_use_id");
        let number = call.and_then(|call| self.emitter.calls.find(Some(&call)));
        let known = number.and_then(|number| self.emitter.calls.get(number));
        let is_open = known.is_some_and(|known| known.stage == CallStage::Complete);
        match number.filter(|_| is_open && !in_background) {
            Some(number) => {
                let description = fields
                    .non_empty_text("description")
                    .or_else(|| fields.non_empty_text("summary"));
                let content = description
                    .map(|description| RawJson::string(&description))
                    .or_else(|| RawJson::parse(line));
                self.emit_progress(number, content);
            }
            None => self.emit_card("background-task", id, line),
        }
    }

    /// Reads the progress of a tool. A heartbeat has the call id in `parent_tool_use_id`.
    pub(super) fn read_progress(&mut self, fields: &LineFields<'_>) {
        let is_heartbeat = fields.is_true("heartbeat")
            || fields.text("tool_use_id").is_some_and(|id| id.contains("-heartbeat-"));
        let id = fields.id(if is_heartbeat { "parent_tool_use_id" } else { "tool_use_id" });
        let number = self.emitter.calls.find(id.as_ref());
        let seconds = fields.number("elapsed_time_seconds");
        let content = serde_json::json!({ "elapsed_seconds": seconds });
        match number {
            Some(number) => self.emit_progress(number, Some(RawJson::from(&content))),
            None => self.emitter.emit(card("tool-progress", id, RawJson::from(&content))),
        }
    }

    fn emit_progress(&mut self, number: usize, content: Option<RawJson>) {
        if let Some(content) = content {
            let call = self.call_ref(number);
            self.emitter.emit(EventPayload::ToolProgress { call, content });
        }
    }

    /// Emits a line as an activity card.
    pub(super) fn emit_card(&mut self, kind: &str, id: Option<SharedId>, line: &str) {
        if let Some(content) = RawJson::parse(line.trim()) {
            self.emitter.emit(card(&kind.replace('_', "-"), id, content));
        }
    }
}
