//! The end of a run. It is decided once, by the first event that decides it; everything is closed
//! before it.

use super::{Run, RunContext, RunPhase, ToolCallState, change::CallContext, run::EventOrigin};
use crate::{
    CallRef, EventPayload, Outcome, RunEffect, RunEnd, RunEvent, RunUsage, RunWarning, ToolOutcome,
    ToolResult, ToolStatus, ToolStatusReason, UiChange,
};

/// How long to keep reading from the source of a run that has ended, in milliseconds.
const DRAIN_TIME: u64 = 3_000;

impl Run {
    /// Decides how the run ends. Later decisions change nothing, except that one without grace time
    /// ends the wait for tools.
    pub(super) fn decide(
        &mut self,
        (ended, grace): (RunEnd, u64),
        at: Option<u64>,
        origin: EventOrigin,
        context: &mut RunContext<'_>,
    ) {
        match (&self.phase, origin) {
            (RunPhase::Ended { .. }, _) => {}
            (RunPhase::Stopping { ended, .. }, EventOrigin::Source) => {
                if grace == 0 {
                    let ended = ended.clone();
                    self.end(ended, None, at, origin, context);
                }
            }
            (RunPhase::Stopping { .. }, EventOrigin::Log) => {}
            (RunPhase::Running, EventOrigin::Log) => {
                // The writer of the log also closed the run; the missing events should arrive soon.
                self.texts.close(&self.id, context.effects);
                let wait = grace.saturating_add(context.settings.wait);
                self.phase = RunPhase::Stopping { ended, deadline: context.clock.later(wait) };
            }
            (RunPhase::Running, EventOrigin::Source) => {
                self.texts.close(&self.id, context.effects);
                self.release_tools(at, context);
                if grace == 0 || self.unfinished.is_empty() {
                    self.end(ended, None, at, origin, context);
                } else {
                    self.phase = RunPhase::Stopping { ended, deadline: context.clock.later(grace) };
                }
            }
        }
    }

    /// Closes calls that have not started, and cancels running ones.
    fn release_tools(&mut self, at: Option<u64>, context: &mut RunContext<'_>) {
        for index in 0..self.table.tools.len() {
            let Some(tool) = self.table.tools.get_mut(index) else { continue };
            if tool.is_open() && tool.status() == ToolStatus::Running {
                let (run, settings) = (&self.id, context.settings);
                CallContext { run, settings, effects: context.effects }.release(tool);
                self.unfinished.push(index);
            } else if tool.is_open() {
                self.close_tool(
                    index,
                    ToolStatusReason::RunEnded,
                    at,
                    EventOrigin::Source,
                    context,
                );
            }
        }
    }

    /// Ends a stopping run once the tools it waits for are done.
    pub(super) fn end_if_settled(&mut self, at: Option<u64>, context: &mut RunContext<'_>) {
        let RunPhase::Stopping { ended, .. } = &self.phase else { return };
        if self.origin == EventOrigin::Log {
            return;
        }
        let tools = &self.table.tools;
        let is_done = |index: &usize| tools.get(*index).is_none_or(|tool| !tool.is_open());
        while self.unfinished.last().is_some_and(is_done) {
            self.unfinished.pop();
        }
        if self.unfinished.is_empty() {
            let ended = ended.clone();
            self.end(ended, None, at, EventOrigin::Source, context);
        }
    }

    /// Closes the open calls of a call's sub-agents, recursively.
    pub(super) fn close_children(
        &mut self,
        parent: usize,
        at: Option<u64>,
        origin: EventOrigin,
        context: &mut RunContext<'_>,
    ) {
        let mut parents = vec![parent];
        while let Some(parent) = parents.pop() {
            let Some(tool) = self.table.tools.get(parent) else { continue };
            for child in self.table.children(&tool.call).to_vec() {
                if self.table.tools.get(child).is_some_and(ToolCallState::is_open) {
                    self.close_tool(child, ToolStatusReason::ParentClosed, at, origin, context);
                    parents.push(child);
                }
            }
        }
    }

    /// Closes a call together with the calls of its sub-agents.
    pub(super) fn close_branch(
        &mut self,
        index: usize,
        at: Option<u64>,
        origin: EventOrigin,
        context: &mut RunContext<'_>,
    ) {
        if self.table.tools.get(index).is_some_and(ToolCallState::is_open) {
            self.close_tool(index, ToolStatusReason::ParentClosed, at, origin, context);
            self.close_children(index, at, origin, context);
        }
    }

    /// Closes a call. If we write the log, the log records it.
    fn close_tool(
        &mut self,
        index: usize,
        reason: ToolStatusReason,
        at: Option<u64>,
        origin: EventOrigin,
        context: &mut RunContext<'_>,
    ) {
        let before = context.effects.len();
        let seq = self.next_place();
        let Some(tool) = self.table.tools.get_mut(index) else { return };
        let (run, settings) = (&self.id, context.settings);
        let status = tool.status_when_closed();
        CallContext { run, settings, effects: context.effects }.release(tool);
        tool.close(status, reason, seq);
        let result = ToolResult {
            call: CallRef { id: Some(tool.call.clone()), turn: tool.turn },
            name: tool.name.clone(),
            outcome: tool_outcome(tool.status()),
            reason: Some(reason),
            content: None,
        };
        tool.show(true, |change| {
            context.effects.push(RunEffect::Show { run: run.clone(), change })
        });
        if origin == EventOrigin::Source {
            let event =
                RunEvent { at, ..RunEvent::new(&self.id, EventPayload::ToolResult(result)) };
            self.emit(before, event, origin, context);
        }
    }

    /// Ends the run: closes everything, then emits the end, once.
    pub(super) fn end(
        &mut self,
        reported: RunEnd,
        event: Option<RunEvent>,
        at: Option<u64>,
        origin: EventOrigin,
        context: &mut RunContext<'_>,
    ) {
        let at = event.as_ref().and_then(|event| event.at).or(at);
        self.texts.close(&self.id, context.effects);
        self.close_open_tools(at, origin, context);
        self.end_step(context);
        if let Some(usage) = &reported.usage {
            self.apply_usage(usage, context);
        }
        let ended = self.complete_end(reported);
        if context.tasks.finish(&self.id, ended.outcome.unwrap_or(Outcome::Failed)) {
            self.show_change(UiChange::Tasks(context.tasks.list().to_vec()), context);
        }
        let before = context.effects.len();
        let body = EventPayload::Ended(ended.clone());
        match (event, origin) {
            (Some(event), _) => self.emit(before, RunEvent { body, ..event }, origin, context),
            (None, EventOrigin::Source) => {
                let event = RunEvent { at, ..RunEvent::new(&self.id, body) };
                self.emit(before, event, origin, context);
            }
            // A log that breaks off has no end event, and we cannot write one.
            (None, EventOrigin::Log) => {}
        }
        let summary = self.summary();
        self.show_change(UiChange::RunEnded { ended: ended.clone(), summary, at }, context);
        self.phase = RunPhase::Ended { ended: ended.clone(), summary, at };
        self.unfinished.clear();
        self.drop_early();
        context.effects.push(RunEffect::Announce { run: self.id.clone(), ended, summary });
        if origin == EventOrigin::Source {
            let until = context.clock.to_caller_time(context.clock.later(DRAIN_TIME));
            context.effects.push(RunEffect::Drain { run: self.id.clone(), until });
        }
    }

    /// Closes every open call, and warns about tool results whose call never came.
    fn close_open_tools(
        &mut self,
        at: Option<u64>,
        origin: EventOrigin,
        context: &mut RunContext<'_>,
    ) {
        for index in 0..self.table.tools.len() {
            let Some(tool) = self.table.tools.get_mut(index) else { continue };
            if !tool.was_called() && tool.has_answer() {
                tool.reason.get_or_insert(ToolStatusReason::NeverCalled);
                let (run, tool) = (self.id.clone(), tool.reference());
                context.effects.push(RunEffect::Warn(RunWarning::NeverCalled { run, tool }));
            }
            if tool.is_open() {
                self.close_tool(index, ToolStatusReason::RunEnded, at, origin, context);
            } else {
                let run = &self.id;
                let show =
                    |change| context.effects.push(RunEffect::Show { run: run.clone(), change });
                tool.show(true, show);
            }
        }
    }

    /// Completes the reported end with what was decided before and what the run produced.
    fn complete_end(&self, reported: RunEnd) -> RunEnd {
        let decided = match &self.phase {
            RunPhase::Stopping { ended, .. } => ended.clone(),
            RunPhase::Running | RunPhase::Ended { .. } => RunEnd::default(),
        };
        let reported_text = reported.text.filter(|text| !text.trim().is_empty());
        let text = reported_text.or_else(|| self.texts.final_text());
        let outcome = match (decided.outcome.or(reported.outcome), &text) {
            (None, _) if reported.problem.is_some() => Outcome::Failed,
            (Some(Outcome::Completed) | None, None) => Outcome::NoText,
            (Some(outcome), _) => outcome,
            (None, Some(_)) => Outcome::Completed,
        };
        let usage = (self.usage != RunUsage::default()).then_some(self.usage);
        RunEnd {
            outcome: Some(outcome),
            text,
            problem: decided.problem.or(reported.problem),
            usage,
        }
    }
}

/// The outcome that the log records for a closed call.
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
