//! How a Gemini model is told to reason.

use super::{RequestFieldWriter, RequestFields, WIRE, read_flag, reasoning};
use crate::{
    json::JsonValue,
    model::{JsonText, LossKind, RequestSettings, ThinkingSetting},
};

const THINKING: &str = "generationConfig.thinkingConfig";

pub(super) fn read<'a>(fields: &mut RequestFields<'_, 'a>, settings: &mut RequestSettings<'a>) {
    let Some(mut inner) = fields.take_object(&["thinkingConfig", "thinking_config"]) else {
        return;
    };
    settings.thinking = inner.take_first(&["thinkingBudget", "thinking_budget"], read_budget);
    let level = |value: JsonValue<'_, 'a>| value.text().map(|word| word.to_ascii_lowercase());
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

pub(super) fn write(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    sheet.write_object("thinkingConfig", |sheet| {
        write_thinking(sheet);
        sheet.write_flag("includeThoughts", sheet.settings.include_reasoning);
        sheet.write_other_settings(THINKING);
    });
}

/// Models of the second generation take budgets, later ones words; never both.
fn write_thinking(sheet: &mut RequestFieldWriter<'_, '_, '_>) {
    let settings = sheet.settings;
    let older = settings.model.as_ref().is_some_and(|model| model.contains("gemini-2"));
    match (&settings.thinking, settings.effort.as_deref()) {
        (Some(ThinkingSetting::Budget(tokens)), effort) => {
            sheet.write_json("thinkingBudget", Some(tokens));
            if let Some(word) = effort {
                let note = format!("the effort `{word}` has no place beside a budget");
                sheet.record_loss(LossKind::Setting, note);
            }
        }
        (Some(ThinkingSetting::Off), effort) => {
            sheet.write_json("thinkingBudget", Some("0"));
            effort.into_iter().for_each(|word| reasoning::record_effort_loss(sheet, word));
        }
        (_, Some(word)) if older => write_budget(sheet, word),
        (_, Some(word)) => write_level(sheet, word),
        (Some(ThinkingSetting::Adaptive), None) => sheet.write_json("thinkingBudget", Some("-1")),
        (None, None) => {}
    }
}

/// The most that every model of the second generation takes.
const MAX_BUDGET: u64 = 24576;

fn write_budget(sheet: &mut RequestFieldWriter<'_, '_, '_>, word: &str) {
    let Some(tokens) = reasoning::budget_of_effort(word) else {
        return reasoning::record_unknown_effort(sheet, word);
    };
    sheet.write_json("thinkingBudget", Some(&tokens.min(MAX_BUDGET).to_string()));
    if tokens > MAX_BUDGET {
        let note =
            format!("the effort `{word}` becomes a budget of {MAX_BUDGET} tokens for reasoning");
        sheet.record_loss(LossKind::Setting, note);
    }
}

fn write_level(sheet: &mut RequestFieldWriter<'_, '_, '_>, word: &str) {
    let level = match word {
        "minimal" => "MINIMAL",
        "low" => "LOW",
        "medium" => "MEDIUM",
        "high" => "HIGH",
        "xhigh" | "max" => {
            reasoning::record_effort_change(sheet, word, "high");
            "HIGH"
        }
        _ => return reasoning::record_unknown_effort(sheet, word),
    };
    sheet.write_plain("thinkingLevel", level);
}
