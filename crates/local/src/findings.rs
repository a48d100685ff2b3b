//! Builds the report on one target: the findings of its documents with their positions.

use std::{collections::HashMap, ops::Range};

use foxwedge_core::{Edit, EditLog, Finding, pair_calls};
use foxwedge_formats::TextPosition;

use crate::{
    excerpt,
    outcome::{FileReport, LocatedFinding, SessionRef},
    positions::positions,
    source::{InputDocument, ParsedInput},
};

/// Max findings of one rule listed for one file. The rest is only counted.
pub(crate) const MAX_LISTED: usize = 20_000;
/// Repair edits listed for one file. The document that reaches this limit is still listed in full.
const MAX_EDITS: usize = 20_000;

/// How much detail a report format needs for each finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReportDetail {
    /// Number of findings per file with the edits of their repair.
    pub edits: usize,
    /// Number of findings per file with an excerpt of the call and its result.
    pub excerpts: usize,
}

/// Checks the documents of a target.
pub fn build_file_report(source: &ParsedInput<'_>, detail: ReportDetail) -> FileReport {
    let mut file_report = FileReport {
        failures: source.failures.clone(),
        notes: source.notes.clone(),
        session: source.session().map(SessionRef::of),
        ..FileReport::default()
    };
    let mut offsets = Vec::new();
    for document in &source.documents {
        let (health, reach) = document.rate();
        file_report.health = file_report.health.max(Some(health));
        file_report.reach = file_report.reach.or(reach);
        file_report.messages += document.draft().messages.len();
        if !file_report.profiles.contains(&document.check_options.profile) {
            file_report.profiles.push(document.check_options.profile);
        }
        add_findings(document, detail, &mut file_report, &mut offsets);
    }
    let positions = positions(source.text, &offsets);
    for (located, pair) in file_report.findings.iter_mut().zip(positions.chunks_exact(2)) {
        located.position = pair[0];
        located.partner = located.finding.partner.map(|_| pair[1]);
    }
    file_report
}

/// Adds the findings of a document. Pushes two offsets per finding: its own and its partner's.
fn add_findings(
    document: &InputDocument<'_>,
    detail: ReportDetail,
    file_report: &mut FileReport,
    offsets: &mut Vec<usize>,
) {
    let draft = document.draft();
    let (report, edits) = if file_report.findings.len() < detail.edits {
        document.report_and_edits()
    } else {
        (document.report(), EditLog::default())
    };
    if report.is_clean() {
        return;
    }
    // The limit applies to all documents of a file together.
    let mut findings = report.findings;
    let mut earlier: HashMap<u16, usize> = HashMap::new();
    findings.retain(|finding| {
        let code = finding.rule.code;
        let earlier = earlier.entry(code).or_insert_with(|| file_report.counts.of(code));
        *earlier += 1;
        *earlier <= MAX_LISTED
    });
    file_report.counts.merge(&report.counts);
    let list_edits = file_report.edits.len() < MAX_EDITS && !findings.is_empty();
    let edits = if list_edits { edits } else { EditLog::default() };
    let mut edits = GroupedEdits::new(edits, &findings, file_report.edits.len());
    let pairing = (file_report.findings.len() < detail.excerpts).then(|| pair_calls(draft));
    file_report.findings.reserve(findings.len());
    for finding in findings {
        let drawn = pairing.as_ref().filter(|_| file_report.findings.len() < detail.excerpts);
        let excerpt = drawn.map(|pairing| Box::new(excerpt::of(draft, pairing, &finding)));
        let at = document.offset + finding.location.span.start as usize;
        offsets.push(at);
        offsets.push(finding.partner.map_or(at, |p| document.offset + p.span.start as usize));
        file_report.findings.push(LocatedFinding {
            edits: edits.take(&finding),
            finding,
            position: TextPosition { line: 1, column: 1 },
            partner: None,
            wire: draft.format,
            excerpt,
            request: None,
        });
    }
    file_report.edits.append(&mut edits.all);
}

/// The edits of a repair, grouped by rule, message and call id (where there is one).
struct GroupedEdits {
    /// Sorted by group.
    all: Vec<Edit>,
    groups: Vec<EditGroup>,
    /// Number of edits of earlier documents.
    shift: usize,
}

/// Edits of one group. They go to the findings of the group in order.
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
        let find = |key: EditGroupKey<'_>| {
            let key_of = |group: &EditGroup| self.all.get(group.edits.start).map(edit_key);
            self.groups.binary_search_by(|group| key_of(group).cmp(&Some(key))).ok()
        };
        let exact = find((code, message, finding.ids.first().map(String::as_str)));
        let index = exact.or_else(|| find((code, message, None)))?;
        self.groups.get_mut(index)
    }

    /// The edits of a finding: its own, or the one it shares with the rest of its group. The last
    /// finding of a group takes all remaining edits. So every edit is shown, and none is repeated
    /// for each of ten thousand findings.
    fn take(&mut self, finding: &Finding) -> Range<u32> {
        let shift = self.shift;
        let Some(group) = self.find_group(finding) else { return 0..0 };
        let Range { start, end } = group.edits;
        let first = (start + group.taken).min(end.saturating_sub(1));
        group.taken += 1;
        let end = if group.taken >= group.findings { end } else { first + 1 };
        let to_u32 = |index: usize| u32::try_from(shift + index).unwrap_or(u32::MAX);
        to_u32(first)..to_u32(end)
    }
}
