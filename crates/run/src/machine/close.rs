//! The end of a run: decided once, by whoever comes first, and everything is closed before it.

use super::{Run, RunContext, RunPhase, ToolCallState, change::CallContext, run::EventOrigin};
use crate::{
    CallRef, EventPayload, Outcome, RunEffect, RunEnd, RunEvent, RunUsage, RunWarning, ToolOutcome,
    ToolResult, ToolStatus, ToolStatusReason, UiChange,
};

/// How long the source of a run that is over is read on, in milliseconds.
const DRAIN_TIME: u64 = 3_000;

impl Run {
    /// The outcome is decided. Whoever decides second decides nothing; a second wish without
    /// patience ends the wait.
    pub(super) fn decide(
        &mut self,
        (ended, grace): (RunEnd, u64),
        at: Option<u64>,
        origin: EventOrigin,
        world: &mut RunContext<'_>,
    ) {
        match (&self.phase, origin) {
            (RunPhase::Ended { .. }, _) => {}
            (RunPhase::Stopping { ended, .. }, EventOrigin::Source) => {
                if grace == 0 {
                    let ended = ended.clone();
                    self.end(ended, None, at, origin, world);
                }
            }
            (RunPhase::Stopping { .. }, EventOrigin::Log) => {}
            (RunPhase::Running, EventOrigin::Log) => {
                // Whoever wrote the log closed it, too; what is missing is not long in coming.
                self.texts.close(&self.id, world.effects);
                let wait = grace.saturating_add(world.settings.wait);
                self.phase = RunPhase::Stopping { ended, deadline: world.clock.later(wait) };
            }
            (RunPhase::Running, EventOrigin::Source) => {
                self.texts.close(&self.id, world.effects);
                self.release_tools(at, world);
                if grace == 0 || self.unfinished.is_empty() {
                    self.end(ended, None, at, origin, world);
                } else {
                    self.phase = RunPhase::Stopping { ended, deadline: world.clock.later(grace) };
                }
            }
        }
    }

    /// Nothing begins any more, and whoever works may stop.
    fn release_tools(&mut self, at: Option<u64>, world: &mut RunContext<'_>) {
        for place in 0..self.table.tools.len() {
            let Some(tool) = self.table.tools.get_mut(place) else { continue };
            if tool.is_open() && tool.status() == ToolStatus::Running {
                let (run, settings) = (&self.id, world.settings);
                CallContext { run, settings, effects: world.effects }.release(tool);
                self.unfinished.push(place);
            } else if tool.is_open() {
                self.close_tool(place, ToolStatusReason::RunEnded, at, EventOrigin::Source, world);
            }
        }
    }

    /// Ends a run that only waits for its tools once they are done.
    pub(super) fn end_if_settled(&mut self, at: Option<u64>, world: &mut RunContext<'_>) {
        let RunPhase::Stopping { ended, .. } = &self.phase else { return };
        if self.origin == EventOrigin::Log {
            return;
        }
        let tools = &self.table.tools;
        let done = |place: &usize| tools.get(*place).is_none_or(|tool| !tool.is_open());
        while self.unfinished.last().is_some_and(done) {
            self.unfinished.pop();
        }
        if self.unfinished.is_empty() {
            let ended = ended.clone();
            self.end(ended, None, at, EventOrigin::Source, world);
        }
    }

    /// Closes what the sub-agents of a call still have open, and theirs.
    pub(super) fn close_children(
        &mut self,
        parent: usize,
        at: Option<u64>,
        origin: EventOrigin,
        world: &mut RunContext<'_>,
    ) {
        let mut parents = vec![parent];
        while let Some(parent) = parents.pop() {
            let Some(tool) = self.table.tools.get(parent) else { continue };
            for child in self.table.children(&tool.call).to_vec() {
                if self.table.tools.get(child).is_some_and(ToolCallState::is_open) {
                    self.close_tool(child, ToolStatusReason::ParentClosed, at, origin, world);
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
        origin: EventOrigin,
        world: &mut RunContext<'_>,
    ) {
        if self.table.tools.get(place).is_some_and(ToolCallState::is_open) {
            self.close_tool(place, ToolStatusReason::ParentClosed, at, origin, world);
            self.close_children(place, at, origin, world);
        }
    }

    /// Closes a call. If we write the log, it says so.
    fn close_tool(
        &mut self,
        place: usize,
        reason: ToolStatusReason,
        at: Option<u64>,
        origin: EventOrigin,
        world: &mut RunContext<'_>,
    ) {
        let before = world.effects.len();
        let seq = self.next_place();
        let Some(tool) = self.table.tools.get_mut(place) else { return };
        let (run, settings) = (&self.id, world.settings);
        let status = tool.status_when_closed();
        CallContext { run, settings, effects: world.effects }.release(tool);
        tool.close(status, reason, seq);
        let result = ToolResult {
            call: CallRef { id: Some(tool.call.clone()), turn: tool.turn },
            name: tool.name.clone(),
            outcome: tool_outcome(tool.status()),
            reason: Some(reason),
            content: None,
        };
        tool.show(true, |change| world.effects.push(RunEffect::Show { run: run.clone(), change }));
        if origin == EventOrigin::Source {
            let event =
                RunEvent { at, ..RunEvent::new(&self.id, EventPayload::ToolResult(result)) };
            self.emit(before, event, origin, world);
        }
    }

    /// The end. Everything is closed first; then it is told, once.
    pub(super) fn end(
        &mut self,
        told: RunEnd,
        event: Option<RunEvent>,
        at: Option<u64>,
        origin: EventOrigin,
        world: &mut RunContext<'_>,
    ) {
        let at = event.as_ref().and_then(|event| event.at).or(at);
        self.texts.close(&self.id, world.effects);
        self.close_open_tools(at, origin, world);
        self.end_step(world);
        if let Some(usage) = &told.usage {
            self.apply_usage(usage, world);
        }
        let ended = self.complete_end(told);
        if world.tasks.finish(&self.id, ended.outcome.unwrap_or(Outcome::Failed)) {
            self.show_change(UiChange::Tasks(world.tasks.list().to_vec()), world);
        }
        let before = world.effects.len();
        let body = EventPayload::Ended(ended.clone());
        match (event, origin) {
            (Some(event), _) => self.emit(before, RunEvent { body, ..event }, origin, world),
            (None, EventOrigin::Source) => {
                let event = RunEvent { at, ..RunEvent::new(&self.id, body) };
                self.emit(before, event, origin, world);
            }
            // A log that breaks off has no end that we could write.
            (None, EventOrigin::Log) => {}
        }
        let summary = self.summary();
        self.show_change(UiChange::RunEnded { ended: ended.clone(), summary, at }, world);
        self.phase = RunPhase::Ended { ended: ended.clone(), summary, at };
        self.unfinished.clear();
        self.drop_early();
        world.effects.push(RunEffect::Announce { run: self.id.clone(), ended, summary });
        if origin == EventOrigin::Source {
            let until = world.clock.to_caller_time(world.clock.later(DRAIN_TIME));
            world.effects.push(RunEffect::Drain { run: self.id.clone(), until });
        }
    }

    /// No call is open behind the end, and no answer is without a word about its call.
    fn close_open_tools(
        &mut self,
        at: Option<u64>,
        origin: EventOrigin,
        world: &mut RunContext<'_>,
    ) {
        for place in 0..self.table.tools.len() {
            let Some(tool) = self.table.tools.get_mut(place) else { continue };
            if !tool.was_called() && tool.has_answer() {
                tool.reason.get_or_insert(ToolStatusReason::NeverCalled);
                let (run, tool) = (self.id.clone(), tool.reference());
                world.effects.push(RunEffect::Warn(RunWarning::NeverCalled { run, tool }));
            }
            if tool.is_open() {
                self.close_tool(place, ToolStatusReason::RunEnded, at, origin, world);
            } else {
                let run = &self.id;
                let tell =
                    |change| world.effects.push(RunEffect::Show { run: run.clone(), change });
                tool.show(true, tell);
            }
        }
    }

    /// What the end says, with what was decided before and what was said in the run.
    fn complete_end(&self, told: RunEnd) -> RunEnd {
        let first = match &self.phase {
            RunPhase::Stopping { ended, .. } => ended.clone(),
            RunPhase::Running | RunPhase::Ended { .. } => RunEnd::default(),
        };
        let said = told.text.filter(|text| !text.trim().is_empty());
        let text = said.or_else(|| self.texts.final_text());
        let outcome = match (first.outcome.or(told.outcome), &text) {
            (None, _) if told.problem.is_some() => Outcome::Failed,
            (Some(Outcome::Completed) | None, None) => Outcome::NoText,
            (Some(outcome), _) => outcome,
            (None, Some(_)) => Outcome::Completed,
        };
        let usage = (self.usage != RunUsage::default()).then_some(self.usage);
        RunEnd { outcome: Some(outcome), text, problem: first.problem.or(told.problem), usage }
    }
}

/// How a call that was closed is told in the log.
fn tool_outcome(status: ToolStatus) -> ToolOutcome {
    match status {
        ToolStatus::Succeeded => ToolOutcome::Ok,
        ToolStatus::Failed => ToolOutcome::Error,
        ToolStatus::Denied => ToolOutcome::Denied,
        ToolStatus::Cancelled => ToolOutcome::Cancelled,
        ToolStatus::HandedOver => ToolOutcome::HandedOver,
        ToolStatus::Interrupted
        | ToolStatus::Unknown
        | ToolStatus::Pending
        | ToolStatus::AwaitingApproval
        | ToolStatus::Running => ToolOutcome::Interrupted,
    }
}
