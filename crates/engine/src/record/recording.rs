//! A request that is at work: what happens in it, handed on as it happens.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_dialect::{model, stream::event::StreamEvent};
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
    agent::AgentPresence,
    config::{ContentRecording, GuardMode},
    metrics::DroppedItem,
};

/// A request that is at work. Dropped before its end: the client is gone.
#[derive(Debug)]
pub struct RequestRecording {
    recorder: GatewayRecorder,
    session: Arc<str>,
    position: RunPosition,
    reply: ReplyRecorder,
    repair_context: RepairContext,
    /// The live agent that replies.
    agent: Option<AgentPresence>,
    /// The way to the writer; none if nothing is kept, there was no room, or it is over.
    sender: Option<RequestRecordSender>,
}

/// What is known of the request itself, for a repair that comes later.
#[derive(Debug)]
struct RepairContext {
    owner: Arc<str>,
    request: Arc<str>,
    model: Arc<str>,
    before: Bytes,
    mode: GuardMode,
    wire: Format,
    changes: usize,
    repair: Option<u64>,
}

/// Where a request stands in its run.
#[derive(Debug)]
pub(super) struct RunPosition {
    pub(super) run: Arc<str>,
    /// Which request of the run it is, from 1 on.
    pub(super) turn: u32,
    /// Calls of earlier replies that are still without an answer.
    pub(super) open: Vec<Arc<str>>,
}

impl RequestRecording {
    pub(super) fn new(
        recorder: &GatewayRecorder,
        begin: &RecordingStart<'_>,
        place: RunPosition,
        line: Option<RequestRecordSender>,
    ) -> RequestRecording {
        let mut recording = RequestRecording {
            recorder: recorder.clone(),
            session: begin.session.clone(),
            reply: {
                let words = recorder.0.live_text.as_ref().filter(|_| line.is_some());
                let room = words.map(|words| words.budget());
                ReplyRecorder::new(recorder.0.config.content, room, place.turn)
            },
            repair_context: RepairContext {
                owner: begin.owner.clone(),
                request: begin.request.clone(),
                model: begin.model.clone(),
                before: begin.original_body.clone(),
                mode: begin.mode,
                wire: begin.wire,
                changes: begin.guarded.changes.len(),
                repair: None,
            },
            position: place,
            agent: None,
            sender: line,
        };
        recording.record_repair(begin.guarded);
        recording
    }

    /// The run.
    pub fn run(&self) -> &Arc<str> {
        &self.position.run
    }

    /// A way into the run for what happens beside the reply; none if nothing is kept.
    pub(crate) fn side_channel(&mut self) -> Option<SideChannel> {
        let line = self.sender.as_mut()?;
        let told = self.reply.start_early();
        if !told.is_empty() {
            self.recorder.0.append_events(line, told);
        }
        Some(SideChannel {
            queue: self.recorder.0.queue.clone(),
            session: self.session.clone(),
            run: self.position.run.clone(),
            content: self.recorder.0.config.content,
            waiting_runs: self.recorder.0.waiting_runs.clone(),
            open_questions: HashMap::new(),
        })
    }

    /// A live agent replies: it closes calls that nobody answers in time.
    pub(crate) fn set_agent(&mut self, agent: AgentPresence) {
        self.agent = Some(agent);
    }

    /// Something happens in a reply that comes in pieces.
    pub fn record_event(&mut self, event: &StreamEvent<'_>) {
        let Some(line) = &mut self.sender else {
            // Calls still leave the run open, and nothing else is of use.
            return;
        };
        self.reply.record_event(event);
        self.recorder.0.keep_live_text(&self.position.run, &mut self.reply);
        if let Some(told) = self.reply.take_due(Instant::now()) {
            self.recorder.0.append_events(line, told);
        }
    }

    /// A reply that came whole.
    pub fn record_reply(&mut self, reply: &model::ModelReply<'_>) {
        if self.sender.is_some() {
            self.reply.record_reply(reply);
        }
    }

    /// The request was repaired once more, since the upstream refused it.
    pub fn record_changes(&mut self, guarded: &GuardedRequest) {
        if guarded.changes.len() > self.repair_context.changes {
            self.repair_context.changes = guarded.changes.len();
            self.record_repair(guarded);
            self.reply.add_annotations(annotations::annotations_for(guarded, self.position.turn));
        }
        // The body is not needed any more, and may be large.
        self.repair_context.before = Bytes::new();
    }

    /// The reply has ended; behind it the conversation has this value.
    pub fn finish(mut self, ended: ReplyCompletion, tip: Option<u128>) {
        let ending = match ended {
            ReplyCompletion::Complete => self.reply.outcome(),
            ReplyCompletion::Failed => RequestOutcome::failed(self.reply.error_code()),
            ReplyCompletion::Cut => RequestOutcome::failed("upstream_cut"),
        };
        self.close(ending, tip);
    }

    /// The upstream refused, or was in trouble.
    pub fn fail_with_status(mut self, status: StatusCode) {
        self.close(RequestOutcome::failed(format!("upstream_{}", status.as_u16())), None);
    }

    /// Something went wrong on our side, in a word.
    pub fn fail_with_code(mut self, code: &'static str) {
        let ending = match code {
            "run_stopped" => RequestOutcome::Stopped,
            code => RequestOutcome::failed(code),
        };
        self.close(ending, None);
    }

    /// Somebody stopped the run.
    pub fn stop(mut self) {
        self.close(RequestOutcome::Stopped, None);
    }

    fn close(&mut self, ending: RequestOutcome, tip: Option<u128>) {
        let Some(line) = self.sender.take() else { return };
        let inner = self.recorder.0.clone();
        let said = self.reply.finish(&ending);
        inner.keep_live_text(&self.position.run, &mut self.reply);
        if let (RequestOutcome::WaitsForTools, RecordCompleteness::Complete) =
            (&ending, line.completeness())
        {
            let mut calls = std::mem::take(&mut self.position.open);
            // Calls that are still open may have been listed once more.
            calls.retain(|call| !said.calls.contains(call));
            calls.extend(said.calls);
            let run = self.position.run.clone();
            let due = Instant::now() + inner.call_timeout;
            // Before the writer hears of it: the answers may come at once.
            let (turn, agent) = (self.position.turn, self.agent.take());
            inner
                .waiting_runs
                .insert(&self.session, RunAwaitingTools { run, turn, calls, due, agent });
        }
        line.close(Box::new(RequestEnd {
            run: self.position.run.clone(),
            turn: self.position.turn,
            at: unix_millis(),
            events: said.events,
            usage: said.usage,
            text: said.text,
            outcome: ending,
            tip,
        }));
    }

    fn record_repair(&mut self, guarded: &GuardedRequest) {
        let repairs = &self.recorder.0.repairs;
        if !RepairRecord::is_notable(guarded) || !repairs.is_enabled() {
            return;
        }
        let noted = &mut self.repair_context;
        let bodies = match self.recorder.0.config.content {
            ContentRecording::Stored => Some((noted.before.clone(), guarded.body.clone())),
            ContentRecording::Omitted => None,
        };
        let repair = RepairRecord {
            number: 0,
            at: unix_millis(),
            request: noted.request.clone(),
            owner: noted.owner.clone(),
            session: self.session.clone(),
            run: self.position.run.clone(),
            model: noted.model.clone(),
            mode: noted.mode,
            wire: noted.wire,
            action: guarded.action,
            findings: guarded.findings.clone(),
            changes: guarded.changes.clone(),
            losses: guarded.losses.clone(),
            compacted: guarded.compacted,
            bytes: (noted.before.len(), guarded.body.len()),
            bodies,
        };
        noted.repair = Some(repairs.insert(noted.repair, repair));
    }
}

impl Drop for RequestRecording {
    fn drop(&mut self) {
        self.close(RequestOutcome::Stopped, None);
    }
}

impl RecorderShared {
    /// Before the writer hears of it: whoever follows the run reads both.
    fn keep_live_text(&self, run: &Arc<str>, heard: &mut ReplyRecorder) {
        if let Some(words) = &self.live_text {
            for (place, said) in heard.take_live_text() {
                words.keep(run, place, said);
            }
        }
    }

    fn append_events(&self, line: &mut RequestRecordSender, told: Vec<TimedEvent>) {
        if line.append_events(told).is_err() {
            self.metrics.count_dropped(DroppedItem::Records, 1);
        }
    }
}
