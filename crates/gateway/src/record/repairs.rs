//! The newest findings and repairs of the guard, in memory, for the console.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use foxwedge_core::Format;
use serde_json::{Value, json};

use super::annotations;
use crate::ordered_id::unix_millis;
use crate::{FindingTally, GuardAction, GuardedRequest, config::GuardMode};
use foxwedge_upstream::{CountedList, RepairChange};

/// The newest repairs. Bounded by number and by bytes.
#[derive(Debug)]
pub struct RepairHistory {
    max_repairs: usize,
    max_bytes: usize,
    state: Mutex<RepairHistoryState>,
}

#[derive(Debug)]
struct RepairHistoryState {
    /// Ordered by number.
    repairs: VecDeque<Arc<RepairRecord>>,
    bytes: usize,
    next: u64,
}

/// The findings of a request and its repair.
#[derive(Clone, Debug)]
pub struct RepairRecord {
    /// The number. Later repairs have higher numbers.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The request.
    pub request: Arc<str>,
    /// The owner.
    pub owner: Arc<str>,
    /// Its session.
    pub session: Arc<str>,
    /// Its run.
    pub run: Arc<str>,
    /// The requested model.
    pub model: Arc<str>,
    /// How the route handles findings.
    pub mode: GuardMode,
    /// The client's format.
    pub format: Format,
    /// What the guard did.
    pub action: GuardAction,
    /// The findings.
    pub findings: Vec<FindingTally>,
    /// The changes.
    pub changes: CountedList<RepairChange>,
    /// What the upstream's format cannot express.
    pub losses: CountedList<String>,
    /// Tokens before and after compaction, if the request was compacted.
    pub compacted: Option<(u64, u64)>,
    /// Bytes of the body before and after.
    pub bytes: (usize, usize),
    /// The bodies before and after, if content is stored and there is room.
    pub bodies: Option<(Bytes, Bytes)>,
}

impl RepairRecord {
    /// The id.
    pub fn id(&self) -> String {
        format!("p-{}", self.number)
    }

    /// The number of an id.
    pub fn parse_id(id: &str) -> Option<u64> {
        let digits = id.strip_prefix("p-")?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    /// The entry in a list.
    pub fn summary(&self) -> Value {
        json!({
            "id": self.id(),
            "at": self.at,
            "request": &*self.request,
            "owner": &*self.owner,
            "session": &*self.session,
            "run": &*self.run,
            "model": &*self.model,
            "mode": self.mode.name(),
            "format": self.format.name(),
            "action": self.action.name(),
            "findings": annotations::findings_json(&self.findings),
            "changes": self.changes.len(),
            "losses": self.losses.len(),
            "compacted": self.compacted.map(|(before, after)| {
                json!({ "tokens_before": before, "tokens_after": after })
            }),
            "bytes_before": self.bytes.0,
            "bytes_after": self.bytes.1,
        })
    }

    /// The complete record.
    pub fn detail(&self) -> Value {
        let mut value = self.summary();
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let (before, after) = match &self.bodies {
            Some((before, after)) => (json!(text(before)), json!(text(after))),
            None => (Value::Null, Value::Null),
        };
        value["changes"] = annotations::changes_json(&self.changes, usize::MAX);
        value["losses"] = json!(&self.losses[..]);
        if self.changes.len() > self.changes.iter().count() {
            value["changes_total"] = json!(self.changes.len());
        }
        if self.losses.len() > self.losses.iter().count() {
            value["losses_total"] = json!(self.losses.len());
        }
        value["body_before"] = before;
        value["body_after"] = after;
        value
    }

    pub(super) fn is_notable(guarded: &GuardedRequest) -> bool {
        annotations::is_notable(guarded)
    }

    fn estimated_bytes(&self) -> usize {
        const BASE_BYTES: usize = 512;
        let change = |change: &RepairChange| {
            let calls: usize = change.calls.iter().map(|call| call.len() + 24).sum();
            80 + change.note.len() + calls
        };
        let bodies = self.bodies.as_ref().map_or(0, |(before, after)| before.len() + after.len());
        let losses: usize = self.losses.iter().map(|loss| loss.len() + 24).sum();
        let changes: usize = self.changes.iter().map(change).sum();
        let names = [&self.request, &self.owner, &self.session, &self.run, &self.model];
        let names: usize = names.iter().map(|name| name.len()).sum();
        BASE_BYTES + names + bodies + losses + changes + self.findings.len() * 32
    }
}

impl RepairHistory {
    pub(super) fn new(max_repairs: usize, max_bytes: usize) -> RepairHistory {
        // Numbers of a later process must be higher.
        let next = unix_millis().saturating_mul(1_000);
        let state = RepairHistoryState { repairs: VecDeque::new(), bytes: 0, next };
        RepairHistory { max_repairs, max_bytes, state: Mutex::new(state) }
    }

    /// The newest repairs of an owner, or of all, before a number; at most `limit`.
    pub fn list(
        &self,
        owner: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Vec<Arc<RepairRecord>> {
        let state = self.lock();
        let is_before =
            |repair: &&Arc<RepairRecord>| after.is_none_or(|after| repair.number < after);
        let is_owned =
            |repair: &&Arc<RepairRecord>| owner.is_none_or(|owner| *repair.owner == *owner);
        state.repairs.iter().rev().filter(is_before).filter(is_owned).take(limit).cloned().collect()
    }

    /// The repair with this number.
    pub fn get(&self, number: u64) -> Option<Arc<RepairRecord>> {
        let state = self.lock();
        let index = state.position_of(number)?;
        state.repairs.get(index).cloned()
    }

    /// Whether repairs are recorded at all.
    pub(super) fn is_enabled(&self) -> bool {
        self.max_repairs > 0 && self.max_bytes > 0
    }

    /// Adds a repair, or replaces an earlier one of the same request. Returns its number.
    pub(super) fn insert(&self, previous: Option<u64>, mut repair: RepairRecord) -> u64 {
        let mut state = self.lock();
        let index = previous.and_then(|previous| state.position_of(previous));
        repair.number = match (index, previous) {
            (Some(_), Some(previous)) => previous,
            (_, _) => {
                state.next += 1;
                state.next
            }
        };
        if repair.estimated_bytes() > self.max_bytes {
            repair.bodies = None;
        }
        let (number, size) = (repair.number, repair.estimated_bytes());
        if size > self.max_bytes {
            return number;
        }
        state.bytes += size;
        match index.and_then(|index| state.repairs.get_mut(index)) {
            Some(existing) => {
                let old_size = std::mem::replace(existing, Arc::new(repair)).estimated_bytes();
                state.bytes = state.bytes.saturating_sub(old_size);
            }
            None => state.repairs.push_back(Arc::new(repair)),
        }
        while state.repairs.len() > self.max_repairs || state.bytes > self.max_bytes {
            let Some(oldest) = state.repairs.pop_front() else { break };
            state.bytes = state.bytes.saturating_sub(oldest.estimated_bytes());
        }
        number
    }

    fn lock(&self) -> MutexGuard<'_, RepairHistoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RepairHistoryState {
    fn position_of(&self, number: u64) -> Option<usize> {
        self.repairs.binary_search_by_key(&number, |repair| repair.number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repair(owner: &str, body: usize) -> RepairRecord {
        let bytes = Bytes::from(vec![b'x'; body]);
        RepairRecord {
            number: 0,
            at: 1,
            request: "q".into(),
            owner: owner.into(),
            session: "s".into(),
            run: "r".into(),
            model: "m".into(),
            mode: GuardMode::Fix,
            format: Format::Anthropic,
            action: GuardAction::Fixed,
            findings: vec![FindingTally { code: 101, strategy: "insert-answer", count: 1 }],
            changes: CountedList::default(),
            losses: CountedList::default(),
            compacted: None,
            bytes: (body, body),
            bodies: Some((bytes.clone(), bytes)),
        }
    }

    #[test]
    fn the_newest_are_kept_and_owners_see_only_their_own() {
        let repairs = RepairHistory::new(3, 1 << 20);
        let numbers: Vec<u64> =
            ["a", "b", "a", "a"].map(|owner| repairs.insert(None, repair(owner, 1))).to_vec();
        let seen = |owner: Option<&str>, after, limit| -> Vec<u64> {
            repairs.list(owner, after, limit).iter().map(|repair| repair.number).collect()
        };
        assert_eq!(seen(None, None, 9), [numbers[3], numbers[2], numbers[1]]);
        assert_eq!(seen(Some("a"), None, 9), [numbers[3], numbers[2]]);
        assert_eq!(seen(Some("a"), None, 1), [numbers[3]]);
        assert_eq!(seen(Some("a"), Some(numbers[3]), 9), [numbers[2]]);
        assert_eq!(seen(Some("c"), None, 9), [0; 0]);
        assert!(repairs.get(numbers[0]).is_none() && repairs.get(numbers[1]).is_some());
        let id = repairs.get(numbers[1]).map(|repair| repair.id()).unwrap_or_default();
        assert_eq!(RepairRecord::parse_id(&id), Some(numbers[1]));
        for odd in ["", "p-", "p-+1", "p-x", "12", "p-99999999999999999999999"] {
            assert_eq!(RepairRecord::parse_id(odd), None, "{odd}");
        }
    }

    #[test]
    fn bytes_are_bounded_and_a_second_repair_replaces_the_first() {
        let repairs = RepairHistory::new(100, 10_000);
        let first = repairs.insert(None, repair("a", 1_000));
        assert_eq!(repairs.insert(Some(first), repair("a", 2_000)), first);
        assert_eq!(repairs.list(None, None, 9).len(), 1);
        for _ in 0..50 {
            repairs.insert(None, repair("a", 2_000));
            assert!(repairs.lock().bytes <= 10_000);
        }
        assert_eq!(repairs.list(None, None, 9).len(), 2);
        // A repair that exceeds the limit is kept without its bodies.
        let large = repairs.insert(None, repair("a", 20_000));
        assert!(repairs.get(large).is_some_and(|repair| repair.bodies.is_none()));
        repairs.insert(Some(large), repair("a", 10));
        let sizes: usize =
            repairs.lock().repairs.iter().map(|repair| repair.estimated_bytes()).sum();
        assert_eq!(repairs.lock().bytes, sizes);
    }
}
