//! Calls at the end of a list that wait for an approval. They have no result on purpose.

use std::collections::HashSet;

use foxwedge_core::{Draft, MessageFlags, Part, PartKind, pair_calls};
use foxwedge_json::field_text;

/// Leaves the calls of the last reply alone whose approval is open, or whose tool has not yet run
/// after it. As soon as the user continues, they need a result like all others.
pub(crate) fn keep_waiting_calls(draft: &mut Draft<'_>) {
    let is_reply = |at: &usize| draft.messages[*at].role.is_assistant();
    let Some(last) = (0..draft.messages.len()).rev().find(is_reply) else { return };
    let following = draft.messages.get(last + 1..).unwrap_or(&[]);
    let goes_on = following
        .iter()
        .any(|message| message.flags.has(MessageFlags::NO_RESULTS) || message.role.is_system());
    let reply = draft.messages[last].range();
    let requested = requested_approvals(draft, draft.parts_of(&draft.messages[last]));
    let waits = |part: &Part<'_>| {
        matches!(part.kind, PartKind::Call(_))
            && (part.kind.id().is_some_and(|id| requested.contains(id))
                || field_text(draft.source, part.span, "state")
                    .is_some_and(|state| state.starts_with("approval-")))
    };
    if goes_on || !draft.parts.slice(reply.clone()).iter().any(waits) {
        return;
    }
    let pairing = pair_calls(draft);
    let open = pairing.calls.iter().filter(|call| call.answer().is_none());
    let open = open.map(|call| call.part()).filter(|at| reply.contains(at));
    let waiting: Vec<usize> = open.filter(|at| waits(&draft.parts[*at])).collect();
    for at in waiting {
        draft.parts[at].kind = PartKind::Other;
    }
}

/// The ids of the calls for which a `ModelMessage` requests an approval.
fn requested_approvals(draft: &Draft<'_>, parts: &[Part<'_>]) -> HashSet<String> {
    let others = parts.iter().filter(|part| matches!(part.kind, PartKind::Other));
    let requests = others.filter(|part| {
        field_text(draft.source, part.span, "type").as_deref() == Some("tool-approval-request")
    });
    let ids = requests.filter_map(|part| field_text(draft.source, part.span, "toolCallId"));
    ids.map(|id| id.into_owned()).collect()
}
