//! How many tokens a conversation may take: a budget that was named, or the model's window.

use foxwedge_core::compact::{HistoryFraction, TokenLimits};
use foxwedge_tokens::{ModelTokenizer, models};

use super::amount::{parse_share, parse_tokens};
use crate::{
    cli::{CompactArgs, CompactStrategy},
    cli_output::{CliError, clean, cut},
};

/// Above this share of the room something has to happen.
const THRESHOLD: f64 = 0.9;
/// Then it shrinks to this share, so that it happens rarely.
const GOAL: f64 = 0.6;
/// Room for a reply of a model that nobody knows.
const REPLY: u64 = 32_768;

/// How much room there is, and how it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CompactionBudget {
    /// Without, only a share or a summary can be asked for.
    pub(crate) limits: Option<TokenLimits>,
    /// The model's window, where it was looked at.
    pub(crate) window: Option<u64>,
    /// Tokens of it that are kept free for the reply.
    pub(crate) reserve: Option<u64>,
    /// How tokens are counted.
    pub(crate) tokenizer: ModelTokenizer,
}

impl CompactionBudget {
    /// What was asked for, for a conversation that names this model itself.
    pub(crate) fn new(args: &CompactArgs, own: Option<&str>) -> Result<CompactionBudget, CliError> {
        let model = args.model.as_deref().or(own);
        let tokenizer = match args.tokens {
            Some(counting) => ModelTokenizer::of(counting),
            None => ModelTokenizer::for_model(model),
        };
        let goal = args.goal.as_deref().map(|typed| parse_tokens("goal", typed)).transpose()?;
        let named =
            args.window.as_deref().map(|typed| parse_tokens("window", typed)).transpose()?;
        let reserve = match args.reserve.as_deref() {
            Some(typed) if typed.trim() == "0" => Some(0),
            typed => typed.map(|typed| parse_tokens("reserve", typed)).transpose()?,
        };
        let threshold = match &args.threshold {
            Some(typed) => parse_share("threshold", typed)?,
            None => THRESHOLD,
        };
        let room =
            |limits, window, reserve| CompactionBudget { limits, window, reserve, tokenizer };
        if let Some(typed) = &args.budget {
            let most = parse_tokens("budget", typed)?;
            return Ok(room(Some(checked_limits(most, goal, most)?), None, None));
        }
        if args.fraction.is_some() {
            return match goal {
                None => Ok(room(None, None, None)),
                Some(_) => Err(CliError::new("--goal needs a --budget beside --fraction")
                    .help("--fraction alone cuts once, however much is left")),
            };
        }
        let known = model.and_then(models::find_model);
        let Some(window) = named.or(known.map(|known| known.window)) else {
            // A window of messages needs to know nothing about the model's.
            return match (args.strategy.as_slice(), goal) {
                ([CompactStrategy::Window], None) => Ok(room(None, None, None)),
                _ => Err(unknown_window_error(model)),
            };
        };
        let usual = known.map_or(REPLY, |known| known.output).min(window / 4);
        let reserve = reserve.unwrap_or(usual);
        if reserve >= window {
            return Err(CliError::new(format!(
                "a window of {window} tokens has no room for a reserve of {reserve}"
            ))
            .help(
                "--reserve is what is kept free for the reply; name less, or a larger --window",
            ));
        }
        let free = window - reserve;
        let most = share_of(free, threshold);
        if most == 0 {
            return Err(CliError::new("--threshold leaves no token").help(
                "it is the share of the window above which something has to happen: \
                 `--threshold 0.9`",
            ));
        }
        let usual = share_of(free, GOAL).min(most);
        Ok(room(Some(checked_limits(most, goal, usual)?), Some(window), Some(reserve)))
    }
}

/// A limit, and a goal that is not above it.
fn checked_limits(most: u64, goal: Option<u64>, usual: u64) -> Result<TokenLimits, CliError> {
    match goal {
        Some(goal) if goal > most => {
            Err(CliError::new(format!("--goal {goal} is more than the {most} tokens allowed"))
                .help("the goal is what a compaction shrinks to; name no more than the limit"))
        }
        goal => Ok(TokenLimits::new(most, goal.unwrap_or(usual))),
    }
}

/// A share of so many tokens, rounded down.
pub(super) fn share_of(tokens: u64, share: f64) -> u64 {
    HistoryFraction::new(share).map_or(0, |share| share.of(tokens))
}

fn unknown_window_error(model: Option<&str>) -> CliError {
    let trouble = match model {
        Some(model) => CliError::new(format!(
            "how much is too much? the window of the model `{}` is not known",
            cut(&clean(model), 60)
        )),
        None => CliError::new("how much is too much? the conversation names no model"),
    };
    trouble.help(
        "name what it may take (`--budget 32k`), the model's window (`--window 128k`) or a model \
         (`--model gpt-5`), or how much of it goes (`--fraction 0.5`)",
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

    fn room(flags: &str, named: Option<&str>) -> String {
        let words = std::iter::once("compact").chain(flags.split_whitespace());
        match CompactionBudget::new(&Line::parse_from(words).args, named) {
            Ok(CompactionBudget { limits: Some(limits), tokenizer, .. }) => {
                format!("{} {} {}", limits.max_tokens(), limits.goal(), tokenizer.counting().name())
            }
            Ok(CompactionBudget { tokenizer, .. }) => {
                format!("no limit {}", tokenizer.counting().name())
            }
            Err(trouble) => trouble.to_string(),
        }
    }

    #[test]
    fn the_room_is_the_budget_or_a_share_of_the_window() {
        let unknown = "how much is too much? the window of the model `m` is not known";
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
            ("", None, "how much is too much? the conversation names no model"),
            ("--budget 5 --goal 6", None, "--goal 6 is more than the 5 tokens allowed"),
            ("--fraction 1 --goal 6", None, "--goal needs a --budget beside --fraction"),
            (
                "--window 10 --reserve 10",
                None,
                "a window of 10 tokens has no room for a reserve of 10",
            ),
            ("--window 10 --threshold 0", None, "--threshold leaves no token"),
            ("--window 10 --threshold NaN", None, "--threshold NaN: this is no share"),
        ];
        for (flags, named, expected) in table {
            assert_eq!(room(flags, named), expected, "{flags} {named:?}");
        }
    }
}
