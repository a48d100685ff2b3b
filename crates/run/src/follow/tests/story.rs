//! Events as lines that a person can compare: long ids become short ones, in the order in which
//! they appear.

use std::collections::BTreeMap;

use crate::{
    Ask, Body, Call, CallRef, Ended, Event, Id, Json, Problem, Reply, Task, Text, ToolResult,
    Usage,
    follow::{Exit, Follower, Source},
};

/// A stream as a file has it: the agent's lines, `> ` before the host's, and `! ` before the end.
pub(super) enum Said<'a> {
    Agent(&'a str),
    Host(&'a str),
    Exit(Exit),
}

pub(super) fn said(line: &str) -> Said<'_> {
    if let Some(line) = line.strip_prefix("> ") {
        return Said::Host(line);
    }
    let end = |kind| line.strip_prefix(kind).map(|number: &str| number.parse().unwrap());
    match (end("! exit "), end("! signal "), line) {
        (Some(code), _, _) => Said::Exit(Exit::Code(code)),
        (_, Some(signal), _) => Said::Exit(Exit::Signal(signal)),
        (_, _, "! eof") => Said::Exit(Exit::Eof),
        _ => Said::Agent(line),
    }
}

impl Said<'_> {
    pub(super) fn to(&self, follower: &mut Follower) -> Vec<Event> {
        match self {
            Said::Agent(line) => follower.line(line),
            Said::Host(line) => follower.host_line(line),
            Said::Exit(exit) => follower.finish(*exit),
        }
    }
}

/// All events of a stream, each with the number of its line.
pub(super) fn follow(source: Source, stream: &str) -> Vec<(usize, Event)> {
    let mut follower = Follower::new(source, "run".into());
    let lines = stream.lines().enumerate();
    lines
        .flat_map(|(at, line)| {
            let events = said(line).to(&mut follower);
            events.into_iter().map(move |event| (at + 1, event))
        })
        .collect()
}

/// What a stream becomes, one event in a line.
pub(super) fn story(source: Source, stream: &str) -> String {
    let mut names = Names::default();
    let lines = follow(source, stream).into_iter().map(|(at, event)| {
        let run = if &*event.run == "run" { String::new() } else { format!("{}: ", event.run) };
        let odd = event.odd.as_ref().map(|odd| format!(" odd={odd}")).unwrap_or_default();
        format!("{at:>3} {run}{}{odd}\n", names.body(&event.body))
    });
    lines.collect()
}

/// Compares what a stream becomes with the lines beside it, margins aside.
pub(super) fn becomes(source: Source, stream: &str, expected: &str) {
    let trim = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    };
    let (is, expected) = (trim(&story(source, &trim(stream).join("\n"))), trim(expected));
    assert_eq!(is, expected, "\n{}\n", is.join("\n"));
}

/// The events of some lines without a beginning: what each of them becomes.
pub(super) fn told(events: &[Event]) -> Vec<String> {
    let mut names = Names::default();
    events.iter().map(|event| names.body(&event.body)).collect()
}

/// Short names for long ids.
#[derive(Default)]
struct Names(BTreeMap<Id, String>);

impl Names {
    fn short(&mut self, id: &Id) -> String {
        if id.len() < 16 {
            return id.to_string();
        }
        let kind = ["toolu_", "msg_", "call_"].into_iter().find(|head| id.starts_with(head));
        let kind = kind.unwrap_or("id").trim_end_matches('_');
        let same = |name: &&String| name.trim_end_matches(|c: char| c.is_ascii_digit()) == kind;
        let number = self.0.values().filter(same).count() + 1;
        self.0.entry(id.clone()).or_insert_with(|| format!("{kind}{number}")).clone()
    }

    fn maybe(&mut self, id: Option<&Id>) -> String {
        id.map_or_else(|| "-".into(), |id| self.short(id))
    }

    fn call(&mut self, call: &CallRef) -> String {
        let turn = call.turn.map_or_else(|| "?".into(), |turn| turn.to_string());
        format!("{}@{turn}", self.maybe(call.id.as_ref()))
    }

    fn body(&mut self, body: &Body) -> String {
        match body {
            Body::Started(started) => {
                let session = self.maybe(started.session.as_ref());
                let (agent, model) = (word(&started.agent), word(&started.model));
                format!("started {agent} model={model} session={session}")
            }
            Body::ToolsAvailable(tools) => {
                let version = tools.version.unwrap_or(0);
                let ready = if tools.ready { "ready" } else { "not ready" };
                format!("tools v{version} {ready} {}", tools.tools.len())
            }
            Body::Turn(turn) => {
                let number = turn.turn.unwrap_or(0);
                format!("turn {number} {}", self.maybe(turn.message.as_ref()))
            }
            Body::Text(text) => format!("text {}", self.text(text)),
            Body::Thought(text) => format!("thought {}", self.text(text)),
            Body::Call(call) => self.called(call),
            Body::Arguments { call, delta } => {
                format!("arguments {} +{}", self.call(call), short(delta))
            }
            Body::Progress { call, content } => {
                format!("progress {} {}", self.call(call), json(content))
            }
            Body::Result(result) => self.result(result),
            Body::Cancelled { call } => format!("cancelled {}", self.call(call)),
            Body::Asked(ask) => self.asked(ask),
            Body::Replied(reply) => self.replied(reply),
            Body::Tasks(tasks) => {
                let task = |task: &Task| format!("{:?} {}", task.status, task.content);
                format!("tasks {}", tasks.iter().map(task).collect::<Vec<_>>().join(", "))
            }
            Body::Usage(usage) => format!("usage {}", cost(usage)),
            Body::Activity(activity) => {
                let id = self.maybe(activity.id.as_ref());
                format!("activity {} {id} {}", activity.kind, json(&activity.content))
            }
            Body::Problem(found) => format!("problem {}", problem(found)),
            Body::Stop(stop) => format!("stop {}", stop.grace),
            Body::TimedOut { call } => {
                let call = call.as_ref().map(|call| self.call(call)).unwrap_or_default();
                format!("timed out {call}")
            }
            Body::Ended(ended) => end(ended),
            Body::Unknown { kind, raw } => format!("unknown {kind} {}", json(raw)),
        }
    }

    fn text(&mut self, text: &Text) -> String {
        let Text { message, parent, delta, full } = text;
        let message = self.maybe(message.as_ref());
        let parent = parent.as_ref().map(|parent| format!(" under {}", self.short(parent)));
        let delta = delta.as_ref().map(|delta| format!(" +{}", short(delta)));
        let full = full.as_ref().map(|full| format!(" ={}", short(full)));
        let rest = [parent, delta, full].map(Option::unwrap_or_default);
        format!("{message}{}", rest.concat())
    }

    fn called(&mut self, call: &Call) -> String {
        let Call { call, name, parent, input, title, status } = call;
        let parent = parent.as_ref().map(|parent| format!(" under {}", self.short(parent)));
        let title = title.as_ref().map(|title| format!(" \"{title}\""));
        let input = input.as_ref().map(|input| format!(" {}", json(input)));
        let status = status.map_or("-", crate::Status::name);
        let rest = [parent, title, input].map(Option::unwrap_or_default);
        format!("call {} {} {status}{}", self.call(call), word(name), rest.concat())
    }

    fn result(&mut self, result: &ToolResult) -> String {
        let ToolResult { call, name, how, reason: _, content } = result;
        let content = content.as_ref().map(json).unwrap_or_else(|| "-".into());
        format!("result {} {} {how:?} {content}", self.call(call), word(name))
    }

    fn asked(&mut self, ask: &Ask) -> String {
        let Ask { call, id, kind, prompt, choices } = ask;
        let (call, id) = (self.call(call), self.maybe(id.as_ref()));
        let choices = choices.as_ref().map(json).unwrap_or_else(|| "-".into());
        format!("asked {call} {id} {kind:?} {:?} {choices}", prompt.as_deref().unwrap_or("-"))
    }

    fn replied(&mut self, reply: &Reply) -> String {
        let Reply { call, id, verdict, answer } = reply;
        let (call, id) = (self.call(call), self.maybe(id.as_ref()));
        let answer = answer.as_ref().map(json).unwrap_or_else(|| "-".into());
        format!("replied {call} {id} {verdict:?} {answer}")
    }
}

fn word(id: &Option<Id>) -> &str {
    id.as_deref().unwrap_or("-")
}

fn end(ended: &Ended) -> String {
    let Ended { outcome, text, problem: found, usage } = ended;
    let outcome = outcome.map_or("-", crate::Outcome::name);
    let text = text.as_ref().map(|text| format!(" ={}", short(text)));
    let found = found.as_ref().map(|found| format!(" problem {}", problem(found)));
    let usage = usage.as_ref().map(|usage| format!(" usage {}", cost(usage)));
    format!("ended {outcome}{}", [text, found, usage].map(Option::unwrap_or_default).concat())
}

fn problem(problem: &Problem) -> String {
    let Problem { message, code, fatal } = problem;
    let fatal = if *fatal { " fatal" } else { "" };
    format!("{} {}{fatal}", word(code), short(message))
}

fn cost(usage: &Usage) -> String {
    let Usage { input, output, cached, reasoning } = usage;
    format!("{input}/{output} cached {cached} reasoning {reasoning}")
}

fn json(json: &Json) -> String {
    let raw = json.raw();
    let kept: String = raw.chars().take(60).collect();
    if kept.len() < raw.len() { format!("{kept}…") } else { kept }
}

fn short(text: &str) -> String {
    json(&Json::string(text))
}
