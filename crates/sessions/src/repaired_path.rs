//! The path of a repaired file, and which of its links must be rewritten.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use crate::chain::ChainStatus;
use foxwedge_core::{PartKind, RepairedPart, Role};

use super::{
    SessionAgent,
    link_changes::{LinkChanges, PathItem},
    linked_file::LinkedFileRewriter,
    placement::RecordPlacement,
    plan::{PlannedRecord, RecordOrigin},
};
use foxwedge_json::quote;

/// Maximum number of consecutive non-message records between two records of a reply.
const MAX_HOPS: usize = 64;

/// The records of the path in order, including those that are not messages.
pub(super) struct RepairedPath<'a> {
    items: Vec<PathItem>,
    /// The turn of each item: consecutive replies with what follows them.
    turns: Vec<u32>,
    /// Turns with a new, moved or removed record.
    touched: HashSet<u32>,
    /// The position of each existing record.
    places: HashMap<u32, usize>,
    /// The records that are messages of the conversation.
    messages: HashSet<u32>,
    /// For each turn the last linked item before it.
    edges: HashMap<u32, usize>,
    /// The position of the first record with each id. Computed only if a record is attached to a
    /// record beside the path.
    named: OnceCell<HashMap<&'a str, usize>>,
}

impl<'a> RepairedPath<'a> {
    pub(super) fn new(
        rewriter: &LinkedFileRewriter<'_, 'a>,
        plan: &[PlannedRecord<'_, '_>],
        gone: &HashSet<u32>,
        places: &RecordPlacement,
        repaired: &HashSet<u32>,
    ) -> RepairedPath<'a> {
        let (mut notes, disturbed) = attached_records(rewriter, plan, gone);
        // Agents start at the last message of the file, even if it is one that they do not send; some
        // at the last record.
        let last = places.last_record(plan);
        let is_changed =
            |planned: &PlannedRecord<'_, '_>| !matches!(planned.origin, RecordOrigin::Unchanged(_));
        let relinks =
            !(places.moved.is_empty() && repaired.is_empty()) || plan.iter().any(is_changed);
        let ends = |note: &u32| {
            let link = rewriter.log().links.get(*note as usize);
            let is_start =
                link.is_some_and(|link| link.fragment.is_some() || rewriter.starts_at_notes());
            is_start && relinks && places.last.is_empty() && Some(*note) > last
        };
        let mut end: Vec<u32> = Vec::new();
        for notes in notes.values_mut() {
            end.extend(notes.iter().copied().filter(&ends));
            notes.retain(|note| !ends(note));
        }
        end.sort_unstable();
        let first = notes.remove(&None).unwrap_or_default();
        let mut items: Vec<PathItem> = first.into_iter().map(PathItem::Old).collect();
        let mut turns = vec![0; items.len()];
        let (mut turn, mut before, mut last_role) = (0, 0, Role::User);
        let mut waiting: Vec<PathItem> = Vec::new();
        let reply_of = |record: u32| rewriter.log().links[record as usize].reply;
        let replies: HashSet<(&str, &str)> =
            plan.iter().filter_map(PlannedRecord::record).filter_map(reply_of).collect();
        let indexed: Vec<(usize, &PlannedRecord<'_, '_>)> = plan.iter().enumerate().collect();
        for message in indexed.chunk_by(|one, two| one.1.slot == two.1.slot) {
            let role = message.first().map_or(Role::User, |(_, planned)| planned.role);
            if role == Role::Assistant && last_role != Role::Assistant {
                turn += 1;
            }
            last_role = role;
            // Tool results come directly after their calls, other records after them.
            let answers = message.iter().take_while(|(_, planned)| match planned.origin {
                RecordOrigin::Unchanged(record) => rewriter.only_answers(record),
                RecordOrigin::Changed(_, parts) => {
                    let is_answer =
                        |part: &RepairedPart<'_>| matches!(part.part.kind, PartKind::Answer(_));
                    parts.iter().all(is_answer)
                }
                RecordOrigin::New(..) => true,
            });
            let answers = if role == Role::Assistant { 0 } else { answers.count() };
            let last_result =
                message.iter().rposition(|(_, planned)| holds_result(rewriter, planned));
            for (at, (place, planned)) in message.iter().enumerate() {
                if at == answers || at > answers && role != Role::Assistant {
                    // A reply that the agent skips would take over results that come after it. An
                    // empty record of a reply stays with the rest of that reply.
                    let waits = |item: &PathItem| match item {
                        PathItem::Old(record) => reply_of(*record).is_some_and(|reply| {
                            last_result >= Some(at) || at > answers && replies.contains(&reply)
                        }),
                        PathItem::New(_) => false,
                    };
                    let (later, ready) = waiting.drain(..).partition(waits);
                    items.extend::<Vec<PathItem>>(ready);
                    waiting = later;
                    turns.resize(items.len(), if at == answers { before } else { turn });
                }
                items.push(planned.record().map_or(PathItem::New(*place), PathItem::Old));
                let own = planned.record().and_then(|record| notes.remove(&Some(record)));
                for note in own.into_iter().flatten() {
                    // An empty record of the same reply stays where it is. So do records that are not
                    // messages, where the agent itself writes them between calls and results.
                    let is_reply_part =
                        planned.record().is_some_and(|at| rewriter.same_reply(at, note));
                    let stays = is_reply_part || rewriter.starts_at_notes();
                    let list = if stays { &mut items } else { &mut waiting };
                    list.push(PathItem::Old(note));
                }
                turns.resize(items.len(), turn);
            }
            before = turn;
        }
        items.append(&mut waiting);
        items.extend(end.into_iter().map(PathItem::Old));
        turns.resize(items.len(), before);
        let mut path = RepairedPath {
            items,
            turns,
            touched: HashSet::new(),
            places: HashMap::new(),
            messages: rewriter.chain().records.iter().copied().collect(),
            edges: HashMap::new(),
            named: OnceCell::new(),
        };
        let mut disturbed = disturbed;
        disturbed.extend(separated_messages(rewriter, plan));
        disturbed.extend(plan.iter().filter_map(|planned| match planned.origin {
            RecordOrigin::Changed(record, _) => Some(record),
            RecordOrigin::Unchanged(_) | RecordOrigin::New(..) => None,
        }));
        path.index_items(rewriter, repaired, &disturbed);
        path
    }

    /// Indexes the positions of records and the turns that changed.
    fn index_items(
        &mut self,
        rewriter: &LinkedFileRewriter<'_, '_>,
        repaired: &HashSet<u32>,
        disturbed: &HashSet<u32>,
    ) {
        let order: HashMap<u32, usize> =
            rewriter.chain().order.iter().enumerate().map(|(at, &record)| (record, at)).collect();
        // Other records go behind the messages of a turn that is relinked; their order does not
        // tell whether it is.
        let mut highest = 0;
        let mut last: Option<usize> = None;
        for (place, (&item, &turn)) in self.items.iter().zip(&self.turns).enumerate() {
            if let Some(last) = last.filter(|&last| self.turns[last] != turn) {
                self.edges.entry(turn).or_insert(last);
            }
            if !matches!(item, PathItem::Old(record) if rewriter.standing(record) == ChainStatus::Carried)
            {
                last = Some(place);
            }
            let PathItem::Old(record) = item else {
                self.touched.insert(turn);
                continue;
            };
            self.places.insert(record, place);
            let at = order.get(&record).copied().unwrap_or(0);
            let changed = repaired.contains(&record)
                || disturbed.contains(&record)
                || rewriter.inlines_record(record);
            let is_message = self.messages.contains(&record);
            if changed || is_message && at < highest {
                self.touched.insert(turn);
            }
            if is_message {
                highest = highest.max(at);
            }
        }
    }

    /// Records every link that must change.
    pub(super) fn write_links(
        &self,
        rewriter: &LinkedFileRewriter<'_, 'a>,
        changes: &mut LinkChanges,
        repaired: &HashSet<u32>,
        unrepaired: &HashSet<u32>,
    ) {
        // The parent of the next record. Records that a compaction carried over stand among the
        // others but are not linked to them.
        let mut before: Option<usize> = None;
        // The same, without records that are not messages and hang on earlier records.
        let mut tail: Option<usize> = None;
        let mut carried: Option<usize> = None;
        let mut clock: Option<String> = None;
        for (place, &item) in self.items.iter().enumerate() {
            let parent = |at: Option<usize>, changes: &LinkChanges| {
                at.map_or("null".to_owned(), |at| quote(changes.id(rewriter, self.items[at])))
            };
            match item {
                PathItem::New(new) => {
                    let same = carried.filter(|&at| Some(at) > before);
                    let same = same.filter(|&at| self.turns[at] == self.turns[place]);
                    let parent = parent(same.or(tail), changes);
                    clock = clock.map(|time| next_millisecond(&time).unwrap_or(time));
                    if let Some(new) = changes.new.get_mut(&new) {
                        new.parent = parent;
                        new.time.clone_from(&clock);
                    }
                    match same {
                        Some(_) => carried = Some(place),
                        None => (before, tail) = (Some(place), Some(place)),
                    }
                }
                PathItem::Old(record) if rewriter.standing(record) == ChainStatus::Carried => {
                    let lost =
                        rewriter.parent(record).is_none_or(|at| !self.places.contains_key(&at));
                    if lost && repaired.contains(&record) {
                        let parent = parent(carried.or(tail), changes);
                        changes.parents.insert(record, parent);
                    }
                    // New records follow messages of the conversation.
                    if self.messages.contains(&record) {
                        carried = Some(place);
                    }
                }
                PathItem::Old(record) => {
                    // The record before it had the id of its parent, which is another record.
                    let is_renamed = before.is_some_and(|at| match self.items[at] {
                        PathItem::Old(other) => {
                            changes.ids.contains_key(&other)
                                && rewriter.parent(record) != Some(other)
                        }
                        PathItem::New(_) => false,
                    });
                    let keeps = unrepaired.contains(&record)
                        || !repaired.contains(&record)
                            && !is_renamed
                            && self.keeps_link(rewriter, record, place, before);
                    if !keeps {
                        let parent = parent(tail, changes);
                        changes.parents.insert(record, parent);
                    }
                    let own = rewriter.parent(record).and_then(|at| self.places.get(&at).copied());
                    if !keeps || self.messages.contains(&record) || own == tail {
                        tail = Some(place);
                    }
                    before = Some(place);
                    let time = rewriter.log().records[record as usize].time;
                    clock = time.map(str::to_owned).or(clock);
                }
            }
        }
    }

    /// The position of the first record with each id.
    fn by_id(&self, rewriter: &LinkedFileRewriter<'_, 'a>) -> HashMap<&'a str, usize> {
        let mut positions = HashMap::new();
        for (place, &item) in self.items.iter().enumerate() {
            if let PathItem::Old(record) = item
                && !rewriter.id(record).is_empty()
            {
                positions.entry(rewriter.id(record)).or_insert(place);
            }
        }
        positions
    }

    /// Whether the agent finds the preceding record through the existing link.
    fn keeps_link(
        &self,
        rewriter: &LinkedFileRewriter<'_, 'a>,
        record: u32,
        place: usize,
        before: Option<usize>,
    ) -> bool {
        let Some(mut parent) = rewriter.parent(record) else {
            // A root, or a record whose parent is in another file.
            return before.is_none();
        };
        // A record of a reply may be attached to non-message records beside the path.
        for _ in 0..MAX_HOPS {
            let link = rewriter.log().links.get(parent as usize);
            let note = link.is_some_and(|link| link.fragment.is_none() || link.is_hidden);
            let is_duplicate = rewriter.standing(parent) == ChainStatus::Duplicate;
            if !rewriter.mixes_turns() || !note || is_duplicate || self.places.contains_key(&parent)
            {
                break;
            }
            let Some(next) = rewriter.parent(parent) else { return before.is_none() };
            parent = next;
        }
        // Of two records with the same id, one is on the path.
        let same_id =
            || self.named.get_or_init(|| self.by_id(rewriter)).get(rewriter.id(parent)).copied();
        // The parent may belong to a sub-agent: then the conversation begins with this record.
        let Some(at) = self.places.get(&parent).copied().or_else(same_id) else {
            return before.is_none();
        };
        // A cycle that is not repaired stays.
        let Some(before) = before else { return rewriter.chain().order.first() == Some(&record) };
        if at == before {
            return true;
        }
        // pi sends a remark between results after them.
        let is_pi = rewriter.agent == SessionAgent::Pi && !rewriter.straightens;
        if !rewriter.mixes_turns() && !is_pi {
            return false;
        }
        // An untouched turn keeps its links. Records of its reply may be attached to results that
        // come after them in the conversation. The turn is attached to the turn before it.
        let (own, other) = (self.turns[place], self.turns[at]);
        let untouched = |turn: u32| !self.touched.contains(&turn);
        if own == other {
            // The first record of a turn may be attached to a later one, which is attached to the
            // turn before.
            return untouched(own)
                && (at < place || self.turns[before] == own || untouched(self.turns[before]));
        }
        if rewriter.standing(parent) == ChainStatus::Carried {
            return false;
        }
        let Some(&last) = self.edges.get(&own) else { return false };
        let first = self.turns[before] != own;
        (first || untouched(own)) && (at == last || self.turns[last] == other && untouched(other))
    }
}

/// Returns the non-message records by the message they follow, and the messages next to a removed
/// record.
fn attached_records(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
) -> (HashMap<Option<u32>, Vec<u32>>, HashSet<u32>) {
    let messages: HashSet<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let mut notes: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
    // The message that each record follows; a message follows itself.
    let mut followed: HashMap<u32, Option<u32>> = HashMap::new();
    let mut disturbed = HashSet::new();
    let mut last = None;
    let mut missing = false;
    for &record in &rewriter.chain().order {
        if messages.contains(&record) {
            last = Some(record);
            followed.insert(record, last);
            if std::mem::take(&mut missing) {
                disturbed.insert(record);
            }
        } else if gone.contains(&record) {
            missing = true;
            disturbed.extend(last);
        } else {
            let parent = rewriter.parent(record).and_then(|parent| followed.get(&parent));
            let message = parent.copied().unwrap_or(last);
            followed.insert(record, message);
            notes.entry(message).or_default().push(record);
        }
    }
    (notes, disturbed)
}

/// Whether a record of the plan holds a tool result.
fn holds_result(rewriter: &LinkedFileRewriter<'_, '_>, planned: &PlannedRecord<'_, '_>) -> bool {
    let is_result = |kind: &PartKind<'_>| matches!(kind, PartKind::Answer(_));
    match planned.origin {
        RecordOrigin::Unchanged(record) => {
            rewriter.parts(record).iter().any(|part| is_result(&part.kind))
        }
        RecordOrigin::Changed(_, parts) | RecordOrigin::New(_, parts) => {
            parts.iter().any(|part| is_result(&part.part.kind))
        }
    }
}

/// Messages that were adjacent before the repair and are not any more.
fn separated_messages(
    rewriter: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
) -> HashSet<u32> {
    let new: Vec<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let next: HashMap<u32, u32> = new.iter().copied().zip(new.iter().copied().skip(1)).collect();
    let remaining: HashSet<u32> = new.into_iter().collect();
    let old = rewriter.chain().records.iter().copied().filter(|record| remaining.contains(record));
    let old: Vec<u32> = old.collect();
    let pairs = old.iter().zip(old.iter().skip(1));
    let separated = pairs.filter(|(one, two)| next.get(one) != Some(two));
    separated.flat_map(|(one, two)| [*one, *two]).collect()
}

/// The time one millisecond later. `None` at the end of a day, or if the format is not the one
/// agents write.
pub(super) fn next_millisecond(time: &str) -> Option<String> {
    let (head, millis) = time.strip_suffix('Z')?.rsplit_once('.')?;
    let (date, clock) = head.split_once('T')?;
    let mut fields = clock.split(':').map(|field| field.parse::<u32>().ok());
    let (hour, minute, second) = (fields.next()??, fields.next()??, fields.next()??);
    let millis: u32 = Some(millis).filter(|millis| millis.len() == 3)?.parse().ok()?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let sum = ((hour * 60 + minute) * 60 + second) * 1000 + millis + 1;
    let (hour, minute, second) = (sum / 3_600_000, sum / 60_000 % 60, sum / 1000 % 60);
    (hour < 24).then(|| format!("{date}T{hour:02}:{minute:02}:{second:02}.{:03}Z", sum % 1000))
}

#[cfg(test)]
mod tests {
    use super::next_millisecond;

    #[test]
    fn next_millisecond_carries_over_and_stops_at_the_end_of_a_day() {
        let table = [
            ("2026-01-01T00:00:00.000Z", Some("2026-01-01T00:00:00.001Z")),
            ("2026-01-01T09:59:59.999Z", Some("2026-01-01T10:00:00.000Z")),
            ("2026-01-01T23:59:59.999Z", None),
            ("2026-01-01T99999999:59:59.999Z", None),
            ("2026-01-01T00:00:00Z", None),
            ("yesterday", None),
        ];
        for (time, expected) in table {
            assert_eq!(next_millisecond(time).as_deref(), expected, "{time}");
        }
    }
}
