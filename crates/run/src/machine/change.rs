//! What each kind of event changes in its run.

use super::{Run, RunContext, TextKind, ToolCallState, call_table::LookupPurpose};
use crate::{
    ApprovalKind, ApprovalVerdict, CallRef, EventPayload, MachineSettings, RawJson, RunEffect,
    RunEvent, RunUsage, RunWarning, SharedId, TaskItem, TextUpdate, ToolCallUpdate, ToolOutcome,
    ToolResult, ToolStatus, ToolStatusReason, ToolsAvailable, TurnStart, UiChange,
    follow::tasks::read_written_list,
};

/// What an event says that was not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventImpact {
    /// Nothing.
    Unchanged,
    /// Something.
    Changed,
    /// That a question went over to a person: the log says so, and not what was said about it.
    HandedOver,
    /// That this call was called off: its sub-agents go with it.
    CallClosed(usize),
    /// That this call was made for one that had been called off.
    ParentClosed(usize),
}

impl From<bool> for EventImpact {
    fn from(news: bool) -> EventImpact {
        if news { EventImpact::Changed } else { EventImpact::Unchanged }
    }
}

impl Run {
    /// What an event changes, apart from ending the run. `seq` is the place it will have.
    pub(super) fn apply_event(
        &mut self,
        event: &RunEvent,
        seq: u64,
        world: &mut RunContext<'_>,
    ) -> EventImpact {
        match &event.body {
            EventPayload::Started(_) => EventImpact::Unchanged,
            EventPayload::ToolsAvailable(tools) => self.apply_tools(tools, world),
            EventPayload::TurnStarted(turn) => self.start_turn(turn, world),
            EventPayload::Text(text) => self.apply_text(TextKind::Text, text, seq, world),
            EventPayload::Thought(text) => self.apply_text(TextKind::Thought, text, seq, world),
            EventPayload::ToolCall(call) => self.apply_call(call, seq, world),
            EventPayload::ToolArguments { call, delta } => {
                self.update_call(call, LookupPurpose::Other, world, |tool, _| {
                    let open = tool.is_open() && tool.input.is_none();
                    if open {
                        tool.arguments.push_str(delta);
                    }
                    open
                })
            }
            EventPayload::ToolProgress { call, content } => {
                self.apply_progress(call, content, world)
            }
            EventPayload::ToolResult(result) => self.apply_result(result, seq, world),
            EventPayload::ToolCancelled { call } => {
                self.update_call(call, LookupPurpose::Answer, world, |tool, around| {
                    let (open, status) = (tool.is_open(), tool.status_when_closed());
                    around.release(tool);
                    tool.close(status, ToolStatusReason::CallCancelled, seq);
                    open
                })
            }
            EventPayload::ApprovalRequested(ask) => {
                self.update_call(&ask.call, LookupPurpose::Other, world, |tool, around| {
                    tool.is_open() && tool.add_request(ask, around.run, around.effects)
                })
            }
            EventPayload::ApprovalReplied(reply) => {
                self.update_call(&reply.call, LookupPurpose::Other, world, |tool, around| {
                    if !tool.is_open() {
                        return reply.verdict == ApprovalVerdict::Denied
                            && tool.deny(around.settings);
                    }
                    let news = tool.apply_reply(reply, around.run, around.effects);
                    if news {
                        tool.apply_verdict(reply.verdict, seq, around.settings);
                    }
                    news
                })
            }
            EventPayload::Tasks(tasks) => {
                self.apply_tasks(tasks, world);
                EventImpact::Changed
            }
            EventPayload::Usage(usage) => self.apply_usage(usage, world),
            EventPayload::Activity(activity) => {
                self.show_change(UiChange::Activity(activity.clone()), world);
                EventImpact::Changed
            }
            EventPayload::Problem(problem) => {
                if !problem.fatal {
                    self.show_change(UiChange::Problem(problem.clone()), world);
                }
                EventImpact::Changed
            }
            EventPayload::TimedOut { call: Some(call) } => {
                let call = call.clone();
                let how = ToolOutcome::TimedOut;
                let result =
                    ToolResult { call, name: None, outcome: how, reason: None, content: None };
                self.apply_result(&result, seq, world)
            }
            EventPayload::TimedOut { call: None }
            | EventPayload::Stop(_)
            | EventPayload::Ended(_) => EventImpact::Changed,
            EventPayload::Unknown { kind, .. } => {
                if event.unknown_word.is_none() {
                    let (run, word) = (self.id.clone(), kind.clone());
                    world.effects.push(RunEffect::Warn(RunWarning::UnknownWord { run, word }));
                }
                EventImpact::Changed
            }
        }
    }

    /// Takes the list of tasks. A list that is told as a call and by itself is shown once.
    fn apply_tasks(&self, tasks: &[TaskItem], world: &mut RunContext<'_>) {
        if world.tasks.replace(&self.id, self.epoch, tasks) {
            self.show_change(UiChange::Tasks(tasks.to_vec()), world);
        }
    }

    fn apply_tools(&mut self, tools: &ToolsAvailable, world: &mut RunContext<'_>) -> EventImpact {
        let newer = match &self.available {
            None => true,
            Some(known) => known != tools && known.version <= tools.version,
        };
        if newer {
            self.available = Some(tools.clone());
            self.show_change(UiChange::ToolsAvailable(tools.clone()), world);
        }
        newer.into()
    }

    fn start_turn(&mut self, turn: &TurnStart, world: &mut RunContext<'_>) -> EventImpact {
        let same = turn.message.is_some() && turn.message == self.message;
        let next = turn.turn.unwrap_or(self.turn.saturating_add(1));
        if same || next <= self.turn {
            return EventImpact::Unchanged;
        }
        self.texts.close(&self.id, world.effects);
        self.end_step(world);
        self.turn = next;
        self.message.clone_from(&turn.message);
        self.step = Some(next);
        self.show_change(UiChange::StepStarted { turn: next }, world);
        EventImpact::Changed
    }

    pub(super) fn end_step(&mut self, world: &mut RunContext<'_>) {
        if let Some(turn) = self.step.take() {
            self.show_change(UiChange::StepEnded { turn }, world);
        }
    }

    fn apply_text(
        &mut self,
        kind: TextKind,
        text: &TextUpdate,
        seq: u64,
        world: &mut RunContext<'_>,
    ) -> EventImpact {
        self.texts.take(kind, text, (self.turn, seq), (&self.id, world.effects)).into()
    }

    fn apply_call(
        &mut self,
        call: &ToolCallUpdate,
        seq: u64,
        world: &mut RunContext<'_>,
    ) -> EventImpact {
        let purpose =
            LookupPurpose::Call { name: call.name.as_ref(), complete: call.input.is_some() };
        let place = self.table.find(&self.id, &call.call, self.turn, purpose);
        let Some(tool) = self.table.tools.get_mut(place) else { return EventImpact::Unchanged };
        let first = !tool.called;
        if first {
            self.texts.close(&self.id, world.effects);
        }
        let open = tool.is_open();
        let adopted = tool.parent.is_none() && call.parent.is_some();
        let listed = tool.written_tasks().is_some();
        let news = tool.apply_call(call, seq, world.settings);
        let closed = open && closes_children(tool);
        show_tool(&self.id, tool, world);
        if let Some(tasks) = tool.written_tasks().filter(|_| !listed) {
            self.apply_tasks(&tasks, world);
        }
        if let (true, Some(parent)) = (adopted, &call.parent) {
            self.table.add_child(parent, place);
            if self.was_cancelled(parent) {
                return EventImpact::ParentClosed(place);
            }
        }
        if closed { EventImpact::CallClosed(place) } else { news.into() }
    }

    /// Whether the call of that id was called off: what its sub-agent still begins goes, too.
    fn was_cancelled(&self, id: &SharedId) -> bool {
        let newest = self.table.newest(id).and_then(|place| self.table.tools.get(place));
        newest.is_some_and(closes_children)
    }

    fn apply_progress(
        &mut self,
        call: &CallRef,
        content: &RawJson,
        world: &mut RunContext<'_>,
    ) -> EventImpact {
        let place = self.table.find(&self.id, call, self.turn, LookupPurpose::Other);
        let Some(tool) = self.table.tools.get_mut(place) else { return EventImpact::Unchanged };
        if !tool.is_open() {
            return EventImpact::Unchanged;
        }
        tool.begun = true;
        show_tool(&self.id, tool, world);
        if tool.was_called() {
            let (tool, content) = (tool.reference(), content.clone());
            self.show_change(UiChange::ToolProgress { tool, content }, world);
        }
        EventImpact::Changed
    }

    fn apply_result(
        &mut self,
        result: &ToolResult,
        seq: u64,
        world: &mut RunContext<'_>,
    ) -> EventImpact {
        let news = self.update_call(&result.call, LookupPurpose::Answer, world, |tool, around| {
            tool.apply_result(result, seq, around.settings)
        });
        match news {
            // Its sub-agents' calls are closed by the end, too, each by itself.
            EventImpact::CallClosed(_) if result.reason == Some(ToolStatusReason::RunEnded) => {
                EventImpact::Changed
            }
            EventImpact::Unchanged
            | EventImpact::Changed
            | EventImpact::HandedOver
            | EventImpact::CallClosed(_)
            | EventImpact::ParentClosed(_) => news,
        }
    }

    pub(super) fn apply_usage(
        &mut self,
        usage: &RunUsage,
        world: &mut RunContext<'_>,
    ) -> EventImpact {
        // What is told is the sum so far, so the greater one is the newer one.
        let sum = RunUsage {
            input: self.usage.input.max(usage.input),
            output: self.usage.output.max(usage.output),
            cached: self.usage.cached.max(usage.cached),
            reasoning: self.usage.reasoning.max(usage.reasoning),
        };
        let news = sum != self.usage;
        if news {
            self.usage = sum;
            self.show_change(UiChange::Usage(sum), world);
        }
        news.into()
    }

    /// Changes the call that is meant, and shows what changed.
    fn update_call(
        &mut self,
        call: &CallRef,
        purpose: LookupPurpose<'_>,
        world: &mut RunContext<'_>,
        change: impl FnOnce(&mut ToolCallState, &mut CallContext<'_>) -> bool,
    ) -> EventImpact {
        let place = self.table.find(&self.id, call, self.turn, purpose);
        let Some(tool) = self.table.tools.get_mut(place) else { return EventImpact::Unchanged };
        let (run, settings) = (&self.id, world.settings);
        let news = change(tool, &mut CallContext { run, settings, effects: world.effects });
        show_tool(&self.id, tool, world);
        match tool.settled {
            _ if !news => EventImpact::Unchanged,
            Some(ToolStatus::HandedOver) => EventImpact::HandedOver,
            _ if closes_children(tool) => EventImpact::CallClosed(place),
            _ => EventImpact::Changed,
        }
    }
}

/// What a call sees of its surroundings while it changes.
pub(super) struct CallContext<'a> {
    pub(super) run: &'a SharedId,
    pub(super) settings: &'a MachineSettings,
    pub(super) effects: &'a mut Vec<RunEffect>,
}

impl CallContext<'_> {
    /// Whoever waits for a person waits no longer, and whoever works may stop.
    pub(super) fn release(&mut self, tool: &mut ToolCallState) {
        if tool.status() == ToolStatus::Running {
            let (run, tool) = (self.run.clone(), tool.reference());
            self.effects.push(RunEffect::CancelTool { run, tool });
        }
        tool.cancel_requests(self.run, self.effects);
    }
}

impl ToolCallState {
    /// The list of tasks that it writes. That of a sub-agent is its own.
    fn written_tasks(&self) -> Option<Vec<TaskItem>> {
        match (&self.name, &self.input, &self.parent) {
            (Some(name), Some(input), None) => read_written_list(name, input),
            (Some(_) | None, _, _) => None,
        }
    }

    /// Takes what is known about a call. Tells whether any of it is new.
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
            // Whatever is final comes with its result.
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
        let asks = self.input.is_some() || call.status == Some(ToolStatus::AwaitingApproval);
        if asks && self.is_open() && self.is_interactive(settings) {
            self.infer_request(ApprovalKind::Question);
        }
        before != self.fact_counts()
    }

    /// How much is known, so that a comparison tells whether there is more.
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

    /// What a person's decision makes of the call itself.
    fn apply_verdict(&mut self, verdict: ApprovalVerdict, seq: u64, settings: &MachineSettings) {
        match verdict {
            ApprovalVerdict::Denied => {
                let (call, how) = (CallRef::default(), ToolOutcome::Denied);
                let denial =
                    ToolResult { call, name: None, outcome: how, reason: None, content: None };
                self.apply_result(&denial, seq, settings);
            }
            ApprovalVerdict::Answered => self.begun = true,
            ApprovalVerdict::Allowed | ApprovalVerdict::Cancelled => {}
        }
    }
}

/// Whether what a call's sub-agents still have open goes with it. At the end of a run each call is
/// closed by itself.
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

/// Shows what changed. Nobody waits for a person behind the end of a call.
pub(super) fn show_tool(run: &SharedId, tool: &mut ToolCallState, world: &mut RunContext<'_>) {
    if !tool.is_open() {
        tool.cancel_requests(run, world.effects);
    }
    tool.show(false, |change| world.effects.push(RunEffect::Show { run: run.clone(), change }));
}
