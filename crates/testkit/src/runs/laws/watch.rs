//! A monitor that receives every effect of a session and checks what must not happen twice.

use std::collections::BTreeMap;

use foxwedge_run::{
    EventPayload, RunEffect, RunEnd, RunEvent, RunWarning, SharedId, ToolRef, UiChange,
};

use super::grammar::UiGrammar;

/// The state after the effects of a session so far, by run.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Watch {
    runs: BTreeMap<SharedId, RunMonitor>,
}

/// The state of one run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct RunMonitor {
    run: SharedId,
    /// The next position of its log; none before the first event.
    next: Option<u64>,
    announced: u32,
    told: Option<RunEnd>,
    /// Approval requests that were shown and are still open.
    asking: Vec<ToolRef>,
    grammar: UiGrammar,
}

impl Watch {
    /// Accepts the effects of a step.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn take(&mut self, effects: &[RunEffect]) -> Result<(), String> {
        effects.iter().try_for_each(|effect| self.one(effect))
    }

    /// How often the end of a run was announced.
    pub fn announced(&self, run: &SharedId) -> u32 {
        self.runs.get(run).map_or(0, |watched| watched.announced)
    }

    /// Runs that have started and whose end was not announced.
    pub fn open(&self) -> impl Iterator<Item = &SharedId> {
        self.runs.values().filter(|watched| watched.announced == 0).map(|watched| &watched.run)
    }

    fn one(&mut self, effect: &RunEffect) -> Result<(), String> {
        match effect {
            RunEffect::Emit(event) => self.of(&event.run).emitted(event),
            RunEffect::Show { run, change } => self.of(run).shown(change),
            RunEffect::Resolve { run, tool, .. } => self.of(run).resolved(tool),
            RunEffect::CancelTool { run, .. } => self.of(run).alive("a call is called off"),
            RunEffect::Announce { run, ended, .. } => self.of(run).announced(ended),
            RunEffect::Warn(RunWarning::Missing { run, from, to }) => {
                self.of(run).missing(*from, *to)
            }
            RunEffect::Drain { .. } | RunEffect::Warn(_) => Ok(()),
        }
    }

    fn of(&mut self, run: &SharedId) -> &mut RunMonitor {
        self.runs.entry(run.clone()).or_insert_with(|| RunMonitor {
            run: run.clone(),
            next: None,
            announced: 0,
            told: None,
            asking: Vec::new(),
            grammar: UiGrammar::default(),
        })
    }
}

impl RunMonitor {
    fn emitted(&mut self, event: &RunEvent) -> Result<(), String> {
        self.alive("an event is emitted")?;
        let Some(seq) = event.seq else {
            return Err(format!("`{}`: an event without a place is emitted", self.run));
        };
        let expected = self.next.or(matches!(event.body, EventPayload::Started(_)).then_some(seq));
        self.next = seq.checked_add(1);
        if expected == Some(seq) && event.epoch.is_some() {
            return Ok(());
        }
        Err(format!("`{}`: place {seq} is emitted where {expected:?} was due", self.run))
    }

    fn missing(&mut self, from: u64, to: u64) -> Result<(), String> {
        let fine = self.next == Some(from) && from <= to;
        self.next = to.checked_add(1);
        if fine { Ok(()) } else { Err(format!("`{}`: {from} to {to} are not missing", self.run)) }
    }

    fn shown(&mut self, change: &UiChange) -> Result<(), String> {
        match change {
            UiChange::ApprovalRequested { tool, .. } => self.asking.push(tool.clone()),
            UiChange::RunEnded { ended, .. } => self.told = Some(ended.clone()),
            _ => {}
        }
        let run = &self.run;
        self.grammar.take(change).map_err(|problem| format!("`{run}`: {problem}: {change:?}"))
    }

    fn resolved(&mut self, tool: &ToolRef) -> Result<(), String> {
        self.alive("an answer is delivered")?;
        // A decision may come before its request, or before the call: then nothing is waiting for
        // it yet.
        if let Some(place) = self.asking.iter().position(|asking| asking == tool) {
            self.asking.remove(place);
        }
        Ok(())
    }

    fn announced(&mut self, ended: &RunEnd) -> Result<(), String> {
        self.announced += 1;
        let run = &self.run;
        if self.announced > 1 {
            return Err(format!("`{run}`: its end is announced {} times", self.announced));
        }
        if self.told.as_ref() != Some(ended) || ended.outcome.is_none() {
            return Err(format!("`{run}`: announced as {ended:?}, told as {:?}", self.told));
        }
        match self.asking.first() {
            Some(tool) => Err(format!("`{run}`: {tool:?} waits for an answer for ever")),
            None => Ok(()),
        }
    }

    fn alive(&self, what: &str) -> Result<(), String> {
        match self.announced {
            0 => Ok(()),
            _ => Err(format!("`{}`: {what} behind the end", self.run)),
        }
    }
}
