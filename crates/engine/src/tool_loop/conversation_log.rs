//! The conversation in the store: a tree of records of which the newest is the tip. What leads from
//! the tip to a root is the conversation; nothing is ever taken out of the tree.

use std::{collections::HashMap, sync::Arc};

use foxwedge_core::Format;
use foxwedge_store::{NewRecord, Store, StoredRecord, limits};
use serde_json::{Value, json};

use super::{
    LoopError,
    message::{BASE, ConversationMessage, REWIND},
};
use crate::record::retry_unavailable;

/// Records that are read at once.
const RECORD_PAGE: usize = 1_000;
/// Bytes of records that are written at once.
const MAX_BATCH_BYTES: usize = 32 << 20;
/// Bytes of a record besides its body.
const RECORD_OVERHEAD: usize = 512;

/// A session's conversation.
pub(super) struct ConversationLog<S> {
    pub(super) store: Arc<S>,
    pub(super) session: Arc<str>,
    /// The conversation, in order.
    pub(super) messages: Vec<ConversationMessage>,
    /// The newest record.
    tip: Option<String>,
    /// How many records the session has.
    records: u64,
}

/// Why a conversation begins anew.
pub(super) enum RewriteReason<'a> {
    /// It was repaired.
    Repaired,
    /// It was made shorter: tokens before and after.
    Compacted(u64, u64),
    /// It is a copy of another session's.
    Forked(&'a str),
}

impl<S: Store> ConversationLog<S> {
    /// A conversation of which nothing is known yet.
    pub(super) fn new(store: Arc<S>, session: &str) -> ConversationLog<S> {
        ConversationLog {
            store,
            session: session.into(),
            messages: Vec::new(),
            tip: None,
            records: 0,
        }
    }

    /// Reads the conversation.
    pub(super) async fn load(&mut self) -> Result<(), LoopError> {
        let mut all: Vec<StoredRecord> = Vec::new();
        loop {
            let after = all.last().map_or(0, |record| record.ordinal);
            let page = self.store.records(&self.session, after, RECORD_PAGE).await?;
            let Some(last) = page.last() else { break };
            self.records = last.ordinal;
            all.extend(page);
        }
        self.tip = all.last().map(|record| record.record.id.clone());
        self.messages = active_path(&all, self.tip.as_deref());
        Ok(())
    }

    /// Reads it again if somebody else has added to it.
    pub(super) async fn refresh(&mut self) -> Result<(), LoopError> {
        let row = self.store.session(&self.session).await?;
        if row.is_some_and(|row| row.records == self.records) {
            return Ok(());
        }
        self.load().await
    }

    /// The newest record.
    pub(super) fn tip(&self) -> Option<&str> {
        self.tip.as_deref()
    }

    /// Adds messages behind the tip.
    pub(super) async fn append(
        &mut self,
        entries: Vec<ConversationMessage>,
    ) -> Result<(), LoopError> {
        let records = chain_records(&entries, self.tip.as_deref());
        self.write(records).await?;
        self.messages.extend(entries);
        Ok(())
    }

    /// Messages were added behind the tip, together with something else.
    pub(super) fn note_appended(&mut self, entries: Vec<ConversationMessage>) {
        self.records += entries.len() as u64;
        self.tip = entries.last().map(|entry| entry.id.to_string()).or(self.tip.take());
        self.messages.extend(entries);
    }

    /// Moves the tip back, so that so many messages stay.
    pub(super) async fn rewind(&mut self, stay: usize) -> Result<(), LoopError> {
        let target = stay.checked_sub(1).and_then(|place| self.messages.get(place));
        let record = NewRecord {
            id: format!("rewind-{}", self.records + 1),
            parent: target.map(|entry| entry.id.to_string()),
            run: None,
            kind: REWIND.to_owned(),
            body: json!({ "from": self.tip }).to_string(),
        };
        self.write(vec![record]).await?;
        self.messages.truncate(stay);
        Ok(())
    }

    /// Begins the conversation anew with these messages. The old one stays in the tree, and is what
    /// counts until all of the new one is there. `mark` goes into the ids, `run` is what they belong
    /// to.
    pub(super) async fn rewrite(
        &mut self,
        why: RewriteReason<'_>,
        messages: Vec<(Format, String)>,
        mark: &str,
        run: Option<&Arc<str>>,
    ) -> Result<(), LoopError> {
        let (word, more) = match why {
            RewriteReason::Repaired => ("repair", json!({})),
            RewriteReason::Compacted(before, after) => {
                ("compaction", json!({ "before": before, "after": after }))
            }
            RewriteReason::Forked(from) => ("fork", json!({ "session": from })),
        };
        let from = self.tip.clone();
        let unique = self.records + 1;
        let id = |place: usize| format!("{mark}_{unique}_{place}");
        let last = id(messages.len());
        let body = json!({ "why": word, "last": last, "from": from, "about": more });
        let base = NewRecord {
            id: id(0),
            parent: None,
            run: run.map(|run| run.to_string()),
            kind: BASE.to_owned(),
            body: body.to_string(),
        };
        let entries: Vec<ConversationMessage> = messages
            .into_iter()
            .enumerate()
            .map(|(place, (wire, body))| ConversationMessage {
                id: id(place + 1).into(),
                wire,
                body: body.into(),
                run: run.cloned(),
            })
            .collect();
        let mut records = vec![base];
        records.extend(chain_records(&entries, Some(&id(0))));
        self.write(records).await?;
        self.messages = entries;
        Ok(())
    }

    async fn write(&mut self, records: Vec<NewRecord>) -> Result<(), LoopError> {
        if let Some(large) = records.iter().find(|it| it.body.len() > limits::RECORD_BYTES) {
            let (bytes, most) = (large.body.len(), limits::RECORD_BYTES);
            return Err(LoopError::TooLarge { what: "a message", bytes, most });
        }
        for batch in batches(records) {
            let count = batch.len() as u64;
            let tip = batch.last().map(|record| record.id.clone());
            retry_unavailable(|| self.store.append_records(&self.session, batch.clone())).await?;
            self.records += count;
            self.tip = tip.or(self.tip.take());
        }
        Ok(())
    }
}

/// Records one behind the other.
pub(super) fn chain_records(
    entries: &[ConversationMessage],
    parent: Option<&str>,
) -> Vec<NewRecord> {
    let parents = std::iter::once(parent).chain(entries.iter().map(|entry| Some(&*entry.id)));
    entries.iter().zip(parents).map(|(entry, parent)| entry.to_record(parent)).collect()
}

fn batches(records: Vec<NewRecord>) -> Vec<Vec<NewRecord>> {
    let mut batches: Vec<Vec<NewRecord>> = Vec::new();
    let mut bytes = 0;
    for record in records {
        let size = record.body.len() + RECORD_OVERHEAD;
        let is_full = |batch: &Vec<NewRecord>| batch.len() == limits::APPEND_RECORDS;
        if bytes + size > MAX_BATCH_BYTES || batches.last().is_none_or(is_full) {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(batch) = batches.last_mut() {
            batch.push(record);
        }
    }
    batches
}

/// The messages on the way from a root to a record. Where a new beginning is not all there, whoever
/// wrote it died over it, and the old way counts.
fn active_path(all: &[StoredRecord], tip: Option<&str>) -> Vec<ConversationMessage> {
    let places: HashMap<&str, usize> =
        all.iter().enumerate().map(|(place, record)| (record.record.id.as_str(), place)).collect();
    let mut next = tip.and_then(|tip| places.get(tip).copied());
    loop {
        let (entries, base) = walk_to_base(all, &places, next);
        let Some((last, from)) = base.and_then(|base| rewrite_targets(&base.record.body)) else {
            return entries;
        };
        if places.contains_key(last.as_str()) {
            return entries;
        }
        let from = from.and_then(|from| places.get(from.as_str()).copied());
        // What it takes the place of stands before it.
        next = from.filter(|from| next.is_some_and(|next| *from < next));
    }
}

/// The messages up to a record, and the beginning they stand behind.
fn walk_to_base<'r>(
    all: &'r [StoredRecord],
    places: &HashMap<&str, usize>,
    mut next: Option<usize>,
) -> (Vec<ConversationMessage>, Option<&'r StoredRecord>) {
    let (mut entries, mut base) = (Vec::new(), None);
    while let Some((place, record)) = next.and_then(|place| Some((place, all.get(place)?))) {
        entries.extend(ConversationMessage::from_record(record));
        if record.record.kind == BASE {
            base = Some(record);
            break;
        }
        let parent = record.record.parent.as_deref().and_then(|it| places.get(it).copied());
        // A parent stands before its child; whatever else a file says leads nowhere.
        next = parent.filter(|parent| *parent < place);
    }
    entries.reverse();
    (entries, base)
}

/// The last message that a new beginning has, and what it takes the place of.
fn rewrite_targets(body: &str) -> Option<(String, Option<String>)> {
    let body: Value = serde_json::from_str(body).ok()?;
    let text = |key| body.get(key).and_then(Value::as_str).map(str::to_owned);
    Some((text("last")?, text("from")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(ordinal: u64, id: &str, parent: &str, kind: &str, body: &str) -> StoredRecord {
        let parent = (!parent.is_empty()).then(|| parent.to_owned());
        let (id, kind, body) = (id.to_owned(), kind.to_owned(), body.to_owned());
        StoredRecord { ordinal, at: 0, record: NewRecord { id, parent, run: None, kind, body } }
    }

    /// The id, the parent, the kind and the body of a record.
    type Row = (&'static str, &'static str, &'static str, &'static str);

    fn told(records: &[Row]) -> String {
        let all: Vec<StoredRecord> = (1u64..)
            .zip(records)
            .map(|(ordinal, (id, parent, kind, body))| record(ordinal, id, parent, kind, body))
            .collect();
        let tip = all.last().map(|record| record.record.id.clone());
        let ids: Vec<String> =
            active_path(&all, tip.as_deref()).iter().map(|entry| entry.id.to_string()).collect();
        ids.join(" ")
    }

    #[test]
    fn the_conversation_is_the_way_to_the_newest_record() {
        let m = "message";
        let base = r#"{"last":"y","from":"b"}"#;
        let table: [(&[Row], &str); 7] = [
            (&[], ""),
            (&[("a", "", m, ""), ("b", "a", "message/gemini", "")], "a b"),
            (&[("a", "", m, ""), ("b", "a", m, ""), ("r", "a", REWIND, "")], "a"),
            (
                &[("a", "", m, ""), ("b", "a", m, ""), ("r", "a", REWIND, ""), ("c", "r", m, "")],
                "a c",
            ),
            (
                &[("a", "", m, ""), ("b", "a", m, ""), ("n", "", BASE, base), ("x", "n", m, "")],
                "a b",
            ),
            (
                &[
                    ("a", "", m, ""),
                    ("b", "a", m, ""),
                    ("n", "", BASE, base),
                    ("x", "n", m, ""),
                    ("y", "x", m, ""),
                    ("z", "y", m, ""),
                ],
                "x y z",
            ),
            (&[("a", "", m, ""), ("r", "", REWIND, "")], ""),
        ];
        for (records, expected) in table {
            assert_eq!(told(records), expected, "{records:?}");
        }
    }

    #[test]
    fn links_that_lead_in_a_circle_end() {
        let table = [("a", "b", "message", ""), ("b", "a", "message", "")];
        assert_eq!(told(&table), "a b");
    }
}
