//! One run that is written down: what happens goes through the run machine, and what the machine
//! says goes to the store.

use std::{future::Future, sync::Arc, time::Duration};

use foxwedge_dialect::canon;
use foxwedge_run::{
    Body, Effect, Ended, Event, Input, Outcome, Problem, Session, Settings, Summary, Usage,
};
use foxwedge_store::{
    AnyStore, Authority, Closing, Finalized, Lease, NewRecord, Result, RunRow, Store, StoreError,
};
use tokio::time::Instant;

/// How long a run is ours without a sign of life, in milliseconds.
pub(super) const LEASE: u64 = 60_000;

/// How long is waited before something is tried again that a store could not do just now.
const PAUSES: [u64; 4] = [50, 200, 1_000, 2_000];

/// A run that is ours.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) run: Arc<str>,
    pub(super) session: Arc<str>,
    epoch: u64,
    lease: Lease,
    /// When the lease was renewed last.
    renewed: Instant,
    machine: Session,
    pending: Vec<Event>,
    end: Option<(Ended, Summary)>,
    /// What earlier requests of the run cost.
    used: Usage,
}

/// Whether a run is still ours behind something that was done.
#[derive(Debug)]
pub(super) enum Kept {
    /// It goes on.
    Open(Box<Live>),
    /// It has ended, so.
    Ended(Outcome),
    /// Somebody else ended it, or has it.
    Taken,
}

impl Live {
    /// A run that the store has begun.
    pub(super) fn new(row: &RunRow, start: foxwedge_run::Started, lease: Lease) -> Live {
        let run: Arc<str> = row.id.as_str().into();
        let mut live = Live {
            session: row.session.as_str().into(),
            epoch: row.epoch,
            lease,
            renewed: Instant::now(),
            machine: Session::new(Settings::default()),
            pending: Vec::new(),
            end: None,
            used: Usage::default(),
            run,
        };
        live.tell(row.started, Body::Started(start));
        live
    }

    /// Whether its end is decided.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Something happens. Behind the end nothing does.
    pub(super) fn tell(&mut self, at: u64, body: Body) {
        let event = Event { epoch: Some(self.epoch), at: Some(at), ..Event::new(&self.run, body) };
        let mut effects = Vec::new();
        self.machine.apply(at, Input::Event(event), &mut effects);
        for effect in effects {
            match effect {
                // The store wrote the start itself.
                Effect::Emit(event) if event.seq > Some(1) => self.pending.push(event),
                Effect::Announce { ended, summary, .. } => self.end = Some((ended, summary)),
                Effect::Emit(_)
                | Effect::Show { .. }
                | Effect::Resolve { .. }
                | Effect::CallOff { .. }
                | Effect::Drain { .. }
                | Effect::Warn(_) => {}
            }
        }
    }

    /// What a request cost, on top of those before it.
    pub(super) fn cost(&mut self, at: u64, usage: &canon::Usage) {
        if usage.is_empty() {
            return;
        }
        let sum = |sum: u64, more: Option<u64>| sum.saturating_add(more.unwrap_or(0));
        self.used = Usage {
            input: sum(self.used.input, usage.input),
            output: sum(self.used.output, usage.output),
            cached: sum(self.used.cached, usage.cached),
            reasoning: sum(self.used.reasoning, usage.reasoning),
        };
        self.tell(at, Body::Usage(self.used));
    }

    /// It ends, so, unless it has ended.
    pub(super) fn end(&mut self, at: u64, outcome: Option<Outcome>, text: Option<String>) {
        if self.is_over() {
            return;
        }
        self.tell(at, Body::Ended(Ended { outcome, text, ..Ended::default() }));
    }

    /// It ends in trouble, in a word.
    pub(super) fn fail(&mut self, at: u64, code: &str) {
        let message = format!("the request failed: {code}");
        self.tell(at, Body::Problem(Problem { message, code: Some(code.into()), fatal: true }));
    }

    /// Something is wrong, and it goes on.
    pub(super) fn warn(&mut self, at: u64, code: &str, message: &str) {
        let message = message.to_owned();
        self.tell(at, Body::Problem(Problem { message, code: Some(code.into()), fatal: false }));
    }

    /// How many events came behind the end.
    pub(super) fn late(&self) -> u64 {
        self.machine.run(&self.run).map_or(0, |run| run.counts().late)
    }

    /// Writes what is new, and the end if there is one.
    ///
    /// # Errors
    /// If the store cannot.
    pub(super) async fn save(
        mut self: Box<Self>,
        store: &AnyStore,
        records: Vec<NewRecord>,
    ) -> Result<Kept> {
        let events = std::mem::take(&mut self.pending);
        let done = match self.end.take() {
            Some((ended, summary)) => {
                let closing = Closing { events, ended, summary, records };
                return finalize(store, &self.run, &self.lease, closing).await;
            }
            None => {
                // Together, so that one commit takes both.
                let (events, records) = tokio::join!(
                    append(store, &self.run, &self.lease, events),
                    keep(store, &self.session, records),
                );
                events.and(records)
            }
        };
        match done {
            Ok(()) => Ok(Kept::Open(self)),
            Err(error) => taken(error),
        }
    }

    /// Keeps the run, if it was not kept for a while.
    ///
    /// # Errors
    /// If the store cannot.
    pub(super) async fn renew(mut self: Box<Self>, store: &AnyStore) -> Result<Kept> {
        let now = Instant::now();
        match again(|| store.renew(&self.run, &self.lease, LEASE)).await {
            Ok(()) => {
                self.renewed = now;
                Ok(Kept::Open(self))
            }
            Err(error) => taken(error),
        }
    }

    /// Whether its lease should be renewed.
    pub(super) fn is_stale(&self, now: Instant) -> bool {
        now.duration_since(self.renewed) >= Duration::from_millis(LEASE / 2)
    }
}

async fn append(store: &AnyStore, run: &str, lease: &Lease, events: Vec<Event>) -> Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    again(|| store.append(run, lease, events.clone())).await.map(drop)
}

async fn keep(store: &AnyStore, session: &str, records: Vec<NewRecord>) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    again(|| store.append_records(session, records.clone())).await.map(drop)
}

async fn finalize(
    store: &AnyStore,
    run: &str,
    lease: &Lease,
    mut closing: Closing,
) -> Result<Kept> {
    let outcome = closing.ended.outcome.unwrap_or(Outcome::Failed);
    let authority = Authority::Holder(lease.clone());
    let finalize = |closing: &Closing| store.finalize(run, authority.clone(), closing.clone());
    let done = match again(|| finalize(&closing)).await {
        // More than a store takes: the end itself always fits.
        Err(StoreError::Invalid(_) | StoreError::Conflict(_)) => {
            shorten(&mut closing);
            again(|| finalize(&closing)).await
        }
        done => done,
    };
    match done {
        Ok(Finalized::Won(_)) => Ok(Kept::Ended(outcome)),
        // The acknowledgement was lost, and it was our end.
        Ok(Finalized::Lost(row)) if row.state.outcome() == Some(outcome) => {
            Ok(Kept::Ended(outcome))
        }
        Ok(Finalized::Lost(_)) => Ok(Kept::Taken),
        Err(error) => taken(error),
    }
}

fn shorten(closing: &mut Closing) {
    closing.records.clear();
    closing.ended.text = None;
    for event in &mut closing.events {
        if let Body::Ended(ended) = &mut event.body {
            ended.text = None;
        }
    }
}

fn taken(error: StoreError) -> Result<Kept> {
    match error {
        StoreError::Ended(_) | StoreError::Fenced { .. } | StoreError::NoRun(_) => Ok(Kept::Taken),
        error => Err(error),
    }
}

/// Tries again what a store could not do just now. Telling a store something twice does no harm.
pub(super) async fn again<T, F: Future<Output = Result<T>>>(
    mut work: impl FnMut() -> F,
) -> Result<T> {
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
