//! Thinking settings of Gemini requests.

use super::{RequestFieldWriter, RequestFields, WIRE, read_flag, reasoning};
use crate::conversation::{JsonText, LossKind, RequestSettings, ThinkingSetting};
use foxwedge_json::JsonValue;

const THINKING: &str = "generationConfig.thinkingConfig";

pub(super) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    let Some(mut inner) = fields.take_object(&["thinkingConfig", "thinking_config"]) else {
        return;
    };
    settings.thinking = inner.take_first(&["thinkingBudget", "thinking_budget"], read_budget);
    let level =
        |value: JsonValue<'_, 'a>| value.text().map(|level_name| level_name.to_ascii_lowercase());
    let level = inner.take_first(&["thinkingLevel", "thinking_level"], level);
    settings.effort = level.map(JsonText::from);
    settings.include_reasoning =
        inner.take_first(&["includeThoughts", "include_thoughts"], read_flag);
    inner.collect_remaining(WIRE, THINKING, &mut settings.others);
}

fn read_budget<'a>(value: JsonValue<'_, 'a>) -> Option<ThinkingSetting<'a>> {
    Some(match value.number()? {
        "0" => ThinkingSetting::Off,
        "-1" => ThinkingSetting::Adaptive,
        number => ThinkingSetting::Budget(value.count().map(|_| number)?),
    })
}

pub(super) fn write(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    writer.write_object("thinkingConfig", |writer| {
        write_thinking(writer);
        writer.write_flag("includeThoughts", writer.settings.include_reasoning);
        writer.write_other_settings(THINKING);
    });
}

/// Writes the thinking settings. Models of the second generation take a budget, later ones a level;
/// none takes both.
fn write_thinking(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = writer.settings;
    let older = settings.model.as_ref().is_some_and(|model| model.contains("gemini-2"));
    match (&settings.thinking, settings.effort.as_deref()) {
        (Some(ThinkingSetting::Budget(tokens)), effort) => {
            writer.write_json("thinkingBudget", Some(tokens));
            if let Some(word) = effort {
                let note = format!("the effort `{word}` cannot be combined with a budget");
                writer.record_loss(LossKind::Setting, note);
            }
        }
        (Some(ThinkingSetting::Off), effort) => {
            write_off(writer);
            effort.into_iter().for_each(|word| reasoning::record_effort_loss(writer, word));
        }
        (_, Some(word)) if older => write_budget(writer, word),
        (_, Some(word)) => write_level(writer, word),
        (Some(ThinkingSetting::Adaptive), None) => writer.write_json("thinkingBudget", Some("-1")),
        (None, None) => {}
    }
}

/// Switches reasoning off, or asks for the least where a model always reasons.
fn write_off(writer: &mut RequestFieldWriter<'_, '_, '_>) {
    let model = writer.settings.model.as_deref().unwrap_or_default();
    let (key, value) = if model.contains("gemini-2") && model.contains("pro") {
        ("thinkingBudget", "128")
    } else if model.contains("gemini-3") {
        ("thinkingLevel", if model.contains("flash") { "\"MINIMAL\"" } else { "\"LOW\"" })
    } else {
        return writer.write_json("thinkingBudget", Some("0"));
    };
    writer.write_json(key, Some(value));
    writer.record_loss(LossKind::Setting, "reasoning cannot be switched off for this model");
}

/// Maximum budget that every model of the second generation accepts.
const MAX_BUDGET: u64 = 24576;

fn write_budget(writer: &mut RequestFieldWriter<'_, '_, '_>, word: &str) {
    let Some(tokens) = reasoning::budget_of_effort(word) else {
        return reasoning::record_unknown_effort(writer, word);
    };
    writer.write_json("thinkingBudget", Some(&tokens.min(MAX_BUDGET).to_string()));
    if tokens > MAX_BUDGET {
        let note = format!("the effort `{word}` becomes a reasoning budget of {MAX_BUDGET} tokens");
        writer.record_loss(LossKind::Setting, note);
    }
}

fn write_level(writer: &mut RequestFieldWriter<'_, '_, '_>, effort: &str) {
    if let Some(level) = level_of_effort(writer, effort) {
        writer.write_plain("thinkingLevel", &level.to_ascii_uppercase());
    }
}

/// The thinking level for an effort; records what is lost.
pub(crate) fn level_of_effort<'e>(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    effort: &'e str,
) -> Option<&'e str> {
    match effort {
        "minimal" | "low" | "medium" | "high" => Some(effort),
        "xhigh" | "max" => {
            reasoning::record_effort_change(writer, effort, "high");
            Some("high")
        }
        _ => {
            reasoning::record_unknown_effort(writer, effort);
            None
        }
    }
}
