//! What an approval says about a call without a result: whether it can have run.

use std::collections::HashMap;

use foxwedge_core::{
    Draft, MissingAnswer, NewText, PartKind, PartSource, PlaceholderLanguage, RepairedMessage,
    placeholder_text,
};
use foxwedge_json::{field_text, field_value};

/// The text of a placeholder for a call that never ran, or that the user denied. `text` is what it
/// would be otherwise.
pub(super) fn text_of_unstarted(missing: MissingAnswer, text: &str) -> &'static str {
    let is_english = text.is_ascii();
    let language =
        if is_english { PlaceholderLanguage::English } else { PlaceholderLanguage::Chinese };
    placeholder_text(missing, language)
}

/// The approvals in a `ModelMessage` list, by the id of their call: given, denied, or open.
pub(super) struct ListApprovals(HashMap<String, Option<bool>>);

impl ListApprovals {
    pub(super) fn of(draft: &Draft<'_>) -> ListApprovals {
        let source = draft.source;
        let (mut calls, mut decisions) = (HashMap::new(), HashMap::new());
        for part in draft.parts.iter().filter(|part| matches!(part.kind, PartKind::Other)) {
            let text = |key: &str| field_text(source, part.span, key);
            let Some(id) = text("approvalId") else { continue };
            match text("toolCallId") {
                Some(call) => drop(calls.insert(call.into_owned(), id)),
                None => {
                    let approved = field_value(source, part.span, "approved");
                    decisions.insert(id, approved.is_some_and(|it| it.of(source) == "true"));
                }
            }
        }
        let decided = |id| decisions.get(&id).copied();
        ListApprovals(calls.into_iter().map(|(call, id)| (call, decided(id))).collect())
    }

    /// Corrects the placeholders of calls that the user did not approve.
    pub(super) fn correct_placeholders(&self, message: &mut RepairedMessage<'_>) {
        for repaired in &mut message.parts {
            let (PartSource::Text(text), PartKind::Answer(answer)) =
                (repaired.source(), &repaired.part.kind)
            else {
                continue;
            };
            let missing = match answer.id.as_deref().and_then(|id| self.0.get(id)) {
                Some(None) => MissingAnswer::NotStarted,
                Some(Some(false)) => MissingAnswer::Denied,
                Some(Some(true)) | None => continue,
            };
            let text = text_of_unstarted(missing, text);
            repaired.set_source(PartSource::Text(NewText::Fixed(text)));
        }
    }
}
