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
use foxwedge_core::Wire;
use foxwedge_dialect::canon;
use foxwedge_run::Body;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    time::{Duration, sleep},
};

/// How many notes may wait. Every request at work has set one aside.
pub(super) const NOTES: usize = 16_384;

/// How many bytes may wait, about.
const BYTES: usize = 32 << 20;

/// With so many the writer waits for nothing.
const MANY: usize = BYTES / 4;

/// What the writer hears.
#[derive(Debug)]
pub(super) enum Note {
    /// Of a session.
    Of(Arc<str>, What),
    /// Whoever asks is told when everything before is written.
    Flush(oneshot::Sender<()>),
    /// Nobody asks any more.
    Stop,
}

impl Note {
    /// When it was handed in, in milliseconds since 1970, if that is known.
    pub(super) fn at(&self) -> Option<u64> {
        match self {
            Note::Of(_, What::Begin(begin)) => Some(begin.at),
            Note::Of(_, What::More(_, told)) => told.last().map(|told| told.at),
            Note::Of(_, What::End(closing, _)) => Some(closing.at),
            Note::Of(_, What::Late(..) | What::Lost(_) | What::Forget(_))
            | Note::Flush(_)
            | Note::Stop => None,
        }
    }
}

/// What happens in a session.
#[derive(Debug)]
pub(super) enum What {
    /// A request begins.
    Begin(Box<Beginning>),
    /// Something happens in its reply.
    More(Arc<str>, Vec<Told>),
    /// It is over.
    End(Box<Closing>, Whole),
    /// Nobody answered the calls of a run in time.
    Late(Arc<str>, Vec<Arc<str>>),
    /// Nobody can go on with a run.
    Lost(Arc<str>),
    /// Somebody else ended a run.
    Forget(Arc<str>),
}

/// A request that begins.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) run: Arc<str>,
    /// Which request of its run it is, from 1 on.
    pub(super) turn: u32,
    pub(super) at: u64,
    pub(super) owner: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) agent: Option<Arc<str>>,
    pub(super) forked: Option<Arc<str>>,
    pub(super) wire: Wire,
    /// Calls of the run that it answers.
    pub(super) answered: Vec<Arc<str>>,
    /// Calls whose answer says that the tool failed.
    pub(super) failed: Vec<Arc<str>>,
    /// The body, where it is to be kept what the answers say.
    pub(super) body: Option<(Bytes, Wire)>,
    pub(super) cards: Vec<Body>,
}

/// Something that happened, and when.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) at: u64,
    pub(super) body: Body,
}

/// The end of a request.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) run: Arc<str>,
    pub(super) turn: u32,
    pub(super) at: u64,
    /// What was not told yet.
    pub(super) told: Vec<Told>,
    pub(super) usage: canon::Usage,
    /// What the model said in the end, if that is not among what was told.
    pub(super) text: Option<String>,
    pub(super) ending: Ending,
    pub(super) tip: Option<u128>,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With a reply that asks for nothing.
    Replied,
    /// With a reply that calls tools: the run goes on.
    Waits,
    /// The model would not.
    Refused,
    /// In trouble, in a word.
    Failed(Cow<'static, str>),
    /// Somebody stopped it, or nobody listens any more.
    Stopped,
}

impl Ending {
    pub(super) fn failed(code: impl Into<Cow<'static, str>>) -> Ending {
        Ending::Failed(code.into())
    }
}

/// Whether everything between the beginning and the end was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    Yes,
    No,
}

/// The way in. A copy is the same.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    sender: mpsc::Sender<Note>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    bytes: AtomicUsize,
    /// Somebody waits for the writer, or there is a lot to do.
    pressed: Notify,
}

impl Shared {
    fn has_room(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) <= BYTES
    }

    fn add(&self, weight: usize) {
        let before = self.bytes.fetch_add(weight, Ordering::Relaxed);
        if before.saturating_add(weight) > MANY {
            self.pressed.notify_one();
        }
    }
}

/// Whether the writer may take its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    Yes,
    No,
}

/// The way out.
#[derive(Debug)]
pub(super) struct Notes {
    receiver: mpsc::Receiver<Note>,
    shared: Arc<Shared>,
}

/// The way in for one request: its end has a place already.
#[derive(Debug)]
pub(super) struct Line {
    queue: Queue,
    session: Arc<str>,
    run: Arc<str>,
    end: mpsc::OwnedPermit<Note>,
    whole: Whole,
}

/// There is no room.
#[derive(Debug)]
pub(super) struct Full;

pub(super) fn open(most: usize) -> (Queue, Notes) {
    let (sender, receiver) = mpsc::channel(most.max(2));
    let shared = Arc::new(Shared::default());
    (Queue { sender, shared: shared.clone() }, Notes { receiver, shared })
}

impl Queue {
    /// A request begins. `None` if there is no room for its beginning and its end.
    pub(super) fn line(
        &self,
        session: &Arc<str>,
        begin: impl FnOnce() -> Box<Beginning>,
    ) -> Option<Line> {
        if !self.shared.has_room() {
            return None;
        }
        let end = self.sender.clone().try_reserve_owned().ok()?;
        let permit = self.sender.try_reserve().ok()?;
        let begin = begin();
        let run = begin.run.clone();
        let note = Note::Of(session.clone(), What::Begin(begin));
        self.shared.add(weight(&note));
        permit.send(note);
        let (queue, session) = (self.clone(), session.clone());
        Some(Line { queue, session, run, end, whole: Whole::Yes })
    }

    /// Somebody else ended a run. If there is no room, the writer will find out by itself.
    pub(super) fn forget(&self, session: &Arc<str>, run: &str) {
        let note = Note::Of(session.clone(), What::Forget(run.into()));
        let _ = self.sender.try_send(note);
    }

    /// Something happens beside the replies of a run.
    pub(super) fn beside(&self, session: &Arc<str>, run: &Arc<str>, told: Told) {
        if !self.shared.has_room() {
            return;
        }
        let note = Note::Of(session.clone(), What::More(run.clone(), vec![told]));
        let weight = weight(&note);
        if self.sender.try_send(note).is_ok() {
            self.shared.add(weight);
        }
    }

    /// Waits until everything before is written.
    pub(super) async fn flush(&self) {
        let (sender, written) = oneshot::channel();
        if self.sender.send(Note::Flush(sender)).await.is_ok() {
            self.shared.pressed.notify_one();
            // A writer that is gone writes nothing.
            let _ = written.await;
        }
    }

    /// Nobody asks any more.
    pub(super) async fn stop(&self) {
        let _ = self.sender.send(Note::Stop).await;
        self.shared.pressed.notify_one();
    }
}

impl Line {
    /// Something happens. What does not fit, and everything behind it, is left out.
    ///
    /// # Errors
    /// The first time there is no room.
    pub(super) fn more(&mut self, told: Vec<Told>) -> Result<(), Full> {
        if self.whole == Whole::No {
            return Ok(());
        }
        let note = Note::Of(self.session.clone(), What::More(self.run.clone(), told));
        let weight = weight(&note);
        if !self.queue.shared.has_room() || self.queue.sender.try_send(note).is_err() {
            self.whole = Whole::No;
            return Err(Full);
        }
        self.queue.shared.add(weight);
        Ok(())
    }

    pub(super) fn whole(&self) -> Whole {
        self.whole
    }

    /// It is over. There is always room for that.
    pub(super) fn close(self, mut closing: Box<Closing>) {
        let Line { queue, session, end, whole, .. } = self;
        match whole {
            Whole::Yes => {}
            Whole::No => closing.told.clear(),
        }
        let note = Note::Of(session, What::End(closing, whole));
        queue.shared.add(weight(&note));
        end.send(note);
    }
}

impl Notes {
    /// What waits, at most so much; nothing if nobody is left who could say something.
    pub(super) async fn next(&mut self, notes: &mut Vec<Note>, most: usize) -> usize {
        let before = notes.len();
        let number = self.receiver.recv_many(notes, most).await;
        self.taken(notes.get(before..).unwrap_or_default());
        number
    }

    /// What came meanwhile, at most so much.
    pub(super) fn more(&mut self, notes: &mut Vec<Note>, most: usize) {
        let before = notes.len();
        let next = std::iter::from_fn(|| self.receiver.try_recv().ok());
        notes.extend(next.take(most));
        self.taken(notes.get(before..).unwrap_or_default());
    }

    /// Lets time go by, unless there is haste.
    pub(super) async fn linger(&self, time: Duration) -> Haste {
        tokio::select! {
            biased;
            () = self.shared.pressed.notified() => Haste::Yes,
            () = sleep(time) => Haste::No,
        }
    }

    fn taken(&self, notes: &[Note]) {
        let weight: usize = notes.iter().map(weight).sum();
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
fn weight(note: &Note) -> usize {
    const REST: usize = 128;
    let all = |told: &[Told]| told.iter().map(|one| body(&one.body)).sum::<usize>();
    match note {
        Note::Of(_, What::Begin(begin)) => {
            let sent = begin.body.as_ref().map_or(0, |(body, _)| body.len());
            REST + sent + begin.cards.iter().map(body).sum::<usize>()
        }
        Note::Of(_, What::More(_, told)) => REST + all(told),
        Note::Of(_, What::End(end, _)) => {
            REST + all(&end.told) + end.text.as_ref().map_or(0, String::len)
        }
        Note::Of(_, What::Late(..) | What::Lost(_) | What::Forget(_))
        | Note::Flush(_)
        | Note::Stop => REST,
    }
}

/// About how many bytes of the bodies that we make.
pub(super) fn body(body: &Body) -> usize {
    const REST: usize = 64;
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    REST + match body {
        Body::Text(said) | Body::Thought(said) => text(&said.delta) + text(&said.full),
        Body::Call(call) => call.input.as_ref().map_or(0, |input| input.raw().len()),
        Body::Activity(card) => card.content.raw().len(),
        Body::Started(_)
        | Body::ToolsAvailable(_)
        | Body::Turn(_)
        | Body::Arguments { .. }
        | Body::Progress { .. }
        | Body::Result(_)
        | Body::Cancelled { .. }
        | Body::Asked(_)
        | Body::Replied(_)
        | Body::Tasks(_)
        | Body::Usage(_)
        | Body::Problem(_)
        | Body::Stop(_)
        | Body::TimedOut { .. }
        | Body::Ended(_)
        | Body::Unknown { .. } => 0,
    }
}
