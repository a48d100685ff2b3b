//! Documents to findings with their places.

use std::collections::HashMap;

use foxwedge_core::{Edit, Finding, check, pair, repair};

use crate::{
    outcome::{Found, Judged},
    place::positions,
    report::excerpt,
    source::{Document, Source},
};

/// What a report wants to know about each finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Look {
    /// What a repair would do.
    pub(crate) edits: bool,
    /// The pair, drawn, for so many findings of a file.
    pub(crate) excerpts: usize,
}

/// Says what is wrong with the documents of a target.
pub(crate) fn judge(source: &Source<'_>, look: Look) -> Judged {
    let mut judged = Judged {
        failures: source.failures.clone(),
        notes: source.notes.clone(),
        ..Judged::default()
    };
    let mut places = Vec::new();
    for document in &source.documents {
        judged.messages += document.reading.draft.messages.len();
        if !judged.profiles.contains(&document.question.profile) {
            judged.profiles.push(document.question.profile);
        }
        let report = check(&document.reading.draft, &document.question);
        if !report.is_clean() {
            note(document, report.findings, look, &mut judged.findings, &mut places);
        }
    }
    let offsets: Vec<usize> = places.iter().flat_map(|(at, partner)| [*at, *partner]).collect();
    let positions = positions(source.text, &offsets);
    for (found, pair) in judged.findings.iter_mut().zip(positions.chunks_exact(2)) {
        found.position = pair[0];
        found.partner = found.finding.partner.map(|_| pair[1]);
    }
    judged
}

fn note(
    document: &Document<'_>,
    findings: Vec<Finding>,
    look: Look,
    all: &mut Vec<Found>,
    places: &mut Vec<(usize, usize)>,
) {
    let draft = &document.reading.draft;
    let mut edits = Edits::default();
    if look.edits {
        edits.fill(repair(draft, &document.question).edits, &findings);
    }
    let pairing = (all.len() < look.excerpts).then(|| pair(draft));
    for finding in findings {
        let excerpt = pairing
            .as_ref()
            .filter(|_| all.len() < look.excerpts)
            .map(|pairing| excerpt::of(draft, pairing, &finding));
        let at = document.base + finding.at.span.start as usize;
        let partner = finding.partner.map_or(at, |p| document.base + p.span.start as usize);
        places.push((at, partner));
        all.push(Found {
            edits: edits.take(&finding),
            finding,
            position: foxwedge_dialect::Position { line: 1, column: 1 },
            partner: None,
            wire: draft.wire,
            excerpt,
        });
    }
}

/// The edits of a repair, by what they belong to.
#[derive(Default)]
struct Edits {
    /// Edits and findings of one key belong together in order.
    by_key: HashMap<Key, (Vec<Edit>, usize, usize)>,
}

/// Rule, message, and the call where one is named.
type Key = (u16, usize, Option<String>);

impl Edits {
    fn fill(&mut self, edits: Vec<Edit>, findings: &[Finding]) {
        for edit in edits {
            let key = (edit.code, edit.message, edit.ids.first().cloned());
            self.by_key.entry(key).or_default().0.push(edit);
        }
        for finding in findings {
            if let Some((_, expected, _)) = self.slot(finding) {
                *expected += 1;
            }
        }
    }

    fn slot(&mut self, finding: &Finding) -> Option<&mut (Vec<Edit>, usize, usize)> {
        let (code, message) = (finding.rule.code, finding.at.message);
        let exact = (code, message, finding.ids.first().cloned());
        let key = if self.by_key.contains_key(&exact) { exact } else { (code, message, None) };
        self.by_key.get_mut(&key)
    }

    /// The edits of a finding: its own, or the one it shares with the others of its place. The
    /// last finding of a place takes what is left, so that every edit is shown and none is
    /// repeated for each of ten thousand findings.
    fn take(&mut self, finding: &Finding) -> Vec<Edit> {
        let Some((edits, expected, taken)) = self.slot(finding) else { return Vec::new() };
        let first = (*taken).min(edits.len().saturating_sub(1));
        *taken += 1;
        let end = if taken >= expected { edits.len() } else { first + 1 };
        edits.get(first..end).unwrap_or(&[]).to_vec()
    }
}
