//! How a Gemini model is told to reason.

use super::{Fields, Sheet, WIRE, flag, reasoning};
use crate::{
    canon::{Lost, Settings, Thinking, Words},
    json::Value,
};

const THINKING: &str = "generationConfig.thinkingConfig";

pub(super) fn read<'a>(fields: &mut Fields<'_, 'a>, settings: &mut Settings<'a>) {
    let Some(mut inner) = fields.inner(&["thinkingConfig", "thinking_config"]) else { return };
    settings.thinking = inner.first(&["thinkingBudget", "thinking_budget"], budget);
    let level = |value: Value<'_, 'a>| value.text().map(|word| word.to_ascii_lowercase());
    let level = inner.first(&["thinkingLevel", "thinking_level"], level);
    settings.effort = level.map(Words::from);
    settings.thoughts = inner.first(&["includeThoughts", "include_thoughts"], flag);
    inner.leave(WIRE, THINKING, &mut settings.others);
}

fn budget<'a>(value: Value<'_, 'a>) -> Option<Thinking<'a>> {
    Some(match value.number()? {
        "0" => Thinking::Off,
        "-1" => Thinking::Adaptive,
        number => Thinking::Budget(value.count().map(|_| number)?),
    })
}

pub(super) fn write(sheet: &mut Sheet<'_, '_, '_>) {
    sheet.object("thinkingConfig", |sheet| {
        write_thinking(sheet);
        sheet.flag("includeThoughts", sheet.settings.thoughts);
        sheet.others(THINKING);
    });
}

/// Models of the second generation take budgets, later ones words; never both.
fn write_thinking(sheet: &mut Sheet<'_, '_, '_>) {
    let settings = sheet.settings;
    let older = settings.model.as_ref().is_some_and(|model| model.contains("gemini-2"));
    match (&settings.thinking, settings.effort.as_deref()) {
        (Some(Thinking::Budget(tokens)), effort) => {
            sheet.json("thinkingBudget", Some(tokens));
            if let Some(word) = effort {
                let note = format!("the effort `{word}` has no place beside a budget");
                sheet.lose(Lost::Setting, note);
            }
        }
        (Some(Thinking::Off), effort) => {
            sheet.json("thinkingBudget", Some("0"));
            effort.into_iter().for_each(|word| reasoning::off(sheet, word));
        }
        (_, Some(word)) if older => write_budget(sheet, word),
        (_, Some(word)) => write_level(sheet, word),
        (Some(Thinking::Adaptive), None) => sheet.json("thinkingBudget", Some("-1")),
        (None, None) => {}
    }
}

/// The most that every model of the second generation takes.
const MOST: u64 = 24576;

fn write_budget(sheet: &mut Sheet<'_, '_, '_>, word: &str) {
    let Some(tokens) = reasoning::budget(word) else { return reasoning::unknown(sheet, word) };
    sheet.json("thinkingBudget", Some(&tokens.min(MOST).to_string()));
    if tokens > MOST {
        let note = format!("the effort `{word}` becomes a budget of {MOST} tokens for reasoning");
        sheet.lose(Lost::Setting, note);
    }
}

fn write_level(sheet: &mut Sheet<'_, '_, '_>, word: &str) {
    let level = match word {
        "minimal" => "MINIMAL",
        "low" => "LOW",
        "medium" => "MEDIUM",
        "high" => "HIGH",
        "xhigh" | "max" => {
            reasoning::becomes(sheet, word, "high");
            "HIGH"
        }
        _ => return reasoning::unknown(sheet, word),
    };
    sheet.plain("thinkingLevel", level);
}
