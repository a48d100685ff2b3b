//! Drives a run: send the request, read the reply, run the tools, record the results, repeat. Every
//! wait can be interrupted, and every run ends in [`TurnDriver::finish`].

mod read_reply;
mod run_tools;

use std::{collections::HashMap, sync::Arc, time::Duration};

use foxwedge_core::Format;
use foxwedge_formats::model::IdentifierReplacement;
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
use foxwedge_upstream::{
    changes_of,
    model::{ChatModel, ReplyStopReason, ReplyToolCall, ValidRequest},
};
use read_reply::ReplyReadOutcome;

/// How often the lease is checked: another process may have ended the run.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A run in progress.
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
    /// Ticks when the lease has to be checked.
    lease_timer: Interval,
    turn: u32,
    /// Number of messages of this run that are in the session.
    recorded: usize,
    /// The model's reply of this turn, in its own format.
    raw_reply: Option<(Format, String)>,
    /// Tools that the model knows under another name.
    names: Vec<IdentifierReplacement>,
    /// Whether a repair was stored in this run.
    repaired: bool,
    /// Bytes left for the tool results of this turn.
    result_bytes_left: usize,
    /// Token usage of all turns so far.
    usage: RunUsage,
    /// Calls and results of the previous turn, and how often they repeated in a row.
    last_calls: (String, u32),
}

/// What a [`TurnDriver`] needs besides its recorder and log.
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

/// Why the turn loop ended.
enum TurnLoopEnd {
    /// The model is done.
    Completed,
    /// The model refused.
    Refused,
    /// The run was stopped.
    Stopped,
    /// The turn limit is reached.
    MaxTurns,
    /// An error ended the run.
    Failed(RunProblem),
}

impl<'a, S: Store> TurnDriver<'a, S> {
    pub(super) fn new(
        recorder: RunRecorder<'a, S>,
        log: &'a mut ConversationLog<S>,
        dependencies: LoopDependencies<'a>,
    ) -> Self {
        let LoopDependencies {
            model,
            tools,
            approver,
            instructions,
            limits,
            stop,
            compactor,
            offer,
        } = dependencies;
        let mut lease_timer =
            interval((limits.lease / 3).clamp(Duration::from_millis(10), LEASE_CHECK_INTERVAL));
        lease_timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        TurnDriver {
            recorder,
            log,
            model,
            tools,
            approver,
            instructions,
            limits,
            stop,
            compactor,
            offer,
            lease_timer,
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

    /// Runs turns until the run ends.
    pub(super) async fn run(mut self) -> Result<FinishedRun, LoopError> {
        let names = self.tools.iter().map(|tool| SharedId::from(&*tool.spec().name)).collect();
        let available = foxwedge_run::ToolsAvailable { version: None, ready: true, tools: names };
        self.recorder.record_event(EventPayload::ToolsAvailable(available));
        let finished = match self.run_turns().await {
            Ok(end) => self.finish(end).await,
            Err(error) => Err(error),
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
        let mut overflowed = false;
        loop {
            if self.is_stopped() {
                return Ok(TurnLoopEnd::Stopped);
            }
            if self.turn >= self.limits.max_turns {
                return Ok(TurnLoopEnd::MaxTurns);
            }
            let trigger =
                if overflowed { CompactionTrigger::Overflow } else { CompactionTrigger::IfFull };
            let request = match self.prepare_request(trigger).await? {
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
                // The provider may count tokens differently than we do: compact and retry once.
                ReplyReadOutcome::Failed(error) if error.code == "overflow" && !overflowed => {
                    overflowed = true;
                    continue;
                }
                // The provider takes fewer tools than expected: retry with fewer.
                ReplyReadOutcome::Failed(error)
                    if error.code == "too_many_tools" && self.offer_fewer() =>
                {
                    continue;
                }
                ReplyReadOutcome::Failed(error) => {
                    return Ok(TurnLoopEnd::Failed(fatal_problem(error.code, error.message)));
                }
            };
            overflowed = false;
            self.record_messages(TurnPart::Reply).await?;
            if calls.is_empty() {
                match stop {
                    ReplyStopReason::Pause => continue,
                    ReplyStopReason::Refused => return Ok(TurnLoopEnd::Refused),
                    ReplyStopReason::Done => return Ok(TurnLoopEnd::Completed),
                    ReplyStopReason::Length => {
                        let problem = EventPayload::Problem(RunProblem::cut_reply());
                        self.recorder.record_event(problem);
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

    /// Offers fewer tools from now on. Returns whether any are left.
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

    /// The next request, compacted and validated; or why there is none.
    async fn prepare_request(
        &mut self,
        trigger: CompactionTrigger,
    ) -> Result<Result<ValidRequest, TurnLoopEnd>, RunRecordError> {
        let mut composed = self.context().compose(&self.log.messages)?;
        match self.fit_window(&composed.body, trigger).await? {
            WindowFit::Unchanged => {}
            WindowFit::Compacted => composed = self.context().compose(&self.log.messages)?,
            WindowFit::End(end) => return Ok(Err(end)),
        }
        if !composed.edits.is_empty() && !self.repaired {
            // Store the repair once, so that later requests do not repeat it. Further findings are
            // repaired in the request only.
            self.repaired = true;
            let messages = self.context().messages(&composed.body)?;
            self.rewrite_history(RewriteReason::Repaired, messages).await?;
            let changes = changes_of(std::mem::take(&mut composed.edits));
            self.recorder.notify(LoopNotice::Repaired(changes));
        }
        self.names = composed.names;
        match self.context().validate(composed.body) {
            Ok(request) => Ok(Ok(request)),
            Err(error) => Ok(Err(TurnLoopEnd::Failed(fatal_problem("unsound", error.to_string())))),
        }
    }

    /// Compacts the history if it does not fit the model's window. If it cannot be made to fit, the
    /// run ends before a request is sent.
    async fn fit_window(
        &mut self,
        body: &str,
        trigger: CompactionTrigger,
    ) -> Result<WindowFit, RunRecordError> {
        let (options, limits) = (self.context().check_options(), self.limits);
        let description = self.model.about();
        let job = self.compactor.needs_compaction(body, description, options, &limits, trigger);
        let Some(job) = job else { return Ok(WindowFit::Unchanged) };
        self.recorder.notify(LoopNotice::Compacting);
        let mut stop = self.stop.clone();
        let (compactor, model) = (self.compactor, self.model.clone());
        let compaction = compactor.compact_in_background(job, &model, None, self.stop.clone());
        tokio::pin!(compaction);
        let result = loop {
            tokio::select! {
                biased;
                () = stop.wait_for(StopLevel::Graceful) => return Ok(WindowFit::End(TurnLoopEnd::Stopped)),
                result = &mut compaction => break result,
                _ = self.lease_timer.tick() => self.recorder.check_lease(&limits).await?,
            }
        };
        match result {
            Ok(Some(compacted)) => {
                let messages = self.context().messages(&compacted.body)?;
                self.rewrite_history(
                    RewriteReason::Compacted(compacted.before, compacted.after),
                    messages,
                )
                .await?;
                self.recorder.notify(LoopNotice::Compacted(compacted.before, compacted.after));
                Ok(WindowFit::Compacted)
            }
            Ok(None) => Ok(WindowFit::Unchanged),
            Err(failure) if failure.fits => Ok(WindowFit::Unchanged),
            Err(failure) => {
                Ok(WindowFit::End(TurnLoopEnd::Failed(fatal_problem("overflow", failure.why))))
            }
        }
    }

    async fn rewrite_history(
        &mut self,
        reason: RewriteReason<'_>,
        messages: Vec<(Format, String)>,
    ) -> Result<(), RunRecordError> {
        let mark = format!("{}-{}", self.recorder.epoch(), self.recorded);
        let run = Arc::from(&**self.recorder.id());
        self.log.rewrite(reason, messages, &mark, Some(&run)).await?;
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

    /// Appends the new messages of the run to the session.
    async fn record_messages(&mut self, upto: TurnPart) -> Result<(), RunRecordError> {
        let messages = self.unrecorded_messages(upto);
        self.recorded += messages.len();
        if !messages.is_empty() {
            self.log.append(messages).await?;
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
        for (index, message) in messages.into_iter().enumerate().skip(self.recorded) {
            let raw = (message.role == "assistant").then(|| self.raw_reply.take()).flatten();
            let raw = raw
                .filter(|(wire, body)| call_ids(body, *wire) == Some(message_call_ids(&message)));
            let (wire, body) =
                raw.unwrap_or_else(|| (Format::Anthropic, message.value().to_string()));
            entries.push(ConversationMessage {
                id: format!("{epoch}-{}", index + 1).into(),
                wire,
                body: body.into(),
                run: Some(id.clone()),
            });
        }
        entries
    }

    /// Ends the run. Every path goes through here.
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

    /// Reports a problem if the model repeats the same calls too often.
    fn find_repetition(&mut self, calls: &[ReplyToolCall]) -> Option<RunProblem> {
        let run = self.recorder.run()?;
        let tools = run.tools().iter().filter(|tool| tool.turn() == self.turn);
        let results: HashMap<&str, String> =
            tools.map(|tool| (&*tool.call, tool.result_content().raw().to_owned())).collect();
        let signature: String = calls
            .iter()
            .map(|call| {
                let result = results.get(call.id.as_str()).map_or("", String::as_str);
                format!("{}\0{}\0{result}\0", call.name, call.arguments)
            })
            .collect();
        self.last_calls = match std::mem::take(&mut self.last_calls) {
            (before, times) if before == signature => (before, times + 1),
            _ => (signature, 1),
        };
        (self.last_calls.1 >= self.limits.max_repeats.max(2)).then(|| {
            let message = format!(
                "the model made the same calls {} times in a row and got the same answers",
                self.last_calls.1
            );
            fatal_problem("repeated_calls", message)
        })
    }
}

/// Whether a request fits the model's window.
enum WindowFit {
    Unchanged,
    /// The conversation was compacted.
    Compacted,
    End(TurnLoopEnd),
}

/// How much of a turn to record.
#[derive(Clone, Copy)]
enum TurnPart {
    /// Only the model's reply.
    Reply,
    /// The reply and the tool results.
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
