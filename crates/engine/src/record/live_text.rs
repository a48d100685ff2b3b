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

use foxwedge_run::{EventPayload, RawJson, RunEvent};
use foxwedge_store::EventTextSource;
use tokio::time::Instant;

/// Bytes of replies that are over.
const MAX_KEPT_BYTES: usize = 16 << 20;
/// Bytes of replies that are still coming.
const MAX_RESERVED_BYTES: usize = 16 << 20;
/// Replies that come ask for so much at a time.
const RESERVE_STEP: usize = 16 << 10;
/// How long the words of a run are kept after the last of them came.
const KEEP_TIME: Duration = Duration::from_secs(600);

/// The words of all runs. Cheap to clone; clones share state.
#[derive(Clone)]
pub(super) struct LiveText(Arc<LiveTextStore>);

struct LiveTextStore {
    reserved_bytes: AtomicUsize,
    runs: Mutex<LiveTextRuns>,
}

#[derive(Default)]
struct LiveTextRuns {
    runs: HashMap<Arc<str>, LiveRunText>,
    /// Runs, the one that was spoken in longest ago first. One that was spoken in again stands there
    /// twice.
    order: VecDeque<(Arc<str>, Instant)>,
    bytes: usize,
}

struct LiveRunText {
    texts: HashMap<LiveTextKey, String>,
    /// The newest text.
    last: Option<String>,
    bytes: usize,
    at: Instant,
}

/// Where words stand in a run.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum LiveTextKey {
    /// A text or a thought, by the name of its message.
    Text(Arc<str>),
    /// What a tool is given, by the id of its call.
    Input(Arc<str>),
}

/// Room for words of one reply that is coming. Dropped, it is given back.
#[derive(Debug)]
pub(super) struct LiveTextBudget {
    owner: LiveText,
    reserved: usize,
}

impl LiveText {
    pub(super) fn new() -> LiveText {
        LiveText(Arc::new(LiveTextStore {
            reserved_bytes: AtomicUsize::new(0),
            runs: Mutex::default(),
        }))
    }

    /// Room for a reply.
    pub(super) fn budget(&self) -> LiveTextBudget {
        LiveTextBudget { owner: self.clone(), reserved: 0 }
    }

    /// Something was said, all of it.
    pub(super) fn keep(&self, run: &Arc<str>, place: LiveTextKey, words: String) {
        let now = Instant::now();
        let mut kept = self.lock();
        let kept = &mut *kept;
        let of = kept.runs.entry(run.clone()).or_insert_with(|| LiveRunText {
            texts: HashMap::new(),
            last: None,
            bytes: 0,
            at: now,
        });
        of.at = now;
        let mut more = words.len() + 128;
        if let LiveTextKey::Text(_) = place {
            more += words.len();
            let before = of.last.replace(words.clone());
            let gone = before.map_or(0, |before| before.len());
            of.bytes = of.bytes.saturating_sub(gone);
            kept.bytes = kept.bytes.saturating_sub(gone);
        }
        // A name that is used twice says nothing about which is meant.
        match of.texts.get_mut(&place) {
            Some(before) if *before != words => before.clear(),
            Some(_) => {}
            None => {
                of.texts.insert(place, words);
            }
        }
        of.bytes += more;
        kept.bytes += more;
        kept.order.push_back((run.clone(), now));
        kept.evict(now);
    }

    /// Forgets what is old.
    pub(super) fn sweep(&self) {
        self.lock().evict(Instant::now());
    }

    fn lock(&self) -> MutexGuard<'_, LiveTextRuns> {
        self.0.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveTextRuns {
    fn evict(&mut self, now: Instant) {
        while let Some((run, at)) = self.order.front() {
            let newest = self.runs.get(run).is_some_and(|words| words.at == *at);
            let old = now.duration_since(*at) > KEEP_TIME;
            if newest && !old && self.bytes <= MAX_KEPT_BYTES {
                return;
            }
            if newest && let Some(gone) = self.runs.remove(run) {
                self.bytes = self.bytes.saturating_sub(gone.bytes);
            }
            self.order.pop_front();
        }
    }
}

impl EventTextSource for LiveText {
    fn restore(&self, event: &mut RunEvent) {
        let kept = self.lock();
        let Some(of) = kept.runs.get(&event.run) else { return };
        let found = |place: LiveTextKey| of.texts.get(&place).filter(|words| !words.is_empty());
        match &mut event.body {
            EventPayload::Text(text) | EventPayload::Thought(text) => {
                let words = text.message.clone().and_then(|it| found(LiveTextKey::Text(it)));
                if let (Some(full), Some(words)) = (&mut text.full, words) {
                    full.clone_from(words);
                }
            }
            EventPayload::ToolCall(call) => {
                let words = call.call.id.clone().and_then(|it| found(LiveTextKey::Input(it)));
                if let (Some(input), Some(words)) = (&mut call.input, words) {
                    *input = RawJson::parse(words).unwrap_or_else(|| RawJson::string(words));
                }
            }
            EventPayload::Ended(ended) => {
                if let (Some(text), Some(last)) = (&mut ended.text, &of.last) {
                    text.clone_from(last);
                }
            }
            _ => {}
        }
    }
}

impl LiveTextBudget {
    /// Whether there is room for so many bytes more, and how many that is at least.
    pub(super) fn take(&mut self, bytes: usize) -> Option<usize> {
        let portion = bytes.max(RESERVE_STEP);
        let coming = &self.owner.0.reserved_bytes;
        if coming.fetch_add(portion, Ordering::Relaxed) + portion > MAX_RESERVED_BYTES {
            coming.fetch_sub(portion, Ordering::Relaxed);
            return None;
        }
        self.reserved += portion;
        Some(portion)
    }
}

impl Drop for LiveTextBudget {
    fn drop(&mut self) {
        self.owner.0.reserved_bytes.fetch_sub(self.reserved, Ordering::Relaxed);
    }
}

impl fmt::Debug for LiveText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never what was said.
        formatter.debug_struct("LiveWords").field("bytes", &self.lock().bytes).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(run: &str, message: &str, full: &str) -> RunEvent {
        let text = foxwedge_run::TextUpdate {
            message: Some(message.into()),
            full: Some(full.to_owned()),
            ..foxwedge_run::TextUpdate::default()
        };
        RunEvent::new(&run.into(), EventPayload::Text(text))
    }

    fn shown(words: &LiveText, run: &str, message: &str) -> String {
        let mut event = text(run, message, "[9 characters, not kept]");
        words.restore(&mut event);
        match event.body {
            EventPayload::Text(text) => text.full.expect("it is there"),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn words_are_there_for_a_while_and_never_more_than_the_bound() {
        let words = LiveText::new();
        let run = |at: usize| -> Arc<str> { format!("r{at}").into() };
        for at in 0..200 {
            words.keep(&run(at), LiveTextKey::Text("m1-0".into()), "x".repeat(200 << 10));
            assert!(words.lock().bytes <= MAX_KEPT_BYTES, "{at}");
            assert!(words.lock().order.len() <= 200);
        }
        assert_eq!(shown(&words, "r199", "m1-0").len(), 200 << 10);
        assert_eq!(shown(&words, "r0", "m1-0"), "[9 characters, not kept]");
        assert_eq!(shown(&words, "r199", "m1-1"), "[9 characters, not kept]");
        tokio::time::advance(KEEP_TIME + Duration::from_secs(1)).await;
        words.sweep();
        let kept = words.lock();
        assert_eq!((kept.bytes, kept.runs.len(), kept.order.len()), (0, 0, 0));
    }

    #[test]
    fn replies_that_come_share_what_there_is() {
        let words = LiveText::new();
        let mut rooms: Vec<LiveTextBudget> = (0..2_000).map(|_| words.budget()).collect();
        let given = rooms.iter_mut().filter_map(|room| room.take(1)).sum::<usize>();
        assert_eq!(given, MAX_RESERVED_BYTES);
        assert!(words.budget().take(1).is_none());
        drop(rooms);
        assert_eq!(words.0.reserved_bytes.load(Ordering::Relaxed), 0);
        assert!(words.budget().take(1).is_some());
    }

    #[test]
    fn a_name_that_is_used_for_two_things_gives_neither() {
        let words = LiveText::new();
        let run: Arc<str> = "r".into();
        for said in ["one", "two"] {
            words.keep(&run, LiveTextKey::Text("m1-0".into()), said.to_owned());
        }
        assert_eq!(shown(&words, "r", "m1-0"), "[9 characters, not kept]");
        assert!(!format!("{words:?}").contains("two"));
    }
}
