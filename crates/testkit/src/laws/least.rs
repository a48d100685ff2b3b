//! A repair changes the least: whatever is not as it was is named by an edit, and nothing that was
//! changed could have stayed.

use std::collections::{BTreeSet, HashMap, HashSet};

use foxwedge_core::{
    CallPairing, Draft, Edit, MessageLayout, PartKind, PartSource, Repair, RepairedMessage,
    RepairedPart, ResultMatch, Span, Strategy, Turn, pair_calls,
};
use foxwedge_dialect::{OutlinedDocument, outline_options, read};
use serde_json::{Map, Value};

use super::{
    Case,
    judge::{Verdict, breach},
};

/// Every message and part that is changed, moved, removed or added is named by an edit; everything
/// else keeps its bytes and its order. No edit is made for a rule that found nothing, unless an
/// edit for another rule led to it.
pub(super) fn minimal(
    case: &Case,
    reading: &OutlinedDocument<'_>,
    repair: &Repair<'_>,
    fixed: &str,
) -> Verdict {
    let draft = &reading.draft;
    let told = || format!("edits {:#?}\nafter {fixed}", &*repair.edits);
    for edit in &repair.edits {
        let caused =
            |other: &Edit| other.code != edit.code && repair.before.counts.of(other.code) > 0;
        let found = repair.before.counts.of(edit.code) > 0;
        if !found && !repair.edits.iter().any(caused) {
            return breach("minimal", format!("FW{} was not found\n{}", edit.code, told()));
        }
    }
    // What is not listed cannot be looked up.
    if repair.edits.len() > repair.edits.iter().count() {
        return Ok(());
    }
    let account = Account::new(draft, repair);
    if let Some(what) = account.unnamed() {
        return breach("minimal", format!("{what}\n{}", told()));
    }
    match unlike(case, draft, repair, fixed) {
        Some(what) => breach("minimal", format!("{what}\n{}", told())),
        None => Ok(()),
    }
}

/// What edits name.
struct Account<'r, 'a> {
    draft: &'r Draft<'a>,
    repair: &'r Repair<'a>,
    pairing: CallPairing,
    /// Messages that an edit is about.
    messages: BTreeSet<usize>,
    /// Messages whose parts may stand in others, or have others in them.
    joined: BTreeSet<usize>,
    ids: HashSet<&'r str>,
    /// Parts by where they lie.
    parts: HashMap<(u32, u32), usize>,
}

impl<'r, 'a> Account<'r, 'a> {
    fn new(draft: &'r Draft<'a>, repair: &'r Repair<'a>) -> Account<'r, 'a> {
        let edits = repair.edits.iter();
        let joins = |edit: &&Edit| {
            matches!(edit.strategy, Strategy::Merge | Strategy::Split) || matches!(edit.code, 106)
        };
        let parts = draft.parts.iter().enumerate();
        Account {
            draft,
            repair,
            pairing: pair_calls(draft),
            messages: edits.clone().map(|edit| edit.message).collect(),
            joined: edits.clone().filter(joins).map(|edit| edit.message).collect(),
            ids: edits.flat_map(|edit| &edit.ids).map(String::as_str).collect(),
            parts: parts.map(|(at, part)| ((part.span.start, part.span.end), at)).collect(),
        }
    }

    /// The message of a part.
    fn message_of(&self, part: usize) -> usize {
        self.draft.messages.partition_point(|message| message.last as usize <= part)
    }

    /// Whether an edit is about this part: about its message, its id, or the turn it answers.
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
            || turn.is_some_and(|turn| self.joined.contains(&turn))
    }

    /// The message that another one was joined with: it holds what is left of that one, or it is the
    /// last that stands before it.
    fn host(&self, message: usize) -> Option<usize> {
        let range = self.draft.messages[message].range();
        let came = |piece: &RepairedPart<'_>| {
            let key = (piece.part.span.start, piece.part.span.end);
            self.parts.get(&key).is_some_and(|part| range.contains(part))
        };
        let holder = self.repair.messages.iter().find(|slot| slot.parts.iter().any(came));
        let stands = |at: usize| self.repair.messages.iter().any(|slot| slot.origin == Some(at));
        let before = || (0..=message).rev().find(|at| stands(*at));
        let host = holder.and_then(|slot| slot.origin).or_else(before)?;
        (host < message && self.joined.contains(&host)).then_some(host)
    }

    fn names_piece(&self, piece: &RepairedPart<'_>) -> bool {
        piece.part.kind.id().is_some_and(|id| self.ids.contains(id))
    }

    /// Something that is not as it was and that no edit is about.
    fn unnamed(&self) -> Option<String> {
        let mut whole = vec![false; self.draft.messages.len()];
        let mut kept = vec![false; self.draft.parts.len()];
        let (mut placeholders, mut added) = (0, 0);
        for slot in self.repair.messages.iter() {
            added += usize::from(slot.origin.is_none());
            if !slot.touched {
                if let Some(origin) = slot.origin {
                    whole[origin] = true;
                }
                continue;
            }
            let slot = &*slot.with_parts(self.draft);
            for piece in &slot.parts {
                let key = (piece.part.span.start, piece.part.span.end);
                let part = self.parts.get(&key).copied();
                match (&piece.source, part) {
                    (PartSource::Input, Some(part)) => {
                        kept[part] = true;
                        let home = self.message_of(part);
                        // Neighbours may also be joined to a message that is new.
                        let joined = slot.origin.map_or(!self.joined.is_empty(), |origin| {
                            self.joined.contains(&origin)
                        });
                        let moved = slot.origin != Some(home) && !joined;
                        let changed = moved || !piece.patch.is_empty();
                        if changed && !self.names(part) && !self.names_piece(piece) {
                            return Some(format!("part {part} of [{home}] is moved or changed"));
                        }
                    }
                    (PartSource::Text(_), _) if matches!(piece.part.kind, PartKind::Answer(_)) => {
                        placeholders += 1;
                    }
                    (PartSource::Quote { .. } | PartSource::Media { .. }, Some(part)) => {
                        kept[part] |= matches!(piece.source, PartSource::Quote { .. });
                        if !self.names(part) {
                            return Some(format!("part {part} is quoted"));
                        }
                    }
                    _ => {}
                }
            }
            if let Some(what) = self.touched_for_nothing(slot) {
                return Some(what);
            }
        }
        for (at, message) in self.draft.messages.iter().enumerate().filter(|(at, _)| !whole[*at]) {
            let gone = message.range().find(|part| !kept[*part] && !self.names(*part));
            if let Some(part) = gone {
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
        // One edit may split a message into rounds of calls, each with its answers.
        let most = edits.filter(adds).count() + self.draft.parts.len() / 64;
        if added > most {
            return Some(format!("{added} messages added"));
        }
        self.out_of_order()
    }

    /// A message is written anew although no edit is about it and nothing came into it.
    fn touched_for_nothing(&self, slot: &RepairedMessage<'_>) -> Option<String> {
        let origin = slot.origin.filter(|origin| !self.messages.contains(origin))?;
        let message = &self.draft.messages[origin];
        if slot.role_changed
            || slot.without_id && !self.messages.contains(&origin.saturating_sub(1))
        {
            return Some(format!("[{origin}] has another role or no id"));
        }
        let mut own = Vec::new();
        let mut others = 0;
        for piece in &slot.parts {
            let key = (piece.part.span.start, piece.part.span.end);
            let part = self.parts.get(&key).copied().filter(|part| message.range().contains(part));
            match part.filter(|_| piece.source == PartSource::Input) {
                Some(part) => own.push(part),
                None => others += 1,
            }
        }
        let ids = own.iter().any(|&part| self.names(part))
            || slot.parts.iter().any(|piece| self.names_piece(piece));
        if others == 0 && own.len() == message.range().len() && !ids && !slot.without_id {
            return Some(format!("[{origin}] is written anew for nothing"));
        }
        // What comes in goes between what is there.
        (!own.is_sorted()).then(|| format!("the parts of [{origin}] change their order"))
    }

    /// Messages that no edit is about follow each other as they did.
    fn out_of_order(&self) -> Option<String> {
        // A turn of chat messages that receives a result is written as several, each calling message
        // followed by its own results.
        let chat = self.draft.layout() == MessageLayout::Chat;
        let receives = |group: &&Turn| {
            let calls = &self.pairing.calls[group.calls().clone()];
            group.messages().len() > 1 && calls.iter().any(|call| self.names(call.part()))
        };
        let turns: Vec<&Turn> = self.pairing.turns.iter().filter(receives).collect();
        let parted = |origin: usize| {
            let holds =
                |turn: &&Turn| turn.messages().contains(&origin) || turn.home().contains(&origin);
            chat && turns.iter().any(holds)
        };
        let moves = |origin: usize| {
            parted(origin)
                || self.messages.contains(&origin)
                || self.draft.messages[origin].range().any(|part| self.names(part))
        };
        let named =
            |slot: &RepairedMessage<'_>| slot.parts.iter().any(|piece| self.names_piece(piece));
        let slots = self.repair.messages.iter().filter(|slot| !named(slot));
        let origins = slots.filter_map(|slot| slot.origin);
        let still: Vec<usize> = origins.filter(|origin| !moves(*origin)).collect();
        (!still.is_sorted()).then(|| format!("messages change their order: {still:?}"))
    }
}

/// A message or a part that the repair kept, and that is written in other bytes.
fn unlike(case: &Case, draft: &Draft<'_>, repair: &Repair<'_>, fixed: &str) -> Option<String> {
    let after = read(fixed, case.wire, outline_options(case.profile)).ok()?;
    let after = &after.draft;
    if after.messages.len() != repair.messages.len() {
        return Some(format!("{} slots, {} written", repair.messages.len(), after.messages.len()));
    }
    let halves = |span: Span| {
        draft.body.surrogates.iter().any(|it| it.start < span.end && it.end > span.start)
    };
    for (slot, message) in repair.messages.iter().zip(&after.messages) {
        let written = message.span.of(fixed);
        let Some(origin) = slot.origin.filter(|at| !halves(draft.messages[*at].span)) else {
            continue;
        };
        let before = draft.messages[origin].span.of(draft.source);
        if !slot.touched {
            if written != before {
                return Some(format!("[{origin}] {before}\nis written as {written}"));
            }
            continue;
        }
        for piece in slot.parts.iter().filter(|piece| piece.source == PartSource::Input) {
            let text = piece.part.span.of(draft.source);
            // An edit of a message that is all one part changes the part.
            let whole = piece.part.span == draft.messages[origin].span;
            let other = slot.without_id || slot.role_changed || halves(piece.part.span);
            let changed = !piece.patch.is_empty() || whole || other;
            // Strings are joined to one.
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

/// A field that no repair has to do with, and that is not what it was.
fn lost_field(before: &str, written: &str) -> Option<String> {
    const REPAIRED: [&str; 13] = [
        "role",
        "content",
        "parts",
        "tool_calls",
        "reasoning_content",
        "id",
        "output",
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
