//! What shall be done, read from the flags; refused where one of them would do nothing.

use foxwedge_core::{
    Question,
    compact::{Elision, Fraction, ToolRule, Treatment},
};
use foxwedge_dialect::compact::{Settings, Stage};

use super::{
    amount::{share, tokens},
    limits::{Room, part},
};
use crate::{
    cli::{CompactArgs, Strategy},
    say::Trouble,
};

/// What was asked for, whatever the conversation is.
#[derive(Clone, Debug)]
pub(crate) struct Wishes {
    stages: Vec<Stage>,
    elision: Elision,
    recent: Recent,
    pins: Vec<usize>,
}

/// What `summarize` leaves as it is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Recent {
    Usual,
    Tokens(u64),
    /// What is left of everything when this share is summarized.
    Beside(f64),
}

impl Wishes {
    /// Reads the flags.
    pub(crate) fn new(args: &CompactArgs) -> Result<Wishes, Trouble> {
        let named = args.fraction.as_deref().map(|typed| share("fraction", typed)).transpose()?;
        let fraction = named.and_then(Fraction::new).unwrap_or(Fraction::HALF);
        let strategies = match (args.strategy.as_slice(), named) {
            ([], Some(_)) => vec![Strategy::Window],
            ([], None) => vec![Strategy::Elide, Strategy::Budget],
            (typed, _) => typed.to_vec(),
        };
        check(args, &strategies)?;
        let stage = |strategy: &Strategy| match strategy {
            Strategy::Window => Stage::Window(fraction),
            Strategy::Budget => Stage::Budget,
            Strategy::Elide => Stage::Elide,
            Strategy::Importance => Stage::Importance,
            Strategy::Summarize => Stage::Summarize,
        };
        let recent = match (&args.recent, named) {
            (Some(typed), _) if typed.trim() == "0" => Recent::Tokens(0),
            (Some(typed), _) => Recent::Tokens(tokens("recent", typed)?),
            (None, Some(share)) if !strategies.contains(&Strategy::Window) => Recent::Beside(share),
            (None, _) => Recent::Usual,
        };
        let stages = strategies.iter().map(stage).collect();
        Ok(Wishes { stages, elision: elision(args)?, recent, pins: args.pin.clone() })
    }

    /// The settings for a conversation of so many messages and tokens.
    pub(crate) fn settings(
        &self,
        question: Question,
        room: &Room,
        messages: usize,
        total: u64,
    ) -> Result<Settings, Trouble> {
        if let Some(pin) = self.pins.iter().find(|pin| **pin >= messages) {
            return Err(Trouble::new(format!("--pin {pin}: there is no such message")).help(
                match messages {
                    0 => "the conversation is empty".to_owned(),
                    count => format!("messages are counted from 0; the last one is {}", count - 1),
                },
            ));
        }
        Ok(Settings {
            question,
            stages: self.stages.clone(),
            limits: room.limits,
            pins: self.pins.clone(),
            elision: self.elision.clone(),
            recent: match self.recent {
                Recent::Usual => None,
                Recent::Tokens(tokens) => Some(tokens),
                Recent::Beside(share) => Some(part(total, 1.0 - share)),
            },
        })
    }
}

/// Refuses flags that would do nothing, or strategies that cannot work.
fn check(args: &CompactArgs, strategies: &[Strategy]) -> Result<(), Trouble> {
    let has = |strategy| strategies.contains(&strategy);
    let idle = |flag: &str, strategy: &str| {
        Trouble::new(format!("{flag} is for the strategy `{strategy}`, which was not asked for"))
            .help(format!("add it: `--strategy {strategy}`, or leave {flag} out"))
    };
    if args.fraction.is_some() && !has(Strategy::Window) && !has(Strategy::Summarize) {
        return Err(idle("--fraction", "window"));
    }
    if !has(Strategy::Summarize) {
        let flags = [
            ("--summarizer", args.summarizer.is_some()),
            ("--summarizer-timeout", args.summarizer_timeout.is_some()),
            ("--recent", args.recent.is_some()),
        ];
        if let Some((flag, _)) = flags.iter().find(|(_, set)| *set) {
            return Err(idle(flag, "summarize"));
        }
    }
    if args.summarizer.as_deref().is_some_and(|command| command.trim().is_empty()) {
        return Err(Trouble::new("--summarizer needs a command")
            .help("it reads a prompt on stdin and prints a summary: `--summarizer 'claude -p'`"));
    }
    let endless =
        |strategy: &&Strategy| !matches!(strategy, Strategy::Window | Strategy::Summarize);
    match strategies.iter().find(endless) {
        Some(strategy) if args.fraction.is_some() && args.budget.is_none() => {
            Err(Trouble::new(format!("the strategy `{}` needs a budget", strategy.name()))
                .help("beside --fraction, name what it may take: `--budget 32k`"))
        }
        _ => Ok(()),
    }
}

/// What may happen to answers.
fn elision(args: &CompactArgs) -> Result<Elision, Trouble> {
    let mut elision = Elision::default();
    if let Some(typed) = &args.ends {
        elision.ends = u32::try_from(tokens("ends", typed)?).unwrap_or(u32::MAX);
    }
    let rules = [
        (&args.keep_tool, Treatment::Keep),
        (&args.shrink_tool, Treatment::Shrink),
        (&args.clear_tool, Treatment::Clear),
    ];
    for (tools, treatment) in rules {
        let tools = tools.iter().map(|tool| tool.trim()).filter(|tool| !tool.is_empty());
        elision.tools.extend(tools.map(|tool| ToolRule { tool: tool.to_owned(), treatment }));
    }
    // The first rule that fits counts: the nearer a name, the more it is meant.
    let nearness = |rule: &ToolRule| (rule.tool.ends_with('*'), std::cmp::Reverse(rule.tool.len()));
    elision.tools.sort_by_key(nearness);
    Ok(elision)
}
