//! The objects of SARIF 2.1.0 that we write, field by field.

use serde::Serialize;

use super::{Results, Uri};
use crate::report::{
    edits::{LossCounts, StepList},
    json::Fix,
};

#[derive(Serialize)]
pub(super) struct Log<'a> {
    #[serde(rename = "$schema")]
    pub(super) schema: &'static str,
    pub(super) version: &'static str,
    pub(super) runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run<'a> {
    pub(super) tool: Tool,
    pub(super) invocations: [Invocation<'a>; 1],
    pub(super) column_kind: &'static str,
    pub(super) results: Results<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) properties: Option<RunProperties<'a>>,
}

/// What repairs did. SARIF knows repairs that can be made, not such as were.
#[derive(Serialize)]
pub(super) struct RunProperties<'a> {
    pub(super) edits: StepList<'a>,
    pub(super) losses: LossCounts,
}

#[derive(Serialize)]
pub(super) struct Tool {
    pub(super) driver: Driver,
}

#[derive(Serialize)]
pub(super) struct Driver {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) short_description: Text<'static>,
    pub(super) help: Help,
    pub(super) default_configuration: Configuration,
}

#[derive(Serialize)]
pub(super) struct Help {
    pub(super) text: &'static str,
    pub(super) markdown: &'static str,
}

#[derive(Serialize)]
pub(super) struct Configuration {
    pub(super) level: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Invocation<'a> {
    pub(super) execution_successful: bool,
    pub(super) tool_execution_notifications: Vec<Notification<'a>>,
}

#[derive(Serialize)]
pub(super) struct Notification<'a> {
    pub(super) level: &'static str,
    pub(super) message: Text<'a>,
    pub(super) locations: [Location<'a>; 1],
}

/// One finding; SARIF calls it a result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'a> {
    pub(super) rule_id: String,
    pub(super) rule_index: usize,
    pub(super) level: &'static str,
    pub(super) message: Text<'a>,
    pub(super) locations: [Location<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) related_locations: Option<[Location<'a>; 1]>,
    pub(super) properties: Properties<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Properties<'a> {
    pub(super) call_ids: &'a [String],
    pub(super) tool_name: Option<&'a str>,
    pub(super) profile: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<&'a str>,
    pub(super) fix: Fix<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Location<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Text<'a>>,
    pub(super) physical_location: Physical<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) logical_locations: Option<[Logical; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Physical<'a> {
    pub(super) artifact_location: Artifact<'a>,
    pub(super) region: Region,
}

#[derive(Serialize)]
pub(super) struct Artifact<'a> {
    pub(super) uri: Uri<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) start_line: usize,
    pub(super) start_column: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Logical {
    pub(super) fully_qualified_name: String,
    pub(super) kind: &'static str,
}

#[derive(Serialize)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
}
