//! Running the calls of a turn. Nothing starts that was not written down, nothing starts behind a
//! stop, and what is done by the time of it counts.

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
use crate::{
    model::ReplyToolCall,
    tool_loop::{
        ToolApprovalRequest, ToolDecision,
        plan::{ToolStep, plan_steps},
        tool_results,
        tool_tasks::{ToolTask, ToolTasks},
    },
};

/// How often is looked for what tools say.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// How long is waited for tools that were ended by force. One that blocks its thread cannot be ended,
/// and is not waited for.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How much longer than we do the machine waits for tools that were asked to stop: it never has to
/// decide by itself.
const MACHINE_GRACE: u64 = 3_600_000;

/// Bytes of the answers of a turn: they are one message, which has to be kept.
const MAX_TURN_RESULTS: usize = 12 << 20;

/// Whether a call may run.
enum CallPermission {
    Run,
    Skip,
    Stopped,
}

impl<S: Store> TurnDriver<'_, S> {
    /// Runs the calls of a turn, until all have an end. Whatever goes wrong with the run, nothing
    /// works on behind it.
    pub(super) async fn run_tools(
        &mut self,
        calls: &[ReplyToolCall],
    ) -> Result<(), RunRecordError> {
        let mut crew = ToolTasks::new(self.limits.max_result_bytes);
        self.result_bytes_left = MAX_TURN_RESULTS;
        let done = self.run_steps(calls, &mut crew).await;
        if done.is_err() {
            crew.kill();
            let gone = async { while crew.next_finished().await.is_some() {} };
            let _ = timeout(KILL_TIMEOUT, gone).await;
        }
        done
    }

    async fn run_steps(
        &mut self,
        calls: &[ReplyToolCall],
        crew: &mut ToolTasks,
    ) -> Result<(), RunRecordError> {
        for step in plan_steps(calls, self.tools) {
            if self.is_stopped() || self.recorder.has_ended() {
                break;
            }
            let (batch, at_once) = match step {
                ToolStep::Reject(place, words) => {
                    self.record_result(calls, place, ToolOutcome::Error, RawJson::string(&words));
                    self.recorder.save().await?;
                    continue;
                }
                ToolStep::Alone(place, input) => (vec![(place, input)], 1),
                ToolStep::Parallel(batch) => (batch, self.limits.parallel_tools.max(1)),
            };
            let Some(jobs) = self.approved_tasks(calls, batch).await? else { break };
            self.run_tasks(calls, jobs, at_once, crew).await?;
        }
        Ok(())
    }

    /// The calls of a batch that may run; `None` if somebody wants to stop.
    async fn approved_tasks(
        &mut self,
        calls: &[ReplyToolCall],
        batch: Vec<(usize, Value)>,
    ) -> Result<Option<VecDeque<ToolTask>>, RunRecordError> {
        let mut jobs = VecDeque::with_capacity(batch.len());
        for (place, input) in batch {
            let Some(called) = calls.get(place) else { continue };
            let Some(tool) = self.tools.get(&called.name).cloned() else { continue };
            match self.ask_approval(calls, place, &input).await? {
                CallPermission::Run => {
                    jobs.push_back(ToolTask { place, call: called.id.clone(), input, tool })
                }
                CallPermission::Skip => {}
                CallPermission::Stopped => return Ok(None),
            }
        }
        Ok(Some(jobs))
    }

    /// Asks whether a call may run, if somebody wants to be asked.
    async fn ask_approval(
        &mut self,
        calls: &[ReplyToolCall],
        place: usize,
        input: &Value,
    ) -> Result<CallPermission, RunRecordError> {
        let Some(called) = calls.get(place) else { return Ok(CallPermission::Skip) };
        let Some(tool) = self.tools.get(&called.name) else { return Ok(CallPermission::Skip) };
        let approver = self.approver.clone();
        let asking = ToolApprovalRequest { call: &called.id, tool: tool.spec(), input };
        if !approver.needs_approval(&asking) {
            return Ok(CallPermission::Run);
        }
        let (call, id) = (self.call_ref(&called.id), Some(SharedId::from(called.id.as_str())));
        let prompt = Some(format!("May `{}` run?", called.name));
        let kind = ApprovalKind::Approval;
        let ask =
            ApprovalRequest { call: call.clone(), id: id.clone(), kind, prompt, choices: None };
        self.recorder.record_event(EventPayload::ApprovalRequested(ask));
        self.recorder.save().await?;
        let mut stop = self.stop.clone();
        let mut decision = approver.decide(asking);
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
        let may = match decision {
            ToolDecision::Allow => {
                self.recorder.record_event(replied(ApprovalVerdict::Allowed));
                CallPermission::Run
            }
            ToolDecision::Deny(None) => {
                self.recorder.record_event(replied(ApprovalVerdict::Denied));
                CallPermission::Skip
            }
            // The call's own answer says it, with the reason.
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
        Ok(may)
    }

    /// Runs jobs, so many at once, until all have an end.
    async fn run_tasks(
        &mut self,
        calls: &[ReplyToolCall],
        mut jobs: VecDeque<ToolTask>,
        at_once: usize,
        crew: &mut ToolTasks,
    ) -> Result<(), RunRecordError> {
        let (mut stop, mut wanted) = (self.stop.clone(), StopLevel::None);
        let mut until = Instant::now();
        let mut look = interval(PROGRESS_INTERVAL);
        loop {
            if wanted == StopLevel::None && !self.is_stopped() {
                self.start_tasks(calls, &mut jobs, at_once, crew).await?;
            }
            if crew.len() == 0 {
                return Ok(());
            }
            let next = match wanted {
                StopLevel::None => StopLevel::Graceful,
                StopLevel::Graceful | StopLevel::Kill => StopLevel::Kill,
            };
            tokio::select! {
                biased;
                // What is done by now is done.
                done = crew.next_finished() => {
                    let Some(done) = done else { continue };
                    let place = done.place;
                    let (how, content) = tool_results::tool_result(done, self.limits.max_result_bytes);
                    self.record_result(calls, place, how, content);
                    self.recorder.save().await?;
                }
                () = stop.wait_for(next), if wanted < StopLevel::Kill => {
                    wanted = next;
                    match next {
                        StopLevel::Kill => {
                            until = Instant::now() + KILL_TIMEOUT;
                            crew.kill();
                        }
                        StopLevel::None | StopLevel::Graceful => {
                            until = Instant::now() + self.limits.stop_grace;
                            crew.request_stop(StopLevel::Graceful);
                            // What never began is closed by this.
                            self.recorder.record_event(EventPayload::Stop(StopRequest { grace: MACHINE_GRACE }));
                            self.recorder.save().await?;
                        }
                    }
                }
                () = sleep_until(until), if wanted != StopLevel::None => match wanted {
                    StopLevel::None | StopLevel::Graceful => {
                        (wanted, until) = (StopLevel::Kill, Instant::now() + KILL_TIMEOUT);
                        crew.kill();
                    }
                    StopLevel::Kill => {
                        for done in crew.detach_all() {
                            let place = done.place;
                            let (how, content) = tool_results::tool_result(done, self.limits.max_result_bytes);
                            self.record_result(calls, place, how, content);
                        }
                    }
                },
                _ = look.tick() => {
                    for (place, said) in crew.progress() {
                        if let Some(called) = calls.get(place) {
                            let (call, content) = (self.call_ref(&called.id), RawJson::string(&said));
                            self.recorder.record_event(EventPayload::ToolProgress { call, content });
                        }
                    }
                    self.recorder.save().await?;
                }
                _ = self.lease_timer.tick() => self.recorder.check_lease(&self.limits).await?,
            }
        }
    }

    /// Starts as many jobs as may run. Each is written down first.
    async fn start_tasks(
        &mut self,
        calls: &[ReplyToolCall],
        jobs: &mut VecDeque<ToolTask>,
        at_once: usize,
        crew: &mut ToolTasks,
    ) -> Result<(), RunRecordError> {
        let room = at_once.saturating_sub(crew.len()).min(jobs.len());
        if room == 0 {
            return Ok(());
        }
        let ready: Vec<ToolTask> = jobs.drain(..room).collect();
        for job in &ready {
            if let Some(called) = calls.get(job.place) {
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
        for job in ready {
            // Whoever stopped while it was written down wants nothing to start.
            match self.is_stopped() {
                false => crew.start(job, self.stop.clone()),
                true => self.record_outcome(calls, job.place, ToolOutcome::Cancelled, None),
            }
        }
        Ok(())
    }

    fn record_result(
        &mut self,
        calls: &[ReplyToolCall],
        place: usize,
        how: ToolOutcome,
        content: RawJson,
    ) {
        let bytes = content.raw().len();
        let content = if self.result_bytes_left < bytes {
            tool_results::omitted_result(bytes)
        } else {
            content
        };
        self.result_bytes_left = self.result_bytes_left.saturating_sub(content.raw().len());
        self.record_outcome(calls, place, how, Some(content));
    }

    fn record_outcome(
        &mut self,
        calls: &[ReplyToolCall],
        place: usize,
        how: ToolOutcome,
        content: Option<RawJson>,
    ) {
        let Some(called) = calls.get(place) else { return };
        let call = self.call_ref(&called.id);
        let name = Some(SharedId::from(called.name.as_str()));
        self.recorder.record_event(EventPayload::ToolResult(ToolResult {
            call,
            name,
            outcome: how,
            reason: None,
            content,
        }));
    }
}
