//! The course of a run: ask, listen, run tools, answer, until there is an end. Every wait can be
//! interrupted, and whatever the end is, it leaves by one door.

mod read_reply;
mod run_tools;

use std::{collections::HashMap, sync::Arc, time::Duration};

use foxwedge_core::Format;
use foxwedge_dialect::model::IdentifierReplacement;
use foxwedge_run::{
    EventPayload, Outcome, RunEnd, RunProblem, RunUsage, SharedId, TurnStart, history,
};
use foxwedge_store::Store;
use foxwedge_tools::{StopLevel, StopReceiver, Toolbox};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{
    FinishedRun, LoopError, LoopLimits, LoopNotice, ToolApprover,
    compaction::{CompactionTrigger, HistoryCompactor},
    context::{RequestComposer, call_ids},
    conversation_log::{ConversationLog, RewriteReason, chain_records},
    message::ConversationMessage,
    run_recorder::{RunRecordError, RunRecorder},
    tool_offer::ToolOffer,
};
use crate::{
    guard::changes_of,
    model::{ChatModel, ReplyStopReason, ReplyToolCall, ValidRequest},
};
use read_reply::ReplyReadOutcome;

/// How often is looked whether the run is still ours: somebody may have ended it from outside.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A run on its way.
pub(super) struct TurnDriver<'a, S> {
    pub(super) recorder: RunRecorder<'a, S>,
    pub(super) log: &'a mut ConversationLog<S>,
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) tools: &'a Toolbox,
    pub(super) approver: &'a Arc<dyn ToolApprover>,
    pub(super) instructions: &'a str,
    pub(super) limits: LoopLimits,
    pub(super) stop: StopReceiver,
    pub(super) compactor: &'a HistoryCompactor,
    offer: &'a mut ToolOffer,
    /// When somebody looks whether the run is still ours.
    lease_timer: Interval,
    turn: u32,
    /// Messages of this run that are in the session.
    recorded: usize,
    /// What the model said in this turn, in its own format.
    raw_reply: Option<(Format, String)>,
    /// Names of tools that the model knows under another name.
    names: Vec<IdentifierReplacement>,
    /// Whether the conversation was repaired for good in this run.
    repaired: bool,
    /// Bytes that the answers of this turn may still have.
    result_bytes_left: usize,
    /// What earlier turns cost.
    usage: RunUsage,
    /// What the turn before did, and how often it was done in a row.
    last_calls: (String, u32),
}

/// What is needed to drive.
pub(super) struct LoopDependencies<'a> {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) tools: &'a Toolbox,
    pub(super) approver: &'a Arc<dyn ToolApprover>,
    pub(super) instructions: &'a str,
    pub(super) limits: LoopLimits,
    pub(super) stop: StopReceiver,
    pub(super) compactor: &'a HistoryCompactor,
    pub(super) offer: &'a mut ToolOffer,
}

/// How a run comes to its end.
enum TurnLoopEnd {
    /// The model is done.
    Completed,
    /// The model would not.
    Refused,
    /// Somebody wanted it.
    Stopped,
    /// There is no turn left.
    MaxTurns,
    /// Something went wrong.
    Failed(RunProblem),
}

impl<'a, S: Store> TurnDriver<'a, S> {
    pub(super) fn new(
        keeper: RunRecorder<'a, S>,
        shelf: &'a mut ConversationLog<S>,
        gear: LoopDependencies<'a>,
    ) -> Self {
        let LoopDependencies {
            model,
            tools,
            approver,
            instructions,
            limits,
            stop,
            compactor: shortener,
            offer,
        } = gear;
        let mut pulse =
            interval((limits.lease / 3).clamp(Duration::from_millis(10), LEASE_CHECK_INTERVAL));
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        TurnDriver {
            recorder: keeper,
            log: shelf,
            model,
            tools,
            approver,
            instructions,
            limits,
            stop,
            compactor: shortener,
            offer,
            lease_timer: pulse,
            turn: 0,
            recorded: 0,
            raw_reply: None,
            names: Vec::new(),
            repaired: false,
            result_bytes_left: 0,
            usage: RunUsage::default(),
            last_calls: (String::new(), 0),
        }
    }

    /// Drives to the end.
    pub(super) async fn run(mut self) -> Result<FinishedRun, LoopError> {
        let names = self.tools.iter().map(|tool| SharedId::from(&*tool.spec().name)).collect();
        let available = foxwedge_run::ToolsAvailable { version: None, ready: true, tools: names };
        self.recorder.record_event(EventPayload::ToolsAvailable(available));
        let finished = match self.run_turns().await {
            Ok(end) => self.finish(end).await,
            Err(trouble) => Err(trouble),
        };
        match finished {
            Ok(finished) => Ok(finished),
            Err(RunRecordError::TakenOver) => {
                let finished = self.recorder.finish_taken_over().await?;
                self.log.load().await?;
                Ok(finished)
            }
            Err(RunRecordError::Loop(error)) => Err(error),
        }
    }

    async fn run_turns(&mut self) -> Result<TurnLoopEnd, RunRecordError> {
        self.recorder.save().await?;
        let mut tight = false;
        loop {
            if self.is_stopped() {
                return Ok(TurnLoopEnd::Stopped);
            }
            if self.turn >= self.limits.max_turns {
                return Ok(TurnLoopEnd::MaxTurns);
            }
            let shortening =
                if tight { CompactionTrigger::Overflow } else { CompactionTrigger::IfFull };
            let request = match self.prepare_request(shortening).await? {
                Ok(request) => request,
                Err(end) => return Ok(end),
            };
            self.turn += 1;
            self.recorder.record_event(EventPayload::TurnStarted(TurnStart {
                turn: Some(self.turn),
                message: None,
            }));
            self.recorder.save().await?;
            let (calls, stop) = match self.read_reply(request).await? {
                ReplyReadOutcome::Complete(calls, stop) => (calls, stop),
                ReplyReadOutcome::Stopped => return Ok(TurnLoopEnd::Stopped),
                // A provider that counts otherwise than we do is believed, once.
                ReplyReadOutcome::Failed(error) if error.code == "overflow" && !tight => {
                    tight = true;
                    continue;
                }
                // So is one that takes fewer tools than anybody knew.
                ReplyReadOutcome::Failed(error)
                    if error.code == "too_many_tools" && self.offer_fewer() =>
                {
                    continue;
                }
                ReplyReadOutcome::Failed(error) => {
                    return Ok(TurnLoopEnd::Failed(fatal_problem(error.code, error.message)));
                }
            };
            tight = false;
            self.record_messages(TurnPart::Reply).await?;
            if calls.is_empty() {
                match stop {
                    ReplyStopReason::Pause => continue,
                    ReplyStopReason::Refused => return Ok(TurnLoopEnd::Refused),
                    ReplyStopReason::Done => return Ok(TurnLoopEnd::Completed),
                    ReplyStopReason::Length => {
                        let words = "the model was not allowed to say more: its reply is cut off";
                        let problem =
                            RunProblem { fatal: false, ..fatal_problem("length", words.into()) };
                        self.recorder.record_event(EventPayload::Problem(problem));
                        return Ok(TurnLoopEnd::Completed);
                    }
                }
            }
            self.run_tools(&calls).await?;
            if self.recorder.has_ended() || self.is_stopped() {
                return Ok(TurnLoopEnd::Stopped);
            }
            self.record_messages(TurnPart::Results).await?;
            if let Some(problem) = self.find_repetition(&calls) {
                return Ok(TurnLoopEnd::Failed(problem));
            }
        }
    }

    /// Offers fewer tools from now on; whether there are still some.
    fn offer_fewer(&mut self) -> bool {
        let all = self.tools.len();
        let offered = self.offer.max_tools(self.model.about().profile).min(all);
        let fewer = self.offer.reduce(offered);
        if let Some(offered) = fewer {
            self.recorder.notify(LoopNotice::FewerTools { offered, all });
        }
        fewer.is_some()
    }

    fn is_stopped(&self) -> bool {
        self.stop.level() > StopLevel::None
    }

    /// The next request: short enough, sound, and proven to be; or why there is none.
    async fn prepare_request(
        &mut self,
        shortening: CompactionTrigger,
    ) -> Result<Result<ValidRequest, TurnLoopEnd>, RunRecordError> {
        let mut composed = self.context().compose(&self.log.messages)?;
        match self.fit_window(&composed.body, shortening).await? {
            WindowFit::Unchanged => {}
            WindowFit::Compacted => composed = self.context().compose(&self.log.messages)?,
            WindowFit::End(end) => return Ok(Err(end)),
        }
        if !composed.edits.is_empty() && !self.repaired {
            // For good: the same is not found again with every request. What comes back all the
            // same is mended on its way, and not written down each time.
            self.repaired = true;
            let messages = self.context().messages(&composed.body)?;
            self.rewrite_history(RewriteReason::Repaired, messages).await?;
            let changes = changes_of(std::mem::take(&mut composed.edits));
            self.recorder.notify(LoopNotice::Repaired(changes));
        }
        self.names = composed.names;
        match self.context().validate(composed.body) {
            Ok(sealed) => Ok(Ok(sealed)),
            Err(error) => Ok(Err(TurnLoopEnd::Failed(fatal_problem("unsound", error.to_string())))),
        }
    }

    /// Makes the history shorter if it has to be. Never in vain: what is too long for the model is
    /// told before anybody is asked.
    async fn fit_window(
        &mut self,
        body: &str,
        shortening: CompactionTrigger,
    ) -> Result<WindowFit, RunRecordError> {
        let (question, limits) = (self.context().check_options(), self.limits);
        let about = self.model.about();
        let load = self.compactor.needs_compaction(body, about, question, &limits, shortening);
        let Some(load) = load else { return Ok(WindowFit::Unchanged) };
        self.recorder.notify(LoopNotice::Compacting);
        let mut stop = self.stop.clone();
        let (shortener, model) = (self.compactor, self.model.clone());
        let shorten = shortener.compact_in_background(load, &model, None, self.stop.clone());
        tokio::pin!(shorten);
        let shortened = loop {
            tokio::select! {
                biased;
                () = stop.wait_for(StopLevel::Graceful) => return Ok(WindowFit::End(TurnLoopEnd::Stopped)),
                shortened = &mut shorten => break shortened,
                _ = self.lease_timer.tick() => self.recorder.check_lease(&limits).await?,
            }
        };
        match shortened {
            Ok(Some(shorter)) => {
                let messages = self.context().messages(&shorter.body)?;
                self.rewrite_history(
                    RewriteReason::Compacted(shorter.before, shorter.after),
                    messages,
                )
                .await?;
                self.recorder.notify(LoopNotice::Compacted(shorter.before, shorter.after));
                Ok(WindowFit::Compacted)
            }
            Ok(None) => Ok(WindowFit::Unchanged),
            Err(failed) if failed.fits => Ok(WindowFit::Unchanged),
            Err(failed) => {
                Ok(WindowFit::End(TurnLoopEnd::Failed(fatal_problem("overflow", failed.why))))
            }
        }
    }

    async fn rewrite_history(
        &mut self,
        why: RewriteReason<'_>,
        messages: Vec<(Format, String)>,
    ) -> Result<(), RunRecordError> {
        let mark = format!("{}-{}", self.recorder.epoch(), self.recorded);
        let run = Arc::from(&**self.recorder.id());
        self.log.rewrite(why, messages, &mark, Some(&run)).await?;
        Ok(())
    }

    fn context(&self) -> RequestComposer<'_> {
        RequestComposer {
            about: self.model.about(),
            instructions: self.instructions,
            tools: self.tools,
            max_tools: self.offer.max_tools(self.model.about().profile),
            max_reply_tokens: self.limits.max_reply_tokens,
        }
    }

    /// Puts what was said into the session.
    async fn record_messages(&mut self, upto: TurnPart) -> Result<(), RunRecordError> {
        let entries = self.unrecorded_messages(upto);
        self.recorded += entries.len();
        if !entries.is_empty() {
            self.log.append(entries).await?;
        }
        Ok(())
    }

    /// The messages of the run that are not in the session yet.
    fn unrecorded_messages(&mut self, upto: TurnPart) -> Vec<ConversationMessage> {
        let Some(run) = self.recorder.run() else { return Vec::new() };
        let mut messages = history(run);
        if matches!(upto, TurnPart::Reply)
            && messages.last().is_some_and(|last| last.role == "user")
        {
            messages.pop();
        }
        let (epoch, id): (_, Arc<str>) = (self.recorder.epoch(), Arc::from(&**self.recorder.id()));
        let mut entries = Vec::new();
        for (place, message) in messages.into_iter().enumerate().skip(self.recorded) {
            let raw = (message.role == "assistant").then(|| self.raw_reply.take()).flatten();
            let raw = raw
                .filter(|(wire, body)| call_ids(body, *wire) == Some(message_call_ids(&message)));
            let (wire, body) =
                raw.unwrap_or_else(|| (Format::Anthropic, message.value().to_string()));
            entries.push(ConversationMessage {
                id: format!("{epoch}-{}", place + 1).into(),
                wire,
                body: body.into(),
                run: Some(id.clone()),
            });
        }
        entries
    }

    /// The one way out.
    async fn finish(&mut self, end: TurnLoopEnd) -> Result<FinishedRun, RunRecordError> {
        if !self.recorder.has_ended() {
            match end {
                TurnLoopEnd::Completed => {
                    self.recorder.record_event(EventPayload::Ended(RunEnd::default()))
                }
                TurnLoopEnd::Refused => self.recorder.record_event(ended_event(Outcome::Refused)),
                TurnLoopEnd::MaxTurns => self.recorder.record_event(ended_event(Outcome::MaxTurns)),
                TurnLoopEnd::Failed(problem) => {
                    let (outcome, problem) = (Some(Outcome::Failed), Some(problem));
                    self.recorder.record_event(EventPayload::Ended(RunEnd {
                        outcome,
                        problem,
                        ..RunEnd::default()
                    }));
                }
                TurnLoopEnd::Stopped => self
                    .recorder
                    .record_event(EventPayload::Stop(foxwedge_run::StopRequest { grace: 0 })),
            }
        }
        let entries = self.unrecorded_messages(TurnPart::Results);
        let records = chain_records(&entries, self.log.tip());
        let finished = self.recorder.finish(records).await?;
        self.log.note_appended(entries);
        Ok(finished)
    }

    /// Whether the model does the same again and again.
    fn find_repetition(&mut self, calls: &[ReplyToolCall]) -> Option<RunProblem> {
        let run = self.recorder.run()?;
        let tools = run.tools().iter().filter(|tool| tool.turn() == self.turn);
        let answers: HashMap<&str, String> =
            tools.map(|tool| (&*tool.call, tool.result_content().raw().to_owned())).collect();
        let did: String = calls
            .iter()
            .map(|call| {
                let answer = answers.get(call.id.as_str()).map_or("", String::as_str);
                format!("{}\0{}\0{answer}\0", call.name, call.arguments)
            })
            .collect();
        self.last_calls = match std::mem::take(&mut self.last_calls) {
            (before, times) if before == did => (before, times + 1),
            _ => (did, 1),
        };
        (self.last_calls.1 >= self.limits.max_repeats.max(2)).then(|| {
            let words = format!(
                "the model made the same calls {} times in a row and got the same answers",
                self.last_calls.1
            );
            fatal_problem("repeated_calls", words)
        })
    }
}

/// Whether a request can be sent.
enum WindowFit {
    Unchanged,
    /// The conversation became shorter.
    Compacted,
    End(TurnLoopEnd),
}

/// How much of a turn is over.
#[derive(Clone, Copy)]
enum TurnPart {
    /// What the model said.
    Reply,
    /// The answers, too.
    Results,
}

fn ended_event(outcome: Outcome) -> EventPayload {
    EventPayload::Ended(RunEnd { outcome: Some(outcome), ..RunEnd::default() })
}

fn fatal_problem(code: &'static str, message: String) -> RunProblem {
    RunProblem { message, code: Some(code.into()), fatal: true }
}

/// The ids of the calls in a message of the history.
fn message_call_ids(message: &foxwedge_run::RunMessage) -> Vec<String> {
    let calls = message.content.iter().filter(|block| block["type"] == "tool_use");
    calls.filter_map(|block| block["id"].as_str().map(str::to_owned)).collect()
}
