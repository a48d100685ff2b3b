//! Events as readable lines: long ids are replaced by short ones, in the order in which they
//! appear.

use std::collections::BTreeMap;

use crate::{
    ApprovalReply, ApprovalRequest, CallRef, EventPayload, RawJson, RunEnd, RunEvent, RunProblem,
    RunUsage, SharedId, TaskItem, TextUpdate, ToolCallUpdate, ToolResult,
    follow::{AgentExit, AgentFollower, StreamSource},
};

/// A stream from a file: lines of the agent, `> ` before host lines, and `! ` before the end.
pub(super) enum Said<'a> {
    Agent(&'a str),
    Host(&'a str),
    Exit(AgentExit),
}

pub(super) fn said(line: &str) -> Said<'_> {
    if let Some(line) = line.strip_prefix("> ") {
        return Said::Host(line);
    }
    let end = |kind| line.strip_prefix(kind).map(|number: &str| number.parse().unwrap());
    match (end("! exit "), end("! signal "), line) {
        (Some(code), _, _) => Said::Exit(AgentExit::Code(code)),
        (_, Some(signal), _) => Said::Exit(AgentExit::Signal(signal)),
        (_, _, "! eof") => Said::Exit(AgentExit::Eof),
        _ => Said::Agent(line),
    }
}

impl Said<'_> {
    pub(super) fn to(&self, follower: &mut AgentFollower) -> Vec<RunEvent> {
        match self {
            Said::Agent(line) => follower.line(line),
            Said::Host(line) => follower.host_line(line),
            Said::Exit(exit) => follower.finish(*exit),
        }
    }
}

/// All events of a stream, each with the number of its line.
pub(super) fn follow(source: StreamSource, stream: &str) -> Vec<(usize, RunEvent)> {
    let mut follower = AgentFollower::new(source, "run".into());
    let lines = stream.lines().enumerate();
    lines
        .flat_map(|(at, line)| {
            let events = said(line).to(&mut follower);
            events.into_iter().map(move |event| (at + 1, event))
        })
        .collect()
}

/// The events of a stream, one per line.
pub(super) fn story(source: StreamSource, stream: &str) -> String {
    let mut names = Names::default();
    let lines = follow(source, stream).into_iter().map(|(at, event)| {
        let run = if &*event.run == "run" { String::new() } else { format!("{}: ", event.run) };
        let odd = event.unknown_word.as_ref().map(|odd| format!(" odd={odd}")).unwrap_or_default();
        format!("{at:>3} {run}{}{odd}\n", names.body(&event.body))
    });
    lines.collect()
}

/// Compares the events of a stream with the expected lines, ignoring indentation.
pub(super) fn becomes(source: StreamSource, stream: &str, expected: &str) {
    let trim = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let (is, expected) = (trim(&story(source, &trim(stream).join("\n"))), trim(expected));
    assert_eq!(is, expected, "\n{}\n", is.join("\n"));
}

/// The events of lines without the start of a run.
pub(super) fn told(events: &[RunEvent]) -> Vec<String> {
    let mut names = Names::default();
    events.iter().map(|event| names.body(&event.body)).collect()
}

/// Short names for long ids.
#[derive(Default)]
struct Names(BTreeMap<SharedId, String>);

impl Names {
    fn short(&mut self, id: &SharedId) -> String {
        if id.len() < 16 {
            return id.to_string();
        }
        let kind = ["toolu_", "msg_", "call_"].into_iter().find(|head| id.starts_with(head));
        let kind = kind.unwrap_or("id").trim_end_matches('_');
        let same = |name: &&String| name.trim_end_matches(|c: char| c.is_ascii_digit()) == kind;
        let number = self.0.values().filter(same).count() + 1;
        self.0.entry(id.clone()).or_insert_with(|| format!("{kind}{number}")).clone()
    }

    fn maybe(&mut self, id: Option<&SharedId>) -> String {
        id.map_or_else(|| "-".into(), |id| self.short(id))
    }

    fn call(&mut self, call: &CallRef) -> String {
        let turn = call.turn.map_or_else(|| "?".into(), |turn| turn.to_string());
        format!("{}@{turn}", self.maybe(call.id.as_ref()))
    }

    fn body(&mut self, body: &EventPayload) -> String {
        match body {
            EventPayload::Started(started) => {
                let session = self.maybe(started.session.as_ref());
                let (agent, model) = (word(&started.agent), word(&started.model));
                format!("started {agent} model={model} session={session}")
            }
            EventPayload::ToolsAvailable(tools) => {
                let version = tools.version.unwrap_or(0);
                let ready = if tools.ready { "ready" } else { "not ready" };
                format!("tools v{version} {ready} {}", tools.tools.len())
            }
            EventPayload::TurnStarted(turn) => {
                let number = turn.turn.unwrap_or(0);
                format!("turn {number} {}", self.maybe(turn.message.as_ref()))
            }
            EventPayload::Text(text) => format!("text {}", self.text(text)),
            EventPayload::Thought(text) => format!("thought {}", self.text(text)),
            EventPayload::ToolCall(call) => self.called(call),
            EventPayload::ToolArguments { call, delta } => {
                format!("arguments {} +{}", self.call(call), short(delta))
            }
            EventPayload::ToolProgress { call, content } => {
                format!("progress {} {}", self.call(call), json(content))
            }
            EventPayload::ToolResult(result) => self.result(result),
            EventPayload::ToolCancelled { call } => format!("cancelled {}", self.call(call)),
            EventPayload::ApprovalRequested(ask) => self.asked(ask),
            EventPayload::ApprovalReplied(reply) => self.replied(reply),
            EventPayload::Tasks(tasks) => {
                let task = |task: &TaskItem| format!("{:?} {}", task.status, task.content);
                format!("tasks {}", tasks.iter().map(task).collect::<Vec<_>>().join(", "))
            }
            EventPayload::Usage(usage) => format!("usage {}", cost(usage)),
            EventPayload::Activity(activity) => {
                let id = self.maybe(activity.id.as_ref());
                format!("activity {} {id} {}", activity.kind, json(&activity.content))
            }
            EventPayload::Problem(found) => format!("problem {}", problem(found)),
            EventPayload::Stop(stop) => format!("stop {}", stop.grace),
            EventPayload::TimedOut { call } => {
                let call = call.as_ref().map(|call| self.call(call)).unwrap_or_default();
                format!("timed out {call}")
            }
            EventPayload::Ended(ended) => end(ended),
            EventPayload::Unknown { kind, raw } => format!("unknown {kind} {}", json(raw)),
        }
    }

    fn text(&mut self, text: &TextUpdate) -> String {
        let TextUpdate { message, parent, delta, full } = text;
        let message = self.maybe(message.as_ref());
        let parent = parent.as_ref().map(|parent| format!(" under {}", self.short(parent)));
        let delta = delta.as_ref().map(|delta| format!(" +{}", short(delta)));
        let full = full.as_ref().map(|full| format!(" ={}", short(full)));
        let rest = [parent, delta, full].map(Option::unwrap_or_default);
        format!("{message}{}", rest.concat())
    }

    fn called(&mut self, call: &ToolCallUpdate) -> String {
        let ToolCallUpdate { call, name, parent, input, title, status } = call;
        let parent = parent.as_ref().map(|parent| format!(" under {}", self.short(parent)));
        let title = title.as_ref().map(|title| format!(" \"{title}\""));
        let input = input.as_ref().map(|input| format!(" {}", json(input)));
        let status = status.map_or("-", crate::ToolStatus::name);
        let rest = [parent, title, input].map(Option::unwrap_or_default);
        format!("call {} {} {status}{}", self.call(call), word(name), rest.concat())
    }

    fn result(&mut self, result: &ToolResult) -> String {
        let ToolResult { call, name, outcome: how, reason: _, content } = result;
        let content = content.as_ref().map(json).unwrap_or_else(|| "-".into());
        format!("result {} {} {how:?} {content}", self.call(call), word(name))
    }

    fn asked(&mut self, ask: &ApprovalRequest) -> String {
        let ApprovalRequest { call, id, kind, prompt, choices } = ask;
        let (call, id) = (self.call(call), self.maybe(id.as_ref()));
        let choices = choices.as_ref().map(json).unwrap_or_else(|| "-".into());
        format!("asked {call} {id} {kind:?} {:?} {choices}", prompt.as_deref().unwrap_or("-"))
    }

    fn replied(&mut self, reply: &ApprovalReply) -> String {
        let ApprovalReply { call, id, verdict, answer } = reply;
        let (call, id) = (self.call(call), self.maybe(id.as_ref()));
        let answer = answer.as_ref().map(json).unwrap_or_else(|| "-".into());
        format!("replied {call} {id} {verdict:?} {answer}")
    }
}

fn word(id: &Option<SharedId>) -> &str {
    id.as_deref().unwrap_or("-")
}

fn end(ended: &RunEnd) -> String {
    let RunEnd { outcome, text, problem: found, usage } = ended;
    let outcome = outcome.map_or("-", crate::Outcome::name);
    let text = text.as_ref().map(|text| format!(" ={}", short(text)));
    let found = found.as_ref().map(|found| format!(" problem {}", problem(found)));
    let usage = usage.as_ref().map(|usage| format!(" usage {}", cost(usage)));
    format!("ended {outcome}{}", [text, found, usage].map(Option::unwrap_or_default).concat())
}

fn problem(problem: &RunProblem) -> String {
    let RunProblem { message, code, fatal } = problem;
    let fatal = if *fatal { " fatal" } else { "" };
    format!("{} {}{fatal}", word(code), short(message))
}

fn cost(usage: &RunUsage) -> String {
    let RunUsage { input, output, cached, reasoning } = usage;
    format!("{input}/{output} cached {cached} reasoning {reasoning}")
}

fn json(json: &RawJson) -> String {
    let raw = json.raw();
    let kept: String = raw.chars().take(60).collect();
    if kept.len() < raw.len() { format!("{kept}…") } else { kept }
}

fn short(text: &str) -> String {
    json(&RawJson::string(text))
}
