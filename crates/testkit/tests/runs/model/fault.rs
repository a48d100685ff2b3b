//! Machines with a fault that the checker has to find.

use foxwedge_run::{
    EventPayload, MachineInput, Run, RunEffect, RunEvent, SessionMachine, ToolStatus,
    ToolStatusReason, UiChange,
};

use super::story::{State, is_start};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// A decision behind the end is announced once more.
    AnnouncesAgain,
    /// A call that is told once more is at work again.
    GoesBack,
    /// Whatever comes belongs to the newest run.
    Leaks,
    /// Events before their start are dropped if any other run is known.
    DropsEarly,
    /// Calls that are open at the end stay so.
    SweepsNothing,
    /// A repeated event counts once more.
    CountsTwice,
    /// The end of a run is looked up first and written later.
    ChecksThenSets,
    /// No fault: what is looked up first is looked up again when it is written.
    ComparesAndSets,
}

impl Fault {
    pub(super) fn step(self, state: &mut State, input: MachineInput, effects: &mut Vec<RunEffect>) {
        let MachineInput::Event(mut event) = input else {
            state.session.apply(state.now(), input, effects);
            return;
        };
        let before = state.session.run(&event.run).cloned();
        let was_over = before.as_ref().is_some_and(Run::is_over);
        match self {
            Fault::Leaks => {
                if let Some(active) = state.session.active().filter(|_| !is_start(&event)) {
                    event.run = active.id().clone();
                }
            }
            Fault::DropsEarly => {
                let known = state.session.run(&event.run).is_some() || is_start(&event);
                if !known && state.session.active().is_some() {
                    return;
                }
            }
            Fault::CountsTwice => {
                if state.repeated {
                    event.seq = None;
                }
            }
            Fault::AnnouncesAgain
            | Fault::GoesBack
            | Fault::SweepsNothing
            | Fault::ChecksThenSets
            | Fault::ComparesAndSets => {}
        }
        state.session.apply(state.now(), MachineInput::Event(event.clone()), effects);
        match self {
            Fault::AnnouncesAgain | Fault::ChecksThenSets if was_over && ends(&event.body) => {
                effects.extend(before.and_then(|run| announcement(&run)));
            }
            Fault::GoesBack => effects.extend(back_to_work(&state.session, before, &event)),
            Fault::SweepsNothing => effects.retain(|effect| !is_sweep(effect)),
            Fault::AnnouncesAgain
            | Fault::ChecksThenSets
            | Fault::ComparesAndSets
            | Fault::Leaks
            | Fault::DropsEarly
            | Fault::CountsTwice => {}
        }
    }

    /// Where the end takes two steps, this is the first: whoever finds the run at work will
    /// write its end.
    pub(super) fn observes(self, state: &mut State, event: &RunEvent, place: usize) -> bool {
        let two_steps = matches!(self, Fault::ChecksThenSets | Fault::ComparesAndSets);
        let at_work = state.session.run(&event.run).is_some_and(|run| !run.is_over());
        let observes = two_steps && at_work && ends(&event.body);
        if observes {
            state.observed |= 1 << place;
        }
        observes
    }
}

fn ends(body: &EventPayload) -> bool {
    match body {
        EventPayload::Problem(problem) => problem.fatal,
        EventPayload::Stop(_) | EventPayload::Ended(_) => true,
        _ => false,
    }
}

fn announcement(run: &Run) -> Option<RunEffect> {
    match run.phase() {
        foxwedge_run::RunPhase::Ended { ended, summary, .. } => Some(RunEffect::Announce {
            run: run.id().clone(),
            ended: ended.clone(),
            summary: *summary,
        }),
        foxwedge_run::RunPhase::Running | foxwedge_run::RunPhase::Stopping { .. } => None,
    }
}

fn back_to_work(
    session: &SessionMachine,
    before: Option<Run>,
    event: &RunEvent,
) -> Option<RunEffect> {
    let EventPayload::ToolCall(call) = &event.body else { return None };
    let before = before.filter(|run| !run.is_over())?;
    let fits = |tool: &&foxwedge_run::ToolCallState| Some(&tool.call) == call.call.id.as_ref();
    let tool = before.tools().iter().find(fits).filter(|tool| tool.status().is_final())?;
    session.run(before.id())?;
    let (run, tool) = (before.id().clone(), tool.reference());
    Some(RunEffect::Show {
        run,
        change: UiChange::ToolStatus { tool, status: ToolStatus::Running },
    })
}

fn is_sweep(effect: &RunEffect) -> bool {
    let RunEffect::Show { change: UiChange::ToolSettled { reason, .. }, .. } = effect else {
        return false;
    };
    *reason == Some(ToolStatusReason::RunEnded)
}
