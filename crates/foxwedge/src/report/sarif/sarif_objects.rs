//! The objects of SARIF 2.1.0 that we write, field by field.

use serde::Serialize;

use super::{SarifResults, SarifUri};
use crate::report::{
    edits::{LossCounts, StepList},
    json::{FindingFixEntry, TraceRequestEntry},
};

#[derive(Serialize)]
pub(super) struct SarifLog<'a> {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) version: &'static str,
    pub(super) runs: [SarifRun<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRun<'a> {
    pub(super) tool: SarifTool,
    pub(super) invocations: [SarifInvocation<'a>; 1],
    pub(super) column_kind: &'static str,
    pub(super) results: SarifResults<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) properties: Option<SarifRunProperties<'a>>,
}

/// Applied edits. SARIF has a field for possible fixes, but none for applied ones.
#[derive(Serialize)]
pub(super) struct SarifRunProperties<'a> {
    pub(super) edits: StepList<'a>,
    pub(super) losses: LossCounts,
}

#[derive(Serialize)]
pub(super) struct SarifTool {
    pub(super) driver: SarifDriver,
}

#[derive(Serialize)]
pub(super) struct SarifDriver {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) rules: Vec<SarifRuleDescriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRuleDescriptor {
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) short_description: SarifMessage<'static>,
    pub(super) help: SarifHelp,
    pub(super) default_configuration: SarifRuleConfiguration,
}

#[derive(Serialize)]
pub(super) struct SarifHelp {
    pub(super) text: &'static str,
    pub(super) markdown: &'static str,
}

#[derive(Serialize)]
pub(super) struct SarifRuleConfiguration {
    pub(super) level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifInvocation<'a> {
    pub(super) execution_successful: bool,
    pub(super) tool_execution_notifications: Vec<SarifNotification<'a>>,
}

#[derive(Serialize)]
pub(super) struct SarifNotification<'a> {
    pub(super) level: &'static str,
    pub(super) message: SarifMessage<'a>,
    pub(super) locations: [SarifLocation<'a>; 1],
}

/// One finding; SARIF calls it a result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResult<'a> {
    pub(super) rule_id: String,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) message: SarifMessage<'a>,
    pub(super) locations: [SarifLocation<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) related_locations: Option<[SarifLocation<'a>; 1]>,
    pub(super) properties: SarifResultProperties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifResultProperties<'a> {
    pub(super) call_ids: &'a [String],
    pub(super) tool_name: Option<&'a str>,
    pub(super) profile: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<TraceRequestEntry<'a>>,
    pub(super) fix: FindingFixEntry<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifLocation<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<SarifMessage<'a>>,
    pub(super) physical_location: SarifPhysicalLocation<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logical_locations: Option<[SarifLogicalLocation; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifPhysicalLocation<'a> {
    pub(super) artifact_location: SarifArtifactLocation<'a>,
    pub(super) region: SarifRegion,
}

#[derive(Serialize)]
pub(super) struct SarifArtifactLocation<'a> {
    pub(super) uri: SarifUri<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifRegion {
    pub(super) start_line: usize,
    pub(super) start_column: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SarifLogicalLocation {
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}

#[derive(Serialize)]
pub(super) struct SarifMessage<'a> {
    pub(super) text: &'a str,
}
