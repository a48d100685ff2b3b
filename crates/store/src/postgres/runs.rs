//! Runs: begun, found, listed.

use std::sync::Arc;

use deadpool_postgres::GenericClient;
use foxwedge_run::{Body, Event};

use super::{
    PostgresStore,
    append::no_run,
    ask,
    failure::Failure,
    head::Head,
    records,
    row::{self, Run, limit, number, plain, run_columns, signed},
    token::Token,
};
use crate::{
    Filter, NewRun, Page, RunRow, Started, StoreError,
    chain::{self, ROOT},
    check, codec, limits,
};

impl PostgresStore {
    /// Starts a run. The session's row is held from the first step on: it gives out the epochs.
    pub(super) async fn try_start(&self, new: &NewRun, token: Token) -> Result<Started, Failure> {
        let mut client = self.gate.client().await?;
        let transaction = client.transaction().await?;
        records::hold(&transaction, &new.session).await?;
        match existing(&transaction, new).await? {
            Some(run) if run.token == token => return Ok(self.begun(run)),
            Some(run) => return Ok(Started::Existing(run.row)),
            None => {}
        }
        let count = "UPDATE sessions SET epoch = epoch + 1, touched = greatest(touched, now_ms())
                     WHERE id = $1 RETURNING epoch, now_ms() AS now";
        let counted = ask::row(&transaction, count, &[&new.session]).await?;
        let counted = counted.ok_or_else(|| StoreError::NoSession(new.session.clone()))?;
        let (epoch, now) = (number(&counted, "epoch")?, number(&counted, "now")?);
        let run = begin(&transaction, new, token, epoch, new.at.unwrap_or(now)).await?;
        transaction.commit().await?;
        Ok(self.begun(run))
    }

    fn begun(&self, run: Run) -> Started {
        self.heads.put(&run.row.id, Head::from(&run));
        match run.row.lease.clone() {
            Some(lease) => Started::New { run: run.row, lease },
            None => Started::Existing(run.row),
        }
    }

    /// A run.
    pub(super) async fn try_run(&self, id: &str) -> Result<Option<Run>, Failure> {
        find(&self.gate.client().await?, id).await
    }

    /// Runs, the newest first.
    pub(super) async fn try_runs(
        &self,
        filter: &Filter,
        page: &Page,
    ) -> Result<Vec<RunRow>, Failure> {
        let client = self.gate.client().await?;
        let mut after = None;
        if let Some(id) = &page.after {
            let run = find(&client, id).await?.ok_or_else(|| no_run(id))?;
            after = Some((signed(run.row.started), run.serial));
        }
        let question = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs
              WHERE ($1::text IS NULL OR session = $1)
                AND ($2::text IS NULL OR session IN (SELECT id FROM sessions WHERE owner = $2))
                AND ($3::boolean IS NULL OR (ended_at IS NULL) = $3)
                AND ($4::bigint IS NULL OR (started, serial) < ($4, $5::bigint))
              ORDER BY started DESC, serial DESC LIMIT $6"
        );
        let values: ask::Values<'_> = &[
            &filter.session.as_deref().map(plain),
            &filter.owner.as_deref().map(plain),
            &filter.open,
            &after.map(|(started, _)| started),
            &after.map(|(_, serial)| serial),
            &limit(page.limit),
        ];
        let rows = ask::rows(&client, question, values).await?;
        rows.iter().map(|row| Ok(row::run(row)?.row)).collect()
    }
}

/// A run by its id.
pub(super) async fn find(client: &impl GenericClient, id: &str) -> Result<Option<Run>, Failure> {
    let question = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1");
    ask::row(client, question, &[&plain(id)]).await?.as_ref().map(row::run).transpose()
}

/// A run by its id, held until the end of the transaction. The session's row, if it is needed,
/// is held before.
pub(super) async fn hold(client: &impl GenericClient, id: &str) -> Result<Option<Run>, Failure> {
    let question = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = $1 FOR UPDATE");
    ask::row(client, question, &[&plain(id)]).await?.as_ref().map(row::run).transpose()
}

/// For how long a lease holds at most: long enough for everybody, and no sum overflows.
pub(super) fn ttl(ttl: u64) -> i64 {
    signed(ttl).min(i64::MAX / 2)
}

/// The run that a start finds, by its id or by its key.
pub(super) async fn existing(
    client: &impl GenericClient,
    new: &NewRun,
) -> Result<Option<Run>, Failure> {
    if let Some(run) = find(client, &new.id).await? {
        let same_key = new.key.is_none() || new.key == run.row.key;
        return if run.row.session == new.session && same_key {
            Ok(Some(run))
        } else {
            Err(StoreError::Conflict(new.id.clone()).into())
        };
    }
    let Some(key) = &new.key else { return Ok(None) };
    let question = concat!("SELECT ", run_columns!(), " FROM runs WHERE session = $1 AND key = $2");
    let found = ask::row(client, question, &[&new.session, key]).await?;
    found.as_ref().map(row::run).transpose()
}

/// Writes the run and its first event.
async fn begin(
    client: &impl GenericClient,
    new: &NewRun,
    token: Token,
    epoch: u64,
    at: u64,
) -> Result<Run, Failure> {
    let statement = concat!(
        "WITH begun AS (
             INSERT INTO runs (id, session, epoch, key, agent, model, started, last, chain,
                               owner, fence, lease_until, token)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, 1, now_ms() + $10, $12)
             RETURNING *
         ), event AS (
             INSERT INTO events (run, seq, body, chain) SELECT serial, 1, $11, $8 FROM begun
         )
         SELECT ",
        run_columns!(),
        " FROM begun"
    );
    let body = codec::event(&Event {
        run: Arc::from(new.id.as_str()),
        epoch: Some(epoch),
        seq: Some(1),
        at: Some(at),
        odd: None,
        body: Body::Started(new.start.clone()),
    });
    check::size("an event", body.len(), limits::EVENT_BYTES)?;
    let link = chain::link(&ROOT, 1, &body);
    let values: ask::Values<'_> = &[
        &new.id,
        &new.session,
        &signed(epoch),
        &new.key,
        &new.start.agent.as_deref(),
        &new.start.model.as_deref(),
        &signed(at),
        &link.as_slice(),
        &new.owner,
        &ttl(new.ttl),
        &body,
        &token.0,
    ];
    let begun = ask::row(client, statement, values).await.map_err(Failure::in_insert)?;
    row::run(&begun.ok_or_else(|| no_run(&new.id))?)
}
