//! What happens in one session, written down in its order.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

use foxwedge_run::{self as run, Body, CallRef, Outcome, Stop};
use foxwedge_store::{
    AnyStore, NewRecord, NewRun, NewSession, Result, RunRow, Started, Store, StoreError,
};
use serde_json::Value;

use super::{
    answers,
    block::name,
    live::{Kept, LEASE, Live, again},
    now,
    queue::{Beginning, Closing, Ending, What, Whole},
    story::Story,
    tips,
};
use crate::meter::{Dropped, Meter};

/// Sessions that are known to be there.
const KNOWN: usize = 100_000;

/// What every session needs.
pub(super) struct Desk {
    pub(super) store: Arc<AnyStore>,
    pub(super) me: String,
    pub(super) meter: Meter,
    known: Mutex<HashSet<Arc<str>>>,
}

impl Desk {
    pub(super) fn new(store: Arc<AnyStore>, me: String, meter: Meter) -> Desk {
        Desk { store, me, meter, known: Mutex::default() }
    }

    /// Writes what happened in a session, and returns its run if that goes on.
    pub(super) async fn session(
        &self,
        session: &Arc<str>,
        mut live: Option<Box<Live>>,
        whats: Vec<What>,
    ) -> Option<Box<Live>> {
        // Of the newest reply only.
        let mut records = Vec::new();
        for what in whats {
            match what {
                What::Begin(begin) => {
                    let goes_on = live.take_if(|live| live.run == begin.run);
                    if let Some(mut before) = live.take() {
                        before.story.end(begin.at, Some(Outcome::Replaced), None);
                        self.save(before, std::mem::take(&mut records)).await;
                    }
                    live = self.begin(session, goes_on, *begin).await;
                }
                What::More(run, told) => {
                    if let Some(live) = ours(&mut live, &run) {
                        told.into_iter().for_each(|told| live.tell(told.at, told.body));
                    }
                }
                What::End(closing, whole) => {
                    let Some(of) = ours(&mut live, &closing.run) else { continue };
                    records = record_of(&closing);
                    end(of, *closing, whole);
                }
                What::Late(run, calls) => {
                    if let Some(live) = ours(&mut live, &run) {
                        late(live, calls);
                    }
                }
                What::Lost(run) => {
                    if let Some(live) = ours(&mut live, &run) {
                        live.end(now(), Some(Outcome::Interrupted), None);
                    }
                }
                What::Forget(run) => live = live.filter(|live| live.run != run),
            }
        }
        self.save(live?, records).await
    }

    async fn save(&self, live: Box<Live>, records: Vec<NewRecord>) -> Option<Box<Live>> {
        if live.story.is_over() {
            self.meter.late_events(live.story.late());
        }
        let kept = live.save(&self.store, records).await;
        self.settled(kept)
    }

    pub(super) fn settled(&self, kept: Result<Kept>) -> Option<Box<Live>> {
        match kept {
            Ok(Kept::Open(live)) => Some(live),
            Ok(Kept::Ended(outcome)) => {
                self.meter.run(outcome);
                None
            }
            Ok(Kept::Taken) => None,
            // Its lease runs out, and somebody closes it.
            Err(_) => {
                self.meter.dropped(Dropped::Records, 1);
                None
            }
        }
    }

    /// A request begins: the run goes on, or a new one begins.
    async fn begin(
        &self,
        session: &Arc<str>,
        live: Option<Box<Live>>,
        begin: Beginning,
    ) -> Option<Box<Live>> {
        let mut live = match live {
            Some(live) => live,
            None => match self.start(session, &begin).await {
                Ok(Some(live)) => live,
                Ok(None) | Err(_) => {
                    self.meter.dropped(Dropped::Records, 1);
                    return None;
                }
            },
        };
        told(&mut live.story, begin);
        Some(live)
    }

    /// Begins a run in the store. `None` if it cannot be ours.
    async fn start(&self, session: &Arc<str>, begin: &Beginning) -> Result<Option<Box<Live>>> {
        if begin.turn > 1 {
            // It was closed meanwhile, and what has ended does not go on.
            return Ok(None);
        }
        if !self.is_known(session) && !self.make_session(session, begin).await? {
            return Ok(None);
        }
        let new = self.new_run(session, begin);
        let started = match again(|| self.store.start_run(new.clone())).await {
            // Somebody deleted it.
            Err(StoreError::NoSession(_)) => {
                if !self.make_session(session, begin).await? {
                    return Ok(None);
                }
                again(|| self.store.start_run(new.clone())).await
            }
            started => started,
        };
        let live = |row: &RunRow, lease| {
            let story = Story::new(&begin.run, row.started, new.start.clone());
            Box::new(Live::new(row, story, lease))
        };
        match started? {
            Started::New { run, lease } => Ok(Some(live(&run, lease))),
            // The acknowledgement was lost: nobody else knows the id.
            Started::Existing(run) => {
                let ours = run.lease.clone().filter(|lease| lease.owner == self.me);
                Ok(ours.map(|lease| live(&run, lease)))
            }
        }
    }

    /// The run that a request begins.
    pub(super) fn new_run(&self, session: &Arc<str>, begin: &Beginning) -> NewRun {
        NewRun {
            id: begin.run.to_string(),
            session: session.to_string(),
            key: None,
            owner: self.me.clone(),
            ttl: LEASE,
            start: run::Started {
                session: Some(session.clone()),
                agent: begin.agent.as_deref().map(name),
                model: Some(name(&begin.model)),
                ..run::Started::default()
            },
            at: Some(begin.at),
        }
    }

    /// Makes a session, or finds it; whether it is the caller's.
    async fn make_session(&self, session: &Arc<str>, begin: &Beginning) -> Result<bool> {
        let new = new_session(session, begin);
        let row = again(|| self.store.create_session(new.clone())).await?;
        if *row.owner != *begin.owner {
            return Ok(false);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(session.clone());
        Ok(true)
    }

    fn is_known(&self, session: &str) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }
}

/// The session of a request, if it has to be made.
pub(super) fn new_session(session: &Arc<str>, begin: &Beginning) -> NewSession {
    let agent = begin.agent.as_deref().map(name);
    let model = name(&begin.model);
    let title = match agent {
        Some(agent) => format!("{model} · {agent}"),
        None => model.to_string(),
    };
    // A text and no tree of values: this is told of every request. Names of formats are words.
    let forked = begin.forked.as_deref().map_or(Value::Null, Value::from);
    let format = begin.wire.name();
    let meta =
        format!("{{\"forked_from\":{forked},\"format\":\"{format}\",\"source\":\"gateway\"}}");
    NewSession { id: session.to_string(), owner: begin.owner.to_string(), title, meta: Some(meta) }
}

/// A request begins: what it brings.
pub(super) fn told(story: &mut Story, begin: Beginning) {
    let results = match &begin.body {
        Some((body, wire)) => answers::read(&begin.answered, &begin.failed, body, *wire),
        None => answers::bare(&begin.answered, &begin.failed),
    };
    results.into_iter().for_each(|result| story.tell(begin.at, Body::Result(result)));
    begin.cards.into_iter().for_each(|card| story.tell(begin.at, card));
}

/// The run that is meant, if it is the one that is open.
fn ours<'l>(live: &'l mut Option<Box<Live>>, run: &str) -> Option<&'l mut Story> {
    live.as_deref_mut().filter(|live| &*live.run == run).map(|live| &mut live.story)
}

pub(super) fn record_of(closing: &Closing) -> Vec<NewRecord> {
    let tip = closing.tip.map(|tip| tips::record(&closing.run, closing.turn, tip));
    tip.into_iter().collect()
}

/// What the end of a request makes of its run.
pub(super) fn end(live: &mut Story, closing: Closing, whole: Whole) {
    let Closing { at, told, usage, text, ending, .. } = closing;
    told.into_iter().for_each(|told| live.tell(told.at, told.body));
    live.cost(at, &usage);
    if whole == Whole::No {
        let message = "not all of it could be written down";
        live.warn(at, "record_incomplete", message);
    }
    match (ending, whole) {
        (Ending::Replied, _) => live.end(at, None, text),
        (Ending::Refused, _) => live.end(at, Some(Outcome::Refused), text),
        (Ending::Waits, Whole::Yes) => {}
        // Its calls were not written down, so that nobody can wait for them.
        (Ending::Waits, Whole::No) => live.end(at, Some(Outcome::Interrupted), None),
        (Ending::Failed(code), _) => live.fail(at, &code),
        (Ending::Stopped, _) => live.tell(at, Body::Stop(Stop { grace: 0 })),
    }
}

/// Nobody answered in time.
fn late(live: &mut Story, calls: Vec<Arc<str>>) {
    let at = now();
    for call in calls {
        let call = Some(CallRef { id: Some(call), turn: None });
        live.tell(at, Body::TimedOut { call });
    }
    live.tell(at, Body::TimedOut { call: None });
}
