//! What user interfaces follow: a run's log, told in a format of theirs, live and from any place.
//!
//! A run is read, told to the machine and encoded once for everybody who follows it in the same
//! format; what each of them costs is a look into a ring of the newest frames. Whoever comes late
//! or was cut off names the last frame it has, and gets what is behind it out of the log.

mod sync {
    pub(super) use std::sync::{Mutex, MutexGuard};
}
mod ring;
mod teller;
mod reader;
#[cfg(all(test, feature = "shuttle"))]
mod schedules;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, PoisonError, Weak},
    time::Duration,
};

use foxwedge_run::{
    Event, Id,
    encode::{Format, FrameId, Options},
};
use tokio::{
    sync::Notify,
    task::{AbortHandle, JoinHandle},
};

use self::{
    reader::Reader,
    ring::{Over, Ring, Room},
    teller::{Logged, Teller},
};
use crate::{Result, Store, StoreError, Wake, Watch};

/// How long to wait for a store that cannot be reached.
const PAUSE: Duration = Duration::from_millis(250);

/// What is kept in memory of every run that somebody follows.
const ROOM: Room = Room { frames: 1_024, bytes: 4 << 20 };

/// Whoever is so many events behind reads the log, so that nobody else has to wait.
const BEHIND: u64 = 256;

/// A frame, as it goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its name, which a client gives back as `Last-Event-ID`.
    pub id: FrameId,
    /// The frame as a server-sent event.
    pub sse: Box<str>,
}

/// What a follower hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The next frame.
    Frame(Arc<Sent>),
    /// It was too slow, and what it missed is gone from memory. It may follow anew from here, or go
    /// on: then the log tells it what it missed.
    Lagged(FrameId),
    /// The run is over, and everything was told.
    Over,
}

/// Puts words back into events that were stored without them. It changes no more than texts, so that
/// the same events make the same frames with it and without it.
pub trait EventWords: std::fmt::Debug + Send + Sync {
    /// Puts back what is known of the words of an event.
    fn restore(&self, event: &mut Event);
}

/// Everything that is followed in a store. A copy is the same.
#[derive(Debug)]
pub struct Feeds<S> {
    inner: Arc<Inner<S>>,
}

impl<S> Clone for Feeds<S> {
    fn clone(&self) -> Feeds<S> {
        Feeds { inner: self.inner.clone() }
    }
}

#[derive(Debug)]
struct Inner<S> {
    store: Arc<S>,
    feeds: sync::Mutex<HashMap<Key, Weak<Feed>>>,
    /// Wakes the feeds of a run when it goes on.
    porter: OnceLock<Owned>,
}

/// A run in a format. Frames depend on nothing else.
type Key = (Id, Format, Box<str>);

/// One run in one format, for all who follow it.
#[derive(Debug)]
struct Feed {
    ring: Ring,
    news: Arc<Notify>,
    pump: OnceLock<Owned>,
}

/// A task that ends with its owner.
#[derive(Debug)]
struct Owned(AbortHandle);

impl Owned {
    fn new(task: &JoinHandle<()>) -> Owned {
        Owned(task.abort_handle())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<S: Store> Feeds<S> {
    /// Nothing is followed yet.
    pub fn new(store: Arc<S>) -> Feeds<S> {
        let feeds = sync::Mutex::new(HashMap::new());
        Feeds { inner: Arc::new(Inner { store, feeds, porter: OnceLock::new() }) }
    }

    /// Follows a run from behind a frame, or from its beginning.
    pub async fn follow(
        &self,
        run: &str,
        format: Format,
        options: Options,
        after: Option<FrameId>,
    ) -> Result<Follower<S>> {
        self.follow_with(run, format, options, after, None).await
    }

    /// The same, with words that are not stored.
    pub async fn follow_with(
        &self,
        run: &str,
        format: Format,
        options: Options,
        after: Option<FrameId>,
        words: Option<Arc<dyn EventWords>>,
    ) -> Result<Follower<S>> {
        let store = &self.inner.store;
        let row = store.run(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
        let options = Options { session: row.session.as_str().into(), ..options };
        self.wake_up().await?;
        let feed = self.feed(run, format, &options, words.clone());
        let last = after.unwrap_or(FrameId { seq: 0, part: 0 });
        let near = row.last.saturating_sub(last.seq) <= BEHIND;
        let log = Logged::new(store.clone(), run, format, options, words);
        let reader = match near {
            true => Reader::in_ring(&feed.ring, last, log),
            false => Reader::in_log(&feed.ring, last, log),
        };
        Ok(Follower { feed, reader })
    }

    /// The feed of a run in a format; it lives for as long as somebody follows it.
    fn feed(
        &self,
        run: &str,
        format: Format,
        options: &Options,
        words: Option<Arc<dyn EventWords>>,
    ) -> Arc<Feed> {
        let Options { agui, acp, prompt, .. } = options;
        let spelling = format!("{agui:?} {acp:?} {prompt:?} {}", words.is_some());
        let key = (Id::from(run), format, spelling.into());
        let mut feeds = locked(&self.inner.feeds);
        if let Some(feed) = feeds.get(&key).and_then(Weak::upgrade) {
            return feed;
        }
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let (ring, news) = (Ring::new(ROOM), Arc::new(Notify::new()));
        let feed = Arc::new(Feed { ring, news: news.clone(), pump: OnceLock::new() });
        let teller = Teller::new(run, format, options.clone(), words);
        let task = pump(self.inner.store.clone(), Arc::downgrade(&feed), news, teller);
        let task = tokio::spawn(task);
        feed.pump.get_or_init(|| Owned::new(&task));
        feeds.insert(key, Arc::downgrade(&feed));
        feed
    }

    /// Begins to listen to the store, once.
    async fn wake_up(&self) -> Result<()> {
        if self.inner.porter.get().is_none() {
            let watch = self.inner.store.watch().await?;
            let inner = Arc::downgrade(&self.inner);
            self.inner.porter.get_or_init(|| Owned::new(&tokio::spawn(porter(inner, watch))));
        }
        Ok(())
    }
}

/// Hands wake-ups of the store on to those who follow that run.
async fn porter<S: Store>(inner: Weak<Inner<S>>, mut watch: Watch) {
    while let Some(wake) = watch.next().await {
        let Some(inner) = inner.upgrade() else { return };
        let feeds = locked(&inner.feeds);
        for ((run, ..), feed) in feeds.iter() {
            let meant = match &wake {
                Wake::Run { run: meant, .. } => meant == run,
                Wake::All => true,
            };
            if let (true, Some(feed)) = (meant, feed.upgrade()) {
                feed.news.notify_one();
            }
        }
    }
}

/// Reads a run's log into the ring until the run is over or nobody follows it. While it waits, the
/// feed is not its own, so that the last follower takes the feed along.
async fn pump<S: Store>(store: Arc<S>, feed: Weak<Feed>, news: Arc<Notify>, mut teller: Teller) {
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
                    feed.ring.close(Over::Ended);
                    return;
                }
                drop(feed);
                if nothing {
                    news.notified().await;
                }
            }
            (Err(StoreError::Unavailable(_)), Some(feed)) => {
                drop(feed);
                tokio::time::sleep(PAUSE).await;
            }
            (Err(error), Some(feed)) => {
                feed.ring.close(Over::Failed(error.to_string().into()));
                return;
            }
        }
    }
}

/// One who follows a run.
#[derive(Debug)]
pub struct Follower<S> {
    feed: Arc<Feed>,
    reader: Reader<Logged<S>>,
}

impl<S: Store> Follower<S> {
    /// The next frame. May be dropped halfway: nothing is lost.
    pub async fn next(&mut self) -> Result<Told> {
        self.reader.next(&self.feed.ring).await
    }
}

impl<S> Drop for Follower<S> {
    fn drop(&mut self) {
        self.reader.leave(&self.feed.ring);
    }
}

fn locked<T>(mutex: &sync::Mutex<T>) -> sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
