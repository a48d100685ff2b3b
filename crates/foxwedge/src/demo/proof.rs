//! What is proven about a repair, from its bytes.

use foxwedge_core::{Kind, Question, Repair, Rule, check, explain, is_placeholder};
use foxwedge_dialect::Reading;

use super::{draw::words, stories::Story};

/// What is proven about a repair.
pub(super) struct Proof {
    /// The result, read again, has no finding.
    pub(super) sound: bool,
    /// Repairing the result changes nothing.
    pub(super) settled: bool,
    /// How many messages of the input are in the result, byte for byte.
    pub(super) kept: usize,
    /// How many texts and real answers the input holds.
    pub(super) said: usize,
    /// All of them are in the result.
    pub(super) conserved: bool,
    /// The rule that the provider's words lead to, if it was found.
    pub(super) explained: Option<&'static Rule>,
}

impl Proof {
    /// Looks at what was written, never at what was meant to be.
    pub(super) fn of(
        story: &Story,
        before: &Reading<'_>,
        after: &Reading<'_>,
        question: &Question,
        repair: &Repair<'_>,
    ) -> Proof {
        let (again, second) = after.fix(question);
        let said = said(before);
        let output = after.draft.source;
        Proof {
            sound: !repair.before.is_clean() && check(&after.draft, question).is_clean(),
            settled: second.is_untouched() && again.to_string() == output,
            kept: kept(before, after),
            said: said.len(),
            conserved: said.iter().all(|words| output.contains(words.as_str())),
            explained: explained(story, repair),
        }
    }

    /// Whether all of it is true.
    pub(super) fn holds(&self) -> bool {
        self.sound && self.settled && self.kept > 0 && self.conserved && self.explained.is_some()
    }
}

/// Messages of the input that the result still holds; each message of the result counts once.
fn kept(before: &Reading<'_>, after: &Reading<'_>) -> usize {
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
fn said(reading: &Reading<'_>) -> Vec<String> {
    let source = reading.draft.source;
    let words = reading.draft.parts.iter().filter_map(|part| match &part.kind {
        Kind::Text(_) => Some(words(part.span.of(source))),
        Kind::Answer(answer) => {
            let content = answer.content.of(source);
            (!is_placeholder(content)).then(|| words(content))
        }
        _ => None,
    });
    words.filter(|words| !words.is_empty()).collect()
}

/// The rule among the findings that the provider's words are about.
fn explained(story: &Story, repair: &Repair<'_>) -> Option<&'static Rule> {
    let explanation = explain(story.refusal)?;
    let codes = std::iter::once(&explanation.code).chain(explanation.also);
    let mut rules = codes.filter_map(|code| {
        repair.before.findings.iter().map(|finding| finding.rule).find(|rule| rule.code == *code)
    });
    rules.next()
}
