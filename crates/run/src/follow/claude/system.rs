//! What the agent says about itself: the `system` lines, and how far its tools are.

use std::collections::BTreeSet;

use crate::{
    Body, Id, Json, Problem, ToolsAvailable,
    follow::{
        calls::Stage,
        claude::{Claude, Host, card, reply::error_code},
        fields::Fields,
        tale::Phase,
    },
};

/// Work that goes on beside the conversation.
#[derive(Default)]
pub(super) struct Background {
    tasks: BTreeSet<Id>,
    /// Those of earlier runs, which this one does not wait for.
    inherited: BTreeSet<Id>,
    /// Every task that ever went on in the background.
    ever: BTreeSet<Id>,
    /// Ends of such tasks that the model has not been told of.
    notices: u32,
}

impl Background {
    /// Whether something of this run is still at work.
    pub(super) fn is_busy(&self) -> bool {
        self.tasks.difference(&self.inherited).next().is_some()
    }

    /// A new run begins.
    pub(super) fn inherit(&mut self) {
        self.inherited.clone_from(&self.tasks);
        self.notices = 0;
    }
}

impl Claude {
    pub(super) fn system(&mut self, line: &str, fields: &Fields<'_>) {
        let kind = fields.text("subtype").unwrap_or_default();
        match kind.as_str() {
            "init" => self.init(fields),
            "session_state_changed" => {
                self.ending.state_events = true;
                if fields.text("state").as_deref() == Some("idle") {
                    self.idle();
                }
            }
            "status" => self.status(line, fields),
            "compact_boundary" => {
                let content = fields.json("compact_metadata").or_else(|| Json::parse(line));
                self.compaction(content, false);
            }
            "permission_denied" => {
                let number = self.tale.calls.find(fields.id("tool_use_id").as_ref());
                let known = number.and_then(|number| self.tale.calls.get_mut(number));
                if let Some(known) = known {
                    known.refused = true;
                }
            }
            "api_retry" => self.retry(fields),
            "background_tasks_changed" => {
                let tasks = fields.list("tasks").into_iter();
                let tasks = tasks.filter_map(|raw| Fields::read(raw.get())?.id("task_id"));
                self.background.tasks = tasks.collect();
                self.background.ever.extend(self.background.tasks.iter().cloned());
            }
            "task_started" | "task_progress" | "task_updated" | "task_notification" => {
                self.task(&kind, line, fields);
            }
            // Estimates and hints for whoever draws the agent's own screen.
            "thinking_tokens" | "ui_invalidate" => {}
            "hook_started"
            | "hook_progress"
            | "hook_response"
            | "files_persisted"
            | "local_command_output"
            | "elicitation_complete" => {
                self.card(&kind, fields.id("uuid"), line);
            }
            _ => self.tale.unknown(format!("system:{kind}"), line),
        }
    }

    /// A turn of the agent begins; it is one of the next run if a prompt must have come in
    /// between.
    fn init(&mut self, fields: &Fields<'_>) {
        let continues = self.background.notices > 0 || self.background.is_busy();
        self.background.notices = self.background.notices.saturating_sub(1);
        if self.host == Host::Unheard && !self.ending.state_events && !continues {
            self.settle_unheard();
        }
        if self.tale.phase() == Phase::Over {
            self.renew();
        }
        if fields.raw("qwen_code_version").is_some() {
            self.tale.about.agent = Some("qwen-code".into());
        }
        if let Some(model) = fields.id("model") {
            self.tale.about.model = Some(model);
        }
        self.tale.begin();
        self.ending.goes_on();
        if fields.is_list("tools") {
            self.tools_available(fields);
        }
    }

    fn tools_available(&mut self, fields: &Fields<'_>) {
        let tools = fields.list("tools").into_iter();
        let tools: Vec<Id> =
            tools.filter_map(|raw| Some(crate::follow::fields::text_of(raw)?.into())).collect();
        let servers = fields.list("mcp_servers").into_iter();
        let mut servers = servers.filter_map(|raw| Fields::read(raw.get())?.text("status"));
        let ready = servers.all(|status| status != "pending");
        let told = Some((ready, tools.clone()));
        if self.tools.told != told {
            self.tools.told = told;
            self.tools.version += 1;
            let version = Some(self.tools.version);
            self.tale.tell(Body::ToolsAvailable(ToolsAvailable { version, ready, tools }));
        }
    }

    fn status(&mut self, line: &str, fields: &Fields<'_>) {
        let status = fields.text("status");
        let result = fields.text("compact_result");
        match (status.as_deref(), result.as_deref()) {
            (Some("compacting"), _) => self.compaction(Json::parse(line), true),
            (_, Some(result)) if result != "success" => self.compaction(Json::parse(line), false),
            (None | Some("requesting"), _) => {}
            (Some(_), _) => self.card("status", Some("status".into()), line),
        }
    }

    /// One card for each compaction, from its beginning to its end.
    fn compaction(&mut self, content: Option<Json>, begins: bool) {
        if begins || !self.compacting {
            self.compactions += 1;
        }
        self.compacting = begins;
        let id = format!("compaction-{}", self.compactions);
        if let Some(content) = content {
            self.tale.tell(card("compaction", Some(id.into()), content));
        }
    }

    fn retry(&mut self, fields: &Fields<'_>) {
        let number = |name: &str| fields.number(name).unwrap_or(0);
        let message = format!(
            "the model could not be asked: attempt {} of {}, the next one in {} ms",
            number("attempt"),
            number("max_retries"),
            number("retry_delay_ms"),
        );
        let problem = Problem { message, code: error_code(fields), fatal: false };
        self.tale.tell(Body::Problem(problem));
    }

    /// A task belongs to the call that started it, as long as the call waits for it.
    fn task(&mut self, kind: &str, line: &str, fields: &Fields<'_>) {
        let id = fields.id("task_id");
        if let Some(id) = id.clone().filter(|_| fields.is_true("is_backgrounded")) {
            self.background.ever.insert(id);
        }
        let behind = id.as_ref().is_some_and(|id| self.background.ever.contains(id));
        if behind && kind == "task_notification" {
            self.background.notices += 1;
        }
        let call = fields.id("tool_use_id");
        let number = call.and_then(|call| self.tale.calls.find(Some(&call)));
        let known = number.and_then(|number| self.tale.calls.get(number));
        let at_work = known.is_some_and(|known| known.stage == Stage::Complete);
        match number.filter(|_| at_work && !behind) {
            Some(number) => {
                let words = fields.words("description").or_else(|| fields.words("summary"));
                let content = words.map(|words| Json::string(&words)).or_else(|| Json::parse(line));
                self.show(number, content);
            }
            None => self.card("background-task", id, line),
        }
    }

    /// A sign of life of a tool. The real id of a heartbeat's call stands beside it.
    pub(super) fn progress(&mut self, fields: &Fields<'_>) {
        let beats = fields.is_true("heartbeat")
            || fields.text("tool_use_id").is_some_and(|id| id.contains("-heartbeat-"));
        let id = fields.id(if beats { "parent_tool_use_id" } else { "tool_use_id" });
        let number = self.tale.calls.find(id.as_ref());
        let seconds = fields.number("elapsed_time_seconds");
        let content = serde_json::json!({ "elapsed_seconds": seconds });
        match number {
            Some(number) => self.show(number, Some(Json::from(&content))),
            None => self.tale.tell(card("tool-progress", id, Json::from(&content))),
        }
    }

    fn show(&mut self, number: usize, content: Option<Json>) {
        if let Some(content) = content {
            let call = self.call(number);
            self.tale.tell(Body::Progress { call, content });
        }
    }

    /// A line that is worth a card.
    pub(super) fn card(&mut self, kind: &str, id: Option<Id>, line: &str) {
        if let Some(content) = Json::parse(line.trim()) {
            self.tale.tell(card(&kind.replace('_', "-"), id, content));
        }
    }
}
