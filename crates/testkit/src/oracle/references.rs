//! Rules 604 and 605: references to tools that the request does not declare, and requests for
//! compaction that are not the last item.

use serde_json::Value;

use super::reading::OracleBlockKind;
use super::{OracleProfile::*, OracleRule, RuleCase};
use crate::dialect::TestFormat;

pub(super) const RULES: &[OracleRule] = &[(604, unresolved_reference), (605, misplaced_trigger)];

fn unresolved_reference(case: &RuleCase<'_>) -> Vec<String> {
    let reading = &case.reading;
    if !case.under(&[Anthropic, Strict])
        || reading.format != TestFormat::Anthropic
        || !reading.request
        || reading.stateful
    {
        return Vec::new();
    }
    let Some(declared) = declared(reading.root) else { return Vec::new() };
    case.blocks(|index, at| {
        let block = &reading.messages[index].blocks[at];
        matches!(block.kind, OracleBlockKind::Answer | OracleBlockKind::ServerAnswer)
            && referenced(&block.body["content"]).iter().any(|tool| !declared.contains(tool))
    })
}

fn misplaced_trigger(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[OpenaiResponses, Strict]) || case.reading.format != TestFormat::Responses {
        return Vec::new();
    }
    let items = &case.reading.messages;
    case.messages(|at| at + 1 < items.len() && items[at].value["type"] == "compaction_trigger")
}

/// The tools that a result refers to.
fn referenced(content: &Value) -> Vec<&str> {
    let list = content.as_array().or_else(|| content["tool_references"].as_array());
    let blocks = list.into_iter().flatten().filter(|block| block["type"] == "tool_reference");
    blocks.filter_map(|block| block["tool_name"].as_str()).collect()
}

/// The tools of the request; none if others may come from elsewhere.
fn declared(request: &Value) -> Option<Vec<&str>> {
    let text = request.to_string();
    let elsewhere = ["tool_addition", "mcp_tool_listing", "tool_changes"];
    if request.get("mcp_servers").is_some() || elsewhere.iter().any(|name| text.contains(name)) {
        return None;
    }
    let tools = request["tools"].as_array();
    tools
        .into_iter()
        .flatten()
        .map(|tool| {
            let set = tool["type"].as_str().is_some_and(|kind| kind.contains("toolset"));
            tool["name"].as_str().filter(|_| !set)
        })
        .collect()
}
