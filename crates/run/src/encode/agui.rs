//! AG-UI: events with a `type`.
//!
//! Clients of 1.0 support sub-agents, cancelled runs, and calls that a run leaves to the
//! application. Older clients reject cancelled runs and would show text of a sub-agent as text of
//! the run, so they get it as a card.

mod end;
mod pending_calls;
mod subagents;

use super::{
    AgUiRevision, EncoderOptions, FrameSink, HandedOverCalls, common_fields,
    json::JsonObjectWriter,
    tracker::{
        ToolEnding, TrackedChange, TrackedPart, TrackedPartKind, TrackedRequest, TrackedTool,
    },
};
use crate::{
    ActivityCard, ApprovalKind, ApprovalVerdict, RawJson, RunProblem, RunStart, SharedId,
    ToolStatus,
};
use pending_calls::PendingCalls;
use subagents::SubagentTracker;

/// Encodes one run as AG-UI.
pub(super) struct AgUiEncoder {
    version: AgUiRevision,
    thread: SharedId,
    run: SharedId,
    model: Option<SharedId>,
    /// The message that the next call belongs to.
    message: Option<SharedId>,
    handed_over: HandedOverCalls,
    pending_calls: PendingCalls,
    subagents: SubagentTracker,
}

impl AgUiEncoder {
    pub(super) fn new(run: &SharedId, options: &EncoderOptions) -> AgUiEncoder {
        AgUiEncoder {
            version: options.agui,
            thread: options.session.clone(),
            run: run.clone(),
            model: None,
            message: None,
            handed_over: options.handed_over,
            pending_calls: PendingCalls::default(),
            subagents: SubagentTracker::new(options.agui),
        }
    }

    pub(super) fn encode(&mut self, change: TrackedChange<'_>, sink: &mut FrameSink<'_>) {
        match change {
            TrackedChange::RunStarted { epoch, at, started } => {
                self.write_run_start(epoch, at, started, sink)
            }
            TrackedChange::StepStarted { turn, message } => {
                self.pending_calls.write_results(sink);
                self.message = Some(message.clone());
                sink.push_frame(event("STEP_STARTED").text("stepName", &step_name(turn)).finish());
            }
            TrackedChange::StepEnded { turn } => {
                self.message = None;
                sink.push_frame(event("STEP_FINISHED").text("stepName", &step_name(turn)).finish());
            }
            TrackedChange::PartStarted(part) => self.write_part_start(part, sink),
            TrackedChange::PartDelta(part, delta) => self.write_part_delta(part, delta, sink),
            TrackedChange::PartEnded(part) => self.write_part_end(part, sink),
            TrackedChange::ToolStarted(tool) => self.write_tool_start(tool, sink),
            TrackedChange::ToolArguments(tool, delta) => {
                sink.push_frame(arguments_event(tool, delta))
            }
            TrackedChange::ToolReady(tool, input) => write_arguments_end(tool, input, sink),
            TrackedChange::ToolStatus(tool, status) => sink.push_frame(status_event(tool, status)),
            TrackedChange::ToolProgress(tool, content) => {
                let value = tool_fields(tool).json("content", content);
                sink.push_frame(custom_event("tool-progress", value));
            }
            TrackedChange::ApprovalRequested(tool, request) => {
                sink.push_frame(request_event(tool, request))
            }
            TrackedChange::ApprovalReplied(tool, request, verdict) => {
                sink.push_frame(reply_event(tool, request, verdict))
            }
            TrackedChange::ToolEnded(tool, ending) => self.write_tool_end(tool, ending, sink),
            // A second result would be a second message.
            TrackedChange::ToolCorrected(tool, ending) => {
                sink.push_frame(custom_event(
                    "tool-status",
                    common_fields::add_tool_ending(tool_fields(tool), ending),
                ));
            }
            TrackedChange::ToolsAvailable(tools) => {
                sink.push_frame(custom_event(
                    "tools-available",
                    common_fields::tools_object(tools),
                ));
            }
            TrackedChange::Tasks(id, tasks) => {
                let content =
                    JsonObjectWriter::new().raw("tasks", &common_fields::task_list(tasks));
                sink.push_frame(card_event(id, "tasks", content));
            }
            TrackedChange::Usage(usage) => sink.push_frame(custom_event(
                "usage",
                common_fields::add_usage(JsonObjectWriter::new(), usage),
            )),
            TrackedChange::Activity(id, activity) => sink.push_frame(activity_event(id, activity)),
            TrackedChange::Problem(problem) => sink.push_frame(problem_event(problem)),
            TrackedChange::RunEnded(ending) => {
                self.subagents.end_all(sink);
                let pending = match end::can_leave_calls(&ending) {
                    true => self.pending_calls.take_ids(),
                    false => Vec::new(),
                };
                self.pending_calls.write_results(sink);
                sink.push_frame(end::end_event(self, &ending, &pending));
            }
        }
    }

    fn write_run_start(
        &mut self,
        epoch: u64,
        at: Option<u64>,
        started: &RunStart,
        sink: &mut FrameSink<'_>,
    ) {
        self.model = started.model.clone();
        let metadata = JsonObjectWriter::new()
            .number("epoch", epoch)
            .optional_text("agent", started.agent.as_deref())
            .optional_text("model", started.model.as_deref());
        let object = with_timestamp(event("RUN_STARTED"), at)
            .text("threadId", &self.thread)
            .text("runId", &self.run)
            .optional_text("parentRunId", started.parent.as_deref());
        let object = match self.version {
            AgUiRevision::V0 => object,
            AgUiRevision::V1 => object.text("protocolVersion", "1.0"),
        };
        sink.push_frame(object.object("metadata", metadata).finish());
    }

    fn write_part_start(&mut self, part: &TrackedPart, sink: &mut FrameSink<'_>) {
        if self.is_card(part) {
            return;
        }
        let parent = part.parent.as_ref();
        if parent.is_none() {
            self.pending_calls.write_results(sink);
        }
        self.subagents.announce_subagent(parent, sink);
        match part.kind {
            TrackedPartKind::Text => {
                if parent.is_none() {
                    self.message = Some(part.id.clone());
                }
                let start = event("TEXT_MESSAGE_START").raw("messageId", &part.quoted);
                sink.push_frame(with_subagent(start, parent).text("role", "assistant").finish());
            }
            TrackedPartKind::Thought => {
                let span = event("REASONING_START").raw("messageId", &part.quoted);
                sink.push_frame(with_subagent(span, parent).finish());
                let start = event("REASONING_MESSAGE_START").raw("messageId", &part.quoted);
                sink.push_frame(with_subagent(start, parent).text("role", "reasoning").finish());
            }
        }
    }

    fn write_part_delta(&self, part: &TrackedPart, delta: &str, sink: &mut FrameSink<'_>) {
        if self.is_card(part) {
            return;
        }
        let kind = match part.kind {
            TrackedPartKind::Text => "TEXT_MESSAGE_CONTENT",
            TrackedPartKind::Thought => "REASONING_MESSAGE_CONTENT",
        };
        let object = JsonObjectWriter::with_capacity(part.quoted.len() + delta.len())
            .unescaped("type", kind);
        sink.push_frame(object.raw("messageId", &part.quoted).text("delta", delta).finish());
    }

    fn write_part_end(&self, part: &TrackedPart, sink: &mut FrameSink<'_>) {
        if self.is_card(part) {
            if !part.text.is_empty() {
                let content = JsonObjectWriter::new()
                    .optional_text("parentToolCallId", part.parent.as_deref())
                    .text("kind", part.kind.name())
                    .text("text", &part.text);
                sink.push_frame(card_event(&part.id, "subagent", content));
            }
            return;
        }
        let kinds: &[&str] = match part.kind {
            TrackedPartKind::Text => &["TEXT_MESSAGE_END"],
            TrackedPartKind::Thought => &["REASONING_MESSAGE_END", "REASONING_END"],
        };
        for kind in kinds {
            sink.push_frame(event(kind).raw("messageId", &part.quoted).finish());
        }
    }

    /// Whether the part is shown as a card, because it must not look like text of the run.
    fn is_card(&self, part: &TrackedPart) -> bool {
        self.version == AgUiRevision::V0 && part.parent.is_some()
    }

    fn write_tool_start(&mut self, tool: &TrackedTool, sink: &mut FrameSink<'_>) {
        let parent = tool.parent.as_ref();
        self.subagents.announce_subagent(parent, sink);
        self.subagents.add_call(tool);
        // Calls of one turn belong to one message. Calls of sub-agents belong to none of the run's
        // messages.
        let message = if parent.is_none() { self.message.as_deref() } else { None };
        let metadata = JsonObjectWriter::new()
            .optional_text("title", tool.title.as_deref())
            .optional_text("parentToolCallId", tool.parent.as_deref());
        let start = event("TOOL_CALL_START")
            .text("toolCallId", &tool.id)
            .text("toolCallName", &tool.name)
            .optional_text("parentMessageId", message)
            .non_empty_object("metadata", metadata);
        sink.push_frame(self.subagents.with_subagent(start, parent).finish());
    }

    fn write_tool_end(
        &mut self,
        tool: &TrackedTool,
        ending: ToolEnding<'_>,
        sink: &mut FrameSink<'_>,
    ) {
        self.subagents.end_call(tool, ending, sink);
        let metadata = common_fields::add_tool_ending(JsonObjectWriter::new(), ending)
            .optional_text("parentToolCallId", tool.parent.as_deref());
        let result = event("TOOL_CALL_RESULT")
            .text("messageId", &tool.result)
            .text("toolCallId", &tool.id)
            .text("content", &ending.content.plain())
            .text("role", "tool")
            .object("metadata", metadata);
        let frame = self.subagents.with_subagent(result, tool.parent.as_ref()).finish();
        if self.version == AgUiRevision::V1 && PendingCalls::may_be_pending(tool, ending) {
            sink.push_frame(status_event(tool, ending.status));
            self.pending_calls.hold_back(tool, frame);
        } else if self.handed_over == HandedOverCalls::StayOpen
            && PendingCalls::may_be_pending(tool, ending)
        {
            // Older clients run a call that has no result when the run finishes.
        } else {
            sink.push_frame(frame);
        }
    }
}

fn event(kind: &str) -> JsonObjectWriter {
    JsonObjectWriter::new().unescaped("type", kind)
}

fn with_timestamp(object: JsonObjectWriter, at: Option<u64>) -> JsonObjectWriter {
    match at {
        Some(at) => object.number("timestamp", at),
        None => object,
    }
}

/// Adds the sub-agent that an event belongs to. Only clients of 1.0 get one.
fn with_subagent(object: JsonObjectWriter, parent: Option<&SharedId>) -> JsonObjectWriter {
    object.optional_text("subagentRunId", parent.map(|parent| &**parent))
}

/// An event of our own, for what AG-UI has no event for.
fn custom_event(name: &str, value: JsonObjectWriter) -> String {
    event("CUSTOM").text("name", &format!("foxwedge.{name}")).object("value", value).finish()
}

/// A card beside the messages.
fn card_event(id: &str, kind: &str, content: JsonObjectWriter) -> String {
    let card = event("ACTIVITY_SNAPSHOT").text("messageId", id).text("activityType", kind);
    card.object("content", content).finish()
}

fn tool_fields(tool: &TrackedTool) -> JsonObjectWriter {
    JsonObjectWriter::new().text("toolCallId", &tool.id)
}

fn step_name(turn: u32) -> String {
    format!("step-{turn}")
}

fn arguments_event(tool: &TrackedTool, delta: &str) -> String {
    let object = JsonObjectWriter::with_capacity(tool.id.len() + delta.len())
        .unescaped("type", "TOOL_CALL_ARGS");
    object.text("toolCallId", &tool.id).text("delta", delta).finish()
}

/// Writes the rest of the arguments and their end. Clients join the deltas and use the result as
/// the arguments. Where the deltas differ from the actual arguments, the end event carries the
/// actual ones.
fn write_arguments_end(tool: &TrackedTool, input: Option<&RawJson>, sink: &mut FrameSink<'_>) {
    let mut metadata = JsonObjectWriter::new();
    match input {
        Some(input) => match input.raw().strip_prefix(tool.arguments.as_str()) {
            Some("") => {}
            Some(rest) => sink.push_frame(arguments_event(tool, rest)),
            None if is_same_json(&tool.arguments, input) => {}
            None => metadata = metadata.json("input", input),
        },
        None if tool.arguments.is_empty() => sink.push_frame(arguments_event(tool, "{}")),
        None => metadata = metadata.flag("incomplete", true),
    }
    let end = event("TOOL_CALL_END").text("toolCallId", &tool.id);
    sink.push_frame(end.non_empty_object("metadata", metadata).finish());
}

fn is_same_json(deltas: &str, input: &RawJson) -> bool {
    RawJson::parse(deltas).is_some_and(|deltas| deltas.value() == input.value())
}

fn status_event(tool: &TrackedTool, status: ToolStatus) -> String {
    custom_event("tool-status", tool_fields(tool).text("status", status.name()))
}

fn request_event(tool: &TrackedTool, request: &TrackedRequest) -> String {
    let name = match request.kind {
        ApprovalKind::Approval => "approval-asked",
        ApprovalKind::Question => "question-asked",
    };
    let value = tool_fields(tool)
        .text("id", &request.id)
        .text("toolCallName", &tool.name)
        .optional_text("prompt", request.prompt.as_deref());
    custom_event(
        name,
        match &request.choices {
            Some(choices) => value.json("choices", choices),
            None => value,
        },
    )
}

fn reply_event(tool: &TrackedTool, request: &TrackedRequest, verdict: ApprovalVerdict) -> String {
    let name = match request.kind {
        ApprovalKind::Approval => "approval-answered",
        ApprovalKind::Question => "question-answered",
    };
    let value = tool_fields(tool)
        .text("id", &request.id)
        .text("verdict", common_fields::verdict_name(verdict));
    custom_event(name, value)
}

fn problem_event(problem: &RunProblem) -> String {
    custom_event("error", common_fields::problem_object(problem))
}

fn activity_event(id: &str, activity: &ActivityCard) -> String {
    // The content of a card must be an object.
    if activity.content.raw().starts_with('{') {
        let snapshot =
            event("ACTIVITY_SNAPSHOT").text("messageId", id).text("activityType", &activity.kind);
        return snapshot.json("content", &activity.content).finish();
    }
    card_event(id, &activity.kind, JsonObjectWriter::new().json("content", &activity.content))
}
