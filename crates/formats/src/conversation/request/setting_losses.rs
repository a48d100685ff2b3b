//! Records the settings that are lost.

use foxwedge_core::Format;

use super::{
    field_writer::{RequestFieldWriter, setting_name},
    openai_settings,
};
use crate::conversation::{FormatSetting, LossKind, ToolDeclaration};

/// Records the settings of another format that this one does not support.
pub(crate) fn record_foreign_settings(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    for setting in &writer.settings.others {
        if setting.wire == writer.to
            || openai_settings::is_shared(setting, writer.to, writer.profile)
            || is_default_setting(setting)
        {
            continue;
        }
        let name = match setting.parent {
            "" => setting.key.to_string(),
            within => format!("{within}.{}", setting.key),
        };
        let behind = match is_server_state(&setting.key) {
            true => ": the state it names on the server is not in the request",
            false => "",
        };
        writer.record_loss(
            loss_kind(setting),
            format!("`{name}` is not supported in this format{behind}"),
        );
    }
}

/// Records the numbers that are lost; only few formats have these.
pub(crate) fn record_numbers(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    writer.record_unsupported_number("seed", settings.seed, None);
    writer.record_unsupported_number("presence_penalty", settings.presence_penalty, Some(0));
    writer.record_unsupported_number("frequency_penalty", settings.frequency_penalty, Some(0));
    writer.record_unsupported_number("n", settings.candidate_count, Some(1000));
}

/// Records the loss of the verbosity.
pub(crate) fn record_verbosity(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    if writer.settings.verbosity.as_ref().is_some_and(|verbosity| *verbosity != "medium") {
        writer.record_unsupported(setting_name(writer.from, "verbosity"));
    }
}

/// Records the loss of the user.
pub(crate) fn record_user(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    if writer.settings.user.is_some() {
        writer.record_unsupported(setting_name(writer.from, "user"));
    }
}

/// Records that parallel calls cannot be disabled.
pub(crate) fn record_parallel(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    written: &[&ToolDeclaration<'_>],
) {
    if writer.settings.parallel_calls == Some(false) && !written.is_empty() {
        writer
            .record_loss(LossKind::ToolChoice, "parallel calls cannot be disabled in this format");
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

/// Whether a field refers to conversation state that the provider stores.
fn is_server_state(key: &str) -> bool {
    matches!(
        key,
        "previous_response_id"
            | "previous_interaction_id"
            | "continuation_token"
            | "conversation"
            | "prompt"
            | "cachedContent"
            | "cached_content"
            | "thread"
            | "continuationToken"
    )
}

/// Whether a field only requests what other formats do by default.
fn is_default_setting(setting: &FormatSetting<'_>) -> bool {
    let value: String = setting.value.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let value = value.as_str();
    if matches!(value, "null" | "false" | "{}" | "[]" | "\"\"") {
        return true;
    }
    match &*setting.key {
        // Transport options, or the version of the format.
        "stream_options" | "anthropic_version" => true,
        "service_tier" => {
            matches!(value, "\"auto\"" | "\"default\"" | "\"standard_only\"" | "\"standard\"")
        }
        "serviceTier" => value == "{\"type\":\"default\"}",
        "performanceConfig" => value == "{\"latency\":\"standard\"}",
        "speed" => value == "\"standard\"",
        "truncation" => value == "\"disabled\"",
        "modalities" => value == "[\"text\"]",
        "responseModalities" => value == "[\"TEXT\"]",
        // Encrypted reasoning only works in its own format, so other formats need not return it.
        "include" => value == "[\"reasoning.encrypted_content\"]",
        // Only these formats store responses by default.
        "store" => {
            matches!(setting.wire, Format::OpenaiResponses | Format::GeminiInteractions)
        }
        _ => false,
    }
}
