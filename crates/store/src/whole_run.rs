//! A complete run: checks and encodes it before a backend writes it. The result equals that of a
//! start and a separate end.

use std::sync::Arc;

use foxwedge_run::{EventPayload, RunEvent};

use crate::{
    RawEvent, Result, RunRow, RunState, StoreError, WholeRun,
    chain::{self, ROOT},
    check, codec, event_draft, limits,
};

/// A run that passed all checks that do not need the database.
pub(crate) struct EncodedRun {
    pub(crate) whole: Arc<WholeRun>,
    /// The end, as JSON.
    pub(crate) ended: String,
    /// The summary, as JSON.
    pub(crate) summary: String,
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

    /// Builds the whole log, given the run's epoch.
    pub(crate) fn log(&self, epoch: u64, now: u64) -> Result<Vec<RawEvent>> {
        let WholeRun { run, closing, .. } = &*self.whole;
        let body = codec::write_event(&RunEvent {
            run: run.id.as_str().into(),
            epoch: Some(epoch),
            seq: Some(1),
            at: Some(run.at.unwrap_or(now)),
            unknown_word: None,
            body: EventPayload::Started(run.start.clone()),
        });
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

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let closing = &self.whole.closing;
        let records: usize = closing.records.iter().map(|record| record.body.len()).sum();
        // Events are encoded later; most of their size is text.
        self.ended.len() + records + 256 * closing.events.len()
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

/// Refuses a session of another owner.
pub(crate) fn check_owner(whole: &WholeRun, owner: &str) -> Result<()> {
    let session = &whole.session;
    if session.owner == owner {
        return Ok(());
    }
    Err(StoreError::Conflict(session.id.clone()))
}
