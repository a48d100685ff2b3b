//! Entries that nodes share, within a transaction.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::SqliteResult,
    row::{signed, unsigned},
};
use crate::{EntryHold, EntryHolder, EntryTake, EntryWrite, SharedEntry, model::NODE_PREFIX};

/// Reads entries, those that they link to, and held ones that link to them.
pub(super) fn entries(
    connection: &Connection,
    keys: &[String],
    now: u64,
) -> SqliteResult<Vec<SharedEntry>> {
    // First: what is released meanwhile is then read as it was left.
    let mut entries = held_links(connection, keys, now)?;
    for key in keys {
        let Some(entry) = find(connection, key, now)? else { continue };
        let linked = entry.link.as_deref().map(|link| find(connection, link, now)).transpose()?;
        for entry in [Some(entry), linked.flatten()].into_iter().flatten() {
            if !entries.iter().any(|known| known.key == entry.key) {
                entries.push(entry);
            }
        }
    }
    Ok(entries)
}

/// Takes an entry. Returns its new version.
pub(super) fn hold(
    connection: &Connection,
    take: &EntryTake,
    now: u64,
) -> SqliteResult<Option<u64>> {
    let EntryTake { hold, ttl, link, writes, replaced } = take;
    let found = find(connection, &hold.key, now)?;
    let is_held = found.as_ref().and_then(|entry| entry.holder.as_ref());
    if found.as_ref().map_or(0, |entry| entry.version) != hold.version
        || is_held.is_some_and(|holder| holder.is_alive)
    {
        return Ok(None);
    }
    if let Some(replaced) = replaced
        && find(connection, &replaced.key, now)?.map_or(0, |it| it.version) != replaced.version
    {
        return Ok(None);
    }
    let expires = signed(now.saturating_add(*ttl));
    let version: i64 = connection
        .prepare_cached(
            "INSERT INTO shared (key, value, link, version, holder, expires)
             VALUES (?1, x'', ?5, 1, ?2, ?3)
             ON CONFLICT (key) DO UPDATE SET
                 value = iif(expires > ?4, value, x''), link = ?5,
                 version = version + 1, holder = ?2, expires = max(expires, ?3)
             RETURNING version",
        )?
        .query_row(params![hold.key, hold.node, expires, signed(now), link], |row| row.get(0))?;
    write_all(connection, writes, now)?;
    Ok(Some(unsigned(version)))
}

/// Writes entries, and releases the one that is held. Returns whether it was held.
pub(super) fn write(
    connection: &Connection,
    hold: Option<&EntryHold>,
    writes: &[EntryWrite],
    now: u64,
) -> SqliteResult<bool> {
    if let Some(hold) = hold {
        let released = connection
            .prepare_cached(
                "UPDATE shared SET holder = NULL, version = version + 1
                 WHERE key = ?1 AND holder = ?2 AND version = ?3",
            )?
            .execute(params![hold.key, hold.node, signed(hold.version)])?;
        if released == 0 {
            return Ok(false);
        }
    }
    write_all(connection, writes, now)?;
    Ok(true)
}

/// Deletes expired entries.
pub(super) fn prune(connection: &Connection, now: u64) -> SqliteResult<()> {
    connection.prepare_cached("DELETE FROM shared WHERE expires <= ?1")?.execute([signed(now)])?;
    Ok(())
}

/// The held entries that link to one of these keys: for each key, one of a node that is alive, and one
/// of a node that is not.
fn held_links(
    connection: &Connection,
    keys: &[String],
    now: u64,
) -> SqliteResult<Vec<SharedEntry>> {
    let mut statement = connection.prepare_cached(
        "SELECT key FROM shared WHERE holder IS NOT NULL AND link IS NOT NULL AND expires > ?1",
    )?;
    let held = statement.query_map([signed(now)], |row| row.get::<_, String>(0))?;
    let (keys, mut seen) = (HashSet::<&String>::from_iter(keys), HashSet::new());
    let mut entries = Vec::new();
    for key in held {
        let Some(entry) = find(connection, &key?, now)? else { continue };
        let is_alive = entry.holder.as_ref().is_some_and(|holder| holder.is_alive);
        let link = entry.link.clone().filter(|link| keys.contains(link));
        if link.is_some_and(|link| seen.insert((link, is_alive))) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

fn find(connection: &Connection, key: &str, now: u64) -> SqliteResult<Option<SharedEntry>> {
    Ok(connection
        .prepare_cached(
            "SELECT key, value, link, version, holder, EXISTS (
                 SELECT 1 FROM shared n WHERE n.key = ?3 || s.holder AND n.expires > ?2)
             FROM shared s WHERE key = ?1 AND expires > ?2",
        )?
        .query_row(params![key, signed(now), NODE_PREFIX], |row| {
            let (holder, is_alive): (Option<String>, bool) = (row.get(4)?, row.get(5)?);
            Ok(SharedEntry {
                key: row.get(0)?,
                value: row.get(1)?,
                link: row.get(2)?,
                version: unsigned(row.get(3)?),
                holder: holder.map(|node| EntryHolder { node, is_alive }),
            })
        })
        .optional()?)
}

fn write_all(connection: &Connection, writes: &[EntryWrite], now: u64) -> SqliteResult<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO shared (key, value, link, version, expires) VALUES (?1, ?2, ?3, 1, ?4)
         ON CONFLICT (key) DO UPDATE SET
             value = ?2, link = ?3, version = version + 1, expires = ?4",
    )?;
    for write in writes {
        // An entry without time to live has expired already.
        let expires = if write.ttl == 0 { 0 } else { now.saturating_add(write.ttl) };
        statement.execute(params![write.key, write.value, write.link, signed(expires)])?;
    }
    Ok(())
}
