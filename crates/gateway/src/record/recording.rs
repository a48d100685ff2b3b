//! The recording of a request in progress.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use foxwedge_agents::AgentPresence;
use foxwedge_core::Format;
use foxwedge_formats::{
    model,
    stream::{event::StreamEvent, reply_events},
};
use http::StatusCode;
use tokio::time::Instant;

use super::{
    GatewayRecorder, RecorderShared, RecordingStart, RepairRecord, ReplyCompletion, annotations,
    queue::{RecordCompleteness, RequestEnd, RequestOutcome, RequestRecordSender, TimedEvent},
    reply_recorder::ReplyRecorder,
    side_channel::SideChannel,
    unix_millis,
    waiting_runs::RunAwaitingTools,
};
use crate::{
    GuardedRequest,
    config::{ContentRecording, GuardMode},
    log::RecordLoss,
};

/// The recording of a request in progress. Dropping it before its end means that the client has
/// disconnected.
#[derive(Debug)]
pub struct RequestRecording {
    recorder: GatewayRecorder,
    session: Arc<str>,
    position: RunPosition,
    reply: ReplyRecorder,
    repair_context: RepairContext,
    /// The live agent that replies.
    agent: Option<AgentPresence>,
    /// The sender to the writer; `None` if nothing is recorded, there was no room, or the request
    /// has ended.
    sender: Option<RequestRecordSender>,
}

/// What a later repair record needs to know about the request.
#[derive(Debug)]
struct RepairContext {
    owner: Arc<str>,
    request: Arc<str>,
    model: Arc<str>,
    before: Bytes,
    mode: GuardMode,
    format: Format,
    changes: usize,
    repair: Option<u64>,
}

/// The position of a request in its run.
#[derive(Debug)]
pub(super) struct RunPosition {
    pub(super) run: Arc<str>,
    /// The number of the request in its run, from 1.
    pub(super) turn: u32,
    /// Calls of earlier replies that still have no result.
    pub(super) open: Vec<Arc<str>>,
}

impl RequestRecording {
    pub(super) fn new(
        recorder: &GatewayRecorder,
        start: &RecordingStart<'_>,
        position: RunPosition,
        sender: Option<RequestRecordSender>,
    ) -> RequestRecording {
        let mut recording = RequestRecording {
            recorder: recorder.clone(),
            session: start.session.clone(),
            reply: {
                let live_text = recorder.0.live_text.as_ref().filter(|_| sender.is_some());
                let budget = live_text.map(|live_text| live_text.budget());
                ReplyRecorder::new(recorder.0.config.store_content, budget, position.turn)
            },
            repair_context: RepairContext {
                owner: start.owner.clone(),
                request: start.request.clone(),
                model: start.model.clone(),
                before: start.original_body.clone(),
                mode: start.mode,
                format: start.format,
                changes: start.guarded.changes.len(),
                repair: None,
            },
            position,
            agent: None,
            sender,
        };
        recording.record_repair(start.guarded);
        recording
    }

    /// The run.
    pub fn run(&self) -> &Arc<str> {
        &self.position.run
    }

    /// A channel for events beside the reply; `None` if nothing is recorded.
    pub(crate) fn side_channel(&mut self) -> Option<SideChannel> {
        let sender = self.sender.as_mut()?;
        let events = self.reply.start_early();
        if !events.is_empty() {
            self.recorder.0.append_events(sender, events);
        }
        Some(SideChannel {
            queue: self.recorder.0.queue.clone(),
            session: self.session.clone(),
            run: self.position.run.clone(),
            content: self.recorder.0.config.store_content,
            waiting_runs: self.recorder.0.waiting_runs.clone(),
            open_questions: HashMap::new(),
        })
    }

    /// Sets the live agent that replies: it closes calls that time out.
    pub(crate) fn set_agent(&mut self, agent: AgentPresence) {
        self.agent = Some(agent);
    }

    /// Records an event of a streamed reply.
    pub fn record_event(&mut self, event: &StreamEvent<'_>) {
        let Some(sender) = &mut self.sender else {
            // Nothing is recorded.
            return;
        };
        self.reply.record_event(event);
        self.recorder.0.keep_live_text(&self.position.run, &mut self.reply);
        if let Some(events) = self.reply.take_due(Instant::now()) {
            self.recorder.0.append_events(sender, events);
        }
    }

    /// Records a complete reply.
    pub fn record_reply(&mut self, reply: &model::ModelReply<'_>) {
        if self.sender.is_some() {
            reply_events(reply, |event| self.reply.record_event(event));
        }
    }

    /// Records a second repair, after the upstream refused the request.
    pub fn record_changes(&mut self, guarded: &GuardedRequest) {
        if guarded.changes.len() > self.repair_context.changes {
            self.repair_context.changes = guarded.changes.len();
            self.record_repair(guarded);
            self.reply.add_annotations(annotations::annotations_for(guarded, self.position.turn));
        }
        // The body may be large and is no longer needed.
        self.repair_context.before = Bytes::new();
    }

    /// Ends the recording with the reply; `tip` is the digest of the conversation after it.
    pub fn finish(mut self, completion: ReplyCompletion, tip: Option<u128>) {
        let outcome = match completion {
            ReplyCompletion::Complete => self.reply.outcome(),
            ReplyCompletion::Failed => RequestOutcome::failed(self.reply.error_code()),
            ReplyCompletion::Cut => RequestOutcome::failed("upstream_cut"),
            ReplyCompletion::Unread => RequestOutcome::failed("upstream_unreadable"),
        };
        self.close(outcome, tip);
    }

    /// Ends the recording with an upstream error.
    pub fn fail_with_status(mut self, status: StatusCode) {
        self.close(RequestOutcome::failed(format!("upstream_{}", status.as_u16())), None);
    }

    /// Ends the recording with an error of the gateway.
    pub fn fail_with_code(mut self, code: &'static str) {
        let outcome = match code {
            "run_stopped" => RequestOutcome::Stopped,
            code => RequestOutcome::failed(code),
        };
        self.close(outcome, None);
    }

    /// Ends the recording because the run was stopped.
    pub fn stop(mut self) {
        self.close(RequestOutcome::Stopped, None);
    }

    fn close(&mut self, outcome: RequestOutcome, tip: Option<u128>) {
        let Some(sender) = self.sender.take() else { return };
        let inner = self.recorder.0.clone();
        let recorded = self.reply.finish(&outcome);
        inner.keep_live_text(&self.position.run, &mut self.reply);
        if let (RequestOutcome::WaitsForTools, RecordCompleteness::Complete) =
            (&outcome, sender.completeness())
        {
            let mut calls = std::mem::take(&mut self.position.open);
            // Calls that are still open may have been listed again.
            calls.retain(|call| !recorded.calls.contains(call));
            calls.extend(recorded.calls);
            let run = self.position.run.clone();
            let due = Instant::now() + inner.call_timeout;
            // Before the writer gets the end: the results may come at once.
            let (turn, agent) = (self.position.turn, self.agent.take());
            inner
                .waiting_runs
                .insert(&self.session, RunAwaitingTools { run, turn, calls, due, agent });
        }
        sender.close(Box::new(RequestEnd {
            run: self.position.run.clone(),
            turn: self.position.turn,
            at: unix_millis(),
            events: recorded.events,
            usage: recorded.usage,
            text: recorded.text,
            outcome,
            tip,
        }));
    }

    fn record_repair(&mut self, guarded: &GuardedRequest) {
        let repairs = &self.recorder.0.repairs;
        if !RepairRecord::is_notable(guarded) || !repairs.is_enabled() {
            return;
        }
        let context = &mut self.repair_context;
        let bodies = match self.recorder.0.config.store_content {
            ContentRecording::Stored => Some((context.before.clone(), guarded.body.clone())),
            ContentRecording::Omitted => None,
        };
        let repair = RepairRecord {
            number: 0,
            at: unix_millis(),
            request: context.request.clone(),
            owner: context.owner.clone(),
            session: self.session.clone(),
            run: self.position.run.clone(),
            model: context.model.clone(),
            mode: context.mode,
            format: context.format,
            action: guarded.action,
            findings: guarded.findings.clone(),
            changes: guarded.changes.clone(),
            losses: guarded.losses.clone(),
            compacted: guarded.compacted,
            bytes: (context.before.len(), guarded.body.len()),
            bodies,
        };
        context.repair = Some(repairs.insert(context.repair, repair));
    }
}

impl Drop for RequestRecording {
    fn drop(&mut self) {
        self.close(RequestOutcome::Stopped, None);
    }
}

impl RecorderShared {
    /// Keeps the text before the writer gets the events: followers of the run read both.
    fn keep_live_text(&self, run: &Arc<str>, reply: &mut ReplyRecorder) {
        if let Some(live_text) = &self.live_text {
            for (key, text) in reply.take_live_text() {
                live_text.keep(run, key, text);
            }
        }
    }

    fn append_events(&self, sender: &mut RequestRecordSender, events: Vec<TimedEvent>) {
        if sender.append_events(events).is_err() {
            self.notices.record_lost(RecordLoss::QueueFull);
        }
    }
}
