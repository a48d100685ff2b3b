//! The embedded backend: one SQLite file, or the memory of the process.
//!
//! One thread writes and commits in groups, a few others read. Several processes may have the
//! same file open; whatever has to be decided is decided in SQL, within the write transaction.

mod fault;
mod file;
mod open;
mod desk;
mod writer;
mod readers;
mod row;
mod seal;
mod sessions;
mod runs;
mod whole;
mod leases;
mod lists;
mod clean;
mod restore;
mod state;

use std::{iter, path::Path, sync::Arc};

use foxwedge_run::Event;
use rusqlite::Connection;

use self::{fault::Done, open::Place, readers::Readers, runs::Closed, writer::Writer};
use crate::{
    About, Archive, Authority, Closing, Filter, Finalized, Head, Lease, NewRecord, NewRun,
    NewSession, Page, Piece, Pruned, RawEvent, Record, Result, RunRow, SessionRow, Snapshot,
    Started, Store, StoreError, StoredEvent, Watch, WholeRun, check, clock, codec, draft,
    draft::Draft, hub::Hub, limits,
};

/// A store in one SQLite file, or in memory.
#[derive(Debug)]
pub struct SqliteStore {
    hub: Hub,
    /// None in memory, where only the connection that writes sees anything.
    readers: Option<Readers>,
    // Closed after the readers, so that the last one to close tidies up.
    writer: Writer,
}

impl SqliteStore {
    /// Opens a file, and makes it and its folder if they are not there. Nobody but the owner may
    /// read it afterwards.
    pub async fn open(path: impl AsRef<Path>) -> Result<SqliteStore> {
        SqliteStore::at(Place::File(path.as_ref().into())).await
    }

    /// A store that is gone with this value.
    pub async fn memory() -> Result<SqliteStore> {
        SqliteStore::at(Place::Memory).await
    }

    async fn at(place: Place) -> Result<SqliteStore> {
        let hub = Hub::default();
        let writer = Writer::open(place.clone(), hub.clone()).await?;
        let readers = match &place {
            Place::File(_) => Some(Readers::start(&place)?),
            Place::Memory => None,
        };
        Ok(SqliteStore { hub, readers, writer })
    }

    async fn read<T: Send + 'static>(
        &self,
        job: impl Fn(&Connection) -> Done<T> + Send + 'static,
    ) -> Result<T> {
        match &self.readers {
            Some(readers) => readers.read(job).await,
            None => self.writer.write(0, move |work| job(work.connection)).await,
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
        let job =
            move |work: &mut desk::Work<'_>| sessions::create(work.connection, &new, clock::now());
        self.writer.write(bytes, job).await
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        let id = id.to_owned();
        self.read(move |connection| sessions::find(connection, &id)).await
    }

    async fn sessions(&self, filter: Filter, page: Page) -> Result<Vec<SessionRow>> {
        self.read(move |connection| lists::sessions(connection, &filter, &page)).await
    }

    async fn append_records(&self, session: &str, records: Vec<NewRecord>) -> Result<Vec<u64>> {
        check::records(&records)?;
        let session = session.to_owned();
        let bytes = records_bytes(&records);
        let job = move |work: &mut desk::Work<'_>| {
            let session = sessions::serial(work.connection, &session)?;
            sessions::add_records(work.connection, session, &records, clock::now())
        };
        self.writer.write(bytes, job).await
    }

    async fn records(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Record>> {
        let session = session.to_owned();
        let job = move |connection: &Connection| {
            let session = sessions::serial(connection, &session)?;
            sessions::records(connection, session, after, limit)
        };
        self.read(job).await
    }

    async fn start_run(&self, new: NewRun) -> Result<Started> {
        check::run(&new)?;
        self.writer.write(0, move |work| runs::start(work, &new, clock::now())).await
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>> {
        let id = id.to_owned();
        self.read(move |connection| runs::find(connection, &id)).await
    }

    async fn runs(&self, filter: Filter, page: Page) -> Result<Vec<RunRow>> {
        self.read(move |connection| lists::runs(connection, &filter, &page)).await
    }

    async fn append(&self, run: &str, lease: &Lease, events: Vec<Event>) -> Result<u64> {
        let drafts = draft::prepare(run, events, clock::now())?;
        let (run, lease) = (run.to_owned(), lease.clone());
        let bytes = drafts_bytes(&drafts);
        self.writer.write(bytes, move |work| runs::append(work, &run, &lease, &drafts)).await
    }

    async fn finalize(
        &self,
        run: &str,
        authority: Authority,
        closing: Closing,
    ) -> Result<Finalized> {
        let Closing { events, ended, summary, records } = closing;
        check::records(&records)?;
        let closed = Closed {
            at: events.last().and_then(|event| event.at),
            drafts: draft::prepare_closing(run, events, clock::now())?,
            ended: codec::ended(&ended),
            summary: codec::summary(&summary),
            records,
        };
        check::size("the end of a run", closed.ended.len(), limits::EVENT_BYTES)?;
        let run = run.to_owned();
        let bytes = drafts_bytes(&closed.drafts) + records_bytes(&closed.records);
        let job = move |work: &mut desk::Work<'_>| {
            runs::finalize(work, &run, &authority, &closed, clock::now())
        };
        self.writer.write(bytes, job).await
    }

    async fn keep_runs(&self, runs: Vec<Arc<WholeRun>>) -> Vec<Result<Finalized>> {
        let mut ready = Vec::with_capacity(runs.len());
        let checked: Vec<Result<()>> = runs
            .into_iter()
            .map(|run| crate::whole::Ready::new(run).map(|run| ready.push(run)))
            .collect();
        let bytes = ready.iter().map(crate::whole::Ready::bytes).sum();
        let number = ready.len();
        let job = move |work: &mut desk::Work<'_>| whole::keep(work, &ready, clock::now());
        let kept = match self.writer.write(bytes, job).await {
            Ok(kept) => kept,
            Err(error) => {
                let why = error.to_string();
                let lost = || Err(fault::unavailable(why.as_str()));
                iter::repeat_with(lost).take(number).collect()
            }
        };
        let mut kept = kept.into_iter();
        let gone = || Err(fault::unavailable("nobody knows what became of it"));
        let next = |checked: Result<()>| checked.and_then(|()| kept.next().unwrap_or_else(gone));
        checked.into_iter().map(next).collect()
    }

    async fn events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        let run = run.to_owned();
        self.read(move |connection| runs::events(connection, &run, after, limit)).await
    }

    async fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> Result<()> {
        let (run, lease) = (run.to_owned(), lease.clone());
        let job = move |work: &mut desk::Work<'_>| {
            leases::renew(work.connection, &run, &lease, ttl, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn take_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        check::name("owner", owner)?;
        let (run, owner) = (run.to_owned(), owner.to_owned());
        let job = move |work: &mut desk::Work<'_>| {
            leases::take_over(work.connection, &run, &owner, ttl, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn earliest_lease(&self) -> Result<Option<u64>> {
        self.read(move |connection| leases::earliest(connection, clock::now())).await
    }

    async fn abandoned(&self, limit: usize) -> Result<Vec<RunRow>> {
        self.read(move |connection| leases::abandoned(connection, limit, clock::now())).await
    }

    async fn put_snapshot(&self, session: &str, snapshot: Snapshot) -> Result<()> {
        check::snapshot(&snapshot)?;
        let session = session.to_owned();
        let bytes = snapshot.body.len();
        let job = move |work: &mut desk::Work<'_>| {
            let session = sessions::serial(work.connection, &session)?;
            sessions::put_snapshot(work.connection, session, &snapshot)?;
            sessions::touch(work.connection, session, clock::now())
        };
        self.writer.write(bytes, job).await
    }

    async fn snapshot(&self, session: &str, name: &str) -> Result<Option<Snapshot>> {
        let (session, name) = (session.to_owned(), name.to_owned());
        let job = move |connection: &Connection| {
            let session = sessions::serial(connection, &session)?;
            sessions::snapshot(connection, session, &name, clock::now())
        };
        self.read(job).await
    }

    async fn drop_snapshot(&self, session: &str, name: &str) -> Result<bool> {
        let (session, name) = (session.to_owned(), name.to_owned());
        let job = move |work: &mut desk::Work<'_>| {
            let session = sessions::serial(work.connection, &session)?;
            sessions::drop_snapshot(work.connection, session, &name)
        };
        self.writer.write(0, job).await
    }

    async fn delete_session(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.writer.write(0, move |work| clean::delete_session(work.connection, &id)).await
    }

    async fn delete_run(&self, id: &str) -> Result<bool> {
        let id = id.to_owned();
        self.writer.write(0, move |work| clean::delete_run(work.connection, &id)).await
    }

    async fn prune(&self, before: u64, limit: usize) -> Result<Pruned> {
        let job = move |work: &mut desk::Work<'_>| {
            clean::prune(work.connection, before, limit, clock::now())
        };
        self.writer.write(0, job).await
    }

    async fn watch(&self) -> Result<Watch> {
        let watch = self.hub.watch();
        self.writer.look()?;
        Ok(watch)
    }
}

impl Archive for SqliteStore {
    async fn raw_events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<RawEvent>> {
        let run = run.to_owned();
        let job = move |connection: &Connection| {
            let standing = runs::standing(connection, &run)?;
            runs::raw_events(connection, standing.serial, after, u64::MAX, limit)
        };
        self.read(job).await
    }

    async fn head(&self, run: &str) -> Result<Option<Head>> {
        let run = run.to_owned();
        let job = move |connection: &Connection| match runs::standing(connection, &run) {
            Ok(standing) => Ok(Some(standing.head)),
            Err(fault::Fault::Refused(StoreError::NoRun(_))) => Ok(None),
            Err(fault) => Err(fault),
        };
        self.read(job).await
    }

    async fn restore(&self, piece: Piece) -> Result<u64> {
        check::piece(&piece)?;
        let bytes = piece.bytes();
        self.writer.write(bytes, move |work| restore::restore(work, &piece, clock::now())).await
    }

    async fn about(&self) -> Result<About> {
        self.read(state::about).await
    }

    async fn compact(&self) -> Result<()> {
        match &self.readers {
            Some(readers) => readers.vacuum().await,
            None => Ok(()),
        }
    }

    async fn examine(&self) -> Result<Vec<String>> {
        self.read(state::examine).await
    }
}

fn records_bytes(records: &[NewRecord]) -> usize {
    records.iter().map(|record| record.body.len()).sum()
}

fn drafts_bytes(drafts: &[Draft]) -> usize {
    drafts.iter().map(|draft| draft.body.len()).sum()
}
