//! Stores sessions, runs and run events: one small trait, two backends (SQLite and PostgreSQL).
//!
//! An acknowledged write is durable. A run ends exactly once: the first caller of
//! [`Store::finalize`] wins. If the process of a run is gone, one node closes the run ([`sweep`]).
//!
//! ```
//! use foxwedge_store::{AnyStore, NewSession, Store, StoreUrl};
//!
//! # #[tokio::main]
//! # async fn main() -> foxwedge_store::Result<()> {
//! let store = AnyStore::open(&StoreUrl::Memory).await?;
//! let session = NewSession { id: "s1".to_owned(), title: "Tides".to_owned(), ..NewSession::default() };
//! store.create_session(session).await?;
//! assert_eq!(store.session("s1").await?.map(|row| row.title).as_deref(), Some("Tides"));
//! # Ok(())
//! # }
//! ```

pub mod limits;
mod error;
mod model;
mod url;
mod clock;
mod check;
mod codec;
mod chain;
mod event_draft;
mod ordinals;
mod whole_run;
#[cfg(all(test, feature = "shuttle"))]
mod bell;
mod hub;
mod sqlite;
mod postgres;
mod any_store;
mod archive;
mod replay;
mod retry;
mod feed;
mod sweep;
pub mod process;
mod transfer;

use std::{future::Future, sync::Arc};

pub use any_store::AnyStore;
pub use archive::{ArchiveStore, LogDefect, LogHead, RestoreItem, StoreTotals, verify_log};
pub use chain::RawEvent;
pub use error::StoreError;
pub use feed::{EventTextSource, FeedFollower, FeedItem, FeedRegistry, SseFrame};
pub use hub::{StoreWake, StoreWatch};
pub use model::{
    AgentSnapshot, CloseAuthority, EntryHold, EntryHolder, EntryTake, EntryVersion, EntryWrite,
    FinalizeResult, Lease, ListFilter, ListPage, NewRecord, NewRun, NewSession, PruneReport,
    RunClosing, RunRow, RunState, SessionRow, SharedEntry, StartResult, StoredEvent, StoredRecord,
    WholeRun, node_key,
};
pub use postgres::PostgresStore;
pub use replay::run_records;
pub use retry::{RETRY_PAUSES_MILLIS, retry_unavailable};
pub use sqlite::SqliteStore;
pub use sweep::{ClosedRun, SweepSchedule, close_dead_runs, close_run, sweep, sweep_and_schedule};
pub use transfer::{ExportReport, FileDamage, ImportReport, export, import};
pub use url::{PostgresUrl, StoreUrl};

/// The result type of this crate.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Storage for sessions, runs and events. Every method is one transaction: when it returns, all of
/// it is on disk; if it fails, none of it is.
pub trait Store: Send + Sync + 'static {
    /// Creates a session. If the id exists, returns that session and changes nothing.
    fn create_session(&self, new: NewSession) -> impl Future<Output = Result<SessionRow>> + Send;

    /// Returns a session, or `None` if it does not exist.
    fn session(&self, id: &str) -> impl Future<Output = Result<Option<SessionRow>>> + Send;

    /// Lists sessions, newest first.
    fn sessions(
        &self,
        filter: ListFilter,
        page: ListPage,
    ) -> impl Future<Output = Result<Vec<SessionRow>>> + Send;

    /// Adds records to a session's tree. Every parent must be stored already or come before its
    /// child. A record id that is stored with the same content is skipped; with other content it is
    /// a conflict. Returns the ordinals that the store assigned.
    fn append_records(
        &self,
        session: &str,
        records: Vec<NewRecord>,
    ) -> impl Future<Output = Result<Vec<u64>>> + Send;

    /// Returns records of a session with an ordinal above `after`, in order.
    fn records(
        &self,
        session: &str,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredRecord>>> + Send;

    /// Starts a run, assigns its epoch and gives its owner a lease. A retry with the same run id
    /// and key returns the existing run.
    fn start_run(&self, new: NewRun) -> impl Future<Output = Result<StartResult>> + Send;

    /// Returns a run, or `None` if it does not exist.
    fn run(&self, id: &str) -> impl Future<Output = Result<Option<RunRow>>> + Send;

    /// Lists runs, newest first.
    fn runs(
        &self,
        filter: ListFilter,
        page: ListPage,
    ) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Appends events to a run. Every event has a sequence number (`seq`); the first must be the
    /// next one of the log. Events that are stored already (a retry after a lost acknowledgement)
    /// are skipped. Returns the last sequence number. Fails if the lease is stale or the run has
    /// ended.
    fn append(
        &self,
        run: &str,
        lease: &Lease,
        events: Vec<foxwedge_run::RunEvent>,
    ) -> impl Future<Output = Result<u64>> + Send;

    /// Ends a run unless it has ended: stores its last events, its outcome and the records it
    /// leaves in the session, in one step.
    fn finalize(
        &self,
        run: &str,
        authority: CloseAuthority,
        closing: RunClosing,
    ) -> impl Future<Output = Result<FinalizeResult>> + Send;

    /// Stores complete runs, each with its session, start and end. The result is the same as that
    /// of [`create_session`](Store::create_session), [`start_run`](Store::start_run) and
    /// [`finalize`](Store::finalize) in sequence, but no reader sees the run open. Fails if the
    /// session has another owner, and for every reason for which those methods fail. If the run
    /// exists, returns [`FinalizeResult::AlreadyEnded`].
    ///
    /// Each run is stored completely or not at all; a run that fails does not affect the others.
    /// Returns one result per run. Runs of the same session are stored in order.
    fn put_whole_runs(
        &self,
        runs: Vec<Arc<WholeRun>>,
    ) -> impl Future<Output = Vec<Result<FinalizeResult>>> + Send;

    /// Returns events of a run with a sequence number above `after`, in order and without gaps.
    fn events(
        &self,
        run: &str,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredEvent>>> + Send;

    /// Extends a lease to `ttl` milliseconds from now.
    fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> impl Future<Output = Result<()>> + Send;

    /// Takes over a run whose lease has expired. Writes of the previous holder fail from then on.
    /// Returns `None` if the lease is still valid or the run has ended.
    fn take_over(
        &self,
        run: &str,
        owner: &str,
        ttl: u64,
    ) -> impl Future<Output = Result<Option<Lease>>> + Send;

    /// Takes over an open run whether or not its lease has expired. Writes of the previous holder
    /// fail from then on. Only for a caller that holds the session of the run, so that the previous
    /// holder does not work on it. Returns `None` if the run has ended or does not exist.
    fn hand_over(
        &self,
        run: &str,
        owner: &str,
        ttl: u64,
    ) -> impl Future<Output = Result<Option<Lease>>> + Send;

    /// Milliseconds until the first lease expires, by the store's own clock; 0 if one has expired.
    /// `None` if no run is open.
    fn earliest_lease(&self) -> impl Future<Output = Result<Option<u64>>> + Send;

    /// Lists runs whose lease has expired.
    fn abandoned_runs(&self, limit: usize) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Stores the state of a live agent under a name and replaces any earlier state.
    fn put_snapshot(
        &self,
        session: &str,
        snapshot: AgentSnapshot,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Returns the state stored under a name, unless it has expired.
    fn snapshot(
        &self,
        session: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<AgentSnapshot>>> + Send;

    /// Deletes the state stored under a name.
    fn drop_snapshot(&self, session: &str, name: &str)
    -> impl Future<Output = Result<bool>> + Send;

    /// Deletes a session with everything in it. Fails while the session has an open run.
    fn delete_session(&self, id: &str) -> impl Future<Output = Result<bool>> + Send;

    /// Deletes an ended run with its events.
    fn delete_run(&self, id: &str) -> impl Future<Output = Result<bool>> + Send;

    /// Deletes sessions without an open run that were last changed before `before` (milliseconds
    /// since 1970), at most `limit` of them, and all expired snapshots and entries.
    fn prune(&self, before: u64, limit: usize) -> impl Future<Output = Result<PruneReport>> + Send;

    /// Reads what nodes share under these keys, and the entries that those link to. Of the entries
    /// that nodes hold and that link to one of these keys, it reads two at most for each key: one of a
    /// node that is alive, and one of a node that is not. What does not exist or has expired is left
    /// out.
    fn entries(&self, keys: Vec<String>) -> impl Future<Output = Result<Vec<SharedEntry>>> + Send;

    /// Takes an entry for a node. An entry that does not exist is created. Returns its new version;
    /// `None`, and nothing is written, if it has changed since it was read, so has what a write
    /// replaces, or a node that is alive holds it.
    fn hold_entry(&self, take: EntryTake) -> impl Future<Output = Result<Option<u64>>> + Send;

    /// Writes entries. With `hold`, only if the node still holds that entry, which it releases;
    /// returns whether it did.
    fn write_entries(
        &self,
        hold: Option<EntryHold>,
        writes: Vec<EntryWrite>,
    ) -> impl Future<Output = Result<bool>> + Send;

    /// Subscribes to wake-ups. A wake-up means that there is something to read; it carries no
    /// events. A woken reader reads the log after the last sequence number it knows, so it misses
    /// nothing.
    fn watch(&self) -> impl Future<Output = Result<StoreWatch>> + Send;
}
