//! Codex with `codex exec --json`: items that start, change and complete, within a turn per prompt.
//! `turn.completed` ends the run.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{
    ActivityCard, EventPayload, Outcome, RawJson, RunEnd, RunProblem, RunUsage, SharedId, TaskItem,
    TaskStatus, TextUpdate, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus, TurnStart,
    follow::{
        AgentExit, AgentState, AgentStreamReader,
        calls::CallStage,
        emitter::{EmitterPhase, RunEmitter, unfinished_end},
        fields::LineFields,
    },
};

/// Follows Codex.
pub(super) struct CodexExecReader {
    emitter: RunEmitter,
    /// Text emitted so far for messages and thoughts, by item.
    emitted_texts: BTreeMap<SharedId, String>,
    /// An error that may be the last line.
    error: Option<RunProblem>,
}

/// The step of an item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodexItemStep {
    Started,
    Updated,
    Completed,
}

impl CodexExecReader {
    pub(super) fn new(run: SharedId) -> CodexExecReader {
        CodexExecReader {
            emitter: RunEmitter::new(run, "codex"),
            emitted_texts: BTreeMap::new(),
            error: None,
        }
    }

    fn start_turn(&mut self) {
        if self.emitter.phase() == EmitterPhase::Ended {
            self.emitter.start_next_run();
            self.emitted_texts.clear();
            self.error = None;
        }
        self.emitter.begin();
        self.emitter.turn = self.emitter.turn.saturating_add(1);
        self.emitter.emit(EventPayload::TurnStarted(TurnStart {
            turn: Some(self.emitter.turn),
            message: None,
        }));
    }

    fn end_turn(&mut self, fields: &LineFields<'_>) {
        let usage = fields.object("usage").map(|usage| {
            let count = |name: &str| usage.number(name).unwrap_or(0);
            RunUsage {
                input: count("input_tokens"),
                output: count("output_tokens"),
                cached: count("cached_input_tokens"),
                reasoning: count("reasoning_output_tokens"),
            }
        });
        if let Some(usage) = usage {
            self.emitter.emit(EventPayload::Usage(usage));
        }
        self.emitter.end(RunEnd { usage, ..RunEnd::default() }, None);
    }

    fn read_item(&mut self, step: CodexItemStep, line: &str, fields: &LineFields<'_>) {
        let Some(item) = fields.object("item") else {
            return self.emitter.emit_unknown("item", line);
        };
        let kind = item.text("type").or_else(|| item.text("item_type")).unwrap_or_default();
        match kind.as_str() {
            "agent_message" | "assistant_message" => {
                self.emit_text(step, &item, EventPayload::Text)
            }
            "reasoning" => self.emit_text(step, &item, EventPayload::Thought),
            "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call"
            | "web_search" => self.emit_call(step, &kind, &item),
            "todo_list" => self.emitter.emit(EventPayload::Tasks(read_tasks(&item))),
            "plan" => {
                let content = RawJson::string(&item.text("text").unwrap_or_default());
                let plan = ActivityCard { kind: "plan".into(), id: item.id("id"), content };
                self.emitter.emit(EventPayload::Activity(plan));
            }
            "error" => {
                let message = item.text("message").unwrap_or_default();
                if step == CodexItemStep::Completed {
                    self.emitter.emit(EventPayload::Problem(RunProblem {
                        message,
                        code: None,
                        fatal: false,
                    }));
                }
            }
            _ => self.emitter.emit_unknown(format!("item:{kind}"), line),
        }
    }

    /// Emits the new part of a text.
    fn emit_text(
        &mut self,
        step: CodexItemStep,
        item: &LineFields<'_>,
        body: fn(TextUpdate) -> EventPayload,
    ) {
        self.emitter.begin();
        let (message, text) = (item.id("id"), item.text("text").unwrap_or_default());
        if step == CodexItemStep::Completed {
            message.as_ref().map(|id| self.emitted_texts.remove(id));
            return self.emitter.emit(body(TextUpdate {
                message,
                full: Some(text),
                ..TextUpdate::default()
            }));
        }
        let Some(id) = message.clone() else { return };
        let emitted = self.emitted_texts.entry(id).or_default();
        let added = text.strip_prefix(emitted.as_str()).filter(|added| !added.is_empty());
        if let Some(delta) = added.map(str::to_owned) {
            *emitted = text;
            self.emitter.emit(body(TextUpdate {
                message,
                delta: Some(delta),
                ..TextUpdate::default()
            }));
        }
    }

    fn emit_call(&mut self, step: CodexItemStep, kind: &str, item: &LineFields<'_>) {
        self.emitter.begin();
        if self.emitter.turn == 0 {
            self.start_turn();
        }
        let (id, turn) = (item.id("id"), self.emitter.turn);
        let calls = &mut self.emitter.calls;
        let number = calls.announce(id.as_ref(), turn, &format!("turn-{turn}").into(), None);
        let (name, input) = (tool_name(kind, item), tool_input(kind, item));
        let Some(known) = calls.get_mut(number) else { return };
        let is_new = known.stage == CallStage::Mentioned;
        known.name = Some(name.clone());
        let call = known.call.clone();
        // The query is known only when the search is done.
        let is_ready = step == CodexItemStep::Completed || kind != "web_search";
        let should_emit = if is_ready { calls.complete(number, input.as_ref()) } else { is_new };
        if should_emit {
            let input = input.filter(|_| is_ready);
            let (name, status) = (Some(name.clone()), Some(ToolStatus::Running));
            let call = call.clone();
            self.emitter.emit(EventPayload::ToolCall(ToolCallUpdate {
                call,
                name,
                input,
                status,
                ..ToolCallUpdate::default()
            }));
        }
        match step {
            CodexItemStep::Started => {}
            CodexItemStep::Updated => {
                if let Some(content) = item.json("aggregated_output") {
                    self.emitter.emit(EventPayload::ToolProgress { call, content });
                }
            }
            CodexItemStep::Completed => {
                let (outcome, unknown_word) = tool_outcome(item);
                let content = tool_content(kind, item);
                let name = Some(name);
                let result = ToolResult { call, name, outcome, reason: None, content };
                self.emitter.emit_with_unknown(EventPayload::ToolResult(result), unknown_word);
                self.emitter.calls.settle(number);
            }
        }
    }
}

impl AgentStreamReader for CodexExecReader {
    fn line(&mut self, line: &str) {
        let Some(fields) = LineFields::read(line) else {
            return self.emitter.emit_unreadable(line);
        };
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "thread.started" => {
                self.emitter.start.session = fields.id("thread_id");
                self.emitter.begin();
            }
            "turn.started" => self.start_turn(),
            "turn.completed" => self.end_turn(&fields),
            "turn.failed" => {
                let error =
                    fields.object("error").and_then(|error| error.non_empty_text("message"));
                let message = error.unwrap_or_else(|| "the turn failed".into());
                let problem = Some(RunProblem { message, code: None, fatal: true });
                let outcome = Some(Outcome::Failed);
                self.emitter.end(RunEnd { outcome, problem, ..RunEnd::default() }, None);
            }
            "item.started" => self.read_item(CodexItemStep::Started, line, &fields),
            "item.updated" => self.read_item(CodexItemStep::Updated, line, &fields),
            "item.completed" => self.read_item(CodexItemStep::Completed, line, &fields),
            "error" => {
                // Errors that are retried look the same; a final one ends the stream.
                let message = fields.text("message").unwrap_or_default();
                let problem = RunProblem { message, code: None, fatal: false };
                self.error = Some(problem.clone());
                self.emitter.emit(EventPayload::Problem(problem));
            }
            "" => self.emitter.emit_unknown("no-type", line),
            _ => self.emitter.emit_unknown(kind, line),
        }
    }

    fn host_line(&mut self, _line: &str) {}

    fn finish(&mut self, exit: AgentExit) {
        let ended = match self.error.take() {
            Some(problem) => {
                let problem = Some(RunProblem { fatal: true, ..problem });
                RunEnd { outcome: Some(Outcome::Failed), problem, ..RunEnd::default() }
            }
            None => unfinished_end(exit),
        };
        self.emitter.end(ended, None);
    }

    fn settle(&mut self) {}

    fn state(&self) -> AgentState {
        self.emitter.state()
    }

    fn emitter(&mut self) -> &mut RunEmitter {
        &mut self.emitter
    }
}

fn tool_name(kind: &str, item: &LineFields<'_>) -> SharedId {
    let part = |name: &str| item.non_empty_text(name).unwrap_or_else(|| "unknown".into());
    match kind {
        "mcp_tool_call" => format!("mcp__{}__{}", part("server"), part("tool")).into(),
        "collab_tool_call" => part("tool").into(),
        _ => kind.into(),
    }
}

fn tool_input(kind: &str, item: &LineFields<'_>) -> Option<RawJson> {
    let names: &[&str] = match kind {
        "mcp_tool_call" => return item.json("arguments").or_else(|| RawJson::parse("{}")),
        "command_execution" => &["command"],
        "file_change" => &["changes"],
        "web_search" => &["query", "action"],
        _ => &["prompt", "receiver_thread_ids"],
    };
    object(names.iter().filter_map(|name| Some((*name, item.raw(name)?))))
}

fn tool_content(kind: &str, item: &LineFields<'_>) -> Option<RawJson> {
    match kind {
        "command_execution" => match item.signed("exit_code") {
            Some(0) | None => item.json("aggregated_output"),
            Some(_) => object(
                ["exit_code", "aggregated_output"]
                    .into_iter()
                    .filter_map(|name| Some((name, item.raw(name)?))),
            ),
        },
        "mcp_tool_call" => {
            let failed = item.object("error").and_then(|error| error.json("message"));
            let result = || item.object("result").and_then(|result| result.json("content"));
            failed.or_else(result).or_else(|| item.json("result"))
        }
        "collab_tool_call" => item.json("agents_states"),
        _ => None,
    }
}

/// How an item ended, and its status if we do not know it.
fn tool_outcome(item: &LineFields<'_>) -> (ToolOutcome, Option<SharedId>) {
    let failed = item.signed("exit_code").is_some_and(|code| code != 0);
    let failed = failed || item.raw("error").is_some();
    match item.text("status").as_deref() {
        Some("completed") | None if !failed => (ToolOutcome::Ok, None),
        Some("completed" | "failed") | None => (ToolOutcome::Error, None),
        Some("declined") => (ToolOutcome::Denied, None),
        // The turn ended before it did.
        Some("in_progress") => (ToolOutcome::Interrupted, None),
        Some(word) if failed => (ToolOutcome::Error, Some(word.into())),
        // It may have run.
        Some(word) => (ToolOutcome::Interrupted, Some(word.into())),
    }
}

fn read_tasks(item: &LineFields<'_>) -> Vec<TaskItem> {
    let items = item.list("items").into_iter().filter_map(|raw| LineFields::read(raw.get()));
    let task = |item: LineFields<'_>| {
        let done = item.is_true("completed");
        let status = if done { TaskStatus::Completed } else { TaskStatus::Pending };
        TaskItem { id: None, content: item.text("text").unwrap_or_default(), status, active: None }
    };
    items.map(task).collect()
}

/// An object with these fields, each in its original encoding.
fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a RawValue)>) -> Option<RawJson> {
    let fields: Vec<String> =
        fields.map(|(name, raw)| format!("\"{name}\":{}", raw.get())).collect();
    RawJson::parse(&format!("{{{}}}", fields.join(",")))
}
