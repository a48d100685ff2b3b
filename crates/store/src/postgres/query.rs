//! Runs statements. Every statement is prepared once per connection.

use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, Row, types::ToSql};

/// The values of `$1`, `$2`, … in a statement.
pub(super) type SqlValues<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Returns all rows.
pub(super) async fn rows(
    client: &impl GenericClient,
    statement: &str,
    values: SqlValues<'_>,
) -> Result<Vec<Row>, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.query(&statement, values).await
}

/// Returns the only row, if there is one.
pub(super) async fn row(
    client: &impl GenericClient,
    statement: &str,
    values: SqlValues<'_>,
) -> Result<Option<Row>, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.query_opt(&statement, values).await
}

/// Executes a statement. Returns the number of affected rows.
pub(super) async fn execute(
    client: &impl GenericClient,
    statement: &str,
    values: SqlValues<'_>,
) -> Result<u64, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.execute(&statement, values).await
}
