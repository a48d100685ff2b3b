//! Keeps what is followed: every event is in the store before anybody sees it, and the end is
//! recorded once.

use std::{collections::HashMap, future::Future, time::Duration};

use foxwedge_run::{Body, Effect, Ended, Event, Id, Session, Started, Summary};
use foxwedge_store::{
    Authority, Closing, Finalized, Lease, NewRecord, NewRun, NewSession, RunRow,
    Started as StartedRun, Store, StoreError, records,
};
use tokio::sync::mpsc;

use super::{batch, renew::Renewal};
use crate::{
    runs::{Kept, LEASE, is_safe, me, safe},
    say::Trouble,
};

/// How long is waited before something is tried again that a store could not do just now.
const PAUSES: [u64; 5] = [100, 300, 1_000, 3_000, 5_000];

/// Keeps the runs of one stream in a store.
pub(super) struct Keeper {
    pub(super) kept: Kept,
    /// The session that the user named.
    named: Option<String>,
    /// The session of this stream.
    session: Option<String>,
    runs: HashMap<Id, Held>,
    /// What did not go as it should, and did no harm.
    pub(super) notes: Vec<String>,
    lost: mpsc::UnboundedSender<Id>,
    news: mpsc::UnboundedReceiver<Id>,
}

/// A run that we write to.
struct Held {
    epoch: u64,
    lease: Lease,
    /// Renews the lease for as long as it is there.
    _renewal: Renewal,
    pending: Vec<Event>,
    end: Option<(Ended, Summary)>,
}

/// Why nothing more is kept of a run.
pub(super) enum Lost {
    /// Somebody else ended it, or has it.
    Taken(Id),
    /// The store does not work.
    Broken(anyhow::Error),
}

impl Keeper {
    pub(super) fn new(kept: Kept, named: Option<String>) -> Keeper {
        let (lost, news) = mpsc::unbounded_channel();
        let (runs, session) = (HashMap::new(), None);
        Keeper { kept, named, session, runs, notes: Vec::new(), lost, news }
    }

    /// The session that runs are kept in, once there is one.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// A run that somebody else has ended or taken over.
    pub(super) async fn news(&mut self) -> Option<Id> {
        self.news.recv().await
    }

    /// Makes an event ready for the machine: a run that begins begins in the store first, which
    /// gives it its number.
    pub(super) async fn prepare(&mut self, event: &mut Event) -> anyhow::Result<()> {
        if let Some(held) = self.runs.get(&event.run) {
            event.epoch = Some(held.epoch);
            return Ok(());
        }
        let Body::Started(started) = &mut event.body else { return Ok(()) };
        let session = self.make_session(started, &event.run).await?;
        started.session = Some(session.as_str().into());
        let new = NewRun {
            id: event.run.to_string(),
            session,
            key: None,
            owner: me(),
            ttl: LEASE,
            start: started.clone(),
            at: event.at,
        };
        let (row, lease) = match self.kept.or_tell(self.kept.store.start_run(new).await)? {
            StartedRun::New { run, lease } => (run, lease),
            StartedRun::Existing(row) => return Err(taken(&row).into()),
        };
        event.epoch = Some(row.epoch);
        let renewal = Renewal::new(&self.kept.store, &event.run, &lease, self.lost.clone());
        let held =
            Held { epoch: row.epoch, lease, _renewal: renewal, pending: Vec::new(), end: None };
        self.runs.insert(event.run.clone(), held);
        Ok(())
    }

    /// Stores what the machine made of everything that came at once.
    pub(super) async fn keep(&mut self, machine: &Session, effects: &[Effect]) -> Result<(), Lost> {
        let mut touched: Vec<Id> = Vec::new();
        for effect in effects {
            match effect {
                Effect::Emit(event) => {
                    let Some(held) = self.runs.get_mut(&event.run) else { continue };
                    // The store wrote the start itself.
                    if event.seq > Some(1) {
                        held.pending.push(event.clone());
                    }
                    if !touched.contains(&event.run) {
                        touched.push(event.run.clone());
                    }
                }
                Effect::Announce { run, ended, summary } => {
                    if let Some(held) = self.runs.get_mut(run) {
                        held.end = Some((ended.clone(), *summary));
                    }
                }
                Effect::Show { .. }
                | Effect::Resolve { .. }
                | Effect::CallOff { .. }
                | Effect::Drain { .. }
                | Effect::Warn(_) => {}
            }
        }
        for run in touched {
            self.store(machine, &run).await?;
        }
        Ok(())
    }

    async fn store(&mut self, machine: &Session, run: &Id) -> Result<(), Lost> {
        let Some(held) = self.runs.get_mut(run) else { return Ok(()) };
        let (events, end) = (std::mem::take(&mut held.pending), held.end.take());
        let lease = held.lease.clone();
        let mut batches = batch::of_events(events);
        let last = batches.pop().unwrap_or_default();
        for batch in batches {
            self.append(run, &lease, batch).await?;
        }
        let Some((ended, summary)) = end else { return self.append(run, &lease, last).await };
        let records = self.records(machine, run).await?;
        let closing = Closing { events: last, ended, summary, records };
        self.finalize(run, lease, closing).await?;
        self.runs.remove(run);
        Ok(())
    }

    /// Stores all records but the last of them, which go in with the end.
    async fn early_records(
        &self,
        records: Vec<NewRecord>,
    ) -> foxwedge_store::Result<Vec<NewRecord>> {
        let mut batches = batch::of_records(records);
        let last = batches.pop().unwrap_or_default();
        let (Some(session), store) = (&self.session, &self.kept.store) else { return Ok(last) };
        for batch in batches {
            again(|| store.append_records(session, batch.clone())).await?;
        }
        Ok(last)
    }

    async fn append(&self, run: &Id, lease: &Lease, events: Vec<Event>) -> Result<(), Lost> {
        if events.is_empty() {
            return Ok(());
        }
        let store = &self.kept.store;
        let stored = again(|| store.append(run, lease, events.clone())).await;
        stored.map(drop).map_err(|error| self.lost(error))
    }

    async fn finalize(&mut self, run: &Id, lease: Lease, closing: Closing) -> Result<(), Lost> {
        let bare = Closing { records: Vec::new(), ..closing.clone() };
        let authority = Authority::Holder(lease);
        let store = self.kept.store.clone();
        let finalize = |closing: &Closing| store.finalize(run, authority.clone(), closing.clone());
        let whole = match self.early_records(closing.records).await {
            Ok(records) => {
                again(|| finalize(&Closing { records: records.clone(), ..bare.clone() })).await
            }
            Err(error) => Err(error),
        };
        let done = match whole {
            // What it leaves in the session does not fit; its end is stored all the same.
            Err(StoreError::Invalid(why)) => {
                self.notes.push(format!("its session got no history of run `{run}`: {why}"));
                again(|| finalize(&bare)).await
            }
            Err(StoreError::Conflict(id)) => {
                self.notes
                    .push(format!("its session got no history of run `{run}`: `{id}` is there"));
                again(|| finalize(&bare)).await
            }
            done => done,
        };
        match done {
            Ok(Finalized::Won(_)) => Ok(()),
            // The acknowledgement was lost, and it was our end.
            Ok(Finalized::Lost(row)) if is_ours(&row, &bare) => Ok(()),
            Ok(Finalized::Lost(_)) => Err(Lost::Taken(run.clone())),
            Err(error) => Err(self.lost(error)),
        }
    }

    /// What a run leaves in its session, behind what is there.
    async fn records(&self, machine: &Session, run: &Id) -> Result<Vec<NewRecord>, Lost> {
        let (Some(run), Some(session)) = (machine.run(run), &self.session) else {
            return Ok(Vec::new());
        };
        let store = &self.kept.store;
        let row = again(|| store.session(session)).await.map_err(|error| self.lost(error))?;
        let count = row.map_or(0, |row| row.records);
        let newest = again(|| store.records(session, count.saturating_sub(1), 1)).await;
        let newest = newest.map_err(|error| self.lost(error))?;
        Ok(records(run, newest.first().map(|record| record.record.id.as_str())))
    }

    async fn make_session(&mut self, started: &Started, run: &Id) -> anyhow::Result<String> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let id = match (&self.named, &started.session) {
            (Some(named), _) if is_safe(named) => named.clone(),
            (Some(named), _) => {
                return Err(Trouble::new(format!("`{named}` is no id of a session"))
                    .help("an id is 1 to 128 of A-Z a-z 0-9 _ -")
                    .into());
            }
            (None, Some(told)) => safe(told),
            (None, None) => safe(run),
        };
        let new = NewSession { id: id.clone(), ..NewSession::default() };
        self.kept.or_tell(self.kept.store.create_session(new).await)?;
        self.session = Some(id.clone());
        Ok(id)
    }

    fn lost(&self, error: StoreError) -> Lost {
        match error {
            StoreError::Ended(row) => Lost::Taken(row.id.as_str().into()),
            StoreError::Fenced { run, .. } => Lost::Taken(run.as_str().into()),
            error => match self.kept.or_tell::<()>(Err(error)) {
                Err(error) => Lost::Broken(error),
                Ok(()) => Lost::Broken(anyhow::anyhow!("the store does not work")),
            },
        }
    }
}

fn taken(row: &RunRow) -> Trouble {
    Trouble::new(format!("run `{}` is there already", row.id)).help(format!(
        "leave --run out, or name another one; `foxwedge runs show {}` shows it",
        row.id
    ))
}

/// Whether an end that is there is the one that we wanted to record.
fn is_ours(row: &RunRow, closing: &Closing) -> bool {
    let last = closing.events.last().and_then(|event| event.seq);
    let same = row.state.outcome() == closing.ended.outcome;
    same && last.is_some_and(|last| last == row.last)
}

/// Tries again what a store could not do just now. Telling a store something twice does no harm.
async fn again<T, F: Future<Output = foxwedge_store::Result<T>>>(
    mut work: impl FnMut() -> F,
) -> foxwedge_store::Result<T> {
    for pause in PAUSES {
        match work().await {
            Err(StoreError::Unavailable(_)) => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            done => return done,
        }
    }
    work().await
}
