//! The way from requests to the one task that writes. It has an end: what does not fit is left out
//! and counted, and nobody waits. Room for the end of a run is set aside when it begins, so that no
//! run stays open for want of room.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_dialect::model;
use foxwedge_run::EventPayload;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::{Duration, sleep},
};

/// How many notes may wait. Every request at work has set one aside.
pub(super) const QUEUE_CAPACITY: usize = 16_384;

/// How many bytes may wait, about.
const MAX_QUEUED_BYTES: usize = 32 << 20;

/// With so many the writer waits for nothing.
const URGENT_BYTES: usize = MAX_QUEUED_BYTES / 4;

/// What the writer hears.
#[derive(Debug)]
pub(super) enum RecordQueueItem {
    /// Of a session.
    Command(Arc<str>, RecordCommand),
    /// Whoever asks is told when everything before is written.
    Flush(oneshot::Sender<()>),
    /// Nobody asks any more.
    Stop,
}

impl RecordQueueItem {
    /// When it was handed in, in milliseconds since 1970, if that is known.
    pub(super) fn at(&self) -> Option<u64> {
        match self {
            RecordQueueItem::Command(_, RecordCommand::StartRequest(begin)) => Some(begin.at),
            RecordQueueItem::Command(_, RecordCommand::AppendEvents(_, told)) => {
                told.last().map(|told| told.at)
            }
            RecordQueueItem::Command(_, RecordCommand::FinishRequest(closing, _)) => {
                Some(closing.at)
            }
            RecordQueueItem::Command(
                _,
                RecordCommand::ExpireCalls(..)
                | RecordCommand::MarkInterrupted(_)
                | RecordCommand::ForgetRun(_),
            )
            | RecordQueueItem::Flush(_)
            | RecordQueueItem::Stop => None,
        }
    }
}

/// What happens in a session.
#[derive(Debug)]
pub(super) enum RecordCommand {
    /// A request begins.
    StartRequest(Box<RequestStart>),
    /// Something happens in its reply.
    AppendEvents(Arc<str>, Vec<TimedEvent>),
    /// It is over.
    FinishRequest(Box<RequestEnd>, RecordCompleteness),
    /// Nobody answered the calls of a run in time.
    ExpireCalls(Arc<str>, Vec<Arc<str>>),
    /// Nobody can go on with a run.
    MarkInterrupted(Arc<str>),
    /// Somebody else ended a run.
    ForgetRun(Arc<str>),
}

/// A request that begins.
#[derive(Debug)]
pub(super) struct RequestStart {
    pub(super) run: Arc<str>,
    /// Which request of its run it is, from 1 on.
    pub(super) turn: u32,
    pub(super) at: u64,
    pub(super) owner: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) agent: Option<Arc<str>>,
    pub(super) forked: Option<Arc<str>>,
    pub(super) wire: Format,
    /// Calls of the run that it answers.
    pub(super) answered_calls: Vec<Arc<str>>,
    /// Calls whose answer says that the tool failed.
    pub(super) failed_calls: Vec<Arc<str>>,
    /// The body, where it is to be kept what the answers say.
    pub(super) body: Option<(Bytes, Format)>,
    pub(super) annotations: Vec<EventPayload>,
}

/// Something that happened, and when.
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
    /// What was not told yet.
    pub(super) events: Vec<TimedEvent>,
    pub(super) usage: model::TokenUsage,
    /// What the model said in the end, if that is not among what was told.
    pub(super) text: Option<String>,
    pub(super) outcome: RequestOutcome,
    pub(super) tip: Option<u128>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestOutcome {
    /// With a reply that asks for nothing.
    Replied,
    /// With a reply that calls tools: the run goes on.
    WaitsForTools,
    /// The model would not.
    Refused,
    /// In trouble, in a word.
    Failed(Cow<'static, str>),
    /// Somebody stopped it, or nobody listens any more.
    Stopped,
}

impl RequestOutcome {
    pub(super) fn failed(code: impl Into<Cow<'static, str>>) -> RequestOutcome {
        RequestOutcome::Failed(code.into())
    }
}

/// Whether everything between the beginning and the end was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordCompleteness {
    Complete,
    Incomplete,
}

/// The way in. A copy is the same.
#[derive(Clone, Debug)]
pub(super) struct RecordQueue {
    sender: mpsc::Sender<RecordQueueItem>,
    shared: Arc<RecordQueueShared>,
}

#[derive(Debug, Default)]
struct RecordQueueShared {
    bytes: AtomicUsize,
    /// Somebody waits for the writer, or there is a lot to do.
    urgent: Notify,
}

impl RecordQueueShared {
    fn has_room(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) <= MAX_QUEUED_BYTES
    }

    fn add(&self, weight: usize) {
        let before = self.bytes.fetch_add(weight, Ordering::Relaxed);
        if before.saturating_add(weight) > URGENT_BYTES {
            self.urgent.notify_one();
        }
    }
}

/// Whether the writer may take its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteUrgency {
    Urgent,
    Normal,
}

/// The way out.
#[derive(Debug)]
pub(super) struct RecordQueueReader {
    receiver: mpsc::Receiver<RecordQueueItem>,
    shared: Arc<RecordQueueShared>,
}

/// The way in for one request: its end has a place already.
#[derive(Debug)]
pub(super) struct RequestRecordSender {
    queue: RecordQueue,
    session: Arc<str>,
    run: Arc<str>,
    end_permit: mpsc::OwnedPermit<RecordQueueItem>,
    completeness: RecordCompleteness,
}

/// There is no room.
#[derive(Debug)]
pub(super) struct RecordQueueFull;

pub(super) fn open(most: usize) -> (RecordQueue, RecordQueueReader) {
    let (sender, receiver) = mpsc::channel(most.max(2));
    let shared = Arc::new(RecordQueueShared::default());
    (RecordQueue { sender, shared: shared.clone() }, RecordQueueReader { receiver, shared })
}

impl RecordQueue {
    /// A request begins. `None` if there is no room for its beginning and its end.
    pub(super) fn start_request(
        &self,
        session: &Arc<str>,
        begin: impl FnOnce() -> Box<RequestStart>,
    ) -> Option<RequestRecordSender> {
        if !self.shared.has_room() {
            return None;
        }
        let end = self.sender.clone().try_reserve_owned().ok()?;
        let permit = self.sender.try_reserve().ok()?;
        let begin = begin();
        let run = begin.run.clone();
        let note = RecordQueueItem::Command(session.clone(), RecordCommand::StartRequest(begin));
        self.shared.add(item_bytes(&note));
        permit.send(note);
        let (queue, session) = (self.clone(), session.clone());
        Some(RequestRecordSender {
            queue,
            session,
            run,
            end_permit: end,
            completeness: RecordCompleteness::Complete,
        })
    }

    /// Somebody else ended a run. If there is no room, the writer will find out by itself.
    pub(super) fn forget_run(&self, session: &Arc<str>, run: &str) {
        let note = RecordQueueItem::Command(session.clone(), RecordCommand::ForgetRun(run.into()));
        let _ = self.sender.try_send(note);
    }

    /// Something happens beside the replies of a run.
    pub(super) fn append_side_event(&self, session: &Arc<str>, run: &Arc<str>, told: TimedEvent) {
        if !self.shared.has_room() {
            return;
        }
        let note = RecordQueueItem::Command(
            session.clone(),
            RecordCommand::AppendEvents(run.clone(), vec![told]),
        );
        let weight = item_bytes(&note);
        if self.sender.try_send(note).is_ok() {
            self.shared.add(weight);
        }
    }

    /// Waits until everything before is written.
    pub(super) async fn flush(&self) {
        let (sender, written) = oneshot::channel();
        if self.sender.send(RecordQueueItem::Flush(sender)).await.is_ok() {
            self.shared.urgent.notify_one();
            // A writer that is gone writes nothing.
            let _ = written.await;
        }
    }

    /// Nobody asks any more.
    pub(super) async fn stop(&self) {
        let _ = self.sender.send(RecordQueueItem::Stop).await;
        self.shared.urgent.notify_one();
    }
}

impl RequestRecordSender {
    /// Something happens. What does not fit, and everything behind it, is left out.
    ///
    /// # Errors
    /// The first time there is no room.
    pub(super) fn append_events(&mut self, told: Vec<TimedEvent>) -> Result<(), RecordQueueFull> {
        if self.completeness == RecordCompleteness::Incomplete {
            return Ok(());
        }
        let note = RecordQueueItem::Command(
            self.session.clone(),
            RecordCommand::AppendEvents(self.run.clone(), told),
        );
        let weight = item_bytes(&note);
        if !self.queue.shared.has_room() || self.queue.sender.try_send(note).is_err() {
            self.completeness = RecordCompleteness::Incomplete;
            return Err(RecordQueueFull);
        }
        self.queue.shared.add(weight);
        Ok(())
    }

    pub(super) fn completeness(&self) -> RecordCompleteness {
        self.completeness
    }

    /// It is over. There is always room for that.
    pub(super) fn close(self, mut closing: Box<RequestEnd>) {
        let RequestRecordSender { queue, session, end_permit: end, completeness: whole, .. } = self;
        match whole {
            RecordCompleteness::Complete => {}
            RecordCompleteness::Incomplete => closing.events.clear(),
        }
        let note = RecordQueueItem::Command(session, RecordCommand::FinishRequest(closing, whole));
        queue.shared.add(item_bytes(&note));
        end.send(note);
    }
}

impl RecordQueueReader {
    /// What waits, at most so much; nothing if nobody is left who could say something.
    pub(super) async fn next(&mut self, notes: &mut Vec<RecordQueueItem>, most: usize) -> usize {
        let before = notes.len();
        let number = self.receiver.recv_many(notes, most).await;
        self.release_bytes(notes.get(before..).unwrap_or_default());
        number
    }

    /// What came meanwhile, at most so much.
    pub(super) fn take_ready(&mut self, notes: &mut Vec<RecordQueueItem>, most: usize) {
        let before = notes.len();
        let next = std::iter::from_fn(|| self.receiver.try_recv().ok());
        notes.extend(next.take(most));
        self.release_bytes(notes.get(before..).unwrap_or_default());
    }

    /// Lets time go by, unless there is haste.
    pub(super) async fn wait_unless_urgent(&self, time: Duration) -> WriteUrgency {
        tokio::select! {
            biased;
            () = self.shared.urgent.notified() => WriteUrgency::Urgent,
            () = sleep(time) => WriteUrgency::Normal,
        }
    }

    fn release_bytes(&self, notes: &[RecordQueueItem]) {
        let weight: usize = notes.iter().map(item_bytes).sum();
        // What was sent and not counted yet is counted in a moment.
        let _ = self.shared.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
            Some(bytes.saturating_sub(weight))
        });
    }

    /// Nobody may say anything any more, but what was set aside.
    pub(super) fn close(&mut self) {
        self.receiver.close();
    }
}

/// About how many bytes a note holds: only what can be large is looked at.
fn item_bytes(note: &RecordQueueItem) -> usize {
    const REST: usize = 128;
    let all = |told: &[TimedEvent]| told.iter().map(|one| event_bytes(&one.body)).sum::<usize>();
    match note {
        RecordQueueItem::Command(_, RecordCommand::StartRequest(begin)) => {
            let sent = begin.body.as_ref().map_or(0, |(body, _)| body.len());
            REST + sent + begin.annotations.iter().map(event_bytes).sum::<usize>()
        }
        RecordQueueItem::Command(_, RecordCommand::AppendEvents(_, told)) => REST + all(told),
        RecordQueueItem::Command(_, RecordCommand::FinishRequest(end, _)) => {
            REST + all(&end.events) + end.text.as_ref().map_or(0, String::len)
        }
        RecordQueueItem::Command(
            _,
            RecordCommand::ExpireCalls(..)
            | RecordCommand::MarkInterrupted(_)
            | RecordCommand::ForgetRun(_),
        )
        | RecordQueueItem::Flush(_)
        | RecordQueueItem::Stop => REST,
    }
}

/// About how many bytes of the bodies that we make.
pub(super) fn event_bytes(body: &EventPayload) -> usize {
    const REST: usize = 64;
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    REST + match body {
        EventPayload::Text(said) | EventPayload::Thought(said) => {
            text(&said.delta) + text(&said.full)
        }
        EventPayload::ToolCall(call) => call.input.as_ref().map_or(0, |input| input.raw().len()),
        EventPayload::Activity(card) => card.content.raw().len(),
        EventPayload::Started(_)
        | EventPayload::ToolsAvailable(_)
        | EventPayload::TurnStarted(_)
        | EventPayload::ToolArguments { .. }
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
