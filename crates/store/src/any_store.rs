//! A store of either backend, chosen by its URL.

use std::sync::Arc;

use foxwedge_run::RunEvent;

use crate::{
    AgentSnapshot, ArchiveStore, CloseAuthority, EntryHold, EntryTake, EntryWrite, FinalizeResult,
    Lease, ListFilter, ListPage, LogHead, NewRecord, NewRun, NewSession, PostgresStore,
    PruneReport, RawEvent, RestoreItem, Result, RunClosing, RunRow, SessionRow, SharedEntry,
    SqliteStore, StartResult, Store, StoreTotals, StoreUrl, StoreWatch, StoredEvent, StoredRecord,
    WholeRun,
};

/// A store of either backend.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a process has one of them")]
pub enum AnyStore {
    /// A SQLite file, or an in-memory database.
    Sqlite(SqliteStore),
    /// A PostgreSQL server.
    Postgres(PostgresStore),
}

impl AnyStore {
    /// Opens the store that a URL names. Creates it if it does not exist.
    pub async fn open(url: &StoreUrl) -> Result<AnyStore> {
        Ok(match url {
            StoreUrl::Sqlite(path) => AnyStore::Sqlite(SqliteStore::open(path).await?),
            StoreUrl::Memory => AnyStore::Sqlite(SqliteStore::memory().await?),
            StoreUrl::Postgres(url) => AnyStore::Postgres(PostgresStore::open(url.secret()).await?),
        })
    }

    /// Whether processes on other machines may use the store at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self, AnyStore::Postgres(_))
    }
}

/// Calls a method on the backend.
macro_rules! either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            AnyStore::Sqlite($store) => $call.await,
            AnyStore::Postgres($store) => $call.await,
        }
    };
}

impl Store for AnyStore {
    async fn create_session(&self, new: NewSession) -> Result<SessionRow> {
        either!(self, store => store.create_session(new))
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        either!(self, store => store.session(id))
    }

    async fn sessions(&self, filter: ListFilter, page: ListPage) -> Result<Vec<SessionRow>> {
        either!(self, store => store.sessions(filter, page))
    }

    async fn append_records(&self, session: &str, records: Vec<NewRecord>) -> Result<Vec<u64>> {
        either!(self, store => store.append_records(session, records))
    }

    async fn records(&self, session: &str, after: u64, limit: usize) -> Result<Vec<StoredRecord>> {
        either!(self, store => store.records(session, after, limit))
    }

    async fn start_run(&self, new: NewRun) -> Result<StartResult> {
        either!(self, store => store.start_run(new))
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>> {
        either!(self, store => store.run(id))
    }

    async fn runs(&self, filter: ListFilter, page: ListPage) -> Result<Vec<RunRow>> {
        either!(self, store => store.runs(filter, page))
    }

    async fn append(&self, run: &str, lease: &Lease, events: Vec<RunEvent>) -> Result<u64> {
        either!(self, store => store.append(run, lease, events))
    }

    async fn finalize(
        &self,
        run: &str,
        authority: CloseAuthority,
        closing: RunClosing,
    ) -> Result<FinalizeResult> {
        either!(self, store => store.finalize(run, authority, closing))
    }

    async fn put_whole_runs(&self, runs: Vec<Arc<WholeRun>>) -> Vec<Result<FinalizeResult>> {
        either!(self, store => store.put_whole_runs(runs))
    }

    async fn events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        either!(self, store => store.events(run, after, limit))
    }

    async fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> Result<()> {
        either!(self, store => store.renew(run, lease, ttl))
    }

    async fn take_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        either!(self, store => store.take_over(run, owner, ttl))
    }

    async fn hand_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        either!(self, store => store.hand_over(run, owner, ttl))
    }

    async fn earliest_lease(&self) -> Result<Option<u64>> {
        either!(self, store => store.earliest_lease())
    }

    async fn abandoned_runs(&self, limit: usize) -> Result<Vec<RunRow>> {
        either!(self, store => store.abandoned_runs(limit))
    }

    async fn put_snapshot(&self, session: &str, snapshot: AgentSnapshot) -> Result<()> {
        either!(self, store => store.put_snapshot(session, snapshot))
    }

    async fn snapshot(&self, session: &str, name: &str) -> Result<Option<AgentSnapshot>> {
        either!(self, store => store.snapshot(session, name))
    }

    async fn drop_snapshot(&self, session: &str, name: &str) -> Result<bool> {
        either!(self, store => store.drop_snapshot(session, name))
    }

    async fn delete_session(&self, id: &str) -> Result<bool> {
        either!(self, store => store.delete_session(id))
    }

    async fn delete_run(&self, id: &str) -> Result<bool> {
        either!(self, store => store.delete_run(id))
    }

    async fn prune(&self, before: u64, limit: usize) -> Result<PruneReport> {
        either!(self, store => store.prune(before, limit))
    }

    async fn entries(&self, keys: Vec<String>) -> Result<Vec<SharedEntry>> {
        either!(self, store => store.entries(keys))
    }

    async fn hold_entry(&self, take: EntryTake) -> Result<Option<u64>> {
        either!(self, store => store.hold_entry(take))
    }

    async fn write_entries(
        &self,
        hold: Option<EntryHold>,
        writes: Vec<EntryWrite>,
    ) -> Result<bool> {
        either!(self, store => store.write_entries(hold, writes))
    }

    async fn watch(&self) -> Result<StoreWatch> {
        either!(self, store => store.watch())
    }
}

impl ArchiveStore for AnyStore {
    async fn raw_events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<RawEvent>> {
        either!(self, store => store.raw_events(run, after, limit))
    }

    async fn log_head(&self, run: &str) -> Result<Option<LogHead>> {
        either!(self, store => store.log_head(run))
    }

    async fn restore(&self, item: RestoreItem) -> Result<u64> {
        either!(self, store => store.restore(item))
    }

    async fn totals(&self) -> Result<StoreTotals> {
        either!(self, store => store.totals())
    }

    async fn compact(&self) -> Result<()> {
        either!(self, store => store.compact())
    }

    async fn examine(&self) -> Result<Vec<String>> {
        either!(self, store => store.examine())
    }
}
