//! How long calls and runs took. The machine keeps no times; the log has them.

use std::collections::HashMap;

use foxwedge_run::{Change, Effect, Id, Status, ToolRef};

/// When what happened, learned from the effects of one run after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// The time of the event whose effects are coming.
    now: Option<u64>,
    calls: HashMap<(Id, ToolRef), Span>,
    runs: HashMap<Id, Span>,
}

/// From when to when.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    begun: Option<u64>,
    working: Option<u64>,
    ended: Option<u64>,
}

impl Times {
    /// Takes an effect.
    pub(crate) fn see(&mut self, effect: &Effect) {
        match effect {
            Effect::Emit(event) => self.now = event.at.or(self.now),
            Effect::Show { run, change } => self.change(run, change),
            Effect::Resolve { .. }
            | Effect::CallOff { .. }
            | Effect::Announce { .. }
            | Effect::Drain { .. }
            | Effect::Warn(_) => {}
        }
    }

    fn change(&mut self, run: &Id, change: &Change) {
        let now = self.now;
        match change {
            Change::RunStarted { at, .. } => {
                self.runs.entry(run.clone()).or_default().begun = at.or(now);
            }
            Change::RunEnded { at, .. } => {
                self.runs.entry(run.clone()).or_default().ended = at.or(now);
            }
            Change::ToolOpened { tool, .. } => self.call(run, tool).begun = now,
            // While somebody is asked, nothing works.
            Change::ToolStatus { tool, status: Status::Running } => {
                self.call(run, tool).working = now
            }
            Change::ToolSettled { tool, .. } => self.call(run, tool).ended = now,
            Change::ToolStatus { .. }
            | Change::ToolCorrected { .. }
            | Change::StepStarted { .. }
            | Change::StepEnded { .. }
            | Change::TextOpened(_)
            | Change::TextDelta(..)
            | Change::TextClosed(_)
            | Change::ThoughtOpened(_)
            | Change::ThoughtDelta(..)
            | Change::ThoughtClosed(_)
            | Change::ToolArguments { .. }
            | Change::ToolReady { .. }
            | Change::ToolProgress { .. }
            | Change::Asked { .. }
            | Change::AskClosed { .. }
            | Change::ToolsAvailable(_)
            | Change::Tasks(_)
            | Change::Usage(_)
            | Change::Activity(_)
            | Change::Problem(_) => {}
        }
    }

    fn call(&mut self, run: &Id, tool: &ToolRef) -> &mut Span {
        self.calls.entry((run.clone(), tool.clone())).or_default()
    }

    /// How long a call worked, in milliseconds; up to `now` while it does.
    pub(crate) fn of_call(&self, run: &Id, tool: &ToolRef, now: Option<u64>) -> Option<u64> {
        let span = self.calls.get(&(run.clone(), tool.clone()))?;
        let begun = span.working.or(span.begun)?;
        Some(span.ended.or(now)?.saturating_sub(begun))
    }

    /// How long a run took, in milliseconds; up to `now` while it is at work.
    pub(crate) fn of_run(&self, run: &Id, now: Option<u64>) -> Option<u64> {
        let span = self.runs.get(run)?;
        Some(span.ended.or(now)?.saturating_sub(span.begun?))
    }

    /// The time of the last event.
    pub(crate) fn last(&self) -> Option<u64> {
        self.now
    }
}
