//! Reads one run from its first event to its last.

use foxwedge_run::{
    EventPayload, MachineSettings, Outcome, RunEnd, RunEvent, RunProblem, RunUsage, SharedId,
    TaskItem, TaskStatus, ToolStatus, ToolsAvailable,
};
use serde_json::{Map, Value, json};

use super::{
    LogEnding,
    calls::{RunCall, RunCallList},
    said::{RunTextKind, RunTextList},
    tool::CallHistory,
};

/// The state of a run, read from its log.
#[derive(Debug)]
pub(super) struct RunReading<'a> {
    id: &'a SharedId,
    epoch: u64,
    turn: u32,
    message: Option<&'a SharedId>,
    calls: RunCallList<'a>,
    said: RunTextList,
    available: Option<&'a ToolsAvailable>,
    usage: RunUsage,
    tasks: Option<&'a [TaskItem]>,
    /// The first decision about its end.
    decided: Option<RunEnd>,
    over: Option<RunEnd>,
}

impl<'a> RunReading<'a> {
    pub(super) fn of(
        start: &'a RunEvent,
        log: &[&'a RunEvent],
        settings: &'a MachineSettings,
        then: LogEnding,
    ) -> RunReading<'a> {
        let mut reading = RunReading {
            id: &start.run,
            epoch: start.epoch.unwrap_or(0),
            turn: 0,
            message: None,
            calls: RunCallList::new(&start.run, settings),
            said: RunTextList::default(),
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
        if reading.over.is_none() && then == LogEnding::Interrupted {
            reading.end(&RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() });
        }
        reading
    }

    fn take(&mut self, event: &'a RunEvent) {
        match &event.body {
            EventPayload::Started(_) | EventPayload::Activity(_) | EventPayload::Unknown { .. } => {
            }
            EventPayload::ToolsAvailable(tools) => {
                // A list with a lower version than the current one is late.
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
            EventPayload::Text(text) => self.said.take(RunTextKind::Text, text),
            EventPayload::Thought(text) => self.said.take(RunTextKind::Thought, text),
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

    /// Usage is cumulative, so the greater value is the newer one.
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

    /// The end. Its text is the stated one, otherwise the last text; its outcome is that of the
    /// first decision, otherwise the stated one, otherwise it follows from the state.
    fn end(&mut self, stated: &RunEnd) {
        if let Some(usage) = &stated.usage {
            self.used(usage);
        }
        let first = self.decided.clone().unwrap_or_default();
        let text = stated.text.clone().filter(|text| !text.trim().is_empty());
        let text = text.or_else(|| self.said.last_words());
        let by_itself = match (&stated.problem, &text) {
            (Some(_), _) => Outcome::Failed,
            (None, Some(_)) => Outcome::Completed,
            (None, None) => Outcome::NoText,
        };
        let outcome = match first.outcome.or(stated.outcome).unwrap_or(by_itself) {
            Outcome::Completed if text.is_none() => Outcome::NoText,
            outcome => outcome,
        };
        let problem = first.problem.or(stated.problem.clone());
        self.over = Some(RunEnd { outcome: Some(outcome), text, problem, usage: None });
        self.said.pause();
    }

    /// Its tasks, if it has any: running ones become completed or pending.
    pub(super) fn tasks(&self) -> Option<Vec<Value>> {
        let done = self.over.as_ref().map(|ended| ended.outcome == Some(Outcome::Completed));
        let task_json = |task: &TaskItem| {
            let status = match (task.status, done) {
                (TaskStatus::InProgress, Some(true)) => TaskStatus::Completed,
                (TaskStatus::InProgress, Some(false)) => TaskStatus::Paused,
                (status, _) => status,
            };
            let mut task_json = json!({"content": task.content, "status": status.name()});
            if let Some(id) = &task.id {
                task_json["id"] = (**id).into();
            }
            if let Some(active) = &task.active {
                task_json["active"] = active.as_str().into();
            }
            task_json
        };
        self.tasks.map(|tasks| tasks.iter().map(task_json).collect())
    }

    pub(super) fn truth(&self) -> Value {
        let life = |known: &RunCall<'a>| {
            let life = self.calls.life(known);
            if self.over.is_some() { life.swept() } else { life }
        };
        let lives: Vec<(&RunCall<'a>, CallHistory<'a>)> =
            self.calls.list.iter().map(|known| (known, life(known))).collect();
        let (phase, ended) = match (&self.over, &self.decided) {
            (Some(ended), _) => ("ended", Some(ended)),
            (None, Some(ended)) => ("stopping", Some(ended)),
            (None, None) => ("running", None),
        };
        let mut state = json!({
            "id": &**self.id,
            "epoch": self.epoch,
            "phase": phase,
            "turn": self.turn,
            "flags": {
                "generating": self.over.is_none(),
                "thinking": self.said.is_live(RunTextKind::Thought),
                "streaming": self.said.is_live(RunTextKind::Text),
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
            state["outcome"] = outcome.name().into();
        }
        if let Some(text) = ended.and_then(|ended| ended.text.as_ref()) {
            state["text"] = text.as_str().into();
        }
        if let Some(problem) = ended.and_then(|ended| ended.problem.as_ref()) {
            state["error"] = json!({"message": problem.message});
            if let Some(code) = &problem.code {
                state["error"]["code"] = (**code).into();
            }
        }
        state
    }

    fn summary(&self, lives: &[(&RunCall<'a>, CallHistory<'a>)]) -> Value {
        let called = || lives.iter().filter(|(_, life)| life.called);
        let mut by_status = Map::new();
        for status in ToolStatus::ALL {
            let count = called().filter(|(_, life)| life.status() == status).count();
            if count > 0 {
                by_status.insert(status.name().to_owned(), count.into());
            }
        }
        let mut state = json!({"calls": called().count(), "byStatus": by_status});
        if let Some(available) = self.available {
            state["available"] = available.tools.len().into();
        }
        state
    }
}
