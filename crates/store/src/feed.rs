//! What user interfaces follow: a run's log, told in a format of theirs, live and from any place.
//!
//! A run is read, told to the machine and encoded once for everybody who follows it in the same
//! format; what each of them costs is a look into a ring of the newest frames. Whoever comes late
//! or was cut off names the last frame it has, and gets what is behind it out of the log.

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

/// How long to wait for a store that cannot be reached.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// What is kept in memory of every run that somebody follows.
const RING_LIMITS: RingLimits = RingLimits { frames: 1_024, bytes: 4 << 20 };

/// Whoever is so many events behind reads the log, so that nobody else has to wait.
const MAX_RING_LAG: u64 = 256;

/// A frame, as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseFrame {
    /// Its name, which a client gives back as `Last-Event-ID`.
    pub id: FrameId,
    /// The frame as a server-sent event.
    pub sse: Box<str>,
}

/// What a follower hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedItem {
    /// The next frame.
    Frame(Arc<SseFrame>),
    /// It was too slow, and what it missed is gone from memory. It may follow anew from here, or go
    /// on: then the log tells it what it missed.
    Lagged(FrameId),
    /// The run is over, and everything was told.
    Ended,
}

/// Puts words back into events that were stored without them. It changes no more than texts, so that
/// the same events make the same frames with it and without it.
pub trait EventTextSource: std::fmt::Debug + Send + Sync {
    /// Puts back what is known of the words of an event.
    fn restore(&self, event: &mut RunEvent);
}

/// Everything that is followed in a store. A copy is the same.
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
    /// Wakes the feeds of a run when it goes on.
    waker: OnceLock<TaskGuard>,
}

/// A run in a format. Frames depend on nothing else.
type FeedKey = (SharedId, UiFormat, Box<str>);

/// One run in one format, for all who follow it.
#[derive(Debug)]
struct RunFeed {
    ring: FrameRing,
    news: Arc<Notify>,
    pump: OnceLock<TaskGuard>,
}

/// A task that ends with its owner.
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
    /// Nothing is followed yet.
    pub fn new(store: Arc<S>) -> FeedRegistry<S> {
        let feeds = sync::Mutex::new(HashMap::new());
        FeedRegistry { inner: Arc::new(FeedRegistryInner { store, feeds, waker: OnceLock::new() }) }
    }

    /// Follows a run from behind a frame, or from its beginning.
    pub async fn follow(
        &self,
        run: &str,
        format: UiFormat,
        options: EncoderOptions,
        after: Option<FrameId>,
    ) -> Result<FeedFollower<S>> {
        self.follow_with(run, format, options, after, None).await
    }

    /// The same, with words that are not stored.
    pub async fn follow_with(
        &self,
        run: &str,
        format: UiFormat,
        options: EncoderOptions,
        after: Option<FrameId>,
        words: Option<Arc<dyn EventTextSource>>,
    ) -> Result<FeedFollower<S>> {
        let store = &self.inner.store;
        let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        let options = EncoderOptions { session: row.session.as_str().into(), ..options };
        self.start_waker().await?;
        let feed = self.feed(run, format, &options, words.clone());
        let last = after.unwrap_or(FrameId { seq: 0, part: 0 });
        let near = row.last.saturating_sub(last.seq) <= MAX_RING_LAG;
        let log = StoreLog::new(store.clone(), run, format, options, words);
        let reader = match near {
            true => FeedReader::in_ring(&feed.ring, last, log),
            false => FeedReader::in_log(&feed.ring, last, log),
        };
        Ok(FeedFollower { feed, reader })
    }

    /// The feed of a run in a format; it lives for as long as somebody follows it.
    fn feed(
        &self,
        run: &str,
        format: UiFormat,
        options: &EncoderOptions,
        words: Option<Arc<dyn EventTextSource>>,
    ) -> Arc<RunFeed> {
        let EncoderOptions { agui, acp, prompt, .. } = options;
        let spelling = format!("{agui:?} {acp:?} {prompt:?} {}", words.is_some());
        let key = (SharedId::from(run), format, spelling.into());
        let mut feeds = lock(&self.inner.feeds);
        if let Some(feed) = feeds.get(&key).and_then(Weak::upgrade) {
            return feed;
        }
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let (ring, news) = (FrameRing::new(RING_LIMITS), Arc::new(Notify::new()));
        let feed = Arc::new(RunFeed { ring, news: news.clone(), pump: OnceLock::new() });
        let teller = LogEncoder::new(run, format, options.clone(), words);
        let task = fill_ring(self.inner.store.clone(), Arc::downgrade(&feed), news, teller);
        let task = tokio::spawn(task);
        feed.pump.get_or_init(|| TaskGuard::new(&task));
        feeds.insert(key, Arc::downgrade(&feed));
        feed
    }

    /// Begins to listen to the store, once.
    async fn start_waker(&self) -> Result<()> {
        if self.inner.waker.get().is_none() {
            let watch = self.inner.store.watch().await?;
            let inner = Arc::downgrade(&self.inner);
            self.inner.waker.get_or_init(|| TaskGuard::new(&tokio::spawn(run_waker(inner, watch))));
        }
        Ok(())
    }
}

/// Hands wake-ups of the store on to those who follow that run.
async fn run_waker<S: Store>(inner: Weak<FeedRegistryInner<S>>, mut watch: StoreWatch) {
    while let Some(wake) = watch.next().await {
        let Some(inner) = inner.upgrade() else { return };
        let feeds = lock(&inner.feeds);
        for ((run, ..), feed) in feeds.iter() {
            let meant = match &wake {
                StoreWake::Run { run: meant, .. } => meant == run,
                StoreWake::All => true,
            };
            if let (true, Some(feed)) = (meant, feed.upgrade()) {
                feed.news.notify_one();
            }
        }
    }
}

/// Reads a run's log into the ring until the run is over or nobody follows it. While it waits, the
/// feed is not its own, so that the last follower takes the feed along.
async fn fill_ring<S: Store>(
    store: Arc<S>,
    feed: Weak<RunFeed>,
    news: Arc<Notify>,
    mut teller: LogEncoder,
) {
    loop {
        let before = teller.place();
        let frames = teller.read(&*store).await;
        match (frames, feed.upgrade()) {
            (_, None) => return,
            (Ok(frames), Some(feed)) => {
                // A page without a frame is not the end of the log.
                let nothing = teller.place() == before;
                feed.ring.push(frames);
                if teller.is_over() {
                    feed.ring.close(FeedEnd::Ended);
                    return;
                }
                drop(feed);
                if nothing {
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

/// One who follows a run.
#[derive(Debug)]
pub struct FeedFollower<S> {
    feed: Arc<RunFeed>,
    reader: FeedReader<StoreLog<S>>,
}

impl<S: Store> FeedFollower<S> {
    /// The next frame. May be dropped halfway: nothing is lost.
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
