//! The conversation in the store: a tree of records whose newest record is the tip. The path from
//! a root to the tip is the conversation. Records are never removed from the tree.

use std::{collections::HashMap, sync::Arc};

use foxwedge_core::Format;
use foxwedge_store::{NewRecord, Store, StoredRecord, limits};
use serde_json::{Value, json};

use super::{
    LoopError,
    message::{BASE, ConversationMessage, REWIND},
};
use foxwedge_store::retry_unavailable;

/// Records per read.
const RECORD_PAGE: usize = 1_000;
/// Maximum bytes of records per write.
const MAX_BATCH_BYTES: usize = 32 << 20;
/// Estimated bytes of a record besides its body.
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

/// Why a conversation is rewritten.
pub(super) enum RewriteReason<'a> {
    /// It was repaired.
    Repaired,
    /// It was compacted: tokens before and after.
    Compacted(u64, u64),
    /// It is a copy of another session's conversation.
    Forked(&'a str),
}

impl<S: Store> ConversationLog<S> {
    /// A log that is not loaded yet.
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

    /// Reloads the conversation if another process has added to it.
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

    /// Appends messages after the tip.
    pub(super) async fn append(
        &mut self,
        messages: Vec<ConversationMessage>,
    ) -> Result<(), LoopError> {
        let records = chain_records(&messages, self.tip.as_deref());
        self.write(records).await?;
        self.messages.extend(messages);
        Ok(())
    }

    /// Notes messages that were appended to the store by another write.
    pub(super) fn note_appended(&mut self, messages: Vec<ConversationMessage>) {
        self.records += messages.len() as u64;
        self.tip = messages.last().map(|message| message.id.to_string()).or(self.tip.take());
        self.messages.extend(messages);
    }

    /// Moves the tip back, so that the first `keep` messages stay.
    pub(super) async fn rewind(&mut self, keep: usize) -> Result<(), LoopError> {
        let target = keep.checked_sub(1).and_then(|index| self.messages.get(index));
        let record = NewRecord {
            id: format!("rewind-{}", self.records + 1),
            parent: target.map(|message| message.id.to_string()),
            run: None,
            kind: REWIND.to_owned(),
            body: json!({ "from": self.tip }).to_string(),
        };
        self.write(vec![record]).await?;
        self.messages.truncate(keep);
        Ok(())
    }

    /// Replaces the conversation with these messages. The old one stays in the tree, and stays
    /// active until the new one is complete. `mark` is part of the record ids; `run` is the run that
    /// they belong to.
    pub(super) async fn rewrite(
        &mut self,
        reason: RewriteReason<'_>,
        messages: Vec<(Format, String)>,
        mark: &str,
        run: Option<&Arc<str>>,
    ) -> Result<(), LoopError> {
        let (reason_name, details) = match reason {
            RewriteReason::Repaired => ("repair", json!({})),
            RewriteReason::Compacted(before, after) => {
                ("compaction", json!({ "before": before, "after": after }))
            }
            RewriteReason::Forked(from) => ("fork", json!({ "session": from })),
        };
        let from = self.tip.clone();
        let unique = self.records + 1;
        let id = |index: usize| format!("{mark}_{unique}_{index}");
        let last = id(messages.len());
        let body = json!({ "why": reason_name, "last": last, "from": from, "about": details });
        let base = NewRecord {
            id: id(0),
            parent: None,
            run: run.map(|run| run.to_string()),
            kind: BASE.to_owned(),
            body: body.to_string(),
        };
        let rewritten: Vec<ConversationMessage> = messages
            .into_iter()
            .enumerate()
            .map(|(index, (wire, body))| ConversationMessage {
                id: id(index + 1).into(),
                wire,
                body: body.into(),
                run: run.cloned(),
            })
            .collect();
        let mut records = vec![base];
        records.extend(chain_records(&rewritten, Some(&id(0))));
        self.write(records).await?;
        self.messages = rewritten;
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

/// Records of messages, each the parent of the next.
pub(super) fn chain_records(
    messages: &[ConversationMessage],
    parent: Option<&str>,
) -> Vec<NewRecord> {
    let parents = std::iter::once(parent).chain(messages.iter().map(|message| Some(&*message.id)));
    messages.iter().zip(parents).map(|(message, parent)| message.to_record(parent)).collect()
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

/// The messages on the path from a root to the tip. An incomplete rewrite comes from a process that
/// died while writing; the old conversation is then used.
fn active_path(all: &[StoredRecord], tip: Option<&str>) -> Vec<ConversationMessage> {
    let indexes: HashMap<&str, usize> =
        all.iter().enumerate().map(|(index, record)| (record.record.id.as_str(), index)).collect();
    let mut next = tip.and_then(|tip| indexes.get(tip).copied());
    loop {
        let (messages, base) = walk_to_base(all, &indexes, next);
        let Some((last, from)) = base.and_then(|base| rewrite_targets(&base.record.body)) else {
            return messages;
        };
        if indexes.contains_key(last.as_str()) {
            return messages;
        }
        let from = from.and_then(|from| indexes.get(from.as_str()).copied());
        // A replaced conversation precedes its rewrite.
        next = from.filter(|from| next.is_some_and(|next| *from < next));
    }
}

/// The messages up to a record, and the base record that they follow.
fn walk_to_base<'r>(
    all: &'r [StoredRecord],
    indexes: &HashMap<&str, usize>,
    mut next: Option<usize>,
) -> (Vec<ConversationMessage>, Option<&'r StoredRecord>) {
    let (mut messages, mut base) = (Vec::new(), None);
    while let Some((index, record)) = next.and_then(|index| Some((index, all.get(index)?))) {
        messages.extend(ConversationMessage::from_record(record));
        if record.record.kind == BASE {
            base = Some(record);
            break;
        }
        let parent = record.record.parent.as_deref().and_then(|it| indexes.get(it).copied());
        // A parent precedes its child; ignore any other link, so that cycles end.
        next = parent.filter(|parent| *parent < index);
    }
    messages.reverse();
    (messages, base)
}

/// The last message of a rewrite, and the tip that it replaces.
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

    fn active_ids(records: &[Row]) -> String {
        let all: Vec<StoredRecord> = (1u64..)
            .zip(records)
            .map(|(ordinal, (id, parent, kind, body))| record(ordinal, id, parent, kind, body))
            .collect();
        let tip = all.last().map(|record| record.record.id.clone());
        let ids: Vec<String> = active_path(&all, tip.as_deref())
            .iter()
            .map(|message| message.id.to_string())
            .collect();
        ids.join(" ")
    }

    #[test]
    fn conversation_is_the_path_to_the_newest_record() {
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
            assert_eq!(active_ids(records), expected, "{records:?}");
        }
    }

    #[test]
    fn cyclic_parent_links_end() {
        let table = [("a", "b", "message", ""), ("b", "a", "message", "")];
        assert_eq!(active_ids(&table), "a b");
    }
}
