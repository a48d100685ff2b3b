//! AG-UI: events with a `type`.
//!
//! Readers of 1.0 know sub-agents and cancelled runs; older ones refuse the latter and would show
//! what a sub-agent says as the answer, so they get it as a card.

mod end;
mod subagents;

use super::{
    AgUi, Options, Sink,
    json::Object,
    tracker::{Kind, Part, Request, Settled, Told, Tool},
    words,
};
use crate::{Activity, AskKind, Id, Json, Problem, Started, Status, Verdict};
use subagents::Subagents;

/// Speaks AG-UI for one run.
pub(super) struct Voice {
    version: AgUi,
    thread: Id,
    run: Id,
    model: Option<Id>,
    /// The message that the next call belongs to.
    message: Option<Id>,
    subagents: Subagents,
}

impl Voice {
    pub(super) fn new(run: &Id, options: &Options) -> Voice {
        Voice {
            version: options.agui,
            thread: options.session.clone(),
            run: run.clone(),
            model: None,
            message: None,
            subagents: Subagents::new(options.agui),
        }
    }

    pub(super) fn tell(&mut self, told: Told<'_>, sink: &mut Sink<'_>) {
        match told {
            Told::Began { epoch, at, started } => self.began(epoch, at, started, sink),
            Told::StepBegan { turn, message } => {
                self.message = Some(message.clone());
                sink.frame(event("STEP_STARTED").text("stepName", &step(turn)).end());
            }
            Told::StepOver { turn } => {
                self.message = None;
                sink.frame(event("STEP_FINISHED").text("stepName", &step(turn)).end());
            }
            Told::PartBegan(part) => self.part_began(part, sink),
            Told::PartGrew(part, delta) => self.part_grew(part, delta, sink),
            Told::PartOver(part) => self.part_over(part, sink),
            Told::ToolBegan(tool) => self.tool_began(tool, sink),
            Told::ToolGrew(tool, delta) => sink.frame(arguments(tool, delta)),
            Told::ToolReady(tool, input) => ready(tool, input, sink),
            Told::ToolStatus(tool, status) => sink.frame(told_status(tool, status)),
            Told::ToolProgress(tool, content) => {
                let value = of(tool).json("content", content);
                sink.frame(custom("tool-progress", value));
            }
            Told::Asked(tool, request) => sink.frame(asked(tool, request)),
            Told::Replied(tool, request, verdict) => sink.frame(replied(tool, request, verdict)),
            Told::ToolOver(tool, settled) => self.tool_over(tool, settled, sink),
            // A second result would be a second message.
            Told::ToolCorrected(tool, settled) => {
                sink.frame(custom("tool-status", words::settled(of(tool), settled)));
            }
            Told::ToolsAvailable(tools) => {
                sink.frame(custom("tools-available", words::tools(tools)));
            }
            Told::Tasks(id, tasks) => {
                let content = Object::new().written("tasks", &words::tasks(tasks));
                sink.frame(card(id, "tasks", content));
            }
            Told::Usage(usage) => sink.frame(custom("usage", words::usage(Object::new(), usage))),
            Told::Activity(id, activity) => sink.frame(activity_of(id, activity)),
            Told::Problem(problem) => sink.frame(problem_of(problem)),
            Told::Over(over) => {
                self.subagents.over(sink);
                sink.frame(end::event_of(self, &over));
            }
        }
    }

    fn began(&mut self, epoch: u64, at: Option<u64>, started: &Started, sink: &mut Sink<'_>) {
        self.model = started.model.clone();
        let metadata = Object::new()
            .number("epoch", epoch)
            .maybe("agent", started.agent.as_deref())
            .maybe("model", started.model.as_deref());
        let object = timed(event("RUN_STARTED"), at)
            .text("threadId", &self.thread)
            .text("runId", &self.run)
            .maybe("parentRunId", started.parent.as_deref());
        let object = match self.version {
            AgUi::V0 => object,
            AgUi::V1 => object.text("protocolVersion", "1.0"),
        };
        sink.frame(object.object("metadata", metadata).end());
    }

    fn part_began(&mut self, part: &Part, sink: &mut Sink<'_>) {
        if self.is_card(part) {
            return;
        }
        let parent = part.parent.as_ref();
        self.subagents.speaks(parent, sink);
        match part.kind {
            Kind::Text => {
                if parent.is_none() {
                    self.message = Some(part.id.clone());
                }
                let start = event("TEXT_MESSAGE_START").written("messageId", &part.quoted);
                sink.frame(attributed(start, parent).text("role", "assistant").end());
            }
            Kind::Thought => {
                let span = event("REASONING_START").written("messageId", &part.quoted);
                sink.frame(attributed(span, parent).end());
                let start = event("REASONING_MESSAGE_START").written("messageId", &part.quoted);
                sink.frame(attributed(start, parent).text("role", "reasoning").end());
            }
        }
    }

    fn part_grew(&self, part: &Part, delta: &str, sink: &mut Sink<'_>) {
        if self.is_card(part) {
            return;
        }
        let kind = match part.kind {
            Kind::Text => "TEXT_MESSAGE_CONTENT",
            Kind::Thought => "REASONING_MESSAGE_CONTENT",
        };
        let object = Object::sized(part.quoted.len() + delta.len()).word("type", kind);
        sink.frame(object.written("messageId", &part.quoted).text("delta", delta).end());
    }

    fn part_over(&self, part: &Part, sink: &mut Sink<'_>) {
        if self.is_card(part) {
            if !part.said.is_empty() {
                let content = Object::new()
                    .maybe("parentToolCallId", part.parent.as_deref())
                    .text("kind", part.kind.name())
                    .text("text", &part.said);
                sink.frame(card(&part.id, "subagent", content));
            }
            return;
        }
        let kinds: &[&str] = match part.kind {
            Kind::Text => &["TEXT_MESSAGE_END"],
            Kind::Thought => &["REASONING_MESSAGE_END", "REASONING_END"],
        };
        for kind in kinds {
            sink.frame(event(kind).written("messageId", &part.quoted).end());
        }
    }

    /// Whether it must not look like the answer of the run.
    fn is_card(&self, part: &Part) -> bool {
        self.version == AgUi::V0 && part.parent.is_some()
    }

    fn tool_began(&mut self, tool: &Tool, sink: &mut Sink<'_>) {
        let parent = tool.parent.as_ref();
        self.subagents.speaks(parent, sink);
        self.subagents.calls(tool);
        // Calls of one turn belong to one message; those of sub-agents to none of ours.
        let message = if parent.is_none() { self.message.as_deref() } else { None };
        let metadata = Object::new()
            .maybe("title", tool.title.as_deref())
            .maybe("parentToolCallId", tool.parent.as_deref());
        let start = event("TOOL_CALL_START")
            .text("toolCallId", &tool.id)
            .text("toolCallName", &tool.name)
            .maybe("parentMessageId", message)
            .filled("metadata", metadata);
        sink.frame(self.subagents.tagged(start, parent).end());
    }

    fn tool_over(&mut self, tool: &Tool, settled: Settled<'_>, sink: &mut Sink<'_>) {
        self.subagents.settles(tool, settled, sink);
        let metadata = words::settled(Object::new(), settled)
            .maybe("parentToolCallId", tool.parent.as_deref());
        let result = event("TOOL_CALL_RESULT")
            .text("messageId", &tool.result)
            .text("toolCallId", &tool.id)
            .text("content", &settled.content.plain())
            .text("role", "tool")
            .object("metadata", metadata);
        sink.frame(self.subagents.tagged(result, tool.parent.as_ref()).end());
    }
}

fn event(kind: &str) -> Object {
    Object::new().word("type", kind)
}

fn timed(object: Object, at: Option<u64>) -> Object {
    match at {
        Some(at) => object.number("timestamp", at),
        None => object,
    }
}

/// Says which sub-agent speaks. Only readers of 1.0 get here with one.
fn attributed(object: Object, parent: Option<&Id>) -> Object {
    object.maybe("subagentRunId", parent.map(|parent| &**parent))
}

/// Something that AG-UI has no event for.
fn custom(name: &str, value: Object) -> String {
    event("CUSTOM").text("name", &format!("foxwedge.{name}")).object("value", value).end()
}

/// What a user interface shows beside the messages.
fn card(id: &str, kind: &str, content: Object) -> String {
    let card = event("ACTIVITY_SNAPSHOT").text("messageId", id).text("activityType", kind);
    card.object("content", content).end()
}

fn of(tool: &Tool) -> Object {
    Object::new().text("toolCallId", &tool.id)
}

fn step(turn: u32) -> String {
    format!("step-{turn}")
}

fn arguments(tool: &Tool, delta: &str) -> String {
    let object = Object::sized(tool.id.len() + delta.len()).word("type", "TOOL_CALL_ARGS");
    object.text("toolCallId", &tool.id).text("delta", delta).end()
}

/// The rest of the arguments, and their end. Readers put the pieces together and take the result
/// for what was called, so where the pieces are something else, the end says what it was.
fn ready(tool: &Tool, input: Option<&Json>, sink: &mut Sink<'_>) {
    let mut metadata = Object::new();
    match input {
        Some(input) => match input.raw().strip_prefix(tool.arguments.as_str()) {
            Some("") => {}
            Some(rest) => sink.frame(arguments(tool, rest)),
            None if same(&tool.arguments, input) => {}
            None => metadata = metadata.json("input", input),
        },
        None if tool.arguments.is_empty() => sink.frame(arguments(tool, "{}")),
        None => metadata = metadata.flag("incomplete", true),
    }
    let end = event("TOOL_CALL_END").text("toolCallId", &tool.id);
    sink.frame(end.filled("metadata", metadata).end());
}

fn same(pieces: &str, input: &Json) -> bool {
    Json::parse(pieces).is_some_and(|pieces| pieces.value() == input.value())
}

fn told_status(tool: &Tool, status: Status) -> String {
    custom("tool-status", of(tool).text("status", status.name()))
}

fn asked(tool: &Tool, request: &Request) -> String {
    let name = match request.kind {
        AskKind::Approval => "approval-asked",
        AskKind::Question => "question-asked",
    };
    let value = of(tool)
        .text("id", &request.id)
        .text("toolCallName", &tool.name)
        .maybe("prompt", request.prompt.as_deref());
    custom(
        name,
        match &request.choices {
            Some(choices) => value.json("choices", choices),
            None => value,
        },
    )
}

fn replied(tool: &Tool, request: &Request, verdict: Verdict) -> String {
    let name = match request.kind {
        AskKind::Approval => "approval-answered",
        AskKind::Question => "question-answered",
    };
    let value = of(tool).text("id", &request.id).text("verdict", words::verdict(verdict));
    custom(name, value)
}

fn problem_of(problem: &Problem) -> String {
    custom("error", words::problem(problem))
}

fn activity_of(id: &str, activity: &Activity) -> String {
    // The content of a card is an object.
    if activity.content.raw().starts_with('{') {
        let snapshot =
            event("ACTIVITY_SNAPSHOT").text("messageId", id).text("activityType", &activity.kind);
        return snapshot.json("content", &activity.content).end();
    }
    card(id, &activity.kind, Object::new().json("content", &activity.content))
}
