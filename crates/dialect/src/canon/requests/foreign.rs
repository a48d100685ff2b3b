//! Tells what is left out.

use foxwedge_core::Wire;

use super::{
    openai,
    sheet::{Sheet, called},
};
use crate::canon::{Lost, Setting, Tool};

/// Tells what the format cannot say of what only another one knows.
pub(super) fn tell(sheet: &mut Sheet<'_, '_, '_>) {
    for setting in &sheet.settings.others {
        if setting.wire == sheet.to || openai::is_shared(setting, sheet.to) || is_idle(setting) {
            continue;
        }
        let name = match setting.within {
            "" => setting.key.to_string(),
            within => format!("{within}.{}", setting.key),
        };
        let behind = match is_stored(&setting.key) {
            true => ": what it stands for on the server is not in the request",
            false => "",
        };
        sheet.lose(lost(setting), format!("`{name}` has no place in this format{behind}"));
    }
}

/// Tells which of the numbers that few formats have are lost.
pub(super) fn numbers(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.lacks("seed", settings.seed, None);
    sheet.lacks("presence_penalty", settings.presence, Some(0.0));
    sheet.lacks("frequency_penalty", settings.frequency, Some(0.0));
    sheet.lacks("n", settings.answers, Some(1.0));
}

/// Tells that nobody else asks for more or fewer words.
pub(super) fn verbosity(sheet: &mut Sheet<'_, '_, '_>) {
    if sheet.settings.verbosity.as_ref().is_some_and(|word| *word != "medium") {
        sheet.no_place(called(sheet.from, "verbosity"));
    }
}

/// Tells that the user is not named.
pub(super) fn user(sheet: &mut Sheet<'_, '_, '_>) {
    if sheet.settings.user.is_some() {
        sheet.no_place(called(sheet.from, "user"));
    }
}

/// Tells that several calls at once cannot be forbidden.
pub(super) fn parallel(sheet: &mut Sheet<'_, '_, '_>, written: &[&Tool<'_>]) {
    if sheet.settings.parallel == Some(false) && !written.is_empty() {
        sheet.lose(Lost::ToolChoice, "several calls at once cannot be forbidden in this format");
    }
}

fn lost(setting: &Setting<'_>) -> Lost {
    match (setting.within, &*setting.key) {
        ("" | "toolConfig", "tools") => Lost::Tool,
        ("", "functions" | "mcp_servers" | "web_search_options") => Lost::Tool,
        ("" | "toolConfig", "tool_choice" | "toolChoice" | "function_call") => Lost::ToolChoice,
        ("", "toolConfig" | "tool_config") => Lost::ToolChoice,
        ("toolConfig", "functionCallingConfig" | "function_calling_config") => Lost::ToolChoice,
        ("tool_choice" | "toolConfig.functionCallingConfig", _) => Lost::ToolChoice,
        ("", "cache_control") => Lost::CacheMark,
        _ => Lost::Setting,
    }
}

/// Whether a field stands for a part of the conversation that the provider keeps.
fn is_stored(key: &str) -> bool {
    matches!(
        key,
        "previous_response_id"
            | "conversation"
            | "prompt"
            | "cachedContent"
            | "cached_content"
            | "thread"
            | "continuationToken"
    )
}

/// Whether a field asks for nothing that another format would not do anyway.
fn is_idle(setting: &Setting<'_>) -> bool {
    let value: String = setting.value.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let value = value.as_str();
    if matches!(value, "null" | "false" | "{}" | "[]" | "\"\"") {
        return true;
    }
    match &*setting.key {
        // They say how the answer travels, or which version of the format this is.
        "stream_options" | "anthropic_version" => true,
        "service_tier" => matches!(value, "\"auto\"" | "\"default\"" | "\"standard_only\""),
        "serviceTier" => value == "{\"type\":\"default\"}",
        "performanceConfig" => value == "{\"latency\":\"standard\"}",
        "speed" => value == "\"standard\"",
        "truncation" => value == "\"disabled\"",
        "modalities" => value == "[\"text\"]",
        "responseModalities" => value == "[\"TEXT\"]",
        // Encrypted reasoning goes back to its own format only, so nobody else has to hand it out.
        "include" => value == "[\"reasoning.encrypted_content\"]",
        // Only this format stores by default.
        "store" => setting.wire == Wire::OpenaiResponses,
        _ => false,
    }
}
