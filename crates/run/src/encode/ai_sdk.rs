//! The UI message stream of the AI SDK: chunks that build one message.
//!
//! Every tool is `dynamic`, since the client does not know it. A message has no state for cancelled
//! calls, so they become errors, and a `data-tool-status` part carries their status. A message is
//! valid only if approvals and call ends agree; see [`approvals`].

mod approvals;
mod end;

use super::{
    EncoderOptions, FrameSink, HandedOverCalls, common_fields,
    json::{JsonObjectWriter, single_line},
    tracker::{TrackedChange, TrackedPart, TrackedPartKind, TrackedRequest, TrackedTool},
};
use crate::{
    ActivityCard, ApprovalKind, RawJson, RunProblem, RunStart, RunUsage, SharedId, TaskItem,
    ToolStatus,
};
use approvals::ApprovalTracker;

/// Encodes one run as chunks of the AI SDK.
pub(super) struct AiSdkEncoder {
    session: SharedId,
    run: SharedId,
    message: SharedId,
    in_step: bool,
    /// Calls of this step whose arguments are still arriving.
    unready: Vec<UnreadyCall>,
    approvals: ApprovalTracker,
    handed_over: HandedOverCalls,
    /// Whether a call stays open after the end.
    leaves_calls: bool,
}

struct UnreadyCall {
    id: SharedId,
    name: SharedId,
    title: Option<String>,
}

impl AiSdkEncoder {
    pub(super) fn new(run: &SharedId, options: &EncoderOptions) -> AiSdkEncoder {
        AiSdkEncoder {
            session: options.session.clone(),
            run: run.clone(),
            message: options.message.as_ref().unwrap_or(run).clone(),
            in_step: false,
            unready: Vec::new(),
            approvals: ApprovalTracker::default(),
            handed_over: options.handed_over,
            leaves_calls: false,
        }
    }

    pub(super) fn encode(&mut self, change: TrackedChange<'_>, sink: &mut FrameSink<'_>) {
        match change {
            TrackedChange::RunStarted { epoch, at, started } => {
                sink.push_frame(self.start_chunk(epoch, at, started))
            }
            TrackedChange::StepStarted { .. } => self.start_step(sink),
            TrackedChange::StepEnded { .. } => self.end_step(sink),
            TrackedChange::PartStarted(part) => self.write_part_start(part, sink),
            TrackedChange::PartDelta(part, delta) => write_part_delta(part, delta, sink),
            TrackedChange::PartEnded(part) => write_part_end(part, sink),
            TrackedChange::ToolStarted(tool) => self.write_tool_start(tool, sink),
            TrackedChange::ToolArguments(tool, delta) => {
                self.write_arguments_delta(tool, delta, sink)
            }
            TrackedChange::ToolReady(tool, input) => self.write_arguments_end(tool, input, sink),
            TrackedChange::ToolStatus(tool, status) => sink.push_frame(status_chunk(tool, status)),
            TrackedChange::ToolProgress(tool, content) => {
                let data = tool_fields(tool).json("content", content);
                sink.push_frame(transient_chunk("tool-progress", &tool.id, data));
            }
            TrackedChange::ApprovalRequested(tool, request) => match request.kind {
                ApprovalKind::Approval => self.approvals.add_request(tool, request, sink),
                ApprovalKind::Question => sink.push_frame(question_chunk(tool, request, "open")),
            },
            TrackedChange::ApprovalReplied(tool, request, verdict) => match request.kind {
                ApprovalKind::Approval => self.approvals.add_reply(tool, request, verdict, sink),
                ApprovalKind::Question => sink.push_frame(question_chunk(
                    tool,
                    request,
                    common_fields::verdict_name(verdict),
                )),
            },
            TrackedChange::ToolEnded(tool, ending)
                if self.handed_over == HandedOverCalls::StayOpen
                    && ending.status == ToolStatus::HandedOver =>
            {
                self.unready.retain(|unready| unready.id != tool.id);
                self.leaves_calls = true;
            }
            TrackedChange::ToolEnded(tool, ending) => {
                self.unready.retain(|unready| unready.id != tool.id);
                self.approvals.end_call(tool, ending, sink);
            }
            // The state of the call and its approval must agree, so they stay unchanged.
            TrackedChange::ToolCorrected(tool, ending) => {
                sink.push_frame(data_chunk(
                    "tool-status",
                    &tool.id,
                    common_fields::add_tool_ending(tool_fields(tool), ending),
                ));
            }
            TrackedChange::ToolsAvailable(tools) => {
                sink.push_frame(transient_chunk(
                    "tools-available",
                    "tools",
                    common_fields::tools_object(tools),
                ));
            }
            TrackedChange::Tasks(id, tasks) => sink.push_frame(tasks_chunk(id, tasks)),
            TrackedChange::Usage(usage) => sink.push_frame(usage_chunk(usage)),
            TrackedChange::Activity(id, activity) => sink.push_frame(activity_chunk(id, activity)),
            TrackedChange::Problem(problem) => sink.push_frame(problem_chunk(problem)),
            TrackedChange::RunEnded(ending) => {
                self.end_step(sink);
                end::write_end(&ending, self.leaves_calls, sink);
            }
        }
    }

    /// A message of its own has the id of the run, so reading a stream again builds the same message.
    fn start_chunk(&self, epoch: u64, at: Option<u64>, started: &RunStart) -> String {
        let fields = JsonObjectWriter::new()
            .text("session", &self.session)
            .text("run", &self.run)
            .number("epoch", epoch)
            .optional_text("parent", started.parent.as_deref())
            .optional_text("agent", started.agent.as_deref())
            .optional_text("model", started.model.as_deref());
        let fields = match at {
            Some(at) => fields.number("startedAt", at),
            None => fields,
        };
        let start = chunk("start").text("messageId", &self.message);
        start.object("messageMetadata", metadata(fields)).finish()
    }

    fn start_step(&mut self, sink: &mut FrameSink<'_>) {
        // After its step a call can only end, so its arguments are sent now.
        for unready in std::mem::take(&mut self.unready) {
            self.write_input(&unready, "{}", sink);
        }
        self.in_step = true;
        sink.push_frame(chunk("start-step").finish());
    }

    fn end_step(&mut self, sink: &mut FrameSink<'_>) {
        if std::mem::take(&mut self.in_step) {
            sink.push_frame(chunk("finish-step").finish());
        }
    }

    /// Every part must be in a step.
    fn ensure_step(&mut self, sink: &mut FrameSink<'_>) {
        if !self.in_step {
            self.start_step(sink);
        }
    }

    fn write_part_start(&mut self, part: &TrackedPart, sink: &mut FrameSink<'_>) {
        if part.parent.is_none() {
            self.ensure_step(sink);
            sink.push_frame(part_chunk(part, "text-start", "reasoning-start").finish());
        }
    }

    fn write_tool_start(&mut self, tool: &TrackedTool, sink: &mut FrameSink<'_>) {
        self.ensure_step(sink);
        let (id, name, title) = (tool.id.clone(), tool.name.clone(), tool.title.clone());
        self.unready.push(UnreadyCall { id, name, title });
        let start = chunk("tool-input-start")
            .text("toolCallId", &tool.id)
            .text("toolName", &tool.name)
            .flag("dynamic", true)
            .optional_text("title", tool.title.as_deref());
        let tool_metadata =
            JsonObjectWriter::new().optional_text("parentToolCallId", tool.parent.as_deref());
        sink.push_frame(start.non_empty_object("toolMetadata", tool_metadata).finish());
    }

    fn write_arguments_delta(&self, tool: &TrackedTool, delta: &str, sink: &mut FrameSink<'_>) {
        let is_unready = self.unready.iter().any(|unready| unready.id == tool.id);
        // A delta would hide the open approval request. The complete arguments are sent later.
        if is_unready && !self.approvals.is_open(&tool.id) {
            let object = JsonObjectWriter::with_capacity(tool.id.len() + delta.len());
            let object = object.unescaped("type", "tool-input-delta").text("toolCallId", &tool.id);
            sink.push_frame(object.text("inputTextDelta", delta).finish());
        }
    }

    fn write_arguments_end(
        &mut self,
        tool: &TrackedTool,
        input: Option<&RawJson>,
        sink: &mut FrameSink<'_>,
    ) {
        let at = self.unready.iter().position(|unready| unready.id == tool.id);
        match (at.map(|at| self.unready.remove(at)), input) {
            (Some(unready), Some(input)) => self.write_input(&unready, &single_line(input), sink),
            // The deltas are already shown, and the call ends soon. A client may run a call that
            // has its input.
            (Some(_), None)
                if tool.requests.is_empty()
                    && (!tool.arguments.is_empty() || tool.status == ToolStatus::Cancelled) => {}
            (Some(unready), None) => self.write_input(&unready, "{}", sink),
            (None, Some(input)) => {
                sink.push_frame(data_chunk(
                    "tool-input",
                    &tool.id,
                    tool_fields(tool).json("input", input),
                ));
            }
            (None, None) => {}
        }
    }

    fn write_input(&self, call: &UnreadyCall, input: &str, sink: &mut FrameSink<'_>) {
        let available = chunk("tool-input-available")
            .text("toolCallId", &call.id)
            .text("toolName", &call.name)
            .raw("input", input)
            .flag("dynamic", true)
            .optional_text("title", call.title.as_deref());
        sink.push_frame(available.finish());
        self.approvals.repeat_request(&call.id, sink);
    }
}

fn chunk(kind: &str) -> JsonObjectWriter {
    JsonObjectWriter::new().text("type", kind)
}

/// Wraps our own metadata, so that it does not collide with that of an application.
fn metadata(fields: JsonObjectWriter) -> JsonObjectWriter {
    JsonObjectWriter::new().object("foxwedge", fields)
}

/// A data part that the message keeps. A part with the same name and id replaces it.
fn data_chunk(name: &str, id: &str, data: JsonObjectWriter) -> String {
    chunk(&format!("data-{name}")).text("id", id).object("data", data).finish()
}

/// A data part that the message does not keep.
fn transient_chunk(name: &str, id: &str, data: JsonObjectWriter) -> String {
    let chunk = chunk(&format!("data-{name}")).text("id", id).object("data", data);
    chunk.flag("transient", true).finish()
}

fn tool_fields(tool: &TrackedTool) -> JsonObjectWriter {
    JsonObjectWriter::new().text("toolCallId", &tool.id)
}

fn part_chunk(part: &TrackedPart, text: &str, thought: &str) -> JsonObjectWriter {
    let kind = match part.kind {
        TrackedPartKind::Text => text,
        TrackedPartKind::Thought => thought,
    };
    chunk(kind).raw("id", &part.quoted)
}

fn write_part_delta(part: &TrackedPart, delta: &str, sink: &mut FrameSink<'_>) {
    if part.parent.is_some() {
        return;
    }
    let kind = match part.kind {
        TrackedPartKind::Text => "text-delta",
        TrackedPartKind::Thought => "reasoning-delta",
    };
    let object =
        JsonObjectWriter::with_capacity(part.quoted.len() + delta.len()).unescaped("type", kind);
    sink.push_frame(object.raw("id", &part.quoted).text("delta", delta).finish());
}

/// Text of a sub-agent must not look like text of the run. It becomes a data part, once it is
/// complete.
fn write_part_end(part: &TrackedPart, sink: &mut FrameSink<'_>) {
    match part.parent.as_deref() {
        None => sink.push_frame(part_chunk(part, "text-end", "reasoning-end").finish()),
        Some(_) if part.text.is_empty() => {}
        Some(parent) => {
            let fields = JsonObjectWriter::with_capacity(part.text.len())
                .text("parentToolCallId", parent)
                .text("kind", part.kind.name())
                .text("text", &part.text);
            sink.push_frame(data_chunk("subagent", &part.id, fields));
        }
    }
}

fn status_chunk(tool: &TrackedTool, status: ToolStatus) -> String {
    transient_chunk("tool-status", &tool.id, tool_fields(tool).text("status", status.name()))
}

/// A question becomes a data part, since an approval can only be granted or denied.
fn question_chunk(tool: &TrackedTool, request: &TrackedRequest, state: &str) -> String {
    let question =
        tool_fields(tool).text("state", state).optional_text("prompt", request.prompt.as_deref());
    let question = match &request.choices {
        Some(choices) => question.json("choices", choices),
        None => question,
    };
    data_chunk("question", &request.id, question)
}

fn tasks_chunk(id: &str, tasks: &[TaskItem]) -> String {
    data_chunk("tasks", id, JsonObjectWriter::new().raw("tasks", &common_fields::task_list(tasks)))
}

fn usage_chunk(usage: &RunUsage) -> String {
    let fields = JsonObjectWriter::new()
        .object("usage", common_fields::add_usage(JsonObjectWriter::new(), usage));
    chunk("message-metadata").object("messageMetadata", metadata(fields)).finish()
}

fn activity_chunk(id: &str, activity: &ActivityCard) -> String {
    let chunk = chunk(&format!("data-{}", activity.kind)).text("id", id);
    chunk.json("data", &activity.content).finish()
}

/// A data part, since an `error` chunk would end the message.
fn problem_chunk(problem: &RunProblem) -> String {
    chunk("data-problem").object("data", common_fields::problem_object(problem)).finish()
}
