//! The end of a run.

use deadpool_postgres::GenericClient;

use super::{
    PostgresStore, append,
    append::no_run,
    ask,
    failure::Failure,
    head::Head,
    records,
    row::{self, Run, run_columns, signed},
    runs,
    token::Token,
};
use crate::{
    Authority, Finalized, NewRecord, RunState,
    draft::{self, Draft},
};

/// How a run is ended: what was told, spelled.
pub(super) struct Closed {
    /// When, as the end itself tells.
    pub(super) at: Option<u64>,
    pub(super) drafts: Vec<Draft>,
    pub(super) ended: String,
    pub(super) summary: String,
    pub(super) records: Vec<NewRecord>,
}

impl PostgresStore {
    /// Ends a run. Its session is held before the run, as everywhere; then one statement decides
    /// who ends it, and the rest follows it or is undone with it.
    pub(super) async fn try_finalize(
        &self,
        run: &str,
        authority: &Authority,
        closed: &Closed,
        token: Token,
    ) -> Result<Finalized, Failure> {
        let mut client = self.gate.client().await?;
        let transaction = client.transaction().await?;
        let found = runs::find(&transaction, run).await?.ok_or_else(|| no_run(run))?;
        if matches!(found.row.state, RunState::Ended { .. }) {
            return Ok(verdict(found, token));
        }
        let count = records::hold(&transaction, &found.row.session).await?;
        let held = runs::hold(&transaction, run).await?.ok_or_else(|| no_run(run))?;
        if matches!(held.row.state, RunState::Ended { .. }) {
            return Ok(verdict(held, token));
        }
        match authority {
            Authority::Holder(lease) => append::may_write(&held, lease)?,
            Authority::Operator => {}
        }
        let drafts = &closed.drafts;
        draft::epochs(run, held.row.epoch, drafts)?;
        let told_again = draft::plan(run, held.row.last, drafts)?;
        let (old, new) = drafts.split_at_checked(told_again).unwrap_or((drafts, &[]));
        append::compare(&transaction, &held, old).await?;
        let Some(ended) = end(&transaction, &held, closed, new, token).await? else {
            let ended = runs::find(&transaction, run).await?.ok_or_else(|| no_run(run))?;
            return Ok(verdict(ended, token));
        };
        records::add(&transaction, &held.row.session, count, &closed.records).await?;
        transaction.commit().await?;
        self.heads.forget(run);
        Ok(verdict(ended, token))
    }
}

/// Whose end it is that a run has.
fn verdict(run: Run, token: Token) -> Finalized {
    if run.token == token { Finalized::Won(run.row) } else { Finalized::Lost(run.row) }
}

/// Records the end and the last events, if nobody has ended the run; its row, or nothing.
async fn end(
    client: &impl GenericClient,
    run: &Run,
    closed: &Closed,
    new: &[Draft],
    token: Token,
) -> Result<Option<Run>, Failure> {
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
    let before = Head::from(run);
    let (after, links) = append::extend(&before, new);
    let bodies: Vec<&str> = new.iter().map(|draft| draft.body.as_str()).collect();
    let values: ask::Values<'_> = &[
        &run.serial,
        &closed.ended,
        &closed.summary,
        &signed(after.last),
        &after.chain.as_slice(),
        &signed(before.last),
        &bodies,
        &links,
        &token.0,
        &closed.at.map(signed),
    ];
    ask::row(client, statement, values).await?.as_ref().map(row::run).transpose()
}
