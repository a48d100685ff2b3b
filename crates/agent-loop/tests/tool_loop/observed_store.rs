//! A store wrapper with a point before and after every call.

use std::sync::Arc;

use foxwedge_run::{EventPayload, RunEvent, SharedId};
use foxwedge_store::{
    AgentSnapshot, AnyStore, CloseAuthority, EntryHold, EntryTake, EntryWrite, FinalizeResult,
    Lease, ListFilter, ListPage, NewRecord, NewRun, NewSession, PruneReport, Result, RunClosing,
    RunRow, SessionRow, SharedEntry, StartResult, Store, StoreError, StoreWatch, StoredEvent,
    StoredRecord, WholeRun,
};

use crate::world::{Class, Fate, LogEntry, World};

/// A store with points around its calls.
pub(crate) struct ObservedStore {
    store: Arc<AnyStore>,
    world: World,
    leases: Leases,
}

/// Duration of a short lease, in milliseconds.
pub(crate) const SHORT: u64 = 100;

/// Duration of leases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leases {
    /// As requested.
    Real,
    /// Very short, whatever the loop requests, so that another process can take over soon.
    Short,
}

impl ObservedStore {
    pub(crate) fn new(store: Arc<AnyStore>, world: World, leases: Leases) -> ObservedStore {
        ObservedStore { store, world, leases }
    }

    async fn point(&self, name: &str, side: &str) -> Result<()> {
        match self.world.point(Class::Store, format!("{side} {name}")).await {
            Fate::GoOn | Fate::Die => Ok(()),
            Fate::Fail => Err(StoreError::Unavailable("it was planned so".into())),
        }
    }

    fn ttl(&self, ttl: u64) -> u64 {
        match self.leases {
            Leases::Real => ttl,
            Leases::Short => ttl.min(SHORT),
        }
    }
}

/// Forwards a call between two points.
macro_rules! forward {
    ($self:ident.$name:ident($($value:expr),*)) => {{
        $self.point(stringify!($name), "before").await?;
        let result = $self.store.$name($($value),*).await;
        $self.point(stringify!($name), "behind").await?;
        result
    }};
}

impl Store for ObservedStore {
    async fn create_session(&self, new: NewSession) -> Result<SessionRow> {
        forward!(self.create_session(new))
    }

    async fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        forward!(self.session(id))
    }

    async fn sessions(&self, filter: ListFilter, page: ListPage) -> Result<Vec<SessionRow>> {
        forward!(self.sessions(filter, page))
    }

    async fn append_records(&self, session: &str, records: Vec<NewRecord>) -> Result<Vec<u64>> {
        forward!(self.append_records(session, records))
    }

    async fn records(&self, session: &str, after: u64, limit: usize) -> Result<Vec<StoredRecord>> {
        forward!(self.records(session, after, limit))
    }

    async fn start_run(&self, mut new: NewRun) -> Result<StartResult> {
        self.point("start_run", "before").await?;
        new.ttl = self.ttl(new.ttl);
        let start = new.start.clone();
        let result = self.store.start_run(new).await;
        if let Ok(StartResult::New { run, .. }) = &result {
            let event =
                RunEvent::new(&SharedId::from(run.id.as_str()), EventPayload::Started(start));
            self.world.stored(&run.id, &RunEvent { seq: Some(1), ..event });
        }
        self.point("start_run", "behind").await?;
        result
    }

    async fn run(&self, id: &str) -> Result<Option<RunRow>> {
        forward!(self.run(id))
    }

    async fn runs(&self, filter: ListFilter, page: ListPage) -> Result<Vec<RunRow>> {
        forward!(self.runs(filter, page))
    }

    async fn append(&self, run: &str, lease: &Lease, events: Vec<RunEvent>) -> Result<u64> {
        self.point("append", "before").await?;
        let stored_events = events.clone();
        let result = self.store.append(run, lease, events).await;
        if result.is_ok() {
            stored_events.iter().for_each(|event| self.world.stored(run, event));
        }
        self.point("append", "behind").await?;
        result
    }

    async fn finalize(
        &self,
        run: &str,
        authority: CloseAuthority,
        closing: RunClosing,
    ) -> Result<FinalizeResult> {
        self.world.record(LogEntry::Ending(closing.ended.outcome));
        self.point("finalize", "before").await?;
        let stored_events = closing.events.clone();
        let result = self.store.finalize(run, authority, closing).await;
        if let Ok(FinalizeResult::Recorded(_)) = &result {
            stored_events.iter().for_each(|event| self.world.stored(run, event));
        }
        self.point("finalize", "behind").await?;
        result
    }

    async fn put_whole_runs(&self, runs: Vec<Arc<WholeRun>>) -> Vec<Result<FinalizeResult>> {
        self.store.put_whole_runs(runs).await
    }

    async fn events(&self, run: &str, after: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        forward!(self.events(run, after, limit))
    }

    async fn renew(&self, run: &str, lease: &Lease, ttl: u64) -> Result<()> {
        forward!(self.renew(run, lease, self.ttl(ttl)))
    }

    async fn take_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        forward!(self.take_over(run, owner, self.ttl(ttl)))
    }

    async fn hand_over(&self, run: &str, owner: &str, ttl: u64) -> Result<Option<Lease>> {
        forward!(self.hand_over(run, owner, self.ttl(ttl)))
    }

    async fn earliest_lease(&self) -> Result<Option<u64>> {
        forward!(self.earliest_lease())
    }

    async fn abandoned_runs(&self, limit: usize) -> Result<Vec<RunRow>> {
        forward!(self.abandoned_runs(limit))
    }

    async fn put_snapshot(&self, session: &str, snapshot: AgentSnapshot) -> Result<()> {
        forward!(self.put_snapshot(session, snapshot))
    }

    async fn snapshot(&self, session: &str, name: &str) -> Result<Option<AgentSnapshot>> {
        forward!(self.snapshot(session, name))
    }

    async fn drop_snapshot(&self, session: &str, name: &str) -> Result<bool> {
        forward!(self.drop_snapshot(session, name))
    }

    async fn delete_session(&self, id: &str) -> Result<bool> {
        forward!(self.delete_session(id))
    }

    async fn delete_run(&self, id: &str) -> Result<bool> {
        forward!(self.delete_run(id))
    }

    async fn prune(&self, before: u64, limit: usize) -> Result<PruneReport> {
        forward!(self.prune(before, limit))
    }

    async fn entries(&self, keys: Vec<String>) -> Result<Vec<SharedEntry>> {
        forward!(self.entries(keys))
    }

    async fn hold_entry(&self, take: EntryTake) -> Result<Option<u64>> {
        forward!(self.hold_entry(take))
    }

    async fn write_entries(
        &self,
        hold: Option<EntryHold>,
        writes: Vec<EntryWrite>,
    ) -> Result<bool> {
        forward!(self.write_entries(hold, writes))
    }

    async fn watch(&self) -> Result<StoreWatch> {
        forward!(self.watch())
    }
}
