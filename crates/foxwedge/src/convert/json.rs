//! The report for programs, and what a later conversion reads of it. Field names are a promise.

use std::{fs, path::Path};

use anyhow::Context;
use foxwedge_core::{Edit, Policy};
use foxwedge_dialect::canon::Renamed;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::told::{Ending, Missing, Told};
use crate::{
    ask::Ask,
    cli::OutputFormat,
    outcome::{Outcome, Verdict},
    report,
    say::{Trouble, clean},
};

/// The whole document.
#[derive(Serialize)]
pub(crate) struct Document<'t> {
    version: u32,
    kind: &'static str,
    from: &'static str,
    to: &'static str,
    profile: &'static str,
    messages: usize,
    losses: Vec<Entry<'t>>,
    renamed: Vec<Pair<'t>>,
    names: Vec<Pair<'t>>,
    repairs: Repairs<'t>,
    /// As `check` writes them.
    remaining: Vec<Box<RawValue>>,
    /// How many findings remain, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_total: Option<usize>,
    complete: bool,
}

#[derive(Serialize)]
struct Entry<'t> {
    kind: &'static str,
    message_index: Option<usize>,
    place: &'static str,
    note: &'t str,
}

#[derive(Serialize)]
struct Pair<'t> {
    old: &'t str,
    new: &'t str,
}

#[derive(Serialize)]
struct Repairs<'t> {
    before: Vec<Step<'t>>,
    behind: Vec<Step<'t>>,
    /// How many steps there were, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    before_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind_total: Option<usize>,
}

#[derive(Serialize)]
struct Step<'t> {
    code: String,
    strategy: &'static str,
    message_index: usize,
    call_ids: &'t [String],
    note: &'t str,
}

/// What was done, or would be.
pub(crate) fn document(told: &Told) -> Document<'_> {
    Document {
        version: 1,
        kind: told.kind.name(),
        from: told.from.name(),
        to: told.to.name(),
        profile: told.profile.name(),
        messages: told.messages,
        losses: told.losses.iter().map(entry).collect(),
        renamed: told.renamed.iter().map(pair).collect(),
        names: told.names.iter().map(pair).collect(),
        repairs: Repairs {
            before: told.before.iter().map(step).collect(),
            behind: told.behind.iter().map(step).collect(),
            before_total: more(told.before.len(), told.before.iter().count()),
            behind_total: more(told.behind.len(), told.behind.iter().count()),
        },
        remaining: remaining(told),
        remaining_total: more(told.remaining.counts.total(), told.remaining.findings.len()),
        complete: told.ending == Ending::Whole,
    }
}

/// How many there are, if not all of them are listed.
fn more(all: usize, listed: usize) -> Option<usize> {
    (all > listed).then_some(all)
}

/// The document that says why there is none.
pub(crate) fn refusal(path: Option<&str>, message: &str, help: Option<&str>) -> Value {
    json!({ "version": 1, "path": path, "error": { "message": message, "help": help } })
}

fn entry(missing: &Missing) -> Entry<'_> {
    Entry {
        kind: missing.what.name(),
        message_index: missing.place.message(),
        place: missing.place.name(),
        note: &missing.note,
    }
}

fn pair(renamed: &Renamed) -> Pair<'_> {
    Pair { old: &renamed.old, new: &renamed.new }
}

fn step(edit: &Edit) -> Step<'_> {
    Step {
        code: format!("FW{}", edit.code),
        strategy: edit.strategy.name(),
        message_index: edit.message,
        call_ids: &edit.ids,
        note: &edit.note,
    }
}

/// Findings, each as the line that `check` would write.
fn remaining(told: &Told) -> Vec<Box<RawValue>> {
    let result = Verdict::Judged(Box::new(told.remaining.clone()));
    let outcome = Outcome { path: told.path.clone(), name: None, result };
    let mut lines = Vec::new();
    let ask = Ask::of(None, Policy::default());
    let written = report::write(&mut lines, &[outcome], OutputFormat::JsonLines, &ask, false);
    let text = written.map(|()| String::from_utf8(lines).unwrap_or_default()).unwrap_or_default();
    text.lines().filter_map(|line| RawValue::from_string(line.to_owned()).ok()).collect()
}

/// What is read of a report.
#[derive(Deserialize)]
struct Earlier {
    renamed: Vec<Replaced>,
    #[serde(default)]
    names: Vec<Replaced>,
}

#[derive(Deserialize)]
struct Replaced {
    old: String,
    new: String,
}

/// What an earlier conversion replaced: ids, and names of tools.
#[derive(Default)]
pub(crate) struct Back {
    pub(crate) ids: Vec<Renamed>,
    pub(crate) names: Vec<Renamed>,
}

/// Reads the report of an earlier conversion.
pub(crate) fn replaced(path: &Path) -> anyhow::Result<Back> {
    let shown = clean(&path.to_string_lossy());
    let text = fs::read(path).with_context(|| format!("{shown}: cannot be read"))?;
    let earlier: Earlier = serde_json::from_slice(&text).map_err(|error| {
        Trouble::new(format!("{shown}: no report of a conversion: {error}"))
            .help("it is what `foxwedge convert --output-format json … 2> FILE` leaves in FILE")
    })?;
    let renamed = |one: Replaced| Renamed { old: one.old, new: one.new };
    Ok(Back {
        ids: earlier.renamed.into_iter().map(renamed).collect(),
        names: earlier.names.into_iter().map(renamed).collect(),
    })
}
