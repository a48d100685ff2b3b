//! What each kind of event changes in its run.

use super::{Run, TextKind, Tool, World, table::Purpose};
use crate::{
    AskKind, Body, Call, CallRef, Change, Effect, Event, How, Id, Json, Reason, Settings, Status,
    Task, Text, ToolResult, ToolsAvailable, Turn, Usage, Verdict, Warning, follow::tasks::written,
};

/// What an event says that was not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// Nothing.
    None,
    /// Something.
    Some,
    /// That a question went over to a person: the log says so, and not what was said about it.
    HandedOver,
    /// That this call was called off: its sub-agents go with it.
    Closed(usize),
    /// That this call was made for one that had been called off.
    Doomed(usize),
}

impl From<bool> for News {
    fn from(news: bool) -> News {
        if news { News::Some } else { News::None }
    }
}

impl Run {
    /// What an event changes, apart from ending the run. `seq` is the place it will have.
    pub(super) fn change(&mut self, event: &Event, seq: u64, world: &mut World<'_>) -> News {
        match &event.body {
            Body::Started(_) => News::None,
            Body::ToolsAvailable(tools) => self.tools_available(tools, world),
            Body::Turn(turn) => self.turn(turn, world),
            Body::Text(text) => self.text(TextKind::Text, text, seq, world),
            Body::Thought(text) => self.text(TextKind::Thought, text, seq, world),
            Body::Call(call) => self.call(call, seq, world),
            Body::Arguments { call, delta } => self.on(call, Purpose::Remark, world, |tool, _| {
                let open = tool.is_open() && tool.input.is_none();
                if open {
                    tool.arguments.push_str(delta);
                }
                open
            }),
            Body::Progress { call, content } => self.progress(call, content, world),
            Body::Result(result) => self.result(result, seq, world),
            Body::Cancelled { call } => self.on(call, Purpose::Answer, world, |tool, around| {
                let (open, status) = (tool.is_open(), tool.closed());
                around.release(tool);
                tool.close(status, Reason::CalledOff, seq);
                open
            }),
            Body::Asked(ask) => self.on(&ask.call, Purpose::Remark, world, |tool, around| {
                tool.is_open() && tool.ask(ask, around.run, around.effects)
            }),
            Body::Replied(reply) => self.on(&reply.call, Purpose::Remark, world, |tool, around| {
                if !tool.is_open() {
                    return reply.verdict == Verdict::Denied && tool.deny(around.settings);
                }
                let news = tool.reply(reply, around.run, around.effects);
                if news {
                    tool.decided(reply.verdict, seq, around.settings);
                }
                news
            }),
            Body::Tasks(tasks) => {
                self.tasks(tasks, world);
                News::Some
            }
            Body::Usage(usage) => self.used(usage, world),
            Body::Activity(activity) => {
                self.tell(Change::Activity(activity.clone()), world);
                News::Some
            }
            Body::Problem(problem) => {
                if !problem.fatal {
                    self.tell(Change::Problem(problem.clone()), world);
                }
                News::Some
            }
            Body::TimedOut { call: Some(call) } => {
                let call = call.clone();
                let how = How::TimedOut;
                let result = ToolResult { call, name: None, how, reason: None, content: None };
                self.result(&result, seq, world)
            }
            Body::TimedOut { call: None } | Body::Stop(_) | Body::Ended(_) => News::Some,
            Body::Unknown { kind, .. } => {
                if event.odd.is_none() {
                    let (run, word) = (self.id.clone(), kind.clone());
                    world.effects.push(Effect::Warn(Warning::UnknownWord { run, word }));
                }
                News::Some
            }
        }
    }

    /// Takes the list of tasks. A list that is told as a call and by itself is shown once.
    fn tasks(&self, tasks: &[Task], world: &mut World<'_>) {
        if world.tasks.replace(&self.id, self.epoch, tasks) {
            self.tell(Change::Tasks(tasks.to_vec()), world);
        }
    }

    fn tools_available(&mut self, tools: &ToolsAvailable, world: &mut World<'_>) -> News {
        let newer = match &self.available {
            None => true,
            Some(known) => known != tools && known.version <= tools.version,
        };
        if newer {
            self.available = Some(tools.clone());
            self.tell(Change::ToolsAvailable(tools.clone()), world);
        }
        newer.into()
    }

    fn turn(&mut self, turn: &Turn, world: &mut World<'_>) -> News {
        let same = turn.message.is_some() && turn.message == self.message;
        let next = turn.turn.unwrap_or(self.turn.saturating_add(1));
        if same || next <= self.turn {
            return News::None;
        }
        self.texts.close(&self.id, world.effects);
        self.end_step(world);
        self.turn = next;
        self.message.clone_from(&turn.message);
        self.step = Some(next);
        self.tell(Change::StepStarted { turn: next }, world);
        News::Some
    }

    pub(super) fn end_step(&mut self, world: &mut World<'_>) {
        if let Some(turn) = self.step.take() {
            self.tell(Change::StepEnded { turn }, world);
        }
    }

    fn text(&mut self, kind: TextKind, text: &Text, seq: u64, world: &mut World<'_>) -> News {
        self.texts.take(kind, text, (self.turn, seq), (&self.id, world.effects)).into()
    }

    fn call(&mut self, call: &Call, seq: u64, world: &mut World<'_>) -> News {
        let purpose = Purpose::Call { name: call.name.as_ref(), complete: call.input.is_some() };
        let place = self.table.find(&self.id, &call.call, self.turn, purpose);
        let Some(tool) = self.table.tools.get_mut(place) else { return News::None };
        let first = !tool.called;
        if first {
            self.texts.close(&self.id, world.effects);
        }
        let open = tool.is_open();
        let adopted = tool.parent.is_none() && call.parent.is_some();
        let listed = tool.tasks().is_some();
        let news = tool.call(call, seq, world.settings);
        let closed = open && takes_children_along(tool);
        show(&self.id, tool, world);
        if let Some(tasks) = tool.tasks().filter(|_| !listed) {
            self.tasks(&tasks, world);
        }
        if let (true, Some(parent)) = (adopted, &call.parent) {
            self.table.adopt(parent, place);
            if self.was_called_off(parent) {
                return News::Doomed(place);
            }
        }
        if closed { News::Closed(place) } else { news.into() }
    }

    /// Whether the call of that id was called off: what its sub-agent still begins goes, too.
    fn was_called_off(&self, id: &Id) -> bool {
        let newest = self.table.newest(id).and_then(|place| self.table.tools.get(place));
        newest.is_some_and(takes_children_along)
    }

    fn progress(&mut self, call: &CallRef, content: &Json, world: &mut World<'_>) -> News {
        let place = self.table.find(&self.id, call, self.turn, Purpose::Remark);
        let Some(tool) = self.table.tools.get_mut(place) else { return News::None };
        if !tool.is_open() {
            return News::None;
        }
        tool.begun = true;
        show(&self.id, tool, world);
        if tool.was_called() {
            let (tool, content) = (tool.reference(), content.clone());
            self.tell(Change::ToolProgress { tool, content }, world);
        }
        News::Some
    }

    fn result(&mut self, result: &ToolResult, seq: u64, world: &mut World<'_>) -> News {
        let news = self.on(&result.call, Purpose::Answer, world, |tool, around| {
            tool.answer(result, seq, around.settings)
        });
        match news {
            // Its sub-agents' calls are closed by the end, too, each by itself.
            News::Closed(_) if result.reason == Some(Reason::RunEnded) => News::Some,
            News::None | News::Some | News::HandedOver | News::Closed(_) | News::Doomed(_) => news,
        }
    }

    pub(super) fn used(&mut self, usage: &Usage, world: &mut World<'_>) -> News {
        // What is told is the sum so far, so the greater one is the newer one.
        let sum = Usage {
            input: self.usage.input.max(usage.input),
            output: self.usage.output.max(usage.output),
            cached: self.usage.cached.max(usage.cached),
            reasoning: self.usage.reasoning.max(usage.reasoning),
        };
        let news = sum != self.usage;
        if news {
            self.usage = sum;
            self.tell(Change::Usage(sum), world);
        }
        news.into()
    }

    /// Changes the call that is meant, and shows what changed.
    fn on(
        &mut self,
        call: &CallRef,
        purpose: Purpose<'_>,
        world: &mut World<'_>,
        change: impl FnOnce(&mut Tool, &mut Around<'_>) -> bool,
    ) -> News {
        let place = self.table.find(&self.id, call, self.turn, purpose);
        let Some(tool) = self.table.tools.get_mut(place) else { return News::None };
        let (run, settings) = (&self.id, world.settings);
        let news = change(tool, &mut Around { run, settings, effects: world.effects });
        show(&self.id, tool, world);
        match tool.settled {
            _ if !news => News::None,
            Some(Status::HandedOver) => News::HandedOver,
            _ if takes_children_along(tool) => News::Closed(place),
            _ => News::Some,
        }
    }
}

/// What a call sees of its surroundings while it changes.
pub(super) struct Around<'a> {
    pub(super) run: &'a Id,
    pub(super) settings: &'a Settings,
    pub(super) effects: &'a mut Vec<Effect>,
}

impl Around<'_> {
    /// Whoever waits for a person waits no longer, and whoever works may stop.
    pub(super) fn release(&mut self, tool: &mut Tool) {
        if tool.status() == Status::Running {
            let (run, tool) = (self.run.clone(), tool.reference());
            self.effects.push(Effect::CallOff { run, tool });
        }
        tool.cancel_asks(self.run, self.effects);
    }
}

impl Tool {
    /// The list of tasks that it writes. That of a sub-agent is its own.
    fn tasks(&self) -> Option<Vec<Task>> {
        match (&self.name, &self.input, &self.parent) {
            (Some(name), Some(input), None) => written(name, input),
            (Some(_) | None, _, _) => None,
        }
    }

    /// Takes what is known about a call. Tells whether any of it is new.
    fn call(&mut self, call: &Call, seq: u64, settings: &Settings) -> bool {
        let before = self.known();
        if !self.called {
            self.called = true;
            self.born = seq;
        }
        self.named(call.name.as_ref(), settings);
        if self.title.is_none() {
            self.title.clone_from(&call.title);
        }
        if self.parent.is_none() {
            self.parent.clone_from(&call.parent);
        }
        if let Some(input) = &call.input {
            self.ready(input);
        }
        match call.status {
            Some(Status::Running) => self.begun = true,
            Some(Status::Unknown) => self.odd = true,
            Some(Status::AwaitingApproval) if self.is_open() && !self.is_interactive(settings) => {
                self.conclude_ask(AskKind::Approval);
            }
            // Whatever is final comes with its result.
            Some(
                Status::Pending
                | Status::AwaitingApproval
                | Status::Succeeded
                | Status::Failed
                | Status::Denied
                | Status::Cancelled
                | Status::Interrupted
                | Status::HandedOver,
            )
            | None => {}
        }
        let asks = self.input.is_some() || call.status == Some(Status::AwaitingApproval);
        if asks && self.is_open() && self.is_interactive(settings) {
            self.conclude_ask(AskKind::Question);
        }
        before != self.known()
    }

    /// How much is known, so that a comparison tells whether there is more.
    fn known(&self) -> ([bool; 7], usize, Status) {
        let facts = [
            self.called,
            self.begun,
            self.odd,
            self.name.is_some(),
            self.title.is_some(),
            self.parent.is_some(),
            self.input.is_some(),
        ];
        (facts, self.asks.len(), self.status())
    }

    /// What a person's decision makes of the call itself.
    fn decided(&mut self, verdict: Verdict, seq: u64, settings: &Settings) {
        match verdict {
            Verdict::Denied => {
                let (call, how) = (CallRef::default(), How::Denied);
                let denial = ToolResult { call, name: None, how, reason: None, content: None };
                self.answer(&denial, seq, settings);
            }
            Verdict::Answered => self.begun = true,
            Verdict::Allowed | Verdict::Cancelled => {}
        }
    }
}

/// Whether what a call's sub-agents still have open goes with it. At the end of a run each call is
/// closed by itself.
fn takes_children_along(tool: &Tool) -> bool {
    match tool.settled {
        Some(Status::Cancelled | Status::Interrupted | Status::Denied) => {
            tool.reason != Some(Reason::RunEnded)
        }
        Some(
            Status::Unknown
            | Status::Pending
            | Status::AwaitingApproval
            | Status::Running
            | Status::Succeeded
            | Status::Failed
            | Status::HandedOver,
        )
        | None => false,
    }
}

/// Shows what changed. Nobody waits for a person behind the end of a call.
pub(super) fn show(run: &Id, tool: &mut Tool, world: &mut World<'_>) {
    if !tool.is_open() {
        tool.cancel_asks(run, world.effects);
    }
    tool.show(false, |change| world.effects.push(Effect::Show { run: run.clone(), change }));
}
