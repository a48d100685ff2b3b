//! What repairs did: every step for programs, the same steps told once for people.

use std::collections::HashMap;

use foxwedge_core::{RepairLosses, rules};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::file_reports;
use crate::{
    cli_output::{BOLD, DIM, GOOD, clean, cut, paint, pluralize},
    outcome::{AppliedEdit, FileReport, SessionRef, TargetOutcome, message_path},
};

/// One step of a repair, where it was made.
#[derive(Clone, Copy)]
pub(super) struct RepairStep<'a> {
    pub(super) path: &'a str,
    session: Option<&'a SessionRef>,
    pub(super) applied: &'a AppliedEdit,
}

/// How many steps all repairs had, listed or not.
pub(super) fn total(outcomes: &[TargetOutcome]) -> usize {
    file_reports(outcomes).map(|(_, judged)| judged.steps).sum()
}

/// The steps of all repairs that are listed.
pub(super) fn steps(outcomes: &[TargetOutcome]) -> impl Iterator<Item = RepairStep<'_>> {
    file_reports(outcomes).flat_map(|(path, judged)| {
        let session = judged.session.as_ref();
        judged.applied.iter().map(move |applied| RepairStep { path, session, applied })
    })
}

/// What all repairs cost.
pub(super) fn losses(outcomes: &[TargetOutcome]) -> RepairLosses {
    let mut all = RepairLosses::default();
    file_reports(outcomes).for_each(|(_, judged)| all.add(&judged.losses));
    all
}

/// A step for programs. Field names are a promise.
#[derive(Serialize)]
pub(super) struct StepEntry<'a> {
    code: String,
    name: &'static str,
    /// What kind of step.
    strategy: &'static str,
    /// What was done.
    note: &'a str,
    /// What the rule demands.
    reason: &'static str,
    /// Only in the session file of an agent, as `session_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    path: &'a str,
    /// Where the message stood before the repair.
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

    /// As programs read it.
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

/// What repairs cost, as an object.
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

/// What repairs cost, in words: `13 thinking blocks removed`.
pub(super) fn describe_losses(losses: &RepairLosses) -> Vec<String> {
    let told = |number: usize, noun: &str, verb: &str| {
        (number > 0).then(|| format!("{} {verb}", pluralize(number, noun)))
    };
    [
        told(losses.thinking_blocks_removed, "thinking block", "removed"),
        told(losses.texts_removed, "text", "removed"),
        told(losses.tool_calls_removed, "tool call", "removed"),
        told(losses.tool_results_removed, "tool result", "removed"),
        told(losses.other_parts_removed, "other part", "removed"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Lines told of one file.
const MAX_LINES: usize = 20;
/// Steps of one kind that are told one by one.
const MAX_ALIKE: usize = 4;

/// What the repair of one file did, each kind of step told once.
pub(super) fn format_file_steps(path: &str, judged: &FileReport) -> String {
    if judged.applied.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", paint(BOLD, clean(path)));
    let lines = fold_steps(&judged.applied);
    for line in lines.iter().take(MAX_LINES) {
        let code = paint(BOLD, format_args!("FW{}", line.first.edit.code));
        let mut place = message_path(line.first.wire, line.first.edit.message);
        if let Some(number) = line.first.line {
            place = format!("line {number} {place}");
        }
        let more = match line.steps {
            1 => String::new(),
            steps => format!(" and {} more", steps - 1),
        };
        let place = paint(DIM, format_args!("{place}{more}"));
        let (fixed, note) = (paint(GOOD, "fixed"), cut(&clean(line.note), 200));
        text.push_str(&format!("  {fixed} {code} {place}: {note}\n"));
    }
    let told: usize = lines.iter().take(MAX_LINES).map(|line| line.steps).sum();
    let left = judged.steps.saturating_sub(told);
    if left > 0 {
        text.push_str(&format!("  … and {}\n", pluralize(left, "more step")));
    }
    text
}

/// Steps that are told in one line.
struct StepLine<'a> {
    first: &'a AppliedEdit,
    steps: usize,
    note: &'a str,
}

/// Steps that say the same are one line; of those that differ in an id only, the first few are
/// told, and the others counted.
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
        let (told, last) = kinds.entry((edit.code, edit.strategy.name())).or_insert((0, 0));
        *told += 1;
        if *told > MAX_ALIKE {
            lines.get_mut(*last).into_iter().for_each(|line| line.steps += 1);
            continue;
        }
        *last = lines.len();
        same.insert((edit.code, &edit.note), lines.len());
        lines.push(StepLine { first: step, steps: 1, note: &edit.note });
    }
    lines
}
