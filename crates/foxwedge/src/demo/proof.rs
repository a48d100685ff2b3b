//! Proofs about a repair, derived from its bytes.

use foxwedge_core::{CheckOptions, PartKind, Repair, Rule, check, explain, is_placeholder};
use foxwedge_formats::OutlinedDocument;

use super::{draw::json_text, histories::DemoHistory};

/// Properties of a repair that the demo proves.
pub(super) struct RepairProof {
    /// The repaired history, read again, has no finding.
    pub(super) valid: bool,
    /// Repairing it again changes nothing.
    pub(super) idempotent: bool,
    /// How many messages of the input are in the output, byte for byte.
    pub(super) kept: usize,
    /// How many texts and real tool results the input has.
    pub(super) text_count: usize,
    /// All of them are in the output.
    pub(super) conserved: bool,
    /// The rule that explains the provider's error, if it is among the findings.
    pub(super) explained: Option<&'static Rule>,
}

impl RepairProof {
    /// Checks the written output, not the intended edits.
    pub(super) fn of(
        history: &DemoHistory,
        before: &OutlinedDocument<'_>,
        after: &OutlinedDocument<'_>,
        options: &CheckOptions,
        repair: &Repair<'_>,
    ) -> RepairProof {
        let (again, second) = after.fix(options);
        let texts = texts_and_answers(before);
        let output = after.draft.source;
        RepairProof {
            valid: !repair.before.is_clean() && check(&after.draft, options).is_clean(),
            idempotent: second.is_untouched() && again.to_string() == output,
            kept: count_kept(before, after),
            text_count: texts.len(),
            conserved: texts.iter().all(|text| output.contains(text.as_str())),
            explained: explained_rule(history, repair),
        }
    }

    /// Whether every property holds.
    pub(super) fn holds(&self) -> bool {
        self.valid && self.idempotent && self.kept > 0 && self.conserved && self.explained.is_some()
    }
}

/// Counts messages of the input that are in the output; each message of the output counts once.
fn count_kept(before: &OutlinedDocument<'_>, after: &OutlinedDocument<'_>) -> usize {
    let mut left: Vec<&str> =
        after.draft.messages.iter().map(|message| message.span.of(after.draft.source)).collect();
    let mut kept = 0;
    for message in &before.draft.messages {
        let text = message.span.of(before.draft.source);
        if let Some(at) = left.iter().position(|other| *other == text) {
            left.swap_remove(at);
            kept += 1;
        }
    }
    kept
}

/// Every text and every real tool result of a history.
fn texts_and_answers(reading: &OutlinedDocument<'_>) -> Vec<String> {
    let source = reading.draft.source;
    let texts = reading.draft.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text(_) => Some(json_text(part.span.of(source))),
        PartKind::Answer(answer) => {
            let content = answer.content.of(source);
            (!is_placeholder(content)).then(|| json_text(content))
        }
        _ => None,
    });
    texts.filter(|text| !text.is_empty()).collect()
}

/// The finding's rule that the provider's error message is about.
fn explained_rule(history: &DemoHistory, repair: &Repair<'_>) -> Option<&'static Rule> {
    let explanation = explain(history.refusal)?;
    let codes = std::iter::once(&explanation.code).chain(explanation.other_codes);
    let mut rules = codes.filter_map(|code| {
        repair.before.findings.iter().map(|finding| finding.rule).find(|rule| rule.code == *code)
    });
    rules.next()
}
