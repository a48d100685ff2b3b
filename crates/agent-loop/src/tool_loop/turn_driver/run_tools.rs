//! Runs the tool calls of a turn. A call starts only after its start is recorded, and never after a
//! stop. A call that finished before the stop keeps its result.

use std::{collections::VecDeque, time::Duration};

use foxwedge_run::{
    ApprovalKind, ApprovalReply, ApprovalRequest, ApprovalVerdict, EventPayload, RawJson, SharedId,
    StopRequest, ToolCallUpdate, ToolOutcome, ToolResult, ToolStatus,
};
use foxwedge_store::Store;
use foxwedge_tools::StopLevel;
use serde_json::Value;
use tokio::time::{Instant, interval, sleep_until, timeout};

use super::{RunRecordError, TurnDriver};
use crate::tool_loop::{
    ToolApprovalRequest, ToolDecision,
    plan::{ToolStep, plan_steps},
    tool_results,
    tool_tasks::{ToolTask, ToolTasks},
};
use foxwedge_upstream::model::ReplyToolCall;

/// How often the output of running tools is read.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// How long to wait for killed tools. A tool that blocks its thread cannot be killed, and is then
/// detached.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// Stop grace of the run machine, in milliseconds. It is longer than ours, so that the machine
/// never decides on its own.
const MACHINE_GRACE: u64 = 3_600_000;

/// Maximum bytes of the tool results of a turn: they are one message, which has to be stored.
const MAX_TURN_RESULTS: usize = 12 << 20;

/// Whether a call may run.
enum CallPermission {
    Run,
    Skip,
    Stopped,
}

impl<S: Store> TurnDriver<'_, S> {
    /// Runs the calls of a turn until all have ended. On an error all tools are killed, so that
    /// none outlives the run.
    pub(super) async fn run_tools(
        &mut self,
        calls: &[ReplyToolCall],
    ) -> Result<(), RunRecordError> {
        let mut tasks = ToolTasks::new(self.limits.max_result_bytes);
        self.result_bytes_left = MAX_TURN_RESULTS;
        let result = self.run_steps(calls, &mut tasks).await;
        if result.is_err() {
            tasks.kill();
            let all_finished = async { while tasks.next_finished().await.is_some() {} };
            let _ = timeout(KILL_TIMEOUT, all_finished).await;
        }
        result
    }

    async fn run_steps(
        &mut self,
        calls: &[ReplyToolCall],
        tasks: &mut ToolTasks,
    ) -> Result<(), RunRecordError> {
        for step in plan_steps(calls, self.tools) {
            if self.is_stopped() || self.recorder.has_ended() {
                break;
            }
            let (batch, at_once) = match step {
                ToolStep::Reject(place, reason) => {
                    self.record_result(calls, place, ToolOutcome::Error, RawJson::string(&reason));
                    self.recorder.save().await?;
                    continue;
                }
                ToolStep::Alone(place, input) => (vec![(place, input)], 1),
                ToolStep::Parallel(batch) => (batch, self.limits.parallel_tools.max(1)),
            };
            let Some(approved) = self.approved_tasks(calls, batch).await? else { break };
            self.run_tasks(calls, approved, at_once, tasks).await?;
        }
        Ok(())
    }

    /// The calls of a batch that may run; `None` if the run is stopped.
    async fn approved_tasks(
        &mut self,
        calls: &[ReplyToolCall],
        batch: Vec<(usize, Value)>,
    ) -> Result<Option<VecDeque<ToolTask>>, RunRecordError> {
        let mut tasks = VecDeque::with_capacity(batch.len());
        for (place, input) in batch {
            let Some(call) = calls.get(place) else { continue };
            let Some(tool) = self.tools.get(&call.name).cloned() else { continue };
            match self.ask_approval(calls, place, &input).await? {
                CallPermission::Run => {
                    tasks.push_back(ToolTask { place, call: call.id.clone(), input, tool })
                }
                CallPermission::Skip => {}
                CallPermission::Stopped => return Ok(None),
            }
        }
        Ok(Some(tasks))
    }

    /// Asks the approver whether a call may run, if it needs approval.
    async fn ask_approval(
        &mut self,
        calls: &[ReplyToolCall],
        place: usize,
        input: &Value,
    ) -> Result<CallPermission, RunRecordError> {
        let Some(called) = calls.get(place) else { return Ok(CallPermission::Skip) };
        let Some(tool) = self.tools.get(&called.name) else { return Ok(CallPermission::Skip) };
        let approver = self.approver.clone();
        let request = ToolApprovalRequest { call: &called.id, tool: tool.spec(), input };
        if !approver.needs_approval(&request) {
            return Ok(CallPermission::Run);
        }
        let (call, id) = (self.call_ref(&called.id), Some(SharedId::from(called.id.as_str())));
        let prompt = Some(format!("May `{}` run?", called.name));
        let kind = ApprovalKind::Approval;
        let event =
            ApprovalRequest { call: call.clone(), id: id.clone(), kind, prompt, choices: None };
        self.recorder.record_event(EventPayload::ApprovalRequested(event));
        self.recorder.save().await?;
        let mut stop = self.stop.clone();
        let mut decision = approver.decide(request);
        let decision = loop {
            tokio::select! {
                biased;
                () = stop.wait_for(StopLevel::Graceful) => return Ok(CallPermission::Stopped),
                decision = &mut decision => break decision,
                _ = self.lease_timer.tick() => self.recorder.check_lease(&self.limits).await?,
            }
        };
        drop(stop);
        let replied = |verdict| {
            EventPayload::ApprovalReplied(ApprovalReply { call, id, verdict, answer: None })
        };
        let permission = match decision {
            ToolDecision::Allow => {
                self.recorder.record_event(replied(ApprovalVerdict::Allowed));
                CallPermission::Run
            }
            ToolDecision::Deny(None) => {
                self.recorder.record_event(replied(ApprovalVerdict::Denied));
                CallPermission::Skip
            }
            // The tool result carries the denial and the reason.
            ToolDecision::Deny(why) => {
                self.record_result(
                    calls,
                    place,
                    ToolOutcome::Denied,
                    tool_results::denied_result(why.as_deref()),
                );
                CallPermission::Skip
            }
        };
        self.recorder.save().await?;
        Ok(permission)
    }

    /// Runs tasks, at most `at_once` in parallel, until all have ended.
    async fn run_tasks(
        &mut self,
        calls: &[ReplyToolCall],
        mut pending: VecDeque<ToolTask>,
        at_once: usize,
        tasks: &mut ToolTasks,
    ) -> Result<(), RunRecordError> {
        let (mut stop, mut stop_level) = (self.stop.clone(), StopLevel::None);
        let mut deadline = Instant::now();
        let mut progress_timer = interval(PROGRESS_INTERVAL);
        loop {
            if stop_level == StopLevel::None && !self.is_stopped() {
                self.start_tasks(calls, &mut pending, at_once, tasks).await?;
            }
            if tasks.len() == 0 {
                return Ok(());
            }
            let next = match stop_level {
                StopLevel::None => StopLevel::Graceful,
                StopLevel::Graceful | StopLevel::Kill => StopLevel::Kill,
            };
            tokio::select! {
                biased;
                // A finished call keeps its result, even if a stop is pending.
                done = tasks.next_finished() => {
                    let Some(done) = done else { continue };
                    let place = done.place;
                    let max_bytes = self.limits.max_result_bytes;
                    let (outcome, content) = tool_results::tool_result(done, max_bytes);
                    self.record_result(calls, place, outcome, content);
                    self.recorder.save().await?;
                }
                () = stop.wait_for(next), if stop_level < StopLevel::Kill => {
                    stop_level = next;
                    match next {
                        StopLevel::Kill => {
                            deadline = Instant::now() + KILL_TIMEOUT;
                            tasks.kill();
                        }
                        StopLevel::None | StopLevel::Graceful => {
                            deadline = Instant::now() + self.limits.stop_grace;
                            tasks.request_stop(StopLevel::Graceful);
                            // This closes the calls that never started.
                            self.recorder.record_event(EventPayload::Stop(StopRequest { grace: MACHINE_GRACE }));
                            self.recorder.save().await?;
                        }
                    }
                }
                () = sleep_until(deadline), if stop_level != StopLevel::None => match stop_level {
                    StopLevel::None | StopLevel::Graceful => {
                        (stop_level, deadline) = (StopLevel::Kill, Instant::now() + KILL_TIMEOUT);
                        tasks.kill();
                    }
                    StopLevel::Kill => {
                        for done in tasks.detach_all() {
                            let place = done.place;
                            let max_bytes = self.limits.max_result_bytes;
                            let (outcome, content) = tool_results::tool_result(done, max_bytes);
                            self.record_result(calls, place, outcome, content);
                        }
                    }
                },
                _ = progress_timer.tick() => {
                    for (place, output) in tasks.progress() {
                        if let Some(called) = calls.get(place) {
                            let (call, content) = (self.call_ref(&called.id), RawJson::string(&output));
                            self.recorder.record_event(EventPayload::ToolProgress { call, content });
                        }
                    }
                    self.recorder.save().await?;
                }
                _ = self.lease_timer.tick() => self.recorder.check_lease(&self.limits).await?,
            }
        }
    }

    /// Starts as many tasks as may run. Each start is recorded first.
    async fn start_tasks(
        &mut self,
        calls: &[ReplyToolCall],
        pending: &mut VecDeque<ToolTask>,
        at_once: usize,
        tasks: &mut ToolTasks,
    ) -> Result<(), RunRecordError> {
        let room = at_once.saturating_sub(tasks.len()).min(pending.len());
        if room == 0 {
            return Ok(());
        }
        let ready: Vec<ToolTask> = pending.drain(..room).collect();
        for task in &ready {
            if let Some(called) = calls.get(task.place) {
                let status = Some(ToolStatus::Running);
                let call = self.call_ref(&called.id);
                self.recorder.record_event(EventPayload::ToolCall(ToolCallUpdate {
                    call,
                    status,
                    ..ToolCallUpdate::default()
                }));
            }
        }
        self.recorder.save().await?;
        for task in ready {
            // A stop may have come while the start was recorded.
            match self.is_stopped() {
                false => tasks.start(task, self.stop.clone()),
                true => self.record_outcome(calls, task.place, ToolOutcome::Cancelled, None),
            }
        }
        Ok(())
    }

    fn record_result(
        &mut self,
        calls: &[ReplyToolCall],
        place: usize,
        outcome: ToolOutcome,
        content: RawJson,
    ) {
        let bytes = content.raw().len();
        let content = if self.result_bytes_left < bytes {
            tool_results::omitted_result(bytes)
        } else {
            content
        };
        self.result_bytes_left = self.result_bytes_left.saturating_sub(content.raw().len());
        self.record_outcome(calls, place, outcome, Some(content));
    }

    fn record_outcome(
        &mut self,
        calls: &[ReplyToolCall],
        place: usize,
        outcome: ToolOutcome,
        content: Option<RawJson>,
    ) {
        let Some(called) = calls.get(place) else { return };
        let call = self.call_ref(&called.id);
        let name = Some(SharedId::from(called.name.as_str()));
        self.recorder.record_event(EventPayload::ToolResult(ToolResult {
            call,
            name,
            outcome,
            reason: None,
            content,
        }));
    }
}
