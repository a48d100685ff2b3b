//! Recent requests of this process and counts per minute. Kept in memory with fixed limits, and
//! without message content.

mod ring;
mod minutes;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{FindingTally, GatewayEndpoint, GuardAction};
use http::StatusCode;
use tokio::sync::watch;

use crate::log::{DeliveryOutcome, RequestLogLine};

pub(crate) use minutes::{ACTIONS, CLASSES, MinuteCounts, MinuteSlot, percentile};
pub(crate) use ring::RequestRing;

/// Maximum number of requests kept, and their size in bytes.
pub(crate) const MAX_REQUESTS: usize = 2_000;
const MAX_BYTES: usize = 2 << 20;

/// Maximum number of minutes kept.
pub(crate) const MAX_MINUTES: usize = 720;

/// Maximum length of a client-chosen name.
const MAX_NAME_CHARACTERS: usize = 160;

/// Recent requests of this process.
pub(crate) struct RequestMonitor {
    ring: Mutex<RequestRing>,
    minutes: Mutex<MinuteCounts>,
    /// The number of the newest request.
    newest: watch::Sender<u64>,
}

/// What is kept of a request.
#[derive(Debug)]
pub(crate) struct RequestEntry {
    /// Later requests have higher numbers.
    pub(crate) number: u64,
    pub(crate) at: u64,
    pub(crate) request: Box<str>,
    pub(crate) owner: Arc<str>,
    pub(crate) face: GatewayEndpoint,
    pub(crate) agent: Option<Box<str>>,
    pub(crate) model: Option<Box<str>>,
    pub(crate) upstream: Option<Arc<str>>,
    pub(crate) session: Option<Box<str>>,
    pub(crate) run: Option<Arc<str>>,
    pub(crate) matched: Option<&'static str>,
    pub(crate) action: &'static str,
    pub(crate) findings: Vec<FindingTally>,
    pub(crate) error_code: Option<&'static str>,
    pub(crate) status: StatusCode,
    pub(crate) until_first_byte: Duration,
    pub(crate) until_end: Duration,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) ended: DeliveryOutcome,
}

impl RequestMonitor {
    pub(crate) fn new() -> RequestMonitor {
        // A later process starts with higher numbers.
        let first = milliseconds(SystemTime::now()).saturating_mul(1_000);
        let ring = Mutex::new(RequestRing::new(first, MAX_REQUESTS, MAX_BYTES));
        let minutes = Mutex::new(MinuteCounts::new(MAX_MINUTES));
        RequestMonitor { ring, minutes, newest: watch::Sender::new(first) }
    }

    /// Records a finished request. Requests without a token are not recorded: anyone could fill the
    /// ring with them.
    pub(crate) fn record_request(&self, endpoint: GatewayEndpoint, line: &RequestLogLine) {
        let Some(owner) = &line.owner else { return };
        let entry = RequestEntry::from_line(owner, endpoint, line);
        lock(&self.minutes).count(&entry);
        let number = lock(&self.ring).push(entry);
        // Requests that end at the same time may get here out of order.
        self.newest.send_if_modified(|newest| {
            let later = number > *newest;
            *newest = number.max(*newest);
            later
        });
    }

    /// The newest requests.
    pub(crate) fn ring(&self) -> MutexGuard<'_, RequestRing> {
        lock(&self.ring)
    }

    /// Counts per minute.
    pub(crate) fn minutes(&self) -> MutexGuard<'_, MinuteCounts> {
        lock(&self.minutes)
    }

    /// Signals newer requests.
    pub(crate) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }
}

impl RequestEntry {
    fn from_line(
        owner: &Arc<str>,
        face: GatewayEndpoint,
        request: &RequestLogLine,
    ) -> RequestEntry {
        let summary = &request.summary;
        let text = |text: &Option<Arc<str>>| text.as_deref().map(shorten);
        RequestEntry {
            number: 0,
            at: milliseconds(request.at),
            request: shorten(&request.id),
            owner: owner.clone(),
            face,
            agent: request.agent.as_deref().map(shorten),
            model: text(&summary.model),
            upstream: summary.upstream.clone(),
            session: text(&summary.session),
            run: summary.run.clone(),
            matched: summary.match_kind,
            action: match summary.action {
                // The guard did nothing, but the request did not succeed.
                None => "failed",
                Some(GuardAction::None) if !request.status.is_success() => "failed",
                Some(action) => action.name(),
            },
            findings: summary.findings.clone(),
            error_code: summary.error_code,
            status: request.status,
            until_first_byte: request.until_first_byte,
            until_end: request.until_end,
            bytes_in: request.bytes_in as u64,
            bytes_out: request.bytes_out,
            ended: request.ended,
        }
    }

    /// Id in the console.
    pub(crate) fn id(&self) -> String {
        format!("q-{}", self.number)
    }

    /// The number in an id.
    pub(crate) fn number(id: &str) -> Option<u64> {
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
pub(crate) fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Truncates a client-chosen name.
fn shorten(text: &str) -> Box<str> {
    // Counting bytes is enough for nearly all.
    if text.len() <= MAX_NAME_CHARACTERS {
        return text.into();
    }
    match text.char_indices().nth(MAX_NAME_CHARACTERS) {
        Some((end, _)) => text.get(..end).unwrap_or_default().into(),
        None => text.into(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
