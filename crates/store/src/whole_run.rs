//! A run that is told from its beginning to its end at once: what is checked and spelled before a
//! backend writes it. It comes out as if it had been begun and ended one after the other.

use std::sync::Arc;

use foxwedge_run::{EventPayload, RunEvent};

use crate::{
    RawEvent, Result, RunRow, RunState, StoreError, WholeRun,
    chain::{self, ROOT},
    check, codec, event_draft, limits,
};

/// A run that may be written, as far as that can be said without looking.
pub(crate) struct EncodedRun {
    pub(crate) whole: Arc<WholeRun>,
    /// How it ended, spelled.
    pub(crate) ended: String,
    /// In numbers, spelled.
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

    /// Its whole log, once its number is known.
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
        let numbered =
            |event: &RunEvent| RunEvent { epoch: event.epoch.or(Some(epoch)), ..event.clone() };
        let events = closing.events.iter().map(numbered).collect();
        let drafts = event_draft::prepare_closing(&run.id, events, now)?;
        event_draft::check_epochs(&run.id, epoch, &drafts)?;
        let again = event_draft::count_repeated(&run.id, 1, &drafts)?;
        let mut before = chain::link(&ROOT, 1, &body);
        let mut log = Vec::with_capacity(drafts.len() + 1);
        log.push(RawEvent { seq: 1, body, chain: before });
        for (place, draft) in drafts.into_iter().enumerate() {
            if place < again {
                // Only the start can have been told before.
                log.first().map_or(Ok(()), |start| draft.compare(&run.id, &start.body))?;
                continue;
            }
            before = chain::link(&before, draft.seq, &draft.body);
            log.push(RawEvent { seq: draft.seq, body: draft.body, chain: before });
        }
        Ok(log)
    }

    /// When it ended, if its end says so.
    pub(crate) fn ended_at(&self) -> Option<u64> {
        self.whole.closing.events.last().and_then(|event| event.at)
    }

    /// About how many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        let closing = &self.whole.closing;
        let records: usize = closing.records.iter().map(|record| record.body.len()).sum();
        // Events are spelled later; what is large in them is mostly text.
        self.ended.len() + records + 256 * closing.events.len()
    }

    /// Its row, as it stands there now.
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

/// Refuses a session that is somebody else's.
pub(crate) fn check_owner(whole: &WholeRun, owner: &str) -> Result<()> {
    let session = &whole.session;
    if session.owner == owner {
        return Ok(());
    }
    Err(StoreError::Conflict(session.id.clone()))
}
