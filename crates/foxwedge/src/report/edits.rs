//! What repairs did: every step for programs; for people, similar steps on one line.

use std::collections::HashMap;

use foxwedge_core::{RepairLosses, rules};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{edit_note, file_reports};
use foxwedge_local::{
    language::localize,
    outcome::{AppliedEdit, FileReport, SessionRef, TargetOutcome, message_path},
    output::{BOLD, DIM, GOOD, clean, cut, paint, pluralize},
};

/// One applied edit of a repair, with its file and session.
#[derive(Clone, Copy)]
pub(super) struct RepairStep<'a> {
    pub(super) path: &'a str,
    session: Option<&'a SessionRef>,
    pub(super) applied: &'a AppliedEdit,
}

/// Number of steps of all repairs, listed or not.
pub(super) fn total(outcomes: &[TargetOutcome]) -> usize {
    file_reports(outcomes).map(|(_, report)| report.steps).sum()
}

/// The listed steps of all repairs.
pub(super) fn steps(outcomes: &[TargetOutcome]) -> impl Iterator<Item = RepairStep<'_>> {
    file_reports(outcomes).flat_map(|(path, report)| {
        let session = report.session.as_ref();
        report.applied.iter().map(move |applied| RepairStep { path, session, applied })
    })
}

/// What all repairs removed.
pub(super) fn losses(outcomes: &[TargetOutcome]) -> RepairLosses {
    let mut all = RepairLosses::default();
    file_reports(outcomes).for_each(|(_, report)| all.add(&report.losses));
    all
}

/// A step as JSON. Field names are stable.
#[derive(Serialize)]
pub(super) struct StepEntry<'a> {
    code: String,
    name: &'static str,
    /// Kind of step.
    strategy: &'static str,
    /// What was done.
    note: &'a str,
    /// What the rule requires.
    reason: &'static str,
    /// Present only for session files of agents; `session_id` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    path: &'a str,
    /// Position of the message before the repair.
    line: Option<usize>,
    column: Option<usize>,
    message_index: usize,
    role: Option<&'static str>,
    call_ids: &'a [String],
}

impl<'a> RepairStep<'a> {
    /// The name of its rule.
    pub(super) fn name(&self) -> &'static str {
        rules::ALL.iter().find(|rule| rule.code == self.applied.edit.code).map_or("", |it| it.name)
    }

    /// The step as JSON.
    pub(super) fn entry(&self) -> StepEntry<'a> {
        let AppliedEdit { edit, role, position, .. } = self.applied;
        let rule = rules::ALL.iter().find(|rule| rule.code == edit.code);
        StepEntry {
            code: format!("FW{}", edit.code),
            name: self.name(),
            strategy: edit.strategy.name(),
            note: &edit.note,
            reason: rule.map_or("", |rule| rule.summary),
            agent: self.session.map(|session| session.agent.name()),
            session_id: self.session.and_then(|session| session.id.as_deref()),
            path: self.path,
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            message_index: edit.message,
            role: *role,
            call_ids: &edit.ids,
        }
    }

    /// The message, as `messages[3]`.
    pub(super) fn message(&self) -> String {
        message_path(self.applied.wire, self.applied.edit.message)
    }
}

/// All steps, as a list.
pub(super) struct StepList<'a>(pub(super) &'a [TargetOutcome]);

impl Serialize for StepList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(steps(self.0).map(|step| step.entry()))
    }
}

/// What repairs removed, as an object.
pub(super) struct LossCounts(pub(super) RepairLosses);

impl Serialize for LossCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = self.0.counts();
        let mut map = serializer.serialize_map(Some(counts.len()))?;
        for (name, number) in counts {
            map.serialize_entry(name, &number)?;
        }
        map.end()
    }
}

/// What repairs removed, as text: `13 thinking blocks removed`.
pub(super) fn describe_losses(losses: &RepairLosses) -> Vec<String> {
    let count = |number: usize, noun: &str, verb: &str| {
        let count = || localize(format!("{} {verb}", pluralize(number, noun))).into_owned();
        (number > 0).then(count)
    };
    [
        count(losses.thinking_blocks_removed, "thinking block", "removed"),
        count(losses.texts_removed, "text", "removed"),
        count(losses.tool_calls_removed, "tool call", "removed"),
        count(losses.tool_results_removed, "tool result", "removed"),
        count(losses.other_parts_removed, "other part", "removed"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Max lines printed for one file.
const MAX_LINES: usize = 20;
/// Max steps of one kind that are printed one by one.
const MAX_ALIKE: usize = 4;

/// Formats what the repair of one file did, or would do. Identical steps share one line.
pub(super) fn format_file_steps(title: &str, report: &FileReport, is_preview: bool) -> String {
    let verb = localize(if is_preview { "would fix" } else { "fixed" });
    if report.applied.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", paint(BOLD, clean(title)));
    let lines = fold_steps(&report.applied);
    for line in lines.iter().take(MAX_LINES) {
        let code = paint(BOLD, format_args!("FW{}", line.first.edit.code));
        let mut place = message_path(line.first.wire, line.first.edit.message);
        if let Some(number) = line.first.line {
            place = localize(format!("line {number} {place}")).into_owned();
        }
        let more = match line.steps {
            1 => String::new(),
            steps => localize(format!(" and {} more", steps - 1)).into_owned(),
        };
        let place = paint(DIM, format_args!("{place}{more}"));
        let (fixed, note) = (paint(GOOD, &verb), cut(&clean(&edit_note(&line.first.edit)), 200));
        text.push_str(&format!("  {fixed} {code} {place}: {note}\n"));
    }
    let shown: usize = lines.iter().take(MAX_LINES).map(|line| line.steps).sum();
    let left = report.steps.saturating_sub(shown);
    if left > 0 {
        text.push_str(&localize(format!("  … and {}\n", pluralize(left, "more step"))));
    }
    text
}

/// Steps that share one line.
struct StepLine<'a> {
    first: &'a AppliedEdit,
    steps: usize,
}

/// Folds steps with the same note into one line. Of steps that differ only in an id, the first few
/// get a line each; the others are only counted.
fn fold_steps(applied: &[AppliedEdit]) -> Vec<StepLine<'_>> {
    let mut lines: Vec<StepLine<'_>> = Vec::new();
    let mut same: HashMap<(u16, &str), usize> = HashMap::new();
    let mut kinds: HashMap<(u16, &str), (usize, usize)> = HashMap::new();
    for step in applied {
        let edit = &step.edit;
        if let Some(&at) = same.get(&(edit.code, edit.note.as_str())) {
            lines.get_mut(at).into_iter().for_each(|line| line.steps += 1);
            continue;
        }
        let (shown, last) = kinds.entry((edit.code, edit.strategy.name())).or_insert((0, 0));
        *shown += 1;
        if *shown > MAX_ALIKE {
            lines.get_mut(*last).into_iter().for_each(|line| line.steps += 1);
            continue;
        }
        *last = lines.len();
        same.insert((edit.code, &edit.note), lines.len());
        lines.push(StepLine { first: step, steps: 1 });
    }
    lines
}
