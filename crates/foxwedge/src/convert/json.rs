//! The report for programs, and what a later conversion reads of it. Field names are a promise.

use std::{fs, path::Path};

use anyhow::Context;
use foxwedge_core::{Edit, Policy};
use foxwedge_formats::model::IdentifierReplacement;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::conversion_report::{ConversionEnding, ConversionReport, ReportedLoss};
use crate::{
    check_settings::CheckSettings,
    cli::OutputFormat,
    cli_output::{CliError, clean},
    outcome::{TargetOutcome, TargetResult},
    report,
};

/// The whole document.
#[derive(Serialize)]
pub(crate) struct ConversionDocument<'t> {
    version: u32,
    kind: &'static str,
    from: &'static str,
    to: &'static str,
    profile: &'static str,
    messages: usize,
    losses: Vec<ConversionLossEntry<'t>>,
    renamed: Vec<RenamePairEntry<'t>>,
    names: Vec<RenamePairEntry<'t>>,
    repairs: ConversionRepairsEntry<'t>,
    /// As `check` writes them.
    remaining: Vec<Box<RawValue>>,
    /// How many findings remain, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_total: Option<usize>,
    complete: bool,
}

#[derive(Serialize)]
struct ConversionLossEntry<'t> {
    kind: &'static str,
    message_index: Option<usize>,
    place: &'static str,
    note: &'t str,
}

#[derive(Serialize)]
struct RenamePairEntry<'t> {
    old: &'t str,
    new: &'t str,
}

#[derive(Serialize)]
struct ConversionRepairsEntry<'t> {
    before: Vec<ConversionEditEntry<'t>>,
    behind: Vec<ConversionEditEntry<'t>>,
    /// How many steps there were, if not all are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    before_total: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind_total: Option<usize>,
}

#[derive(Serialize)]
struct ConversionEditEntry<'t> {
    code: String,
    strategy: &'static str,
    message_index: usize,
    call_ids: &'t [String],
    note: &'t str,
}

/// What was done, or would be.
pub(crate) fn document(told: &ConversionReport) -> ConversionDocument<'_> {
    ConversionDocument {
        version: 1,
        kind: told.kind.name(),
        from: told.from.name(),
        to: told.to.name(),
        profile: told.profile.name(),
        messages: told.messages,
        losses: told.losses.iter().map(loss_entry).collect(),
        renamed: told.renamed_ids.iter().map(rename_entry).collect(),
        names: told.renamed_tools.iter().map(rename_entry).collect(),
        repairs: ConversionRepairsEntry {
            before: told.repairs_before.iter().map(edit_entry).collect(),
            behind: told.repairs_after.iter().map(edit_entry).collect(),
            before_total: total_if_unlisted(
                told.repairs_before.len(),
                told.repairs_before.iter().count(),
            ),
            behind_total: total_if_unlisted(
                told.repairs_after.len(),
                told.repairs_after.iter().count(),
            ),
        },
        remaining: remaining_findings(told),
        remaining_total: total_if_unlisted(
            told.remaining.counts.total(),
            told.remaining.findings.len(),
        ),
        complete: told.ending == ConversionEnding::Complete,
    }
}

/// How many there are, if not all of them are listed.
fn total_if_unlisted(all: usize, listed: usize) -> Option<usize> {
    (all > listed).then_some(all)
}

/// The document that says why there is none.
pub(crate) fn error_document(path: Option<&str>, message: &str, help: Option<&str>) -> Value {
    json!({ "version": 1, "path": path, "error": { "message": message, "help": help } })
}

fn loss_entry(missing: &ReportedLoss) -> ConversionLossEntry<'_> {
    ConversionLossEntry {
        kind: missing.kind.name(),
        message_index: missing.place.message(),
        place: missing.place.name(),
        note: &missing.note,
    }
}

fn rename_entry(renamed: &IdentifierReplacement) -> RenamePairEntry<'_> {
    RenamePairEntry { old: &renamed.old, new: &renamed.new }
}

fn edit_entry(edit: &Edit) -> ConversionEditEntry<'_> {
    ConversionEditEntry {
        code: format!("FW{}", edit.code),
        strategy: edit.strategy.name(),
        message_index: edit.message,
        call_ids: &edit.ids,
        note: &edit.note,
    }
}

/// Findings, each as the line that `check` would write.
fn remaining_findings(told: &ConversionReport) -> Vec<Box<RawValue>> {
    let result = TargetResult::Checked(Box::new(told.remaining.clone()));
    let outcome = TargetOutcome { path: told.path.clone(), name: None, result };
    let mut lines = Vec::new();
    let ask = CheckSettings::of(None, Policy::default());
    let written = report::write(&mut lines, &[outcome], OutputFormat::JsonLines, &ask, false);
    let text = written.map(|()| String::from_utf8(lines).unwrap_or_default()).unwrap_or_default();
    text.lines().filter_map(|line| RawValue::from_string(line.to_owned()).ok()).collect()
}

/// What is read of a report.
#[derive(Deserialize)]
struct EarlierConversion {
    renamed: Vec<EarlierRename>,
    #[serde(default)]
    names: Vec<EarlierRename>,
}

#[derive(Deserialize)]
struct EarlierRename {
    old: String,
    new: String,
}

/// What an earlier conversion replaced: ids, and names of tools.
#[derive(Default)]
pub(crate) struct ReverseRenames {
    pub(crate) ids: Vec<IdentifierReplacement>,
    pub(crate) names: Vec<IdentifierReplacement>,
}

/// Reads the report of an earlier conversion.
pub(crate) fn read_renames(path: &Path) -> anyhow::Result<ReverseRenames> {
    let shown = clean(&path.to_string_lossy());
    let text = fs::read(path).with_context(|| format!("{shown}: cannot be read"))?;
    let earlier: EarlierConversion = serde_json::from_slice(&text).map_err(|error| {
        CliError::new(format!("{shown}: no report of a conversion: {error}"))
            .help("it is what `foxwedge convert --output-format json … 2> FILE` leaves in FILE")
    })?;
    let renamed = |one: EarlierRename| IdentifierReplacement { old: one.old, new: one.new };
    Ok(ReverseRenames {
        ids: earlier.renamed.into_iter().map(renamed).collect(),
        names: earlier.names.into_iter().map(renamed).collect(),
    })
}
