//! Documents to findings with their places.

use std::{collections::HashMap, ops::Range};

use foxwedge_core::{Edit, EditLog, Finding, pair_calls};
use foxwedge_formats::TextPosition;

use crate::{
    outcome::{FileReport, LocatedFinding, SessionRef},
    positions::positions,
    report::excerpt,
    source::{InputDocument, ParsedInput},
};

/// Findings of one rule that are listed for one file; the rest is counted.
const MAX_LISTED: usize = 20_000;
/// Steps of repairs that are told for one file, and those of the document that goes beyond.
const MAX_EDITS: usize = 20_000;

/// What a report wants to know about each finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ReportDetail {
    /// What a repair would do, for so many findings of a file.
    pub(crate) edits: usize,
    /// The pair, drawn, for so many findings of a file.
    pub(crate) excerpts: usize,
}

/// Says what is wrong with the documents of a target.
pub(crate) fn build_file_report(source: &ParsedInput<'_>, look: ReportDetail) -> FileReport {
    let mut judged = FileReport {
        failures: source.failures.clone(),
        notes: source.notes.clone(),
        session: source.session().map(SessionRef::of),
        health: source.documents.iter().map(InputDocument::health).max(),
        ..FileReport::default()
    };
    let mut offsets = Vec::new();
    for document in &source.documents {
        judged.messages += document.draft().messages.len();
        if !judged.profiles.contains(&document.check_options.profile) {
            judged.profiles.push(document.check_options.profile);
        }
        add_findings(document, look, &mut judged, &mut offsets);
    }
    let positions = positions(source.text, &offsets);
    for (found, pair) in judged.findings.iter_mut().zip(positions.chunks_exact(2)) {
        found.position = blank_line_position(&found.finding).unwrap_or(pair[0]);
        found.partner = found.finding.partner.map(|_| pair[1]);
    }
    judged
}

/// The place of a line in which nothing was left to point at: only its number is known, and stands
/// in the finding's message.
fn blank_line_position(finding: &Finding) -> Option<TextPosition> {
    let number =
        finding.message.strip_prefix("line ").filter(|_| finding.location.span.is_empty())?;
    let line = number.split(' ').next()?.parse().ok()?;
    Some(TextPosition { line, column: 1 })
}

/// Adds the findings of a document, and for each the offsets of its two halves.
fn add_findings(
    document: &InputDocument<'_>,
    look: ReportDetail,
    judged: &mut FileReport,
    offsets: &mut Vec<usize>,
) {
    let draft = document.draft();
    let (report, edits) = if judged.findings.len() < look.edits {
        document.report_and_edits()
    } else {
        (document.report(), EditLog::default())
    };
    if report.is_clean() {
        return;
    }
    // A file may hold many documents: all of them together list no more than one.
    let mut findings = report.findings;
    let mut earlier: HashMap<u16, usize> = HashMap::new();
    findings.retain(|finding| {
        let code = finding.rule.code;
        let earlier = earlier.entry(code).or_insert_with(|| judged.counts.of(code));
        *earlier += 1;
        *earlier <= MAX_LISTED
    });
    judged.counts.merge(&report.counts);
    let told = judged.edits.len() < MAX_EDITS && !findings.is_empty();
    let edits = if told { edits } else { EditLog::default() };
    let mut edits = GroupedEdits::new(edits, &findings, judged.edits.len());
    let pairing = (judged.findings.len() < look.excerpts).then(|| pair_calls(draft));
    judged.findings.reserve(findings.len());
    for finding in findings {
        let drawn = pairing.as_ref().filter(|_| judged.findings.len() < look.excerpts);
        let excerpt = drawn.map(|pairing| Box::new(excerpt::of(draft, pairing, &finding)));
        let at = document.offset + finding.location.span.start as usize;
        offsets.push(at);
        offsets.push(finding.partner.map_or(at, |p| document.offset + p.span.start as usize));
        judged.findings.push(LocatedFinding {
            edits: edits.take(&finding),
            finding,
            position: TextPosition { line: 1, column: 1 },
            partner: None,
            wire: draft.format,
            excerpt,
        });
    }
    judged.edits.append(&mut edits.all);
}

/// The edits of a repair, grouped by what they belong to: rule, message, and the call where one
/// is named.
struct GroupedEdits {
    /// In the order of the groups.
    all: Vec<Edit>,
    groups: Vec<EditGroup>,
    /// How many edits of other documents stand before them.
    shift: usize,
}

/// Edits and findings of one group belong together in order.
struct EditGroup {
    edits: Range<usize>,
    findings: usize,
    taken: usize,
}

type EditGroupKey<'k> = (u16, usize, Option<&'k str>);

fn edit_key(edit: &Edit) -> EditGroupKey<'_> {
    (edit.code, edit.message, edit.ids.first().map(String::as_str))
}

impl GroupedEdits {
    fn new(edits: EditLog, findings: &[Finding], shift: usize) -> GroupedEdits {
        let mut all: Vec<Edit> = edits.into_iter().collect();
        all.sort_by(|one, two| edit_key(one).cmp(&edit_key(two)));
        let mut groups = Vec::new();
        let mut start = 0;
        for group in all.chunk_by(|one, two| edit_key(one) == edit_key(two)) {
            let end = start + group.len();
            groups.push(EditGroup { edits: start..end, findings: 0, taken: 0 });
            start = end;
        }
        let mut edits = GroupedEdits { all, groups, shift };
        for finding in findings {
            if let Some(group) = edits.find_group(finding) {
                group.findings += 1;
            }
        }
        edits
    }

    fn find_group(&mut self, finding: &Finding) -> Option<&mut EditGroup> {
        let (code, message) = (finding.rule.code, finding.location.message);
        let find = |wanted: EditGroupKey<'_>| {
            let key_of = |group: &EditGroup| self.all.get(group.edits.start).map(edit_key);
            self.groups.binary_search_by(|group| key_of(group).cmp(&Some(wanted))).ok()
        };
        let exact = find((code, message, finding.ids.first().map(String::as_str)));
        let index = exact.or_else(|| find((code, message, None)))?;
        self.groups.get_mut(index)
    }

    /// The edits of a finding: its own, or the one it shares with the others of its place. The
    /// last finding of a place takes what is left, so that every edit is shown and none is
    /// repeated for each of ten thousand findings.
    fn take(&mut self, finding: &Finding) -> Range<u32> {
        let shift = self.shift;
        let Some(group) = self.find_group(finding) else { return 0..0 };
        let Range { start, end } = group.edits;
        let first = (start + group.taken).min(end.saturating_sub(1));
        group.taken += 1;
        let end = if group.taken >= group.findings { end } else { first + 1 };
        let place = |index: usize| u32::try_from(shift + index).unwrap_or(u32::MAX);
        place(first)..place(end)
    }
}
