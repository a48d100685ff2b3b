//! Reads the model's reply: every delta is recorded, then published.

use std::{future::poll_fn, ops::ControlFlow, task::Poll};

use foxwedge_run::{
    CallRef, EventPayload, RawJson, RunUsage, SharedId, TextUpdate, ToolCallUpdate,
};
use foxwedge_store::Store;
use foxwedge_tools::StopLevel;

use super::{RunRecordError, TurnDriver};
use crate::{take_ready, tool_loop::LoopNotice};
use foxwedge_upstream::model::{
    ModelError, ReplyDelta, ReplyStopReason, ReplyStream, ReplyToolCall, ValidRequest,
};

/// Maximum number of deltas in one write.
const MAX_BATCH: usize = 64;

/// Error code of a reply that is too large to be stored.
const TOO_LARGE: &str = "too_large";

/// How reading a reply ended.
pub(super) enum ReplyReadOutcome {
    /// The reply is complete: its calls, and its stop reason.
    Complete(Vec<ReplyToolCall>, ReplyStopReason),
    /// The run was stopped.
    Stopped,
    /// The reply broke off, or never began.
    Failed(ModelError),
}

/// The part of a reply that was read so far.
#[derive(Default)]
struct ReplyProgress {
    text: String,
    reasoning: String,
    calls: Vec<ReplyToolCall>,
    stop: Option<ReplyStopReason>,
    usage: RunUsage,
    /// Total bytes.
    bytes: usize,
}

impl ReplyProgress {
    /// Whether the reply still fits: it is one message, and its largest encoding has to be stored.
    fn has_room(&mut self, delta: &ReplyDelta) -> bool {
        const MAX_REPLY_BYTES: usize = 2 << 20;
        self.bytes += match delta {
            ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) => text.len(),
            ReplyDelta::Call(call) => call.id.len() + call.name.len() + call.arguments.len(),
            ReplyDelta::Usage(_)
            | ReplyDelta::Stop(_)
            | ReplyDelta::Retrying { .. }
            | ReplyDelta::Repaired(_) => 0,
        };
        self.bytes <= MAX_REPLY_BYTES
    }

    /// The id of a call if it is unique in the turn; else a new one.
    fn unique_id(&self, id: String, turn: u32) -> String {
        let taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        if !id.is_empty() && !taken(&id) {
            return id;
        }
        let base = if id.is_empty() { format!("call-{turn}") } else { id };
        let fresh = (2u32..).map(|number| format!("{base}-{number}")).find(|id| !taken(id));
        fresh.unwrap_or(base)
    }
}

fn too_large_error() -> ModelError {
    let message = "the reply is too large to be stored".to_owned();
    ModelError { code: TOO_LARGE, message, retryable: false }
}

impl<S: Store> TurnDriver<'_, S> {
    /// Sends a request and reads the reply to its end.
    pub(super) async fn read_reply(
        &mut self,
        request: ValidRequest,
    ) -> Result<ReplyReadOutcome, RunRecordError> {
        let wire = self.model.about().wire;
        let mut stream = self.model.send(request);
        let (mut progress, mut stop) = (ReplyProgress::default(), self.stop.clone());
        let outcome = loop {
            let delta = tokio::select! {
                biased;
                () = stop.wait_for(StopLevel::Graceful) => break ReplyReadOutcome::Stopped,
                _ = self.lease_timer.tick() => {
                    self.recorder.check_lease(&self.limits).await?;
                    continue;
                }
                delta = stream.next_delta() => delta,
            };
            // Record all deltas that are ready in one write: a write is slow.
            if let ControlFlow::Break(Some(end)) =
                self.read_ready(delta, &mut *stream, &mut progress).await
            {
                break end;
            }
            self.recorder.save().await?;
        };
        // The raw message of a reply that was too large holds text that was never recorded.
        let all_recorded =
            !matches!(&outcome, ReplyReadOutcome::Failed(error) if error.code == TOO_LARGE);
        self.raw_reply =
            stream.take_message().filter(|_| all_recorded).map(|message| (wire, message));
        drop(stream);
        self.record_reply(&progress, &outcome);
        self.recorder.save().await?;
        Ok(outcome)
    }

    /// Applies a delta and those that are ready after it. Breaks with the end of the reply, or
    /// with `None` if the run is stopped.
    async fn read_ready(
        &mut self,
        first: Result<Option<ReplyDelta>, ModelError>,
        stream: &mut dyn ReplyStream,
        progress: &mut ReplyProgress,
    ) -> ControlFlow<Option<ReplyReadOutcome>> {
        let mut first = Some(first);
        poll_fn(|context| {
            let Some(first) = first.take() else {
                return Poll::Ready(ControlFlow::Continue(()));
            };
            let next = || match stream.next_delta().as_mut().poll(context) {
                Poll::Ready(delta) => Some(delta),
                Poll::Pending => None,
            };
            Poll::Ready(take_ready(first, MAX_BATCH, next, |delta| {
                match delta {
                    Ok(Some(delta)) if !progress.has_room(&delta) => {
                        return ControlFlow::Break(Some(ReplyReadOutcome::Failed(
                            too_large_error(),
                        )));
                    }
                    Ok(Some(delta)) => self.apply_delta(delta, progress),
                    Ok(None) => {
                        let calls = std::mem::take(&mut progress.calls);
                        let stop = progress.stop.unwrap_or(ReplyStopReason::Done);
                        return ControlFlow::Break(Some(ReplyReadOutcome::Complete(calls, stop)));
                    }
                    Err(error) => return ControlFlow::Break(Some(ReplyReadOutcome::Failed(error))),
                }
                match self.is_stopped() {
                    true => ControlFlow::Break(None),
                    false => ControlFlow::Continue(()),
                }
            }))
        })
        .await
    }

    fn apply_delta(&mut self, reply_delta: ReplyDelta, progress: &mut ReplyProgress) {
        let message = Some(SharedId::from(format!("turn-{}", self.turn)));
        let text =
            |delta: String| TextUpdate { message, delta: Some(delta), ..TextUpdate::default() };
        match reply_delta {
            ReplyDelta::Text(delta) => {
                progress.text.push_str(&delta);
                self.recorder.record_event(EventPayload::Text(text(delta)));
            }
            ReplyDelta::Reasoning(delta) => {
                progress.reasoning.push_str(&delta);
                self.recorder.record_event(EventPayload::Thought(text(delta)));
            }
            ReplyDelta::Call(mut call) => {
                call.id = progress.unique_id(call.id, self.turn);
                let replacement = self.names.iter().find(|renamed| renamed.new == call.name);
                if let Some(renamed) = replacement {
                    call.name.clone_from(&renamed.old);
                }
                self.recorder.record_event(EventPayload::ToolCall(self.call_event(&call)));
                progress.calls.push(call);
            }
            ReplyDelta::Usage(usage) => progress.usage = usage,
            ReplyDelta::Stop(stop) => progress.stop = Some(stop),
            ReplyDelta::Retrying { pause, why } => {
                self.recorder.notify(LoopNotice::Retrying { pause, why })
            }
            ReplyDelta::Repaired(changes) => self.recorder.notify(LoopNotice::Repaired(changes)),
        }
    }

    fn call_event(&self, call: &ReplyToolCall) -> ToolCallUpdate {
        let arguments = call.arguments.trim();
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        let input = RawJson::parse(arguments).unwrap_or_else(|| RawJson::string(arguments));
        ToolCallUpdate {
            call: self.call_ref(&call.id),
            name: Some(SharedId::from(call.name.as_str())),
            input: Some(input),
            ..ToolCallUpdate::default()
        }
    }

    pub(super) fn call_ref(&self, id: &str) -> CallRef {
        CallRef { id: Some(SharedId::from(id)), turn: Some(self.turn) }
    }

    /// Records the full texts of a complete reply, and the token usage.
    fn record_reply(&mut self, progress: &ReplyProgress, outcome: &ReplyReadOutcome) {
        let message = Some(SharedId::from(format!("turn-{}", self.turn)));
        let whole = |text: &str| {
            let full = Some(text.to_owned());
            TextUpdate { message: message.clone(), full, ..TextUpdate::default() }
        };
        if matches!(outcome, ReplyReadOutcome::Complete(..)) {
            if !progress.reasoning.is_empty() {
                self.recorder.record_event(EventPayload::Thought(whole(&progress.reasoning)));
            }
            if !progress.text.is_empty() {
                self.recorder.record_event(EventPayload::Text(whole(&progress.text)));
            }
        }
        let RunUsage { input, output, cached, reasoning } = progress.usage;
        self.usage.input += input;
        self.usage.output += output;
        self.usage.cached += cached;
        self.usage.reasoning += reasoning;
        if progress.usage != RunUsage::default() {
            self.recorder.record_event(EventPayload::Usage(self.usage));
        }
    }
}
