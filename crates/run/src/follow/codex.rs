//! Codex's `codex exec --json`: items that start, change and are complete, within a turn that is
//! one prompt. A `turn.completed` is the end.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{
    Activity, Body, Call, Ended, How, Id, Json, Outcome, Problem, Status, Task, TaskStatus, Text,
    ToolResult, Turn, Usage,
    follow::{
        Exit, Reader, State,
        calls::Stage,
        fields::Fields,
        tale::{Phase, Tale, cut_short},
    },
};

/// Follows Codex.
pub(super) struct Codex {
    tale: Tale,
    /// What has been told of messages and thoughts, by item.
    said: BTreeMap<Id, String>,
    /// An error after which nothing may come any more.
    error: Option<Problem>,
}

/// How far an item is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Started,
    Updated,
    Completed,
}

impl Codex {
    pub(super) fn new(run: Id) -> Codex {
        Codex { tale: Tale::new(run, "codex"), said: BTreeMap::new(), error: None }
    }

    fn turn_starts(&mut self) {
        if self.tale.phase() == Phase::Over {
            self.tale.renew();
            self.said.clear();
            self.error = None;
        }
        self.tale.begin();
        self.tale.turn = self.tale.turn.saturating_add(1);
        self.tale.tell(Body::Turn(Turn { turn: Some(self.tale.turn), message: None }));
    }

    fn turn_ends(&mut self, fields: &Fields<'_>) {
        let usage = fields.object("usage").map(|usage| {
            let count = |name: &str| usage.number(name).unwrap_or(0);
            Usage {
                input: count("input_tokens"),
                output: count("output_tokens"),
                cached: count("cached_input_tokens"),
                reasoning: count("reasoning_output_tokens"),
            }
        });
        if let Some(usage) = usage {
            self.tale.tell(Body::Usage(usage));
        }
        self.tale.end(Ended { usage, ..Ended::default() }, None);
    }

    fn item(&mut self, step: Step, line: &str, fields: &Fields<'_>) {
        let Some(item) = fields.object("item") else { return self.tale.unknown("item", line) };
        let kind = item.text("type").or_else(|| item.text("item_type")).unwrap_or_default();
        match kind.as_str() {
            "agent_message" | "assistant_message" => self.said(step, &item, Body::Text),
            "reasoning" => self.said(step, &item, Body::Thought),
            "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call"
            | "web_search" => self.called(step, &kind, &item),
            "todo_list" => self.tale.tell(Body::Tasks(tasks(&item))),
            "plan" => {
                let content = Json::string(&item.text("text").unwrap_or_default());
                let plan = Activity { kind: "plan".into(), id: item.id("id"), content };
                self.tale.tell(Body::Activity(plan));
            }
            "error" => {
                let message = item.text("message").unwrap_or_default();
                if step == Step::Completed {
                    self.tale.tell(Body::Problem(Problem { message, code: None, fatal: false }));
                }
            }
            _ => self.tale.unknown(format!("item:{kind}"), line),
        }
    }

    /// A text, as far as it has come; what was told of it before is not told again.
    fn said(&mut self, step: Step, item: &Fields<'_>, body: fn(Text) -> Body) {
        self.tale.begin();
        let (message, text) = (item.id("id"), item.text("text").unwrap_or_default());
        if step == Step::Completed {
            message.as_ref().map(|id| self.said.remove(id));
            return self.tale.tell(body(Text { message, full: Some(text), ..Text::default() }));
        }
        let Some(id) = message.clone() else { return };
        let told = self.said.entry(id).or_default();
        let new = text.strip_prefix(told.as_str()).filter(|new| !new.is_empty());
        if let Some(delta) = new.map(str::to_owned) {
            *told = text;
            self.tale.tell(body(Text { message, delta: Some(delta), ..Text::default() }));
        }
    }

    fn called(&mut self, step: Step, kind: &str, item: &Fields<'_>) {
        self.tale.begin();
        if self.tale.turn == 0 {
            self.turn_starts();
        }
        let (id, turn) = (item.id("id"), self.tale.turn);
        let calls = &mut self.tale.calls;
        let number = calls.announce(id.as_ref(), turn, &format!("turn-{turn}").into(), None);
        let (name, input) = (name(kind, item), input(kind, item));
        let Some(known) = calls.get_mut(number) else { return };
        let is_new = known.stage == Stage::Foretold;
        known.name = Some(name.clone());
        let call = known.call.clone();
        // What is searched for is known only when it has been.
        let is_ready = step == Step::Completed || kind != "web_search";
        let tells = if is_ready { calls.complete(number, input.as_ref()) } else { is_new };
        if tells {
            let input = input.filter(|_| is_ready);
            let (name, status) = (Some(name.clone()), Some(Status::Running));
            let call = call.clone();
            self.tale.tell(Body::Call(Call { call, name, input, status, ..Call::default() }));
        }
        match step {
            Step::Started => {}
            Step::Updated => {
                if let Some(content) = item.json("aggregated_output") {
                    self.tale.tell(Body::Progress { call, content });
                }
            }
            Step::Completed => {
                let (how, odd) = how(item);
                let content = content(kind, item);
                let name = Some(name);
                let result = ToolResult { call, name, how, reason: None, content };
                self.tale.tell_odd(Body::Result(result), odd);
                self.tale.calls.settle(number);
            }
        }
    }
}

impl Reader for Codex {
    fn line(&mut self, line: &str) {
        let Some(fields) = Fields::read(line) else { return self.tale.unreadable(line) };
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "thread.started" => {
                self.tale.about.session = fields.id("thread_id");
                self.tale.begin();
            }
            "turn.started" => self.turn_starts(),
            "turn.completed" => self.turn_ends(&fields),
            "turn.failed" => {
                let error = fields.object("error").and_then(|error| error.words("message"));
                let message = error.unwrap_or_else(|| "the turn failed".into());
                let problem = Some(Problem { message, code: None, fatal: true });
                let outcome = Some(Outcome::Failed);
                self.tale.end(Ended { outcome, problem, ..Ended::default() }, None);
            }
            "item.started" => self.item(Step::Started, line, &fields),
            "item.updated" => self.item(Step::Updated, line, &fields),
            "item.completed" => self.item(Step::Completed, line, &fields),
            "error" => {
                // Also what is only tried again is told so; what is not, ends the stream.
                let message = fields.text("message").unwrap_or_default();
                let problem = Problem { message, code: None, fatal: false };
                self.error = Some(problem.clone());
                self.tale.tell(Body::Problem(problem));
            }
            "" => self.tale.unknown("no-type", line),
            _ => self.tale.unknown(kind, line),
        }
    }

    fn host_line(&mut self, _line: &str) {}

    fn finish(&mut self, exit: Exit) {
        let ended = match self.error.take() {
            Some(problem) => {
                let problem = Some(Problem { fatal: true, ..problem });
                Ended { outcome: Some(Outcome::Failed), problem, ..Ended::default() }
            }
            None => cut_short(exit),
        };
        self.tale.end(ended, None);
    }

    fn settle(&mut self) {}

    fn state(&self) -> State {
        self.tale.state()
    }

    fn tale(&mut self) -> &mut Tale {
        &mut self.tale
    }
}

fn name(kind: &str, item: &Fields<'_>) -> Id {
    let part = |name: &str| item.words(name).unwrap_or_else(|| "unknown".into());
    match kind {
        "mcp_tool_call" => format!("mcp__{}__{}", part("server"), part("tool")).into(),
        "collab_tool_call" => part("tool").into(),
        _ => kind.into(),
    }
}

fn input(kind: &str, item: &Fields<'_>) -> Option<Json> {
    let names: &[&str] = match kind {
        "mcp_tool_call" => return item.json("arguments").or_else(|| Json::parse("{}")),
        "command_execution" => &["command"],
        "file_change" => &["changes"],
        "web_search" => &["query", "action"],
        _ => &["prompt", "receiver_thread_ids"],
    };
    object(names.iter().filter_map(|name| Some((*name, item.raw(name)?))))
}

fn content(kind: &str, item: &Fields<'_>) -> Option<Json> {
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

/// How an item ended, with the word for it that nobody knows.
fn how(item: &Fields<'_>) -> (How, Option<Id>) {
    let failed = item.signed("exit_code").is_some_and(|code| code != 0);
    let failed = failed || item.raw("error").is_some();
    match item.text("status").as_deref() {
        Some("completed") | None if !failed => (How::Ok, None),
        Some("completed" | "failed") | None => (How::Error, None),
        Some("declined") => (How::Denied, None),
        // Its turn ended before it did.
        Some("in_progress") => (How::Interrupted, None),
        Some(word) if failed => (How::Error, Some(word.into())),
        // It may have done its work.
        Some(word) => (How::Interrupted, Some(word.into())),
    }
}

fn tasks(item: &Fields<'_>) -> Vec<Task> {
    let items = item.list("items").into_iter().filter_map(|raw| Fields::read(raw.get()));
    let task = |item: Fields<'_>| {
        let done = item.is_true("completed");
        let status = if done { TaskStatus::Completed } else { TaskStatus::Pending };
        Task { id: None, content: item.text("text").unwrap_or_default(), status, active: None }
    };
    items.map(task).collect()
}

/// An object of some fields, each as it was spelled.
fn object<'a>(fields: impl Iterator<Item = (&'a str, &'a RawValue)>) -> Option<Json> {
    let fields: Vec<String> =
        fields.map(|(name, raw)| format!("\"{name}\":{}", raw.get())).collect();
    Json::parse(&format!("{{{}}}", fields.join(",")))
}
