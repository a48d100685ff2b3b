//! A run's log, told to the run machine once more: how it ends, and what it leaves behind.

use foxwedge_run::{
    Body, Effect, Ended, Event, Id, Input, Run, Session, Settings, Summary, history,
};

use crate::{Closing, NewRecord, Result, RunRow, Store, StoreError, clock};

/// How many events are read at once.
const PAGE: usize = 1_000;

/// What a run leaves in its session: its messages, one record behind the other. `parent` is the
/// record they follow.
pub fn records(run: &Run, parent: Option<&str>) -> Vec<NewRecord> {
    let mut parent = parent.map(str::to_owned);
    let mut records = Vec::new();
    for (place, message) in history(run).iter().enumerate() {
        let id = format!("{}-{}", run.epoch(), place + 1);
        records.push(NewRecord {
            id: id.clone(),
            parent: parent.replace(id),
            run: Some(run.id().to_string()),
            kind: "message".to_owned(),
            body: message.value().to_string(),
        });
    }
    records
}

/// A run's log, told to a machine.
pub(crate) struct Replay {
    run: Id,
    session: Session,
    now: u64,
    end: Option<(Ended, Summary)>,
}

impl Replay {
    /// A machine that knows nothing yet.
    pub(crate) fn new(run: &RunRow) -> Replay {
        let session = Session::new(Settings::default());
        Replay { run: run.id.as_str().into(), session, now: clock::now(), end: None }
    }

    /// Reads the log up to its end, or to where it is damaged: what is returned says how.
    pub(crate) async fn read<S: Store>(&mut self, store: &S) -> Result<Option<String>> {
        let (mut after, mut limit) = (0, PAGE);
        loop {
            match store.events(&self.run, after, limit).await {
                Ok(page) => {
                    let Some(last) = page.last() else { return Ok(None) };
                    after = last.seq;
                    page.into_iter().for_each(|stored| {
                        self.tell(Input::Event(stored.event));
                    });
                }
                // One by one up to the very place.
                Err(StoreError::Corrupt { .. }) if limit > 1 => limit = 1,
                Err(StoreError::Corrupt { what, why }) => {
                    return Ok(Some(format!("{what}: {why}")));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells the end behind the log. `None` if the machine never saw the run begin.
    pub(crate) fn close(&mut self, run: &RunRow, end: Body) -> Option<Closing> {
        let end = Event { at: Some(self.now), ..Event::new(&self.run, end) };
        let mut events = self.tell(Input::Event(end));
        // A wish to stop may leave tools some time; whoever could use it is gone.
        while self.end.is_none() {
            let Some(deadline) = self.session.deadline().filter(|moment| *moment > self.now) else {
                break;
            };
            self.now = deadline;
            events.extend(self.tell(Input::Tick));
        }
        let (ended, summary) = self.end.clone()?;
        events.retain(|event| event.seq.is_some_and(|seq| seq > run.last));
        Some(Closing { events, ended, summary, records: Vec::new() })
    }

    /// What the run leaves in its session, behind a record.
    pub(crate) fn records(&self, parent: Option<&str>) -> Vec<NewRecord> {
        self.session.run(&self.run).map(|run| records(run, parent)).unwrap_or_default()
    }

    /// Tells the machine something, and returns what belongs into the log.
    fn tell(&mut self, input: Input) -> Vec<Event> {
        let mut effects = Vec::new();
        self.session.apply(self.now, input, &mut effects);
        let mut emitted = Vec::new();
        for effect in effects {
            match effect {
                Effect::Emit(event) => emitted.push(event),
                Effect::Announce { ended, summary, .. } => self.end = Some((ended, summary)),
                Effect::Show { .. }
                | Effect::Resolve { .. }
                | Effect::CallOff { .. }
                | Effect::Drain { .. }
                | Effect::Warn(_) => {}
            }
        }
        emitted
    }
}

/// An end without anything before it.
pub(crate) fn bare(run: &RunRow, ended: Ended, summary: Summary) -> Closing {
    let event = Event {
        epoch: Some(run.epoch),
        seq: Some(run.last + 1),
        ..Event::new(&run.id.as_str().into(), Body::Ended(ended.clone()))
    };
    Closing { events: vec![event], ended, summary, records: Vec::new() }
}
