//! Growth: hostile documents of one shape, four times as large each time. What a check and a repair
//! cost has to grow with the bytes, and not with their square.

use std::{fs, io::Write as _};

use foxwedge_testkit::hostile::{HostileShape, shapes};

use crate::{Outcome, ci, options::TaskOptions};

/// Four times the document may cost this many times as much: four, and what caches and tables add.
const MOST: f64 = 7.0;
/// Below this many nanoseconds nothing is said about growth.
const FLOOR: u64 = 20_000_000;

/// Runs the campaign; a debug build starts the release build of itself.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let options = TaskOptions::read(arguments, &["--debug", "--shape PART", "--megabytes N"])?;
    let wanted = options.value("--shape");
    let megabytes: usize = options.number("--megabytes")?.unwrap_or(4);
    if cfg!(debug_assertions) && !options.has("--debug") {
        return ci::run_in_release("growth", arguments, "something grows too fast");
    }
    let mut steep = Vec::new();
    println!("{:<58} {:<6} {:>10} {:>10} {:>6}", "shape", "job", "ms", "ms at 4n", "ratio");
    for shape in shapes() {
        if wanted.is_some_and(|wanted| !shape.name.contains(wanted)) {
            continue;
        }
        let one = (shape.make)(64).len() / 64;
        let many = (megabytes << 18) / one.max(1);
        for (job, fix) in [("check", false), ("fix", true)] {
            let (small, large) = (cost(&shape, many, fix)?, cost(&shape, many * 4, fix)?);
            let ratio = large as f64 / small.max(1) as f64;
            let ms = |nanos: u64| nanos as f64 / 1e6;
            let line = format!(
                "{:<58} {job:<6} {:>10.1} {:>10.1} {ratio:>6.1}",
                shape.name,
                ms(small),
                ms(large)
            );
            println!("{line}");
            let _ = std::io::stdout().flush();
            if ratio > MOST && large > FLOOR {
                steep.push(line);
            }
        }
    }
    if steep.is_empty() {
        return Ok(());
    }
    Err(format!("these grow faster than their documents:\n{}", steep.join("\n")))
}

/// CPU time of this thread for one document, in nanoseconds: the best of three measurements, each
/// repeated until the system's CPU clock, which is coarse, has something to tell.
fn cost(shape: &HostileShape, many: usize, fix: bool) -> Result<u64, String> {
    const ENOUGH: u64 = 60_000_000;
    let bytes = (shape.make)(many);
    let mut best = u64::MAX;
    for _ in 0..3 {
        let before = computed()?;
        let (mut spent, mut times) = (0, 0);
        while spent < ENOUGH && times < 64 {
            let outcome = if fix { shape.format.fix(&bytes) } else { shape.format.check(&bytes) };
            if outcome.is_none() {
                return Err(format!("`{}` cannot be read", shape.name));
            }
            times += 1;
            spent = computed()?.saturating_sub(before);
        }
        best = best.min(spent / times);
        if best > 2_000_000_000 {
            break;
        }
    }
    Ok(best)
}

/// Nanoseconds that this thread has computed so far.
fn computed() -> Result<u64, String> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")
        .map_err(|error| format!("only Linux tells what a thread computed: {error}"))?;
    let first = text.split(' ').next().and_then(|nanos| nanos.trim().parse().ok());
    first.ok_or_else(|| "what a thread computed cannot be read".to_owned())
}
