//! How many tokens a conversation may take: a given budget, or a share of the model's window.

use foxwedge_core::compact::{HistoryFraction, TokenLimits};
use foxwedge_tokens::{ModelTokenizer, models};

use super::amount::{parse_share, parse_tokens};
use crate::cli::{CompactArgs, CompactStrategy};
use foxwedge_local::output::{HelpfulError, clean, cut};

/// The history is compacted above this share of the window.
const THRESHOLD: f64 = 0.9;
/// A compaction shrinks it to this share, so that compactions are rare.
const GOAL: f64 = 0.6;
/// Tokens reserved for the reply of an unknown model.
const DEFAULT_RESERVE: u64 = 32_768;

/// The token limits, and how tokens are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CompactionBudget {
    /// `None`: only a share or a summary is possible.
    pub(crate) limits: Option<TokenLimits>,
    /// The model's window, if the limits come from it.
    pub(crate) window: Option<u64>,
    /// Tokens of the window that are reserved for the reply.
    pub(crate) reserve: Option<u64>,
    /// How tokens are counted.
    pub(crate) tokenizer: ModelTokenizer,
}

impl CompactionBudget {
    /// The budget from the flags. `own_model` is the model that the conversation names.
    pub(crate) fn new(
        args: &CompactArgs,
        own_model: Option<&str>,
    ) -> Result<CompactionBudget, HelpfulError> {
        let model = args.model.as_deref().or(own_model);
        let tokenizer = match args.tokens {
            Some(counting) => ModelTokenizer::of(counting),
            None => ModelTokenizer::for_model(model),
        };
        let goal = args.goal.as_deref().map(|typed| parse_tokens("goal", typed)).transpose()?;
        let given =
            args.window.as_deref().map(|typed| parse_tokens("window", typed)).transpose()?;
        let reserve = match args.reserve.as_deref() {
            Some(typed) if typed.trim() == "0" => Some(0),
            typed => typed.map(|typed| parse_tokens("reserve", typed)).transpose()?,
        };
        let threshold = match &args.threshold {
            Some(typed) => parse_share("threshold", typed)?,
            None => THRESHOLD,
        };
        let budget =
            |limits, window, reserve| CompactionBudget { limits, window, reserve, tokenizer };
        if let Some(typed) = &args.budget {
            let max = parse_tokens("budget", typed)?;
            return Ok(budget(Some(checked_limits(max, goal, max)?), None, None));
        }
        if args.fraction.is_some() {
            return match goal {
                None => Ok(budget(None, None, None)),
                Some(_) => Err(HelpfulError::new("--goal needs --budget if --fraction is given")
                    .help("--fraction alone cuts once, no matter how much is left")),
            };
        }
        let known = model.and_then(models::find_model);
        let Some(window) = given.or(known.map(|known| known.window)) else {
            // The strategy `window` does not depend on the model's window.
            return match (args.strategy.as_slice(), goal) {
                ([CompactStrategy::Window], None) => Ok(budget(None, None, None)),
                _ => Err(unknown_window_error(model)),
            };
        };
        let default = known.map_or(DEFAULT_RESERVE, |known| known.output).min(window / 4);
        let reserve = reserve.unwrap_or(default);
        if reserve >= window {
            return Err(HelpfulError::new(format!(
                "a window of {window} tokens has no room for a reserve of {reserve}"
            ))
            .help("--reserve is the room for the reply; use a smaller one, or a larger --window"));
        }
        let free = window - reserve;
        let max = share_of(free, threshold);
        if max == 0 {
            return Err(HelpfulError::new("--threshold leaves no tokens").help(
                "it is the share of the window above which the history is compacted: \
                 `--threshold 0.9`",
            ));
        }
        let default = share_of(free, GOAL).min(max);
        Ok(budget(Some(checked_limits(max, goal, default)?), Some(window), Some(reserve)))
    }
}

/// Checks that the goal does not exceed the limit.
fn checked_limits(max: u64, goal: Option<u64>, default: u64) -> Result<TokenLimits, HelpfulError> {
    match goal {
        Some(goal) if goal > max => {
            Err(HelpfulError::new(format!("--goal {goal} is more than the {max} tokens allowed"))
                .help("the goal is the size after a compaction; it cannot exceed the limit"))
        }
        goal => Ok(TokenLimits::new(max, goal.unwrap_or(default))),
    }
}

/// A share of a number of tokens, rounded down.
pub(super) fn share_of(tokens: u64, share: f64) -> u64 {
    HistoryFraction::new(share).map_or(0, |share| share.of(tokens))
}

fn unknown_window_error(model: Option<&str>) -> HelpfulError {
    let error = match model {
        Some(model) => HelpfulError::new(format!(
            "the context window of the model `{}` is not known",
            cut(&clean(model), 60)
        )),
        None => HelpfulError::new("there is no token limit: the conversation names no model"),
    };
    error.help(
        "give a limit (`--budget 32k`), the model's window (`--window 128k`), a model \
         (`--model gpt-5`) or the share to remove (`--fraction 0.5`)",
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CompactArgs,
    }

    fn budget(flags: &str, given: Option<&str>) -> String {
        let arguments = std::iter::once("compact").chain(flags.split_whitespace());
        match CompactionBudget::new(&Line::parse_from(arguments).args, given) {
            Ok(CompactionBudget { limits: Some(limits), tokenizer, .. }) => {
                format!("{} {} {}", limits.max_tokens(), limits.goal(), tokenizer.counting().name())
            }
            Ok(CompactionBudget { tokenizer, .. }) => {
                format!("no limit {}", tokenizer.counting().name())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn limits_are_the_budget_or_a_share_of_the_window() {
        let unknown = "the context window of the model `m` is not known";
        let table = [
            ("--budget 32k", None, "32000 32000 estimate"),
            ("--budget 32k --goal 20k", Some("gpt-4o"), "32000 20000 o200k"),
            ("--budget 9 --tokens cl100k", Some("gpt-4o"), "9 9 cl100k"),
            ("--budget 9 --model gpt-4", Some("gpt-4o"), "9 9 cl100k"),
            // 128000 − 16384 are 111616.
            ("", Some("gpt-4o"), "100454 66969 o200k"),
            ("--threshold 0.5", Some("gpt-4o"), "55808 55808 o200k"),
            ("--window 1000", None, "675 450 estimate"),
            ("--window 1000 --reserve 0", None, "900 600 estimate"),
            ("--window 1000 --reserve 100 --goal 7", Some("m"), "810 7 estimate"),
            ("--fraction 0.5", Some("gpt-4o"), "no limit o200k"),
            ("--fraction 0.5 --budget 5k", None, "5000 5000 estimate"),
            ("", Some("m"), unknown),
            ("--model m", Some("gpt-4o"), unknown),
            ("--strategy window", Some("m"), "no limit estimate"),
            ("--strategy window,budget", Some("m"), unknown),
            ("", None, "there is no token limit: the conversation names no model"),
            ("--budget 5 --goal 6", None, "--goal 6 is more than the 5 tokens allowed"),
            ("--fraction 1 --goal 6", None, "--goal needs --budget if --fraction is given"),
            (
                "--window 10 --reserve 10",
                None,
                "a window of 10 tokens has no room for a reserve of 10",
            ),
            ("--window 10 --threshold 0", None, "--threshold leaves no tokens"),
            ("--window 10 --threshold NaN", None, "--threshold NaN: not a share"),
        ];
        for (flags, given, expected) in table {
            assert_eq!(budget(flags, given), expected, "{flags} {given:?}");
        }
    }
}
