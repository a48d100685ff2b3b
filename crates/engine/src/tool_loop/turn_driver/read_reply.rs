//! Listening to the model: every piece is kept, then told.

use std::{future::poll_fn, ops::ControlFlow, task::Poll};

use foxwedge_run::{
    CallRef, EventPayload, RawJson, RunUsage, SharedId, TextUpdate, ToolCallUpdate,
};
use foxwedge_store::Store;
use foxwedge_tools::StopLevel;

use super::{RunRecordError, TurnDriver};
use crate::{
    model::{ModelError, ReplyDelta, ReplyStopReason, ReplyStream, ReplyToolCall, ValidRequest},
    take_ready,
    tool_loop::LoopNotice,
};

/// Pieces that are kept together at most.
const MAX_BATCH: usize = 64;

/// The code of a reply that is too large to be kept.
const TOO_LARGE: &str = "too_large";

/// What was heard.
pub(super) enum ReplyReadOutcome {
    /// All of it: the calls, and why it ended.
    Complete(Vec<ReplyToolCall>, ReplyStopReason),
    /// Somebody wanted it to stop.
    Stopped,
    /// It broke off, or never began.
    Failed(ModelError),
}

/// What a turn said so far.
#[derive(Default)]
struct ReplyProgress {
    text: String,
    reasoning: String,
    calls: Vec<ReplyToolCall>,
    stop: Option<ReplyStopReason>,
    usage: RunUsage,
    /// Bytes in all.
    bytes: usize,
}

impl ReplyProgress {
    /// Whether more can be kept: a reply is one message, and its worst spelling has to fit.
    fn has_room(&mut self, piece: &ReplyDelta) -> bool {
        const MOST: usize = 2 << 20;
        self.bytes += match piece {
            ReplyDelta::Text(text) | ReplyDelta::Reasoning(text) => text.len(),
            ReplyDelta::Call(called) => {
                called.id.len() + called.name.len() + called.arguments.len()
            }
            ReplyDelta::Usage(_)
            | ReplyDelta::Stop(_)
            | ReplyDelta::Retrying { .. }
            | ReplyDelta::Repaired(_) => 0,
        };
        self.bytes <= MOST
    }

    /// The id of a call, if no other call of the turn has it; else one of its own.
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
    let message = "the reply is too large to be kept".to_owned();
    ModelError { code: TOO_LARGE, message, retryable: false }
}

impl<S: Store> TurnDriver<'_, S> {
    /// Asks, and listens to the end.
    pub(super) async fn read_reply(
        &mut self,
        request: ValidRequest,
    ) -> Result<ReplyReadOutcome, RunRecordError> {
        let wire = self.model.about().wire;
        let mut speech = self.model.send(request);
        let (mut turn, mut stop) = (ReplyProgress::default(), self.stop.clone());
        let heard = loop {
            let piece = tokio::select! {
                biased;
                () = stop.wait_for(StopLevel::Graceful) => break ReplyReadOutcome::Stopped,
                _ = self.lease_timer.tick() => {
                    self.recorder.check_lease(&self.limits).await?;
                    continue;
                }
                piece = speech.next_delta() => piece,
            };
            // What is there already is kept together: a write takes its time.
            if let ControlFlow::Break(Some(end)) =
                self.read_ready(piece, &mut *speech, &mut turn).await
            {
                break end;
            }
            self.recorder.save().await?;
        };
        // A message with words that were not taken would say more than anybody was told.
        let all_taken =
            !matches!(&heard, ReplyReadOutcome::Failed(error) if error.code == TOO_LARGE);
        self.raw_reply = speech.take_message().filter(|_| all_taken).map(|message| (wire, message));
        drop(speech);
        self.record_reply(&turn, &heard);
        self.recorder.save().await?;
        Ok(heard)
    }

    /// Takes a piece and those that are ready behind it. Breaks with the end of the reply, or
    /// without one if somebody wants to stop.
    async fn read_ready(
        &mut self,
        first: Result<Option<ReplyDelta>, ModelError>,
        speech: &mut dyn ReplyStream,
        turn: &mut ReplyProgress,
    ) -> ControlFlow<Option<ReplyReadOutcome>> {
        let mut first = Some(first);
        poll_fn(|context| {
            let Some(first) = first.take() else {
                return Poll::Ready(ControlFlow::Continue(()));
            };
            let next = || match speech.next_delta().as_mut().poll(context) {
                Poll::Ready(piece) => Some(piece),
                Poll::Pending => None,
            };
            Poll::Ready(take_ready(first, MAX_BATCH, next, |piece| {
                match piece {
                    Ok(Some(piece)) if !turn.has_room(&piece) => {
                        return ControlFlow::Break(Some(ReplyReadOutcome::Failed(
                            too_large_error(),
                        )));
                    }
                    Ok(Some(piece)) => self.apply_delta(piece, turn),
                    Ok(None) => {
                        let calls = std::mem::take(&mut turn.calls);
                        let stop = turn.stop.unwrap_or(ReplyStopReason::Done);
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

    fn apply_delta(&mut self, piece: ReplyDelta, turn: &mut ReplyProgress) {
        let message = Some(SharedId::from(format!("turn-{}", self.turn)));
        let text =
            |delta: String| TextUpdate { message, delta: Some(delta), ..TextUpdate::default() };
        match piece {
            ReplyDelta::Text(delta) => {
                turn.text.push_str(&delta);
                self.recorder.record_event(EventPayload::Text(text(delta)));
            }
            ReplyDelta::Reasoning(delta) => {
                turn.reasoning.push_str(&delta);
                self.recorder.record_event(EventPayload::Thought(text(delta)));
            }
            ReplyDelta::Call(mut called) => {
                called.id = turn.unique_id(called.id, self.turn);
                let known = self.names.iter().find(|renamed| renamed.new == called.name);
                if let Some(renamed) = known {
                    called.name.clone_from(&renamed.old);
                }
                self.recorder.record_event(EventPayload::ToolCall(self.call_event(&called)));
                turn.calls.push(called);
            }
            ReplyDelta::Usage(usage) => turn.usage = usage,
            ReplyDelta::Stop(stop) => turn.stop = Some(stop),
            ReplyDelta::Retrying { pause, why } => {
                self.recorder.notify(LoopNotice::Retrying { pause, why })
            }
            ReplyDelta::Repaired(changes) => self.recorder.notify(LoopNotice::Repaired(changes)),
        }
    }

    fn call_event(&self, called: &ReplyToolCall) -> ToolCallUpdate {
        let arguments = called.arguments.trim();
        let arguments = if arguments.is_empty() { "{}" } else { arguments };
        let input = RawJson::parse(arguments).unwrap_or_else(|| RawJson::string(arguments));
        ToolCallUpdate {
            call: self.call_ref(&called.id),
            name: Some(SharedId::from(called.name.as_str())),
            input: Some(input),
            ..ToolCallUpdate::default()
        }
    }

    pub(super) fn call_ref(&self, id: &str) -> CallRef {
        CallRef { id: Some(SharedId::from(id)), turn: Some(self.turn) }
    }

    /// Says that the texts are whole, if they are, and what it cost.
    fn record_reply(&mut self, turn: &ReplyProgress, heard: &ReplyReadOutcome) {
        let message = Some(SharedId::from(format!("turn-{}", self.turn)));
        let whole = |text: &str| {
            let full = Some(text.to_owned());
            TextUpdate { message: message.clone(), full, ..TextUpdate::default() }
        };
        if matches!(heard, ReplyReadOutcome::Complete(..)) {
            if !turn.reasoning.is_empty() {
                self.recorder.record_event(EventPayload::Thought(whole(&turn.reasoning)));
            }
            if !turn.text.is_empty() {
                self.recorder.record_event(EventPayload::Text(whole(&turn.text)));
            }
        }
        let RunUsage { input, output, cached, reasoning } = turn.usage;
        self.usage.input += input;
        self.usage.output += output;
        self.usage.cached += cached;
        self.usage.reasoning += reasoning;
        if turn.usage != RunUsage::default() {
            self.recorder.record_event(EventPayload::Usage(self.usage));
        }
    }
}
