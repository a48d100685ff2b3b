//! Moves answers that are messages of their own (chat messages, Responses items).

use super::{
    Piece, Slot,
    pairs::{Decisions, Verdict, invented, quoted},
    work::Work,
};
use crate::{
    draft::{Content, Draft, Layout, Role},
    pair::{Fate, Pairing, call_at},
};

/// Puts every answer where it was decided. Answers keep their bytes; quotes follow the run of
/// answers they stood in, so that the run stays whole. Where answers are chat messages, a turn that
/// receives one is told as several: each calling message, directly followed by its own answers.
pub(super) fn relocate<'a>(
    work: &mut Work<'_, 'a>,
    draft: &Draft<'a>,
    pairing: &Pairing,
    decisions: &Decisions,
) {
    let mut old: Vec<Option<Slot<'a>>> =
        std::mem::take(&mut work.slots).into_iter().map(Some).collect();
    let mut fates = vec![None; old.len()];
    // What each turn receives: (call, answer).
    let mut receives: Vec<Vec<(usize, Slot<'a>)>> = vec![Vec::new(); pairing.groups.len()];
    let mut quotes: Vec<Option<Slot<'a>>> = vec![None; old.len()];
    for (answer, &verdict) in pairing.answers.iter().zip(&decisions.verdicts) {
        fates[answer.message] = answer.fate.call();
        if verdict == Verdict::Stay {
            continue;
        }
        let Some(slot) = old[answer.message].take() else { continue };
        match verdict {
            Verdict::Stay | Verdict::Remove => {}
            Verdict::Move(call) => receives[pairing.calls[call].group].push((call, slot)),
            Verdict::Quote => quotes[answer.message] = Some(quote(work, slot, answer.fate)),
        }
    }
    for &call in &decisions.invent {
        let paired = pairing.calls[call];
        if let Some(outline) = call_at(draft, paired.part) {
            let slot = Slot::new(Role::Answer, Content::Text, vec![invented(work, outline)]);
            receives[paired.group].push((call, slot));
        }
    }
    let mut slots = Vec::with_capacity(old.len() + decisions.invent.len());
    let running = decisions.running.unwrap_or(usize::MAX);
    let early: Vec<Slot<'a>> = quotes.iter_mut().skip(running).filter_map(Option::take).collect();
    let mut early = Some(early);
    let mut waiting = Vec::new();
    let mut group = 0;
    let mut at = 0;
    while at < old.len() {
        if let Some(quote) = quotes[at].take() {
            waiting.push(quote);
        }
        if at == running {
            waiting.extend(early.take().into_iter().flatten());
        }
        if let Some(slot) = old[at].take() {
            if slot.role != Role::Answer {
                slots.append(&mut waiting);
            }
            slots.push(slot);
        }
        at += 1;
        // The end of a turn: here its answers belong. Those that are there keep their order.
        while pairing.groups.get(group).is_some_and(|turn| turn.messages.end == at) {
            let turn = &pairing.groups[group];
            let mut received = std::mem::take(&mut receives[group]);
            received.sort_by_key(|(call, _)| *call);
            group += 1;
            if received.is_empty() {
                continue;
            }
            let mut home: Vec<(usize, Slot<'a>)> = Vec::new();
            for index in turn.home.clone() {
                waiting.extend(quotes[index].take());
                if let Some(slot) = old[index].take() {
                    home.push((fates[index].unwrap_or(usize::MAX), slot));
                }
            }
            for (call, slot) in received {
                let at = home.iter().position(|(other, _)| *other > call);
                home.insert(at.unwrap_or(home.len()), (call, slot));
            }
            // Each message of the turn is followed by its own answers.
            if draft.layout() == Layout::Chat {
                home.sort_by_key(|(call, _)| {
                    pairing.calls.get(*call).map_or(usize::MAX, |it| it.message)
                });
            }
            let mut home = home.into_iter().peekable();
            if draft.layout() == Layout::Chat {
                let messages = slots.split_off(slots.len().saturating_sub(turn.messages.len()));
                for (message, slot) in turn.messages.clone().zip(messages) {
                    slots.push(slot);
                    let own = |call: usize| pairing.calls.get(call).map(|call| call.message);
                    while let Some((_, answer)) =
                        home.next_if(|(call, _)| own(*call) == Some(message))
                    {
                        slots.push(answer);
                    }
                }
            }
            slots.extend(home.map(|(_, slot)| slot));
            at = at.max(turn.home.end);
        }
    }
    slots.append(&mut waiting);
    work.slots = slots;
}

fn quote<'a>(work: &Work<'_, 'a>, mut slot: Slot<'a>, fate: Fate) -> Slot<'a> {
    slot.open(work.input);
    let pieces: Vec<Piece<'a>> = slot
        .pieces
        .into_iter()
        .filter(Piece::is_answer)
        .map(|piece| quoted(work, piece, fate))
        .collect();
    Slot::new(Role::User, Content::List, pieces)
}
