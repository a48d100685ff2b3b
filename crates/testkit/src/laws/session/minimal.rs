//! A repair changes only records that it must change. With the old record restored, the check finds
//! something, or the conversation differs.

use std::collections::{BTreeSet, HashMap, HashSet};

use foxwedge_core::{CheckOptions, check};
use foxwedge_formats::outline_options;
use foxwedge_sessions::{SessionAgent, read, readable_text};
use serde_json::Value;

use super::judge::{SessionVerdict, breach, shown_bytes};
use crate::{link_names::parent, plain_walk};

/// Maximum number of records that are restored.
const TRIED: usize = 4;

/// The meaning of a file: the number of findings, the conversation, the length of the path over
/// parents and the messages on it, and the records whose parents form a cycle.
#[derive(PartialEq)]
struct FileMeaning {
    findings: usize,
    history: String,
    walked: Option<(usize, BTreeSet<usize>)>,
    circles: BTreeSet<String>,
}

fn meaning(
    agent: SessionAgent,
    options: &CheckOptions,
    spares: bool,
    bytes: &[u8],
) -> Option<FileMeaning> {
    let text = readable_text(bytes).ok()?;
    let mut session = read(&text, agent, outline_options(options.profile)).ok()?;
    let mut options = *options;
    if spares {
        session.spare_tolerated(&mut options, true);
    }
    let findings = check(session.draft(), &options).counts.total();
    let all = lines(bytes);
    let is_message = |line: &&[u8]| {
        let record: Value = serde_json::from_slice(line).unwrap_or_default();
        ["user", "assistant", "tool_result", "message"].iter().any(|kind| record["type"] == *kind)
    };
    // A path of the same length that misses a message is another one.
    let walked = plain_walk(agent.name(), bytes).map(|walk| {
        let messages = walk.iter().copied().filter(|at| all.get(*at).is_some_and(is_message));
        (walk.len(), messages.collect())
    });
    Some(FileMeaning { findings, history: session.history(), walked, circles: circles(bytes) })
}

/// The records that are their own ancestors. A file may have a cycle elsewhere, which hides nothing.
fn circles(bytes: &[u8]) -> BTreeSet<String> {
    let record = |line: &&[u8]| -> Option<(String, String)> {
        let record: Value = serde_json::from_slice(line).ok()?;
        Some((id(line)?, parent(&record).as_str()?.to_owned()))
    };
    let parents: HashMap<String, String> = lines(bytes).iter().filter_map(record).collect();
    let is_own_ancestor = |first: &&String| {
        let mut at = parents.get(*first);
        let mut steps = 0..parents.len();
        while let Some(here) = at.filter(|here| here != first && steps.next().is_some()) {
            at = parents.get(here);
        }
        at == Some(*first)
    };
    parents.keys().filter(is_own_ancestor).cloned().collect()
}

/// The records and calls that edits name.
pub(super) struct EditedRecords<'e> {
    /// Records whose links are repaired.
    pub(super) links: HashSet<&'e str>,
    /// Records that others were put after.
    pub(super) behind: HashSet<&'e str>,
    /// Calls that were changed, or whose results were.
    pub(super) pairs: HashSet<&'e str>,
}

/// Restores changed records one at a time, beginning with one that `seed` selects. A repair that
/// `relinks` puts turns in one line, and records that are not messages after them: if a record of a
/// turn is new, changed or relinked by an edit, the links of the turn follow that line. Records
/// whose links are in `named` are left out.
///
/// # Errors
/// A record that did not have to change.
pub(super) fn judge(
    agent: SessionAgent,
    options: &CheckOptions,
    spares: bool,
    (before, fixed): (&[u8], &[u8]),
    relinks: bool,
    named: &EditedRecords<'_>,
    seed: u64,
) -> SessionVerdict {
    let (old, new) = (lines(before), lines(fixed));
    let known: HashSet<&[u8]> = old.iter().copied().collect();
    let stays: HashSet<&[u8]> = new.iter().copied().collect();
    // An id that two records have says nothing about which of them changed.
    let mut uses: HashMap<String, usize> = HashMap::new();
    new.iter().filter_map(|line| id(line)).for_each(|id| *uses.entry(id).or_default() += 1);
    let mut places: HashMap<String, usize> = HashMap::new();
    // A record that shared its line with another one got a line of its own, and did not change.
    let text = String::from_utf8_lossy(before);
    let is_changed =
        |line: &[u8]| !known.contains(line) && !text.contains(&*String::from_utf8_lossy(line));
    for (at, line) in new.iter().enumerate().filter(|(_, line)| is_changed(line)) {
        places.extend(id(line).filter(|id| uses[id] == 1).map(|id| (id, at)));
    }
    // A path over parents ends at a record that cannot be parsed.
    let parses = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_ok();
    if !new.iter().filter(|line| !line.is_empty()).all(parses) {
        return Ok(());
    }
    let links = RecordLinkChanges::new(&old, &new);
    let changed: Vec<(&[u8], usize)> = old
        .iter()
        .filter(|line| !stays.contains(*line))
        .filter_map(|line| Some((*line, *places.get(&id(line)?)?)))
        .filter(|(line, at)| !links.follow(line, new[*at], relinks))
        .filter(|(line, _)| !id(line).is_some_and(|id| named.links.contains(id.as_str())))
        .filter(|(line, at)| {
            unlinked(line) != unlinked(new[*at]) || !links.touched(new[*at], named)
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let Some(after) = meaning(agent, options, spares, fixed) else { return Ok(()) };
    let first = usize::try_from(seed).unwrap_or(0) % changed.len();
    for (line, at) in changed.iter().cycle().skip(first).take(changed.len().min(TRIED)) {
        let mut put_back = new.clone();
        put_back[*at] = line;
        let other = meaning(agent, options, spares, &put_back.join(&b'\n'));
        if other.is_some_and(|other| other == after) {
            let (line, fixed) = (shown_bytes(line), shown_bytes(fixed));
            return breach(
                "minimal",
                format!("a record was changed and need not be\n{line}\nafter\n{fixed}"),
            );
        }
    }
    Ok(())
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    // A byte order mark is not part of the text: a repair that writes the file leaves it out.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect()
}

/// The id of a record.
fn id(line: &[u8]) -> Option<String> {
    let record: Value = serde_json::from_slice(line).ok()?;
    let named = ["uuid", "id"].into_iter().find_map(|key| record[key].as_str().map(str::to_owned));
    named.filter(|_| record.is_object())
}

/// Which links follow from other changes.
struct RecordLinkChanges {
    /// The ids before the repair, with their number of uses.
    old: HashMap<String, usize>,
    /// Ids of records with the same content before and after.
    same: HashSet<String>,
    new: HashSet<String>,
    /// For each record after the repair, its parent, whether it is from the model, and whether it
    /// is a message at all.
    parents: HashMap<String, (Option<String>, bool, bool)>,
    /// For each record before the repair, its parent.
    old_parents: HashMap<String, String>,
    /// For each record before the repair, its children, also through records that are not messages.
    hung: HashMap<String, Vec<String>>,
    /// The records of each id, before and after.
    texts: HashMap<String, Vec<String>>,
}

impl RecordLinkChanges {
    fn new(old: &[&[u8]], new: &[&[u8]]) -> RecordLinkChanges {
        let content_of =
            |line: &&[u8]| -> Option<(String, Value)> { Some((id(line)?, unlinked(line))) };
        let mut ids: HashMap<String, usize> = HashMap::new();
        let mut texts: HashMap<String, Value> = HashMap::new();
        for (id, text) in old.iter().filter_map(content_of) {
            *ids.entry(id.clone()).or_default() += 1;
            texts.insert(id, text);
        }
        let lines = new;
        let new: Vec<(String, Value)> = new.iter().filter_map(content_of).collect();
        let same = new.iter().filter(|(id, text)| texts.get(id) == Some(text));
        let same = same.map(|(id, _)| id.clone()).collect();
        let parents = lines.iter().filter_map(|line| {
            let record: Value = serde_json::from_slice(line).ok()?;
            let speaks = ["assistant", "model"]
                .iter()
                .any(|role| record["message"]["role"] == *role || record["role"] == *role);
            let speaks = speaks && record["isApiErrorMessage"] != true;
            let is_message = record.get("message").is_some() || record.get("role").is_some();
            let parent = parent(&record).as_str().map(str::to_owned);
            Some((id(line)?, (parent, speaks, is_message)))
        });
        let parents = parents.collect();
        let (mut hung, mut lines_by_id): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) =
            Default::default();
        // Records that are not messages, with their parents.
        let mut silent: HashMap<String, String> = HashMap::new();
        let mut linked: Vec<(String, String)> = Vec::new();
        for line in old {
            let record: Value = serde_json::from_slice(line).unwrap_or_default();
            if let (Some(id), Some(parent)) = (id(line), parent(&record).as_str()) {
                if record.get("message").is_none() && record.get("role").is_none() {
                    silent.insert(id.clone(), parent.to_owned());
                }
                linked.push((id, parent.to_owned()));
            }
        }
        let old_parents = linked.iter().cloned().collect();
        for (id, parent) in linked {
            let mut parent = Some(&parent);
            for _ in 0..=silent.len() {
                let Some(here) = parent else { break };
                hung.entry(here.clone()).or_default().push(id.clone());
                parent = silent.get(here);
            }
        }
        for line in old.iter().chain(lines) {
            let text = String::from_utf8_lossy(line).into_owned();
            if let Some(id) = id(line) {
                lines_by_id.entry(id).or_default().push(text);
            }
        }
        let new = new.into_iter().map(|(id, _)| id).collect();
        RecordLinkChanges { old: ids, same, new, parents, old_parents, hung, texts: lines_by_id }
    }

    /// Whether a record of this turn, or one of its children, is new, changed, named by an edit, or
    /// followed a record that was removed.
    fn touched(&self, line: &[u8], named: &EditedRecords<'_>) -> bool {
        let of_edit =
            |text: &String| named.pairs.iter().any(|id| text.contains(&format!("\"{id}\"")));
        let removed = |id: &String| self.old.contains_key(id) && !self.new.contains(id);
        let disturbed = |id: &String| {
            !self.same.contains(id)
                || self.old_parents.get(id).is_some_and(removed)
                || named.links.contains(id.as_str())
                || named.behind.contains(id.as_str())
                || self.texts.get(id).is_some_and(|texts| texts.iter().any(of_edit))
        };
        let mut at = id(line);
        let own = at.clone();
        let mut spoke = false;
        for _ in 0..=self.parents.len() {
            let Some(here) = at else { return false };
            let Some((parent, speaks, is_message)) = self.parents.get(&here) else { return false };
            // A record that is not a message may stand between two replies.
            if spoke && !speaks && *is_message {
                return false;
            }
            // The parent of a reply is in the turn before it.
            spoke |= *speaks && Some(&here) != own.as_ref();
            let mut hung = self.hung.get(&here).into_iter().flatten();
            if disturbed(&here) || hung.any(disturbed) {
                return true;
            }
            at = parent.clone();
        }
        false
    }

    /// Whether only the link of a record changed because its parent is gone, has another id, or is
    /// new; or whether it names records that a compaction carried over.
    fn follow(&self, old: &[u8], new: &[u8], relinks: bool) -> bool {
        if id(old).is_some_and(|id| self.old.get(&id).is_some_and(|times| *times > 1)) {
            return true; // The id is ambiguous.
        }
        let parent = |line: &[u8]| -> Option<String> {
            let record: Value = serde_json::from_slice(line).ok()?;
            parent(&record).as_str().map(str::to_owned)
        };
        let (from, to) = (parent(old), parent(new));
        let parent_gone = from.is_some_and(|id| {
            !self.new.contains(&id) || self.old.get(&id).is_some_and(|times| *times > 1)
        });
        let parent_new = to.is_some_and(|id| !self.same.contains(&id));
        let (old, new) = (unlinked(old), unlinked(new));
        // Messages that the agent shows but does not send are not messages either.
        let failed = ["error", "aborted"].iter().any(|end| old["message"]["stopReason"] == *end);
        let is_error = failed || old.get("isApiErrorMessage").is_some_and(|it| *it == true);
        let silent = is_error || old.get("message").is_none() && old.get("role").is_none();
        let aside = relinks && silent;
        new == old && (parent_gone || parent_new || aside) || old.get("compactMetadata").is_some()
    }
}

/// A record without its parent link.
fn unlinked(line: &[u8]) -> Value {
    let mut record: Value = serde_json::from_slice(line).unwrap_or_default();
    for key in ["parentUuid", "parentId"] {
        record.as_object_mut().map(|fields| fields.remove(key));
    }
    record
}
