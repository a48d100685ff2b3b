//! Live feeds for user interfaces: a run's log, encoded in a UI format, from any frame on.
//!
//! Each run is read and encoded once per format for all its followers. A follower costs one lookup
//! in a ring of the newest frames. A follower that starts late or reconnects names the last frame
//! it has and gets the following frames from the log.

mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard};
}
mod ring;
mod log_encoder;
mod reader;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, PoisonError, Weak},
    time::Duration,
};

use foxwedge_run::{
    RunEvent, SharedId,
    encode::{EncoderOptions, FrameId, UiFormat},
};
use tokio::{
    sync::Notify,
    task::{AbortHandle, JoinHandle},
};

use self::{
    log_encoder::{LogEncoder, StoreLog},
    reader::FeedReader,
    ring::{FeedEnd, FrameRing, RingLimits},
};
use crate::{Result, Store, StoreError, StoreWake, StoreWatch};

/// Pause before the next try if the store cannot be reached.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// What is kept in memory for every followed run.
const RING_LIMITS: RingLimits = RingLimits { frames: 1_024, bytes: 4 << 20 };

/// A follower that is more events behind than this reads the log, so that it does not delay the
/// others.
const MAX_RING_LAG: u64 = 256;

/// An encoded frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseFrame {
    /// Frame id, which a client sends back as `Last-Event-ID`.
    pub id: FrameId,
    /// The frame as a server-sent event.
    pub sse: Box<str>,
}

/// What a follower receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedItem {
    /// The next frame.
    Frame(Arc<SseFrame>),
    /// The follower was too slow, and the frames it missed are no longer in memory. It can follow
    /// again from this frame, or continue: then the missed frames come from the log.
    Lagged(FrameId),
    /// The run has ended, and all frames were delivered.
    Ended,
}

/// Adds texts to events that were stored without them. It changes nothing but texts, so the same
/// events make the same frames with it and without it.
pub trait EventTextSource: std::fmt::Debug + Send + Sync {
    /// Fills in the known texts of an event.
    fn restore(&self, event: &mut RunEvent);
}

/// All feeds of a store. Clones share state.
#[derive(Debug)]
pub struct FeedRegistry<S> {
    inner: Arc<FeedRegistryInner<S>>,
}

impl<S> Clone for FeedRegistry<S> {
    fn clone(&self) -> FeedRegistry<S> {
        FeedRegistry { inner: self.inner.clone() }
    }
}

#[derive(Debug)]
struct FeedRegistryInner<S> {
    store: Arc<S>,
    feeds: sync::Mutex<HashMap<FeedKey, Weak<RunFeed>>>,
    /// Wakes the feeds of a run that has new events.
    waker: OnceLock<TaskGuard>,
}

/// Run, format and encoder options. Frames depend on nothing else.
type FeedKey = (SharedId, UiFormat, Box<str>);

/// One run in one format, shared by all its followers.
#[derive(Debug)]
struct RunFeed {
    ring: FrameRing,
    news: Arc<Notify>,
    pump: OnceLock<TaskGuard>,
}

/// Aborts a task when its owner is dropped.
#[derive(Debug)]
struct TaskGuard(AbortHandle);

impl TaskGuard {
    fn new(task: &JoinHandle<()>) -> TaskGuard {
        TaskGuard(task.abort_handle())
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<S: Store> FeedRegistry<S> {
    /// A registry without feeds.
    pub fn new(store: Arc<S>) -> FeedRegistry<S> {
        let feeds = sync::Mutex::new(HashMap::new());
        FeedRegistry { inner: Arc::new(FeedRegistryInner { store, feeds, waker: OnceLock::new() }) }
    }

    /// Follows a run after a frame, or from its start.
    pub async fn follow(
        &self,
        run: &str,
        format: UiFormat,
        options: EncoderOptions,
        after: Option<FrameId>,
    ) -> Result<FeedFollower<S>> {
        self.follow_with(run, format, options, after, None).await
    }

    /// The same, with texts that are not stored.
    pub async fn follow_with(
        &self,
        run: &str,
        format: UiFormat,
        options: EncoderOptions,
        after: Option<FrameId>,
        texts: Option<Arc<dyn EventTextSource>>,
    ) -> Result<FeedFollower<S>> {
        let store = &self.inner.store;
        let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        let options = EncoderOptions { session: row.session.as_str().into(), ..options };
        self.start_waker().await?;
        let feed = self.feed(run, format, &options, texts.clone());
        let last = after.unwrap_or(FrameId { seq: 0, part: 0 });
        let near = row.last.saturating_sub(last.seq) <= MAX_RING_LAG;
        let log = StoreLog::new(store.clone(), run, format, options, texts);
        let reader = match near {
            true => FeedReader::in_ring(&feed.ring, last, log),
            false => FeedReader::in_log(&feed.ring, last, log),
        };
        Ok(FeedFollower { feed, reader })
    }

    /// Returns the feed of a run in a format. It lives as long as it has a follower.
    fn feed(
        &self,
        run: &str,
        format: UiFormat,
        options: &EncoderOptions,
        texts: Option<Arc<dyn EventTextSource>>,
    ) -> Arc<RunFeed> {
        let EncoderOptions { agui, acp, prompt, .. } = options;
        let options_key = format!("{agui:?} {acp:?} {prompt:?} {}", texts.is_some());
        let key = (SharedId::from(run), format, options_key.into());
        let mut feeds = lock(&self.inner.feeds);
        if let Some(feed) = feeds.get(&key).and_then(Weak::upgrade) {
            return feed;
        }
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let (ring, news) = (FrameRing::new(RING_LIMITS), Arc::new(Notify::new()));
        let feed = Arc::new(RunFeed { ring, news: news.clone(), pump: OnceLock::new() });
        let encoder = LogEncoder::new(run, format, options.clone(), texts);
        let task = fill_ring(self.inner.store.clone(), Arc::downgrade(&feed), news, encoder);
        let task = tokio::spawn(task);
        feed.pump.get_or_init(|| TaskGuard::new(&task));
        feeds.insert(key, Arc::downgrade(&feed));
        feed
    }

    /// Starts to watch the store, once.
    async fn start_waker(&self) -> Result<()> {
        if self.inner.waker.get().is_none() {
            let watch = self.inner.store.watch().await?;
            let inner = Arc::downgrade(&self.inner);
            self.inner.waker.get_or_init(|| TaskGuard::new(&tokio::spawn(run_waker(inner, watch))));
        }
        Ok(())
    }
}

/// Forwards wake-ups of the store to the feeds of that run.
async fn run_waker<S: Store>(inner: Weak<FeedRegistryInner<S>>, mut watch: StoreWatch) {
    while let Some(wake) = watch.next().await {
        let Some(inner) = inner.upgrade() else { return };
        let feeds = lock(&inner.feeds);
        for ((run, ..), feed) in feeds.iter() {
            let is_match = match &wake {
                StoreWake::Run { run: changed, .. } => changed == run,
                StoreWake::All => true,
            };
            if let (true, Some(feed)) = (is_match, feed.upgrade()) {
                feed.news.notify_one();
            }
        }
    }
}

/// Reads a run's log into the ring until the run ends or has no follower. It holds no strong
/// reference while it waits, so the last follower drops the feed.
async fn fill_ring<S: Store>(
    store: Arc<S>,
    feed: Weak<RunFeed>,
    news: Arc<Notify>,
    mut encoder: LogEncoder,
) {
    loop {
        let before = encoder.place();
        let frames = encoder.read(&*store).await;
        match (frames, feed.upgrade()) {
            (_, None) => return,
            (Ok(frames), Some(feed)) => {
                // A page without a frame is not the end of the log.
                let is_caught_up = encoder.place() == before;
                feed.ring.push(frames);
                if encoder.is_over() {
                    feed.ring.close(FeedEnd::Ended);
                    return;
                }
                drop(feed);
                if is_caught_up {
                    news.notified().await;
                }
            }
            (Err(StoreError::Unavailable(_)), Some(feed)) => {
                drop(feed);
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            (Err(error), Some(feed)) => {
                feed.ring.close(FeedEnd::Failed(error.to_string().into()));
                return;
            }
        }
    }
}

/// Follows a run.
#[derive(Debug)]
pub struct FeedFollower<S> {
    feed: Arc<RunFeed>,
    reader: FeedReader<StoreLog<S>>,
}

impl<S: Store> FeedFollower<S> {
    /// Returns the next frame. Cancel-safe: nothing is lost.
    pub async fn next(&mut self) -> Result<FeedItem> {
        self.reader.next(&self.feed.ring).await
    }
}

impl<S> Drop for FeedFollower<S> {
    fn drop(&mut self) {
        self.reader.leave(&self.feed.ring);
    }
}

fn lock<T>(mutex: &sync::Mutex<T>) -> sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
