//! The backend for several machines: a PostgreSQL database, in a schema of its own.
//!
//! The server makes every decision, in one statement or under a row lock, and by the server's
//! clock. A process never relies on cached state. A transaction that needs both locks the session's
//! row before the run's row, so there are no deadlocks. Passwords never appear in errors or in
//! printed settings.

mod settings;
mod tls;
mod failure;
mod pool;
mod migrate;
mod query;
mod token;
mod row;
mod log_heads;
mod sessions;
mod records;
mod runs;
mod whole_run;
mod append;
mod closing;
mod leases;
mod shared;
mod delete;
mod restore;
mod health;
mod fanout;

use std::sync::Arc;

use foxwedge_run::RunEvent;

use self::{
    failure::AttemptBackoff, fanout::FanOut, log_heads::LogHeadCache, pool::PostgresPool,
    settings::PostgresSettings, shared::EntryColumns, token::AttemptToken,
};
use crate::{
    AgentSnapshot, ArchiveStore, CloseAuthority, EntryHold, EntryTake, EntryWrite, FinalizeResult,
    Lease, ListFilter, ListPage, LogHead, NewRecord, NewRun, NewSession, PruneReport, RawEvent,
    RestoreItem, Result, RunClosing, RunRow, SessionRow, SharedEntry, StartResult, Store,
    StoreTotals, StoreWatch, StoredEvent, StoredRecord, WholeRun, check, clock, codec, event_draft,
    hub::WakeHub, limits,
};

/// Checks the URL of a database without connecting.
///
/// # Errors
/// If a part of it is invalid.
pub(crate) fn check_url(url: &str) -> Result<()> {
    PostgresSettings::parse(url).map(drop)
}

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    pool: PostgresPool,
    heads: LogHeadCache,
    fanout: FanOut,
}

impl PostgresStore {
    /// Connects to the database at `postgres://user:password@host:port/database`. Creates the
    /// tables if they do not exist.
    ///
    /// The URL may have parameters: `pool` (number of connections, 8), `schema` (`foxwedge`),
    /// `statement_timeout` (in milliseconds, 30000), `connect_timeout` (in seconds, 10), `sslmode`
    /// (`disable`, `prefer`, or `require`, which checks the server's certificate), `sslrootcert` (a
    /// file of certificate authorities, instead of the public ones), and libpq's parameters for
    /// keep-alives and for several hosts.
    pub async fn open(url: &str) -> Result<PostgresStore> {
        let pool = PostgresPool::open(PostgresSettings::parse(url)?).await?;
        let fanout = FanOut::new(pool.clone(), WakeHub::default());
        Ok(PostgresStore { pool, heads: LogHeadCache::default(), fanout })
    }

    /// Sends pending wake-ups to other processes and closes the connections. A store that is
    /// dropped instead loses no data; other processes only see its last events a little later.
    pub async fn close(self) {
        self.fanout.flush().await;
        self.pool.close();
    }
}

/// Retries an attempt until it succeeds, is refused, or the retries are used up. A server that
/// answers none of it is given up, unless the attempt may take any time (`patient`).
macro_rules! retry {
    (patient $attempt:expr) => {{
        let mut backoff = AttemptBackoff::new();
        loop {
            match $attempt.await {
                Ok(value) => break value,
                Err(failure) => backoff.wait_or_fail(failure).await?,
            }
        }
    }};
    ($store:ident.$($attempt:tt)+) => { retry!(patient $store.pool.limit($store.$($attempt)+)) };
}

impl Store for PostgresStore {
    async fn create_session(&self, new: NewSession) -> Result<SessionRow> {
        check::session(&new)?;
        Ok(retry!(self.try_create(&new)))
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        Ok(retry!(self.try_session(id)))
    }

    async fn sessions(&self, filter: ListFilter, page: ListPage) -> Result<Vec<SessionRow>> {
        Ok(retry!(self.try_sessions(&filter, &page)))
    }

    async fn append_records(&self, session: &str, records: Vec<NewRecord>) -> Result<Vec<u64>> {
        check::records(&records)?;
        Ok(retry!(self.try_append_records(session, &records)))
    }

    async fn records(&self, session: &str, after: u64, limit: usize) -> Result<Vec<StoredRecord>> {
        Ok(retry!(self.try_records(session, after, limit)))
    }

    async fn start_run(&self, new: NewRun) -> Result<StartResult> {
        check::run(&new)?;
        let token = AttemptToken::random();
        let result = retry!(self.try_start(&new, token));
        if let StartResult::New { run, .. } = &result {
            self.fanout.publish(&run.id, run.last);
        }
        Ok(result)
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>> {
        Ok(retry!(self.try_run(id)).map(|run| run.row))
    }

    async fn runs(&self, filter: ListFilter, page: ListPage) -> Result<Vec<RunRow>> {
        Ok(retry!(self.try_runs(&filter, &page)))
    }

    async fn append(&self, run: &str, lease: &Lease, events: Vec<RunEvent>) -> Result<u64> {
        let drafts = event_draft::prepare_events(run, &events, clock::now())?;
        let last = retry!(self.try_append(run, lease, &drafts));
        self.fanout.publish(run, last);
        Ok(last)
    }

    async fn finalize(
        &self,
        run: &str,
        authority: CloseAuthority,
        closing: RunClosing,
    ) -> Result<FinalizeResult> {
        let RunClosing { events, ended, summary, records } = closing;
        check::records(&records)?;
        let closing = closing::PostgresClosing {
            at: events.last().and_then(|event| event.at),
            drafts: event_draft::prepare_closing(run, &events, None, clock::now())?,
            ended: codec::write_end(&ended),
            summary: codec::write_summary(&summary),
            records,
        };
        check::size("the end of a run", closing.ended.len(), limits::EVENT_BYTES)?;
        let token = AttemptToken::random();
        let result = retry!(self.try_finalize(run, &authority, &closing, token));
        if let FinalizeResult::Recorded(row) = &result {
            self.fanout.publish(run, row.last);
        }
        Ok(result)
    }

    async fn put_whole_runs(&self, runs: Vec<Arc<WholeRun>>) -> Vec<Result<FinalizeResult>> {
        self.put_all(runs).await
    }

    async fn events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        Ok(retry!(self.try_events(run, after, limit)))
    }

    async fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> Result<()> {
        retry!(self.try_renew(run, lease, ttl));
        Ok(())
    }

    async fn take_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        check::name("owner", owner)?;
        let token = AttemptToken::random();
        Ok(retry!(self.try_take_over(run, owner, ttl, token)))
    }

    async fn hand_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        check::name("owner", owner)?;
        let token = AttemptToken::random();
        Ok(retry!(self.try_hand_over(run, owner, ttl, token)))
    }

    async fn earliest_lease(&self) -> Result<Option<u64>> {
        Ok(retry!(self.try_earliest_lease()))
    }

    async fn abandoned_runs(&self, limit: usize) -> Result<Vec<RunRow>> {
        Ok(retry!(self.try_abandoned_runs(limit)))
    }

    async fn put_snapshot(&self, session: &str, snapshot: AgentSnapshot) -> Result<()> {
        check::snapshot(&snapshot)?;
        retry!(self.try_put_snapshot(session, &snapshot));
        Ok(())
    }

    async fn snapshot(&self, session: &str, name: &str) -> Result<Option<AgentSnapshot>> {
        Ok(retry!(self.try_snapshot(session, name)))
    }

    async fn drop_snapshot(&self, session: &str, name: &str) -> Result<bool> {
        Ok(retry!(self.try_drop_snapshot(session, name)))
    }

    async fn delete_session(&self, id: &str) -> Result<bool> {
        Ok(retry!(self.try_delete_session(id)))
    }

    async fn delete_run(&self, id: &str) -> Result<bool> {
        Ok(retry!(self.try_delete_run(id)))
    }

    async fn prune(&self, before: u64, limit: usize) -> Result<PruneReport> {
        Ok(retry!(self.try_prune(before, limit)))
    }

    async fn entries(&self, keys: Vec<String>) -> Result<Vec<SharedEntry>> {
        Ok(retry!(self.try_entries(&keys)))
    }

    async fn hold_entry(&self, take: EntryTake) -> Result<Option<u64>> {
        check::entry_take(&take)?;
        let (token, writes) = (AttemptToken::random(), EntryColumns::new(take.writes.clone()));
        Ok(retry!(self.try_hold_entry(&take, &writes, token)))
    }

    async fn write_entries(
        &self,
        hold: Option<EntryHold>,
        writes: Vec<EntryWrite>,
    ) -> Result<bool> {
        hold.as_ref().map_or(Ok(()), check::entry_hold).and(check::entry_writes(&writes))?;
        let writes = EntryColumns::new(writes);
        Ok(retry!(self.try_write_entries(hold.as_ref(), &writes)))
    }

    async fn watch(&self) -> Result<StoreWatch> {
        self.fanout.watch().await
    }
}

impl ArchiveStore for PostgresStore {
    async fn raw_events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<RawEvent>> {
        Ok(retry!(self.try_raw_events(run, after, limit)))
    }

    async fn log_head(&self, run: &str) -> Result<Option<LogHead>> {
        let found = retry!(self.try_run(run));
        Ok(found.map(|run| LogHead { last: run.row.last, chain: run.chain }))
    }

    async fn restore(&self, item: RestoreItem) -> Result<u64> {
        check::restore_item(&item)?;
        let result = retry!(self.try_restore(&item));
        if let Some((run, last)) = &result.run {
            self.fanout.publish(run, *last);
        }
        Ok(result.rows)
    }
    async fn totals(&self) -> Result<StoreTotals> {
        Ok(retry!(self.try_totals()))
    }

    async fn compact(&self) -> Result<()> {
        retry!(patient self.try_compact());
        Ok(())
    }

    async fn examine(&self) -> Result<Vec<String>> {
        Ok(retry!(patient self.try_examine()))
    }
}
