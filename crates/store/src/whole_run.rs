//! A complete run: checks and encodes it before a backend writes it. The result equals that of a
//! start and a separate end.

use std::sync::Arc;

use foxwedge_run::{EventPayload, RunEvent, wire};

use crate::{
    LogHead, RawEvent, Result, RunClosing, RunRow, RunState, StoreError, WholeRun,
    chain::{self, ROOT},
    check, codec, event_draft, limits,
};

/// Separates the events of a log in one text. JSON cannot contain it.
pub(crate) const SEPARATOR: char = '\u{1e}';

/// A run that passed all checks that do not need the database.
pub(crate) struct EncodedRun {
    pub(crate) whole: Arc<WholeRun>,
    /// The end, as JSON.
    pub(crate) ended: String,
    /// The summary, as JSON.
    pub(crate) summary: String,
}

/// The whole log of a run as one text.
pub(crate) struct LogText {
    /// The events from the first on, with [`SEPARATOR`] between them.
    text: String,
    /// Where the last one begins.
    last_start: usize,
    /// The end of the log.
    pub(crate) head: LogHead,
}

impl EncodedRun {
    pub(crate) fn new(whole: Arc<WholeRun>) -> Result<EncodedRun> {
        let WholeRun { session, run, closing } = &*whole;
        check::session(session)?;
        check::run(run)?;
        if run.session != session.id {
            let why = format!("run `{}` belongs to another session", run.id);
            return Err(StoreError::Invalid(why));
        }
        check::records(&closing.records)?;
        let (ended, summary) =
            (codec::write_end(&closing.ended), codec::write_summary(&closing.summary));
        check::size("the end of a run", ended.len(), limits::EVENT_BYTES)?;
        Ok(EncodedRun { whole, ended, summary })
    }

    /// The whole log as one text, given the run's epoch.
    pub(crate) fn log_text(&self, epoch: u64, now: u64) -> Result<LogText> {
        match self.regular_log(epoch, now) {
            Some(log) => Ok(log),
            None => Ok(LogText::of(&self.log(epoch, now)?)),
        }
    }

    /// The log of a run whose events are all new and within the limits, which nearly all are.
    fn regular_log(&self, epoch: u64, now: u64) -> Option<LogText> {
        let WholeRun { run, closing, .. } = &*self.whole;
        let last = u64::try_from(closing.events.len()).ok()? + 1;
        let is_regular = |(seq, event): (u64, &RunEvent)| {
            event.seq == Some(seq)
                && *event.run == *run.id
                && event.epoch.is_none_or(|given| given == epoch)
                && matches!(event.body, EventPayload::Ended(_)) == (seq == last)
        };
        let is_short = (1..=limits::APPEND_EVENTS).contains(&closing.events.len());
        if !is_short || !(2..).zip(&closing.events).all(is_regular) {
            return None;
        }
        let mut log = LogText {
            text: String::with_capacity(1_024),
            last_start: 0,
            head: LogHead { last: 0, chain: ROOT },
        };
        log.append(|text| wire::write_into(&self.start_event(epoch, now), text));
        for event in &closing.events {
            log.append(|text| wire::append_with(event, Some(epoch), now, text));
        }
        // Then no event is too large either.
        (log.text.len() <= limits::EVENT_BYTES.min(limits::APPEND_BYTES)).then_some(log)
    }

    fn start_event(&self, epoch: u64, now: u64) -> RunEvent {
        let run = &self.whole.run;
        RunEvent {
            run: run.id.as_str().into(),
            epoch: Some(epoch),
            seq: Some(1),
            at: Some(run.at.unwrap_or(now)),
            unknown_word: None,
            body: EventPayload::Started(run.start.clone()),
        }
    }

    /// Builds the whole log, given the run's epoch.
    pub(crate) fn log(&self, epoch: u64, now: u64) -> Result<Vec<RawEvent>> {
        let WholeRun { run, closing, .. } = &*self.whole;
        let body = codec::write_event(&self.start_event(epoch, now));
        check::size("an event", body.len(), limits::EVENT_BYTES)?;
        let drafts = event_draft::prepare_closing(&run.id, &closing.events, Some(epoch), now)?;
        event_draft::check_epochs(&run.id, epoch, &drafts)?;
        let repeated = event_draft::count_repeated(&run.id, 1, &drafts)?;
        let mut before = chain::link(&ROOT, 1, &body);
        let mut log = Vec::with_capacity(drafts.len() + 1);
        log.push(RawEvent { seq: 1, body, chain: before });
        for (index, draft) in drafts.into_iter().enumerate() {
            if index < repeated {
                // Only the start can repeat a stored event.
                log.first().map_or(Ok(()), |start| draft.compare(&run.id, &start.body))?;
                continue;
            }
            before = chain::link(&before, draft.seq, &draft.body);
            log.push(RawEvent { seq: draft.seq, body: draft.body, chain: before });
        }
        Ok(log)
    }

    /// When the run ended, if its last event has a time.
    pub(crate) fn ended_at(&self) -> Option<u64> {
        self.whole.closing.events.last().and_then(|event| event.at)
    }

    /// The row of the run as it is stored.
    pub(crate) fn row(&self, epoch: u64, last: u64, now: u64) -> RunRow {
        let WholeRun { run, closing, .. } = &*self.whole;
        RunRow {
            id: run.id.clone(),
            session: run.session.clone(),
            epoch,
            key: run.key.clone(),
            started: run.at.unwrap_or(now),
            last,
            state: RunState::Ended {
                ended: closing.ended.clone(),
                summary: closing.summary,
                at: self.ended_at().unwrap_or(now),
            },
            lease: None,
            lease_until: None,
            agent: run.start.agent.as_deref().map(str::to_owned),
            model: run.start.model.as_deref().map(str::to_owned),
        }
    }
}

impl WholeRun {
    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let RunClosing { events, ended, records, summary: _ } = &self.closing;
        let records: usize = records.iter().map(|record| record.body.len()).sum();
        // Events are encoded later; most of their size is text.
        ended.text.as_ref().map_or(0, String::len) + records + 256 * events.len()
    }
}

impl LogText {
    fn of(events: &[RawEvent]) -> LogText {
        let mut log =
            LogText { text: String::new(), last_start: 0, head: LogHead { last: 0, chain: ROOT } };
        for event in events {
            log.append(|text| text.push_str(&event.body));
        }
        log
    }

    fn append(&mut self, write: impl FnOnce(&mut String)) {
        if self.head.last > 0 {
            self.text.push(SEPARATOR);
        }
        self.last_start = self.text.len();
        write(&mut self.text);
        let (last, body) = (self.head.last + 1, self.last_event());
        self.head = LogHead { last, chain: chain::link(&self.head.chain, last, body) };
    }

    /// The size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The last event.
    pub(crate) fn last_event(&self) -> &str {
        self.text.get(self.last_start..).unwrap_or_default()
    }

    /// The events before the last one, as one text; `None` if there are none.
    pub(crate) fn earlier_events(&self) -> Option<&str> {
        self.text.get(..self.last_start.checked_sub(SEPARATOR.len_utf8())?)
    }

    /// Every event by itself.
    pub(crate) fn events(&self) -> impl Iterator<Item = RawEvent> + '_ {
        let mut before = ROOT;
        (1..).zip(self.text.split(SEPARATOR)).map(move |(seq, body)| {
            before = chain::link(&before, seq, body);
            RawEvent { seq, body: body.to_owned(), chain: before }
        })
    }
}

/// Refuses a session of another owner.
pub(crate) fn check_owner(whole: &WholeRun, owner: &str) -> Result<()> {
    let session = &whole.session;
    if session.owner == owner {
        return Ok(());
    }
    Err(StoreError::Conflict(session.id.clone()))
}
