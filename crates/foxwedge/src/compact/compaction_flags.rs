//! Compaction settings from the flags. A flag that would have no effect is an error.

use foxwedge_core::{
    CheckOptions,
    compact::{AnswerTreatment, ElisionPolicy, HistoryFraction, ToolElisionRule},
};
use foxwedge_formats::compact::{CompactionSettings, CompactionStage};

use super::{
    amount::{parse_share, parse_tokens},
    compaction_budget::{CompactionBudget, share_of},
};
use crate::cli::{CompactArgs, CompactStrategy};
use foxwedge_local::output::HelpfulError;

/// The part of the settings that does not depend on the conversation.
#[derive(Clone, Debug)]
pub(crate) struct CompactionFlags {
    stages: Vec<CompactionStage>,
    elision: ElisionPolicy,
    recent: RecentShare,
    pins: Vec<usize>,
}

/// The recent part that `summarize` does not summarize.
#[derive(Clone, Copy, PartialEq, Debug)]
enum RecentShare {
    Unset,
    Tokens(u64),
    /// Everything except this share of the tokens.
    ExceptShare(f64),
}

impl CompactionFlags {
    /// Parses and checks the flags.
    pub(crate) fn new(args: &CompactArgs) -> Result<CompactionFlags, HelpfulError> {
        let share =
            args.fraction.as_deref().map(|typed| parse_share("fraction", typed)).transpose()?;
        let fraction = share.and_then(HistoryFraction::new).unwrap_or(HistoryFraction::HALF);
        let strategies = match (args.strategy.as_slice(), share) {
            ([], Some(_)) => vec![CompactStrategy::Window],
            ([], None) => vec![CompactStrategy::Elide, CompactStrategy::Budget],
            (typed, _) => typed.to_vec(),
        };
        check_flags(args, &strategies)?;
        let stage = |strategy: &CompactStrategy| match strategy {
            CompactStrategy::Window => CompactionStage::Window(fraction),
            CompactStrategy::Budget => CompactionStage::Budget,
            CompactStrategy::Elide => CompactionStage::Elide,
            CompactStrategy::Importance => CompactionStage::Importance,
            CompactStrategy::Summarize => CompactionStage::Summarize,
        };
        let recent = match (&args.recent, share) {
            (Some(typed), _) if typed.trim() == "0" => RecentShare::Tokens(0),
            (Some(typed), _) => RecentShare::Tokens(parse_tokens("recent", typed)?),
            (None, Some(share)) if !strategies.contains(&CompactStrategy::Window) => {
                RecentShare::ExceptShare(share)
            }
            (None, _) => RecentShare::Unset,
        };
        let stages = strategies.iter().map(stage).collect();
        Ok(CompactionFlags {
            stages,
            elision: parse_elision(args)?,
            recent,
            pins: args.pin.clone(),
        })
    }

    /// The settings for a conversation with the given number of messages and tokens.
    pub(crate) fn settings(
        &self,
        options: CheckOptions,
        budget: &CompactionBudget,
        messages: usize,
        total: u64,
    ) -> Result<CompactionSettings, HelpfulError> {
        if let Some(pin) = self.pins.iter().find(|pin| **pin >= messages) {
            return Err(HelpfulError::new(format!("--pin {pin}: there is no such message")).help(
                match messages {
                    0 => "the conversation is empty".to_owned(),
                    count => format!("messages are counted from 0; the last one is {}", count - 1),
                },
            ));
        }
        Ok(CompactionSettings {
            question: options,
            stages: self.stages.clone(),
            limits: budget.limits,
            pins: self.pins.clone(),
            elision: self.elision.clone(),
            recent: match self.recent {
                RecentShare::Unset => None,
                RecentShare::Tokens(tokens) => Some(tokens),
                RecentShare::ExceptShare(share) => Some(share_of(total, 1.0 - share)),
            },
        })
    }
}

/// Refuses flags without effect and strategies that cannot work.
fn check_flags(args: &CompactArgs, strategies: &[CompactStrategy]) -> Result<(), HelpfulError> {
    let has = |strategy| strategies.contains(&strategy);
    let unused = |flag: &str, strategy: &str| {
        HelpfulError::new(format!("{flag} is for the strategy `{strategy}`, which is not selected"))
            .help(format!("add `--strategy {strategy}` or remove {flag}"))
    };
    if args.fraction.is_some() && !has(CompactStrategy::Window) && !has(CompactStrategy::Summarize)
    {
        return Err(unused("--fraction", "window"));
    }
    if !has(CompactStrategy::Summarize) {
        let flags = [
            ("--summarizer", args.summarizer.is_some()),
            ("--summarizer-timeout", args.summarizer_timeout.is_some()),
            ("--recent", args.recent.is_some()),
        ];
        if let Some((flag, _)) = flags.iter().find(|(_, set)| *set) {
            return Err(unused(flag, "summarize"));
        }
    }
    if args.summarizer.as_deref().is_some_and(|command| command.trim().is_empty()) {
        return Err(HelpfulError::new("--summarizer needs a command")
            .help("it reads a prompt on stdin and prints a summary: `--summarizer 'claude -p'`"));
    }
    let needs_budget = |strategy: &&CompactStrategy| {
        !matches!(strategy, CompactStrategy::Window | CompactStrategy::Summarize)
    };
    match strategies.iter().find(needs_budget) {
        Some(strategy) if args.fraction.is_some() && args.budget.is_none() => {
            Err(HelpfulError::new(format!("the strategy `{}` needs a budget", strategy.name()))
                .help("with --fraction, also give a limit: `--budget 32k`"))
        }
        _ => Ok(()),
    }
}

/// How tool results may be shortened.
fn parse_elision(args: &CompactArgs) -> Result<ElisionPolicy, HelpfulError> {
    let mut elision = ElisionPolicy::default();
    if let Some(typed) = &args.ends {
        elision.kept_tokens = u32::try_from(parse_tokens("ends", typed)?).unwrap_or(u32::MAX);
    }
    let rules = [
        (&args.keep_tool, AnswerTreatment::Keep),
        (&args.shrink_tool, AnswerTreatment::Shrink),
        (&args.clear_tool, AnswerTreatment::Clear),
    ];
    for (tools, treatment) in rules {
        let tools = tools.iter().map(|tool| tool.trim()).filter(|tool| !tool.is_empty());
        elision
            .tools
            .extend(tools.map(|tool| ToolElisionRule { tool: tool.to_owned(), treatment }));
    }
    // The first matching rule wins, so the most specific names come first.
    let specificity =
        |rule: &ToolElisionRule| (rule.tool.ends_with('*'), std::cmp::Reverse(rule.tool.len()));
    elision.tools.sort_by_key(specificity);
    Ok(elision)
}
