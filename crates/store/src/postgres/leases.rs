//! Leases. All use the server's clock, so the clocks of the machines do not matter.

use super::{
    PostgresStore, append,
    failure::{Attempt, AttemptFailure, PostgresError},
    query,
    row::{self, limit, number, run_columns, searchable, signed},
    runs::{self, clamp_ttl},
    token::AttemptToken,
};
use crate::{Lease, RunRow};

impl PostgresStore {
    /// Extends a lease.
    pub(super) fn try_renew<'a>(
        &'a self,
        run: &'a str,
        lease: &'a Lease,
        ttl: u64,
    ) -> Attempt<'a, ()> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let statement = "UPDATE runs SET lease_until = now_ms() + $3
                         WHERE id = $1 AND fence = $2 AND owner = $4 AND ended_at IS NULL";
            let owner = searchable(&lease.owner);
            let values: query::SqlValues<'_> =
                &[&searchable(run), &signed(lease.fence), &clamp_ttl(ttl), &owner];
            if owner == lease.owner && query::execute(&client, statement, values).await? > 0 {
                return Ok(());
            }
            let found = runs::find(&client, run).await?.ok_or_else(|| append::no_run(run))?;
            append::may_write(&found, lease)?;
            Err(AttemptFailure::Retryable(PostgresError::from_text(
                "the lease changed in the meantime",
            )))
        })
    }

    /// Takes over a run. A repeated attempt finds the token of the first.
    pub(super) fn try_take_over<'a>(
        &'a self,
        run: &'a str,
        owner: &'a str,
        ttl: u64,
        token: AttemptToken,
    ) -> Attempt<'a, Option<Lease>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let statement = "
            UPDATE runs SET owner = $2, fence = fence + 1, lease_until = now_ms() + $3, token = $4
            WHERE id = $1 AND ended_at IS NULL AND lease_until <= now_ms() AND token <> $4
            RETURNING fence";
            let values: query::SqlValues<'_> =
                &[&searchable(run), &owner, &clamp_ttl(ttl), &token.0];
            if let Some(taken) = query::row(&client, statement, values).await? {
                return Ok(Some(Lease {
                    owner: owner.to_owned(),
                    fence: number(&taken, "fence")?,
                }));
            }
            let found = runs::find(&client, run).await?.ok_or_else(|| append::no_run(run))?;
            Ok(found.row.lease.filter(|_| found.token == token))
        })
    }

    /// Takes over an open run from its holder. A repeated attempt finds the token of the first.
    pub(super) fn try_hand_over<'a>(
        &'a self,
        run: &'a str,
        owner: &'a str,
        ttl: u64,
        token: AttemptToken,
    ) -> Attempt<'a, Option<Lease>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let statement = "
            UPDATE runs SET owner = $2, fence = fence + (token <> $4)::integer,
                            lease_until = now_ms() + $3, token = $4
            WHERE id = $1 AND ended_at IS NULL RETURNING fence";
            let values: query::SqlValues<'_> =
                &[&searchable(run), &owner, &clamp_ttl(ttl), &token.0];
            let row = query::row(&client, statement, values).await?;
            let lease = |row| Ok(Lease { owner: owner.to_owned(), fence: number(&row, "fence")? });
            row.map(lease).transpose()
        })
    }

    /// Milliseconds until the first lease expires.
    pub(super) fn try_earliest_lease(&self) -> Attempt<'_, Option<u64>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let sql = "SELECT greatest(lease_until - now_ms(), 0) AS rest FROM runs
                        WHERE ended_at IS NULL ORDER BY lease_until LIMIT 1";
            let row = query::row(&client, sql, &[]).await?;
            row.map(|row| number(&row, "rest")).transpose()
        })
    }

    /// Runs whose lease has expired, oldest first.
    pub(super) fn try_abandoned_runs(&self, count: usize) -> Attempt<'_, Vec<RunRow>> {
        Box::pin(async move {
            let client = self.pool.client().await?;
            let sql = concat!(
                "SELECT ",
                run_columns!(),
                " FROM runs WHERE ended_at IS NULL AND lease_until <= now_ms()
              ORDER BY lease_until, serial LIMIT $1"
            );
            let rows = query::rows(&client, sql, &[&limit(count)]).await?;
            rows.iter().map(|row| Ok(row::run(row)?.row)).collect()
        })
    }
}
