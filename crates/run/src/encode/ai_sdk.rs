//! The UI message stream of the AI SDK: chunks that build one message.
//!
//! Every tool is `dynamic`, since the reader does not know it. The message has no state for calls
//! that were called off, so those are errors, and a `data-tool-status` part says what they were. A
//! message is only valid if approvals and the ends of calls agree; see [`approvals`].

mod approvals;
mod end;

use super::{
    Options, Sink,
    json::{Object, spelled},
    tracker::{Kind, Part, Request, Told, Tool},
    words,
};
use crate::{Activity, AskKind, Id, Json, Problem, Started, Status, Task, Usage};
use approvals::Approvals;

/// Speaks the AI SDK's chunks for one run.
pub(super) struct Voice {
    session: Id,
    run: Id,
    in_step: bool,
    /// Calls of this step whose arguments are still coming.
    unready: Vec<Unready>,
    approvals: Approvals,
}

struct Unready {
    id: Id,
    name: Id,
    title: Option<String>,
}

impl Voice {
    pub(super) fn new(run: &Id, options: &Options) -> Voice {
        Voice {
            session: options.session.clone(),
            run: run.clone(),
            in_step: false,
            unready: Vec::new(),
            approvals: Approvals::default(),
        }
    }

    pub(super) fn tell(&mut self, told: Told<'_>, sink: &mut Sink<'_>) {
        match told {
            Told::Began { epoch, at, started } => sink.frame(self.began(epoch, at, started)),
            Told::StepBegan { .. } => self.step_began(sink),
            Told::StepOver { .. } => self.step_over(sink),
            Told::PartBegan(part) => self.part_began(part, sink),
            Told::PartGrew(part, delta) => part_grew(part, delta, sink),
            Told::PartOver(part) => part_over(part, sink),
            Told::ToolBegan(tool) => self.tool_began(tool, sink),
            Told::ToolGrew(tool, delta) => self.tool_grew(tool, delta, sink),
            Told::ToolReady(tool, input) => self.tool_ready(tool, input, sink),
            Told::ToolStatus(tool, status) => sink.frame(told_status(tool, status)),
            Told::ToolProgress(tool, content) => {
                let data = of(tool).json("content", content);
                sink.frame(passing("tool-progress", &tool.id, data));
            }
            Told::Asked(tool, request) => match request.kind {
                AskKind::Approval => self.approvals.asked(tool, request, sink),
                AskKind::Question => sink.frame(question(tool, request, "open")),
            },
            Told::Replied(tool, request, verdict) => match request.kind {
                AskKind::Approval => self.approvals.replied(tool, request, verdict, sink),
                AskKind::Question => sink.frame(question(tool, request, words::verdict(verdict))),
            },
            Told::ToolOver(tool, settled) => {
                self.unready.retain(|unready| unready.id != tool.id);
                self.approvals.over(tool, settled, sink);
            }
            // The state of the call and its approval have to agree, so they stay as they are.
            Told::ToolCorrected(tool, settled) => {
                sink.frame(data("tool-status", &tool.id, words::settled(of(tool), settled)));
            }
            Told::ToolsAvailable(tools) => {
                sink.frame(passing("tools-available", "tools", words::tools(tools)));
            }
            Told::Tasks(id, tasks) => sink.frame(tasks_of(id, tasks)),
            Told::Usage(usage) => sink.frame(usage_of(usage)),
            Told::Activity(id, activity) => sink.frame(activity_of(id, activity)),
            Told::Problem(problem) => sink.frame(problem_of(problem)),
            Told::Over(over) => {
                self.step_over(sink);
                end::tell(&over, sink);
            }
        }
    }

    /// The run's id is the message's: a stream that is read again builds the same message.
    fn began(&self, epoch: u64, at: Option<u64>, started: &Started) -> String {
        let about = Object::new()
            .text("session", &self.session)
            .text("run", &self.run)
            .number("epoch", epoch)
            .maybe("parent", started.parent.as_deref())
            .maybe("agent", started.agent.as_deref())
            .maybe("model", started.model.as_deref());
        let about = match at {
            Some(at) => about.number("startedAt", at),
            None => about,
        };
        let start = chunk("start").text("messageId", &self.run);
        start.object("messageMetadata", metadata(about)).end()
    }

    fn step_began(&mut self, sink: &mut Sink<'_>) {
        // Of a call in an earlier step nothing but its end can be told.
        for unready in std::mem::take(&mut self.unready) {
            self.show_input(&unready, "{}", sink);
        }
        self.in_step = true;
        sink.frame(chunk("start-step").end());
    }

    fn step_over(&mut self, sink: &mut Sink<'_>) {
        if std::mem::take(&mut self.in_step) {
            sink.frame(chunk("finish-step").end());
        }
    }

    /// Whatever is shown belongs to a step.
    fn in_step(&mut self, sink: &mut Sink<'_>) {
        if !self.in_step {
            self.step_began(sink);
        }
    }

    fn part_began(&mut self, part: &Part, sink: &mut Sink<'_>) {
        if part.parent.is_none() {
            self.in_step(sink);
            sink.frame(of_part(part, "text-start", "reasoning-start").end());
        }
    }

    fn tool_began(&mut self, tool: &Tool, sink: &mut Sink<'_>) {
        self.in_step(sink);
        let (id, name, title) = (tool.id.clone(), tool.name.clone(), tool.title.clone());
        self.unready.push(Unready { id, name, title });
        let start = chunk("tool-input-start")
            .text("toolCallId", &tool.id)
            .text("toolName", &tool.name)
            .flag("dynamic", true)
            .maybe("title", tool.title.as_deref());
        let about = Object::new().maybe("parentToolCallId", tool.parent.as_deref());
        sink.frame(start.filled("toolMetadata", about).end());
    }

    fn tool_grew(&self, tool: &Tool, delta: &str, sink: &mut Sink<'_>) {
        let is_unready = self.unready.iter().any(|unready| unready.id == tool.id);
        // A piece would hide that somebody is asked; all of it comes when it is ready.
        if is_unready && !self.approvals.is_open(&tool.id) {
            let object = Object::sized(tool.id.len() + delta.len());
            let object = object.word("type", "tool-input-delta").text("toolCallId", &tool.id);
            sink.frame(object.text("inputTextDelta", delta).end());
        }
    }

    fn tool_ready(&mut self, tool: &Tool, input: Option<&Json>, sink: &mut Sink<'_>) {
        let at = self.unready.iter().position(|unready| unready.id == tool.id);
        match (at.map(|at| self.unready.remove(at)), input) {
            (Some(unready), Some(input)) => self.show_input(&unready, &spelled(input), sink),
            // What came of them is shown already, and the end of the call is near.
            (Some(_), None) if !tool.arguments.is_empty() && tool.requests.is_empty() => {}
            (Some(unready), None) => self.show_input(&unready, "{}", sink),
            (None, Some(input)) => {
                sink.frame(data("tool-input", &tool.id, of(tool).json("input", input)));
            }
            (None, None) => {}
        }
    }

    fn show_input(&self, call: &Unready, input: &str, sink: &mut Sink<'_>) {
        let available = chunk("tool-input-available")
            .text("toolCallId", &call.id)
            .text("toolName", &call.name)
            .written("input", input)
            .flag("dynamic", true)
            .maybe("title", call.title.as_deref());
        sink.frame(available.end());
        self.approvals.again(&call.id, sink);
    }
}

fn chunk(kind: &str) -> Object {
    Object::new().text("type", kind)
}

/// What only we know about a message, where it cannot meet what an application keeps there.
fn metadata(about: Object) -> Object {
    Object::new().object("foxwedge", about)
}

/// Something that the message keeps. The same name and id again replace it.
fn data(name: &str, id: &str, data: Object) -> String {
    chunk(&format!("data-{name}")).text("id", id).object("data", data).end()
}

/// Something that is told once and not kept.
fn passing(name: &str, id: &str, data: Object) -> String {
    let chunk = chunk(&format!("data-{name}")).text("id", id).object("data", data);
    chunk.flag("transient", true).end()
}

fn of(tool: &Tool) -> Object {
    Object::new().text("toolCallId", &tool.id)
}

fn of_part(part: &Part, text: &str, thought: &str) -> Object {
    let kind = match part.kind {
        Kind::Text => text,
        Kind::Thought => thought,
    };
    chunk(kind).written("id", &part.quoted)
}

fn part_grew(part: &Part, delta: &str, sink: &mut Sink<'_>) {
    if part.parent.is_some() {
        return;
    }
    let kind = match part.kind {
        Kind::Text => "text-delta",
        Kind::Thought => "reasoning-delta",
    };
    let object = Object::sized(part.quoted.len() + delta.len()).word("type", kind);
    sink.frame(object.written("id", &part.quoted).text("delta", delta).end());
}

/// What a sub-agent says must not look like the answer: it is kept beside it, once it is whole.
fn part_over(part: &Part, sink: &mut Sink<'_>) {
    match part.parent.as_deref() {
        None => sink.frame(of_part(part, "text-end", "reasoning-end").end()),
        Some(_) if part.said.is_empty() => {}
        Some(parent) => {
            let said = Object::sized(part.said.len())
                .text("parentToolCallId", parent)
                .text("kind", part.kind.name())
                .text("text", &part.said);
            sink.frame(data("subagent", &part.id, said));
        }
    }
}

fn told_status(tool: &Tool, status: Status) -> String {
    passing("tool-status", &tool.id, of(tool).text("status", status.name()))
}

/// An approval is a yes or a no; a question needs more than that.
fn question(tool: &Tool, request: &Request, state: &str) -> String {
    let question = of(tool).text("state", state).maybe("prompt", request.prompt.as_deref());
    let question = match &request.choices {
        Some(choices) => question.json("choices", choices),
        None => question,
    };
    data("question", &request.id, question)
}

fn tasks_of(id: &str, tasks: &[Task]) -> String {
    data("tasks", id, Object::new().written("tasks", &words::tasks(tasks)))
}

fn usage_of(usage: &Usage) -> String {
    let about = Object::new().object("usage", words::usage(Object::new(), usage));
    chunk("message-metadata").object("messageMetadata", metadata(about)).end()
}

fn activity_of(id: &str, activity: &Activity) -> String {
    let chunk = chunk(&format!("data-{}", activity.kind)).text("id", id);
    chunk.json("data", &activity.content).end()
}

/// The chunk `error` would end the message.
fn problem_of(problem: &Problem) -> String {
    chunk("data-problem").object("data", words::problem(problem)).end()
}
