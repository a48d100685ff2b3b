//! What was said in runs of which only sizes are stored: kept in memory for a while, so that whoever
//! follows a run live reads it. Nothing of it is ever written, and there is a bound for all of it.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use foxwedge_run::{Body, Event, Json};
use foxwedge_store::EventWords;
use tokio::time::Instant;

/// Bytes of replies that are over.
const KEPT: usize = 16 << 20;
/// Bytes of replies that are still coming.
const COMING: usize = 16 << 20;
/// Replies that come ask for so much at a time.
const PORTION: usize = 16 << 10;
/// How long the words of a run are kept after the last of them came.
const LONGEST: Duration = Duration::from_secs(600);

/// The words of all runs. Cheap to clone; clones share state.
#[derive(Clone)]
pub(super) struct LiveWords(Arc<WordStore>);

struct WordStore {
    coming: AtomicUsize,
    kept: Mutex<KeptWords>,
}

#[derive(Default)]
struct KeptWords {
    runs: HashMap<Arc<str>, RunWords>,
    /// Runs, the one that was spoken in longest ago first. One that was spoken in again stands there
    /// twice.
    order: VecDeque<(Arc<str>, Instant)>,
    bytes: usize,
}

struct RunWords {
    words: HashMap<WordPlace, String>,
    /// The newest text.
    last: Option<String>,
    bytes: usize,
    at: Instant,
}

/// Where words stand in a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum WordPlace {
    /// A text or a thought, by the name of its message.
    Text(Arc<str>),
    /// What a tool is given, by the id of its call.
    Input(Arc<str>),
}

/// Room for words of one reply that is coming. Dropped, it is given back.
#[derive(Debug)]
pub(super) struct WordRoom {
    of: LiveWords,
    taken: usize,
}

impl LiveWords {
    pub(super) fn new() -> LiveWords {
        LiveWords(Arc::new(WordStore { coming: AtomicUsize::new(0), kept: Mutex::default() }))
    }

    /// Room for a reply.
    pub(super) fn room(&self) -> WordRoom {
        WordRoom { of: self.clone(), taken: 0 }
    }

    /// Something was said, all of it.
    pub(super) fn keep(&self, run: &Arc<str>, place: WordPlace, words: String) {
        let now = Instant::now();
        let mut kept = self.lock();
        let kept = &mut *kept;
        let of = kept.runs.entry(run.clone()).or_insert_with(|| RunWords {
            words: HashMap::new(),
            last: None,
            bytes: 0,
            at: now,
        });
        of.at = now;
        let mut more = words.len() + 128;
        if let WordPlace::Text(_) = place {
            more += words.len();
            let before = of.last.replace(words.clone());
            let gone = before.map_or(0, |before| before.len());
            of.bytes = of.bytes.saturating_sub(gone);
            kept.bytes = kept.bytes.saturating_sub(gone);
        }
        // A name that is used twice says nothing about which is meant.
        match of.words.get_mut(&place) {
            Some(before) if *before != words => before.clear(),
            Some(_) => {}
            None => {
                of.words.insert(place, words);
            }
        }
        of.bytes += more;
        kept.bytes += more;
        kept.order.push_back((run.clone(), now));
        kept.forget(now);
    }

    /// Forgets what is old.
    pub(super) fn sweep(&self) {
        self.lock().forget(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, KeptWords> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptWords {
    fn forget(&mut self, now: Instant) {
        while let Some((run, at)) = self.order.front() {
            let newest = self.runs.get(run).is_some_and(|words| words.at == *at);
            let old = now.duration_since(*at) > LONGEST;
            if newest && !old && self.bytes <= KEPT {
                return;
            }
            if newest && let Some(gone) = self.runs.remove(run) {
                self.bytes = self.bytes.saturating_sub(gone.bytes);
            }
            self.order.pop_front();
        }
    }
}

impl EventWords for LiveWords {
    fn restore(&self, event: &mut Event) {
        let kept = self.lock();
        let Some(of) = kept.runs.get(&event.run) else { return };
        let found = |place: WordPlace| of.words.get(&place).filter(|words| !words.is_empty());
        match &mut event.body {
            Body::Text(text) | Body::Thought(text) => {
                let words = text.message.clone().and_then(|it| found(WordPlace::Text(it)));
                if let (Some(full), Some(words)) = (&mut text.full, words) {
                    full.clone_from(words);
                }
            }
            Body::Call(call) => {
                let words = call.call.id.clone().and_then(|it| found(WordPlace::Input(it)));
                if let (Some(input), Some(words)) = (&mut call.input, words) {
                    *input = Json::parse(words).unwrap_or_else(|| Json::string(words));
                }
            }
            Body::Ended(ended) => {
                if let (Some(text), Some(last)) = (&mut ended.text, &of.last) {
                    text.clone_from(last);
                }
            }
            _ => {}
        }
    }
}

impl WordRoom {
    /// Whether there is room for so many bytes more, and how many that is at least.
    pub(super) fn take(&mut self, bytes: usize) -> Option<usize> {
        let portion = bytes.max(PORTION);
        let coming = &self.of.0.coming;
        if coming.fetch_add(portion, Ordering::Relaxed) + portion > COMING {
            coming.fetch_sub(portion, Ordering::Relaxed);
            return None;
        }
        self.taken += portion;
        Some(portion)
    }
}

impl Drop for WordRoom {
    fn drop(&mut self) {
        self.of.0.coming.fetch_sub(self.taken, Ordering::Relaxed);
    }
}

impl fmt::Debug for LiveWords {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never what was said.
        formatter.debug_struct("LiveWords").field("bytes", &self.lock().bytes).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(run: &str, message: &str, full: &str) -> Event {
        let text = foxwedge_run::Text {
            message: Some(message.into()),
            full: Some(full.to_owned()),
            ..foxwedge_run::Text::default()
        };
        Event::new(&run.into(), Body::Text(text))
    }

    fn shown(words: &LiveWords, run: &str, message: &str) -> String {
        let mut event = text(run, message, "[9 characters, not kept]");
        words.restore(&mut event);
        match event.body {
            Body::Text(text) => text.full.expect("it is there"),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn words_are_there_for_a_while_and_never_more_than_the_bound() {
        let words = LiveWords::new();
        let run = |at: usize| -> Arc<str> { format!("r{at}").into() };
        for at in 0..200 {
            words.keep(&run(at), WordPlace::Text("m1-0".into()), "x".repeat(200 << 10));
            assert!(words.lock().bytes <= KEPT, "{at}");
            assert!(words.lock().order.len() <= 200);
        }
        assert_eq!(shown(&words, "r199", "m1-0").len(), 200 << 10);
        assert_eq!(shown(&words, "r0", "m1-0"), "[9 characters, not kept]");
        assert_eq!(shown(&words, "r199", "m1-1"), "[9 characters, not kept]");
        tokio::time::advance(LONGEST + Duration::from_secs(1)).await;
        words.sweep();
        let kept = words.lock();
        assert_eq!((kept.bytes, kept.runs.len(), kept.order.len()), (0, 0, 0));
    }

    #[test]
    fn replies_that_come_share_what_there_is() {
        let words = LiveWords::new();
        let mut rooms: Vec<WordRoom> = (0..2_000).map(|_| words.room()).collect();
        let given = rooms.iter_mut().filter_map(|room| room.take(1)).sum::<usize>();
        assert_eq!(given, COMING);
        assert!(words.room().take(1).is_none());
        drop(rooms);
        assert_eq!(words.0.coming.load(Ordering::Relaxed), 0);
        assert!(words.room().take(1).is_some());
    }

    #[test]
    fn a_name_that_is_used_for_two_things_gives_neither() {
        let words = LiveWords::new();
        let run: Arc<str> = "r".into();
        for said in ["one", "two"] {
            words.keep(&run, WordPlace::Text("m1-0".into()), said.to_owned());
        }
        assert_eq!(shown(&words, "r", "m1-0"), "[9 characters, not kept]");
        assert!(!format!("{words:?}").contains("two"));
    }
}
