//! A repair is minimal: an edit names everything that changed, and everything else keeps its bytes.

use std::collections::{BTreeSet, HashMap, HashSet};

use foxwedge_core::{
    CallPairing, Draft, Edit, MAX_IDS, MessageLayout, PartKind, PartSource, Repair,
    RepairedMessage, RepairedPart, ResultMatch, Span, Strategy, Turn, pair_calls,
};
use foxwedge_formats::{OutlinedDocument, outline_options, read};
use serde_json::{Map, Value};

use super::{
    LawCase,
    judge::{LawVerdict, breach},
};

/// An edit names every message and part that is changed, moved, removed or added; everything else
/// keeps its bytes and its order. No edit belongs to a rule without findings, unless an edit of
/// another rule caused it.
pub(super) fn minimal(
    case: &LawCase,
    reading: &OutlinedDocument<'_>,
    repair: &Repair<'_>,
    fixed: &str,
) -> LawVerdict {
    let draft = &reading.draft;
    let describe = || format!("edits {:#?}\nafter {fixed}", &*repair.edits);
    for edit in &repair.edits {
        let caused =
            |other: &Edit| other.code != edit.code && repair.before.counts.of(other.code) > 0;
        let found = repair.before.counts.of(edit.code) > 0;
        if !found && !repair.edits.iter().any(caused) {
            return breach("minimal", format!("FW{} was not found\n{}", edit.code, describe()));
        }
    }
    // Edits beyond the limit are not listed and cannot be looked up.
    if repair.edits.len() > repair.edits.iter().count() {
        return Ok(());
    }
    let account = EditCoverage::new(draft, repair);
    if let Some(what) = account.unnamed() {
        return breach("minimal", format!("{what}\n{}", describe()));
    }
    match unlike(case, draft, repair, fixed) {
        Some(what) => breach("minimal", format!("{what}\n{}", describe())),
        None => Ok(()),
    }
}

/// What the edits of a repair name.
struct EditCoverage<'r, 'a> {
    draft: &'r Draft<'a>,
    repair: &'r Repair<'a>,
    pairing: CallPairing,
    /// Messages that an edit names.
    messages: BTreeSet<usize>,
    /// Messages whose parts may move to other messages, or that may receive parts of others.
    joined: BTreeSet<usize>,
    ids: HashSet<&'r str>,
    /// Whether an edit names so many ids that it may have left out others.
    omits_ids: bool,
    /// Parts by their span.
    parts: HashMap<(u32, u32), usize>,
}

impl<'r, 'a> EditCoverage<'r, 'a> {
    fn new(draft: &'r Draft<'a>, repair: &'r Repair<'a>) -> EditCoverage<'r, 'a> {
        let edits = repair.edits.iter();
        let joins = |edit: &&Edit| {
            matches!(edit.strategy, Strategy::Merge | Strategy::Split) || matches!(edit.code, 106)
        };
        let parts = draft.parts.iter().enumerate();
        EditCoverage {
            draft,
            repair,
            pairing: pair_calls(draft),
            messages: edits.clone().map(|edit| edit.message).collect(),
            joined: edits.clone().filter(joins).map(|edit| edit.message).collect(),
            omits_ids: edits.clone().any(|edit| edit.ids.len() >= MAX_IDS),
            ids: edits.flat_map(|edit| &edit.ids).map(String::as_str).collect(),
            parts: parts.map(|(at, part)| ((part.span.start, part.span.end), at)).collect(),
        }
    }

    /// The message that holds a part.
    fn message_of(&self, part: usize) -> usize {
        self.draft.messages.partition_point(|message| message.last as usize <= part)
    }

    /// Whether an edit names this part: by its message, its id, or the turn of its call.
    fn names(&self, part: usize) -> bool {
        let id = self.draft.parts[part].kind.id();
        let answer = self.pairing.answers.iter().find(|answer| answer.part() == part);
        let call = answer.and_then(|answer| match answer.result_match() {
            ResultMatch::Duplicate(call) => Some(call),
            fate => fate.call(),
        });
        let turn = call.map(|call| self.pairing.calls[call].message());
        let message = self.message_of(part);
        self.messages.contains(&message)
            || self.host(message).is_some_and(|host| self.messages.contains(&host))
            || id.is_some_and(|id| self.ids.contains(id))
            || self.omits_ids && answer.is_some()
            || turn.is_some_and(|turn| self.joined.contains(&turn))
    }

    /// The message that this one was joined with: the one that holds its remaining parts, or the
    /// last one before it.
    fn host(&self, message: usize) -> Option<usize> {
        let range = self.draft.messages[message].range();
        let from_message = |repaired_part: &RepairedPart<'_>| {
            let key = (repaired_part.part.span.start, repaired_part.part.span.end);
            self.parts.get(&key).is_some_and(|part| range.contains(part))
        };
        let holder =
            self.repair.messages.iter().find(|repaired| repaired.parts.iter().any(from_message));
        let stands =
            |at: usize| self.repair.messages.iter().any(|repaired| repaired.origin() == Some(at));
        let before = || (0..=message).rev().find(|at| stands(*at));
        let host = holder.and_then(|repaired| repaired.origin()).or_else(before)?;
        (host < message && self.joined.contains(&host)).then_some(host)
    }

    fn names_piece(&self, repaired_part: &RepairedPart<'_>) -> bool {
        repaired_part.part.kind.id().is_some_and(|id| self.ids.contains(id))
    }

    /// Describes the first change that no edit names.
    fn unnamed(&self) -> Option<String> {
        let mut whole = vec![false; self.draft.messages.len()];
        let mut present = vec![false; self.draft.parts.len()];
        let (mut placeholders, mut added) = (0, 0);
        for repaired in self.repair.messages.iter() {
            added += usize::from(repaired.origin().is_none());
            if !repaired.is_touched() {
                if let Some(origin) = repaired.origin() {
                    whole[origin] = true;
                }
                continue;
            }
            let repaired = &*repaired.with_parts(self.draft);
            for repaired_part in &repaired.parts {
                let key = (repaired_part.part.span.start, repaired_part.part.span.end);
                let part = self.parts.get(&key).copied();
                match (repaired_part.source(), part) {
                    (PartSource::Input, Some(part)) => {
                        present[part] = true;
                        let home = self.message_of(part);
                        // Neighbors may also be joined to a new message.
                        let joined = repaired.origin().map_or(!self.joined.is_empty(), |origin| {
                            self.joined.contains(&origin)
                        });
                        let moved = repaired.origin() != Some(home) && !joined;
                        let changed = moved || !repaired_part.patch.is_empty();
                        if changed && !self.names(part) && !self.names_piece(repaired_part) {
                            return Some(format!("part {part} of [{home}] is moved or changed"));
                        }
                    }
                    (PartSource::Text(_), _)
                        if matches!(repaired_part.part.kind, PartKind::Answer(_)) =>
                    {
                        placeholders += 1;
                    }
                    (PartSource::Quote { .. } | PartSource::Media { .. }, Some(part)) => {
                        present[part] |= matches!(repaired_part.source(), PartSource::Quote { .. });
                        if !self.names(part) {
                            return Some(format!("part {part} is quoted"));
                        }
                    }
                    _ => {}
                }
            }
            if let Some(what) = self.touched_for_nothing(repaired) {
                return Some(what);
            }
        }
        for (at, message) in self.draft.messages.iter().enumerate().filter(|(at, _)| !whole[*at]) {
            let missing = message.range().find(|part| !present[*part] && !self.names(*part));
            if let Some(part) = missing {
                return Some(format!("part {part} of [{at}] is gone"));
            }
        }
        let edits = self.repair.edits.iter();
        let invented = edits.clone().filter(|edit| edit.strategy == Strategy::Synthesize).count();
        if placeholders > invented {
            return Some(format!("{placeholders} placeholders, {invented} told"));
        }
        let adds = |edit: &&Edit| {
            !matches!(edit.strategy, Strategy::Drop | Strategy::DropThinking | Strategy::Rename)
        };
        // One edit may split a message into rounds of calls, each with its results.
        let limit = edits.filter(adds).count() + self.draft.parts.len() / 64;
        if added > limit {
            return Some(format!("{added} messages added"));
        }
        self.out_of_order()
    }

    /// Describes a message that was rewritten although no edit names it and it received no part.
    fn touched_for_nothing(&self, repaired: &RepairedMessage<'_>) -> Option<String> {
        let origin = repaired.origin().filter(|origin| !self.messages.contains(origin))?;
        let message = &self.draft.messages[origin];
        if repaired.has_new_role()
            || repaired.loses_id() && !self.messages.contains(&origin.saturating_sub(1))
        {
            return Some(format!("[{origin}] has another role or no id"));
        }
        let mut own = Vec::new();
        let mut others = 0;
        for repaired_part in &repaired.parts {
            let key = (repaired_part.part.span.start, repaired_part.part.span.end);
            let part = self.parts.get(&key).copied().filter(|part| message.range().contains(part));
            match part.filter(|_| *repaired_part.source() == PartSource::Input) {
                Some(part) => own.push(part),
                None => others += 1,
            }
        }
        let ids = own.iter().any(|&part| self.names(part))
            || repaired.parts.iter().any(|repaired_part| self.names_piece(repaired_part));
        if others == 0 && own.len() == message.range().len() && !ids && !repaired.loses_id() {
            return Some(format!("[{origin}] is written anew for nothing"));
        }
        // New parts go between existing ones.
        (!own.is_sorted()).then(|| format!("the parts of [{origin}] change their order"))
    }

    /// Messages that no edit names keep their order.
    fn out_of_order(&self) -> Option<String> {
        // A turn of chat messages that receives a result is written as several messages: each
        // calling message, followed by its own results.
        let chat = self.draft.layout() == MessageLayout::Chat;
        let receives = |turn: &Turn| {
            let calls = &self.pairing.calls[turn.calls().clone()];
            calls.iter().any(|call| self.names(call.part()))
        };
        // Replies without anything between them are one turn once a message after them is removed.
        let joined = |one: &Turn, two: &Turn| one.messages().end == two.messages().start;
        let groups = self.pairing.turns.chunk_by(joined);
        let several =
            |group: &&[Turn]| group.iter().map(|turn| turn.messages().len()).sum::<usize>() > 1;
        let groups = groups.filter(several).filter(|group| group.iter().any(receives));
        let turns: Vec<&Turn> = groups.flatten().collect();
        let parted = |origin: usize| {
            // Its results also stand behind a message between them that the repair removes.
            let answers = |turn: &Turn| {
                let calls = self.pairing.calls[turn.calls().clone()].iter();
                let mut results = calls.filter_map(|call| call.answer());
                results.any(|answer| self.pairing.answers[answer].message() == origin)
            };
            let holds = |turn: &&Turn| {
                let around = turn.messages().contains(&origin) || turn.home().contains(&origin);
                around || answers(turn)
            };
            chat && turns.iter().any(holds)
        };
        let moves = |origin: usize| {
            parted(origin)
                || self.messages.contains(&origin)
                || self.draft.messages[origin].range().any(|part| self.names(part))
        };
        let named = |repaired: &RepairedMessage<'_>| {
            repaired.parts.iter().any(|repaired_part| self.names_piece(repaired_part))
        };
        let slots = self.repair.messages.iter().filter(|repaired| !named(repaired));
        let origins = slots.filter_map(|repaired| repaired.origin());
        let still: Vec<usize> = origins.filter(|origin| !moves(*origin)).collect();
        (!still.is_sorted()).then(|| format!("messages change their order: {still:?}"))
    }
}

/// Describes a message or a part that the repair kept but whose bytes changed.
fn unlike(case: &LawCase, draft: &Draft<'_>, repair: &Repair<'_>, fixed: &str) -> Option<String> {
    let after = read(fixed, case.wire, outline_options(case.profile)).ok()?;
    let after = &after.draft;
    if after.messages.len() != repair.messages.len() {
        return Some(format!("{} slots, {} written", repair.messages.len(), after.messages.len()));
    }
    let halves = |span: Span| {
        let replaced = repair.replacements.iter().map(|replacement| replacement.span);
        let mut replaced = draft.body.surrogates.iter().copied().chain(replaced);
        replaced.any(|it| it.start < span.end && it.end > span.start)
    };
    for (repaired, message) in repair.messages.iter().zip(&after.messages) {
        let written = message.span.of(fixed);
        let Some(origin) = repaired.origin().filter(|at| !halves(draft.messages[*at].span)) else {
            continue;
        };
        let before = draft.messages[origin].span.of(draft.source);
        if !repaired.is_touched() {
            if written != before {
                return Some(format!("[{origin}] {before}\nis written as {written}"));
            }
            continue;
        }
        for repaired_part in repaired
            .parts
            .iter()
            .filter(|repaired_part| *repaired_part.source() == PartSource::Input)
        {
            let text = repaired_part.part.span.of(draft.source);
            // If a message is a single part, an edit of the message changes the part.
            let whole = repaired_part.part.span == draft.messages[origin].span;
            let other =
                repaired.loses_id() || repaired.has_new_role() || halves(repaired_part.part.span);
            let changed = !repaired_part.patch.is_empty() || whole || other;
            // Strings may be joined into one.
            if !changed && !written.contains(text.trim_matches('"')) {
                return Some(format!("{text}\nis lost in {written}"));
            }
        }
        if let Some(key) = lost_field(before, written) {
            return Some(format!("`{key}` of [{origin}] {before}\nis lost in {written}"));
        }
    }
    None
}

/// A changed or missing field that no repair touches.
fn lost_field(before: &str, written: &str) -> Option<String> {
    const REPAIRED: [&str; 14] = [
        "role",
        "content",
        "parts",
        "tool_calls",
        "reasoning_content",
        "id",
        "output",
        "result",
        "call_id",
        "tool_call_id",
        "arguments",
        "input",
        "name",
        "type",
    ];
    let fields = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    let (before, written) = (fields(before)?, fields(written)?);
    let differs = |(key, value): &(&String, &Value)| {
        !REPAIRED.contains(&key.as_str()) && written.get(*key) != Some(*value)
    };
    before.iter().find(differs).map(|(key, _)| key.clone())
}
