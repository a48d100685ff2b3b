//! Text of runs whose content is not stored: kept in memory for a while, so that followers of a
//! live run can read it. It is never written to disk, and its total size is bounded.

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

/// Maximum bytes of finished texts.
const MAX_KEPT_BYTES: usize = 2 << 20;
/// Maximum bytes that replies in progress may reserve.
const MAX_RESERVED_BYTES: usize = 16 << 20;
/// How many bytes a reply in progress reserves at a time.
const RESERVE_STEP: usize = 16 << 10;
/// Approximate memory of a run and of a text, beside the text itself.
const RUN_BYTES: usize = 256;
const TEXT_BYTES: usize = 128;
/// How long the text of a run is kept after its last update.
const KEEP_TIME: Duration = Duration::from_secs(600);

/// The text of all runs. Cheap to clone; clones share state.
#[derive(Clone)]
pub(super) struct LiveText(Arc<LiveTextStore>);

struct LiveTextStore {
    reserved_bytes: AtomicUsize,
    runs: Mutex<LiveTextRuns>,
}

#[derive(Default)]
struct LiveTextRuns {
    runs: HashMap<Arc<str>, LiveRunText>,
    /// Runs by the time of their last update, the oldest first. A run may occur several times.
    order: VecDeque<(Arc<str>, Instant)>,
    bytes: usize,
}

struct LiveRunText {
    /// Sorted: most runs have one text, which a map would take a multiple of its size for.
    texts: Vec<(LiveTextKey, Arc<str>)>,
    /// The newest text.
    last: Option<Arc<str>>,
    bytes: usize,
    at: Instant,
}

/// Identifies a text of a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum LiveTextKey {
    /// A text or a reasoning block, by its message id.
    Text(Arc<str>),
    /// The input of a tool, by its call id.
    Input(Arc<str>),
}

/// Memory reserved for the text of one reply in progress. Dropping it releases the memory.
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

    /// A budget for one reply.
    pub(super) fn budget(&self) -> LiveTextBudget {
        LiveTextBudget { owner: self.clone(), reserved: 0 }
    }

    /// Keeps a complete text.
    pub(super) fn keep(&self, run: &Arc<str>, key: LiveTextKey, text: String) {
        let (now, text) = (Instant::now(), Arc::<str>::from(text));
        let mut runs = self.lock();
        let runs = &mut *runs;
        let mut added = 0;
        let run_text = runs.runs.entry(run.clone()).or_insert_with(|| {
            added += RUN_BYTES;
            LiveRunText { texts: Vec::new(), last: None, bytes: 0, at: now }
        });
        run_text.at = now;
        if let LiveTextKey::Text(_) = key {
            run_text.last = Some(text.clone());
        }
        match run_text.texts.binary_search_by(|(other, _)| other.cmp(&key)) {
            // If an id is used for two texts, neither can be shown.
            Ok(index) => {
                if let Some((_, previous)) =
                    run_text.texts.get_mut(index).filter(|it| *it.1 != *text)
                {
                    *previous = Arc::default();
                }
            }
            Err(index) => {
                added += TEXT_BYTES + text.len();
                run_text.texts.insert(index, (key, text));
            }
        }
        run_text.bytes += added;
        runs.bytes += added;
        runs.order.push_back((run.clone(), now));
        runs.evict(now);
    }

    /// Removes expired text.
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
            let is_newest = self.runs.get(run).is_some_and(|run_text| run_text.at == *at);
            let is_expired = now.duration_since(*at) > KEEP_TIME;
            if is_newest && !is_expired && self.bytes <= MAX_KEPT_BYTES {
                return;
            }
            if is_newest && let Some(removed) = self.runs.remove(run) {
                self.bytes = self.bytes.saturating_sub(removed.bytes);
            }
            self.order.pop_front();
        }
    }
}

impl EventTextSource for LiveText {
    fn restore(&self, event: &mut RunEvent) {
        let runs = self.lock();
        let Some(run_text) = runs.runs.get(&event.run) else { return };
        let found = |key: LiveTextKey| {
            let index = run_text.texts.binary_search_by(|(other, _)| other.cmp(&key)).ok()?;
            let (_, kept_text) = run_text.texts.get(index)?;
            (!kept_text.is_empty()).then_some(&**kept_text)
        };
        match &mut event.body {
            EventPayload::Text(text) | EventPayload::Thought(text) => {
                let kept_text = text.message.clone().and_then(|it| found(LiveTextKey::Text(it)));
                if let (Some(full), Some(kept_text)) = (&mut text.full, kept_text) {
                    kept_text.clone_into(full);
                }
            }
            EventPayload::ToolCall(call) => {
                let kept_text = call.call.id.clone().and_then(|it| found(LiveTextKey::Input(it)));
                if let (Some(input), Some(kept_text)) = (&mut call.input, kept_text) {
                    *input =
                        RawJson::parse(kept_text).unwrap_or_else(|| RawJson::string(kept_text));
                }
            }
            EventPayload::Ended(ended) => {
                if let (Some(text), Some(last)) = (&mut ended.text, &run_text.last) {
                    (**last).clone_into(text);
                }
            }
            _ => {}
        }
    }
}

impl LiveTextBudget {
    /// Reserves at least this many bytes. Returns how many, or `None` if there is no room.
    pub(super) fn take(&mut self, bytes: usize) -> Option<usize> {
        let portion = bytes.max(RESERVE_STEP);
        let reserved_bytes = &self.owner.0.reserved_bytes;
        if reserved_bytes.fetch_add(portion, Ordering::Relaxed) + portion > MAX_RESERVED_BYTES {
            reserved_bytes.fetch_sub(portion, Ordering::Relaxed);
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
        // Never the text itself.
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

    fn text_of(live_text: &LiveText, run: &str, message: &str) -> String {
        let mut event = text(run, message, "[9 characters, not recorded]");
        live_text.restore(&mut event);
        match event.body {
            EventPayload::Text(text) => text.full.expect("it is there"),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn text_is_kept_for_a_while_within_the_limit() {
        let live_text = LiveText::new();
        let run = |at: usize| -> Arc<str> { format!("r{at}").into() };
        for at in 0..200 {
            live_text.keep(&run(at), LiveTextKey::Text("m1-0".into()), "x".repeat(200 << 10));
            assert!(live_text.lock().bytes <= MAX_KEPT_BYTES, "{at}");
            assert!(live_text.lock().order.len() <= 200);
        }
        assert_eq!(text_of(&live_text, "r199", "m1-0").len(), 200 << 10);
        assert_eq!(text_of(&live_text, "r0", "m1-0"), "[9 characters, not recorded]");
        assert_eq!(text_of(&live_text, "r199", "m1-1"), "[9 characters, not recorded]");
        tokio::time::advance(KEEP_TIME + Duration::from_secs(1)).await;
        live_text.sweep();
        let runs = live_text.lock();
        assert_eq!((runs.bytes, runs.runs.len(), runs.order.len()), (0, 0, 0));
    }

    #[test]
    fn replies_in_progress_share_the_reserve_limit() {
        let live_text = LiveText::new();
        let mut budgets: Vec<LiveTextBudget> = (0..2_000).map(|_| live_text.budget()).collect();
        let granted = budgets.iter_mut().filter_map(|budget| budget.take(1)).sum::<usize>();
        assert_eq!(granted, MAX_RESERVED_BYTES);
        assert!(live_text.budget().take(1).is_none());
        drop(budgets);
        assert_eq!(live_text.0.reserved_bytes.load(Ordering::Relaxed), 0);
        assert!(live_text.budget().take(1).is_some());
    }

    #[test]
    fn an_id_that_is_used_for_two_texts_shows_neither() {
        let live_text = LiveText::new();
        let run: Arc<str> = "r".into();
        for text in ["one", "two"] {
            live_text.keep(&run, LiveTextKey::Text("m1-0".into()), text.to_owned());
        }
        assert_eq!(text_of(&live_text, "r", "m1-0"), "[9 characters, not recorded]");
        assert!(!format!("{live_text:?}").contains("two"));
    }
}
