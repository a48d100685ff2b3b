//! Calls that the provider runs itself have their answer in the same assistant turn. A tool of the
//! provider may call tools of the client: then the turn continues after their answers.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use crate::sorting::sort_by_key;
use crate::{
    check::RuleContext,
    draft::{Draft, DraftFeatures, Message, MessageFlags, MessageLayout, Part, PartKind},
    profile::{Profile, RuleEvidence},
};

/// The providers with rules about such calls.
pub(super) const PROVIDERS: &[(Profile, RuleEvidence)] = &[
    (Profile::OpenaiResponses, RuleEvidence::Inferred),
    (Profile::Anthropic, RuleEvidence::Documented),
    (Profile::Bedrock, RuleEvidence::Inferred),
    (Profile::GeminiInteractions, RuleEvidence::Inferred),
    (Profile::Strict, RuleEvidence::Documented),
];

/// Whether the profile's provider has such calls in this layout.
pub(crate) fn are_judged(context: &RuleContext<'_, '_>) -> bool {
    match context.profile() {
        Profile::Strict => true,
        Profile::OpenaiResponses | Profile::GeminiInteractions => {
            context.layout() == MessageLayout::Items
        }
        _ => context.layout() == MessageLayout::Blocks,
    }
}

/// Whether a message continues an assistant turn: assistant messages, and answers of the client.
fn continues_turn(draft: &Draft<'_>, message: &Message) -> bool {
    let parts = draft.parts_of(message);
    let answers =
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, PartKind::Answer(_)));
    message.role.is_assistant() || message.role.is_user() && answers
}

/// The assistant turns, including the client's answers inside them.
fn assistant_turns(draft: &Draft<'_>) -> Vec<Range<usize>> {
    let mut turns: Vec<Range<usize>> = Vec::new();
    for (at, _) in draft.messages.iter().enumerate().filter(|(_, it)| continues_turn(draft, it)) {
        match turns.last_mut().filter(|turn| turn.end == at) {
            Some(turn) => turn.end = at + 1,
            None => turns.push(at..at + 1),
        }
    }
    turns
}

/// Server calls (message, part) without an answer in their turn that are no longer running:
/// something follows other than client answers and calls that such a call makes.
pub(crate) fn dead_calls(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut open_calls: Vec<(usize, usize)> = Vec::new();
    let mut continued = vec![false; draft.messages.len()];
    for turn in assistant_turns(draft) {
        let open = unanswered_calls(draft, turn.clone());
        let ids = open.iter().filter_map(|&(_, part)| draft.parts[part].kind.server_id());
        let ids: HashSet<&str> = ids.collect();
        for at in turn {
            continued[at] = only_calls_of(draft, &draft.messages[at], &ids);
        }
        open_calls.extend(open);
    }
    // The last message that ends an open call: more assistant content, or user content.
    let moved_on = draft.messages.iter().enumerate().rposition(|(at, message)| {
        let has_other_content =
            || draft.parts_of(message).iter().any(|part| !matches!(part.kind, PartKind::Answer(_)));
        message.role.is_assistant() && !continued[at]
            || message.role.is_user() && has_other_content()
    });
    open_calls.retain(|&(at, _)| moved_on.is_some_and(|last| last > at));
    open_calls
}

/// The server calls (message, part) of a turn without an answer in it.
fn unanswered_calls(draft: &Draft<'_>, turn: Range<usize>) -> Vec<(usize, usize)> {
    let parts = || {
        let messages = turn.clone().zip(&draft.messages[turn.clone()]);
        messages.flat_map(|(at, message)| message.range().map(move |part| (at, part)))
    };
    let answered: HashSet<&str> = parts()
        .filter_map(|(_, part)| match &draft.parts[part].kind {
            kind @ PartKind::ServerAnswer(_) => kind.server_id(),
            _ => None,
        })
        .collect();
    let open = parts().filter(|&(_, part)| match &draft.parts[part].kind {
        kind @ PartKind::ServerCall(_) => kind.server_id().is_none_or(|id| !answered.contains(id)),
        _ => false,
    });
    open.collect()
}

/// Whether a message holds nothing but calls that these server calls make.
fn only_calls_of(draft: &Draft<'_>, message: &Message, owners: &HashSet<&str>) -> bool {
    let parts = draft.parts_of(message);
    let is_owned = |part: &Part<'_>| {
        let owner = draft.owned_call(part).and_then(|call| call.owner.as_deref());
        matches!(part.kind, PartKind::Call(_)) && owner.is_some_and(|id| owners.contains(id))
    };
    !owners.is_empty() && !parts.is_empty() && parts.iter().all(is_owned)
}

/// Calls of the provider (message, part) whose output is an item of its own and is missing, although
/// the conversation went on.
pub(crate) fn open_items(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let is_answer = |part: &&Part<'_>| matches!(part.kind, PartKind::ServerAnswer(_));
    let answers = draft.message_parts().filter(is_answer);
    let answered: HashSet<&str> = answers.filter_map(|part| part.kind.server_id()).collect();
    let moved_on = draft.messages.iter().rposition(|message| message.role.is_user());
    let open = |(at, message): (usize, &Message)| {
        let part = message.first as usize;
        let id = draft.parts.get(part)?.kind.server_id();
        let is_open = message.flags.has(MessageFlags::HOSTED_PAIR)
            && id.is_none_or(|id| !answered.contains(id))
            && moved_on.is_some_and(|last| last > at);
        is_open.then_some((at, part))
    };
    draft.messages.iter().enumerate().filter_map(open).collect()
}

/// Dead server calls, with the client calls that they made: providers accept neither alone.
pub(crate) fn dead_calls_with_owned(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut dead = dead_calls(draft);
    if dead.is_empty() || draft.body.owned_calls.is_empty() {
        return dead;
    }
    let ids = dead.iter().filter_map(|&(_, part)| draft.parts.get(part)?.kind.server_id());
    let ids: HashSet<&str> = ids.collect();
    for (at, message) in draft.messages.iter().enumerate() {
        dead.extend(message.range().map(|part| (at, part)).filter(|&(_, part)| {
            let part = &draft.parts[part];
            let owner = draft.owned_call(part).and_then(|call| call.owner.as_deref());
            matches!(part.kind, PartKind::Call(_)) && owner.is_some_and(|id| ids.contains(id))
        }));
    }
    sort_by_key(&mut dead, |place| *place);
    dead
}

/// Client calls (message, part) whose maker is nowhere in the list. The server, or a summary of the
/// provider, may hold it.
pub(crate) fn ownerless_calls(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let is_summary = |message: &Message| message.flags.has(MessageFlags::COMPACTION);
    let is_continued = draft.body.stateful || draft.messages.iter().any(is_summary);
    if draft.body.owned_calls.is_empty() || is_continued {
        return found;
    }
    let is_call = |part: &&Part<'_>| matches!(part.kind, PartKind::ServerCall(_));
    let makers = draft.message_parts().filter(is_call);
    let makers: HashSet<&str> = makers.filter_map(|part| part.kind.server_id()).collect();
    for (at, message) in draft.messages.iter().enumerate() {
        found.extend(message.range().map(|part| (at, part)).filter(|&(_, part)| {
            let part = &draft.parts[part];
            let owner = draft.owned_call(part).and_then(|call| call.owner.as_deref());
            matches!(part.kind, PartKind::Call(_))
                && owner.is_some_and(|id| !id.is_empty() && !makers.contains(id))
        }));
    }
    found
}

/// A server answer in the user message directly behind its call, which stands in a message of the
/// assistant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StrayServerAnswer {
    /// Message and part of the answer.
    pub(crate) answer: (usize, usize),
    /// Message and part of its call.
    pub(crate) call: (usize, usize),
}

/// The server answers that can be moved to their calls.
pub(crate) fn stray_answers(draft: &Draft<'_>) -> Vec<StrayServerAnswer> {
    let mut strays = Vec::new();
    if draft.layout() != MessageLayout::Blocks || !draft.features.intersects(DraftFeatures::SERVER)
    {
        return strays;
    }
    for (at, pair) in draft.messages.windows(2).enumerate() {
        let [before, message] = pair else { continue };
        if !before.role.is_assistant() || !message.role.is_user() {
            continue;
        }
        let is_answer = |part: &usize| matches!(draft.parts[*part].kind, PartKind::ServerAnswer(_));
        let mut open: HashMap<&str, usize> = HashMap::new();
        for part in before.range() {
            match &draft.parts[part].kind {
                kind @ PartKind::ServerCall(_) => {
                    open.extend(kind.server_id().map(|id| (id, part)));
                }
                kind @ PartKind::ServerAnswer(_) => {
                    kind.server_id().map(|id| open.remove(id));
                }
                _ => {}
            }
        }
        for part in message.range().filter(is_answer) {
            let call = draft.parts[part].kind.server_id().and_then(|id| open.remove(id));
            strays.extend(
                call.map(|call| StrayServerAnswer { answer: (at + 1, part), call: (at, call) }),
            );
        }
    }
    strays
}

/// Server answers (message, part) with no server call of that id before them in their turn.
pub(crate) fn orphan_answers(draft: &Draft<'_>) -> Vec<(usize, usize)> {
    let mut orphans = Vec::new();
    let items = draft.layout() == MessageLayout::Items;
    if items && draft.body.stateful {
        return orphans; // The call may be stored on the server.
    }
    let mut called: HashSet<&str> = HashSet::new();
    for (at, message) in draft.messages.iter().enumerate() {
        if !items && !continues_turn(draft, message) {
            called.clear();
        }
        for part in message.range() {
            match &draft.parts[part].kind {
                kind @ PartKind::ServerCall(_) if message.role.is_assistant() => {
                    called.extend(kind.server_id());
                }
                kind @ PartKind::ServerAnswer(_) => {
                    let has_call = kind.server_id().is_some_and(|id| called.contains(id));
                    if !has_call || !items && !message.role.is_assistant() {
                        orphans.push((at, part));
                    }
                }
                _ => {}
            }
        }
    }
    orphans
}
