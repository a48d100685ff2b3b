//! The bounded queue from requests to the writer task. What does not fit is dropped and counted;
//! requests never wait. Room for the end of a request is reserved at its start, so that no run
//! stays open for lack of room.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::model;
use foxwedge_run::EventPayload;
use foxwedge_store::Lease;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::{Duration, sleep},
};

use crate::session::SessionMatchKind;

/// How many items may wait. Every request in progress has reserved one.
pub(super) const QUEUE_CAPACITY: usize = 16_384;

/// Approximate limit of queued bytes.
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// From this size on, the writer does not wait for more.
const URGENT_BYTES: usize = MAX_QUEUED_BYTES / 4;

/// An item of the queue.
#[derive(Debug)]
pub(super) enum RecordQueueItem {
    /// A command for a session.
    Command(Arc<str>, RecordCommand),
    /// A request to be notified when everything before it is written.
    Flush(oneshot::Sender<()>),
    /// The recorder is shutting down.
    Stop,
}

impl RecordQueueItem {
    /// When it was queued, in milliseconds since 1970, if known.
    pub(super) fn at(&self) -> Option<u64> {
        match self {
            RecordQueueItem::Command(_, RecordCommand::StartRequest(start)) => Some(start.at),
            RecordQueueItem::Command(_, RecordCommand::AppendEvents(_, events)) => {
                events.last().map(|event| event.at)
            }
            RecordQueueItem::Command(_, RecordCommand::FinishRequest(end, _)) => Some(end.at),
            RecordQueueItem::Command(
                _,
                RecordCommand::ExpireCalls(..)
                | RecordCommand::MarkInterrupted(_)
                | RecordCommand::ForgetRun(_)
                | RecordCommand::AdoptRun(..),
            )
            | RecordQueueItem::Flush(_)
            | RecordQueueItem::Stop => None,
        }
    }
}

/// A command for one session.
#[derive(Debug)]
pub(super) enum RecordCommand {
    /// A request starts.
    StartRequest(Box<RequestStart>),
    /// Events of its reply.
    AppendEvents(Arc<str>, Vec<TimedEvent>),
    /// The request has ended.
    FinishRequest(Box<RequestEnd>, RecordCompleteness),
    /// The calls of a run did not get their results in time.
    ExpireCalls(Arc<str>, Vec<Arc<str>>),
    /// A run cannot continue.
    MarkInterrupted(Arc<str>),
    /// Another process or the user has ended a run.
    ForgetRun(Arc<str>),
    /// A run of another node continues here.
    AdoptRun(Arc<str>, Lease),
}

/// The start of a request.
#[derive(Debug)]
pub(super) struct RequestStart {
    pub(super) run: Arc<str>,
    /// The number of the request in its run, from 1.
    pub(super) turn: u32,
    pub(super) at: u64,
    pub(super) owner: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) agent: Option<Arc<str>>,
    pub(super) match_kind: SessionMatchKind,
    pub(super) forked: Option<Arc<str>>,
    pub(super) format: Format,
    /// Calls of the run whose results it brings.
    pub(super) answered_calls: Vec<Arc<str>>,
    /// Calls whose result is marked as an error.
    pub(super) failed_calls: Vec<Arc<str>>,
    /// The body, if the content of the results is stored.
    pub(super) body: Option<(Bytes, Format)>,
    pub(super) annotations: Vec<EventPayload>,
}

/// An event and its time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TimedEvent {
    pub(super) at: u64,
    pub(super) body: EventPayload,
}

/// The end of a request.
#[derive(Debug)]
pub(super) struct RequestEnd {
    pub(super) run: Arc<str>,
    pub(super) turn: u32,
    pub(super) at: u64,
    /// Events that were not sent yet.
    pub(super) events: Vec<TimedEvent>,
    pub(super) usage: model::TokenUsage,
    /// The final text of the model, if it is not among the events.
    pub(super) text: Option<String>,
    pub(super) outcome: RequestOutcome,
    pub(super) tip: Option<u128>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// With a reply without calls.
    Replied,
    /// With a reply that calls tools: the run continues.
    WaitsForTools,
    /// The model refused.
    Refused,
    /// With an error code.
    Failed(Cow<'static, str>),
    /// It was stopped, or the client disconnected.
    Stopped,
}

impl RequestOutcome {
    pub(super) fn failed(code: impl Into<Cow<'static, str>>) -> RequestOutcome {
        RequestOutcome::Failed(code.into())
    }
}

/// Whether all events between start and end were queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordCompleteness {
    Complete,
    Incomplete,
}

/// The sender of the queue. Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub(super) struct RecordQueue {
    sender: mpsc::Sender<RecordQueueItem>,
    shared: Arc<RecordQueueShared>,
}

#[derive(Debug, Default)]
struct RecordQueueShared {
    bytes: AtomicUsize,
    /// Notified when a reader waits for the writer, or much is queued.
    urgent: Notify,
}

impl RecordQueueShared {
    fn has_room(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) <= MAX_QUEUED_BYTES
    }

    fn add(&self, size: usize) {
        let before = self.bytes.fetch_add(size, Ordering::Relaxed);
        if before.saturating_add(size) > URGENT_BYTES {
            self.urgent.notify_one();
        }
    }
}

/// Whether the writer may wait for more items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteUrgency {
    Urgent,
    Normal,
}

/// The receiver of the queue.
#[derive(Debug)]
pub(super) struct RecordQueueReader {
    receiver: mpsc::Receiver<RecordQueueItem>,
    shared: Arc<RecordQueueShared>,
}

/// The sender for one request, with room reserved for its end.
#[derive(Debug)]
pub(super) struct RequestRecordSender {
    queue: RecordQueue,
    session: Arc<str>,
    run: Arc<str>,
    end_permit: mpsc::OwnedPermit<RecordQueueItem>,
    completeness: RecordCompleteness,
}

/// The queue is full.
#[derive(Debug)]
pub(super) struct RecordQueueFull;

pub(super) fn open(capacity: usize) -> (RecordQueue, RecordQueueReader) {
    let (sender, receiver) = mpsc::channel(capacity.max(2));
    let shared = Arc::new(RecordQueueShared::default());
    (RecordQueue { sender, shared: shared.clone() }, RecordQueueReader { receiver, shared })
}

impl RecordQueue {
    /// Queues the start of a request. `None` if there is no room for its start and its end.
    pub(super) fn start_request(
        &self,
        session: &Arc<str>,
        start: impl FnOnce() -> Box<RequestStart>,
    ) -> Option<RequestRecordSender> {
        if !self.shared.has_room() {
            return None;
        }
        let end_permit = self.sender.clone().try_reserve_owned().ok()?;
        let permit = self.sender.try_reserve().ok()?;
        let start = start();
        let run = start.run.clone();
        let item = RecordQueueItem::Command(session.clone(), RecordCommand::StartRequest(start));
        self.shared.add(item_bytes(&item));
        permit.send(item);
        let (queue, session) = (self.clone(), session.clone());
        Some(RequestRecordSender {
            queue,
            session,
            run,
            end_permit,
            completeness: RecordCompleteness::Complete,
        })
    }

    /// Forgets a run that has ended elsewhere. If there is no room, the writer finds out by itself.
    pub(super) fn forget_run(&self, session: &Arc<str>, run: &str) {
        let item = RecordQueueItem::Command(session.clone(), RecordCommand::ForgetRun(run.into()));
        let _ = self.sender.try_send(item);
    }

    /// Queues a command, and waits for room if there is none.
    pub(super) async fn send(&self, session: &Arc<str>, command: RecordCommand) {
        // A writer that has ended writes nothing.
        let _ = self.sender.send(RecordQueueItem::Command(session.clone(), command)).await;
    }

    /// Queues an event that is not part of a reply.
    pub(super) fn append_side_event(&self, session: &Arc<str>, run: &Arc<str>, event: TimedEvent) {
        if !self.shared.has_room() {
            return;
        }
        let item = RecordQueueItem::Command(
            session.clone(),
            RecordCommand::AppendEvents(run.clone(), vec![event]),
        );
        let size = item_bytes(&item);
        if self.sender.try_send(item).is_ok() {
            self.shared.add(size);
        }
    }

    /// Waits until everything queued so far is written.
    pub(super) async fn flush(&self) {
        let (sender, written) = oneshot::channel();
        if self.sender.send(RecordQueueItem::Flush(sender)).await.is_ok() {
            self.shared.urgent.notify_one();
            // A writer that has ended writes nothing.
            let _ = written.await;
        }
    }

    /// Tells the writer to stop.
    pub(super) async fn stop(&self) {
        let _ = self.sender.send(RecordQueueItem::Stop).await;
        self.shared.urgent.notify_one();
    }
}

impl RequestRecordSender {
    /// Queues events. After the first failure, all later events are dropped.
    ///
    /// # Errors
    /// The first time that there is no room.
    pub(super) fn append_events(&mut self, events: Vec<TimedEvent>) -> Result<(), RecordQueueFull> {
        if self.completeness == RecordCompleteness::Incomplete {
            return Ok(());
        }
        let item = RecordQueueItem::Command(
            self.session.clone(),
            RecordCommand::AppendEvents(self.run.clone(), events),
        );
        let size = item_bytes(&item);
        if !self.queue.shared.has_room() || self.queue.sender.try_send(item).is_err() {
            self.completeness = RecordCompleteness::Incomplete;
            return Err(RecordQueueFull);
        }
        self.queue.shared.add(size);
        Ok(())
    }

    pub(super) fn completeness(&self) -> RecordCompleteness {
        self.completeness
    }

    /// Queues the end of the request. There is always room for it.
    pub(super) fn close(self, mut request_end: Box<RequestEnd>) {
        let RequestRecordSender { queue, session, end_permit, completeness, .. } = self;
        match completeness {
            RecordCompleteness::Complete => {}
            RecordCompleteness::Incomplete => request_end.events.clear(),
        }
        let item = RecordQueueItem::Command(
            session,
            RecordCommand::FinishRequest(request_end, completeness),
        );
        queue.shared.add(item_bytes(&item));
        end_permit.send(item);
    }
}

impl RecordQueueReader {
    /// Waits for items, at most `max`. Returns 0 if all senders are gone.
    pub(super) async fn next(&mut self, items: &mut Vec<RecordQueueItem>, max: usize) -> usize {
        let previous = items.len();
        let count = self.receiver.recv_many(items, max).await;
        self.release_bytes(items.get(previous..).unwrap_or_default());
        count
    }

    /// Takes the items that are ready, at most `max`.
    pub(super) fn take_ready(&mut self, items: &mut Vec<RecordQueueItem>, max: usize) {
        let previous = items.len();
        let next = std::iter::from_fn(|| self.receiver.try_recv().ok());
        items.extend(next.take(max));
        self.release_bytes(items.get(previous..).unwrap_or_default());
    }

    /// Waits for a time, unless a write is urgent.
    pub(super) async fn wait_unless_urgent(&self, time: Duration) -> WriteUrgency {
        tokio::select! {
            biased;
            () = self.shared.urgent.notified() => WriteUrgency::Urgent,
            () = sleep(time) => WriteUrgency::Normal,
        }
    }

    fn release_bytes(&self, items: &[RecordQueueItem]) {
        let size: usize = items.iter().map(item_bytes).sum();
        // An item may be received before its size is added; the sum is correct a moment later.
        let _ = self.shared.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
            Some(bytes.saturating_sub(size))
        });
    }

    /// Closes the queue. Only reserved items can follow.
    pub(super) fn close(&mut self) {
        self.receiver.close();
    }
}

/// The approximate size of an item: only large fields count.
fn item_bytes(item: &RecordQueueItem) -> usize {
    const BASE_BYTES: usize = 128;
    let events_bytes =
        |events: &[TimedEvent]| events.iter().map(|event| event_bytes(&event.body)).sum::<usize>();
    match item {
        RecordQueueItem::Command(_, RecordCommand::StartRequest(start)) => {
            let body_bytes = start.body.as_ref().map_or(0, |(body, _)| body.len());
            BASE_BYTES + body_bytes + start.annotations.iter().map(event_bytes).sum::<usize>()
        }
        RecordQueueItem::Command(_, RecordCommand::AppendEvents(_, events)) => {
            BASE_BYTES + events_bytes(events)
        }
        RecordQueueItem::Command(_, RecordCommand::FinishRequest(end, _)) => {
            BASE_BYTES + events_bytes(&end.events) + end.text.as_ref().map_or(0, String::len)
        }
        RecordQueueItem::Command(
            _,
            RecordCommand::ExpireCalls(..)
            | RecordCommand::MarkInterrupted(_)
            | RecordCommand::ForgetRun(_)
            | RecordCommand::AdoptRun(..),
        )
        | RecordQueueItem::Flush(_)
        | RecordQueueItem::Stop => BASE_BYTES,
    }
}

/// The approximate size of an event.
pub(super) fn event_bytes(body: &EventPayload) -> usize {
    const BASE_BYTES: usize = 64;
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    BASE_BYTES
        + match body {
            EventPayload::Text(message) | EventPayload::Thought(message) => {
                text(&message.delta) + text(&message.full)
            }
            EventPayload::ToolCall(call) => {
                call.input.as_ref().map_or(0, |input| input.raw().len())
            }
            EventPayload::ToolArguments { delta, .. } => delta.len(),
            EventPayload::Activity(card) => card.content.raw().len(),
            EventPayload::Started(_)
            | EventPayload::ToolsAvailable(_)
            | EventPayload::TurnStarted(_)
            | EventPayload::ToolProgress { .. }
            | EventPayload::ToolResult(_)
            | EventPayload::ToolCancelled { .. }
            | EventPayload::ApprovalRequested(_)
            | EventPayload::ApprovalReplied(_)
            | EventPayload::Tasks(_)
            | EventPayload::Usage(_)
            | EventPayload::Problem(_)
            | EventPayload::Stop(_)
            | EventPayload::TimedOut { .. }
            | EventPayload::Ended(_)
            | EventPayload::Unknown { .. } => 0,
        }
}
