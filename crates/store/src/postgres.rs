//! The backend for many machines: a PostgreSQL database, in a schema of its own.
//!
//! Every decision is made by the server, in one statement or under the lock of a row, and by the
//! server's clock; what a process remembers is never more than a guess. Whoever needs both holds
//! the row of the session before that of the run, so that nobody waits in a circle. No password
//! ever stands in an error or in what is printed.

mod settings;
mod tls;
mod failure;
mod gate;
mod migrate;
mod ask;
mod token;
mod row;
mod head;
mod sessions;
mod records;
mod runs;
mod whole;
mod append;
mod closing;
mod leases;
mod removal;
mod restore;
mod state;
mod fanout;

use std::sync::Arc;

use foxwedge_run::Event;

use self::{
    failure::Patience, fanout::FanOut, gate::Gate, head::Heads, settings::Settings, token::Token,
};
use crate::{
    About, Archive, Authority, Closing, Filter, Finalized, Head, Lease, NewRecord, NewRun,
    NewSession, Page, Piece, Pruned, RawEvent, Record, Result, RunRow, SessionRow, Snapshot,
    Started, Store, StoredEvent, Watch, WholeRun, check, clock, codec, draft, hub::Hub, limits,
};

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    gate: Gate,
    heads: Heads,
    fanout: FanOut,
}

impl PostgresStore {
    /// Connects to the database at `postgres://user:password@host:port/database`, and makes the
    /// tables if they are not there.
    ///
    /// The address may have parameters: `pool` (so many connections, 8), `schema` (`foxwedge`),
    /// `statement_timeout` (in milliseconds, 30000), `connect_timeout` (in seconds, 10), `sslmode`
    /// (`disable`, `prefer`, or `require`, which checks the server's certificate), `sslrootcert`
    /// (a file of authorities, instead of the public ones), and those that libpq has for
    /// keep-alives and for several hosts.
    pub async fn open(url: &str) -> Result<PostgresStore> {
        let gate = Gate::open(Settings::parse(url)?).await?;
        let fanout = FanOut::new(gate.clone(), Hub::default());
        Ok(PostgresStore { gate, heads: Heads::default(), fanout })
    }

    /// Tells other processes what they have not been told yet, and ends the connections. A store
    /// that is dropped instead has lost nothing; others only hear of its last events a little
    /// later.
    pub async fn close(self) {
        self.fanout.flush().await;
        self.gate.close();
    }
}

/// Tries until there is an answer, or it makes no sense any more.
macro_rules! patiently {
    ($attempt:expr) => {{
        let mut patience = Patience::new();
        loop {
            match $attempt.await {
                Ok(done) => break done,
                Err(failure) => patience.bear(failure).await?,
            }
        }
    }};
}

impl Store for PostgresStore {
    async fn create_session(&self, new: NewSession) -> Result<SessionRow> {
        check::session(&new)?;
        Ok(patiently!(self.try_create(&new)))
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        Ok(patiently!(self.try_session(id)))
    }

    async fn sessions(&self, filter: Filter, page: Page) -> Result<Vec<SessionRow>> {
        Ok(patiently!(self.try_sessions(&filter, &page)))
    }

    async fn append_records(&self, session: &str, records: Vec<NewRecord>) -> Result<Vec<u64>> {
        check::records(&records)?;
        Ok(patiently!(self.try_append_records(session, &records)))
    }

    async fn records(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Record>> {
        Ok(patiently!(self.try_records(session, after, limit)))
    }

    async fn start_run(&self, new: NewRun) -> Result<Started> {
        check::run(&new)?;
        let token = Token::draw();
        let started = patiently!(self.try_start(&new, token));
        if let Started::New { run, .. } = &started {
            self.fanout.tell(&run.id, run.last);
        }
        Ok(started)
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>> {
        Ok(patiently!(self.try_run(id)).map(|run| run.row))
    }

    async fn runs(&self, filter: Filter, page: Page) -> Result<Vec<RunRow>> {
        Ok(patiently!(self.try_runs(&filter, &page)))
    }

    async fn append(&self, run: &str, lease: &Lease, events: Vec<Event>) -> Result<u64> {
        let drafts = draft::prepare(run, events, clock::now())?;
        let last = patiently!(self.try_append(run, lease, &drafts));
        self.fanout.tell(run, last);
        Ok(last)
    }

    async fn finalize(
        &self,
        run: &str,
        authority: Authority,
        closing: Closing,
    ) -> Result<Finalized> {
        let Closing { events, ended, summary, records } = closing;
        check::records(&records)?;
        let closed = closing::Closed {
            at: events.last().and_then(|event| event.at),
            drafts: draft::prepare_closing(run, events, clock::now())?,
            ended: codec::ended(&ended),
            summary: codec::summary(&summary),
            records,
        };
        check::size("the end of a run", closed.ended.len(), limits::EVENT_BYTES)?;
        let token = Token::draw();
        let finalized = patiently!(self.try_finalize(run, &authority, &closed, token));
        if let Finalized::Won(row) = &finalized {
            self.fanout.tell(run, row.last);
        }
        Ok(finalized)
    }

    async fn keep_runs(&self, runs: Vec<Arc<WholeRun>>) -> Vec<Result<Finalized>> {
        self.keep_all(runs).await
    }

    async fn events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        Ok(patiently!(self.try_events(run, after, limit)))
    }

    async fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> Result<()> {
        patiently!(self.try_renew(run, lease, ttl));
        Ok(())
    }

    async fn take_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        check::name("owner", owner)?;
        let token = Token::draw();
        Ok(patiently!(self.try_take_over(run, owner, ttl, token)))
    }

    async fn earliest_lease(&self) -> Result<Option<u64>> {
        Ok(patiently!(self.try_earliest_lease()))
    }

    async fn abandoned(&self, limit: usize) -> Result<Vec<RunRow>> {
        Ok(patiently!(self.try_abandoned(limit)))
    }

    async fn put_snapshot(&self, session: &str, snapshot: Snapshot) -> Result<()> {
        check::snapshot(&snapshot)?;
        patiently!(self.try_put_snapshot(session, &snapshot));
        Ok(())
    }

    async fn snapshot(&self, session: &str, name: &str) -> Result<Option<Snapshot>> {
        Ok(patiently!(self.try_snapshot(session, name)))
    }

    async fn drop_snapshot(&self, session: &str, name: &str) -> Result<bool> {
        Ok(patiently!(self.try_drop_snapshot(session, name)))
    }

    async fn delete_session(&self, id: &str) -> Result<bool> {
        Ok(patiently!(self.try_delete_session(id)))
    }

    async fn delete_run(&self, id: &str) -> Result<bool> {
        Ok(patiently!(self.try_delete_run(id)))
    }

    async fn prune(&self, before: u64, limit: usize) -> Result<Pruned> {
        Ok(patiently!(self.try_prune(before, limit)))
    }

    async fn watch(&self) -> Result<Watch> {
        self.fanout.watch().await
    }
}

impl Archive for PostgresStore {
    async fn raw_events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<RawEvent>> {
        Ok(patiently!(self.try_raw_events(run, after, limit)))
    }

    async fn head(&self, run: &str) -> Result<Option<Head>> {
        let found = patiently!(self.try_run(run));
        Ok(found.map(|run| Head { last: run.row.last, chain: run.chain }))
    }

    async fn restore(&self, piece: Piece) -> Result<u64> {
        check::piece(&piece)?;
        let restored = patiently!(self.try_restore(&piece));
        if let Some((run, last)) = &restored.run {
            self.fanout.tell(run, *last);
        }
        Ok(restored.rows)
    }
    async fn about(&self) -> Result<About> {
        Ok(patiently!(self.try_about()))
    }

    async fn compact(&self) -> Result<()> {
        patiently!(self.try_compact());
        Ok(())
    }

    async fn examine(&self) -> Result<Vec<String>> {
        Ok(patiently!(self.try_examine()))
    }
}
