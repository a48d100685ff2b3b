//! The engine against the model: verdict, causes, repair and cut.

use std::collections::BTreeSet;

use foxwedge_core::{
    CheckOptions, CompactionText, Format, Policy, Profile, RuleSet, Severity, TailPolicy,
    apply_plan, check,
    compact::{
        CompactionInput, ElisionPolicy, HistoryClues, TokenLimits, TokenWeights, plan_budget,
    },
};
use foxwedge_formats::{outline_options, read};
use serde_json::Value;

use super::{
    AbstractHistory, AbstractPart, DEMANDS, HistoryLayout, HistoryPairing, RepairCost, SenderSide,
    allowed_cost, broken_clauses, moves, required_texts, wire, without_written_texts,
};
use crate::dialect::TestFormat;

/// The profiles of the model, with their formats.
const PROFILES: [(&str, &str, HistoryLayout); 8] = [
    ("openai-chat", "openai-chat", HistoryLayout::Chat),
    ("mistral", "openai-chat", HistoryLayout::Chat),
    ("deepseek", "openai-chat", HistoryLayout::Chat),
    ("openai-responses", "openai-responses", HistoryLayout::Items),
    ("gemini-interactions", "gemini-interactions", HistoryLayout::Items),
    ("anthropic", "anthropic", HistoryLayout::Blocks),
    ("gemini", "gemini", HistoryLayout::Blocks),
    ("bedrock", "bedrock", HistoryLayout::Blocks),
];

/// How many histories were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ModelTally {
    /// Histories in a format, with a profile.
    pub vectors: u64,
    /// Those that the model finds valid.
    pub valid: u64,
    /// Cuts that were tried.
    pub cuts: u64,
}

/// A difference between engine and model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelBreach {
    /// The profile.
    pub profile: &'static str,
    /// Whether calls at the end may be running.
    pub waiting: bool,
    /// What differs.
    pub what: String,
    /// The history in the format of the profile.
    pub input: String,
    /// What the engine made of it.
    pub output: String,
}

/// Compares engine and model on one history, for every profile.
pub fn compare(
    history: &AbstractHistory,
    waiting: bool,
    tally: &mut ModelTally,
) -> Result<(), Box<ModelBreach>> {
    for (profile, format, layout) in PROFILES {
        let (Some(own), Some(format)) = (TestFormat::named(format), Format::parse(format)) else {
            continue;
        };
        // This format has no instructions in its list.
        if own == TestFormat::Interactions
            && history.0.iter().any(|it| it.side == SenderSide::System)
        {
            continue;
        }
        if !is_certain(&HistoryPairing::new(&history.laid_out(layout), layout)) {
            continue;
        }
        let case = ModelCase { history, profile, layout, waiting, format };
        tally.vectors += 1;
        case.judge(&wire::write(history, own).to_string(), tally)?;
    }
    Ok(())
}

struct ModelCase<'c> {
    history: &'c AbstractHistory,
    profile: &'static str,
    layout: HistoryLayout,
    waiting: bool,
    format: Format,
}

impl ModelCase<'_> {
    fn judge(&self, input: &str, tally: &mut ModelTally) -> Result<(), Box<ModelBreach>> {
        let breach = |what: String, output: &str| {
            Err(Box::new(ModelBreach {
                profile: self.profile,
                waiting: self.waiting,
                what,
                input: input.to_owned(),
                output: output.to_owned(),
            }))
        };
        let expected = self.broken(self.history);
        let is_valid = expected.0.is_empty() && expected.1.is_empty();
        tally.valid += u64::from(is_valid);
        let found = self.engine_causes(input);
        if found != expected {
            return breach(format!("causes {found:?}, the model says {expected:?}"), "");
        }
        let output = self.engine_repair(input);
        if is_valid {
            if output != input {
                return breach("a valid history was changed".to_owned(), &output);
            }
            return self.judge_cut(input, tally).or_else(|(what, output)| breach(what, &output));
        }
        let list: Value = serde_json::from_str(&output).unwrap_or_default();
        let repaired = wire::read(&list);
        let (known, inferred) = self.broken(&repaired);
        if !known.is_empty() || !inferred.is_empty() {
            return breach(format!("the repair breaks {known:?} {inferred:?}"), &output);
        }
        for (_, part) in self.history.parts() {
            let there = repaired.parts().any(|(_, other)| is_kept(part, other));
            if !there {
                return breach(format!("{part:?} is lost"), &output);
            }
        }
        let (most, cost) = (
            allowed_cost(self.history, self.profile, self.layout, self.waiting),
            repair_cost(&self.history.laid_out(self.layout), &repaired),
        );
        let changes = [
            (cost.placeholders, most.placeholders),
            (cost.strays, most.strays),
            (cost.moves, most.moves),
        ];
        if changes.into_iter().any(|(cost, most)| cost > most) {
            return breach(
                format!("the repair costs {cost:?}, the model allows {most:?}"),
                &output,
            );
        }
        let is_valid = |history: &AbstractHistory| {
            let (known, inferred) = self.broken(history);
            known.is_empty() && inferred.is_empty()
        };
        if without_written_texts(&repaired).any(|shorter| is_valid(&shorter)) {
            return breach("the repair writes a text that is not needed".to_owned(), &output);
        }
        if self.engine_repair(&output) != output {
            return breach("a second repair changes the first".to_owned(), &output);
        }
        Ok(())
    }

    fn broken(&self, history: &AbstractHistory) -> (BTreeSet<u16>, BTreeSet<u16>) {
        broken_clauses(history, self.profile, self.layout, self.waiting)
    }

    fn options(&self) -> CheckOptions {
        let profile = Profile::parse(self.profile).expect("a profile of the engine");
        let tail = if self.waiting { TailPolicy::Pending } else { Policy::default().tail };
        let policy = Policy { tail, ..Policy::default() };
        CheckOptions { profile, rules: RuleSet::of(profile), policy }
    }

    /// What the engine finds: errors, which are known, and warnings, which are inferred.
    fn engine_causes(&self, input: &str) -> (BTreeSet<u16>, BTreeSet<u16>) {
        let options = self.options();
        let document = read(input, self.format, outline_options(options.profile)).expect("a list");
        let report = check(&document.draft, &options);
        // What the model does not know, it does not judge.
        let known = |code: &u16| DEMANDS.iter().any(|demand| demand.0 == *code);
        let of = |severity: Severity| {
            let found = report.findings.iter().filter(|it| it.severity == severity);
            found.map(|finding| finding.rule.code).filter(known).collect()
        };
        (of(Severity::Error), of(Severity::Warning))
    }

    fn engine_repair(&self, input: &str) -> String {
        let options = self.options();
        let document = read(input, self.format, outline_options(options.profile)).expect("a list");
        document.fix(&options).0.to_string()
    }

    /// Cuts a valid history to every length. What is left is valid, in order, and holds what it
    /// must.
    fn judge_cut(&self, input: &str, tally: &mut ModelTally) -> Result<(), (String, String)> {
        let sent = self.history.laid_out(self.layout);
        let required = required_texts(self.history);
        for keep in 1..sent.0.len() {
            let Some(output) = self.engine_cut(input, keep as u64) else { continue };
            tally.cuts += 1;
            let list: Value = serde_json::from_str(&output).unwrap_or_default();
            let shorter = wire::read(&list);
            let (known, inferred) = self.broken(&shorter);
            let parts: Vec<AbstractPart> = shorter.parts().map(|(_, part)| part).collect();
            let missing = required.iter().find(|part| !parts.contains(part));
            let mut rest = sent.parts().map(|(_, part)| part);
            let in_order = parts.iter().all(|part| rest.any(|other| other == *part));
            let what = if shorter.0.len() > keep {
                format!("a cut to {keep} messages leaves {}", shorter.0.len())
            } else if !known.is_empty() || !inferred.is_empty() {
                format!("a cut to {keep} messages breaks {known:?} {inferred:?}")
            } else if let Some(part) = missing {
                format!("a cut to {keep} messages loses {part:?}")
            } else if !in_order {
                format!("a cut to {keep} messages holds something else")
            } else {
                continue;
            };
            return Err((what, output));
        }
        Ok(())
    }

    /// The history cut to a number of messages; none if that is too few.
    fn engine_cut(&self, input: &str, keep: u64) -> Option<String> {
        let options = self.options();
        let document = read(input, self.format, outline_options(options.profile)).expect("a list");
        let transcript = document.draft.clone().validate(&options).ok()?;
        let mut weights = TokenWeights::new(0, true);
        for message in &transcript.draft().messages {
            for _ in message.range() {
                weights.push_part(0, 0);
            }
            weights.push_message(1);
        }
        let (clues, elision) = (HistoryClues::default(), ElisionPolicy::default());
        let mut input = CompactionInput::new(&transcript, &weights, &clues, &elision, &[]);
        let plan = plan_budget(&mut input, TokenLimits::exactly(keep)).ok()?;
        let repair = apply_plan(&transcript, &options, &plan, CompactionText::default());
        Some(document.apply(&repair).to_string())
    }
}

/// Whether the specification says which result belongs to which call: no id is used by several
/// messages of one row.
fn is_certain(HistoryPairing { turns, calls, .. }: &HistoryPairing) -> bool {
    !calls.iter().enumerate().any(|(at, call)| {
        calls[..at].iter().any(|other| {
            let one_row = turns[other.turn].home.start == turns[call.turn].home.start;
            other.id == call.id && other.message != call.message && one_row
        })
    })
}

/// What an engine changed, from a history to its repair.
fn repair_cost(before: &AbstractHistory, after: &AbstractHistory) -> RepairCost {
    let after: Vec<(SenderSide, AbstractPart)> = after.parts().collect();
    let count =
        |wanted: fn(&AbstractPart) -> bool| after.iter().filter(|(_, part)| wanted(part)).count();
    let is_result = |part: &AbstractPart| matches!(part, AbstractPart::Result(..));
    let results = before.parts().filter(|(_, part)| is_result(part)).count();
    RepairCost {
        placeholders: count(|part| matches!(part, AbstractPart::Placeholder(_))),
        strays: results.saturating_sub(count(is_result)),
        moves: moves(before, &after),
    }
}

/// Whether a part of a repair is one of the input. A result may be text, and an id another one.
fn is_kept(part: AbstractPart, other: AbstractPart) -> bool {
    match (part, other) {
        (AbstractPart::Result(_, one), AbstractPart::Quote(two) | AbstractPart::Result(_, two)) => {
            one == two
        }
        (one, two) => one == two,
    }
}
