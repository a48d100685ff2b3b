//! The rows of events, within a transaction. A row holds one event, or the whole log of a short run
//! that was stored at once: one row costs a fraction of one for each event.

use rusqlite::{Connection, Row, params, types::ValueRef};

use super::{
    error::SqliteResult,
    row::{self, signed, unsigned},
    row_inserter::{InsertStatement, RowInserter},
};
use crate::{
    RawEvent,
    chain::{self, ChainLink, ROOT},
    limits,
    whole_run::{LogText, SEPARATOR},
};

/// The largest log that is stored in one row.
const MAX_PACKED_BYTES: usize = 64 << 10;

static LOGS: InsertStatement =
    InsertStatement::new("INSERT INTO events (place, body, chain, earlier)", 4);

/// A part of a log, unverified.
#[derive(Default)]
pub(super) struct LogPart {
    /// The link of the event before the first one, if that is stored.
    pub(super) before: Option<ChainLink>,
    /// The events.
    pub(super) events: Vec<RawEvent>,
}

/// Inserts an event.
pub(super) fn insert(
    connection: &Connection,
    run: i64,
    seq: u64,
    body: &str,
    chain: &ChainLink,
) -> SqliteResult<()> {
    connection
        .prepare_cached("INSERT INTO events (place, body, chain) VALUES (?1, ?2, ?3)")?
        .execute(params![event_key(run, seq), body, chain])?;
    Ok(())
}

/// Inserts the logs of runs that get no more events.
pub(super) fn insert_logs<'l>(
    connection: &Connection,
    logs: impl Iterator<Item = (i64, &'l LogText)> + Clone,
) -> SqliteResult<()> {
    let short = logs.clone().filter(|(_, log)| log.len() <= MAX_PACKED_BYTES);
    let mut rows = RowInserter::new(connection, &LOGS, short.clone().count());
    for (run, log) in short {
        let place = event_key(run, log.head.last);
        rows.add(&[&place, &log.last_event(), &log.head.chain, &log.earlier_events()])?;
    }
    for (run, log) in logs.filter(|(_, log)| log.len() > MAX_PACKED_BYTES) {
        for event in log.events() {
            insert(connection, run, event.seq, &event.body, &event.chain)?;
        }
    }
    Ok(())
}

/// Reads events after one sequence number and up to another.
pub(super) fn read(
    connection: &Connection,
    run: i64,
    after: u64,
    end: u64,
    max: usize,
) -> SqliteResult<LogPart> {
    let mut part = LogPart::default();
    let mut statement = connection.prepare_cached(
        "SELECT seq, body, chain, earlier FROM events
         WHERE place BETWEEN ?1 AND ?2 ORDER BY place",
    )?;
    let mut rows =
        statement.query(params![event_key(run, after), event_key(run, limits::RUN_EVENTS)])?;
    while let Some(row) = rows.next()? {
        for event in events(row)? {
            if event.seq == after {
                part.before = Some(event.chain);
            }
            if event.seq > end || part.events.len() == max {
                return Ok(part);
            }
            if event.seq > after {
                part.events.push(event);
            }
        }
    }
    Ok(part)
}

/// Reads one event.
pub(super) fn find(connection: &Connection, run: i64, seq: u64) -> SqliteResult<Option<RawEvent>> {
    let part = read(connection, run, seq.saturating_sub(1), seq, 1)?;
    Ok(part.events.into_iter().next())
}

/// The events of a row, also if they are damaged.
fn events(row: &Row<'_>) -> rusqlite::Result<Vec<RawEvent>> {
    let (seq, body, chain) = (unsigned(row.get(0)?), text(row, 1)?, row::link(row, 2)?);
    let last = RawEvent { seq, body, chain };
    match row.get_ref(3)? {
        ValueRef::Null => Ok(vec![last]),
        _ => Ok(unpack(&text(row, 3)?, last)),
    }
}

/// The events of a whole log. If one of them is damaged, no link matches: which one it is cannot be
/// known.
fn unpack(earlier: &str, last: RawEvent) -> Vec<RawEvent> {
    let (mut before, mut events) = (ROOT, Vec::new());
    let mut bodies = earlier.split(SEPARATOR);
    for (seq, body) in (1..last.seq).zip(&mut bodies) {
        before = chain::link(&before, seq, body);
        events.push(RawEvent { seq, body: body.to_owned(), chain: before });
    }
    let matches =
        bodies.next().is_none() && chain::link(&before, last.seq, &last.body) == last.chain;
    events.push(last);
    if !matches {
        events.iter_mut().for_each(|event| event.chain = ROOT);
    }
    events
}

/// A text column. Bytes that are not text are replaced.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => String::new(),
    })
}

/// The key of an event: the row number of its run in the upper half, its sequence number in the
/// lower.
fn event_key(run: i64, seq: u64) -> i64 {
    (run << 32) | signed(seq.min(limits::RUN_EVENTS))
}
