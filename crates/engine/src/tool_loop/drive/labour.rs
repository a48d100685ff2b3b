//! Running the calls of a turn. Nothing starts that was not written down, nothing starts behind a
//! stop, and what is done by the time of it counts.

use std::{collections::VecDeque, time::Duration};

use foxwedge_run::{
    Ask, AskKind, Body, Call, How, Id, Json, Reply, Status, Stop, ToolResult, Verdict,
};
use foxwedge_store::Store;
use foxwedge_tools::Stage;
use serde_json::Value;
use tokio::time::{Instant, interval, sleep_until, timeout};

use super::{Drive, Trouble};
use crate::{
    model::Called,
    tool_loop::{
        Asking, Decision, answers,
        plan::{Step, plan},
        work::{Crew, Job},
    },
};

/// How often is looked for what tools say.
const LOOK: Duration = Duration::from_millis(500);
/// How long is waited for tools that were ended by force. One that blocks its thread cannot be ended,
/// and is not waited for.
const DEAF: Duration = Duration::from_secs(2);
/// How much longer than we do the machine waits for tools that were asked to stop: it never has to
/// decide by itself.
const PATIENCE: u64 = 3_600_000;

/// Bytes of the answers of a turn: they are one message, which has to be kept.
const ROOM: usize = 12 << 20;

/// Whether a call may run.
enum May {
    Run,
    Not,
    Stopped,
}

impl<S: Store> Drive<'_, S> {
    /// Runs the calls of a turn, until all have an end. Whatever goes wrong with the run, nothing
    /// works on behind it.
    pub(super) async fn labour(&mut self, calls: &[Called]) -> Result<(), Trouble> {
        let mut crew = Crew::new(self.limits.answer);
        self.room = ROOM;
        let done = self.steps(calls, &mut crew).await;
        if done.is_err() {
            crew.kill();
            let gone = async { while crew.next().await.is_some() {} };
            let _ = timeout(DEAF, gone).await;
        }
        done
    }

    async fn steps(&mut self, calls: &[Called], crew: &mut Crew) -> Result<(), Trouble> {
        for step in plan(calls, self.tools) {
            if self.is_stopped() || self.keeper.is_over() {
                break;
            }
            let (batch, at_once) = match step {
                Step::Answer(place, words) => {
                    self.result(calls, place, How::Error, Json::string(&words));
                    self.keeper.save().await?;
                    continue;
                }
                Step::Alone(place, input) => (vec![(place, input)], 1),
                Step::Together(batch) => (batch, self.limits.at_once.max(1)),
            };
            let Some(jobs) = self.allowed(calls, batch).await? else { break };
            self.work(calls, jobs, at_once, crew).await?;
        }
        Ok(())
    }

    /// The calls of a batch that may run; `None` if somebody wants to stop.
    async fn allowed(
        &mut self,
        calls: &[Called],
        batch: Vec<(usize, Value)>,
    ) -> Result<Option<VecDeque<Job>>, Trouble> {
        let mut jobs = VecDeque::with_capacity(batch.len());
        for (place, input) in batch {
            let Some(called) = calls.get(place) else { continue };
            let Some(tool) = self.tools.get(&called.name).cloned() else { continue };
            match self.may(calls, place, &input).await? {
                May::Run => jobs.push_back(Job { place, call: called.id.clone(), input, tool }),
                May::Not => {}
                May::Stopped => return Ok(None),
            }
        }
        Ok(Some(jobs))
    }

    /// Asks whether a call may run, if somebody wants to be asked.
    async fn may(&mut self, calls: &[Called], place: usize, input: &Value) -> Result<May, Trouble> {
        let Some(called) = calls.get(place) else { return Ok(May::Not) };
        let Some(tool) = self.tools.get(&called.name) else { return Ok(May::Not) };
        let approver = self.approver.clone();
        let asking = Asking { call: &called.id, tool: tool.about(), input };
        if !approver.asks(&asking) {
            return Ok(May::Run);
        }
        let (call, id) = (self.reference(&called.id), Some(Id::from(called.id.as_str())));
        let prompt = Some(format!("May `{}` run?", called.name));
        let kind = AskKind::Approval;
        let ask = Ask { call: call.clone(), id: id.clone(), kind, prompt, choices: None };
        self.keeper.note(Body::Asked(ask));
        self.keeper.save().await?;
        let mut stop = self.stop.clone();
        let mut decision = approver.decide(asking);
        let decision = loop {
            tokio::select! {
                biased;
                () = stop.reached(Stage::Asked) => return Ok(May::Stopped),
                decision = &mut decision => break decision,
                _ = self.pulse.tick() => self.keeper.pulse(&self.limits).await?,
            }
        };
        drop(stop);
        let replied = |verdict| Body::Replied(Reply { call, id, verdict, answer: None });
        let may = match decision {
            Decision::Allow => {
                self.keeper.note(replied(Verdict::Allowed));
                May::Run
            }
            Decision::Deny(None) => {
                self.keeper.note(replied(Verdict::Denied));
                May::Not
            }
            // The call's own answer says it, with the reason.
            Decision::Deny(why) => {
                self.result(calls, place, How::Denied, answers::denied(why.as_deref()));
                May::Not
            }
        };
        self.keeper.save().await?;
        Ok(may)
    }

    /// Runs jobs, so many at once, until all have an end.
    async fn work(
        &mut self,
        calls: &[Called],
        mut jobs: VecDeque<Job>,
        at_once: usize,
        crew: &mut Crew,
    ) -> Result<(), Trouble> {
        let (mut stop, mut wanted) = (self.stop.clone(), Stage::Quiet);
        let mut until = Instant::now();
        let mut look = interval(LOOK);
        loop {
            if wanted == Stage::Quiet && !self.is_stopped() {
                self.start(calls, &mut jobs, at_once, crew).await?;
            }
            if crew.len() == 0 {
                return Ok(());
            }
            let next = match wanted {
                Stage::Quiet => Stage::Asked,
                Stage::Asked | Stage::Forced => Stage::Forced,
            };
            tokio::select! {
                biased;
                // What is done by now is done.
                done = crew.next() => {
                    let Some(done) = done else { continue };
                    let place = done.place;
                    let (how, content) = answers::told(done, self.limits.answer);
                    self.result(calls, place, how, content);
                    self.keeper.save().await?;
                }
                () = stop.reached(next), if wanted < Stage::Forced => {
                    wanted = next;
                    match next {
                        Stage::Forced => {
                            until = Instant::now() + DEAF;
                            crew.kill();
                        }
                        Stage::Quiet | Stage::Asked => {
                            until = Instant::now() + self.limits.grace;
                            crew.raise(Stage::Asked);
                            // What never began is closed by this.
                            self.keeper.note(Body::Stop(Stop { grace: PATIENCE }));
                            self.keeper.save().await?;
                        }
                    }
                }
                () = sleep_until(until), if wanted != Stage::Quiet => match wanted {
                    Stage::Quiet | Stage::Asked => {
                        (wanted, until) = (Stage::Forced, Instant::now() + DEAF);
                        crew.kill();
                    }
                    Stage::Forced => {
                        for done in crew.abandon() {
                            let place = done.place;
                            let (how, content) = answers::told(done, self.limits.answer);
                            self.result(calls, place, how, content);
                        }
                    }
                },
                _ = look.tick() => {
                    for (place, said) in crew.progress() {
                        if let Some(called) = calls.get(place) {
                            let (call, content) = (self.reference(&called.id), Json::string(&said));
                            self.keeper.note(Body::Progress { call, content });
                        }
                    }
                    self.keeper.save().await?;
                }
                _ = self.pulse.tick() => self.keeper.pulse(&self.limits).await?,
            }
        }
    }

    /// Starts as many jobs as may run. Each is written down first.
    async fn start(
        &mut self,
        calls: &[Called],
        jobs: &mut VecDeque<Job>,
        at_once: usize,
        crew: &mut Crew,
    ) -> Result<(), Trouble> {
        let room = at_once.saturating_sub(crew.len()).min(jobs.len());
        if room == 0 {
            return Ok(());
        }
        let ready: Vec<Job> = jobs.drain(..room).collect();
        for job in &ready {
            if let Some(called) = calls.get(job.place) {
                let status = Some(Status::Running);
                let call = self.reference(&called.id);
                self.keeper.note(Body::Call(Call { call, status, ..Call::default() }));
            }
        }
        self.keeper.save().await?;
        for job in ready {
            // Whoever stopped while it was written down wants nothing to start.
            match self.is_stopped() {
                false => crew.start(job, self.stop.clone()),
                true => self.settle(calls, job.place, How::Cancelled, None),
            }
        }
        Ok(())
    }

    fn result(&mut self, calls: &[Called], place: usize, how: How, content: Json) {
        let bytes = content.raw().len();
        let content = if self.room < bytes { answers::left_out(bytes) } else { content };
        self.room = self.room.saturating_sub(content.raw().len());
        self.settle(calls, place, how, Some(content));
    }

    fn settle(&mut self, calls: &[Called], place: usize, how: How, content: Option<Json>) {
        let Some(called) = calls.get(place) else { return };
        let call = self.reference(&called.id);
        let name = Some(Id::from(called.name.as_str()));
        self.keeper.note(Body::Result(ToolResult { call, name, how, reason: None, content }));
    }
}
