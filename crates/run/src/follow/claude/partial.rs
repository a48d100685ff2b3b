//! Streamed model output: the `stream_event` lines of `--include-partial-messages`.
//!
//! Every part is also printed whole as an `assistant` line, before or after the part's end. The
//! one that comes first completes the call.

use crate::{
    EventPayload, RawJson, RunProblem, SharedId, TextUpdate, ToolCallUpdate, ToolStatus,
    follow::{
        calls::CallStage,
        claude::{
            ClaudeCodeReader, card,
            messages::{StreamedPart, StreamedPartKind},
            reply::{MessageOrigin, error_code},
        },
        emitter::EmitterPhase,
        fields::LineFields,
    },
};

impl ClaudeCodeReader {
    pub(super) fn read_stream_event(&mut self, line: &str, fields: &LineFields<'_>) {
        let Some(event) = fields.object("event") else {
            return self.emitter.emit_unknown("stream_event", line);
        };
        let parent = fields.id("parent_tool_use_id");
        let kind = event.text("type").unwrap_or_default();
        match kind.as_str() {
            "message_start" => {
                self.ensure_run();
                self.ending.resume();
                let Some(message) = event.object("message") else {
                    return self.emitter.emit_unknown("stream_event:message_start", line);
                };
                let origin = self.message_origin(message.id("id"), parent);
                self.messages.start_stream(origin.line_parent.clone(), origin.message.clone());
                self.record_usage_silently(&origin, &message);
            }
            "ping" => {}
            "error" => {
                let error = event.object("error");
                let message = error.as_ref().and_then(|error| error.non_empty_text("message"));
                let code = error.and_then(|error| error.id("type")).or_else(|| error_code(&event));
                let message = message.unwrap_or_else(|| "the model's stream failed".into());
                self.emitter.emit(EventPayload::Problem(RunProblem {
                    message,
                    code,
                    fatal: false,
                }));
            }
            "content_block_start" | "content_block_delta" => {
                self.ensure_run();
                self.ending.resume();
                self.read_part_event(line, parent, &kind, fields);
            }
            "content_block_stop" | "message_delta" | "message_stop" => {
                let named = fields.raw("api_message_id").is_some();
                let known = named || self.messages.streaming_message(parent.as_ref()).is_some();
                if self.emitter.phase() == EmitterPhase::Running && known {
                    self.read_part_event(line, parent, &kind, fields);
                }
            }
            _ => self.emitter.emit_unknown(format!("stream_event:{kind}"), line),
        }
    }

    fn read_part_event(
        &mut self,
        line: &str,
        parent: Option<SharedId>,
        kind: &str,
        fields: &LineFields<'_>,
    ) {
        let Some(event) = fields.object("event") else { return };
        let id = fields.id("api_message_id");
        // The start of the message may be missing if the stream was joined late.
        let id = id.or_else(|| self.messages.streaming_message(parent.as_ref()));
        let origin = self.message_origin(id, parent);
        let index = event.number("index").unwrap_or(0);
        match kind {
            "content_block_start" => self.start_part(&origin, index, &event),
            "content_block_delta" => self.append_part(line, &origin, index, &event),
            "content_block_stop" => self.end_part(&origin, index),
            "message_delta" => {
                let delta = event.object("delta");
                if delta.is_some_and(|delta| delta.raw("stop_reason").is_some()) {
                    self.messages.stop_stream(origin.line_parent.as_ref());
                }
                self.record_usage(&origin, &event);
            }
            _ => self.messages.stop_stream(origin.line_parent.as_ref()),
        }
    }

    fn start_part(&mut self, origin: &MessageOrigin, index: u64, event: &LineFields<'_>) {
        let Some(block) = event.object("content_block") else { return };
        let kind = block.text("type").unwrap_or_default();
        let (kind, text) = match kind.as_str() {
            "text" => (StreamedPartKind::Text, block.non_empty_text("text")),
            "thinking" => (StreamedPartKind::Thought, block.non_empty_text("thinking")),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let number = self.call_number(origin, &block);
                if let Some(known) = self.emitter.calls.get_mut(number) {
                    known.by_provider = kind != "tool_use";
                }
                self.start_call(number);
                (StreamedPartKind::Call(number), None)
            }
            _ => (StreamedPartKind::Other, None),
        };
        // Most agents start with an empty object and stream the arguments.
        let has_input = block.object("input").is_some_and(|input| input.values().next().is_some());
        let arguments = block.raw("input").filter(|_| has_input).map(|raw| raw.get().to_owned());
        let arguments = arguments.unwrap_or_default();
        let part = StreamedPart { index, kind, closed: false, ended: false, arguments };
        self.messages.message_mut(&origin.message).streamed.push(part);
        if text.is_some() {
            self.emit_text(origin, kind, TextUpdate { delta: text, ..TextUpdate::default() });
        }
    }

    fn start_call(&mut self, number: usize) {
        let Some(known) = self.emitter.calls.get_mut(number) else { return };
        if known.stage != CallStage::Mentioned {
            return;
        }
        known.stage = CallStage::Writing;
        let call = ToolCallUpdate {
            call: known.call.clone(),
            name: known.name.clone(),
            parent: known.parent.clone(),
            status: Some(ToolStatus::Pending),
            ..ToolCallUpdate::default()
        };
        self.emitter.emit(EventPayload::ToolCall(call));
    }

    fn append_part(
        &mut self,
        line: &str,
        origin: &MessageOrigin,
        index: u64,
        event: &LineFields<'_>,
    ) {
        let Some(delta) = event.object("delta") else { return };
        match delta.text("type").unwrap_or_default().as_str() {
            "text_delta" => {
                self.emit_delta(origin, index, StreamedPartKind::Text, delta.non_empty_text("text"))
            }
            "thinking_delta" => self.emit_delta(
                origin,
                index,
                StreamedPartKind::Thought,
                delta.non_empty_text("thinking"),
            ),
            "input_json_delta" => {
                let Some(delta) = delta.non_empty_text("partial_json") else { return };
                let part = self.messages.message_mut(&origin.message).part(index);
                let number = match part.as_ref().map(|part| part.kind) {
                    Some(StreamedPartKind::Call(number)) => number,
                    Some(
                        StreamedPartKind::Text
                        | StreamedPartKind::Thought
                        | StreamedPartKind::Other,
                    )
                    | None => {
                        return self.emitter.emit_unknown("stream_event:arguments", line);
                    }
                };
                if let Some(part) = part {
                    part.arguments.push_str(&delta);
                }
                let call = self.call_ref(number);
                self.emitter.emit(EventPayload::ToolArguments { call, delta });
            }
            // Opaque, and the whole part has it.
            "signature_delta" => {}
            "citations_delta" => {
                if let Some(citation) = delta.json("citation") {
                    self.emitter.emit(card("citation", None, citation));
                }
            }
            kind => self.emitter.emit_unknown(format!("stream_event:{kind}"), line),
        }
    }

    fn emit_delta(
        &mut self,
        origin: &MessageOrigin,
        index: u64,
        kind: StreamedPartKind,
        delta: Option<String>,
    ) {
        let message = self.messages.message_mut(&origin.message);
        if message.part(index).is_none() {
            let arguments = String::new();
            let part = StreamedPart { index, kind, closed: false, ended: false, arguments };
            message.streamed.push(part);
        }
        if delta.is_some() {
            self.emit_text(origin, kind, TextUpdate { delta, ..TextUpdate::default() });
        }
    }

    fn end_part(&mut self, origin: &MessageOrigin, index: u64) {
        let message = self.messages.message_mut(&origin.message);
        let part = message.part(index).filter(|part| !part.closed);
        let call = match part {
            Some(StreamedPart {
                kind: StreamedPartKind::Call(number), closed, arguments, ..
            }) => {
                *closed = true;
                Some((*number, std::mem::take(arguments)))
            }
            Some(StreamedPart {
                kind: StreamedPartKind::Text | StreamedPartKind::Thought | StreamedPartKind::Other,
                ..
            })
            | None => None,
        };
        message.end(index);
        // Arguments that are not JSON are left to the `assistant` line.
        if let Some((number, arguments)) = call
            && let Some(input) =
                RawJson::parse(if arguments.is_empty() { "{}" } else { &arguments })
            && self.emitter.calls.complete(number, None)
        {
            self.complete_call(number, Some(input), None);
        }
    }
}
