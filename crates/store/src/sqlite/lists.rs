//! Lists of sessions and runs: newest first, page by page.

use rusqlite::{Connection, ToSql, types::Value};

use super::{
    error::SqliteResult,
    row::{self, limit},
    sessions,
};
use crate::{ListFilter, ListPage, RunRow, SessionRow};

/// Lists sessions.
pub(super) fn sessions(
    connection: &Connection,
    filter: &ListFilter,
    page: &ListPage,
) -> SqliteResult<Vec<SessionRow>> {
    let mut query = ListQuery::default();
    query.add_condition("s.owner = ?", &filter.owner);
    query.add_condition("s.id = ?", &filter.session);
    let open = "EXISTS (SELECT 1 FROM runs r WHERE r.session = s.serial AND r.ended_at IS NULL)";
    match filter.open {
        Some(true) => query.conditions.push(open.to_owned()),
        Some(false) => query.conditions.push(format!("NOT {open}")),
        None => {}
    }
    if let Some(after) = &page.after {
        sessions::serial(connection, after)?;
        let condition =
            "(s.created, s.serial) < (SELECT created, serial FROM sessions WHERE id = ?)";
        query.add_condition(condition, &page.after);
    }
    let sql = query.sql(row::SESSION, "sessions s", "s.created DESC, s.serial DESC", page);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(&*query.values(), row::session)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Lists runs.
pub(super) fn runs(
    connection: &Connection,
    filter: &ListFilter,
    page: &ListPage,
) -> SqliteResult<Vec<RunRow>> {
    let mut query = ListQuery::default();
    query.add_condition("s.owner = ?", &filter.owner);
    query.add_condition("s.id = ?", &filter.session);
    match filter.open {
        Some(true) => query.conditions.push("r.ended_at IS NULL".to_owned()),
        Some(false) => query.conditions.push("r.ended_at IS NOT NULL".to_owned()),
        None => {}
    }
    if let Some(after) = &page.after {
        super::runs::read_write_state(connection, after)?;
        let condition = "(r.started, r.serial) < (SELECT started, serial FROM runs WHERE id = ?)";
        query.add_condition(condition, &page.after);
    }
    let from = "runs r JOIN sessions s ON s.serial = r.session";
    let sql = query.sql(row::RUN, from, "r.started DESC, r.serial DESC", page);
    let mut statement = connection.prepare_cached(&sql)?;
    row::all(statement.query(&*query.values())?, row::run)
}

/// A query of fixed SQL. Input of a caller is only ever a bound value.
#[derive(Default)]
struct ListQuery {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl ListQuery {
    fn add_condition(&mut self, condition: &str, value: &Option<String>) {
        if let Some(value) = value {
            self.conditions.push(condition.to_owned());
            self.values.push(Value::from(value.clone()));
        }
    }

    fn sql(&mut self, columns: &str, from: &str, order: &str, page: &ListPage) -> String {
        self.values.push(Value::from(limit(page.limit)));
        let conditions = match self.conditions.as_slice() {
            [] => String::new(),
            conditions => format!("WHERE {}", conditions.join(" AND ")),
        };
        format!("SELECT {columns} FROM {from} {conditions} ORDER BY {order} LIMIT ?")
    }

    fn values(&self) -> Vec<&dyn ToSql> {
        self.values.iter().map(|value| value as &dyn ToSql).collect()
    }
}
