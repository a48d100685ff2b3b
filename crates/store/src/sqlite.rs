//! The embedded backend: one SQLite file, or an in-memory database.
//!
//! One thread writes and commits in groups; a few others read. Several processes may open the same
//! file. Every decision is made in SQL, within the write transaction.

mod error;
mod file;
mod open;
mod writer_thread;
mod writer;
mod readers;
mod row;
mod seal;
mod sessions;
mod row_inserter;
mod event_rows;
mod runs;
mod whole_run;
mod leases;
mod shared;
mod lists;
mod delete;
mod restore;
mod health;

use std::{iter, path::Path, sync::Arc};

use foxwedge_run::RunEvent;
use rusqlite::Connection;

use self::{
    error::SqliteResult, open::SqliteLocation, readers::ReaderPool, runs::SqliteClosing,
    writer::SqliteWriter,
};
use crate::{
    AgentSnapshot, ArchiveStore, CloseAuthority, EntryHold, EntryTake, EntryWrite, FinalizeResult,
    Lease, ListFilter, ListPage, LogHead, NewRecord, NewRun, NewSession, PruneReport, RawEvent,
    RestoreItem, Result, RunClosing, RunRow, SessionRow, SharedEntry, StartResult, Store,
    StoreError, StoreTotals, StoreWatch, StoredEvent, StoredRecord, WholeRun, check, clock, codec,
    event_draft, event_draft::EventDraft, hub::WakeHub, limits,
};

/// A store in one SQLite file, or in memory.
#[derive(Debug)]
pub struct SqliteStore {
    hub: WakeHub,
    /// `None` in memory, where only the writing connection sees the data.
    readers: Option<ReaderPool>,
    // Dropped after the readers, because the last connection to close cleans up the log.
    writer: SqliteWriter,
}

impl SqliteStore {
    /// Opens a file. Creates it and its folder if they do not exist. Afterwards only the owner may
    /// read it.
    pub async fn open(path: impl AsRef<Path>) -> Result<SqliteStore> {
        SqliteStore::open_location(SqliteLocation::File(path.as_ref().into())).await
    }

    /// Opens an in-memory store. Its data ends with this value.
    pub async fn memory() -> Result<SqliteStore> {
        SqliteStore::open_location(SqliteLocation::Memory).await
    }

    async fn open_location(location: SqliteLocation) -> Result<SqliteStore> {
        let hub = WakeHub::default();
        let writer = SqliteWriter::open(location.clone(), hub.clone()).await?;
        let readers = match &location {
            SqliteLocation::File(_) => Some(ReaderPool::new(&location)),
            SqliteLocation::Memory => None,
        };
        Ok(SqliteStore { hub, readers, writer })
    }

    async fn read<T: Send + 'static>(
        &self,
        job: impl Fn(&Connection) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        match &self.readers {
            Some(readers) => readers.read(job).await,
            None => self.writer.write(0, move |context| job(context.connection)).await,
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.hub.close();
    }
}

impl Store for SqliteStore {
    async fn create_session(&self, new: NewSession) -> Result<SessionRow> {
        check::session(&new)?;
        let bytes = new.meta.as_ref().map_or(0, String::len);
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            sessions::create(context.connection, &new, clock::now())
        };
        self.writer.write(bytes, job).await
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        let id = id.to_owned();
        self.read(move |connection| sessions::find(connection, &id)).await
    }

    async fn sessions(&self, filter: ListFilter, page: ListPage) -> Result<Vec<SessionRow>> {
        self.read(move |connection| lists::sessions(connection, &filter, &page)).await
    }

    async fn append_records(&self, session: &str, records: Vec<NewRecord>) -> Result<Vec<u64>> {
        check::records(&records)?;
        let session = session.to_owned();
        let bytes = records_bytes(&records);
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            let session = sessions::serial(context.connection, &session)?;
            sessions::add_records(context.connection, session, &records, clock::now())
        };
        self.writer.write(bytes, job).await
    }

    async fn records(&self, session: &str, after: u64, limit: usize) -> Result<Vec<StoredRecord>> {
        let session = session.to_owned();
        let job = move |connection: &Connection| {
            let session = sessions::serial(connection, &session)?;
            sessions::records(connection, session, after, limit)
        };
        self.read(job).await
    }

    async fn start_run(&self, new: NewRun) -> Result<StartResult> {
        check::run(&new)?;
        self.writer.write(0, move |context| runs::start(context, &new, clock::now())).await
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>> {
        let id = id.to_owned();
        self.read(move |connection| runs::find(connection, &id)).await
    }

    async fn runs(&self, filter: ListFilter, page: ListPage) -> Result<Vec<RunRow>> {
        self.read(move |connection| lists::runs(connection, &filter, &page)).await
    }

    async fn append(&self, run: &str, lease: &Lease, events: Vec<RunEvent>) -> Result<u64> {
        let drafts = event_draft::prepare_events(run, &events, clock::now())?;
        let (run, lease) = (run.to_owned(), lease.clone());
        let bytes = drafts_bytes(&drafts);
        self.writer.write(bytes, move |context| runs::append(context, &run, &lease, &drafts)).await
    }

    async fn finalize(
        &self,
        run: &str,
        authority: CloseAuthority,
        closing: RunClosing,
    ) -> Result<FinalizeResult> {
        let RunClosing { events, ended, summary, records } = closing;
        check::records(&records)?;
        let closing = SqliteClosing {
            at: events.last().and_then(|event| event.at),
            drafts: event_draft::prepare_closing(run, &events, None, clock::now())?,
            ended: codec::write_end(&ended),
            summary: codec::write_summary(&summary),
            records,
        };
        check::size("the end of a run", closing.ended.len(), limits::EVENT_BYTES)?;
        let run = run.to_owned();
        let bytes = drafts_bytes(&closing.drafts) + records_bytes(&closing.records);
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            runs::finalize(context, &run, &authority, &closing, clock::now())
        };
        self.writer.write(bytes, job).await
    }

    async fn put_whole_runs(&self, runs: Vec<Arc<WholeRun>>) -> Vec<Result<FinalizeResult>> {
        let bytes = runs.iter().map(|run| run.bytes()).sum();
        let count = runs.len();
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            whole_run::write_runs(context, &runs, clock::now())
        };
        self.writer.write(bytes, job).await.unwrap_or_else(|error| {
            let why = error.to_string();
            let failure = || Err(error::unavailable(why.as_str()));
            iter::repeat_with(failure).take(count).collect()
        })
    }

    async fn events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        let run = run.to_owned();
        self.read(move |connection| runs::events(connection, &run, after, limit)).await
    }

    async fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> Result<()> {
        let (run, lease) = (run.to_owned(), lease.clone());
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            leases::renew(context.connection, &run, &lease, ttl, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn take_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        check::name("owner", owner)?;
        let (run, owner) = (run.to_owned(), owner.to_owned());
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            leases::take_over(context.connection, &run, &owner, ttl, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn hand_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        check::name("owner", owner)?;
        let (run, owner) = (run.to_owned(), owner.to_owned());
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            leases::hand_over(context.connection, &run, &owner, ttl, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn earliest_lease(&self) -> Result<Option<u64>> {
        self.read(move |connection| leases::earliest_lease(connection, clock::now())).await
    }

    async fn abandoned_runs(&self, limit: usize) -> Result<Vec<RunRow>> {
        self.read(move |connection| leases::abandoned_runs(connection, limit, clock::now())).await
    }

    async fn put_snapshot(&self, session: &str, snapshot: AgentSnapshot) -> Result<()> {
        check::snapshot(&snapshot)?;
        let session = session.to_owned();
        let bytes = snapshot.body.len();
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            let session = sessions::serial(context.connection, &session)?;
            sessions::put_snapshot(context.connection, session, &snapshot)?;
            sessions::touch(context.connection, session, clock::now())
        };
        self.writer.write(bytes, job).await
    }

    async fn snapshot(&self, session: &str, name: &str) -> Result<Option<AgentSnapshot>> {
        let (session, name) = (session.to_owned(), name.to_owned());
        let job = move |connection: &Connection| {
            let session = sessions::serial(connection, &session)?;
            sessions::snapshot(connection, session, &name, clock::now())
        };
        self.read(job).await
    }

    async fn drop_snapshot(&self, session: &str, name: &str) -> Result<bool> {
        let (session, name) = (session.to_owned(), name.to_owned());
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            let session = sessions::serial(context.connection, &session)?;
            sessions::drop_snapshot(context.connection, session, &name)
        };
        self.writer.write(0, job).await
    }

    async fn delete_session(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.writer.write(0, move |context| delete::delete_session(context.connection, &id)).await
    }

    async fn delete_run(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.writer.write(0, move |context| delete::delete_run(context.connection, &id)).await
    }

    async fn prune(&self, before: u64, limit: usize) -> Result<PruneReport> {
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            delete::prune(context.connection, before, limit, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn entries(&self, keys: Vec<String>) -> Result<Vec<SharedEntry>> {
        self.read(move |connection| shared::entries(connection, &keys, clock::now())).await
    }

    async fn hold_entry(&self, take: EntryTake) -> Result<Option<u64>> {
        check::entry_take(&take)?;
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            shared::hold(context.connection, &take, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn write_entries(
        &self,
        hold: Option<EntryHold>,
        writes: Vec<EntryWrite>,
    ) -> Result<bool> {
        hold.as_ref().map_or(Ok(()), check::entry_hold).and(check::entry_writes(&writes))?;
        let job = move |context: &mut writer_thread::WriteContext<'_>| {
            shared::write(context.connection, hold.as_ref(), &writes, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn watch(&self) -> Result<StoreWatch> {
        let watch = self.hub.watch();
        self.writer.request_poll()?;
        Ok(watch)
    }
}

impl ArchiveStore for SqliteStore {
    async fn raw_events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<RawEvent>> {
        let run = run.to_owned();
        let job = move |connection: &Connection| {
            let write_state = runs::read_write_state(connection, &run)?;
            let part = event_rows::read(connection, write_state.serial, after, u64::MAX, limit)?;
            Ok(part.events)
        };
        self.read(job).await
    }

    async fn log_head(&self, run: &str) -> Result<Option<LogHead>> {
        let run = run.to_owned();
        let job = move |connection: &Connection| match runs::read_write_state(connection, &run) {
            Ok(write_state) => Ok(Some(write_state.head)),
            Err(error::SqliteError::Refused(StoreError::NoRun(_))) => Ok(None),
            Err(error) => Err(error),
        };
        self.read(job).await
    }

    async fn restore(&self, item: RestoreItem) -> Result<u64> {
        check::restore_item(&item)?;
        let bytes = item.bytes();
        self.writer
            .write(bytes, move |context| restore::restore(context, &item, clock::now()))
            .await
    }

    async fn totals(&self) -> Result<StoreTotals> {
        self.read(health::read_totals).await
    }

    async fn compact(&self) -> Result<()> {
        match &self.readers {
            Some(readers) => readers.vacuum().await,
            None => Ok(()),
        }
    }

    async fn examine(&self) -> Result<Vec<String>> {
        self.read(health::examine).await
    }
}

fn records_bytes(records: &[NewRecord]) -> usize {
    records.iter().map(|record| record.body.len()).sum()
}

fn drafts_bytes(drafts: &[EventDraft]) -> usize {
    drafts.iter().map(|draft| draft.body.len()).sum()
}
