//! What both backends refuse before they touch anything: names nobody may use, texts that are no
//! JSON, and whatever is larger than [`limits`](crate::limits) allow.

use serde_json::value::RawValue;

use crate::{
    AgentSnapshot, NewRecord, NewRun, NewSession, RawEvent, RestoreItem, Result, SessionRow,
    StoreError, limits,
};

/// Takes an id that is safe anywhere: `[A-Za-z0-9_-]{1,128}`.
pub(crate) fn id(what: &str, id: &str) -> Result<()> {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if id.is_empty() || id.len() > limits::ID_BYTES || !id.bytes().all(safe) {
        return invalid(format!(
            "the id of a {what} is 1 to 128 of A-Z a-z 0-9 _ -, not {id:.200?}"
        ));
    }
    Ok(())
}

/// Takes what somebody is called by: an owner, a key, a kind.
pub(crate) fn name(what: &str, name: &str) -> Result<()> {
    text(what, name, limits::NAME_BYTES)
}

/// Takes a session.
pub(crate) fn session(new: &NewSession) -> Result<()> {
    id("session", &new.id)?;
    name("owner", &new.owner)?;
    text("title", &new.title, limits::TITLE_BYTES)?;
    let Some(meta) = &new.meta else { return Ok(()) };
    size("meta", meta.len(), limits::META_BYTES)?;
    json("the meta of a session", meta)?;
    // The text is JSON, so that its first sign tells its kind.
    if !meta.trim_start().starts_with('{') {
        return invalid("the meta of a session is a JSON object".to_owned());
    }
    Ok(())
}

/// Takes a run.
pub(crate) fn run(new: &NewRun) -> Result<()> {
    id("run", &new.id)?;
    name("owner", &new.owner)?;
    names([("key", &new.key)])?;
    names([("agent", &new.start.agent), ("model", &new.start.model)])
}

/// Takes records, one by one and as a whole. Whether their parents are there is for the backend
/// to say.
pub(crate) fn records(records: &[NewRecord]) -> Result<()> {
    if records.len() > limits::APPEND_RECORDS {
        return invalid(format!("more than {} records at once", limits::APPEND_RECORDS));
    }
    let all = records.iter().map(|record| record.body.len()).sum();
    size("all records", all, limits::APPEND_BYTES)?;
    records.iter().try_for_each(record)
}

/// Takes a snapshot.
pub(crate) fn snapshot(snapshot: &AgentSnapshot) -> Result<()> {
    id("snapshot", &snapshot.name)?;
    size("a snapshot", snapshot.body.len(), limits::SNAPSHOT_BYTES)
}

/// Takes a piece of an import: what comes out of a file is as good or bad as what a caller says.
pub(crate) fn piece(piece: &RestoreItem) -> Result<()> {
    match piece {
        RestoreItem::Session(row) => {
            let SessionRow { id, owner, title, meta, created, touched, epoch, .. } = row.clone();
            numbers([("created", created), ("touched", touched), ("epoch", epoch)])?;
            session(&NewSession { id, owner, title, meta })
        }
        RestoreItem::Records { session, records: given } => {
            id("session", session)?;
            if given.len() > limits::APPEND_RECORDS {
                return invalid(format!("more than {} records at once", limits::APPEND_RECORDS));
            }
            size("all records", piece.bytes(), limits::APPEND_BYTES)?;
            given.iter().try_for_each(|given| {
                numbers([("ordinal", given.ordinal), ("at", given.at)])?;
                record(&given.record)
            })
        }
        RestoreItem::Run(row) => {
            id("run", &row.id)?;
            id("session", &row.session)?;
            numbers([("started", row.started), ("epoch", row.epoch)])?;
            names([("key", &row.key), ("agent", &row.agent), ("model", &row.model)])
        }
        RestoreItem::Events { run, events } => {
            id("run", run)?;
            if events.len() > limits::APPEND_EVENTS {
                return invalid(format!("more than {} events at once", limits::APPEND_EVENTS));
            }
            size("all events", piece.bytes(), limits::APPEND_BYTES)?;
            events.iter().try_for_each(|event| raw_event(run, event))
        }
        RestoreItem::Left { run } => id("run", run),
        RestoreItem::End { run, at, .. } => id("run", run).and(numbers([("at", *at)])),
    }
}

/// Takes a text that is JSON, all of it.
pub(crate) fn json(what: &str, text: &str) -> Result<()> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => Ok(()),
        Err(error) => invalid(format!("{what} is no JSON: {error}")),
    }
}

/// Takes what is not larger than a limit.
pub(crate) fn size(what: &str, bytes: usize, limit: usize) -> Result<()> {
    if bytes > limit {
        return invalid(format!("{what}: {bytes} bytes, the limit is {limit}"));
    }
    Ok(())
}

/// Takes one record.
pub(crate) fn record(record: &NewRecord) -> Result<()> {
    id("record", &record.id)?;
    record.parent.as_ref().map_or(Ok(()), |parent| id("record", parent))?;
    record.run.as_ref().map_or(Ok(()), |run| id("run", run))?;
    name("kind", &record.kind)?;
    size("a record", record.body.len(), limits::RECORD_BYTES)?;
    json("the body of a record", &record.body)
}

/// Takes an event out of a file.
pub(crate) fn raw_event(run: &str, event: &RawEvent) -> Result<()> {
    if event.seq == 0 || event.seq > limits::RUN_EVENTS {
        return invalid(format!("run `{run}`: {} is no place in a log", event.seq));
    }
    size("an event", event.body.len(), limits::EVENT_BYTES)?;
    json("an event", &event.body)
}

/// One more has to fit behind every number.
fn numbers<const N: usize>(given: [(&str, u64); N]) -> Result<()> {
    match given.iter().find(|(_, number)| *number > 1 << 53) {
        Some((what, number)) => invalid(format!("{what}: {number} is too high")),
        None => Ok(()),
    }
}

fn names<T: AsRef<str>, const N: usize>(given: [(&str, &Option<T>); N]) -> Result<()> {
    given.iter().try_for_each(|(what, text)| match text {
        Some(text) => name(what, text.as_ref()),
        None => Ok(()),
    })
}

fn text(what: &str, text: &str, limit: usize) -> Result<()> {
    size(what, text.len(), limit)?;
    // One of the backends cannot keep it.
    if text.contains('\0') {
        return invalid(format!("{what} holds U+0000"));
    }
    Ok(())
}

fn invalid<T>(why: String) -> Result<T> {
    Err(StoreError::Invalid(why))
}
