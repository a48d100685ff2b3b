//! Creates and migrates the tables. The first process that needs it does it.

use deadpool_postgres::{Client, GenericClient, Transaction};

use super::failure::AttemptFailure;
use crate::StoreError;

/// All migrations. A released migration never changes.
const STEPS: [(i32, &str, &str); 3] = [
    (1, "begin", include_str!("migrations/0001_begin.sql")),
    (2, "shared", include_str!("migrations/0002_shared.sql")),
    (3, "held_links", include_str!("migrations/0003_held_links.sql")),
];

/// Migrates a schema to the newest version. Concurrent migrations wait for each other.
pub(super) async fn migrate(client: &mut Client, schema: &str) -> Result<(), AttemptFailure> {
    if applied_version(client, schema).await? == latest() {
        return Ok(());
    }
    let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.try_get(0)?;
    if encoding != "UTF8" {
        let why = format!("the database encoding is {encoding}; it must be UTF8");
        return Err(AttemptFailure::Refused(StoreError::Invalid(why)));
    }
    let transaction = client.transaction().await?;
    // The lock covers one schema of one database.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('foxwedge ' || $1, 0))";
    transaction.execute(lock, &[&schema]).await?;
    if !exists(&transaction, schema).await? {
        // Only if it is missing: an administrator may have created the schema for a user that may
        // not create one.
        transaction.batch_execute(&format!("CREATE SCHEMA {schema}")).await?;
    }
    let table = "CREATE TABLE IF NOT EXISTS foxwedge_migrations (
                     number integer PRIMARY KEY,
                     name text NOT NULL,
                     at timestamptz NOT NULL DEFAULT clock_timestamp()
                 )";
    transaction.batch_execute(table).await?;
    let applied = applied_version(&transaction, schema).await?;
    for (number, name, text) in STEPS.iter().filter(|(number, ..)| *number > applied) {
        transaction.batch_execute(text).await?;
        let record = "INSERT INTO foxwedge_migrations (number, name) VALUES ($1, $2)";
        transaction.execute(record, &[number, name]).await?;
    }
    // Running it twice does no harm.
    transaction.commit().await?;
    Ok(())
}

fn latest() -> i32 {
    STEPS.iter().map(|(number, ..)| *number).max().unwrap_or(0)
}

async fn exists(transaction: &Transaction<'_>, schema: &str) -> Result<bool, AttemptFailure> {
    let sql = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    Ok(transaction.query_opt(sql, &[&schema]).await?.is_some())
}

/// The last applied migration.
async fn applied_version(client: &impl GenericClient, schema: &str) -> Result<i32, AttemptFailure> {
    let exists_sql = "SELECT to_regclass($1 || '.foxwedge_migrations') IS NOT NULL";
    if !client.query_one(exists_sql, &[&schema]).await?.try_get::<_, bool>(0)? {
        return Ok(0);
    }
    let last = "SELECT coalesce(max(number), 0) FROM foxwedge_migrations";
    let applied: i32 = client.query_one(last, &[]).await?.try_get(0)?;
    if applied > latest() {
        return Err(AttemptFailure::Refused(StoreError::Invalid(format!(
            "schema `{schema}` was created by a newer version: it is at step {applied}, this \
            version supports {}",
            latest()
        ))));
    }
    Ok(applied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_from_one_on() {
        let numbers: Vec<i32> = STEPS.iter().map(|(number, ..)| *number).collect();
        let expected: Vec<i32> = (1..).take(STEPS.len()).collect();
        assert_eq!(numbers, expected);
    }
}
