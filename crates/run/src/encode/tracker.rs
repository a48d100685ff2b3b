//! Makes changes fit together, whatever came in.
//!
//! The machine sends changes that are well formed. Readers of the standards refuse a whole run for
//! one event out of place, so nothing is left to that: every change passes here first, and what the
//! encoders are told has a beginning, opens before it grows, closes once, and ends once. What would
//! not fit is opened, closed or dropped. This is the only place that decides such things.

mod part;
mod tool;

use std::collections::HashMap;

use crate::{
    Activity, Ask, Change, Ended, Id, Json, Outcome, Problem, Reason, Started, Status, Summary,
    Task, ToolRef, ToolsAvailable, Usage, Verdict,
};

pub(super) use part::{Kind, Part};
pub(super) use tool::{Request, Tool};

use super::names::Names;

/// What an encoder is told.
pub(super) enum Told<'a> {
    /// The run began. Always the first.
    Began {
        epoch: u64,
        at: Option<u64>,
        started: &'a Started,
    },
    /// With the name of a message, for what the step does before it says anything.
    StepBegan {
        turn: u32,
        message: &'a Id,
    },
    StepOver {
        turn: u32,
    },
    PartBegan(&'a Part),
    PartGrew(&'a Part, &'a str),
    PartOver(&'a Part),
    ToolBegan(&'a Tool),
    /// The tool's `arguments` hold the piece already.
    ToolGrew(&'a Tool, &'a str),
    /// All arguments; or nothing more of them will come.
    ToolReady(&'a Tool, Option<&'a Json>),
    ToolStatus(&'a Tool, Status),
    ToolProgress(&'a Tool, &'a Json),
    Asked(&'a Tool, &'a Request),
    Replied(&'a Tool, &'a Request, Verdict),
    /// Its arguments are ready and nobody is asked about it any more.
    ToolOver(&'a Tool, Settled<'a>),
    /// It is over, and ended otherwise than was told.
    ToolCorrected(&'a Tool, Settled<'a>),
    ToolsAvailable(&'a ToolsAvailable),
    Tasks(&'a Id, &'a [Task]),
    Usage(&'a Usage),
    Activity(&'a Id, &'a Activity),
    Problem(&'a Problem),
    /// The run is over. Always the last, and nothing is open, but for calls that wait.
    Over(Over<'a>),
}

/// How a call ended.
#[derive(Clone, Copy)]
pub(super) struct Settled<'a> {
    pub(super) status: Status,
    pub(super) reason: Option<Reason>,
    pub(super) content: &'a Json,
}

/// How a run ended.
pub(super) struct Over<'a> {
    pub(super) outcome: Outcome,
    pub(super) ended: &'a Ended,
    pub(super) summary: &'a Summary,
    pub(super) at: Option<u64>,
    /// Calls that a person is still asked about.
    pub(super) waiting: Vec<&'a Tool>,
}

/// What becomes of a question that nobody closed when the run ends well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// The standard can end a run that waits for a person.
    Stays,
    /// It cannot.
    Ends,
}

/// What is open in a run.
pub(super) struct Tracker {
    run: Id,
    waiting: Waiting,
    phase: Phase,
    step: Option<u32>,
    parts: Vec<Part>,
    tools: HashMap<ToolRef, Tool>,
    settled: HashMap<ToolRef, Tool>,
    /// The name that the last call with an id has.
    calls: HashMap<Id, Id>,
    cards: HashMap<Id, Id>,
    /// The name of the list of tasks.
    tasks: Id,
    names: Names,
    /// Requests are often called like the call they are about.
    requests: Names,
    opened: u64,
}

#[derive(PartialEq, Eq)]
enum Phase {
    Before,
    Under,
    Over,
}

type Tell<'t> = &'t mut dyn FnMut(Told<'_>);

impl Tracker {
    pub(super) fn new(run: &Id, waiting: Waiting) -> Tracker {
        let mut names = Names::default();
        Tracker {
            run: run.clone(),
            tasks: names.take(&format!("{run}:tasks")),
            waiting,
            phase: Phase::Before,
            step: None,
            parts: Vec::new(),
            tools: HashMap::new(),
            settled: HashMap::new(),
            calls: HashMap::new(),
            cards: HashMap::new(),
            names,
            requests: Names::default(),
            opened: 0,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Takes a change, and tells what it comes to.
    pub(super) fn take(&mut self, change: &Change, tell: Tell<'_>) {
        match (&self.phase, change) {
            (Phase::Over, _) | (Phase::Under, Change::RunStarted { .. }) => return,
            (Phase::Before, Change::RunStarted { epoch, at, started }) => {
                self.phase = Phase::Under;
                return tell(Told::Began { epoch: *epoch, at: *at, started });
            }
            (Phase::Before, _) => {
                self.phase = Phase::Under;
                tell(Told::Began { epoch: 0, at: None, started: &Started::default() });
            }
            (Phase::Under, _) => {}
        }
        match change {
            Change::RunStarted { .. } => {}
            Change::StepStarted { turn } => self.step_began(*turn, tell),
            Change::StepEnded { turn } if self.step == Some(*turn) => self.step_over(tell),
            Change::StepEnded { .. } => {}
            Change::TextOpened(part) => self.part_began(Kind::Text, part, tell),
            Change::TextDelta(part, delta) => self.part_grew(Kind::Text, part, delta, tell),
            Change::TextClosed(part) => self.part_over(Kind::Text, part, tell),
            Change::ThoughtOpened(part) => self.part_began(Kind::Thought, part, tell),
            Change::ThoughtDelta(part, delta) => self.part_grew(Kind::Thought, part, delta, tell),
            Change::ThoughtClosed(part) => self.part_over(Kind::Thought, part, tell),
            Change::ToolOpened { tool, name, parent, title } => {
                self.tool_began(tool, name, parent.as_ref(), title.as_deref(), tell);
            }
            Change::ToolArguments { tool, delta } => {
                self.with_tool(tool, tell, |tool, tell| tool.grow(delta, tell));
            }
            Change::ToolReady { tool, input } => {
                self.with_tool(tool, tell, |tool, tell| tool.complete(Some(input), tell));
            }
            Change::ToolStatus { tool, status } => {
                self.with_tool(tool, tell, |tool, tell| tool.change(*status, tell));
            }
            Change::ToolProgress { tool, content } => {
                self.with_tool(tool, tell, |tool, tell| tell(Told::ToolProgress(tool, content)));
            }
            Change::Asked { tool, ask } => self.asked(tool, ask, tell),
            Change::AskClosed { tool, id, verdict } => {
                self.with_tool(tool, tell, |tool, tell| tool.reply(id, *verdict, tell));
            }
            Change::ToolSettled { tool, status, reason, content } => {
                let settled = Settled { status: *status, reason: *reason, content };
                self.tool_over(tool, settled, tell);
            }
            Change::ToolCorrected { tool, status, reason, content } => {
                let settled = Settled { status: *status, reason: *reason, content };
                self.tool_corrected(tool, settled, tell);
            }
            Change::ToolsAvailable(tools) => tell(Told::ToolsAvailable(tools)),
            Change::Tasks(tasks) => tell(Told::Tasks(&self.tasks, tasks)),
            Change::Usage(usage) => tell(Told::Usage(usage)),
            Change::Activity(activity) => {
                let id = self.card(activity);
                tell(Told::Activity(&id, activity));
            }
            Change::Problem(problem) => tell(Told::Problem(problem)),
            Change::RunEnded { ended, summary, at } => self.over(ended, summary, *at, tell),
        }
    }

    fn step_began(&mut self, turn: u32, tell: Tell<'_>) {
        if self.step == Some(turn) {
            return;
        }
        self.step_over(tell);
        self.step = Some(turn);
        let message = self.names.take(&format!("{}:step-{turn}", self.run));
        tell(Told::StepBegan { turn, message: &message });
    }

    /// What the run itself says ends with its step; sub-agents go on.
    fn step_over(&mut self, tell: Tell<'_>) {
        self.close_parts(|part| part.parent.is_none(), tell);
        if let Some(turn) = self.step.take() {
            tell(Told::StepOver { turn });
        }
    }

    fn part_began(&mut self, kind: Kind, part: &crate::Part, tell: Tell<'_>) {
        if self.parts.iter().any(|open| open.is(kind, &part.id)) {
            return;
        }
        // One speaker says one thing at a time.
        let parent = part.parent.as_ref().map(|call| self.called(call));
        self.close_parts(|open| open.parent == parent, tell);
        let name = self.names.take(&own(&self.run, &part.id));
        let part = Part::new(kind, &part.id, name, parent);
        tell(Told::PartBegan(&part));
        self.parts.push(part);
    }

    fn part_grew(&mut self, kind: Kind, part: &crate::Part, delta: &str, tell: Tell<'_>) {
        if delta.is_empty() {
            return;
        }
        if !self.parts.iter().any(|open| open.is(kind, &part.id)) {
            self.part_began(kind, part, tell);
        }
        if let Some(open) = self.parts.iter_mut().find(|open| open.is(kind, &part.id)) {
            open.grow(delta);
            tell(Told::PartGrew(open, delta));
        }
    }

    fn part_over(&mut self, kind: Kind, part: &crate::Part, tell: Tell<'_>) {
        self.close_parts(|open| open.is(kind, &part.id), tell);
    }

    fn close_parts(&mut self, which: impl Fn(&Part) -> bool, tell: Tell<'_>) {
        self.parts.retain(|part| {
            let closes = which(part);
            if closes {
                tell(Told::PartOver(part));
            }
            !closes
        });
    }

    fn tool_began(
        &mut self,
        tool: &ToolRef,
        name: &Id,
        parent: Option<&Id>,
        title: Option<&str>,
        tell: Tell<'_>,
    ) {
        if self.settled.contains_key(tool) || self.tools.contains_key(tool) {
            return;
        }
        let parent = parent.map(|call| self.called(call));
        let id = self.names.take(&tool.call);
        let result = self.names.take(&format!("{}:{id}:result", self.run));
        self.calls.insert(tool.call.clone(), id.clone());
        self.opened += 1;
        let title = title.map(str::to_owned);
        let open = Tool::new([id, result, name.clone()], parent, title, self.opened);
        tell(Told::ToolBegan(&open));
        self.tools.insert(tool.clone(), open);
    }

    /// A call that is not settled, opened if nobody did.
    fn with_tool(&mut self, tool: &ToolRef, tell: Tell<'_>, act: impl FnOnce(&mut Tool, Tell<'_>)) {
        if !self.tools.contains_key(tool) {
            self.tool_began(tool, &Id::from("unknown"), None, None, tell);
        }
        if let Some(open) = self.tools.get_mut(tool) {
            act(open, tell);
        }
    }

    fn asked(&mut self, tool: &ToolRef, ask: &Ask, tell: Tell<'_>) {
        let known = self.tools.get(tool).is_some_and(|tool| tool.has_asked(ask));
        if self.settled.contains_key(tool) || known {
            return;
        }
        let name = match &ask.id {
            Some(id) => self.requests.take(id),
            None => self.requests.take(&format!("ask-{}", tool.call)),
        };
        self.with_tool(tool, tell, |tool, tell| tool.ask(name, ask, tell));
    }

    fn tool_over(&mut self, tool: &ToolRef, settled: Settled<'_>, tell: Tell<'_>) {
        self.with_tool(tool, tell, |tool, tell| tool.settle(settled, tell));
        if let Some(settled) = self.tools.remove(tool) {
            self.settled.insert(tool.clone(), settled);
        }
    }

    /// A call that is over ended otherwise. One that is not settled is settled by it.
    fn tool_corrected(&mut self, tool: &ToolRef, settled: Settled<'_>, tell: Tell<'_>) {
        match self.settled.get_mut(tool) {
            None => self.tool_over(tool, settled, tell),
            Some(known) if known.status == settled.status => {}
            // Only what seemed to have gone wrong turns out to have been denied, or handed over.
            Some(known)
                if matches!(
                    known.status,
                    Status::Failed | Status::Interrupted | Status::Denied
                ) && matches!(settled.status, Status::Denied | Status::HandedOver) =>
            {
                known.status = settled.status;
                tell(Told::ToolCorrected(known, settled));
            }
            Some(_) => {}
        }
    }

    /// The card's name: the same for the same id.
    fn card(&mut self, activity: &Activity) -> Id {
        let wanted = match &activity.id {
            Some(id) if self.cards.contains_key(id) => {
                return self.cards.get(id).cloned().unwrap_or_default();
            }
            Some(id) => own(&self.run, id),
            None => own(&self.run, &activity.kind),
        };
        let name = self.names.take(&wanted);
        if let Some(id) = &activity.id {
            self.cards.insert(id.clone(), name.clone());
        }
        name
    }

    fn over(&mut self, ended: &Ended, summary: &Summary, at: Option<u64>, tell: Tell<'_>) {
        self.phase = Phase::Over;
        self.close_parts(|part| part.kind == Kind::Text, tell);
        self.close_parts(|_| true, tell);
        let outcome = ended.outcome.unwrap_or(match &ended.problem {
            Some(_) => Outcome::Failed,
            None => Outcome::Interrupted,
        });
        let stays = self.waiting == Waiting::Stays
            && matches!(outcome, Outcome::Completed | Outcome::NoText);
        let mut tools: Vec<Tool> = std::mem::take(&mut self.tools).into_values().collect();
        // The calls of sub-agents before those that they work for.
        tools.sort_by_key(|tool| (tool.parent.is_none(), tool.order()));
        for tool in tools.iter_mut().filter(|tool| !tool.ready) {
            tool.complete(None, tell);
        }
        let (waiting, cut): (Vec<Tool>, Vec<Tool>) =
            tools.into_iter().partition(|tool| stays && !tool.requests.is_empty());
        for mut tool in cut {
            let (status, words) = tool.cut_off();
            let content = Json::string(words);
            let reason = Some(Reason::RunEnded);
            tool.settle(Settled { status, reason, content: &content }, tell);
        }
        if let Some(turn) = self.step.take() {
            tell(Told::StepOver { turn });
        }
        let waiting = waiting.iter().collect();
        tell(Told::Over(Over { outcome, ended, summary, at, waiting }));
    }

    /// The name of a call that somebody works for.
    fn called(&self, call: &Id) -> Id {
        self.calls.get(call).unwrap_or(call).clone()
    }
}

/// A message's id is known for as long as its session, a part's only in its run.
fn own(run: &str, id: &str) -> String {
    format!("{run}:{id}")
}
