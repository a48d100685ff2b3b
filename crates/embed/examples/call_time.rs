//! How long one call takes natively, for a comparison with WebAssembly (`bindings/npm/bench.mjs`).
//!
//! ```sh
//! cargo run --profile python -p foxwedge-embed --example call_time -- fix request.json
//! ```
//!
//! Prints the milliseconds of the fastest round, because other programs only ever make a round slower.

use std::{
    env, fs,
    hint::black_box,
    time::{Duration, Instant},
};

/// How long a round takes, about.
const ROUND: Duration = Duration::from_millis(20);

fn main() -> Result<(), String> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [operation, file] = arguments.as_slice() else {
        return Err("usage: call_time OPERATION FILE".to_owned());
    };
    let document = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let call = || {
        let reply = foxwedge_embed::call(operation, black_box(&document), "");
        reply.map(black_box).map_err(|error| error.to_json())
    };
    let started = Instant::now();
    call()?;
    let runs = (ROUND.as_micros() / started.elapsed().as_micros().max(1)).clamp(1, 1_000) as u32;
    let mut fastest = Duration::MAX;
    for _ in 0..60 {
        let started = Instant::now();
        for _ in 0..runs {
            call()?;
        }
        fastest = fastest.min(started.elapsed() / runs);
    }
    println!("{:.4}", fastest.as_secs_f64() * 1e3);
    Ok(())
}
