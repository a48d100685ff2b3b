//! What a compaction costs: deciding, weighing, and the whole way from bytes to bytes.
//!
//! `cargo bench -p foxwedge-testkit --bench compaction` prints tables; `-- quick` leaves out the largest size. With a
//! Python that has `tiktoken`, exact counting is measured beside it on the same text in the same run.

#[path = "../integrity/data.rs"]
mod data;
mod python;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use foxwedge_core::{
    CheckOptions, Format, Profile, Transcript,
    compact::{
        CompactionInput, CompactionPlan, ElisionPolicy, HistoryClues, HistoryFraction,
        TokenCounter, TokenLimits, TokenWeights, plan_budget, plan_elision, plan_importance,
        plan_summary, plan_window,
    },
};
use foxwedge_formats::{
    compact::{CompactionSettings, CompactionStage, DigestSummarizer, compact, read_clues, weigh},
    outline_options, read,
};
use foxwedge_tokens::{
    CachedCounter, CountingMethod, ModelTokenizer, TokenVocabulary, TokenizerFamily,
};

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    let sizes = || SIZES.into_iter().filter(move |&size| !quick || size <= 10_000);
    println!("deciding, on an indexed history: microseconds a message, best of rounds\n");
    println!(
        "{:<17}{:>8} | {:>8}{:>8}{:>8}{:>11}{:>10}",
        "format", "messages", "window", "budget", "elide", "importance", "summarize"
    );
    for wire in Format::ALL {
        sizes().for_each(|size| decisions(wire, size));
    }
    println!("\nweighing: megabytes of document a second\n");
    println!(
        "{:<17}{:>8} | {:>9}{:>9}{:>9} | {:>16}",
        "format", "messages", "estimate", "o200k", "again", "counted again"
    );
    for wire in Format::ALL {
        weighing(wire, 1_000);
    }
    println!("\nbytes to bytes, to half the tokens (estimate): microseconds a message\n");
    println!(
        "{:<17}{:>8} | {:>8}{:>8}{:>8}{:>11}{:>10}{:>14}{:>14}",
        "format",
        "messages",
        "window",
        "budget",
        "elide",
        "importance",
        "summarize",
        "nothing to do",
        "value + write"
    );
    for wire in Format::ALL {
        sizes().filter(|&size| size <= 10_000).for_each(|size| whole(wire, size));
    }
    println!("\nexact counting, o200k: megabytes of text a second\n");
    python::beside();
}

/// The shortest of some rounds.
fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}

fn micros(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}

fn estimate() -> ModelTokenizer {
    ModelTokenizer::of(CountingMethod::Estimate(TokenizerFamily::Neutral))
}

type Strategy = fn(&mut CompactionInput<'_, '_>, TokenLimits) -> CompactionPlan;

const STRATEGIES: [Strategy; 5] = [
    |scene, limits| plan_window(scene, HistoryFraction::HALF, Some(limits)).expect("fits"),
    |scene, limits| plan_budget(scene, limits).expect("fits"),
    |scene, limits| plan_elision(scene, limits).expect("fits"),
    |scene, limits| plan_importance(scene, limits).expect("fits"),
    |scene, limits| plan_summary(scene, limits.goal() / 4, Some(limits)).expect("fits"),
];

/// What each strategy takes to decide: units and plan, from a proven transcript with its weights.
fn decisions(wire: Format, size: usize) {
    let text = data::history(wire, size, data::State::Sound);
    let (transcript, weights, clues) = indexed(&text, wire);
    let elision = ElisionPolicy::default();
    let limits = TokenLimits::exactly(weights.total() / 2);
    let rounds = (2_000_000 / size).clamp(10, 2_000);
    let times = STRATEGIES.map(|strategy| {
        let time = best(rounds, || {
            let mut scene = CompactionInput::new(&transcript, &weights, &clues, &elision, &[]);
            let plan = strategy(&mut scene, limits);
            assert!(!plan.is_empty());
            black_box(plan);
        });
        micros(time, transcript.draft().messages.len())
    });
    let [window, budget, elide, importance, summarize] = times;
    println!(
        "{:<17}{size:>8} | {window:>8.3}{budget:>8.3}{elide:>8.3}{importance:>11.3}{summarize:>10.3}",
        wire.name()
    );
}

fn indexed(text: &str, wire: Format) -> (Transcript<'_>, TokenWeights, HistoryClues) {
    let question = CheckOptions::for_profile(Profile::for_format(wire));
    let reading = read(text, wire, outline_options(question.profile)).expect("readable");
    let weights = weigh(&reading.draft, reading.frame, &mut estimate());
    let transcript = reading.draft.validate(&question).expect("sound");
    let clues = read_clues(transcript.draft(), transcript.pairing());
    (transcript, weights, clues)
}

/// Counting a history by estimate, exactly, and exactly once more after ten new messages.
fn weighing(wire: Format, size: usize) {
    let text = data::history(wire, size, data::State::Sound);
    let longer = data::history(wire, size + 10, data::State::Sound);
    let weighed = |text: &str, counter: &mut dyn TokenCounter| {
        let reading =
            read(text, wire, outline_options(Profile::for_format(wire))).expect("readable");
        weigh(&reading.draft, reading.frame, counter).total()
    };
    let mut quick = estimate();
    let by_estimate = best(10, || {
        black_box(weighed(&text, &mut quick));
    });
    let mut exact = ModelTokenizer::of(CountingMethod::Exact(TokenVocabulary::O200k));
    let exactly = best(5, || {
        black_box(weighed(&text, &mut exact));
    });
    let mut remembering = CachedCounter::new(
        ModelTokenizer::of(CountingMethod::Exact(TokenVocabulary::O200k)),
        1 << 20,
    );
    weighed(&text, &mut remembering);
    let before = remembering.counted_bytes();
    let start = Instant::now();
    weighed(&longer, &mut remembering);
    let again = start.elapsed();
    let counted = remembering.counted_bytes() - before;
    let speed = |bytes: usize, time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "{:<17}{size:>8} | {:>9.0}{:>9.0}{:>9.0} | {:>14.2} %",
        wire.name(),
        speed(text.len(), by_estimate),
        speed(text.len(), exactly),
        speed(longer.len(), again),
        counted as f64 * 100.0 / longer.len() as f64
    );
}

/// A document to a shorter document.
fn whole(wire: Format, size: usize) {
    let text = data::history(wire, size, data::State::Sound);
    let (_, weights, _) = indexed(&text, wire);
    let question = CheckOptions::for_profile(Profile::for_format(wire));
    let run = |stage: CompactionStage, most: u64| {
        let settings = CompactionSettings {
            stages: vec![stage],
            ..CompactionSettings::new(question, TokenLimits::exactly(most))
        };
        let made =
            compact(&text, wire, &settings, &mut estimate(), &mut DigestSummarizer).expect("fits");
        black_box(made.text.len());
    };
    let rounds = (20_000 / size).clamp(3, 100);
    let stages = [
        CompactionStage::Window(HistoryFraction::HALF),
        CompactionStage::Budget,
        CompactionStage::Elide,
        CompactionStage::Importance,
        CompactionStage::Summarize,
    ];
    let half = weights.total() / 2;
    let times = stages.map(|stage| micros(best(rounds, || run(stage, half)), weights.len()));
    let nothing = micros(best(rounds, || run(CompactionStage::Budget, u64::MAX)), weights.len());
    let value = best(rounds, || {
        let value: serde_json::Value = serde_json::from_str(black_box(&text)).expect("valid");
        drop(black_box(serde_json::to_vec(&value)));
    });
    let [window, budget, elide, importance, summarize] = times;
    println!(
        "{:<17}{size:>8} | {window:>8.2}{budget:>8.2}{elide:>8.2}{importance:>11.2}{summarize:>10.2}{nothing:>14.2}{:>14.2}",
        wire.name(),
        micros(value, weights.len())
    );
}
