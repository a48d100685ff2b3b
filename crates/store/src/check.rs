//! Checks that both backends make before they write: ids that are not allowed, texts that are not
//! JSON, and values above the [`limits`](crate::limits).

use serde_json::value::RawValue;

use crate::{
    AgentSnapshot, EntryHold, EntryTake, EntryWrite, NewRecord, NewRun, NewSession, RawEvent,
    RestoreItem, Result, SessionRow, StoreError, limits,
};

/// Accepts an id of `[A-Za-z0-9_-]{1,128}`, which is safe in paths and URLs.
pub(crate) fn id(what: &str, id: &str) -> Result<()> {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if id.is_empty() || id.len() > limits::ID_BYTES || !id.bytes().all(safe) {
        return invalid(format!(
            "invalid {what} id {id:.200?}: an id has 1 to 128 characters of A-Z a-z 0-9 _ -"
        ));
    }
    Ok(())
}

/// Accepts an owner, a key or a kind.
pub(crate) fn name(what: &str, name: &str) -> Result<()> {
    text(what, name, limits::NAME_BYTES)
}

/// Accepts a session.
pub(crate) fn session(new: &NewSession) -> Result<()> {
    id("session", &new.id)?;
    name("owner", &new.owner)?;
    text("title", &new.title, limits::TITLE_BYTES)?;
    let Some(meta) = &new.meta else { return Ok(()) };
    size("meta", meta.len(), limits::META_BYTES)?;
    json("the meta of a session", meta)?;
    // The text is valid JSON, so its first character determines its type.
    if !meta.trim_start().starts_with('{') {
        return invalid("the meta of a session must be a JSON object".to_owned());
    }
    Ok(())
}

/// Accepts a run.
pub(crate) fn run(new: &NewRun) -> Result<()> {
    id("run", &new.id)?;
    name("owner", &new.owner)?;
    names([("key", &new.key)])?;
    names([("agent", &new.start.agent), ("model", &new.start.model)])
}

/// Accepts records, one by one and in total. The backend checks their parents.
pub(crate) fn records(records: &[NewRecord]) -> Result<()> {
    if records.len() > limits::APPEND_RECORDS {
        return invalid(format!("more than {} records at once", limits::APPEND_RECORDS));
    }
    let all = records.iter().map(|record| record.body.len()).sum();
    size("all records", all, limits::APPEND_BYTES)?;
    records.iter().try_for_each(record)
}

/// Accepts a snapshot.
pub(crate) fn snapshot(snapshot: &AgentSnapshot) -> Result<()> {
    id("snapshot", &snapshot.name)?;
    size("a snapshot", snapshot.body.len(), limits::SNAPSHOT_BYTES)
}

/// Accepts a node that takes or releases an entry.
pub(crate) fn entry_hold(hold: &EntryHold) -> Result<()> {
    name("key", &hold.key).and(name("node", &hold.node))
}

/// Accepts an entry that a node takes.
pub(crate) fn entry_take(take: &EntryTake) -> Result<()> {
    entry_hold(&take.hold)?;
    names([("link", &take.link)])?;
    take.replaced.as_ref().map_or(Ok(()), |replaced| name("key", &replaced.key))?;
    entry_writes(&take.writes)
}

/// Accepts writes of entries.
pub(crate) fn entry_writes(writes: &[EntryWrite]) -> Result<()> {
    writes.iter().try_for_each(|write| {
        name("key", &write.key)?;
        names([("link", &write.link)])?;
        size("an entry", write.value.len(), limits::ENTRY_BYTES)
    })
}

/// Accepts an item of an import. A file is trusted no more than a caller.
pub(crate) fn restore_item(item: &RestoreItem) -> Result<()> {
    match item {
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
            size("all records", item.bytes(), limits::APPEND_BYTES)?;
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
            size("all events", item.bytes(), limits::APPEND_BYTES)?;
            events.iter().try_for_each(|event| raw_event(run, event))
        }
        RestoreItem::Left { run } => id("run", run),
        RestoreItem::End { run, at, .. } => id("run", run).and(numbers([("at", *at)])),
    }
}

/// Accepts a text that is JSON as a whole.
pub(crate) fn json(what: &str, text: &str) -> Result<()> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => Ok(()),
        Err(error) => invalid(format!("{what} is not valid JSON: {error}")),
    }
}

/// Accepts a size up to a limit.
pub(crate) fn size(what: &str, bytes: usize, limit: usize) -> Result<()> {
    if bytes > limit {
        return invalid(format!("{what}: {bytes} bytes, the limit is {limit}"));
    }
    Ok(())
}

/// Accepts one record.
pub(crate) fn record(record: &NewRecord) -> Result<()> {
    id("record", &record.id)?;
    record.parent.as_ref().map_or(Ok(()), |parent| id("record", parent))?;
    record.run.as_ref().map_or(Ok(()), |run| id("run", run))?;
    name("kind", &record.kind)?;
    size("a record", record.body.len(), limits::RECORD_BYTES)?;
    json("the body of a record", &record.body)
}

/// Accepts an event from a file.
pub(crate) fn raw_event(run: &str, event: &RawEvent) -> Result<()> {
    if event.seq == 0 || event.seq > limits::RUN_EVENTS {
        return invalid(format!("run `{run}`: {} is not a valid event number", event.seq));
    }
    size("an event", event.body.len(), limits::EVENT_BYTES)?;
    json("an event", &event.body)
}

/// Leaves room above every number, because the store counts on from it.
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
    // PostgreSQL cannot store U+0000 in text.
    if text.contains('\0') {
        return invalid(format!("{what} holds U+0000"));
    }
    Ok(())
}

fn invalid<T>(why: String) -> Result<T> {
    Err(StoreError::Invalid(why))
}
