//! Ends runs.

use deadpool_postgres::GenericClient;

use super::{
    PostgresStore, append,
    append::no_run,
    failure::{Attempt, AttemptFailure},
    log_heads::CachedLogHead,
    query, records,
    row::{self, PostgresRun, run_columns, signed},
    runs,
    token::AttemptToken,
};
use crate::{
    CloseAuthority, FinalizeResult, NewRecord, RunState,
    event_draft::{self, EventDraft},
};

/// The end of a run, encoded.
pub(super) struct PostgresClosing {
    /// When the run ended, if its last event has a time.
    pub(super) at: Option<u64>,
    pub(super) drafts: Vec<EventDraft>,
    pub(super) ended: String,
    pub(super) summary: String,
    pub(super) records: Vec<NewRecord>,
}

impl PostgresStore {
    /// Ends a run. Locks the session before the run, as everywhere. Then one statement decides
    /// which caller ends the run; the rest is committed or rolled back with it.
    pub(super) fn try_finalize<'a>(
        &'a self,
        run: &'a str,
        authority: &'a CloseAuthority,
        closing: &'a PostgresClosing,
        token: AttemptToken,
    ) -> Attempt<'a, FinalizeResult> {
        Box::pin(async move {
            let mut client = self.pool.client().await?;
            let transaction = client.transaction().await?;
            let found = runs::find(&transaction, run).await?.ok_or_else(|| no_run(run))?;
            if matches!(found.row.state, RunState::Ended { .. }) {
                return Ok(finalize_result(found, token));
            }
            let count = records::lock_session(&transaction, &found.row.session).await?;
            let locked_run =
                runs::find_for_update(&transaction, run).await?.ok_or_else(|| no_run(run))?;
            if matches!(locked_run.row.state, RunState::Ended { .. }) {
                return Ok(finalize_result(locked_run, token));
            }
            match authority {
                CloseAuthority::Holder(lease) => append::may_write(&locked_run, lease)?,
                CloseAuthority::Operator => {}
            }
            let drafts = &closing.drafts;
            event_draft::check_epochs(run, locked_run.row.epoch, drafts)?;
            let repeated_count = event_draft::count_repeated(run, locked_run.row.last, drafts)?;
            let (repeated, new) = drafts.split_at_checked(repeated_count).unwrap_or((drafts, &[]));
            append::compare(&transaction, &locked_run, repeated).await?;
            let Some(ended) = record_end(&transaction, &locked_run, closing, new, token).await?
            else {
                let ended = runs::find(&transaction, run).await?.ok_or_else(|| no_run(run))?;
                return Ok(finalize_result(ended, token));
            };
            records::add(&transaction, &locked_run.row.session, count, &closing.records).await?;
            transaction.commit().await?;
            self.heads.forget(run);
            Ok(finalize_result(ended, token))
        })
    }
}

/// Checks the token to see whether this call ended the run.
fn finalize_result(run: PostgresRun, token: AttemptToken) -> FinalizeResult {
    if run.token == token {
        FinalizeResult::Recorded(run.row)
    } else {
        FinalizeResult::AlreadyEnded(run.row)
    }
}

/// Records the end and the last events, unless the run has ended. Returns its row, or `None`.
async fn record_end(
    client: &impl GenericClient,
    run: &PostgresRun,
    closing: &PostgresClosing,
    new: &[EventDraft],
    token: AttemptToken,
) -> Result<Option<PostgresRun>, AttemptFailure> {
    let statement = concat!(
        "WITH ended AS (
             UPDATE runs SET ended_at = coalesce($10, now_ms()), ended = $2, summary = $3,
                             last = $4, chain = $5, closed = now_ms(), token = $9
             WHERE serial = $1 AND ended_at IS NULL
             RETURNING *
         ), event AS (
             INSERT INTO events (run, seq, body, chain)
             SELECT ended.serial, $6 + event.place, event.body, event.chain
             FROM ended, unnest($7::text[], $8::bytea[]) WITH ORDINALITY
                      AS event (body, chain, place)
         )
         SELECT ",
        run_columns!(),
        " FROM ended"
    );
    let before = CachedLogHead::from(run);
    let (after, links) = append::extend_chain(&before, new);
    let bodies: Vec<&str> = new.iter().map(|draft| draft.body.as_str()).collect();
    let values: query::SqlValues<'_> = &[
        &run.serial,
        &closing.ended,
        &closing.summary,
        &signed(after.last),
        &after.chain.as_slice(),
        &signed(before.last),
        &bodies,
        &links,
        &token.0,
        &closing.at.map(signed),
    ];
    query::row(client, statement, values).await?.as_ref().map(row::run).transpose()
}
