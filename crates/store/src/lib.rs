//! Where sessions, runs and their events are kept: one small trait, two backends.
//!
//! What is acknowledged is durable. Exactly one end is recorded for a run, by whoever comes first
//! ([`Store::finalize`]); a run whose process is gone is closed by one node ([`sweep`]).

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
    AgentSnapshot, CloseAuthority, FinalizeResult, Lease, ListFilter, ListPage, NewRecord, NewRun,
    NewSession, PruneReport, RunClosing, RunRow, RunState, SessionRow, StartResult, StoredEvent,
    StoredRecord, WholeRun,
};
pub use postgres::PostgresStore;
pub use replay::run_records;
pub use sqlite::SqliteStore;
pub use sweep::{ClosedRun, SweepSchedule, close_dead_runs, close_run, sweep, sweep_and_schedule};
pub use transfer::{ExportReport, FileDamage, ImportReport, export, import};
pub use url::{PostgresUrl, StoreUrl};

/// The result of everything here.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// A place for sessions, runs and events. Every method is one transaction: it happened whole and
/// is on disk when it returns, or it did not happen.
pub trait Store: Send + Sync + 'static {
    /// Makes a session, or finds the one that is there: the same id again changes nothing.
    fn create_session(&self, new: NewSession) -> impl Future<Output = Result<SessionRow>> + Send;

    /// A session; `None` if there is none.
    fn session(&self, id: &str) -> impl Future<Output = Result<Option<SessionRow>>> + Send;

    /// Sessions, the newest first.
    fn sessions(
        &self,
        filter: ListFilter,
        page: ListPage,
    ) -> impl Future<Output = Result<Vec<SessionRow>>> + Send;

    /// Adds records to a session's tree. Every parent has to be there or to come before its
    /// child. A record id that is there with the same content is passed over; with other content
    /// it is a conflict. Returns the ordinal of each, which the store gives out.
    fn append_records(
        &self,
        session: &str,
        records: Vec<NewRecord>,
    ) -> impl Future<Output = Result<Vec<u64>>> + Send;

    /// Records of a session behind an ordinal, in order.
    fn records(
        &self,
        session: &str,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredRecord>>> + Send;

    /// Starts a run, gives it its epoch and its owner a lease. The same run id and key again
    /// (a retry) finds the run that is there.
    fn start_run(&self, new: NewRun) -> impl Future<Output = Result<StartResult>> + Send;

    /// A run; `None` if there is none.
    fn run(&self, id: &str) -> impl Future<Output = Result<Option<RunRow>>> + Send;

    /// Runs, the newest first.
    fn runs(
        &self,
        filter: ListFilter,
        page: ListPage,
    ) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Adds events to a run. Every event has its place (`seq`); the first has to be the next one
    /// of the log. Events that are there already, told again after a lost acknowledgement, are
    /// passed over. Returns the last place. Refused: a stale lease, a run that has ended.
    fn append(
        &self,
        run: &str,
        lease: &Lease,
        events: Vec<foxwedge_run::RunEvent>,
    ) -> impl Future<Output = Result<u64>> + Send;

    /// Ends a run: its last events, its outcome and the records it leaves in the session, in one
    /// step, if nobody has ended it before.
    fn finalize(
        &self,
        run: &str,
        authority: CloseAuthority,
        closing: RunClosing,
    ) -> impl Future<Output = Result<FinalizeResult>> + Send;

    /// Keeps runs that are told from their beginning to their end at once. What is there behind it
    /// is what [`create_session`](Store::create_session), [`start_run`](Store::start_run) and
    /// [`finalize`](Store::finalize) leave one after the other, but nobody has seen the run at work.
    /// Refused: a session of another owner, and whatever those refuse. A run that is there already
    /// is [`Finalized::Lost`].
    ///
    /// Each run is kept whole or not at all, and one that is refused does not keep the others from
    /// it. Returns what became of each; runs of the same session go in one after the other.
    fn put_whole_runs(
        &self,
        runs: Vec<Arc<WholeRun>>,
    ) -> impl Future<Output = Vec<Result<FinalizeResult>>> + Send;

    /// Events of a run behind a place, in order, without a gap.
    fn events(
        &self,
        run: &str,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<StoredEvent>>> + Send;

    /// Keeps a lease for that much longer, in milliseconds from now.
    fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> impl Future<Output = Result<()>> + Send;

    /// Takes a run over whose lease has run out. Whoever had it before is refused from now on.
    /// `None` if it is still held, or has ended.
    fn take_over(
        &self,
        run: &str,
        owner: &str,
        ttl: u64,
    ) -> impl Future<Output = Result<Option<Lease>>> + Send;

    /// How long the lease that runs out first still lasts, in milliseconds by the store's own clock;
    /// 0 if it has run out. `None` if no run is open.
    fn earliest_lease(&self) -> impl Future<Output = Result<Option<u64>>> + Send;

    /// Runs whose lease has run out.
    fn abandoned_runs(&self, limit: usize) -> impl Future<Output = Result<Vec<RunRow>>> + Send;

    /// Keeps the state of a live agent under a name, instead of what was there.
    fn put_snapshot(
        &self,
        session: &str,
        snapshot: AgentSnapshot,
    ) -> impl Future<Output = Result<()>> + Send;

    /// The state kept under a name, unless it has expired.
    fn snapshot(
        &self,
        session: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<AgentSnapshot>>> + Send;

    /// Forgets the state kept under a name.
    fn drop_snapshot(&self, session: &str, name: &str)
    -> impl Future<Output = Result<bool>> + Send;

    /// Deletes a session with everything in it. Refused while a run of it is at work.
    fn delete_session(&self, id: &str) -> impl Future<Output = Result<bool>> + Send;

    /// Deletes a run that has ended, with its events.
    fn delete_run(&self, id: &str) -> impl Future<Output = Result<bool>> + Send;

    /// Deletes sessions that nobody touched since a time (milliseconds since 1970) and that have
    /// no run at work, and snapshots that have expired. At most so many sessions at once.
    fn prune(&self, before: u64, limit: usize) -> impl Future<Output = Result<PruneReport>> + Send;

    /// Wakes whoever waits for events. A wake-up says that there is something to read, never what;
    /// whoever is woken reads the log behind the last place it knows, so none can be missed.
    fn watch(&self) -> impl Future<Output = Result<StoreWatch>> + Send;
}
