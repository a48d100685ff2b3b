//! Durations of tool calls and runs. The machine keeps no times, so they come from the log.

use std::collections::HashMap;

use foxwedge_run::{RunEffect, SharedId, ToolRef, ToolStatus, UiChange};

/// Times of calls and runs, collected from effects.
#[derive(Clone, Debug, Default)]
pub struct RunTimes {
    /// Time of the event whose effects follow.
    now: Option<u64>,
    calls: HashMap<(SharedId, ToolRef), TimeSpan>,
    runs: HashMap<SharedId, TimeSpan>,
}

/// Start and end of a call or a run.
#[derive(Clone, Copy, Debug, Default)]
struct TimeSpan {
    started: Option<u64>,
    running_since: Option<u64>,
    ended: Option<u64>,
}

impl RunTimes {
    /// Records the times of an effect.
    pub fn record(&mut self, effect: &RunEffect) {
        match effect {
            RunEffect::Emit(event) => self.now = event.at.or(self.now),
            RunEffect::Show { run, change } => self.record_change(run, change),
            RunEffect::Resolve { .. }
            | RunEffect::CancelTool { .. }
            | RunEffect::Announce { .. }
            | RunEffect::Drain { .. }
            | RunEffect::Warn(_) => {}
        }
    }

    fn record_change(&mut self, run: &SharedId, change: &UiChange) {
        let now = self.now;
        match change {
            UiChange::RunStarted { at, .. } => {
                self.runs.entry(run.clone()).or_default().started = at.or(now);
            }
            UiChange::RunEnded { at, .. } => {
                self.runs.entry(run.clone()).or_default().ended = at.or(now);
            }
            UiChange::ToolOpened { tool, .. } => self.call_span(run, tool).started = now,
            // The time spent waiting for an approval does not count.
            UiChange::ToolStatus { tool, status: ToolStatus::Running } => {
                self.call_span(run, tool).running_since = now
            }
            UiChange::ToolSettled { tool, .. } => self.call_span(run, tool).ended = now,
            UiChange::ToolStatus { .. }
            | UiChange::ToolCorrected { .. }
            | UiChange::StepStarted { .. }
            | UiChange::StepEnded { .. }
            | UiChange::TextOpened(_)
            | UiChange::TextDelta(..)
            | UiChange::TextClosed(_)
            | UiChange::ThoughtOpened(_)
            | UiChange::ThoughtDelta(..)
            | UiChange::ThoughtClosed(_)
            | UiChange::ToolArguments { .. }
            | UiChange::ToolReady { .. }
            | UiChange::ToolProgress { .. }
            | UiChange::ApprovalRequested { .. }
            | UiChange::ApprovalClosed { .. }
            | UiChange::ToolsAvailable(_)
            | UiChange::Tasks(_)
            | UiChange::Usage(_)
            | UiChange::Activity(_)
            | UiChange::Problem(_) => {}
        }
    }

    fn call_span(&mut self, run: &SharedId, tool: &ToolRef) -> &mut TimeSpan {
        self.calls.entry((run.clone(), tool.clone())).or_default()
    }

    /// Duration of a call in milliseconds; up to `now` if it is still running.
    pub fn of_call(&self, run: &SharedId, tool: &ToolRef, now: Option<u64>) -> Option<u64> {
        let span = self.calls.get(&(run.clone(), tool.clone()))?;
        let started = span.running_since.or(span.started)?;
        Some(span.ended.or(now)?.saturating_sub(started))
    }

    /// Duration of a run in milliseconds; up to `now` if it is still running.
    pub fn of_run(&self, run: &SharedId, now: Option<u64>) -> Option<u64> {
        let span = self.runs.get(run)?;
        Some(span.ended.or(now)?.saturating_sub(span.started?))
    }

    /// Time of the last event.
    pub fn last(&self) -> Option<u64> {
        self.now
    }
}
