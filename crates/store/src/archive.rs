//! What a backend offers in addition to [`Store`], for export, import and verification: raw events,
//! and a way to restore rows unchanged.

use std::future::Future;

use foxwedge_run::{RunEnd, RunSummary, wire};

use crate::{
    RawEvent, Result, RunRow, SessionRow, Store, StoreError, StoredRecord,
    chain::{self, ROOT},
};

/// Events verified per page.
const VERIFY_PAGE: usize = 1_000;

/// Owner of the lease while a run is imported.
pub(crate) const IMPORTER: &str = "import";

/// How long an import may take between two items of a run before the run counts as abandoned, in
/// milliseconds.
pub(crate) const IMPORT_TTL: u64 = 60_000;

/// The end of a run's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// Sequence number of the last event.
    pub last: u64,
    /// Link of the last event, which is stored with the run.
    pub chain: [u8; 16],
}

/// A part of an archive, restored unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreItem {
    /// A session. An existing session must have the same owner, title, meta and creation time; the
    /// higher epoch and the later change win. A new session has no records yet, whatever `records`
    /// contains.
    Session(SessionRow),
    /// Records of a session with their ordinals. Existing records must be the same; the others must
    /// follow them without a gap.
    Records {
        /// The session.
        session: String,
        /// Its records, in order.
        records: Vec<StoredRecord>,
    },
    /// A run without its events. An existing run must have the same session, epoch, key, start
    /// time, agent and model. A new run is open, and the import holds its lease for a while.
    Run(RunRow),
    /// Events of a run, in order and with verified links. Existing events must be the same; new
    /// events are added only to a run whose lease the import holds.
    Events {
        /// The run.
        run: String,
        /// Its events.
        events: Vec<RawEvent>,
    },
    /// The archive has nothing more for a run that was open. If the import holds its lease, the
    /// lease expires now.
    Left {
        /// The run.
        run: String,
    },
    /// The end of a run, if the import holds its lease. A run that has ended must have ended the
    /// same way.
    End {
        /// The run.
        run: String,
        /// The end, with outcome, text and costs.
        ended: RunEnd,
        /// Totals of the run.
        summary: RunSummary,
        /// When the run ended.
        at: u64,
    },
}

impl RestoreItem {
    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            RestoreItem::Records { records, .. } => {
                records.iter().map(|record| record.record.body.len()).sum()
            }
            RestoreItem::Events { events, .. } => events.iter().map(|event| event.body.len()).sum(),
            RestoreItem::Session(_)
            | RestoreItem::Run(_)
            | RestoreItem::Left { .. }
            | RestoreItem::End { .. } => 0,
        }
    }
}

/// A backend whose content can be exported and restored.
pub trait ArchiveStore: Store {
    /// Returns stored events after a sequence number, unverified. Bytes that are not text are
    /// replaced, so the chain detects them.
    fn raw_events(
        &self,
        run: &str,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<RawEvent>>> + Send;

    /// Returns the end of a run's log as the run's row has it, or `None` if the run does not exist.
    fn log_head(&self, run: &str) -> impl Future<Output = Result<Option<LogHead>>> + Send;

    /// Restores an item in one transaction. Returns the number of new rows: 0 if all of it existed.
    /// Other content under the same id is a `Conflict`, and nothing changes.
    fn restore(&self, item: RestoreItem) -> impl Future<Output = Result<u64>> + Send;

    /// Counts the stored rows.
    fn totals(&self) -> impl Future<Output = Result<StoreTotals>> + Send;

    /// Returns the space of deleted rows to the file system, as far as the backend can. Writers may
    /// have to wait meanwhile.
    fn compact(&self) -> impl Future<Output = Result<()>> + Send;

    /// Runs the database engine's own check. Returns the errors it found; empty if there are none.
    fn examine(&self) -> impl Future<Output = Result<Vec<String>>> + Send;
}

/// How much a store contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StoreTotals {
    /// Schema version.
    pub schema: u32,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of records.
    pub records: u64,
    /// Number of snapshots.
    pub snapshots: u64,
    /// Number of runs.
    pub runs: u64,
    /// Number of open runs.
    pub open: u64,
    /// Number of events.
    pub events: u64,
    /// Bytes on disk, if known.
    pub bytes: Option<u64>,
}

/// A missing or damaged event in a run's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDefect {
    /// The run.
    pub run: String,
    /// Sequence number of the event.
    pub place: u64,
    /// What is wrong with the event.
    pub why: String,
}

/// Reads the whole log of a run and returns every missing or damaged event. The event after a
/// missing one is reported too, because its link cannot be checked.
pub async fn verify_log<A: ArchiveStore>(store: &A, run: &str) -> Result<Vec<LogDefect>> {
    let head = store.log_head(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
    let mut defects = Vec::new();
    let mut report = |place, why: &str| {
        defects.push(LogDefect { run: run.to_owned(), place, why: why.to_owned() });
    };
    let (mut place, mut link) = (0, ROOT);
    while place < head.last {
        let rows = store.raw_events(run, place, VERIFY_PAGE).await?;
        // Rows behind the end belong to no event.
        let mut rows = rows.into_iter().filter(|row| row.seq <= head.last).peekable();
        if rows.peek().is_none() {
            break;
        }
        for row in rows {
            (place + 1..row.seq).for_each(|missing| report(missing, "it is missing"));
            if row.chain != chain::link(&link, row.seq, &row.body) {
                report(row.seq, "its hash does not match the events before it");
            } else if let Err(error) = wire::read(&row.body) {
                report(row.seq, &error.to_string());
            }
            (place, link) = (row.seq, row.chain);
        }
    }
    (place + 1..=head.last).for_each(|missing| report(missing, "it is missing"));
    if place == head.last && link != head.chain {
        report(place, "it is not the last event of the run");
    }
    Ok(defects)
}
