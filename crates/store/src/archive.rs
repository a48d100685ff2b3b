//! What a backend gives besides [`Store`], for export, import and verification: events as they
//! lie there, and a way to put things back as they were.

use std::future::Future;

use foxwedge_run::{RunEnd, RunSummary, wire};

use crate::{
    RawEvent, Result, RunRow, SessionRow, Store, StoreError, StoredRecord,
    chain::{self, ROOT},
};

/// How many events are verified at once.
const VERIFY_PAGE: usize = 1_000;

/// Who holds a run while it is imported.
pub(crate) const IMPORTER: &str = "import";

/// How long an import may take from one piece of a run to the next before the run counts as
/// abandoned, in milliseconds.
pub(crate) const IMPORT_TTL: u64 = 60_000;

/// The end of a run's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// The place of the last event.
    pub last: u64,
    /// Its link, which is kept with the run.
    pub chain: [u8; 16],
}

/// Something that is put back as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreItem {
    /// A session. One that is there has to have the same owner, title, meta and time; the higher
    /// epoch and the later touch win. A new one has no records yet, whatever the row says.
    Session(SessionRow),
    /// Records of a session, with the ordinals they had: those that are there have to be the
    /// same, the others follow them without a gap.
    Records {
        /// The session.
        session: String,
        /// Its records, in order.
        records: Vec<StoredRecord>,
    },
    /// A run without its events. One that is there has to have the same session, epoch, key,
    /// time, agent and model. A new one is open, and held by the import for a while.
    Run(RunRow),
    /// Events of a run, in order and with links that were verified. Those that are there have to
    /// be the same; others are added only to a run that the import holds.
    Events {
        /// The run.
        run: String,
        /// Its events.
        events: Vec<RawEvent>,
    },
    /// Nothing more comes for a run, which was open: if the import holds it, its lease runs out.
    Left {
        /// The run.
        run: String,
    },
    /// A run's end, if the import holds it. One that has ended has to have ended the same way.
    End {
        /// The run.
        run: String,
        /// How it ended.
        ended: RunEnd,
        /// In numbers.
        summary: RunSummary,
        /// When.
        at: u64,
    },
}

impl RestoreItem {
    /// About how much it carries.
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

/// A backend whose content can be taken out and put back.
pub trait ArchiveStore: Store {
    /// Events behind a place as they lie there, verified by nobody. What cannot be read as text
    /// is replaced, so that the chain does not fit it.
    fn raw_events(
        &self,
        run: &str,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<RawEvent>>> + Send;

    /// The end of a run's log, as the run's row tells it; `None` if there is no such run.
    fn log_head(&self, run: &str) -> impl Future<Output = Result<Option<LogHead>>> + Send;

    /// Puts a piece back, in one transaction. Returns how many rows are new: 0 if all of it was
    /// there. Something else under the same id is a `Conflict`, and nothing is changed.
    fn restore(&self, piece: RestoreItem) -> impl Future<Output = Result<u64>> + Send;

    /// How much there is.
    fn totals(&self) -> impl Future<Output = Result<StoreTotals>> + Send;

    /// Gives the space of what was deleted back, as far as the backend can. Whoever writes
    /// meanwhile may have to wait.
    fn compact(&self) -> impl Future<Output = Result<()>> + Send;

    /// What the engine itself finds wrong with its data: nothing, if all is well.
    fn examine(&self) -> impl Future<Output = Result<Vec<String>>> + Send;
}

/// How much is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StoreTotals {
    /// The version of the schema.
    pub schema: u32,
    /// Sessions.
    pub sessions: u64,
    /// Records.
    pub records: u64,
    /// Snapshots.
    pub snapshots: u64,
    /// Runs.
    pub runs: u64,
    /// Runs that are open.
    pub open: u64,
    /// Events.
    pub events: u64,
    /// Bytes on disk, if that can be told.
    pub bytes: Option<u64>,
}

/// A place in a run's log that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDefect {
    /// The run.
    pub run: String,
    /// The place.
    pub place: u64,
    /// What is wrong with it.
    pub why: String,
}

/// Reads the whole log of a run, and returns every place that is not what it was. A place that
/// is gone takes the next one with it, which has nothing to hold on to.
pub async fn verify_log<A: ArchiveStore>(store: &A, run: &str) -> Result<Vec<LogDefect>> {
    let head = store.log_head(run).await?.ok_or_else(|| StoreError::NoRun(run.to_owned()))?;
    let mut flaws = Vec::new();
    let mut flaw = |place, why: &str| {
        flaws.push(LogDefect { run: run.to_owned(), place, why: why.to_owned() });
    };
    let (mut place, mut link) = (0, ROOT);
    while place < head.last {
        let rows = store.raw_events(run, place, VERIFY_PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for row in rows.into_iter().filter(|row| row.seq <= head.last) {
            (place + 1..row.seq).for_each(|missing| flaw(missing, "it is missing"));
            if row.chain != chain::link(&link, row.seq, &row.body) {
                flaw(row.seq, "it does not fit what came before");
            } else if let Err(error) = wire::read(&row.body) {
                flaw(row.seq, &error.to_string());
            }
            (place, link) = (row.seq, row.chain);
        }
    }
    (place + 1..=head.last).for_each(|missing| flaw(missing, "it is missing"));
    if place == head.last && link != head.chain {
        flaw(place, "it is not the one the run ends with");
    }
    Ok(flaws)
}
