//! Model output: the `assistant` lines, with one or more parts each.

use serde_json::value::RawValue;

use crate::{
    EventPayload, RawJson, RunProblem, SharedId, TextUpdate, ToolCallUpdate, ToolOutcome,
    ToolResult, ToolStatus, TurnStart,
    follow::{
        calls::CallStage,
        claude::{
            ClaudeCodeReader,
            messages::{StreamedPartKind, part_hash},
        },
        fields::LineFields,
        tasks,
    },
};

/// The message, and the turn and parent of its calls.
#[derive(Clone)]
pub(super) struct MessageOrigin {
    pub(super) message: SharedId,
    /// The id in run events; `None` if the message has none.
    pub(super) emitted_id: Option<SharedId>,
    pub(super) parent: Option<SharedId>,
    /// The parent in the line.
    pub(super) line_parent: Option<SharedId>,
    pub(super) turn: u32,
}

impl ClaudeCodeReader {
    pub(super) fn read_assistant_line(&mut self, line: &str, fields: &LineFields<'_>) {
        let Some(message) = fields.object("message") else {
            return self.emitter.emit_unknown("assistant", line);
        };
        self.ensure_run();
        self.ending.resume();
        if fields.is_true("is_api_error_message") || fields.is_true("isApiErrorMessage") {
            return self.read_api_error(fields, &message);
        }
        let origin = self.message_origin(message.id("id"), fields.id("parent_tool_use_id"));
        self.read_blocks(&origin, &message, fields);
        if self.messages.is_incomplete(origin.line_parent.as_ref(), &origin.message) {
            // Emitted when the model has stopped.
            self.record_usage_silently(&origin, &message);
        } else {
            self.record_usage(&origin, &message);
        }
    }

    /// Finds the turn of a message. A new message of the run itself starts a turn; one of a
    /// sub-agent belongs to the turn of the call that started the sub-agent.
    pub(super) fn message_origin(
        &mut self,
        id: Option<SharedId>,
        parent: Option<SharedId>,
    ) -> MessageOrigin {
        let message = id.clone().unwrap_or_else(|| self.messages.unnamed_message_id());
        if id.is_some() {
            self.messages.close_unnamed();
        }
        if let Some(line_parent) = parent {
            let number = self.emitter.calls.find(Some(&line_parent));
            let call = number.map(|number| self.call_ref(number)).unwrap_or_default();
            let turn = call.turn.unwrap_or(self.emitter.turn);
            let parent = Some(call.id.unwrap_or_else(|| line_parent.clone()));
            return MessageOrigin {
                message,
                emitted_id: id,
                parent,
                line_parent: Some(line_parent),
                turn,
            };
        }
        let (turn, new) = self.messages.turn(&message);
        if new {
            self.emitter.turn = turn;
            self.emitter.emit(EventPayload::TurnStarted(TurnStart {
                turn: Some(turn),
                message: id.clone(),
            }));
        }
        MessageOrigin { message, emitted_id: id, parent: None, line_parent: None, turn }
    }

    fn read_blocks(
        &mut self,
        origin: &MessageOrigin,
        message: &LineFields<'_>,
        line: &LineFields<'_>,
    ) {
        let Some(text) = message.text("content") else {
            if let Some(raw) = message.raw("content").filter(|_| !message.is_list("content")) {
                self.emitter.emit_unknown("content", raw.get());
            }
            let blocks = message.list("content");
            let hashes: Vec<u64> = blocks.iter().map(|block| part_hash(block.get())).collect();
            let repeated = self.messages.message_mut(&origin.message).repeated_count(&hashes);
            for (block, hash) in blocks.into_iter().zip(hashes).skip(repeated) {
                self.read_block(origin, block, line);
                self.messages.message_mut(&origin.message).emitted.push(hash);
            }
            return;
        };
        self.emit_full_text(origin, StreamedPartKind::Text, text);
    }

    fn read_block(&mut self, origin: &MessageOrigin, raw: &RawValue, line: &LineFields<'_>) {
        let Some(block) = LineFields::read(raw.get()) else {
            return self.emitter.emit_unknown("block", raw.get());
        };
        match block.text("type").unwrap_or_default().as_str() {
            "text" => self.emit_full_text(
                origin,
                StreamedPartKind::Text,
                block.text("text").unwrap_or_default(),
            ),
            "thinking" => {
                self.emit_full_text(
                    origin,
                    StreamedPartKind::Thought,
                    block.text("thinking").unwrap_or_default(),
                );
            }
            "tool_use" => self.read_call(origin, &block, line),
            "server_tool_use" | "mcp_tool_use" => {
                let number = self.call_number(origin, &block);
                if let Some(known) = self.emitter.calls.get_mut(number) {
                    known.by_provider = true;
                }
                self.read_call(origin, &block, line);
            }
            "tool_result" => self.read_tool_result(&block, origin.turn, line),
            kind if kind.ends_with("_tool_result") => self.read_provider_result(origin, &block),
            kind => self.emitter.emit_unknown(format!("block:{kind}"), raw.get()),
        }
    }

    /// Emits a whole text or thought.
    fn emit_full_text(&mut self, origin: &MessageOrigin, kind: StreamedPartKind, full: String) {
        let streamed = self.messages.message_mut(&origin.message).close(kind);
        if full.is_empty() && !streamed {
            return;
        }
        self.emit_text(origin, kind, TextUpdate { full: Some(full), ..TextUpdate::default() });
    }

    pub(super) fn emit_text(
        &mut self,
        origin: &MessageOrigin,
        kind: StreamedPartKind,
        text: TextUpdate,
    ) {
        let text = TextUpdate {
            message: origin.emitted_id.clone(),
            parent: origin.parent.clone(),
            ..text
        };
        self.emitter.emit(match kind {
            StreamedPartKind::Thought => EventPayload::Thought(text),
            StreamedPartKind::Text | StreamedPartKind::Call(_) | StreamedPartKind::Other => {
                EventPayload::Text(text)
            }
        });
    }

    /// The call of a block, which may have been streamed before.
    pub(super) fn call_number(&mut self, origin: &MessageOrigin, block: &LineFields<'_>) -> usize {
        let input = block.json("input");
        let id = block.id("id");
        let calls = &mut self.emitter.calls;
        let number = calls.announce(id.as_ref(), origin.turn, &origin.message, input.as_ref());
        if let Some(known) = calls.get_mut(number) {
            known.name = block.id("name").or(known.name.take());
            known.parent.clone_from(&origin.parent);
        }
        number
    }

    fn read_call(&mut self, origin: &MessageOrigin, block: &LineFields<'_>, line: &LineFields<'_>) {
        let number = self.call_number(origin, block);
        self.messages.message_mut(&origin.message).close(StreamedPartKind::Call(number));
        let id = block.id("id");
        let metas =
            line.list("tool_use_meta").into_iter().filter_map(|raw| LineFields::read(raw.get()));
        let meta = metas.into_iter().find(|meta| id.is_some() && meta.id("id") == id);
        let title = meta.and_then(|meta| meta.non_empty_text("display_name"));
        let input = block.json("input");
        if self.emitter.calls.complete(number, input.as_ref()) {
            self.complete_call(number, input, title);
        }
    }

    /// Emits a call with complete arguments, which the agent now starts.
    pub(super) fn complete_call(
        &mut self,
        number: usize,
        input: Option<RawJson>,
        title: Option<String>,
    ) {
        let Some(known) = self.emitter.calls.get(number) else { return };
        let (name, parent) = (known.name.clone(), known.parent.clone());
        let call = ToolCallUpdate {
            call: known.call.clone(),
            name: name.clone(),
            parent: parent.clone(),
            input: Some(input.clone().unwrap_or_else(|| RawJson::from(&serde_json::json!({})))),
            title,
            status: Some(ToolStatus::Running),
        };
        self.emitter.emit(EventPayload::ToolCall(call));
        // Task lists of sub-agents are not shown.
        if let (Some(name), Some(input), None) = (name, input, parent) {
            match tasks::read_written_list(&name, &input) {
                Some(tasks) => self.emitter.emit(EventPayload::Tasks(tasks)),
                None if name.starts_with("Task") => {
                    self.task_calls.insert(number, input);
                }
                None => {}
            }
        }
    }

    fn read_provider_result(&mut self, origin: &MessageOrigin, block: &LineFields<'_>) {
        let id = block.id("tool_use_id");
        let number = self.emitter.calls.mention(id.as_ref(), origin.turn);
        let Some(known) = self.emitter.calls.get(number) else { return };
        if known.stage == CallStage::Settled {
            return;
        }
        let failed = block.object("content").and_then(|content| content.text("type"));
        let failed = failed.is_some_and(|kind| kind.ends_with("_error"));
        let outcome =
            if failed || block.is_true("is_error") { ToolOutcome::Error } else { ToolOutcome::Ok };
        let (call, name) = (known.call.clone(), known.name.clone());
        let content = block.json("content");
        self.emitter.emit(EventPayload::ToolResult(ToolResult {
            call,
            name,
            outcome,
            reason: None,
            content,
        }));
        self.emitter.calls.settle(number);
    }

    /// Reads an API error. Its text is from the agent, not from the model.
    fn read_api_error(&mut self, line: &LineFields<'_>, message: &LineFields<'_>) {
        let blocks =
            message.list("content").into_iter().filter_map(|raw| LineFields::read(raw.get()));
        let texts: Vec<String> = blocks.filter_map(|block| block.non_empty_text("text")).collect();
        let text = message.non_empty_text("content").unwrap_or_else(|| texts.join("\n"));
        let problem = RunProblem { message: text, code: error_code(line), fatal: false };
        self.emitter.emit(EventPayload::Problem(problem));
    }
}

/// The code of an error.
pub(super) fn error_code(line: &LineFields<'_>) -> Option<SharedId> {
    ["api_error_type", "api_error", "api_error_status", "error_status", "error"]
        .into_iter()
        .find_map(|name| line.id(name))
        .filter(|code| &**code != "unknown")
}
