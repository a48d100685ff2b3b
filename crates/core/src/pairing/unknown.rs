//! Turns that hold something of an unknown type. It may be a call, a result, or what joins them, so
//! nothing in its turn is paired, moved or answered.

use std::{collections::HashMap, ops::Range};

use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

use crate::draft::{Draft, DraftFeatures, Message, MessageFlags, MessageLayout, Part, PartKind};

/// The messages of turns with something of an unknown type, and of all turns that share an id with
/// one of them or whose id something unknown names. Adjacent messages form one range.
pub(super) fn unknown_turns(draft: &Draft<'_>) -> Vec<Range<usize>> {
    if !draft.features.intersects(DraftFeatures::UNKNOWN) {
        return Vec::new();
    }
    let mut by_id: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut waiting: Vec<usize> = Vec::new();
    for (at, message) in draft.messages.iter().enumerate() {
        for part in draft.parts_of(message) {
            match &part.kind {
                PartKind::Call(_) | PartKind::Answer(_) => {
                    part.kind.id().into_iter().for_each(|id| by_id.entry(id).or_default().push(at));
                }
                PartKind::Unknown => waiting.push(at),
                _ => {}
            }
        }
    }
    let mut found = vec![false; draft.messages.len()];
    while let Some(at) = waiting.pop() {
        if found[at] {
            continue;
        }
        for at in turn_around(draft, at) {
            found[at] = true;
            for part in draft.parts_of(&draft.messages[at]) {
                visit_ids(draft.source, part, &mut |id| {
                    waiting.extend(by_id.remove(id).into_iter().flatten());
                });
            }
        }
    }
    let mut turns: Vec<Range<usize>> = Vec::new();
    for at in (0..found.len()).filter(|&at| found[at]) {
        match turns.last_mut().filter(|turn| turn.end == at) {
            Some(turn) => turn.end = at + 1,
            None => turns.push(at..at + 1),
        }
    }
    turns
}

/// Whether one of these ranges contains a message.
pub(super) fn contains(turns: &[Range<usize>], message: usize) -> bool {
    let at = turns.partition_point(|turn| turn.end <= message);
    turns.get(at).is_some_and(|turn| turn.contains(&message))
}

/// Calls `visit` with the id of a part. Which field of something unknown holds an id is unknown,
/// too, so each of its strings may be one.
fn visit_ids(source: &str, part: &Part<'_>, visit: &mut dyn FnMut(&str)) {
    match &part.kind {
        PartKind::Unknown => {
            // Whoever read the document has checked its syntax.
            let _ = visit_strings(&mut JsonScanner::within(source, part.span), visit);
        }
        kind => kind.id().into_iter().for_each(visit),
    }
}

fn visit_strings(scan: &mut JsonScanner<'_>, visit: &mut dyn FnMut(&str)) -> ScanResult<()> {
    match scan.shape()? {
        JsonShape::Object => drop(scan.object(|scan, _, _| visit_strings(scan, visit))?),
        JsonShape::Array => drop(scan.array(|scan, _| visit_strings(scan, visit))?),
        JsonShape::String => visit(&scan.string()?.text(scan.source())),
        _ => drop(scan.skip()?),
    }
    Ok(())
}

/// The turn that a message belongs to: the model's messages, and the results that follow them.
fn turn_around(draft: &Draft<'_>, at: usize) -> Range<usize> {
    let role = |at: usize| draft.messages.get(at).map(|message| message.role);
    let can_hold_results =
        |at: usize| draft.messages.get(at).is_some_and(Message::can_hold_results);
    let is_model = |at: usize| role(at).is_some_and(|role| role.is_assistant());
    let belongs = |at: usize| match draft.layout() {
        MessageLayout::Items => role(at).is_some_and(|role| !role.is_user() && !role.is_system()),
        MessageLayout::Chat | MessageLayout::Blocks => is_model(at),
    };
    let (mut start, mut end) = (at, at + 1);
    if draft.messages.get(at).is_some_and(|message| message.flags.has(MessageFlags::NO_RESULTS)) {
        return at..at + 1;
    }
    if draft.layout() != MessageLayout::Items && !is_model(at) {
        // The results of the model's last calls.
        while start > 0 && !is_model(start) && can_hold_results(start) {
            start -= 1;
        }
    }
    while start > 0 && belongs(start - 1) {
        start -= 1;
    }
    while (belongs(at) || draft.layout() == MessageLayout::Items) && belongs(end) {
        end += 1;
    }
    // The first message of the user holds the results.
    if can_hold_results(end) && draft.layout() == MessageLayout::Blocks && is_model(end - 1) {
        end += 1;
    }
    start..end
}
