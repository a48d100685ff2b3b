//! Histories that become shorter: the laws, cuts at every place, and the behaviours that
//! compaction owes to the seeds.

mod support;
#[path = "compaction/laws.rs"]
mod laws;
#[path = "compaction/cuts.rs"]
mod cuts;
#[path = "compaction/units.rs"]
mod units;
#[path = "compaction/seeds.rs"]
mod seeds;
#[path = "compaction/defects.rs"]
mod defects;
#[path = "compaction/peers.rs"]
mod peers;
#[path = "compaction/found.rs"]
mod found;
#[path = "compaction/stored.rs"]
mod stored;
#[path = "compaction/budgets.rs"]
mod budgets;
#[path = "compaction/hostile.rs"]
mod hostile;

use foxwedge_core::{
    Profile, Question, Wire,
    compact::{Fraction, Limits},
};
use foxwedge_dialect::{
    compact::{CompactError, Compacted, Digest, Settings, Stage, compact, weigh},
    read, want,
};
use foxwedge_testkit::{
    Bytes,
    laws::{
        Tally,
        compaction::{Voice, judge_sound},
    },
};
use support::{bold, fixed};

/// Strategies, one after the other.
fn plan(question: Question, stages: &[Stage], limits: Option<Limits>) -> Settings {
    let mut settings = Settings::new(question, Limits::exactly(0));
    settings.stages = stages.to_vec();
    settings.limits = limits;
    settings
}

/// Half of what follows the first message goes, once.
fn half(profile: Profile) -> Settings {
    plan(bold(profile), &[Stage::Window(Fraction::HALF)], None)
}

/// One strategy with a budget.
fn within(profile: Profile, stage: Stage, tokens: u64) -> Settings {
    plan(bold(profile), &[stage], Some(Limits::exactly(tokens)))
}

/// Every strategy.
fn every() -> [Stage; 5] {
    let window = Stage::Window(Fraction::HALF);
    [window, Stage::Budget, Stage::Elide, Stage::Importance, Stage::Summarize]
}

/// What is left of a document, without any judgement.
fn left<'a>(
    wire: Wire,
    document: &'a str,
    settings: &Settings,
) -> Result<Compacted<'a>, CompactError> {
    compact(document, wire, settings, &mut Bytes, &mut Digest)
}

/// What is left of a document, and that no law is broken; the document is repaired first.
fn shorter(wire: Wire, document: &str, settings: &Settings) -> Result<String, CompactError> {
    let sound = fixed(wire, &settings.question, document).text;
    let verdict = judge_sound(wire, &sound, settings, Voice::Digest, &mut Tally::default());
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
fn kept(compacted: &Compacted<'_>) -> Vec<usize> {
    compacted.messages.iter().filter_map(|line| line.origin).collect()
}

/// How many tokens a document takes.
fn tokens(wire: Wire, profile: Profile, document: &str) -> u64 {
    let reading = read(document, wire, want(profile)).expect("a test document can be read");
    weigh(&reading.draft, reading.frame, &mut Bytes).total()
}
