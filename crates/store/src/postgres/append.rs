//! Appends and reads events.

use deadpool_postgres::GenericClient;
use tokio_postgres::Error;

use super::{
    PostgresStore,
    failure::{Attempt, AttemptFailure, PostgresError},
    log_heads::CachedLogHead,
    query,
    row::{self, PostgresRun, limit, signed},
    runs,
};
use crate::{
    Lease, RawEvent, RunState, StoreError, StoredEvent,
    chain::{self, EventRange},
    event_draft::{self, EventDraft},
};

impl PostgresStore {
    /// Appends events. Usually this is one statement, which moves the run's row only if it matches
    /// the cached log end. A repeated attempt is detected by the sequence numbers.
    pub(super) fn try_append<'a>(
        &'a self,
        run: &'a str,
        lease: &'a Lease,
        drafts: &'a [EventDraft],
    ) -> Attempt<'a, u64> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            if let Some(head) = self.heads.get(run)
                && head.fence == lease.fence
                && !lease.owner.contains('\0')
                && drafts.first().is_some_and(|first| first.seq == head.last + 1)
            {
                event_draft::check_epochs(run, head.epoch, drafts)?;
                if let Some(head) = append_if_current(&client, &head, lease, drafts).await? {
                    self.heads.put(run, head);
                    return Ok(head.last);
                }
                self.heads.forget(run);
            }
            let found = runs::find(&client, run).await?.ok_or_else(|| no_run(run))?;
            may_write(&found, lease)?;
            event_draft::check_epochs(run, found.row.epoch, drafts)?;
            let repeated_count = event_draft::count_repeated(run, found.row.last, drafts)?;
            let (repeated, new) = drafts.split_at_checked(repeated_count).unwrap_or((drafts, &[]));
            compare(&client, &found, repeated).await?;
            let mut head = CachedLogHead::from(&found);
            if !new.is_empty() {
                let moved = || {
                    AttemptFailure::Retryable(PostgresError::from_text(
                        "the log was changed in the meantime",
                    ))
                };
                head = append_if_current(&client, &head, lease, new).await?.ok_or_else(moved)?;
            }
            self.heads.put(run, head);
            Ok(head.last)
        })
    }

    /// Returns verified events after a sequence number.
    pub(super) fn try_events<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        limit: usize,
    ) -> Attempt<'a, Vec<StoredEvent>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let found = runs::find(&client, run).await?.ok_or_else(|| no_run(run))?;
            let head = crate::LogHead { last: found.row.last, chain: found.chain };
            let range = EventRange { run, epoch: found.row.epoch, head, after, limit };
            if after >= range.end() {
                return Ok(Vec::new());
            }
            // Also read the event before the first one, for its link.
            let from = after.saturating_sub(1);
            let mut events =
                read_raw_events(&client, &found, from, range.end(), limit.saturating_add(1))
                    .await?;
            let before = events.first().filter(|first| first.seq == after).map(|first| first.chain);
            events.retain(|event| event.seq > after);
            match range.read(before, events) {
                // The missing events may have been deleted together with their run meanwhile.
                Err(StoreError::Corrupt { .. }) if runs::find(&client, run).await?.is_none() => {
                    Err(no_run(run))
                }
                result => Ok(result?),
            }
        })
    }

    /// Returns events after a sequence number, unverified.
    pub(super) fn try_raw_events<'a>(
        &'a self,
        run: &'a str,
        after: u64,
        limit: usize,
    ) -> Attempt<'a, Vec<RawEvent>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let found = runs::find(&client, run).await?.ok_or_else(|| no_run(run))?;
            read_raw_events(&client, &found, after, u64::MAX, limit).await
        })
    }
}

/// Checks that a run is open and the lease is current.
pub(super) fn may_write(run: &PostgresRun, lease: &Lease) -> Result<(), StoreError> {
    match &run.row.state {
        RunState::Ended { .. } => Err(StoreError::Ended(Box::new(run.row.clone()))),
        RunState::Open if run.row.lease.as_ref() != Some(lease) => {
            Err(StoreError::Fenced { run: run.row.id.clone(), held: run.fence, yours: lease.fence })
        }
        RunState::Open => Ok(()),
    }
}

/// Refuses repeated events that differ from the stored ones.
pub(super) async fn compare(
    client: &impl GenericClient,
    run: &PostgresRun,
    drafts: &[EventDraft],
) -> Result<(), AttemptFailure> {
    let (Some(first), Some(last)) = (drafts.first(), drafts.last()) else { return Ok(()) };
    let sql = "SELECT seq, body, chain FROM events
                    WHERE run = $1 AND seq BETWEEN $2 AND $3 ORDER BY seq";
    let values: query::SqlValues<'_> = &[&run.serial, &signed(first.seq), &signed(last.seq)];
    let stored = query::rows(client, sql, values).await?;
    if stored.len() != drafts.len() {
        return Err(chain::damage_error(&run.row.id, first.seq, "it is missing".to_owned()).into());
    }
    for (draft, stored) in drafts.iter().zip(&stored) {
        draft.compare(&run.row.id, &row::event(stored)?.body)?;
    }
    Ok(())
}

/// Computes the links of new events and the new end of the log.
pub(super) fn extend_chain(
    head: &CachedLogHead,
    drafts: &[EventDraft],
) -> (CachedLogHead, Vec<Vec<u8>>) {
    let mut after = *head;
    let mut links = Vec::with_capacity(drafts.len());
    for draft in drafts {
        after.chain = chain::link(&after.chain, draft.seq, &draft.body);
        after.last = draft.seq;
        links.push(after.chain.to_vec());
    }
    (after, links)
}

/// The error for a run that does not exist.
pub(super) fn no_run(run: &str) -> AttemptFailure {
    AttemptFailure::Refused(StoreError::NoRun(run.to_owned()))
}

/// Appends events and moves the end of the log, if it has not changed.
async fn append_if_current(
    client: &impl GenericClient,
    head: &CachedLogHead,
    lease: &Lease,
    drafts: &[EventDraft],
) -> Result<Option<CachedLogHead>, Error> {
    let statement = "
        WITH head AS (
            UPDATE runs SET last = $5, chain = $6
            WHERE serial = $1 AND fence = $2 AND owner = $9 AND last = $3 AND chain = $4
              AND ended_at IS NULL
            RETURNING serial
        )
        INSERT INTO events (run, seq, body, chain)
        SELECT head.serial, $3 + event.place, event.body, event.chain
        FROM head, unnest($7::text[], $8::bytea[]) WITH ORDINALITY AS event (body, chain, place)";
    let (after, links) = extend_chain(head, drafts);
    let bodies: Vec<&str> = drafts.iter().map(|draft| draft.body.as_str()).collect();
    let values: query::SqlValues<'_> = &[
        &head.serial,
        &signed(lease.fence),
        &signed(head.last),
        &head.chain.as_slice(),
        &signed(after.last),
        &after.chain.as_slice(),
        &bodies,
        &links,
        &lease.owner,
    ];
    let added = query::execute(client, statement, values).await?;
    Ok((added > 0).then_some(after))
}

/// Returns events unverified, up to a sequence number.
async fn read_raw_events(
    client: &impl GenericClient,
    run: &PostgresRun,
    after: u64,
    end: u64,
    max: usize,
) -> Result<Vec<RawEvent>, AttemptFailure> {
    let sql = "SELECT seq, body, chain FROM events
                    WHERE run = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4";
    let values: query::SqlValues<'_> = &[&run.serial, &signed(after), &signed(end), &limit(max)];
    query::rows(client, sql, values).await?.iter().map(row::event).collect()
}
