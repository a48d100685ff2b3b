//! Histories that become shorter: the laws, cuts at every place, and the behaviours that
//! compaction owes to the seeds.

mod laws;
mod cuts;
mod units;
mod seeds;
mod defects;
mod peers;
mod found;
mod stored;
mod budgets;
mod hostile;

use crate::support::{bold, fixed};
use foxwedge_core::{
    CheckOptions, Format, Profile,
    compact::{HistoryFraction, TokenLimits},
};
use foxwedge_formats::{
    compact::{
        CompactError, CompactedText, CompactionSettings, CompactionStage, DigestSummarizer,
        compact, weigh,
    },
    outline_options, read,
};
use foxwedge_testkit::{
    ByteTokenCounter,
    laws::{
        LawTally,
        compaction::{SummarizerKind, judge_sound},
    },
};

/// Strategies, one after the other.
fn plan(
    question: CheckOptions,
    stages: &[CompactionStage],
    limits: Option<TokenLimits>,
) -> CompactionSettings {
    let mut settings = CompactionSettings::new(question, TokenLimits::exactly(0));
    settings.stages = stages.to_vec();
    settings.limits = limits;
    settings
}

/// Half of what follows the first message goes, once.
fn half(profile: Profile) -> CompactionSettings {
    plan(bold(profile), &[CompactionStage::Window(HistoryFraction::HALF)], None)
}

/// One strategy with a budget.
fn within(profile: Profile, stage: CompactionStage, tokens: u64) -> CompactionSettings {
    plan(bold(profile), &[stage], Some(TokenLimits::exactly(tokens)))
}

/// Every strategy.
fn every() -> [CompactionStage; 5] {
    let window = CompactionStage::Window(HistoryFraction::HALF);
    [
        window,
        CompactionStage::Budget,
        CompactionStage::Elide,
        CompactionStage::Importance,
        CompactionStage::Summarize,
    ]
}

/// What is left of a document, without any judgement.
fn left<'a>(
    wire: Format,
    document: &'a str,
    settings: &CompactionSettings,
) -> Result<CompactedText<'a>, CompactError> {
    compact(document, wire, settings, &mut ByteTokenCounter, &mut DigestSummarizer)
}

/// What is left of a document, and that no law is broken; the document is repaired first.
fn shorter(
    wire: Format,
    document: &str,
    settings: &CompactionSettings,
) -> Result<String, CompactError> {
    let sound = fixed(wire, &settings.question, document).text;
    let verdict =
        judge_sound(wire, &sound, settings, SummarizerKind::Digest, &mut LawTally::default());
    match verdict {
        Err((law, what)) => {
            let name = wire.name();
            panic!("{law} does not hold for {name}\n{sound}\n{settings:?}\n{what}");
        }
        Ok(Some(text)) if sound == document => return Ok(text),
        Ok(_) => {}
    }
    left(wire, document, settings).map(|compacted| compacted.text.into_owned())
}

/// The messages of the input that are left, by their index.
fn kept(compacted: &CompactedText<'_>) -> Vec<usize> {
    compacted.messages.iter().filter_map(|line| line.origin).collect()
}

/// How many tokens a document takes.
fn tokens(wire: Format, profile: Profile, document: &str) -> u64 {
    let reading =
        read(document, wire, outline_options(profile)).expect("a test document can be read");
    weigh(&reading.draft, reading.frame, &mut ByteTokenCounter).total()
}
