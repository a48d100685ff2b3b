//! A repair changes only records that it has to: with the old record put back, something is wrong
//! again, or the conversation is another one.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{CheckOptions, check};
use foxwedge_dialect::{
    outline_options,
    session::{SessionAgent, read, readable_text},
};
use serde_json::Value;

use super::judge::{Verdict, breach, shown_bytes};
use crate::plain_walk;

/// Records that are put back, at most.
const TRIED: usize = 4;

/// What a file means: how much is wrong with it, what it tells, how far a plain walk over parents
/// gets, and whether parents lead in a circle.
#[derive(PartialEq)]
struct Meaning {
    findings: usize,
    history: String,
    walked: Option<usize>,
    circles: bool,
}

fn meaning(
    agent: SessionAgent,
    question: &CheckOptions,
    spares: bool,
    bytes: &[u8],
) -> Option<Meaning> {
    let text = readable_text(bytes).ok()?;
    let mut session = read(&text, agent, outline_options(question.profile)).ok()?;
    let mut question = *question;
    if spares {
        session.spare_tolerated(&mut question, true);
    }
    let findings = check(session.draft(), &question).counts.total();
    let walked = plain_walk(agent.name(), bytes).map(|walk| walk.len());
    Some(Meaning { findings, history: session.history(), walked, circles: circles(bytes) })
}

/// Whether a record hangs on itself, however far away.
fn circles(bytes: &[u8]) -> bool {
    let record = |line: &&[u8]| -> Option<(String, String)> {
        let record: Value = serde_json::from_slice(line).ok()?;
        Some((id(line)?, record["parentUuid"].as_str()?.to_owned()))
    };
    let parents: HashMap<String, String> = lines(bytes).iter().filter_map(record).collect();
    parents.keys().any(|first| {
        let mut at = parents.get(first);
        let mut steps = 0..parents.len();
        while let Some(here) = at.filter(|here| *here != first && steps.next().is_some()) {
            at = parents.get(here);
        }
        at == Some(first)
    })
}

/// What the edits name.
pub(super) struct Named<'e> {
    /// Records whose links are mended.
    pub(super) links: HashSet<&'e str>,
    /// Records that others were put behind.
    pub(super) behind: HashSet<&'e str>,
    /// Calls that something was done to, or to their results.
    pub(super) pairs: HashSet<&'e str>,
}

/// Puts changed records back, one at a time, beginning with one that `seed` chooses. A repair that
/// `relinks` puts turns in one line, with what is no message behind them: in a turn in which
/// something is new, says something else or was linked anew by an edit, links follow that line.
/// Records whose links are `named` by an edit are left out.
///
/// # Errors
/// A record that did not have to change.
pub(super) fn judge(
    agent: SessionAgent,
    question: &CheckOptions,
    spares: bool,
    (before, fixed): (&[u8], &[u8]),
    relinks: bool,
    named: &Named<'_>,
    seed: u64,
) -> Verdict {
    let (old, new) = (lines(before), lines(fixed));
    let known: HashSet<&[u8]> = old.iter().copied().collect();
    let stays: HashSet<&[u8]> = new.iter().copied().collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (at, line) in new.iter().enumerate().filter(|(_, line)| !known.contains(*line)) {
        places.extend(id(line).map(|id| (id, at)));
    }
    // A walk over parents gets no further than records that can be parsed.
    let parses = |line: &&[u8]| serde_json::from_slice::<Value>(line).is_ok();
    if !new.iter().filter(|line| !line.is_empty()).all(parses) {
        return Ok(());
    }
    let links = Links::new(&old, &new);
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
    let Some(after) = meaning(agent, question, spares, fixed) else { return Ok(()) };
    let first = usize::try_from(seed).unwrap_or(0) % changed.len();
    for (line, at) in changed.iter().cycle().skip(first).take(changed.len().min(TRIED)) {
        let mut put_back = new.clone();
        put_back[*at] = line;
        let other = meaning(agent, question, spares, &put_back.join(&b'\n'));
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
    bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect()
}

/// What a record is called.
fn id(line: &[u8]) -> Option<String> {
    let record: Value = serde_json::from_slice(line).ok()?;
    let named = ["uuid", "id"].into_iter().find_map(|key| record[key].as_str().map(str::to_owned));
    named.filter(|_| record.is_object())
}

/// Which links follow from other changes.
struct Links {
    /// The ids before, each with how often it is used.
    old: HashMap<String, usize>,
    /// Records that say the same before and after, by their ids.
    same: HashSet<String>,
    new: HashSet<String>,
    /// For each record after the repair what it hangs on, and whether the model speaks.
    parents: HashMap<String, (Option<String>, bool)>,
    /// What hung on each record before, also by way of records that are no messages.
    hung: HashMap<String, Vec<String>>,
    /// The records of each id, before and after.
    texts: HashMap<String, Vec<String>>,
}

impl Links {
    fn new(old: &[&[u8]], new: &[&[u8]]) -> Links {
        let said = |line: &&[u8]| -> Option<(String, Value)> { Some((id(line)?, unlinked(line))) };
        let mut ids: HashMap<String, usize> = HashMap::new();
        let mut texts: HashMap<String, Value> = HashMap::new();
        for (id, text) in old.iter().filter_map(said) {
            *ids.entry(id.clone()).or_default() += 1;
            texts.insert(id, text);
        }
        let lines = new;
        let new: Vec<(String, Value)> = new.iter().filter_map(said).collect();
        let same = new.iter().filter(|(id, text)| texts.get(id) == Some(text));
        let same = same.map(|(id, _)| id.clone()).collect();
        let parents = lines.iter().filter_map(|line| {
            let record: Value = serde_json::from_slice(line).ok()?;
            let speaks = record["message"]["role"] == "assistant" || record["role"] == "assistant";
            let speaks = speaks && record["isApiErrorMessage"] != true;
            Some((id(line)?, (record["parentUuid"].as_str().map(str::to_owned), speaks)))
        });
        let parents = parents.collect();
        let (mut hung, mut told): (HashMap<_, Vec<_>>, HashMap<_, Vec<_>>) = Default::default();
        // Records that are no messages, with what they hung on.
        let mut silent: HashMap<String, String> = HashMap::new();
        let mut linked: Vec<(String, String)> = Vec::new();
        for line in old {
            let record: Value = serde_json::from_slice(line).unwrap_or_default();
            if let (Some(id), Some(parent)) = (id(line), record["parentUuid"].as_str()) {
                if record.get("message").is_none() && record.get("role").is_none() {
                    silent.insert(id.clone(), parent.to_owned());
                }
                linked.push((id, parent.to_owned()));
            }
        }
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
                told.entry(id).or_default().push(text);
            }
        }
        let new = new.into_iter().map(|(id, _)| id).collect();
        Links { old: ids, same, new, parents, hung, texts: told }
    }

    /// Whether something of a record's turn is new, says something else, or is named; or something
    /// that hung on it.
    fn touched(&self, line: &[u8], named: &Named<'_>) -> bool {
        let of_edit =
            |text: &String| named.pairs.iter().any(|id| text.contains(&format!("\"{id}\"")));
        let disturbed = |id: &String| {
            !self.same.contains(id)
                || named.links.contains(id.as_str())
                || named.behind.contains(id.as_str())
                || self.texts.get(id).is_some_and(|texts| texts.iter().any(of_edit))
        };
        let mut at = id(line);
        let own = at.clone();
        let mut spoke = false;
        for _ in 0..=self.parents.len() {
            let Some(here) = at else { return false };
            let Some((parent, speaks)) = self.parents.get(&here) else { return false };
            if spoke && !speaks {
                return false;
            }
            // A reply hangs on the turn before it.
            spoke |= *speaks && Some(&here) != own.as_ref();
            let mut hung = self.hung.get(&here).into_iter().flatten();
            if disturbed(&here) || hung.any(disturbed) {
                return true;
            }
            at = parent.clone();
        }
        false
    }

    /// Whether a record only hangs elsewhere because its parent is gone, has another id, or is new;
    /// or if it names what a compaction carried over.
    fn follow(&self, old: &[u8], new: &[u8], relinks: bool) -> bool {
        if id(old).is_some_and(|id| self.old.get(&id).is_some_and(|times| *times > 1)) {
            return true; // Nobody can say which of them it was.
        }
        let parent = |line: &[u8]| -> Option<String> {
            let record: Value = serde_json::from_slice(line).ok()?;
            record["parentUuid"].as_str().map(str::to_owned)
        };
        let (from, to) = (parent(old), parent(new));
        let gone = from.is_some_and(|id| {
            !self.new.contains(&id) || self.old.get(&id).is_some_and(|times| *times > 1)
        });
        let made = to.is_some_and(|id| !self.same.contains(&id));
        let (old, new) = (unlinked(old), unlinked(new));
        // Nor is what the agent shows and does not send.
        let shown = old.get("isApiErrorMessage").is_some_and(|it| *it == true);
        let silent = shown || old.get("message").is_none() && old.get("role").is_none();
        let aside = relinks && silent;
        new == old && (gone || made || aside) || old.get("compactMetadata").is_some()
    }
}

/// A record without its link.
fn unlinked(line: &[u8]) -> Value {
    let mut record: Value = serde_json::from_slice(line).unwrap_or_default();
    record.as_object_mut().map(|fields| fields.remove("parentUuid"));
    record
}
