//! What a conversion costs: requests from bytes to bytes, streams by the chunk.
//!
//! `cargo bench -p foxwedge-testkit --bench conversion` prints tables; `-- quick` leaves out the largest size. With
//! LiteLLM for Python and the AI SDK for Node (see `peers.rs`), both convert the same history in the
//! same run. Everything is a ratio to something measured beside it: parsing and writing the same
//! bytes with `serde_json`, or a peer.

#[path = "../integrity/data.rs"]
mod data;
mod peers;
mod streams;

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use foxwedge_core::Format;
use foxwedge_formats::convert::{ConversionOptions, request};

use data::{State, history};

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn main() {
    let quick = std::env::args().any(|argument| argument == "quick");
    println!("requests, bytes to bytes: microseconds a message, and beside parsing and writing\n");
    println!(
        "{:<17}{:<17}{:>8}{:>9}{:>9}{:>9}{:>8}",
        "from", "to", "messages", "sound", "broken", "value", "ratio"
    );
    let pairs = [
        (Format::Anthropic, Format::OpenaiChat),
        (Format::OpenaiChat, Format::Anthropic),
        (Format::OpenaiChat, Format::OpenaiResponses),
        (Format::OpenaiResponses, Format::Gemini),
        (Format::Gemini, Format::Bedrock),
        (Format::Bedrock, Format::Anthropic),
    ];
    for (from, to) in pairs {
        for size in SIZES.into_iter().filter(|&size| !quick || size <= 10_000) {
            requests(from, to, size);
        }
    }
    println!("\nthe same history beside others: microseconds a message, best of rounds\n");
    peers::beside();
    println!("\nstreams: nanoseconds a chunk, and beside parsing and writing each\n");
    streams::chunks();
}

fn requests(from: Format, to: Format, size: usize) {
    let sound = history(from, size, State::Sound);
    let broken = history(from, size, State::Broken);
    let rounds = (200_000 / size).clamp(5, 200);
    let convert = |text: &str| {
        best(rounds, || {
            black_box(request(text, from, to, &ConversionOptions::default()).expect("readable"));
        })
    };
    let value = best(rounds, || {
        let value: serde_json::Value = serde_json::from_str(&sound).expect("JSON");
        black_box(value.to_string());
    });
    let each = |time: Duration| time.as_secs_f64() * 1e6 / size as f64;
    let (here, there) = (convert(&sound), each(value));
    println!(
        "{:<17}{:<17}{size:>8}{:>9.2}{:>9.2}{there:>9.2}{:>8.2}",
        from.name(),
        to.name(),
        each(here),
        each(convert(&broken)),
        each(here) / there,
    );
}

/// The shortest of some rounds.
fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    let round = |_| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..rounds).map(round).min().unwrap_or_default()
}
