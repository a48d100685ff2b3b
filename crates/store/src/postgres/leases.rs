//! Leases. All of them run by the server's clock, so that no machine's own clock matters.

use super::{
    PostgresStore, append, ask,
    failure::{Failure, Trouble},
    row::{self, limit, number, plain, run_columns, signed},
    runs::{self, ttl},
    token::Token,
};
use crate::{Lease, RunRow};

impl PostgresStore {
    /// Keeps a lease.
    pub(super) async fn try_renew(
        &self,
        run: &str,
        lease: &Lease,
        time: u64,
    ) -> Result<(), Failure> {
        let client = self.gate.client().await?;
        let statement = "UPDATE runs SET lease_until = now_ms() + $3
                         WHERE id = $1 AND fence = $2 AND owner = $4 AND ended_at IS NULL";
        let owner = plain(&lease.owner);
        let values: ask::Values<'_> = &[&plain(run), &signed(lease.fence), &ttl(time), &owner];
        if owner == lease.owner && ask::change(&client, statement, values).await? > 0 {
            return Ok(());
        }
        let found = runs::find(&client, run).await?.ok_or_else(|| append::no_run(run))?;
        append::may_write(&found, lease)?;
        Err(Failure::Again(Trouble::text("the lease changed in the meantime")))
    }

    /// Takes a run over. Done twice, the second time finds the token of the first.
    pub(super) async fn try_take_over(
        &self,
        run: &str,
        owner: &str,
        time: u64,
        token: Token,
    ) -> Result<Option<Lease>, Failure> {
        let client = self.gate.client().await?;
        let statement = "
            UPDATE runs SET owner = $2, fence = fence + 1, lease_until = now_ms() + $3, token = $4
            WHERE id = $1 AND ended_at IS NULL AND lease_until <= now_ms() AND token <> $4
            RETURNING fence";
        let values: ask::Values<'_> = &[&plain(run), &owner, &ttl(time), &token.0];
        if let Some(taken) = ask::row(&client, statement, values).await? {
            return Ok(Some(Lease { owner: owner.to_owned(), fence: number(&taken, "fence")? }));
        }
        let found = runs::find(&client, run).await?.ok_or_else(|| append::no_run(run))?;
        Ok(found.row.lease.filter(|_| found.token == token))
    }

    /// How long the lease that runs out first still lasts.
    pub(super) async fn try_earliest_lease(&self) -> Result<Option<u64>, Failure> {
        let client = self.gate.client().await?;
        let question = "SELECT greatest(lease_until - now_ms(), 0) AS rest FROM runs
                        WHERE ended_at IS NULL ORDER BY lease_until LIMIT 1";
        let row = ask::row(&client, question, &[]).await?;
        row.map(|row| number(&row, "rest")).transpose()
    }

    /// Runs whose lease has run out, the longest abandoned first.
    pub(super) async fn try_abandoned(&self, count: usize) -> Result<Vec<RunRow>, Failure> {
        let client = self.gate.client().await?;
        let question = concat!(
            "SELECT ",
            run_columns!(),
            " FROM runs WHERE ended_at IS NULL AND lease_until <= now_ms()
              ORDER BY lease_until, serial LIMIT $1"
        );
        let rows = ask::rows(&client, question, &[&limit(count)]).await?;
        rows.iter().map(|row| Ok(row::run(row)?.row)).collect()
    }
}
