//! What checking and fixing cost, beside plain JSON parsing of the same bytes in the same run.
//!
//! `cargo bench -p foxwedge-testkit` prints a table of ratios; `-- quick` leaves out the largest
//! size. Times are the best of interleaved rounds: on a noisy machine the minimum is what repeats.

mod data;
mod skim;
mod peak;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use foxwedge_core::{CheckOptions, Format, Profile, check};
use foxwedge_formats::{outline_options, read, text};

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, what, wire, file] = arguments.as_slice()
        && mode == "--peak"
    {
        return peak::one(what, wire, file);
    }
    if let [_, mode, wire, sound, broken, ..] = arguments.as_slice()
        && mode == "--files"
    {
        let wire = Format::parse(wire).expect("a format");
        let load = |file: &str| std::fs::read_to_string(file).expect("a file");
        let (sound, broken) = (load(sound), load(broken));
        let size = read(&sound, wire, outline_options(Profile::for_format(wire)))
            .expect("readable")
            .draft
            .messages
            .len();
        return measure(wire, size, &sound, &broken);
    }
    let quick = arguments.iter().any(|argument| argument == "quick");
    println!("times in microseconds a message; throughput ratios: higher is better for us\n");
    println!(
        "{:<17}{:>8}{:>11} | {:>7}{:>7}{:>7}{:>7}{:>7}{:>9} | {:>10}{:>11}{:>10}",
        "format",
        "messages",
        "bytes",
        "value",
        "skim",
        "check",
        "fix",
        "mend",
        "v+write",
        "chk/skim",
        "chk/value",
        "mend/v+w"
    );
    for wire in Format::ALL {
        for size in SIZES {
            if quick && size > 10_000 {
                continue;
            }
            row(wire, size);
        }
    }
    println!(
        "\npeak heap and file beside the input (one process each, resident size above an empty run)\n"
    );
    for wire in Format::ALL {
        peak::row(wire, if quick { 10_000 } else { 100_000 });
    }
}

/// One line of the table, for generated histories.
fn row(wire: Format, size: usize) {
    let sound = data::history(wire, size, data::State::Sound);
    let broken = data::history(wire, size, data::State::Broken);
    measure(wire, size, &sound, &broken);
}

/// One line of the table.
fn measure(wire: Format, size: usize, sound: &str, broken: &str) {
    let question = CheckOptions::for_profile(Profile::for_format(wire));
    let (clean, open) = (findings(sound, wire, &question), findings(broken, wire, &question));
    assert!(clean == 0 && open > 0, "{}: {clean} and {open} findings", wire.name());
    let mut works: Vec<(Box<dyn FnMut() + '_>, Duration)> = vec![
        timed(|| {
            drop(black_box(serde_json::from_slice::<serde_json::Value>(black_box(
                sound.as_bytes(),
            ))))
        }),
        timed(|| {
            black_box(skim::skim(wire, black_box(sound.as_bytes())));
        }),
        timed(|| {
            black_box(findings(black_box(sound), wire, &question));
        }),
        timed(|| {
            black_box(fix(black_box(sound), wire, &question));
        }),
        timed(|| {
            black_box(fix(black_box(broken), wire, &question));
        }),
        timed(|| {
            let value: serde_json::Value =
                serde_json::from_slice(black_box(broken.as_bytes())).expect("valid");
            drop(black_box(serde_json::to_vec(&value)));
        }),
    ];
    let rounds = (4_000_000 / (size * 10)).clamp(5, 400);
    for _ in 0..rounds {
        for (work, best) in &mut works {
            let start = Instant::now();
            work();
            *best = (*best).min(start.elapsed());
        }
    }
    let times: Vec<f64> =
        works.iter().map(|(_, best)| best.as_secs_f64() * 1e6 / size as f64).collect();
    let [value, skim, check, fix, mend, write] = times.as_slice() else { return };
    println!(
        "{:<17}{size:>8}{:>11} | {value:>7.2}{skim:>7.2}{check:>7.2}{fix:>7.2}{mend:>7.2}{write:>9.2} | {:>10.2}{:>11.2}{:>10.2}",
        wire.name(),
        sound.len(),
        skim / check,
        value / check,
        write / mend
    );
}

fn timed<'a>(work: impl FnMut() + 'a) -> (Box<dyn FnMut() + 'a>, Duration) {
    (Box::new(work), Duration::MAX)
}

fn findings(document: &str, wire: Format, question: &CheckOptions) -> usize {
    let source = text(document.as_bytes()).expect("text");
    let reading = read(source, wire, outline_options(question.profile)).expect("readable");
    check(&reading.draft, question).findings.len()
}

/// Repairs and writes the result out, as a gateway would; a sound body is not copied.
fn fix(document: &str, wire: Format, question: &CheckOptions) -> usize {
    let source = text(document.as_bytes()).expect("text");
    let reading = read(source, wire, outline_options(question.profile)).expect("readable");
    let (patched, repair) = reading.fix(question);
    if repair.is_untouched() {
        return patched.len();
    }
    let mut out = Vec::with_capacity(patched.len());
    patched.write_to(&mut out).expect("memory");
    out.len()
}
