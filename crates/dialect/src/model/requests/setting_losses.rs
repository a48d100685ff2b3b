//! Tells what is left out.

use foxwedge_core::Format;

use super::{
    field_writer::{RequestFieldWriter, setting_name},
    openai,
};
use crate::model::{FormatSetting, LossKind, ToolDeclaration};

/// Tells what the format cannot say of what only another one knows.
pub(super) fn record_foreign_settings(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    for setting in &sheet.settings.others {
        if setting.wire == sheet.to
            || openai::is_shared(setting, sheet.to)
            || is_default_setting(setting)
        {
            continue;
        }
        let name = match setting.parent {
            "" => setting.key.to_string(),
            within => format!("{within}.{}", setting.key),
        };
        let behind = match is_server_state(&setting.key) {
            true => ": what it stands for on the server is not in the request",
            false => "",
        };
        sheet.record_loss(
            loss_kind(setting),
            format!("`{name}` has no place in this format{behind}"),
        );
    }
}

/// Tells which of the numbers that few formats have are lost.
pub(super) fn record_numbers(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = sheet.settings;
    sheet.record_unsupported_number("seed", settings.seed, None);
    sheet.record_unsupported_number("presence_penalty", settings.presence_penalty, Some(0.0));
    sheet.record_unsupported_number("frequency_penalty", settings.frequency_penalty, Some(0.0));
    sheet.record_unsupported_number("n", settings.candidate_count, Some(1.0));
}

/// Tells that nobody else asks for more or fewer words.
pub(super) fn record_verbosity(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    if sheet.settings.verbosity.as_ref().is_some_and(|word| *word != "medium") {
        sheet.record_unsupported(setting_name(sheet.from, "verbosity"));
    }
}

/// Tells that the user is not named.
pub(super) fn record_user(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    if sheet.settings.user.is_some() {
        sheet.record_unsupported(setting_name(sheet.from, "user"));
    }
}

/// Tells that several calls at once cannot be forbidden.
pub(super) fn record_parallel(
    sheet: &mut RequestFieldWriter<'_, '_, '_>,
    written: &[&ToolDeclaration<'_>],
) {
    if sheet.settings.parallel_calls == Some(false) && !written.is_empty() {
        sheet.record_loss(
            LossKind::ToolChoice,
            "several calls at once cannot be forbidden in this format",
        );
    }
}

fn loss_kind(setting: &FormatSetting<'_>) -> LossKind {
    match (setting.parent, &*setting.key) {
        ("" | "toolConfig", "tools") => LossKind::Tool,
        ("", "functions" | "mcp_servers" | "web_search_options") => LossKind::Tool,
        ("" | "toolConfig", "tool_choice" | "toolChoice" | "function_call") => LossKind::ToolChoice,
        ("", "toolConfig" | "tool_config") => LossKind::ToolChoice,
        ("toolConfig", "functionCallingConfig" | "function_calling_config") => LossKind::ToolChoice,
        ("tool_choice" | "toolConfig.functionCallingConfig", _) => LossKind::ToolChoice,
        ("", "cache_control") => LossKind::CacheMark,
        _ => LossKind::Setting,
    }
}

/// Whether a field stands for a part of the conversation that the provider keeps.
fn is_server_state(key: &str) -> bool {
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
fn is_default_setting(setting: &FormatSetting<'_>) -> bool {
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
        "store" => setting.wire == Format::OpenaiResponses,
        _ => false,
    }
}
