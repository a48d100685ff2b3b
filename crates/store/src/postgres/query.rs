//! Questions to the database. Every statement is prepared once for each connection.

use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, Row, types::ToSql};

/// What stands for `$1`, `$2`, … in a statement.
pub(super) type SqlValues<'a> = &'a [&'a (dyn ToSql + Sync)];

/// All rows of an answer.
pub(super) async fn rows(
    client: &impl GenericClient,
    statement: &str,
    values: SqlValues<'_>,
) -> Result<Vec<Row>, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.query(&statement, values).await
}

/// The one row of an answer, if there is one.
pub(super) async fn row(
    client: &impl GenericClient,
    statement: &str,
    values: SqlValues<'_>,
) -> Result<Option<Row>, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.query_opt(&statement, values).await
}

/// Changes something; how many rows it were.
pub(super) async fn execute(
    client: &impl GenericClient,
    statement: &str,
    values: SqlValues<'_>,
) -> Result<u64, Error> {
    let statement = client.prepare_cached(statement).await?;
    client.execute(&statement, values).await
}
