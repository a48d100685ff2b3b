//! What is proven about a repair, from its bytes.

use foxwedge_core::{CheckOptions, PartKind, Repair, Rule, check, explain, is_placeholder};
use foxwedge_formats::OutlinedDocument;

use super::{draw::json_text, histories::DemoHistory};

/// What is proven about a repair.
pub(super) struct RepairProof {
    /// The result, read again, has no finding.
    pub(super) valid: bool,
    /// Repairing the result changes nothing.
    pub(super) idempotent: bool,
    /// How many messages of the input are in the result, byte for byte.
    pub(super) kept: usize,
    /// How many texts and real answers the input holds.
    pub(super) text_count: usize,
    /// All of them are in the result.
    pub(super) conserved: bool,
    /// The rule that the provider's words lead to, if it was found.
    pub(super) explained: Option<&'static Rule>,
}

impl RepairProof {
    /// Looks at what was written, never at what was meant to be.
    pub(super) fn of(
        story: &DemoHistory,
        before: &OutlinedDocument<'_>,
        after: &OutlinedDocument<'_>,
        question: &CheckOptions,
        repair: &Repair<'_>,
    ) -> RepairProof {
        let (again, second) = after.fix(question);
        let said = texts_and_answers(before);
        let output = after.draft.source;
        RepairProof {
            valid: !repair.before.is_clean() && check(&after.draft, question).is_clean(),
            idempotent: second.is_untouched() && again.to_string() == output,
            kept: count_kept(before, after),
            text_count: said.len(),
            conserved: said.iter().all(|words| output.contains(words.as_str())),
            explained: explained_rule(story, repair),
        }
    }

    /// Whether all of it is true.
    pub(super) fn holds(&self) -> bool {
        self.valid && self.idempotent && self.kept > 0 && self.conserved && self.explained.is_some()
    }
}

/// Messages of the input that the result still holds; each message of the result counts once.
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

/// Every text and every real answer, in words.
fn texts_and_answers(reading: &OutlinedDocument<'_>) -> Vec<String> {
    let source = reading.draft.source;
    let words = reading.draft.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text(_) => Some(json_text(part.span.of(source))),
        PartKind::Answer(answer) => {
            let content = answer.content.of(source);
            (!is_placeholder(content)).then(|| json_text(content))
        }
        _ => None,
    });
    words.filter(|words| !words.is_empty()).collect()
}

/// The rule among the findings that the provider's words are about.
fn explained_rule(story: &DemoHistory, repair: &Repair<'_>) -> Option<&'static Rule> {
    let explanation = explain(story.refusal)?;
    let codes = std::iter::once(&explanation.code).chain(explanation.other_codes);
    let mut rules = codes.filter_map(|code| {
        repair.before.findings.iter().map(|finding| finding.rule).find(|rule| rule.code == *code)
    });
    rules.next()
}
