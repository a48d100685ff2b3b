//! Converts between a reasoning effort and a reasoning budget in tokens.
//!
//! The budgets are our choice; providers document none. Each effort has one budget, and each budget
//! maps to the effort that is nearest by ratio, so that an effort round-trips.

use super::{field_writer::RequestFieldWriter, openai_efforts::ModelEfforts};
use crate::conversation::{LossKind, ThinkingSetting};

/// Each effort and its budget in tokens.
const EFFORT_BUDGETS: [(&str, u64); 6] = [
    ("minimal", 1024),
    ("low", 4096),
    ("medium", 8192),
    ("high", 16384),
    ("xhigh", 32768),
    ("max", 65536),
];

/// The budget for an effort.
pub(crate) fn budget_of_effort(effort: &str) -> Option<u64> {
    EFFORT_BUDGETS.iter().find(|(known, _)| *known == effort).map(|(_, tokens)| *tokens)
}

/// The effort for a budget.
pub(crate) fn effort_of_budget(budget: u64) -> &'static str {
    let square = u128::from(budget).pow(2);
    let nearest = EFFORT_BUDGETS.windows(2).find(|pair| square < u128::from(pair[0].1 * pair[1].1));
    nearest.map_or("max", |pair| pair[0].0)
}

/// The effort, for formats that do not support budgets.
pub(crate) fn choose_effort<'s>(writer: &mut RequestFieldWriter<'_, 's, '_>) -> Option<&'s str> {
    let settings = writer.settings;
    let effort = settings.effort.as_deref();
    let efforts = ModelEfforts::of(writer);
    match (&settings.thinking, effort) {
        (Some(ThinkingSetting::Off), effort) => {
            effort.into_iter().for_each(|word| record_effort_loss(writer, word));
            choose_no_effort(writer, efforts)
        }
        (Some(ThinkingSetting::Budget(_)), _) | (_, Some(_))
            if efforts == ModelEfforts::Nothing =>
        {
            writer
                .record_loss(LossKind::Setting, "reasoning is left out: the model takes no effort");
            None
        }
        (Some(ThinkingSetting::Budget(tokens)), Some(word)) => {
            let note =
                format!("a reasoning budget of {tokens} tokens cannot be combined with `{word}`");
            writer.record_loss(LossKind::Setting, note);
            fit_effort(writer, efforts, word)
        }
        (Some(ThinkingSetting::Budget(tokens)), None) => {
            let tokens = tokens.parse().ok()?;
            let found = efforts.fit(effort_of_budget(tokens))?;
            if budget_of_effort(found) != Some(tokens) {
                record_budget_rounding(writer, tokens, found);
            }
            Some(found)
        }
        (Some(ThinkingSetting::Adaptive) | None, effort) => fit_effort(writer, efforts, effort?),
    }
}

/// The effort that switches reasoning off, or else the lowest one of a model that is known to have
/// several.
fn choose_no_effort<'s>(
    writer: &mut RequestFieldWriter<'_, 's, '_>,
    efforts: ModelEfforts,
) -> Option<&'s str> {
    match efforts.fit("none") {
        None => None,
        Some("none") => Some("none"),
        Some("minimal") => {
            writer.record_loss(
                LossKind::Setting,
                "reasoning cannot be switched off for this model: the effort is `minimal`",
            );
            Some("minimal")
        }
        Some(_) => {
            writer
                .record_loss(LossKind::Setting, "reasoning cannot be switched off for this model");
            None
        }
    }
}

/// The effort of a request, or the nearest one that the model takes.
fn fit_effort<'s>(
    writer: &mut RequestFieldWriter<'_, 's, '_>,
    efforts: ModelEfforts,
    word: &'s str,
) -> Option<&'s str> {
    let found = efforts.fit(word)?;
    if found != word {
        record_effort_change(writer, word, found);
    }
    Some(found)
}

/// Records that an effort without reasoning cannot be expressed.
pub(crate) fn record_effort_loss(writer: &mut RequestFieldWriter<'_, '_, '_>, word: &str) {
    writer.record_loss(
        LossKind::Setting,
        format!("the effort `{word}` is left out: reasoning is off"),
    );
}

/// Records that a budget is only approximated.
pub(crate) fn record_budget_rounding(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    tokens: u64,
    word: &str,
) {
    let note = format!("a reasoning budget of {tokens} tokens becomes the effort `{word}`");
    writer.record_loss(LossKind::Setting, note);
}

/// Records that an effort was replaced by another.
pub(crate) fn record_effort_change(
    writer: &mut RequestFieldWriter<'_, '_, '_>,
    word: &str,
    other: &str,
) {
    writer.record_loss(LossKind::Setting, format!("the effort `{word}` becomes `{other}`"));
}

/// Records an unknown effort.
pub(crate) fn record_unknown_effort(writer: &mut RequestFieldWriter<'_, '_, '_>, word: &str) {
    writer
        .record_loss(LossKind::Setting, format!("the effort `{word}` is not known in this format"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effort_round_trips() {
        for (known, tokens) in EFFORT_BUDGETS {
            assert_eq!((budget_of_effort(known), effort_of_budget(tokens)), (Some(tokens), known));
        }
        let table = [(0, "minimal"), (2047, "minimal"), (2048, "low"), (10_000, "medium")];
        for (tokens, expected) in table {
            assert_eq!(effort_of_budget(tokens), expected, "{tokens}");
        }
        assert_eq!(
            (effort_of_budget(31_999), effort_of_budget(u64::MAX), budget_of_effort("odd")),
            ("xhigh", "max", None)
        );
    }
}
