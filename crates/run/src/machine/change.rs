//! What each event changes in its run.

use super::{Run, RunContext, TextKind, ToolCallState, call_table::LookupPurpose};
use crate::{
    ApprovalKind, ApprovalVerdict, CallRef, EventPayload, MachineSettings, RawJson, RunEffect,
    RunEvent, RunUsage, RunWarning, SharedId, TaskItem, TextUpdate, ToolCallUpdate, ToolOutcome,
    ToolResult, ToolStatus, ToolStatusReason, ToolsAvailable, TurnStart, UiChange,
    follow::tasks::read_written_list,
};

/// What an event changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventImpact {
    /// Nothing.
    Unchanged,
    /// Something.
    Changed,
    /// A question was handed over to a person. The log records that, and not the answer.
    HandedOver,
    /// This call was cancelled; the calls of its sub-agents must be closed too.
    CallClosed(usize),
    /// This call was made by the sub-agent of a cancelled call.
    ParentClosed(usize),
}

impl From<bool> for EventImpact {
    fn from(changed: bool) -> EventImpact {
        if changed { EventImpact::Changed } else { EventImpact::Unchanged }
    }
}

impl Run {
    /// Applies an event, except for ending the run. `seq` is the sequence number it will have.
    pub(super) fn apply_event(
        &mut self,
        event: &RunEvent,
        seq: u64,
        context: &mut RunContext<'_>,
    ) -> EventImpact {
        match &event.body {
            EventPayload::Started(_) => EventImpact::Unchanged,
            EventPayload::ToolsAvailable(tools) => self.apply_tools(tools, context),
            EventPayload::TurnStarted(turn) => self.start_turn(turn, context),
            EventPayload::Text(text) => self.apply_text(TextKind::Text, text, seq, context),
            EventPayload::Thought(text) => self.apply_text(TextKind::Thought, text, seq, context),
            EventPayload::ToolCall(call) => self.apply_call(call, seq, context),
            EventPayload::ToolArguments { call, delta } => {
                self.update_call(call, LookupPurpose::Other, context, |tool, _| {
                    let is_open = tool.is_open() && tool.input.is_none();
                    if is_open {
                        tool.arguments.push_str(delta);
                    }
                    is_open
                })
            }
            EventPayload::ToolProgress { call, content } => {
                self.apply_progress(call, content, context)
            }
            EventPayload::ToolResult(result) => self.apply_result(result, seq, context),
            EventPayload::ToolCancelled { call } => {
                self.update_call(call, LookupPurpose::Answer, context, |tool, call_context| {
                    let (was_open, status) = (tool.is_open(), tool.status_when_closed());
                    call_context.release(tool);
                    tool.close(status, ToolStatusReason::CallCancelled, seq);
                    was_open
                })
            }
            EventPayload::ApprovalRequested(request) => self.update_call(
                &request.call,
                LookupPurpose::Other,
                context,
                |tool, call_context| {
                    tool.is_open()
                        && tool.add_request(request, call_context.run, call_context.effects)
                },
            ),
            EventPayload::ApprovalReplied(reply) => self.update_call(
                &reply.call,
                LookupPurpose::Other,
                context,
                |tool, call_context| {
                    if !tool.is_open() {
                        return reply.verdict == ApprovalVerdict::Denied
                            && tool.deny(call_context.settings);
                    }
                    let changed = tool.apply_reply(reply, call_context.run, call_context.effects);
                    if changed {
                        tool.apply_verdict(reply.verdict, seq, call_context.settings);
                    }
                    changed
                },
            ),
            EventPayload::Tasks(tasks) => {
                self.apply_tasks(tasks, context);
                EventImpact::Changed
            }
            EventPayload::Usage(usage) => self.apply_usage(usage, context),
            EventPayload::Activity(activity) => {
                self.show_change(UiChange::Activity(activity.clone()), context);
                EventImpact::Changed
            }
            EventPayload::Problem(problem) => {
                if !problem.fatal {
                    self.show_change(UiChange::Problem(problem.clone()), context);
                }
                EventImpact::Changed
            }
            EventPayload::TimedOut { call: Some(call) } => {
                let call = call.clone();
                let outcome = ToolOutcome::TimedOut;
                let result = ToolResult { call, name: None, outcome, reason: None, content: None };
                self.apply_result(&result, seq, context)
            }
            EventPayload::TimedOut { call: None }
            | EventPayload::Stop(_)
            | EventPayload::Ended(_) => EventImpact::Changed,
            EventPayload::Unknown { kind, .. } => {
                if event.unknown_word.is_none() {
                    let (run, word) = (self.id.clone(), kind.clone());
                    context.effects.push(RunEffect::Warn(RunWarning::UnknownWord { run, word }));
                }
                EventImpact::Changed
            }
        }
    }

    /// Applies a task list. A list that arrives both as a tool call and as an event is shown once.
    fn apply_tasks(&self, tasks: &[TaskItem], context: &mut RunContext<'_>) {
        if context.tasks.replace(&self.id, self.epoch, tasks) {
            self.show_change(UiChange::Tasks(tasks.to_vec()), context);
        }
    }

    fn apply_tools(&mut self, tools: &ToolsAvailable, context: &mut RunContext<'_>) -> EventImpact {
        let is_newer = match &self.available {
            None => true,
            Some(known) => known != tools && known.version <= tools.version,
        };
        if is_newer {
            self.available = Some(tools.clone());
            self.show_change(UiChange::ToolsAvailable(tools.clone()), context);
        }
        is_newer.into()
    }

    fn start_turn(&mut self, turn: &TurnStart, context: &mut RunContext<'_>) -> EventImpact {
        let is_same = turn.message.is_some() && turn.message == self.message;
        let next = turn.turn.unwrap_or(self.turn.saturating_add(1));
        if is_same || next <= self.turn {
            return EventImpact::Unchanged;
        }
        self.texts.close(&self.id, context.effects);
        self.end_step(context);
        self.turn = next;
        self.message.clone_from(&turn.message);
        self.step = Some(next);
        self.show_change(UiChange::StepStarted { turn: next }, context);
        EventImpact::Changed
    }

    pub(super) fn end_step(&mut self, context: &mut RunContext<'_>) {
        if let Some(turn) = self.step.take() {
            self.show_change(UiChange::StepEnded { turn }, context);
        }
    }

    fn apply_text(
        &mut self,
        kind: TextKind,
        text: &TextUpdate,
        seq: u64,
        context: &mut RunContext<'_>,
    ) -> EventImpact {
        self.texts.take(kind, text, (self.turn, seq), (&self.id, context.effects)).into()
    }

    fn apply_call(
        &mut self,
        call: &ToolCallUpdate,
        seq: u64,
        context: &mut RunContext<'_>,
    ) -> EventImpact {
        let purpose =
            LookupPurpose::Call { name: call.name.as_ref(), complete: call.input.is_some() };
        let index = self.table.find(&self.id, &call.call, self.turn, purpose);
        let Some(tool) = self.table.tools.get_mut(index) else { return EventImpact::Unchanged };
        let is_first = !tool.called;
        if is_first {
            self.texts.close(&self.id, context.effects);
        }
        let was_open = tool.is_open();
        let gained_parent = tool.parent.is_none() && call.parent.is_some();
        let had_tasks = tool.written_tasks().is_some();
        let changed = tool.apply_call(call, seq, context.settings);
        let closes = was_open && closes_children(tool);
        show_tool(&self.id, tool, context);
        if let Some(tasks) = tool.written_tasks().filter(|_| !had_tasks) {
            self.apply_tasks(&tasks, context);
        }
        if let (true, Some(parent)) = (gained_parent, &call.parent) {
            self.table.add_child(parent, index);
            if self.was_cancelled(parent) {
                return EventImpact::ParentClosed(index);
            }
        }
        if closes { EventImpact::CallClosed(index) } else { changed.into() }
    }

    /// Whether the call with this id was cancelled. New calls of its sub-agent are then closed too.
    fn was_cancelled(&self, id: &SharedId) -> bool {
        let newest = self.table.newest(id).and_then(|index| self.table.tools.get(index));
        newest.is_some_and(closes_children)
    }

    fn apply_progress(
        &mut self,
        call: &CallRef,
        content: &RawJson,
        context: &mut RunContext<'_>,
    ) -> EventImpact {
        let index = self.table.find(&self.id, call, self.turn, LookupPurpose::Other);
        let Some(tool) = self.table.tools.get_mut(index) else { return EventImpact::Unchanged };
        if !tool.is_open() {
            return EventImpact::Unchanged;
        }
        tool.begun = true;
        show_tool(&self.id, tool, context);
        if tool.was_called() {
            let (tool, content) = (tool.reference(), content.clone());
            self.show_change(UiChange::ToolProgress { tool, content }, context);
        }
        EventImpact::Changed
    }

    fn apply_result(
        &mut self,
        result: &ToolResult,
        seq: u64,
        context: &mut RunContext<'_>,
    ) -> EventImpact {
        let impact =
            self.update_call(&result.call, LookupPurpose::Answer, context, |tool, call_context| {
                tool.apply_result(result, seq, call_context.settings)
            });
        match impact {
            // The end of the run closes the calls of sub-agents too, one by one.
            EventImpact::CallClosed(_) if result.reason == Some(ToolStatusReason::RunEnded) => {
                EventImpact::Changed
            }
            EventImpact::Unchanged
            | EventImpact::Changed
            | EventImpact::HandedOver
            | EventImpact::CallClosed(_)
            | EventImpact::ParentClosed(_) => impact,
        }
    }

    pub(super) fn apply_usage(
        &mut self,
        usage: &RunUsage,
        context: &mut RunContext<'_>,
    ) -> EventImpact {
        // The counts are totals so far, so the larger one is the newer one.
        let sum = RunUsage {
            input: self.usage.input.max(usage.input),
            output: self.usage.output.max(usage.output),
            cached: self.usage.cached.max(usage.cached),
            reasoning: self.usage.reasoning.max(usage.reasoning),
        };
        let changed = sum != self.usage;
        if changed {
            self.usage = sum;
            self.show_change(UiChange::Usage(sum), context);
        }
        changed.into()
    }

    /// Changes the call that an event refers to, and shows what changed.
    fn update_call(
        &mut self,
        call: &CallRef,
        purpose: LookupPurpose<'_>,
        context: &mut RunContext<'_>,
        change: impl FnOnce(&mut ToolCallState, &mut CallContext<'_>) -> bool,
    ) -> EventImpact {
        let index = self.table.find(&self.id, call, self.turn, purpose);
        let Some(tool) = self.table.tools.get_mut(index) else { return EventImpact::Unchanged };
        let (run, settings) = (&self.id, context.settings);
        let changed = change(tool, &mut CallContext { run, settings, effects: context.effects });
        show_tool(&self.id, tool, context);
        match tool.settled {
            _ if !changed => EventImpact::Unchanged,
            Some(ToolStatus::HandedOver) => EventImpact::HandedOver,
            _ if closes_children(tool) => EventImpact::CallClosed(index),
            _ => EventImpact::Changed,
        }
    }
}

/// What a call needs from its run while it changes.
pub(super) struct CallContext<'a> {
    pub(super) run: &'a SharedId,
    pub(super) settings: &'a MachineSettings,
    pub(super) effects: &'a mut Vec<RunEffect>,
}

impl CallContext<'_> {
    /// Cancels a running call and its open requests.
    pub(super) fn release(&mut self, tool: &mut ToolCallState) {
        if tool.status() == ToolStatus::Running {
            let (run, tool) = (self.run.clone(), tool.reference());
            self.effects.push(RunEffect::CancelTool { run, tool });
        }
        tool.cancel_requests(self.run, self.effects);
    }
}

impl ToolCallState {
    /// Returns the task list that the call writes. The list of a sub-agent is not the run's.
    fn written_tasks(&self) -> Option<Vec<TaskItem>> {
        match (&self.name, &self.input, &self.parent) {
            (Some(name), Some(input), None) => read_written_list(name, input),
            (Some(_) | None, _, _) => None,
        }
    }

    /// Applies what is known about a call. Returns whether any of it is new.
    fn apply_call(&mut self, call: &ToolCallUpdate, seq: u64, settings: &MachineSettings) -> bool {
        let before = self.fact_counts();
        if !self.called {
            self.called = true;
            self.call_position = seq;
        }
        self.set_name(call.name.as_ref(), settings);
        if self.title.is_none() {
            self.title.clone_from(&call.title);
        }
        if self.parent.is_none() {
            self.parent.clone_from(&call.parent);
        }
        if let Some(input) = &call.input {
            self.set_input(input);
        }
        match call.status {
            Some(ToolStatus::Running) => self.begun = true,
            Some(ToolStatus::Unknown) => self.has_unknown_status = true,
            Some(ToolStatus::AwaitingApproval)
                if self.is_open() && !self.is_interactive(settings) =>
            {
                self.infer_request(ApprovalKind::Approval);
            }
            // A final status comes with the result.
            Some(
                ToolStatus::Pending
                | ToolStatus::AwaitingApproval
                | ToolStatus::Succeeded
                | ToolStatus::Failed
                | ToolStatus::Denied
                | ToolStatus::Cancelled
                | ToolStatus::Interrupted
                | ToolStatus::HandedOver,
            )
            | None => {}
        }
        let awaits_person =
            self.input.is_some() || call.status == Some(ToolStatus::AwaitingApproval);
        if awaits_person && self.is_open() && self.is_interactive(settings) {
            self.infer_request(ApprovalKind::Question);
        }
        before != self.fact_counts()
    }

    /// Summarizes what is known, so that a comparison shows whether there is more.
    fn fact_counts(&self) -> ([bool; 7], usize, ToolStatus) {
        let facts = [
            self.called,
            self.begun,
            self.has_unknown_status,
            self.name.is_some(),
            self.title.is_some(),
            self.parent.is_some(),
            self.input.is_some(),
        ];
        (facts, self.approvals.len(), self.status())
    }

    /// Applies a person's decision to the call.
    fn apply_verdict(&mut self, verdict: ApprovalVerdict, seq: u64, settings: &MachineSettings) {
        match verdict {
            ApprovalVerdict::Denied => {
                let (call, outcome) = (CallRef::default(), ToolOutcome::Denied);
                let denial = ToolResult { call, name: None, outcome, reason: None, content: None };
                self.apply_result(&denial, seq, settings);
            }
            ApprovalVerdict::Answered => self.begun = true,
            ApprovalVerdict::Allowed | ApprovalVerdict::Cancelled => {}
        }
    }
}

/// Whether open calls of a call's sub-agents are closed with it. At the end of a run each call is
/// closed separately.
fn closes_children(tool: &ToolCallState) -> bool {
    match tool.settled {
        Some(ToolStatus::Cancelled | ToolStatus::Interrupted | ToolStatus::Denied) => {
            tool.reason != Some(ToolStatusReason::RunEnded)
        }
        Some(
            ToolStatus::Unknown
            | ToolStatus::Pending
            | ToolStatus::AwaitingApproval
            | ToolStatus::Running
            | ToolStatus::Succeeded
            | ToolStatus::Failed
            | ToolStatus::HandedOver,
        )
        | None => false,
    }
}

/// Shows what changed. A call that has ended has no open requests.
pub(super) fn show_tool(run: &SharedId, tool: &mut ToolCallState, context: &mut RunContext<'_>) {
    if !tool.is_open() {
        tool.cancel_requests(run, context.effects);
    }
    tool.show(false, |change| context.effects.push(RunEffect::Show { run: run.clone(), change }));
}
