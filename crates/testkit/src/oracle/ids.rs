//! Rules 201 to 207: ids and names of calls and items.

use super::content::is_unknown_call;
use super::items;
use super::matching::MatchedCall;
use super::reading::{OracleBlockKind, OracleLayout, OracleRole, id, text};
use super::{OracleProfile::*, OracleRule, RuleCase};
use crate::dialect::TestFormat;

pub(super) const RULES: &[OracleRule] = &[
    (201, duplicate_call_id),
    (202, reused_call_id),
    (203, illegal_call_id),
    (204, missing_call_id),
    (205, item_id_prefix),
    (206, unstored_item),
    (207, illegal_tool_name),
];

fn duplicate_call_id(case: &RuleCase<'_>) -> Vec<String> {
    if case.under(&[Gemini]) {
        return Vec::new();
    }
    let twin = |call: &MatchedCall<'_>, other: &MatchedCall<'_>| {
        let same = other.id == call.id && other.family == call.family;
        same && other.group == call.group && other.position < call.position
    };
    case.calls(|call| {
        call.id.is_some() && case.matching.calls.iter().any(|other| twin(call, other))
    })
}

fn reused_call_id(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[Strict]) {
        return Vec::new();
    }
    let used = |call: &MatchedCall<'_>, other: &MatchedCall<'_>| {
        other.id == call.id && other.group < call.group
    };
    case.calls(|call| {
        call.id.is_some() && case.matching.calls.iter().any(|other| used(call, other))
    })
}

fn illegal_call_id(case: &RuleCase<'_>) -> Vec<String> {
    case.calls(|call| {
        let Some(id) = call.id else { return false };
        let length = id.chars().count();
        let made_of =
            |also: &str| id.chars().all(|it| it.is_ascii_alphanumeric() || also.contains(it));
        let legal = match case.profile {
            Anthropic => made_of("_-"),
            OpenaiChat => length <= 40,
            OpenaiResponses => length <= 64,
            Bedrock => made_of("_.:-") && length <= 64,
            Mistral | Strict => made_of("") && length == 9,
            Gemini | GeminiInteractions | Deepseek => true,
        };
        !legal
    })
}

fn missing_call_id(case: &RuleCase<'_>) -> Vec<String> {
    if case.reading.format == TestFormat::Gemini {
        return Vec::new();
    }
    let mut found = case.calls(|call| call.id.is_none());
    found.extend(case.answers(|answer| {
        let call = case.matching.call_of(answer);
        answer.id.is_none() && call.is_some_and(|call| call.id.is_some())
    }));
    found
}

fn item_id_prefix(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[OpenaiResponses, Strict]) || case.reading.format != TestFormat::Responses {
        return Vec::new();
    }
    case.messages(|index| {
        let item = &case.reading.messages[index];
        let prefix = match text(item.value, "type") {
            Some("function_call") => "fc",
            Some("custom_tool_call") => "ctc",
            Some("reasoning") => "rs",
            // What kind of item this is cannot be known, so neither can its prefix.
            None if items::is_no_message(item.value) => return false,
            Some("message") | None if item.role == OracleRole::Assistant => "msg",
            _ => return false,
        };
        text(item.value, "id").is_some_and(|id| !id.starts_with(prefix))
    })
}

fn unstored_item(case: &RuleCase<'_>) -> Vec<String> {
    let store = case.reading.root.get("store").and_then(serde_json::Value::as_bool);
    let applies = case.under(&[OpenaiResponses]) && case.reading.format == TestFormat::Responses;
    if !applies || !case.reading.request || store != Some(false) {
        return Vec::new();
    }
    case.messages(|index| {
        let item = &case.reading.messages[index];
        let sealed = id(item.value, "encrypted_content").is_some();
        item.has(OracleBlockKind::Reasoning) && id(item.value, "id").is_some() && !sealed
    })
}

fn illegal_tool_name(case: &RuleCase<'_>) -> Vec<String> {
    case.calls(|call| {
        let items = case.reading.layout == OracleLayout::Items;
        if items && !["function_call", "custom_tool_call"].contains(&call.family) {
            return false;
        }
        let body = case.reading.messages[call.position.0].blocks[call.position.1].body;
        if case.reading.format == TestFormat::Chat && is_unknown_call(body) {
            return false;
        }
        let Some(name) = call.name else { return true };
        let length = name.chars().count();
        let made_of =
            |also: &str| name.chars().all(|it| it.is_ascii_alphanumeric() || also.contains(it));
        let starts = |it: char| it.is_ascii_alphabetic() || it == '_';
        let legal = match case.profile {
            OpenaiChat | Deepseek | Mistral | Bedrock => made_of("_-") && length <= 64,
            Strict => name.starts_with(starts) && made_of("_-") && length <= 64,
            Anthropic | OpenaiResponses => made_of("_-") && length <= 128,
            Gemini | GeminiInteractions => {
                name.starts_with(starts) && made_of("_.:-") && length <= 128
            }
        };
        !legal || length == 0
    })
}
