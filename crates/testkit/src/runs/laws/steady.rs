//! What one step must not do to the state before it.

use foxwedge_run::{
    ActivityFlags, EventPayload, MachineInput, Run, RunPhase, SessionMachine, ToolCallState,
    ToolStatus, ToolStatusReason,
};

/// Compares a session before and after a step: it is consistent, and final values stay final.
///
/// # Errors
/// What is wrong.
pub fn steady(
    before: &SessionMachine,
    after: &SessionMachine,
    input: &MachineInput,
) -> Result<(), String> {
    for run in after.runs() {
        sound(run)?;
    }
    for old in before.runs() {
        // A run that has ended may be forgotten.
        let Some(new) = after.run(old.id()) else {
            match old.is_over() || may_end(input) {
                true => continue,
                false => return Err(format!("`{}` is forgotten while it runs", old.id())),
            }
        };
        holds_on(old, new)?;
        let mine = match input {
            MachineInput::Event(event) => event.run == *old.id(),
            MachineInput::Tick => true,
        };
        if !mine && !same(old, new) {
            return Err(format!("`{}` is changed by {input:?}", old.id()));
        }
    }
    Ok(())
}

/// Only a start frees capacity, and only it may end a run for that.
fn may_end(input: &MachineInput) -> bool {
    match input {
        MachineInput::Event(event) => matches!(event.body, EventPayload::Started(_)),
        MachineInput::Tick => false,
    }
}

/// After the end nothing is open, active or miscounted.
fn sound(run: &Run) -> Result<(), String> {
    let RunPhase::Ended { ended, summary, .. } = run.phase() else { return Ok(()) };
    if let Some(tool) = run.tools().iter().find(|tool| !tool.status().is_final()) {
        return Err(format!(
            "`{}`: {:?} is {:?} behind the end",
            run.id(),
            tool.call,
            tool.status()
        ));
    }
    if let Some(tool) =
        run.tools().iter().find(|tool| tool.approvals.iter().any(|ask| ask.is_open()))
    {
        return Err(format!("`{}`: {:?} asks behind the end", run.id(), tool.call));
    }
    if run.flags() != ActivityFlags::default() || ended.outcome.is_none() {
        return Err(format!("`{}`: over, and {:?}, {:?}", run.id(), run.flags(), ended.outcome));
    }
    let sum: usize = summary.by_status.iter().sum();
    if sum != summary.calls || *summary != run.summary() {
        return Err(format!("`{}`: {summary:?} does not add up", run.id()));
    }
    Ok(())
}

/// Final values do not change.
fn holds_on(old: &Run, new: &Run) -> Result<(), String> {
    if old.is_over() && !same(old, new) {
        return Err(format!("`{}` changes behind its end", old.id()));
    }
    if old.tools().len() > new.tools().len() || old.epoch() != new.epoch() {
        return Err(format!("`{}` loses calls", old.id()));
    }
    let changed = old.tools().iter().zip(new.tools()).find(|(old, new)| !stays(old, new));
    match changed {
        None => Ok(()),
        Some((tool, new)) => Err(format!(
            "`{}`: {:?} was {:?} for good and is {:?}",
            old.id(),
            tool.call,
            (tool.status(), tool.reason, &tool.content),
            (new.status(), new.reason, &new.content),
        )),
    }
}

fn stays(old: &ToolCallState, new: &ToolCallState) -> bool {
    // Only at the end is it known that a tool was never called.
    let reason = old.reason == new.reason || new.reason == Some(ToolStatusReason::NeverCalled);
    let content = old.content == new.content || new.status() == ToolStatus::HandedOver;
    let final_ = stands(old.status(), new.status()) && content && reason;
    old.call == new.call && (!old.status().is_final() || final_)
}

/// A final status stays, or becomes more specific: the error was a denial, or a person took the
/// question over.
fn stands(old: ToolStatus, new: ToolStatus) -> bool {
    let later: &[ToolStatus] = match old {
        ToolStatus::Failed | ToolStatus::Interrupted => {
            &[ToolStatus::Denied, ToolStatus::HandedOver]
        }
        ToolStatus::Denied => &[ToolStatus::HandedOver],
        _ => &[],
    };
    old == new || later.contains(&new)
}

fn same(old: &Run, new: &Run) -> bool {
    old.phase() == new.phase()
        && old.tools() == new.tools()
        && old.texts() == new.texts()
        && old.usage() == new.usage()
}
