//! One run that is at work: what happens goes into the run machine, what the machine says goes into
//! the store, and only then to whoever listens.

use std::{sync::Arc, time::SystemTime};

use foxwedge_run::{Body, Effect, Ended, Event, Id, Input, Run, Session, Settings, Summary};
use foxwedge_store::{Authority, Closing, Finalized, Lease, NewRecord, RunRow, Store, StoreError};
use tokio::time::Instant;

use super::{Finished, Limits, Listener, LoopError, Note, Told};
use crate::record::again;

/// Events that are read at once.
const PAGE: usize = 1_000;

/// A run at work.
pub(super) struct Keeper<'a, S> {
    store: Arc<S>,
    listener: &'a mut dyn Listener,
    run: Id,
    epoch: u64,
    lease: Lease,
    machine: Session,
    /// What the log does not hold yet.
    unsaved: Vec<Event>,
    /// What nobody has been told yet.
    untold: Vec<Effect>,
    /// The last place in the log.
    last: u64,
    end: Option<(Ended, Summary)>,
    /// When the lease was renewed last.
    renewed: Instant,
}

/// Why a run cannot be kept any more.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Somebody else ended it, or has it.
    Taken,
    /// The loop cannot go on.
    Loop(LoopError),
}

impl From<LoopError> for Trouble {
    fn from(error: LoopError) -> Trouble {
        Trouble::Loop(error)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        match error {
            StoreError::Ended(_) | StoreError::Fenced { .. } | StoreError::NoRun(_) => {
                Trouble::Taken
            }
            error => Trouble::Loop(LoopError::Store(error)),
        }
    }
}

impl<'a, S: Store> Keeper<'a, S> {
    /// A run that the store has begun.
    pub(super) fn new(
        store: Arc<S>,
        row: &RunRow,
        lease: Lease,
        start: foxwedge_run::Started,
        listener: &'a mut dyn Listener,
    ) -> Keeper<'a, S> {
        let run = Id::from(row.id.as_str());
        let mut keeper = Keeper {
            store,
            listener,
            run: run.clone(),
            epoch: row.epoch,
            lease,
            machine: Session::new(Settings::default()),
            unsaved: Vec::new(),
            untold: Vec::new(),
            last: row.last,
            end: None,
            renewed: Instant::now(),
        };
        let event = Event {
            epoch: Some(row.epoch),
            at: Some(row.started),
            ..Event::new(&run, Body::Started(start))
        };
        keeper.apply(Input::Event(event));
        // The store wrote the start itself.
        keeper.unsaved.clear();
        keeper
    }

    /// Something happened.
    pub(super) fn note(&mut self, body: Body) {
        let event = Event { at: Some(now()), ..Event::new(&self.run, body) };
        self.apply(Input::Event(event));
    }

    fn apply(&mut self, input: Input) {
        let mut effects = Vec::with_capacity(4);
        self.machine.apply(now(), input, &mut effects);
        for effect in effects {
            match &effect {
                Effect::Emit(event) => self.unsaved.push(event.clone()),
                Effect::Announce { ended, summary, .. } => {
                    self.end = Some((ended.clone(), *summary));
                }
                Effect::Show { .. }
                | Effect::Resolve { .. }
                | Effect::CallOff { .. }
                | Effect::Drain { .. }
                | Effect::Warn(_) => {}
            }
            self.untold.push(effect);
        }
    }

    /// What is known of the run.
    pub(super) fn run(&self) -> Option<&Run> {
        self.machine.run(&self.run)
    }

    /// Its id.
    pub(super) fn id(&self) -> &Id {
        &self.run
    }

    /// Its number in the session.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether its end is decided and told to the machine.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Keeps what happened, and tells it. What ends a run is kept by [`Keeper::finish`].
    pub(super) async fn save(&mut self) -> Result<(), Trouble> {
        if self.is_over() {
            return Ok(());
        }
        if !self.unsaved.is_empty() {
            let events = &self.unsaved;
            self.last = again(|| self.store.append(&self.run, &self.lease, events.clone())).await?;
            self.unsaved.clear();
        }
        self.tell();
        Ok(())
    }

    /// Tells something beside the run.
    pub(super) fn tell_note(&mut self, note: Note) {
        self.listener.told(Told::Note(note));
    }

    /// Looks whether the run is still ours, and stays the one who runs it. A store that is away for
    /// a while ends nothing, as long as the lease holds.
    pub(super) async fn pulse(&mut self, limits: &Limits) -> Result<(), Trouble> {
        let since = self.renewed.elapsed();
        let looked = match since >= limits.lease / 3 {
            true => {
                let ttl = u64::try_from(limits.lease.as_millis()).unwrap_or(u64::MAX);
                self.store.renew(&self.run, &self.lease, ttl).await.map(|()| {
                    self.renewed = Instant::now();
                    true
                })
            }
            false => self.store.run(&self.run).await.map(|row| {
                let lease = row.and_then(|row| row.lease);
                lease.is_some_and(|lease| lease.fence == self.lease.fence)
            }),
        };
        match looked {
            Ok(true) => Ok(()),
            Ok(false) => Err(Trouble::Taken),
            Err(StoreError::Unavailable(_)) if since < limits.lease => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the run in the store, with what it leaves in the session, and tells the end.
    pub(super) async fn finish(&mut self, records: Vec<NewRecord>) -> Result<Finished, Trouble> {
        let Some((ended, summary)) = self.end.clone() else { return Err(Trouble::Taken) };
        let events = std::mem::take(&mut self.unsaved);
        let closing = Closing { events, ended: ended.clone(), summary, records };
        let authority = Authority::Holder(self.lease.clone());
        let finalized =
            again(|| self.store.finalize(&self.run, authority.clone(), closing.clone())).await?;
        match finalized {
            Finalized::Won(_) => {}
            // The acknowledgement was lost, and it was our end.
            Finalized::Lost(row) if row.state.outcome() == ended.outcome => {}
            Finalized::Lost(_) => return Err(Trouble::Taken),
        }
        self.tell();
        Ok(Finished { run: self.run.to_string(), ended, summary })
    }

    /// Somebody else ended the run: tells what they said about it.
    pub(super) async fn taken(&mut self) -> Result<Finished, LoopError> {
        self.untold.clear();
        self.unsaved.clear();
        let mut machine = Session::new(Settings::default());
        let (mut place, mut end) = (0, None);
        loop {
            let page = self.store.events(&self.run, place, PAGE).await?;
            let Some(newest) = page.last() else { break };
            place = newest.seq;
            for stored in page {
                let (told, mut effects) = (stored.seq > self.last, Vec::new());
                machine.apply(now(), Input::Event(stored.event), &mut effects);
                for effect in effects {
                    if let Effect::Announce { ended, summary, .. } = &effect {
                        end = Some((ended.clone(), *summary));
                    }
                    if told {
                        self.listener.told(Told::Run(effect));
                    }
                }
            }
        }
        let (ended, summary) = end.unwrap_or_default();
        Ok(Finished { run: self.run.to_string(), ended, summary })
    }

    fn tell(&mut self) {
        for effect in self.untold.drain(..) {
            self.listener.told(Told::Run(effect));
        }
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
