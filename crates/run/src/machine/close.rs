//! The end of a run: decided once, by whoever comes first, and everything is closed before it.

use super::{Phase, Run, Tool, World, change::Around, run::Origin};
use crate::{
    Body, CallRef, Change, Effect, Ended, Event, How, Outcome, Reason, Status, ToolResult, Usage,
    Warning,
};

/// How long the source of a run that is over is read on, in milliseconds.
const DRAIN: u64 = 3_000;

impl Run {
    /// The outcome is decided. Whoever decides second decides nothing; a second wish without
    /// patience ends the wait.
    pub(super) fn decide(
        &mut self,
        (ended, grace): (Ended, u64),
        at: Option<u64>,
        origin: Origin,
        world: &mut World<'_>,
    ) {
        match (&self.phase, origin) {
            (Phase::Ended { .. }, _) => {}
            (Phase::Stopping { ended, .. }, Origin::Source) => {
                if grace == 0 {
                    let ended = ended.clone();
                    self.end(ended, None, at, origin, world);
                }
            }
            (Phase::Stopping { .. }, Origin::Log) => {}
            (Phase::Running, Origin::Log) => {
                // Whoever wrote the log closed it, too; what is missing is not long in coming.
                self.texts.close(&self.id, world.effects);
                let wait = grace.saturating_add(world.settings.wait);
                self.phase = Phase::Stopping { ended, deadline: world.clock.later(wait) };
            }
            (Phase::Running, Origin::Source) => {
                self.texts.close(&self.id, world.effects);
                self.release_tools(at, world);
                if grace == 0 || self.unfinished.is_empty() {
                    self.end(ended, None, at, origin, world);
                } else {
                    self.phase = Phase::Stopping { ended, deadline: world.clock.later(grace) };
                }
            }
        }
    }

    /// Nothing begins any more, and whoever works may stop.
    fn release_tools(&mut self, at: Option<u64>, world: &mut World<'_>) {
        for place in 0..self.table.tools.len() {
            let Some(tool) = self.table.tools.get_mut(place) else { continue };
            if tool.is_open() && tool.status() == Status::Running {
                let (run, settings) = (&self.id, world.settings);
                Around { run, settings, effects: world.effects }.release(tool);
                self.unfinished.push(place);
            } else if tool.is_open() {
                self.close_tool(place, Reason::RunEnded, at, Origin::Source, world);
            }
        }
    }

    /// Ends a run that only waits for its tools once they are done.
    pub(super) fn end_if_settled(&mut self, at: Option<u64>, world: &mut World<'_>) {
        let Phase::Stopping { ended, .. } = &self.phase else { return };
        if self.origin == Origin::Log {
            return;
        }
        let tools = &self.table.tools;
        let done = |place: &usize| tools.get(*place).is_none_or(|tool| !tool.is_open());
        while self.unfinished.last().is_some_and(done) {
            self.unfinished.pop();
        }
        if self.unfinished.is_empty() {
            let ended = ended.clone();
            self.end(ended, None, at, Origin::Source, world);
        }
    }

    /// Closes what the sub-agents of a call still have open, and theirs.
    pub(super) fn close_children(
        &mut self,
        parent: usize,
        at: Option<u64>,
        origin: Origin,
        world: &mut World<'_>,
    ) {
        let mut parents = vec![parent];
        while let Some(parent) = parents.pop() {
            let Some(tool) = self.table.tools.get(parent) else { continue };
            for child in self.table.children(&tool.call).to_vec() {
                if self.table.tools.get(child).is_some_and(Tool::is_open) {
                    self.close_tool(child, Reason::ParentClosed, at, origin, world);
                    parents.push(child);
                }
            }
        }
    }

    /// Closes a call whose own sub-agents go with it.
    pub(super) fn close_branch(
        &mut self,
        place: usize,
        at: Option<u64>,
        origin: Origin,
        world: &mut World<'_>,
    ) {
        if self.table.tools.get(place).is_some_and(Tool::is_open) {
            self.close_tool(place, Reason::ParentClosed, at, origin, world);
            self.close_children(place, at, origin, world);
        }
    }

    /// Closes a call. If we write the log, it says so.
    fn close_tool(
        &mut self,
        place: usize,
        reason: Reason,
        at: Option<u64>,
        origin: Origin,
        world: &mut World<'_>,
    ) {
        let before = world.effects.len();
        let seq = self.next_place();
        let Some(tool) = self.table.tools.get_mut(place) else { return };
        let (run, settings) = (&self.id, world.settings);
        let status = tool.closed();
        Around { run, settings, effects: world.effects }.release(tool);
        tool.close(status, reason, seq);
        let result = ToolResult {
            call: CallRef { id: Some(tool.call.clone()), turn: tool.turn },
            name: tool.name.clone(),
            how: how(tool.status()),
            reason: Some(reason),
            content: None,
        };
        tool.show(true, |change| world.effects.push(Effect::Show { run: run.clone(), change }));
        if origin == Origin::Source {
            let event = Event { at, ..Event::new(&self.id, Body::Result(result)) };
            self.emit(before, event, origin, world);
        }
    }

    /// The end. Everything is closed first; then it is told, once.
    pub(super) fn end(
        &mut self,
        told: Ended,
        event: Option<Event>,
        at: Option<u64>,
        origin: Origin,
        world: &mut World<'_>,
    ) {
        let at = event.as_ref().and_then(|event| event.at).or(at);
        self.texts.close(&self.id, world.effects);
        self.sweep(at, origin, world);
        self.end_step(world);
        if let Some(usage) = &told.usage {
            self.used(usage, world);
        }
        let ended = self.decided(told);
        if world.tasks.finish(&self.id, ended.outcome.unwrap_or(Outcome::Failed)) {
            self.tell(Change::Tasks(world.tasks.list().to_vec()), world);
        }
        let before = world.effects.len();
        let body = Body::Ended(ended.clone());
        match (event, origin) {
            (Some(event), _) => self.emit(before, Event { body, ..event }, origin, world),
            (None, Origin::Source) => {
                let event = Event { at, ..Event::new(&self.id, body) };
                self.emit(before, event, origin, world);
            }
            // A log that breaks off has no end that we could write.
            (None, Origin::Log) => {}
        }
        let summary = self.summary();
        self.tell(Change::RunEnded { ended: ended.clone(), summary, at }, world);
        self.phase = Phase::Ended { ended: ended.clone(), summary, at };
        self.unfinished.clear();
        self.drop_early();
        world.effects.push(Effect::Announce { run: self.id.clone(), ended, summary });
        if origin == Origin::Source {
            let until = world.clock.tell(world.clock.later(DRAIN));
            world.effects.push(Effect::Drain { run: self.id.clone(), until });
        }
    }

    /// No call is open behind the end, and no answer is without a word about its call.
    fn sweep(&mut self, at: Option<u64>, origin: Origin, world: &mut World<'_>) {
        for place in 0..self.table.tools.len() {
            let Some(tool) = self.table.tools.get_mut(place) else { continue };
            if !tool.was_called() && tool.has_answer() {
                tool.reason.get_or_insert(Reason::NeverCalled);
                let (run, tool) = (self.id.clone(), tool.reference());
                world.effects.push(Effect::Warn(Warning::NeverCalled { run, tool }));
            }
            if tool.is_open() {
                self.close_tool(place, Reason::RunEnded, at, origin, world);
            } else {
                let run = &self.id;
                let tell = |change| world.effects.push(Effect::Show { run: run.clone(), change });
                tool.show(true, tell);
            }
        }
    }

    /// What the end says, with what was decided before and what was said in the run.
    fn decided(&self, told: Ended) -> Ended {
        let first = match &self.phase {
            Phase::Stopping { ended, .. } => ended.clone(),
            Phase::Running | Phase::Ended { .. } => Ended::default(),
        };
        let said = told.text.filter(|text| !text.trim().is_empty());
        let text = said.or_else(|| self.texts.last_words());
        let outcome = match (first.outcome.or(told.outcome), &text) {
            (None, _) if told.problem.is_some() => Outcome::Failed,
            (Some(Outcome::Completed) | None, None) => Outcome::NoText,
            (Some(outcome), _) => outcome,
            (None, Some(_)) => Outcome::Completed,
        };
        let usage = (self.usage != Usage::default()).then_some(self.usage);
        Ended { outcome: Some(outcome), text, problem: first.problem.or(told.problem), usage }
    }
}

/// How a call that was closed is told in the log.
fn how(status: Status) -> How {
    match status {
        Status::Succeeded => How::Ok,
        Status::Failed => How::Error,
        Status::Denied => How::Denied,
        Status::Cancelled => How::Cancelled,
        Status::HandedOver => How::HandedOver,
        Status::Interrupted
        | Status::Unknown
        | Status::Pending
        | Status::AwaitingApproval
        | Status::Running => How::Interrupted,
    }
}
