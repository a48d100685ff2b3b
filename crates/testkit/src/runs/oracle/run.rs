//! One run, read from its first event to its last.

use foxwedge_run::{
    EventPayload, MachineSettings, Outcome, RunEnd, RunEvent, RunProblem, RunUsage, SharedId,
    TaskItem, TaskStatus, ToolStatus, ToolsAvailable,
};
use serde_json::{Map, Value, json};

use super::{
    Then,
    calls::{Calls, Known},
    said::{Kind, Said},
    tool::Life,
};

/// What a run's log says.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    id: &'a SharedId,
    epoch: u64,
    turn: u32,
    message: Option<&'a SharedId>,
    calls: Calls<'a>,
    said: Said,
    available: Option<&'a ToolsAvailable>,
    usage: RunUsage,
    tasks: Option<&'a [TaskItem]>,
    /// The first decision about its end.
    decided: Option<RunEnd>,
    over: Option<RunEnd>,
}

impl<'a> Reading<'a> {
    pub(super) fn of(
        start: &'a RunEvent,
        log: &[&'a RunEvent],
        settings: &'a MachineSettings,
        then: Then,
    ) -> Reading<'a> {
        let mut reading = Reading {
            id: &start.run,
            epoch: start.epoch.unwrap_or(0),
            turn: 0,
            message: None,
            calls: Calls::new(&start.run, settings),
            said: Said::default(),
            available: None,
            usage: RunUsage::default(),
            tasks: None,
            decided: None,
            over: None,
        };
        for event in log {
            if reading.over.is_none() {
                reading.take(event);
            }
        }
        if reading.over.is_none() && then == Then::Interrupted {
            reading.end(&RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() });
        }
        reading
    }

    fn take(&mut self, event: &'a RunEvent) {
        match &event.body {
            EventPayload::Started(_) | EventPayload::Activity(_) | EventPayload::Unknown { .. } => {
            }
            EventPayload::ToolsAvailable(tools) => {
                // A list with a lower version than the last one is late.
                if self.available.is_none_or(|known| known.version <= tools.version) {
                    self.available = Some(tools);
                }
            }
            EventPayload::TurnStarted(turn) => {
                let number = turn.turn.unwrap_or(self.turn + 1);
                let again = turn.message.is_some() && turn.message.as_ref() == self.message;
                if number > self.turn && !again {
                    (self.turn, self.message) = (number, turn.message.as_ref());
                    self.said.pause();
                }
            }
            EventPayload::Text(text) => self.said.take(Kind::Text, text),
            EventPayload::Thought(text) => self.said.take(Kind::Thought, text),
            EventPayload::Tasks(tasks) => self.tasks = Some(tasks),
            EventPayload::Usage(usage) => self.used(usage),
            EventPayload::Problem(problem) if problem.fatal => {
                self.decide(Outcome::Failed, Some(problem.clone()));
            }
            EventPayload::Problem(_) => {}
            EventPayload::Stop(_) => self.decide(Outcome::Stopped, None),
            EventPayload::TimedOut { call: None } => {
                let (message, code) =
                    ("nothing came for too long".to_owned(), SharedId::from("timed_out"));
                let problem = RunProblem { message, code: Some(code), fatal: true };
                self.decide(Outcome::Failed, Some(problem));
            }
            EventPayload::Ended(ended) => self.end(ended),
            EventPayload::ToolCall(_)
            | EventPayload::ToolArguments { .. }
            | EventPayload::ToolProgress { .. }
            | EventPayload::ToolResult(_)
            | EventPayload::ToolCancelled { .. }
            | EventPayload::ApprovalRequested(_)
            | EventPayload::ApprovalReplied(_)
            | EventPayload::TimedOut { call: Some(_) } => {
                if self.calls.take(event, self.turn) {
                    self.said.pause();
                }
            }
        }
    }

    /// What is told is the sum so far: the greater one is the newer one.
    fn used(&mut self, usage: &RunUsage) {
        self.usage.input = self.usage.input.max(usage.input);
        self.usage.output = self.usage.output.max(usage.output);
        self.usage.cached = self.usage.cached.max(usage.cached);
        self.usage.reasoning = self.usage.reasoning.max(usage.reasoning);
    }

    fn decide(&mut self, outcome: Outcome, problem: Option<RunProblem>) {
        let decided = RunEnd { outcome: Some(outcome), problem, ..RunEnd::default() };
        self.decided.get_or_insert(decided);
        self.said.pause();
    }

    /// The end: the text it tells, else the last words; the outcome of the first decision, else
    /// the one it tells, else by what there is.
    fn end(&mut self, told: &RunEnd) {
        if let Some(usage) = &told.usage {
            self.used(usage);
        }
        let first = self.decided.clone().unwrap_or_default();
        let text = told.text.clone().filter(|text| !text.trim().is_empty());
        let text = text.or_else(|| self.said.last_words());
        let by_itself = match (&told.problem, &text) {
            (Some(_), _) => Outcome::Failed,
            (None, Some(_)) => Outcome::Completed,
            (None, None) => Outcome::NoText,
        };
        let outcome = match first.outcome.or(told.outcome).unwrap_or(by_itself) {
            Outcome::Completed if text.is_none() => Outcome::NoText,
            outcome => outcome,
        };
        let problem = first.problem.or(told.problem.clone());
        self.over = Some(RunEnd { outcome: Some(outcome), text, problem, usage: None });
        self.said.pause();
    }

    /// Its tasks, if it wrote any: what was under way is done, or waits.
    pub(super) fn tasks(&self) -> Option<Vec<Value>> {
        let done = self.over.as_ref().map(|ended| ended.outcome == Some(Outcome::Completed));
        let told = |task: &TaskItem| {
            let status = match (task.status, done) {
                (TaskStatus::InProgress, Some(true)) => TaskStatus::Completed,
                (TaskStatus::InProgress, Some(false)) => TaskStatus::Paused,
                (status, _) => status,
            };
            let mut told = json!({"content": task.content, "status": status.name()});
            if let Some(id) = &task.id {
                told["id"] = (**id).into();
            }
            if let Some(active) = &task.active {
                told["active"] = active.as_str().into();
            }
            told
        };
        self.tasks.map(|tasks| tasks.iter().map(told).collect())
    }

    pub(super) fn truth(&self) -> Value {
        let life = |known: &Known<'a>| {
            let life = self.calls.life(known);
            if self.over.is_some() { life.swept() } else { life }
        };
        let lives: Vec<(&Known<'a>, Life<'a>)> =
            self.calls.list.iter().map(|known| (known, life(known))).collect();
        let (phase, ended) = match (&self.over, &self.decided) {
            (Some(ended), _) => ("ended", Some(ended)),
            (None, Some(ended)) => ("stopping", Some(ended)),
            (None, None) => ("running", None),
        };
        let mut told = json!({
            "id": &**self.id,
            "epoch": self.epoch,
            "phase": phase,
            "turn": self.turn,
            "flags": {
                "generating": self.over.is_none(),
                "thinking": self.said.is_live(Kind::Thought),
                "streaming": self.said.is_live(Kind::Text),
            },
            "tools": lives.iter().map(|(known, life)| life.truth(&known.id, known.turn())).collect::<Vec<_>>(),
            "texts": self.said.truth(),
            "usage": {
                "input": self.usage.input,
                "output": self.usage.output,
                "cached": self.usage.cached,
                "reasoning": self.usage.reasoning,
            },
            "summary": self.summary(&lives),
        });
        if let Some(outcome) = ended.and_then(|ended| ended.outcome) {
            told["outcome"] = outcome.name().into();
        }
        if let Some(text) = ended.and_then(|ended| ended.text.as_ref()) {
            told["text"] = text.as_str().into();
        }
        if let Some(problem) = ended.and_then(|ended| ended.problem.as_ref()) {
            told["error"] = json!({"message": problem.message});
            if let Some(code) = &problem.code {
                told["error"]["code"] = (**code).into();
            }
        }
        told
    }

    fn summary(&self, lives: &[(&Known<'a>, Life<'a>)]) -> Value {
        let called = || lives.iter().filter(|(_, life)| life.called);
        let mut by_status = Map::new();
        for status in ToolStatus::ALL {
            let count = called().filter(|(_, life)| life.status() == status).count();
            if count > 0 {
                by_status.insert(status.name().to_owned(), count.into());
            }
        }
        let mut told = json!({"calls": called().count(), "byStatus": by_status});
        if let Some(available) = self.available {
            told["available"] = available.tools.len().into();
        }
        told
    }
}
