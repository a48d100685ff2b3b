//! What was asked of this process: the newest requests, and counts by the minute. In memory, and
//! never more of it than is said here. No content.

mod ring;
mod minutes;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use foxwedge_engine::{FindingTally, GatewayEndpoint, GuardAction, RequestSummary};
use http::StatusCode;
use tokio::sync::watch;

use crate::log::DeliveryOutcome;

pub(super) use minutes::{ACTIONS, CLASSES, MinuteCounts, MinuteSlot, percentile};
pub(super) use ring::RequestRing;

/// Requests that are remembered, and bytes of them.
pub(super) const MAX_REQUESTS: usize = 2_000;
const MAX_BYTES: usize = 2 << 20;

/// Minutes that are remembered.
pub(super) const MAX_MINUTES: usize = 720;

/// Letters of a name that a client chose.
const MAX_NAME_CHARACTERS: usize = 160;

/// What was asked of this process.
pub(crate) struct RequestMonitor {
    ring: Mutex<RequestRing>,
    minutes: Mutex<MinuteCounts>,
    /// The number of the newest request.
    newest: watch::Sender<u64>,
}

/// A request that is over.
pub(crate) struct FinishedRequest<'s> {
    pub(crate) at: SystemTime,
    pub(crate) request: &'s Arc<str>,
    pub(crate) owner: &'s Arc<str>,
    pub(crate) face: GatewayEndpoint,
    pub(crate) agent: Option<&'s str>,
    pub(crate) summary: &'s RequestSummary,
    pub(crate) status: StatusCode,
    pub(crate) until_first_byte: Duration,
    pub(crate) until_end: Duration,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) ended: DeliveryOutcome,
}

/// What is remembered of a request.
#[derive(Debug)]
pub(super) struct RequestEntry {
    /// A later one has a higher one.
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) request: Box<str>,
    pub(super) owner: Arc<str>,
    pub(super) face: GatewayEndpoint,
    pub(super) agent: Option<Box<str>>,
    pub(super) model: Option<Box<str>>,
    pub(super) upstream: Option<Arc<str>>,
    pub(super) session: Option<Box<str>>,
    pub(super) run: Option<Arc<str>>,
    pub(super) matched: Option<&'static str>,
    pub(super) action: &'static str,
    pub(super) findings: Vec<FindingTally>,
    pub(super) error_code: Option<&'static str>,
    pub(super) status: StatusCode,
    pub(super) until_first_byte: Duration,
    pub(super) until_end: Duration,
    pub(super) bytes_in: u64,
    pub(super) bytes_out: u64,
    pub(super) ended: DeliveryOutcome,
}

impl RequestMonitor {
    pub(crate) fn new() -> RequestMonitor {
        // Numbers of a later process are higher.
        let first = milliseconds(SystemTime::now()).saturating_mul(1_000);
        let ring = Mutex::new(RequestRing::new(first, MAX_REQUESTS, MAX_BYTES));
        let minutes = Mutex::new(MinuteCounts::new(MAX_MINUTES));
        RequestMonitor { ring, minutes, newest: watch::Sender::new(first) }
    }

    /// A request is over.
    pub(crate) fn record_request(&self, seen: FinishedRequest<'_>) {
        let entry = RequestEntry::from_finished(&seen);
        lock(&self.minutes).count(&entry);
        let number = lock(&self.ring).push(entry);
        // Two requests that end together may come here in another order.
        self.newest.send_if_modified(|newest| {
            let later = number > *newest;
            *newest = number.max(*newest);
            later
        });
    }

    /// The newest requests.
    pub(super) fn ring(&self) -> MutexGuard<'_, RequestRing> {
        lock(&self.ring)
    }

    /// Counts by the minute.
    pub(super) fn minutes(&self) -> MutexGuard<'_, MinuteCounts> {
        lock(&self.minutes)
    }

    /// Says when there is a newer one.
    pub(super) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

impl RequestEntry {
    fn from_finished(seen: &FinishedRequest<'_>) -> RequestEntry {
        let told = seen.summary;
        let text = |text: &Option<Arc<str>>| text.as_deref().map(shorten);
        RequestEntry {
            number: 0,
            at: milliseconds(seen.at),
            request: shorten(seen.request),
            owner: seen.owner.clone(),
            face: seen.face,
            agent: seen.agent.map(shorten),
            model: text(&told.model),
            upstream: told.upstream.clone(),
            session: text(&told.session),
            run: told.run.clone(),
            matched: told.match_kind,
            action: match told.action {
                // Nothing was done about it, and it did not pass either.
                None => "failed",
                Some(GuardAction::None) if !seen.status.is_success() => "failed",
                Some(action) => action.name(),
            },
            findings: told.findings.clone(),
            error_code: told.error_code,
            status: seen.status,
            until_first_byte: seen.until_first_byte,
            until_end: seen.until_end,
            bytes_in: seen.bytes_in,
            bytes_out: seen.bytes_out,
            ended: seen.ended,
        }
    }

    /// Its name.
    pub(super) fn id(&self) -> String {
        format!("q-{}", self.number)
    }

    /// The number of a name.
    pub(super) fn number(id: &str) -> Option<u64> {
        let digits = id.strip_prefix("q-")?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    fn memory_size(&self) -> usize {
        let names = [&self.agent, &self.model, &self.session];
        let names: usize =
            names.iter().map(|name| name.as_ref().map_or(0, |name| name.len())).sum();
        size_of::<RequestEntry>()
            + self.request.len()
            + names
            + self.findings.len() * size_of::<FindingTally>()
    }
}

/// Milliseconds since 1970.
pub(super) fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A name that a client chose, not longer than a name should be.
fn shorten(text: &str) -> Box<str> {
    match text.char_indices().nth(MAX_NAME_CHARACTERS) {
        Some((end, _)) => text.get(..end).unwrap_or_default().into(),
        None => text.into(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
