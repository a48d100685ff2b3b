//! The path of a repaired file, and which of its links have to be written anew.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{Role, chain::ChainStatus};

use super::{
    linked_rewriter::LinkedFileRewriter,
    plan::{PlannedRecord, RecordOrigin},
    relink::{LinkChanges, PathItem},
};
use crate::json::quote;

/// Records that are no messages, one behind the other, between two pieces of a reply.
const MAX_HOPS: usize = 64;

/// The records of the path in order, those that are no messages included.
pub(super) struct RepairedPath<'a> {
    items: Vec<PathItem>,
    /// The turn of each item: a run of replies with what follows it.
    turns: Vec<u32>,
    /// Turns in which something is new, moved or gone.
    touched: HashSet<u32>,
    /// Where old records stand.
    places: HashMap<u32, usize>,
    /// For each turn the last item before it that the others are linked to.
    edges: HashMap<u32, usize>,
    /// Where records of each id stand; asked for only where one hangs on a record beside the path.
    named: OnceCell<HashMap<&'a str, usize>>,
}

impl<'a> RepairedPath<'a> {
    pub(super) fn new(
        desk: &LinkedFileRewriter<'_, 'a>,
        plan: &[PlannedRecord<'_, '_>],
        gone: &HashSet<u32>,
        moved: &HashSet<u32>,
        joined: &HashSet<u32>,
    ) -> RepairedPath<'a> {
        let (mut notes, shaken) = attached_records(desk, plan, gone);
        // Agents begin at the last message of the file, also if it is one that they do not send.
        let stays = |record: &u32| !moved.contains(record);
        let last = plan.iter().filter_map(PlannedRecord::record).filter(stays).max();
        let ends = |note: &u32| {
            let link = desk.log().links.get(*note as usize);
            let speaks = link.is_some_and(|link| link.fragment.is_some());
            speaks && Some(*note) > last && !(moved.is_empty() && joined.is_empty())
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
        let (mut turn, mut before, mut speaker) = (0, 0, Role::User);
        let mut waiting: Vec<PathItem> = Vec::new();
        let indexed: Vec<(usize, &PlannedRecord<'_, '_>)> = plan.iter().enumerate().collect();
        for slot in indexed.chunk_by(|one, two| one.1.slot == two.1.slot) {
            let role = slot.first().map_or(Role::User, |(_, planned)| planned.role);
            if role == Role::Assistant && speaker != Role::Assistant {
                turn += 1;
            }
            speaker = role;
            // Answers stand directly behind their calls; what is no message comes after them.
            let answers = slot.iter().take_while(|(_, planned)| {
                planned.record().is_none_or(|record| desk.only_answers(record))
            });
            let answers = if role == Role::Assistant { 0 } else { answers.count() };
            for (at, (place, planned)) in slot.iter().enumerate() {
                if at == answers {
                    items.append(&mut waiting);
                    turns.resize(items.len(), before);
                } else if at > answers && role != Role::Assistant {
                    items.append(&mut waiting);
                    turns.resize(items.len(), turn);
                }
                items.push(planned.record().map_or(PathItem::New(*place), PathItem::Old));
                let own = planned.record().and_then(|record| notes.remove(&Some(record)));
                for note in own.into_iter().flatten() {
                    // A piece of the same reply that says nothing stays where it is.
                    let piece = planned.record().is_some_and(|at| desk.same_reply(at, note));
                    let list = if piece { &mut items } else { &mut waiting };
                    list.push(PathItem::Old(note));
                }
                turns.resize(items.len(), turn);
            }
            before = turn;
        }
        items.append(&mut waiting);
        items.extend(end.into_iter().map(PathItem::Old));
        turns.resize(items.len(), before);
        let (touched, places, edges) = (HashSet::new(), HashMap::new(), HashMap::new());
        let mut path =
            RepairedPath { items, turns, touched, places, edges, named: OnceCell::new() };
        let mut shaken = shaken;
        shaken.extend(separated_messages(desk, plan));
        shaken.extend(plan.iter().filter_map(|planned| match planned.origin {
            RecordOrigin::Changed(record, _) => Some(record),
            RecordOrigin::Unchanged(_) | RecordOrigin::New(..) => None,
        }));
        path.index_items(desk, joined, &shaken);
        path
    }

    /// Notes where records stand and which turns are not what they were.
    fn index_items(
        &mut self,
        desk: &LinkedFileRewriter<'_, '_>,
        joined: &HashSet<u32>,
        shaken: &HashSet<u32>,
    ) {
        let order: HashMap<u32, usize> =
            desk.chain().order.iter().enumerate().map(|(at, &record)| (record, at)).collect();
        let mut highest = 0;
        let mut last: Option<usize> = None;
        for (place, (&item, &turn)) in self.items.iter().zip(&self.turns).enumerate() {
            if let Some(last) = last.filter(|&last| self.turns[last] != turn) {
                self.edges.entry(turn).or_insert(last);
            }
            if !matches!(item, PathItem::Old(record) if desk.standing(record) == ChainStatus::Carried)
            {
                last = Some(place);
            }
            let PathItem::Old(record) = item else {
                self.touched.insert(turn);
                continue;
            };
            self.places.insert(record, place);
            let at = order.get(&record).copied().unwrap_or(0);
            let changed =
                joined.contains(&record) || shaken.contains(&record) || desk.inlines_record(record);
            if changed || at < highest {
                self.touched.insert(turn);
            }
            highest = highest.max(at);
        }
    }

    /// Writes down every link that has to change.
    pub(super) fn write_links(
        &self,
        desk: &LinkedFileRewriter<'_, 'a>,
        woven: &mut LinkChanges,
        joined: &HashSet<u32>,
        left: &HashSet<u32>,
    ) {
        // The record that the next one hangs on. What a compaction carried over stands among the
        // others, but is not linked to them.
        let mut before: Option<usize> = None;
        let mut carried: Option<usize> = None;
        let mut clock: Option<String> = None;
        for (place, &item) in self.items.iter().enumerate() {
            let parent = |at: Option<usize>, woven: &LinkChanges| {
                at.map_or("null".to_owned(), |at| quote(woven.id(desk, self.items[at])))
            };
            match item {
                PathItem::New(new) => {
                    let same = carried.filter(|&at| Some(at) > before);
                    let same = same.filter(|&at| self.turns[at] == self.turns[place]);
                    let parent = parent(same.or(before), woven);
                    clock = clock.map(|time| next_millisecond(&time).unwrap_or(time));
                    if let Some(new) = woven.new.get_mut(&new) {
                        new.parent = parent;
                        new.time.clone_from(&clock);
                    }
                    match same {
                        Some(_) => carried = Some(place),
                        None => before = Some(place),
                    }
                }
                PathItem::Old(record) if desk.standing(record) == ChainStatus::Carried => {
                    let lost = desk.parent(record).is_none_or(|at| !self.places.contains_key(&at));
                    if lost && joined.contains(&record) {
                        let parent = parent(carried.or(before), woven);
                        woven.parents.insert(record, parent);
                    }
                    carried = Some(place);
                }
                PathItem::Old(record) => {
                    let keeps = left.contains(&record)
                        || !joined.contains(&record)
                            && self.keeps_link(desk, record, place, before);
                    if !keeps {
                        let parent = parent(before, woven);
                        woven.parents.insert(record, parent);
                    }
                    before = Some(place);
                    let time = desk.log().records[record as usize].time;
                    clock = time.map(str::to_owned).or(clock);
                }
            }
        }
    }

    /// Where the first record of each id stands.
    fn by_id(&self, desk: &LinkedFileRewriter<'_, 'a>) -> HashMap<&'a str, usize> {
        let mut named = HashMap::new();
        for (place, &item) in self.items.iter().enumerate() {
            if let PathItem::Old(record) = item
                && !desk.id(record).is_empty()
            {
                named.entry(desk.id(record)).or_insert(place);
            }
        }
        named
    }

    /// Whether the agent finds the way from a record to the one before it by itself.
    fn keeps_link(
        &self,
        desk: &LinkedFileRewriter<'_, 'a>,
        record: u32,
        place: usize,
        before: Option<usize>,
    ) -> bool {
        let Some(mut parent) = desk.parent(record) else {
            // A root, or one whose parent lies in another file.
            return before.is_none();
        };
        // A piece may hang on records beside the path that are no messages.
        for _ in 0..MAX_HOPS {
            let link = desk.log().links.get(parent as usize);
            let note = link.is_some_and(|link| link.fragment.is_none() || link.is_hidden);
            if !desk.mixes_turns() || !note || self.places.contains_key(&parent) {
                break;
            }
            let Some(next) = desk.parent(parent) else { return before.is_none() };
            parent = next;
        }
        // Of two records of one id, one is on the path.
        let twin = || self.named.get_or_init(|| self.by_id(desk)).get(desk.id(parent)).copied();
        // What it hangs on may belong to a sub-agent: then the conversation begins with it.
        let Some(at) = self.places.get(&parent).copied().or_else(twin) else {
            return before.is_none();
        };
        // A circle that nobody mends stays one.
        let Some(before) = before else { return desk.chain().order.first() == Some(&record) };
        if at == before {
            return true;
        }
        if !desk.mixes_turns() || desk.standing(parent) == ChainStatus::Carried {
            return false;
        }
        // A turn that nobody touched holds together by itself; pieces of its reply may hang on
        // answers that the conversation tells behind them. It hangs on the turn before it.
        let (own, other) = (self.turns[place], self.turns[at]);
        let calm = |turn: u32| !self.touched.contains(&turn);
        if own == other {
            // The first of a turn may hang on something behind it, which hangs on the turn before.
            return calm(own)
                && (at < place || self.turns[before] == own || calm(self.turns[before]));
        }
        let Some(&last) = self.edges.get(&own) else { return false };
        let first = self.turns[before] != own;
        (first || calm(own)) && (at == last || self.turns[last] == other && calm(other))
    }
}

/// Records that are no messages, by the message they stand behind; and messages in whose turn
/// something is gone.
fn attached_records(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
    gone: &HashSet<u32>,
) -> (HashMap<Option<u32>, Vec<u32>>, HashSet<u32>) {
    let messages: HashSet<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let mut notes: HashMap<Option<u32>, Vec<u32>> = HashMap::new();
    let mut shaken = HashSet::new();
    let mut last = None;
    let mut missing = false;
    for &record in &desk.chain().order {
        if messages.contains(&record) {
            last = Some(record);
            if std::mem::take(&mut missing) {
                shaken.insert(record);
            }
        } else if gone.contains(&record) {
            missing = true;
            shaken.extend(last);
        } else {
            notes.entry(last).or_default().push(record);
        }
    }
    (notes, shaken)
}

/// Messages that stood one behind the other, and do not any more.
fn separated_messages(
    desk: &LinkedFileRewriter<'_, '_>,
    plan: &[PlannedRecord<'_, '_>],
) -> HashSet<u32> {
    let new: Vec<u32> = plan.iter().filter_map(PlannedRecord::record).collect();
    let next: HashMap<u32, u32> = new.iter().copied().zip(new.iter().copied().skip(1)).collect();
    let kept: HashSet<u32> = new.into_iter().collect();
    let old = desk.chain().records.iter().copied().filter(|record| kept.contains(record));
    let old: Vec<u32> = old.collect();
    let pairs = old.iter().zip(old.iter().skip(1));
    let parted = pairs.filter(|(one, two)| next.get(one) != Some(two));
    parted.flat_map(|(one, two)| [*one, *two]).collect()
}

/// A millisecond later; `None` for what is not a time as agents write it, or the end of a day.
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
    fn a_moment_later() {
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
