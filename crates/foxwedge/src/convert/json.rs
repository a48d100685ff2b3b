//! The report on a conversion as JSON, and its parser for a later conversion. Field names are
//! stable.

use std::{fs, path::Path};

use anyhow::Context;
use foxwedge_core::{Edit, Policy, Profile};
use foxwedge_formats::model::IdentifierReplacement;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use super::conversion_report::{ConversionEnding, ConversionReport, ReportedLoss};
use crate::{cli::OutputFormat, report};
use foxwedge_local::{
    check_settings::CheckSettings,
    outcome::{TargetOutcome, TargetResult},
    output::{HelpfulError, clean},
};

/// The whole document.
#[derive(Serialize)]
pub(crate) struct ConversionDocument<'t> {
    version: u32,
    kind: &'static str,
    from: &'static str,
    to: &'static str,
    /// `null` for a message list, which has no profile.
    profile: Option<&'static str>,
    messages: usize,
    losses: Vec<ConversionLossEntry<'t>>,
    renamed: Vec<RenamePairEntry<'t>>,
    names: Vec<RenamePairEntry<'t>>,
    repairs: ConversionRepairsEntry<'t>,
    /// In the format of `check`.
    remaining: Vec<Box<RawValue>>,
    /// Number of all remaining findings, if not all are listed.
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
    /// Number of all edits, if not all are listed.
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

/// The report on a conversion.
pub(crate) fn document(conversion: &ConversionReport) -> ConversionDocument<'_> {
    ConversionDocument {
        version: 1,
        kind: conversion.kind.name(),
        from: conversion.from.name(),
        to: conversion.to.name(),
        profile: conversion.profile.map(Profile::name),
        messages: conversion.messages,
        losses: conversion.losses.iter().map(loss_entry).collect(),
        renamed: conversion.renamed_ids.iter().map(rename_entry).collect(),
        names: conversion.renamed_tools.iter().map(rename_entry).collect(),
        repairs: ConversionRepairsEntry {
            before: conversion.repairs_before.iter().map(edit_entry).collect(),
            behind: conversion.repairs_after.iter().map(edit_entry).collect(),
            before_total: total_if_unlisted(
                conversion.repairs_before.len(),
                conversion.repairs_before.iter().count(),
            ),
            behind_total: total_if_unlisted(
                conversion.repairs_after.len(),
                conversion.repairs_after.iter().count(),
            ),
        },
        remaining: remaining_findings(conversion),
        remaining_total: total_if_unlisted(
            conversion.remaining.counts.total(),
            conversion.remaining.findings.len(),
        ),
        complete: conversion.ending == ConversionEnding::Complete,
    }
}

/// The total, if not all are listed.
fn total_if_unlisted(all: usize, listed: usize) -> Option<usize> {
    (all > listed).then_some(all)
}

/// The report on a failed conversion.
pub(crate) fn error_document(path: Option<&str>, message: &str, help: Option<&str>) -> Value {
    json!({ "version": 1, "path": path, "error": { "message": message, "help": help } })
}

fn loss_entry(loss: &ReportedLoss) -> ConversionLossEntry<'_> {
    ConversionLossEntry {
        kind: loss.kind.name(),
        message_index: loss.place.message(),
        place: loss.place.name(),
        note: &loss.note,
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

/// The remaining findings, each as `check` writes it.
fn remaining_findings(conversion: &ConversionReport) -> Vec<Box<RawValue>> {
    let result = TargetResult::Checked(Box::new(conversion.remaining.clone()));
    let outcome = TargetOutcome { path: conversion.path.clone(), name: None, result };
    let mut lines = Vec::new();
    let settings = CheckSettings::of(None, Policy::default());
    let written = report::write(&mut lines, &[outcome], OutputFormat::JsonLines, &settings, false);
    let text = written.map(|()| String::from_utf8(lines).unwrap_or_default()).unwrap_or_default();
    text.lines().filter_map(|line| RawValue::from_string(line.to_owned()).ok()).collect()
}

/// The part of an earlier report that is used.
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

/// Replacements of an earlier conversion: call ids and tool names.
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
        HelpfulError::new(format!("{shown}: not a conversion report: {error}"))
            .help("`foxwedge convert --output-format json … 2> FILE` writes one to FILE")
    })?;
    let to_replacement = |one: EarlierRename| IdentifierReplacement { old: one.old, new: one.new };
    Ok(ReverseRenames {
        ids: earlier.renamed.into_iter().map(to_replacement).collect(),
        names: earlier.names.into_iter().map(to_replacement).collect(),
    })
}
